# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`EnsembleSearch` and its estimators, with Keras 3 and scikit-learn.

Without Keras 3 or scikit-learn, a name has a class whose call is an error. In
contrast to the modules inside, the package can be imported by Python 3.7.
"""

import importlib
import os
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
  from adanet.ensemble_search.ensemble_search import EnsembleSearch
  from adanet.ensemble_search.scikit_learn import EnsembleClassifier
  from adanet.ensemble_search.scikit_learn import EnsembleRegressor

_MODULES = {"EnsembleSearch": "ensemble_search",
            "EnsembleClassifier": "scikit_learn",
            "EnsembleRegressor": "scikit_learn"}


def is_search(path: str) -> bool:
  """Returns whether a directory is that of an EnsembleSearch."""
  return os.path.isdir(os.path.join(path, "networks"))


class _WithoutKeras3:
  """What has the name of a class that needs Keras 3."""

  def __init__(self, *args: Any, **kwargs: Any) -> None:
    raise ValueError(
        f"{type(self).__name__} needs Keras 3: expected TensorFlow 2.16 or "
        "later. On older versions, use adanet.AutoEnsembleEstimator.")


class _WithoutScikitLearn:
  """What has the name of a class that needs scikit-learn."""

  def __init__(self, *args: Any, **kwargs: Any) -> None:
    raise ModuleNotFoundError(
        f"{type(self).__name__} needs scikit-learn 1.6 or later, which is not "
        "installed: expected the extra \"scikit-learn\", as in pip install "
        "'adanet-distributed[scikit-learn]'.")


def __getattr__(name):
  """Imports a class at first use (PEP 562)."""
  if name not in _MODULES:
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  if not tf_compat.HAS_KERAS_3:
    return type(name, (_WithoutKeras3,), {})
  try:
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
  except ImportError as error:  # Also of an older version.
    if str(error.name).partition(".")[0] != "sklearn":
      raise
    return type(name, (_WithoutScikitLearn,), {})
  return getattr(module, name)
