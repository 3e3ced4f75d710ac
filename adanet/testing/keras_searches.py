# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small searches of an `EnsembleSearch`, for its tests."""

import os

from absl.testing import parameterized
import adanet
from adanet import tf_compat
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

ROWS = 120
SPARSE = "sparse_categorical_crossentropy"
_RANDOM = np.random.RandomState(1)
X = _RANDOM.randn(ROWS, 4).astype(np.float32)
SIZE = X.sum(1) + X[:, 0] * X[:, 1]
KIND = (SIZE > 0).astype(int) + (SIZE > 2)


def dense(size, activation=None, units=8, **compiled):
  """Returns a function that makes a model, compiled if there are arguments."""

  def make():
    model = keras.Sequential([
        keras.layers.Dense(units, "relu"), keras.layers.Dropout(.1),
        keras.layers.Dense(size, activation)])
    if compiled:
      model.compile(**compiled)
    return model

  return make


def pool(size, activation=None):
  """Returns two functions that make models of such outputs, by name."""
  return {"small": dense(size, activation, 2), "big": dense(size, activation)}


def batches(*parts):
  """Returns a function that returns a dataset."""
  return lambda: tf_compat.v2.data.Dataset.from_tensor_slices(parts).batch(16)


def predictions(model, x):
  """Returns a list of the arrays that a model predicts."""
  return keras.tree.flatten(model.predict(x, verbose=0))


class KerasSearchCase(parameterized.TestCase):
  """A test case that fits searches in temporary folders."""

  def search(self, models, loss, **arguments):
    """Returns a search with a seed."""
    # TensorFlow reads the path of a checkpoint as a pattern.
    directory = os.path.join(self.create_tempdir().full_path, "a\\b", "lr[0.1]")
    return adanet.EnsembleSearch(models, loss, **dict(
        {"directory": directory, "seed": 1}, **arguments))

  def fitted(self, models, loss, x, y=None, fit=None, **arguments):
    """Returns a search that was fitted for few epochs, with arguments `fit`."""
    return self.search(models, loss, **arguments).fit(x, y, **dict(
        {"epochs": 3, "patience": 2, "batch_size": 16, "verbose": 0},
        **(fit or {})))

  def assert_saved(self, search, x):
    """Asserts that the model loads, and predicts the same."""
    model = search.model
    path = os.path.join(self.create_tempdir().full_path, "model.keras")
    model.save(path)
    for one, other in zip(predictions(model, x), predictions(
        keras.models.load_model(path), x)):
      np.testing.assert_array_equal(one, other)
    return model
