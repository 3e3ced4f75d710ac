# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that weights which Keras 2 loads into a graph are an error."""

import contextlib
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet.tf_compat import keras_2_weights
import numpy as np

v1 = tf_compat.v1


def _model(**arguments):
  layers = tf_compat.keras.layers
  return tf_compat.keras.Sequential([
      layers.Dense(4, input_shape=[3], **arguments),
      layers.BatchNormalization(), layers.Dense(1)])


class NotLoadedTest(parameterized.TestCase):

  def _check(self, make, device=None):
    with v1.Graph().as_default(), v1.device(device):
      with keras_2_weights.not_loaded("owner"):
        make()(v1.zeros([2, 3]))

  def _assert_error(self, make, function, device=None):
    with self.assertRaisesRegex(
        ValueError, f"^owner: {function} of Keras 2 has no effect"
        ) as caught:
      self._check(make, device)
    self.assertNotIn("\n", str(caught.exception))

  @parameterized.parameters(level.first(["model.h5", "model.keras", "folder"]))
  def test_load_model(self, name):
    if name == "model.keras" and tf_compat.IS_TENSORFLOW_1:
      self.skipTest("TensorFlow 1 has no such files.")
    path = os.path.join(self.create_tempdir().full_path, name)
    with contextlib.ExitStack() as stack:
      if tf_compat.IS_TENSORFLOW_1:
        stack.enter_context(v1.Session(graph=v1.Graph()))
        stack.enter_context(v1.get_default_session().graph.as_default())
      model = _model()
      model.compile("sgd", "mse")
      if tf_compat.IS_TENSORFLOW_1:
        v1.global_variables_initializer().run()
      model.save(path, **{"save_format": "tf"} if name == "folder" else {})
    self._assert_error(
        lambda: tf_compat.keras.models.load_model(path), "load_model")

  @parameterized.parameters(level.first(["weights.h5", "checkpoint"]))
  def test_load_weights(self, name):
    path = os.path.join(self.create_tempdir().full_path, name)
    with v1.Graph().as_default(), v1.Session():
      model = _model()
      v1.global_variables_initializer().run()
      model.save_weights(path)

    def make():
      model = _model()
      model.load_weights(path)
      return model

    self._assert_error(make, "load_weights")

  # No session of this process has the second one, so Keras fails, too.
  @parameterized.parameters(None, "/job:ps/task:0")
  def test_set_weights(self, device):
    def make():
      model = _model()
      model.layers[0].set_weights([np.ones([3, 4]), np.ones([4])])
      return model

    self._assert_error(make, "set_weights", device)

  def test_weights_of_a_layer(self):
    self._assert_error(
        lambda: _model(weights=[np.ones([3, 4]), np.ones([4])]), "set_weights")

  def test_nothing_is_loaded(self):
    def load_model():  # A user may call it so.
      model = _model()
      model.compile("adam", "mse")
      v1.get_variable("own", []).assign(1.)
      return model

    self._check(load_model)
    with self.assertRaisesRegex(KeyError, "^'of the user'$"):
      with keras_2_weights.not_loaded("owner"):
        raise KeyError("of the user")


if __name__ == "__main__":
  absltest.main()
