# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The placement of a whole cluster, without a cluster and without TensorFlow.

See `PlacementPlan`. Each name is loaded at its first use, because the command
line prints its help without NumPy.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
  # pylint: disable=g-import-not-at-top,g-multiple-import
  from adanet.distributed.plan.groups import PsGroup
  from adanet.distributed.plan.groups import Subnetwork
  from adanet.distributed.plan.groups import SubnetworkGroup
  from adanet.distributed.plan.groups import WorkerGroup
  from adanet.distributed.plan.indices import Indices
  from adanet.distributed.plan.problems import Problem
  from adanet.distributed.plan.problems import PROBLEM_KINDS
  from adanet.distributed.plan.value import compare
  from adanet.distributed.plan.value import JSON_VERSION
  from adanet.distributed.plan.value import PlacementPlan

_MODULES = {
    "Indices": "indices",
    "JSON_VERSION": "value",
    "PROBLEM_KINDS": "problems",
    "PlacementPlan": "value",
    "Problem": "problems",
    "PsGroup": "groups",
    "Subnetwork": "groups",
    "SubnetworkGroup": "groups",
    "WorkerGroup": "groups",
    "compare": "value",
}

__all__ = sorted(_MODULES)


def __getattr__(name):
  if name not in _MODULES:
    raise AttributeError(
        "module '{}' has no attribute '{}'".format(__name__, name))
  module = importlib.import_module(__name__ + "." + _MODULES[name])
  value = globals()[name] = getattr(module, name)
  return value
