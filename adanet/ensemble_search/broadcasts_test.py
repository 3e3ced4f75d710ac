# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Losses that broadcast labels and outputs, and losses that may do so."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.testing import level
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L, ops = keras.layers, keras.ops
_X = np.random.RandomState(0).randn(80, 3).astype("float32")
_Y = 2 * _X[:, 0]
_CLASSES = (_X[:, 0] > 0).astype("int32")
_STEPS = np.stack([_Y, _Y, -_Y], 1)


def _likelihood(y, outputs):
  mean, log_variance = outputs[:, :1], outputs[:, 1:]
  return ops.mean(
      log_variance + ops.square(y - mean) * ops.exp(-log_variance), axis=-1)


def _likelihood_of_batch(y, outputs):
  return ops.mean(_likelihood(y, outputs))


def _sum_of_likelihoods(y, outputs):
  mean, log_variance = outputs[:, :1], outputs[:, 1:]
  return ops.sum(log_variance + ops.square(y - mean) * ops.exp(-log_variance))


def _likelihood_of_columns(y, outputs):
  return ops.square(ops.reshape(y, [-1]) - outputs[:, 0]) + outputs[:, 1]**2


def _squared(y, outputs):
  return ops.mean(ops.square(y - outputs), axis=-1)


class Squared(keras.losses.Loss):

  def call(self, y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred), axis=-1)


class Likelihood(keras.losses.Loss):

  def call(self, y_true, y_pred):
    return _likelihood(y_true, y_pred)


def _sparse(y, outputs):
  return keras.losses.sparse_categorical_crossentropy(
      y, outputs, from_logits=True)


def _focal(y, outputs):
  hot = ops.one_hot(ops.cast(y, "int32"), 2)
  return -ops.sum(hot * ops.log_softmax(outputs), axis=-1)


def _gathered(y, outputs):
  return -tf.gather(ops.log_softmax(outputs), tf.cast(y, "int32"), batch_dims=1)


def _contrastive(y, outputs):
  """Returns a loss of pairs of rows: near if their labels are the same."""
  y = ops.reshape(y, [-1, 1])
  distance = ops.sum(ops.square(outputs[:, None] - outputs[None]), -1)
  return ops.mean(ops.where(y == ops.transpose(y), distance, ops.relu(
      1 - distance)))


def _contrastive_of_vector(y, outputs):
  same = ops.cast(y[:, None] == y[None, :], "float32")
  distance = ops.sum(ops.square(outputs[:, None] - outputs[None]), -1)
  return ops.mean(same * distance + (1 - same) * ops.relu(1 - distance), -1)


def _ranking(y, outputs):
  """Returns how far the outputs of pairs are in the wrong order."""
  y, scores = ops.reshape(y, [-1]), outputs[:, 0]
  order = ops.sign(y[:, None] - y[None, :])
  return ops.mean(ops.relu(.1 - order * (scores[:, None] - scores[None, :])))


def _correlation(y, outputs):
  y = y - ops.mean(y, axis=-1, keepdims=True)
  scores = outputs[:, 0] - ops.mean(outputs[:, 0])
  return 1 - ops.sum(y * scores) / ops.sqrt(
      1e-6 + ops.sum(y * y) * ops.sum(scores * scores))


def _weighted(y, outputs):
  """Returns a loss with weights of classes from the batch."""
  positive = ops.mean(ops.cast(y, "float32"))
  y = ops.reshape(y, [-1])
  return ops.square(y - outputs[:, 0]) * ops.where(
      y > 0, 1 - positive, positive)


def _rmse(y, outputs):
  return ops.sqrt(ops.mean(ops.square(y[..., None] - outputs)))


def _steps(y, outputs):
  return ops.mean(ops.abs(y - outputs), axis=-1)


class OwnLoss(keras.Model):
  """Computes its loss without the labels."""

  def __init__(self):
    super().__init__()
    self.last = L.Dense(2)

  def call(self, inputs):
    return self.last(inputs)

  def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None,
                   training=True):
    return ops.mean(ops.square(ops.cast(y, "float32")[:, None] - y_pred))


def _make(size=2, axes=1, layers=(), **compiled):
  def make():
    last = [L.Reshape([])] if axes == 0 else []
    model = keras.Sequential(
        [keras.Input([3]), *layers, L.Dense(size), *last])
    if compiled:
      model.compile("adam", **compiled)
    return model
  return make


