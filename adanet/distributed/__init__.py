# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Placement of subnetworks and their ensemble on a cluster.

See https://arxiv.org/abs/1607.01097 for the terms subnetwork and ensemble.
"""

from typing import TYPE_CHECKING

from adanet import _submodules
from adanet.distributed import devices
from adanet.distributed.placement import BalancedStrategy
from adanet.distributed.placement import PlacementStrategy
from adanet.distributed.placement import ReplicationStrategy
from adanet.distributed.placement import RoundRobinStrategy

__all__ = [
    "BalancedStrategy",
    "PlacementStrategy",
    "ReplicationStrategy",
    "RoundRobinStrategy",
    "devices",
]

if TYPE_CHECKING:
  from adanet.distributed import plan
else:
  # At its first use: NumPy takes longer than the rest.
  __getattr__ = _submodules.importer(__name__, "plan")
