# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plans in bins: what a heat map shows, whatever the size of the cluster."""

import collections

from adanet.distributed import indices as indices_lib

import numpy as np


class Axis:
  """Indices from 0, in bins of equal width; the last one may hold fewer.

  Attributes:
    size: int, the number of indices.
    width: int, the indices in a bin.
    num_bins: int.
    counts: int64 [num_bins], the indices in each bin.
    edges: float64 [num_bins + 1], halfway between the indices of two bins.
  """

  def __init__(self, size, max_bins):
    self.size = size
    self.width = -(-size // max_bins)
    self.num_bins = -(-size // self.width)
    starts = np.arange(self.num_bins + 1) * self.width
    self.edges = np.minimum(starts, size) - 0.5
    self.counts = np.diff(np.minimum(starts, size))

  def count(self, indices):
    """Counts a set of indices.

    Args:
      indices: `Indices`.

    Returns:
      The bins that have any of them and how many each has, two int64 arrays.
    """
    counts = np.zeros(self.num_bins, np.int64)
    for run in indices.ranges:
      bins = np.arange(run.start, run.stop, run.step) // self.width
      counts += np.bincount(bins, minlength=self.num_bins)
    bins = np.flatnonzero(counts)
    return bins, counts[bins]

  def extremes(self, values):
    """Returns the least and the most of a value in each bin, as two arrays."""
    starts = np.arange(self.num_bins) * self.width
    return (np.minimum.reduceat(values, starts),
            np.maximum.reduceat(values, starts))


WorkerMaps = collections.namedtuple("WorkerMaps", "speeds runs builds_ensemble")


def map_workers(plan, subnetworks, workers):
  """Returns what the workers of a plan do.

  Args:
    plan: a `PlacementPlan`.
    subnetworks: the `Axis` of its subnetworks.
    workers: the `Axis` of its workers.

  Returns:
    A `WorkerMaps` of arrays. `speeds`: float64 [subnetwork bins, worker bins],
    the training speed that a bin of workers gives to a subnetwork, averaged
    over the bin of subnetworks. `runs`: bool of the same shape, whether a
    worker builds a subnetwork without training it. `builds_ensemble`: bool
    [worker bins], whether a worker builds the ensemble.
  """
  shape = subnetworks.num_bins, workers.num_bins
  maps = WorkerMaps(np.zeros(shape), np.zeros(shape, bool),
                    np.zeros(workers.num_bins, bool))
  for group in plan.worker_groups:
    columns, num_workers = workers.count(group.workers)
    if group.builds_ensemble:
      maps.builds_ensemble[columns] = True
    if len(group.subnetworks) > group.num_trained:
      rows, _ = subnetworks.count(indices_lib.Indices(
          set(group.subnetworks).difference(group.trained)))
      maps.runs[np.ix_(rows, columns)] = True
    rest = 1 - group.ensemble_fraction
    if group.fractions is not None:
      for i, fraction in group.fractions:
        row = i // subnetworks.width
        maps.speeds[row, columns] += num_workers * float(
            fraction * rest / (1 if plan.costs is None else plan.costs[i])
        ) / subnetworks.counts[row]
    elif group.num_trained:
      rows, num_subnetworks = subnetworks.count(group.subnetworks)
      work = group.num_trained if plan.costs is None else float(
          sum(plan.costs[i] for i in group.subnetworks))
      maps.speeds[np.ix_(rows, columns)] += np.outer(
          num_subnetworks * float(rest) / (subnetworks.counts[rows] * work),
          num_workers)
  return maps


def map_ps(plan, subnetworks, ps):
  """Returns which parameter servers serve what.

  Args:
    plan: a `PlacementPlan` that knows it.
    subnetworks: the `Axis` of its subnetworks.
    ps: the `Axis` of its parameter servers.

  Returns:
    float64 [subnetwork bins, ps bins], the fraction of the pairs (subnetwork,
    parameter server) in a cell where the server holds variables of the
    subnetwork.
  """
  shares = np.zeros((subnetworks.num_bins, ps.num_bins))
  for group in plan.ps_groups:
    columns, num_ps = ps.count(group.ps)
    rows, num_subnetworks = subnetworks.count(group.subnetworks)
    shares[np.ix_(rows, columns)] += np.outer(
        num_subnetworks / subnetworks.counts[rows], num_ps / ps.counts[columns])
  return shares
