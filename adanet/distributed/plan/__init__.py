# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The placement of a whole cluster, without a cluster and without TensorFlow.

See `PlacementPlan`. Names are loaded at their first use: the command line must
print its help without NumPy.
"""

import importlib

_MODULES = {
    "JSON_VERSION": "value",
    "PROBLEM_KINDS": "value",
    "Indices": "indices",
    "PlacementPlan": "value",
    "Problem": "value",
    "PsGroup": "value",
    "Subnetwork": "value",
    "SubnetworkGroup": "value",
    "WorkerGroup": "value",
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
