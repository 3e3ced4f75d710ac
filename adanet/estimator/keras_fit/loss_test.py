# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whether outputs and labels fit a loss."""

import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.estimator.keras_fit import loss as loss_lib
from adanet.estimator.keras_fit import pool
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

_RANDOM = np.random.RandomState(1)
_NUMBERS = _RANDOM.randn(9, 3).astype(np.float32)
_POSITIVE = np.abs(_NUMBERS) / 9
_SUM_1 = np.exp(_NUMBERS) / np.exp(_NUMBERS).sum(1, keepdims=True)
_SPARSE = "sparse_categorical_crossentropy"
_OTHERS = ("mse", "mae", "hinge", "cosine_similarity")


def _loss(loss):
  """Returns a loss; a name may end in " logits"."""
  name, _, logits = loss.partition(" ")
  if logits:
    return keras.losses.get({"class_name": "".join(
        part.title() for part in name.split("_")),
                             "config": {"from_logits": True}})
  return loss_lib.CompileArguments(name).head(None).losses[""]


def _check_outputs(loss, outputs, model=None):
  loss_lib.check_outputs(
      pool.Tried("m", model, {"": outputs}, {}, ""), {"": _loss(loss)})


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class LossTest(parameterized.TestCase):

  @parameterized.parameters(
      (_SPARSE, _SUM_1), (_SPARSE + " logits", _NUMBERS),
      (_SPARSE + " logits", _POSITIVE),
      ("categorical_crossentropy", _SUM_1), ("kl_divergence", _SUM_1),
      ("binary_crossentropy", _POSITIVE),
      ("binary_crossentropy logits", _NUMBERS),
      *((name, _NUMBERS) for name in _OTHERS),
      *((name, _SUM_1) for name in _OTHERS))
  def test_fitting_outputs(self, loss, outputs):
    _check_outputs(loss, outputs)

  @parameterized.parameters(
      (_SPARSE, _NUMBERS), (_SPARSE, _POSITIVE), ("kl_divergence", _NUMBERS),
      ("categorical_crossentropy", _NUMBERS),
      ("binary_crossentropy", _NUMBERS),
      ("binary_focal_crossentropy", 9 * _SUM_1),
      (_SPARSE + " logits", _SUM_1),
      ("categorical_crossentropy logits", _SUM_1))
  def test_other_outputs(self, loss, outputs):
    with self.assertRaisesRegex(
        ValueError, "^m returns .*probabilities.*expected a last layer") as e:
      _check_outputs(loss, outputs)
    self.assertLen(str(e.exception).splitlines(), 1)

  @parameterized.parameters(
      ("linear", "binary_crossentropy", True),
      ("sigmoid", "binary_crossentropy", False),
      ("sigmoid", "binary_crossentropy logits", True),
      ("linear", "binary_crossentropy logits", False))
  def test_activation(self, activation, loss, fails):
    """Outputs of one size may be between 0 and 1 by chance."""
    inputs = keras.Input([2])
    model = keras.Sequential([
        keras.Model(inputs, keras.layers.Dense(1, activation)(inputs))])
    outputs = np.full([9, 1], .5)
    if fails:
      with self.assertRaisesRegex(ValueError, "^m returns"):
        _check_outputs(loss, outputs, model)
    else:
      _check_outputs(loss, outputs, model)

  @parameterized.parameters(
      (_SPARSE, [0, 2], [9, 3]), (_SPARSE, [[0], [2]], [9, 3]),
      (_SPARSE, [0., 1.], [9, 2]), (_SPARSE, [[0, 1]], [9, 2, 2]),
      ("categorical_crossentropy", [[0, 1]], [9, 2]),
      ("binary_crossentropy", [0, 1], [9, 1]),
      ("binary_crossentropy", [.5], [9, 1]),
      ("mse", [1, 2], [9, 1]), ("mse", [[1], [2]], [9, 1]),
      ("mse", [[1], [2]], [9]), ("hinge", [-1, 1], [9, 1]))
  def test_fitting_labels(self, loss, labels, shape):
    loss_lib.check_labels("m", np.array(labels), np.zeros(shape), _loss(loss))

  @parameterized.parameters(
      (_SPARSE, [0, 3], [9, 3]), (_SPARSE, [-1, 2], [9, 3]),
      (_SPARSE, [.5], [9, 3]), (_SPARSE, [[0, 1]], [9, 2]),
      ("categorical_crossentropy", [0, 1], [9, 2]),
      ("categorical_crossentropy", [[0, 1]], [9, 3]),
      ("binary_crossentropy", [0, 2], [9, 1]),
      ("binary_crossentropy", [-1, 1], [9, 1]),
      ("binary_crossentropy", [0, 1], [9, 2]),
      ("mse", [1, 2], [9, 3]), ("mse", [[1, 2]], [9, 1]))
  def test_other_labels(self, loss, labels, shape):
    with self.assertRaisesRegex(ValueError, "^y has .*m? .* expects") as e:
      loss_lib.check_labels("m", np.array(labels), np.zeros(shape), _loss(loss))
    self.assertLen(str(e.exception).splitlines(), 1)

  @parameterized.named_parameters(
      ("one", ("mse", ["mae"], None), [], ("mse", ["mae"], None)),
      ("list_of_one", (["mse"], [["mae"]], [2.]), [], ("mse", ["mae"], 2.)),
      ("dict_of_one", ({"a": "mse"}, {"a": "mae"}, {"a": 2.}), [],
       ("mse", "mae", 2.)),
      ("same_for_all", ("mse", None, None), ["a", "b"],
       ({"a": "mse", "b": "mse"}, None, None)),
      ("list", (["mse", "mae"], [["mae"], []], [1, 2]), ["b", "a"],
       ({"b": "mse", "a": "mae"}, [["mae"], []], [1, 2])),
      ("dict", ({"a": "mse", "b": "mae"}, None, [1, 2]), ["b", "a"],
       ({"b": "mae", "a": "mse"}, None, [1, 2])))
  def test_of_outputs(self, given, outputs, expected):
    found = loss_lib.of_outputs(loss_lib.CompileArguments(*given), outputs)
    self.assertEqual(expected, tuple(found))
    if outputs:  # Lists are in the order of the outputs.
      self.assertEqual(outputs, list(found.loss))


if __name__ == "__main__":
  absltest.main()
