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
"""Placement of subnetworks and their ensemble on a cluster.

See https://arxiv.org/abs/1607.01097 for what a subnetwork and an ensemble are.
"""

import importlib

from adanet.distributed.placement import PlacementStrategy
from adanet.distributed.placement import ReplicationStrategy
from adanet.distributed.placement import RoundRobinStrategy

__all__ = [
    "PlacementStrategy",
    "ReplicationStrategy",
    "RoundRobinStrategy",
]


def __getattr__(name):
  """Imports `plan` at the first use of it: NumPy takes longer than the rest."""
  if name == "plan":
    return importlib.import_module("adanet.distributed.plan")
  raise AttributeError(
      "module 'adanet.distributed' has no attribute '{}'".format(name))
