# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The layout of `BalancedStrategy`: equal parts of a line; see `line`."""

from adanet.distributed import layout
from adanet.distributed import lengths


class BalancedLayout(layout.Layout):
  """Subnetworks end to end by cost, cut into equal parts: one for each worker.

  The first workers build the ensemble and all subnetworks, and train nothing.
  The others train, by their parts. Parameter servers have equal parts of the
  subnetworks end to end by size.

  Attributes:
    num_ensemble_workers: int, as in `BalancedStrategy`.
    costs: the `Lengths` of the subnetworks in time.
    sizes: the `Lengths` of the subnetworks in bytes.
  """

  divides_time = True

  def __init__(self, costs: lengths.Lengths, sizes: lengths.Lengths,
               num_ensemble_workers: int, dedicate_parameter_servers: bool):
    """Makes a layout; the arguments are those of `BalancedStrategy`."""
    self.costs = costs
    self.sizes = sizes
    self.num_ensemble_workers = num_ensemble_workers
    self.dedicates_parameter_servers = dedicate_parameter_servers

  def _num_ensemble_workers(self, num_workers, num_subnetworks):
    """Returns the number of workers that train nothing."""
    if num_subnetworks == 1:
      return 0
    return max(0, min(self.num_ensemble_workers, num_workers - 1))

  def share(self, num_workers, worker_index, num_subnetworks):
    """As in `Layout`; with m = 0, for an evaluator, the share of a builder."""
    num_builders = self._num_ensemble_workers(num_workers, num_subnetworks)
    if worker_index < num_builders or not num_workers:
      return layout.Share(
          builds_ensemble=True, subnetworks=range(num_subnetworks),
          trains_subnetworks=False)
    part = self.costs.line(num_subnetworks).part(
        worker_index - num_builders, num_workers - num_builders)
    is_chief = worker_index == 0
    return layout.Share(
        builds_ensemble=is_chief, trains_subnetworks=True, fractions=part,
        subnetworks=range(num_subnetworks) if is_chief else part.segments)

  def groups(self, num_workers, num_subnetworks):
    """As in `Layout`: at most 2 k + 1 groups, in time O(k log k)."""
    num_builders = self._num_ensemble_workers(num_workers, num_subnetworks)
    num_trainers = num_workers - num_builders
    line = self.costs.line(num_subnetworks)
    first = 0
    while first < num_workers:
      share = self.share(num_workers, first, num_subnetworks)
      stop = first + 1
      if first < num_builders:
        stop = num_builders
      elif first and len(share.subnetworks) == 1:
        # All whose parts end inside this subnetwork.
        end = line.starts[share.subnetworks[0] + 1]
        stop = num_builders + end * num_trainers // line.starts[-1]
      yield range(first, stop), share
      first = stop

  def input_share(self, num_workers, worker_index, num_subnetworks,
                  subnetwork_index):
    num_builders = self._num_ensemble_workers(num_workers, num_subnetworks)
    if worker_index < num_builders:
      return num_builders, worker_index
    trainers = self.costs.line(num_subnetworks).segment(
        subnetwork_index, num_workers - num_builders).parts
    if worker_index - num_builders in trainers:
      return len(trainers), trainers.index(worker_index - num_builders)
    # The chief runs what it does not train for the ensemble, and it is alone.
    return None if worker_index else (1, 0)

  def segment(self, num_ps, num_subnetworks, subnetwork_index):
    if num_ps == 0 or not self.dedicates_parameter_servers:
      return None
    return self.sizes.line(num_subnetworks).segment(subnetwork_index, num_ps)

  def parameter_servers(self, num_ps, num_subnetworks, subnetwork_index):
    segment = self.segment(num_ps, num_subnetworks, subnetwork_index)
    return range(num_ps) if segment is None else segment.parts
