# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what adanet does with the inside of Keras, on every version."""

import sys
import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.testing import keras_graphs
from adanet.tf_compat import keras_internals
from adanet.tf_compat import keras_scope


def _name(**kwargs):
  return tf_compat.keras.layers.Dense(1, **kwargs).name


class NamesTest(absltest.TestCase):

  def _names_in_scopes(self, *names):
    """Returns those of layers in scopes of one graph."""
    scopes, found = {}, []
    with tf_compat.v1.Graph().as_default():
      for name in names:
        scope = scopes.setdefault(name, keras_scope.KerasScope(name))
        with scope.entered():
          found += [_name(), _name(name="dense_7")]
    return [name for name in found if name != "dense_7"]

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


if __name__ == "__main__":
  absltest.main()
