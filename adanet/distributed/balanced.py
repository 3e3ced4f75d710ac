# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The layout of `BalancedStrategy`: equal parts of a line; see `line`."""

import fractions
from typing import Optional

from adanet.distributed import layout
from adanet.distributed import lengths


class BalancedLayout(layout.Layout):
  """Ensembles and subnetworks end to end by cost, in a part for each worker.

  The ensembles are the head of the line. A worker whose part covers some of it
  builds the ensembles and all subnetworks. All train by their parts. Or a given
  number of workers build the ensembles and train no subnetwork, and the others
  have the parts of a line without a head.

  Parameter servers have equal parts of the subnetworks end to end by size.

  Attributes:
    num_ensemble_workers: int or None, as in `BalancedStrategy`.
    work: the `Work` of a step.
    sizes: the `Lengths` of the subnetworks in bytes.
  """

  divides_time = True

  def __init__(self, work: lengths.Work, sizes: lengths.Lengths,
               num_ensemble_workers: Optional[int],
               dedicate_parameter_servers: bool):
    """Makes a layout; the arguments are those of `BalancedStrategy`."""
    self.work = work
    self.sizes = sizes
    self.num_ensemble_workers = num_ensemble_workers
    self.dedicates_parameter_servers = dedicate_parameter_servers

  def _cut(self, num_workers, num_subnetworks):
    """Returns the line, and the number of workers ahead of its parts."""
    if self.num_ensemble_workers is None:
      return self.work.line(num_subnetworks), 0
    num_ahead = 0
    if num_subnetworks > 1:
      num_ahead = max(0, min(self.num_ensemble_workers, num_workers - 1))
    return self.work.costs.line(num_subnetworks), num_ahead

  def _num_builders(self, num_workers, num_subnetworks):
    """Returns how many workers build ensembles: the first ones."""
    line, num_ahead = self._cut(num_workers, num_subnetworks)
    return max(1, num_ahead, line.parts_of_head(num_workers))

  def share(self, num_workers, worker_index, num_subnetworks):
    """As in `Layout`; with m = 0, for an evaluator, the share of a builder."""
    builder = layout.Share(
        builds_ensemble=True, subnetworks=range(num_subnetworks),
        trains_subnetworks=False)
    if not num_workers:
      return builder
    line, num_ahead = self._cut(num_workers, num_subnetworks)
    place = worker_index - num_ahead, num_workers - num_ahead
    if worker_index < num_ahead:
      return builder
    head = line.head_of_part(*place)
    if head == 1:
      return builder
    part = line.part(*place)
    if worker_index and not head:
      return layout.Share(
          builds_ensemble=False, trains_subnetworks=True, fractions=part,
          subnetworks=part.segments)
    return builder._replace(
        trains_subnetworks=True, fractions=part,
        ensemble_fraction=head or self._beside_a_part(
            num_workers, num_subnetworks))

  def _beside_a_part(self, num_workers, num_subnetworks):
    """Returns the fraction of a worker's time for ensembles beside its part.
    """
    ensembles = num_workers * fractions.Fraction(
        self.work.ensemble_cost(num_subnetworks))
    costs = self.work.costs.numbers(num_subnetworks)
    return ensembles / (ensembles + sum(map(fractions.Fraction, costs)))

  def groups(self, num_workers, num_subnetworks):
    """As in `Layout`: at most 2 k + 1 groups, in time O(k log k)."""
    line, num_ahead = self._cut(num_workers, num_subnetworks)
    num_parts = num_workers - num_ahead
    first = 0
    while first < num_workers:
      share = self.share(num_workers, first, num_subnetworks)
      stop = first + 1
      if not share.trains_subnetworks:
        stop = max(num_ahead, line.starts[0] * num_parts // line.starts[-1])
      elif not share.builds_ensemble and len(share.subnetworks) == 1:
        # All whose parts end inside this subnetwork.
        end = line.starts[share.subnetworks[0] + 1]
        stop = num_ahead + end * num_parts // line.starts[-1]
      yield range(first, stop), share
      first = stop

  def input_share(self, num_workers, worker_index, num_subnetworks,
                  subnetwork_index):
    line, num_ahead = self._cut(num_workers, num_subnetworks)
    trainers = line.segment(
        subnetwork_index, num_workers - num_ahead).parts
    if worker_index - num_ahead in trainers:
      return len(trainers), trainers.index(worker_index - num_ahead)
    builders = range(self._num_builders(num_workers, num_subnetworks))
    if worker_index not in builders:
      return None
    # Those that train it, too, read its input for that.
    builders = range(min(len(builders), num_ahead + trainers[0]))
    return len(builders), worker_index

  def segment(self, num_ps, num_subnetworks, subnetwork_index):
    if num_ps == 0 or not self.dedicates_parameter_servers:
      return None
    return self.sizes.line(num_subnetworks).segment(subnetwork_index, num_ps)

  def parameter_servers(self, num_ps, num_subnetworks, subnetwork_index):
    segment = self.segment(num_ps, num_subnetworks, subnetwork_index)
    return range(num_ps) if segment is None else segment.parts
