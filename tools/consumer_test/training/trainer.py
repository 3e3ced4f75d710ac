# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A trainer that asks adanet which candidates this worker trains."""

import types

from adanet.distributed import placement


def candidates(num_candidates, num_workers, worker):
  """Returns the indices of the candidates that a worker trains.

  Args:
    num_candidates: int, how many there are.
    num_workers: int, how many workers share them.
    worker: int, this worker's index.
  """
  strategy = placement.RoundRobinStrategy()
  strategy.config = types.SimpleNamespace(
      num_worker_replicas=num_workers, global_id_in_cluster=worker,
      num_ps_replicas=0)
  if not strategy.should_train_subnetworks(num_candidates):
    return []
  return [i for i in range(num_candidates)
          if strategy.should_build_subnetwork(num_candidates, i)]
