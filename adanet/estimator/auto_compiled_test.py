# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is said about models that are compiled for something else."""

import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.estimator import auto_compiled
from adanet.testing import level


def _own(labels, logits):
  return labels - logits


_REGRESSION = heads.RegressionHead()
_BINARY = heads.BinaryClassHead()
_CLASSES = heads.MultiClassHead(3)
_LABELS = heads.MultiLabelHead(3)
_OWN = heads.RegressionHead(loss_fn=_own)
_TWO = heads.MultiHead([heads.RegressionHead(name="a"),
                        heads.MultiClassHead(3, name="b")], [1., 2.])

# A head, what compile gets in `keras.losses` (a function of it), and which
# arguments have no effect.
_CASES = (
    (_REGRESSION, lambda losses: dict(
        loss="mae", loss_weights=[3.], metrics=["mae"]),
     "loss='mae', loss_weights=[3.0], metrics=['mae']"),
    (_TWO, lambda losses: dict(loss={
        "a": "mse", "b": "sparse_categorical_crossentropy"}, loss_weights={
            "a": 1., "b": 3.}), "loss_weights={'a': 1.0, 'b': 3.0}"),
    (_REGRESSION, lambda losses: dict(loss="mse", metrics=["mse"]), ""),
    (_REGRESSION, lambda losses: dict(loss="MSE", loss_weights=[1.]), ""),
    (_REGRESSION, lambda losses: dict(loss=losses.MeanSquaredError()), ""),
    (_REGRESSION, lambda losses: dict(loss=losses.mean_squared_error), ""),
    (_REGRESSION, lambda losses: dict(loss=["mse"]), ""),
    (_REGRESSION, lambda losses: dict(loss="mae"), "loss='mae'"),
    (_REGRESSION, lambda losses: dict(loss=losses.MeanAbsoluteError()),
     "loss=MeanAbsoluteError"),
    (_REGRESSION, lambda losses: dict(loss={"a": "mae"}), "loss={'a': 'mae'}"),
    (_REGRESSION, lambda losses: dict(loss=_own), "loss=_own"),
    (_REGRESSION, lambda losses: dict(
        loss=losses.MeanSquaredError(reduction="sum")),
     "loss=MeanSquaredError"),
    (heads.RegressionHead(loss_reduction="sum"), lambda losses: dict(
        loss=losses.MeanSquaredError(reduction="sum")), ""),
    (_REGRESSION, lambda losses: dict(loss="mse", metrics=["mse", "mae"]),
     "metrics=['mse', 'mae']"),
    (_OWN, lambda losses: dict(loss=_own), ""),
    (_OWN, lambda losses: dict(loss="mse"), "loss='mse'"),
    (_BINARY, lambda losses: dict(
        loss=losses.BinaryCrossentropy(from_logits=True),
        metrics=["accuracy"]), ""),
    (_BINARY, lambda losses: dict(
        loss=losses.BinaryCrossentropy(label_smoothing=.1)),
     "loss=BinaryCrossentropy"),
    (_BINARY, lambda losses: dict(loss="hinge"), "loss='hinge'"),
    (_LABELS, lambda losses: dict(loss="binary_crossentropy"), ""),
    (_CLASSES, lambda losses: dict(
        loss=losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"]), ""),
    (_CLASSES, lambda losses: dict(loss="categorical_crossentropy"), ""),
    (_CLASSES, lambda losses: dict(loss="mse"), "loss='mse'"),
    (_TWO, lambda losses: dict(loss=[
        "mse", "sparse_categorical_crossentropy"], loss_weights=[1., 2.]), ""),
    (_TWO, lambda losses: dict(loss=["mse", "mse"], loss_weights=[1., 2.]),
     "loss=['mse', 'mse']"),
)


class AutoCompiledTest(parameterized.TestCase):

  @parameterized.parameters(level.first(list(_CASES), 4))
  def test_dropped(self, head, arguments, expected):
    names = [part.name for part in head.heads] if head is _TWO else ["a"]
    for keras in [tf_compat.keras] + (
        [tf_compat.keras_3] if tf_compat.HAS_KERAS_3 else []):
      with self.subTest(keras.__name__), tf_compat.v1.Graph().as_default():
        x = keras.Input([1])
        model = keras.Model(
            x, [keras.layers.Dense(1, name=name)(x) for name in names])
        self.assertIsNone(auto_compiled.dropped(model, head))
        model.compile("sgd", **arguments(keras.losses))
        found = auto_compiled.dropped(model, head)
        if not expected:
          self.assertIsNone(found)
          continue
        self.assertStartsWith(
            found, f"is compiled with {expected}, without effect: the ")
        self.assertNotIn("\n", found)
        self.assertIn(type(head.heads[0] if head is _TWO else head).__name__,
                      found)

  @parameterized.parameters(
      (dict(loss="mae"), ""),
      (dict(loss="mae", metrics=["mse"], loss_weights=2.), ""),
      (dict(loss="mse"), "loss='mse'"),
      (dict(loss="mae", metrics=["mape"], loss_weights=3.),
       "loss_weights=3.0, metrics=['mape']"))
  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_dropped_by_keras_head(self, arguments, expected):
    keras = tf_compat.keras_3
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", **arguments)
    found = auto_compiled.dropped(model, heads.KerasHead(
        "mae", metrics=["mse"], loss_weights=2.))
    self.assertEqual(found, (
        f"is compiled with {expected}, without effect: the KerasHead "
        "(mean_absolute_error) trains it. Give that what it is to use."
    ) if expected else None)


if __name__ == "__main__":
  absltest.main()
