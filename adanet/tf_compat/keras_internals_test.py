# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what adanet does with the inside of Keras, on every version."""

import contextlib
import os
import sys
import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.testing import keras_graphs
from adanet.testing import level
from adanet.tf_compat import keras_internals
from adanet.tf_compat import keras_scope
import numpy as np

v1 = tf_compat.v1


def _name(**kwargs):
  return tf_compat.keras.layers.Dense(1, **kwargs).name


class NamesTest(absltest.TestCase):

  def _names_in_scopes(self, *names):
    """Returns those of layers in scopes of one graph."""
    scopes, layer_names = {}, []
    with v1.Graph().as_default():
      for name in names:
        scope = scopes.setdefault(name, keras_scope.KerasScope(name))
        with scope.entered():
          layer_names += [_name(), _name(name="dense_7")]
    return [name for name in layer_names if name != "dense_7"]

  def test_each_scope_begins_anew_and_goes_on(self):
    _name(name="dense")  # Such a name of the program counts on later versions.
    for _ in range(2):
      self.assertEqual(["dense", "dense", "dense_1"],
                       self._names_in_scopes("a", "b", "a"))

  def test_the_program_goes_on_with_its_own(self):
    before = _name()
    self._names_in_scopes(*"abc")
    stem, _, number = _name().rpartition("_")
    self.assertEqual("dense", stem)
    self.assertEqual(
        int(before[len("dense_"):] or 0) + 1, int(number))


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class MissingNameTest(parameterized.TestCase):

  @parameterized.parameters(
      ("keras.src.backend.common.global_state", "get_global_attribute"),
      ("keras.src.backend.common.global_state", "set_global_attribute"),
      ("keras.src.random.seed_generator", "python_random"))
  def test_a_keras_without_a_name(self, module, name):
    with mock.patch.object(sys.modules[module], name, None):
      with self.assertRaisesRegex(
          RuntimeError, rf"^Keras [0-9.]+ has no {name}, which adanet needs for "
          r".* in a graph: install Keras 3\.7 to .*EnsembleSearch"):
        keras_internals.seeds_of_keras_3()
        keras_graphs.KerasGraph(keras_graphs.layers)


def _model(**arguments):
  layers = tf_compat.keras.layers
  return tf_compat.keras.Sequential([
      layers.Dense(4, input_shape=[3], **arguments),
      layers.BatchNormalization(), layers.Dense(1)])


class NotLoadedTest(parameterized.TestCase):

  def _check(self, make, device=None):
    with v1.Graph().as_default(), v1.device(device):
      with keras_internals.no_weights_loaded("owner"):
        make()(v1.zeros([2, 3]))

  def _assert_error(self, make, function, device=None):
    with self.assertRaisesRegex(
        ValueError, f"^owner: {function} of Keras 2 has no effect"
        ) as caught:
      self._check(make, device)
    self.assertNotIn("\n", str(caught.exception))

  @parameterized.parameters("model.h5", "model.keras", "folder")
  @level.gate
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

  @parameterized.parameters("weights.h5", "checkpoint")
  @level.gate
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
  @parameterized.parameters(level.first([None, "/job:ps/task:0"]))
  def test_set_weights(self, device):
    def make():
      model = _model()
      model.layers[0].set_weights([np.ones([3, 4]), np.ones([4])])
      return model

    self._assert_error(make, "set_weights", device)

  @level.gate
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
      with keras_internals.no_weights_loaded("owner"):
        raise KeyError("of the user")


if __name__ == "__main__":
  absltest.main()
