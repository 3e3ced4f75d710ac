# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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
