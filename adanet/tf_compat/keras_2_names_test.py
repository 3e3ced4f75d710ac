# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the names of Keras 2's layers, on every version of TensorFlow."""

from absl.testing import absltest
from adanet import tf_compat
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


if __name__ == "__main__":
  absltest.main()
