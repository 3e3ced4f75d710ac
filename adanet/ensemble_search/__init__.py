# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`EnsembleSearch` with Keras 3; otherwise a class whose call is an error.

In contrast to the modules inside, the package can be imported by Python 3.7.
"""

import os
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
  from adanet.ensemble_search.ensemble_search import EnsembleSearch


def is_search(path: str) -> bool:
  """Returns whether a directory is that of an EnsembleSearch."""
  return os.path.isdir(os.path.join(path, "networks"))


class _WithoutKeras3:

  def __init__(self, *args: Any, **kwargs: Any) -> None:
    raise ValueError(
        "EnsembleSearch needs Keras 3: expected TensorFlow 2.16 or later. On "
        "older versions, use adanet.AutoEnsembleEstimator.")

  load = __init__


def __getattr__(name):
  """Imports the class at first use (PEP 562)."""
  if name != "EnsembleSearch":
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  if not tf_compat.HAS_KERAS_3:
    return _WithoutKeras3
  # pylint: disable-next=g-import-not-at-top
  from adanet.ensemble_search.ensemble_search import EnsembleSearch
  return EnsembleSearch
