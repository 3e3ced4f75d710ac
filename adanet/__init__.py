# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet: many candidate networks and their ensemble, across a cluster."""

import importlib
from typing import TYPE_CHECKING

from adanet import _sole_owner

_sole_owner.check()  # Before any module that the other one may have replaced.

from adanet import _submodules  # pylint: disable=g-import-not-at-top,wrong-import-position
from adanet.version import VERSION as __version__  # pylint: disable=g-import-not-at-top,wrong-import-position

# Name -> the module that has it, imported at the name's first use.
_MODULES = {
    "AllNaNError": "adanet.core.selection",
    "AutoEnsembleEstimator": "adanet.estimator.auto_ensemble",
    "AutoEnsembleSubestimator": "adanet.estimator.auto_ensemble",
    "EmptyInputError": "adanet.core.user_input",
    "Ensemble": "adanet.ensemble",
    "EnsembleClassifier": "adanet.ensemble_search",
    "EnsembleRegressor": "adanet.ensemble_search",
    "EnsembleSearch": "adanet.ensemble_search",
    "Estimator": "adanet.estimator.estimator",
    "EvalSpec": "adanet.estimator.specs",
    "Evaluator": "adanet.core.evaluator",
    "ExecutorError": "adanet.engines.executor.execution",
    "MixtureWeightType": "adanet.ensemble",
    "PartError": "adanet.engines.executor.execution",
    "ReportMaterializer": "adanet.core.evaluator",
    "Subnetwork": "adanet.subnetwork",
    "Summary": "adanet.subnetwork",
    "TrainSpec": "adanet.estimator.specs",
    "WeightedSubnetwork": "adanet.ensemble",
    "columns": "adanet.ensemble_search.frames",
    "end_with_program": "adanet.launch.processes",
    "report": "adanet.history.store",
    "train_and_evaluate": "adanet.estimator.train_and_evaluate",
    "use_one_gpu": "adanet.launch.machine",
}
# The name there, where it is another: AdaNet once had this ensemble only.
_NAMES = {"Ensemble": "ComplexityRegularized"}

__all__ = [
    "AllNaNError", "AutoEnsembleEstimator", "AutoEnsembleSubestimator",
    "EmptyInputError", "Ensemble", "EnsembleClassifier", "EnsembleRegressor",
    "EnsembleSearch", "Estimator", "EvalSpec", "Evaluator", "ExecutorError",
    "MixtureWeightType", "PartError", "ReportMaterializer", "Subnetwork",
    "Summary", "TrainSpec", "WeightedSubnetwork", "__version__", "columns",
    "distributed", "end_with_program", "ensemble", "estimator", "heads",
    "history", "inputs", "replay", "report", "subnetwork", "tf_compat",
    "train_and_evaluate", "use_one_gpu",
]


def __dir__():
  """Returns the public names, loaded or not (PEP 562)."""
  return __all__


if TYPE_CHECKING:
  from adanet import distributed
  from adanet import ensemble
  from adanet import estimator
  from adanet import heads
  from adanet import history
  from adanet import inputs
  from adanet import replay
  from adanet import subnetwork
  from adanet import tf_compat
  from adanet.core.user_input import EmptyInputError
  from adanet.core.evaluator import Evaluator
  from adanet.core.evaluator import ReportMaterializer
  from adanet.core.selection import AllNaNError
  from adanet.ensemble import ComplexityRegularized as Ensemble
  from adanet.ensemble import MixtureWeightType
  from adanet.ensemble import WeightedSubnetwork
  from adanet.ensemble_search import EnsembleClassifier
  from adanet.ensemble_search import EnsembleRegressor
  from adanet.ensemble_search import EnsembleSearch
  from adanet.ensemble_search.frames import columns
  from adanet.estimator.auto_ensemble import AutoEnsembleEstimator
  from adanet.estimator.auto_ensemble import AutoEnsembleSubestimator
  from adanet.estimator.estimator import Estimator
  from adanet.estimator.specs import EvalSpec
  from adanet.estimator.specs import TrainSpec
  from adanet.estimator.train_and_evaluate import train_and_evaluate
  from adanet.history.store import report
  from adanet.launch.machine import use_one_gpu
  from adanet.launch.processes import end_with_program
  from adanet.engines.executor.execution import ExecutorError
  from adanet.engines.executor.execution import PartError
  from adanet.subnetwork import Subnetwork
  from adanet.subnetwork import Summary
else:
  _module = _submodules.importer(
      __name__, "distributed", "ensemble", "estimator", "heads", "history",
      "inputs", "replay", "subnetwork", "tf_compat")

  def __getattr__(name):
    """Imports the object of a name at its first use (PEP 562)."""
    if name not in _MODULES:
      return _module(name)
    value = getattr(importlib.import_module(_MODULES[name]),
                    _NAMES.get(name, name))
    globals()[name] = value
    return value