def _make_two():
  x = keras.Input([3])
  return keras.Model(x, {name: L.Dense(2, name=name)(x) for name in "ab"})


_OF_TWO = "y has the shape [None], and models['a'] returns [None, 2]: "
_MISTAKES = {
    "rows": (_make(), _likelihood, _Y, _OF_TWO + "the loss _likelihood "
             "compares each label with the outputs of all rows. Expected "
             "labels of the shape [None, 1]: give y[:, None]."),
    "subclass": (_make(1), Squared(), _Y, "y has the shape [None], and "
                 "models['a'] returns [None, 1]: the loss Squared compares"),
    "batch": (_make(), _likelihood_of_batch, _Y, _OF_TWO),
    "sum": (_make(), _sum_of_likelihoods, _Y, _OF_TWO),
    "sum_of_rows": (_make(), Likelihood(reduction="sum"), _Y, _OF_TWO),
    "classes": (_make(), _likelihood, _CLASSES, _OF_TWO),
    "compiled": (_make(loss=_likelihood), None, _Y, _OF_TWO),
    "reversed": (_make(1, 0), Squared(), _Y[:, None], "y has the shape [None, 1"
                 "], and models['a'] returns [None]: the loss Squared compares "
                 "each label with the outputs of all rows. Expected labels of "
                 "the shape [None]: give y[:, 0]."),
    "two_outputs": (_make_two, {"a": _likelihood, "b": _sparse}, {
        "a": _Y, "b": _CLASSES}, "y['a'] has the shape [None], and models['a'] "
                    "returns [None, 2], [None, 2]: a loss compares each"),
    "both_outputs": (_make_two, _likelihood, {"a": _Y, "b": _Y},
                     "y['a'] has the shape [None], and models['a']"),
}
_RIGHT = {
    "columns": (_make(), _likelihood, _Y[:, None]),
    "contrastive": (_make(), _contrastive, _CLASSES),
    "sparse": (_make(), _sparse, _CLASSES),
    "squeezed": (_make(1), _squared, _Y),
    "of_keras": (_make(1), "mse", _Y),
    "of_keras_with_options": (
        _make(), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        _CLASSES),
    "contrastive_of_vector": (_make(), _contrastive_of_vector, _CLASSES),
    "one_hot": (_make(), _focal, _CLASSES),
    "gathered": (_make(), _gathered, _CLASSES),
    "ranking": (_make(), _ranking, _Y),
    "correlation": (_make(), _correlation, _Y),
    "weighted": (_make(), _weighted, _CLASSES),
    "own_columns": (_make(), _likelihood_of_columns, _Y),
    "rmse": (_make(), _rmse, _Y),
    "steps": (_make(3), _steps, _STEPS),
    "steps_of_one": (lambda: keras.Sequential([
        keras.Input([3]), L.Reshape([3, 1]), L.Dense(1)]), _steps, _STEPS),
    "subclass": (_make(1), Squared(), _Y[:, None]),
    "scalars": (_make(1, 0), Squared(), _Y),
    "scalars_of_function": (_make(1, 0), _squared, _Y[:, None]),
    "add_loss": (_make(layers=[L.ActivityRegularization(.1)]), _sparse,
                 _CLASSES),
    "own_compute_loss": (OwnLoss, _sparse, _CLASSES),
    "two_outputs": (_make_two, {"a": _likelihood, "b": _sparse}, {
        "a": _Y[:, None], "b": _CLASSES}),
}


class BroadcastsTest(parameterized.TestCase):

  def _fit(self, make, loss, y):
    ensemble_search.EnsembleSearch(
        {"a": make}, loss, directory=self.create_tempdir().full_path,
        seed=1).fit(_X, y, epochs=1, verbose=0)

  @parameterized.named_parameters(
      (name, *row) for name, row in level.first(list(_MISTAKES.items()), 4))
  def test_mistake(self, make, loss, y, expected):
    with self.assertRaises(ValueError) as caught:
      self._fit(make, loss, y)
    self.assertStartsWith(str(caught.exception), expected)

  @parameterized.named_parameters(
      (name, *row) for name, row in level.first(list(_RIGHT.items()), 4))
  def test_right(self, make, loss, y):
    self._fit(make, loss, y)


if __name__ == "__main__":
  absltest.main()
