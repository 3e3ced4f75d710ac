# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The placement of a whole cluster, without a cluster and without TensorFlow.

See `PlacementPlan`, and `ExecutorPlan` for an executor. Each name is loaded at
its first use, because the command line prints its help without NumPy.
"""

import importlib
from typing import TYPE_CHECKING

from adanet import _submodules

__all__ = [
    "ExecutorPlan", "ExecutorWorkers", "Indices", "JSON_VERSION",
    "PROBLEM_KINDS", "PlacedSubnetwork", "PlacementPlan", "Problem", "PsGroup",
    "SubnetworkGroup", "WorkerGroup", "compare",
]

if TYPE_CHECKING:
  # pylint: disable=g-import-not-at-top,g-multiple-import
  from adanet.console.wording import Indices
  from adanet.distributed.plan import picture, predictions, table
  from adanet.distributed.plan.executor import ExecutorPlan, ExecutorWorkers
  from adanet.distributed.plan.groups import (
      PlacedSubnetwork, PsGroup, SubnetworkGroup, WorkerGroup)
  from adanet.distributed.plan.problems import Problem, PROBLEM_KINDS
  from adanet.distributed.plan.value import (
      compare, JSON_VERSION, PlacementPlan)
else:  # A type checker takes a module with __getattr__ to have every name.

  _module = _submodules.importer(__name__, "picture", "predictions", "table")

  def __getattr__(name):
    if name in __all__:
      for module_name in ("executor", "groups", "problems", "value"):
        module = importlib.import_module(__name__ + "." + module_name)
        if hasattr(module, name):
          value = globals()[name] = getattr(module, name)
          return value
    return _module(name)
