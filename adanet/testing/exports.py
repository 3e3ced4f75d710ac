# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The answers of an exported model to TensorFlow 2."""

import tempfile
from typing import Any, Dict

from adanet import tf_compat
from adanet.estimator import export
import numpy as np


def served(estimator: Any, features: np.ndarray,
           name: str = "x") -> Dict[str, np.ndarray]:
  """Exports a model and returns its prediction for one feature.

  Args:
    estimator: an `adanet.Estimator` that has trained.
    features: array of float32, a row an example.
    name: str, of the feature.
  """
  with tempfile.TemporaryDirectory() as folder:
    path = estimator.export_saved_model(
        folder, export.build_raw_serving_input_receiver_fn({name: features}))
    predict = tf_compat.v2.saved_model.load(path.decode()).signatures["predict"]
    return {key: value.numpy() for key, value in predict(
        tf_compat.v2.constant(features)).items()}
