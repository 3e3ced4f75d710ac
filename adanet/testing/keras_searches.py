# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small searches of `EnsembleSearch` for tests."""

from absl.testing import parameterized
import adanet
from adanet import tf_compat
import numpy as np

keras = tf_compat.keras_3
X = np.random.RandomState(0).randn(100, 4).astype("float32")
Y = X[:, :1] * 2


class SearchTestCase(parameterized.TestCase):
  """A test of searches, each in a new directory."""

  def fit(self, models, loss, *data, search=None, **fit):
    """Returns a search of a function, or of a dict of functions."""
    if callable(models):
      models = {"a": models}
    new_search = adanet.EnsembleSearch(models, loss, **{**dict(
        seed=1, directory=self.create_tempdir().full_path), **(search or {})})
    return new_search.fit(*data, **{**dict(epochs=1, verbose=0), **fit})

  def fit_and_judge(self, models, y=Y, loss="mse", **fit):
    """Returns a search whose ensemble is judged as Keras judges it."""
    trained = keras.tree.map_structure(lambda array: array[:60], (X, y))
    held_out = keras.tree.map_structure(lambda array: array[60:], (X, y))
    search = self.fit(models, loss, *trained, validation_data=held_out, **fit)
    self.assertAlmostEqual(
        search.history.ensemble["val_loss"], search.model.evaluate(
            *held_out, batch_size=256, verbose=0, return_dict=True)["loss"],
        places=4)
    return search
