# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`EnsembleSearch` with Keras 3; otherwise a class whose call is an error.

In contrast to the rest of the package, this module runs on Python 3.7.
"""

from typing import Any, TYPE_CHECKING

from adanet import tf_compat


class _WithoutKeras3:

  def __init__(self, *args: Any, **kwargs: Any) -> None:
    raise ValueError(
        "EnsembleSearch needs Keras 3: expected TensorFlow 2.16 or later. "
        "Before, use adanet.AutoEnsembleEstimator.")

  load = __init__


if TYPE_CHECKING or tf_compat.HAS_KERAS_3:
  from adanet.ensemble_search.ensemble_search import EnsembleSearch  # pylint: disable=g-import-not-at-top
else:
  EnsembleSearch = _WithoutKeras3
