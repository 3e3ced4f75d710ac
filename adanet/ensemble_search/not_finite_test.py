# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks and data with NaN or infinity, which a loss need not show."""

from concurrent import futures
import math
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.testing import level
import numpy as np
import optuna

keras, tf = tf_compat.keras_3, tf_compat.v2
L = keras.layers
_X = np.random.RandomState(0).randn(120, 4).astype("float32")
_Y = (_X[:, :1] > 0).astype("float32")
_BAD_X = np.array(_X)
_BAD_X[[1, 50], 0] = _BAD_X[[7, 90], 2] = math.nan
_LOSS = "binary_crossentropy"
_GOES_ON = "The search goes on; fit trains it again when called again."


class ForgetsNumbers(L.Layer):
  """Returns NaN in training, after some steps."""

  def __init__(self, steps=0, **kwargs):
    super().__init__(**kwargs)
    self.steps = steps
    self.count = self.add_weight(dtype="int32", trainable=False)

  def call(self, inputs, training=False):
    if not training:
      return inputs
    self.count.assign_add(1)
    return tf.where(self.count > self.steps, math.nan, 1.) * inputs


class ReplacesNaN(L.Layer):

  def call(self, inputs):
    return tf.where(tf.math.is_finite(inputs), inputs, 0.)


class PredictsNaN(L.Layer):
  """Returns NaN for some rows, but not in training."""

  def call(self, inputs, training=False):
    return inputs if training else tf.where(inputs > .7, math.nan, inputs)


class WithInfinity(L.Layer):
  """Has infinity in a variable, as a mask of attention may have."""

  def __init__(self, **kwargs):
    super().__init__(**kwargs)
    self.mask = self.add_weight(shape=[4], trainable=False)
    self.mask.assign([0., 0., 0., -math.inf])

  def call(self, inputs):
    return tf.where(self.mask < 0, 0., inputs)


@keras.saving.register_keras_serializable()
def blind(y, outputs):
  """Returns a loss that is finite for NaN."""
  return tf.reduce_mean(tf.nn.relu(tf.abs(y - outputs)), -1)


@keras.saving.register_keras_serializable()
class Late(keras.metrics.Metric):
  """Returns 0 / 0 until outputs are large."""

  def __init__(self, name="late", **options):
    super().__init__(name=name, **options)
    self.hits = self.add_weight(name="hits", initializer="zeros")
    self.count = self.add_weight(name="count", initializer="zeros")

  def update_state(self, y_true, y_pred, sample_weight=None):
    above = keras.ops.cast(y_pred > .6, "float32")
    self.hits.assign_add(keras.ops.sum(above * y_true))
    self.count.assign_add(keras.ops.sum(above))

  def result(self):
    return self.hits / self.count


def _make(*layers, end=(), **options):
  return lambda: keras.Sequential([
      keras.Input([4]), *[layer() for layer in layers],
      L.Dense(4, "relu", name="hidden"),
      L.Dense(1, "sigmoid", **options),
      *[layer() for layer in end]])


class NotFiniteTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    warning = self.enter_context(mock.patch.object(log, "warning"))
    self.lines = lambda: [
        call.args[0] % call.args[1:] for call in warning.mock_calls]

  def _fit(self, models, x=_X, y=_Y, loss=_LOSS, search=None, **fit):
    return ensemble_search.EnsembleSearch(
        models, loss, directory=self.folder, seed=1, **search or {}).fit(
            x, y, **{"epochs": 3, "verbose": 0, **fit})

  def _check_failed(self, search, name, reason):
    history = search.history
    self.assertEqual({name: f"failed: {reason}"}, {
        network.name: network.ended for network in history.networks
        if network.ended.startswith("failed")})
    self.assertEqual([f"{name} failed: {reason}. {_GOES_ON}"], [
        line for line in self.lines() if " failed: " in line])
    last = history.rows()[-1]
    self.assertEqual(name, last["name"])
    self.assertTrue(math.isnan(last["val_loss"]))
    self.assertIsNone(last["weight"])
    self.assertTrue(math.isfinite(history.ensemble["val_loss"]))
    self.assertNotIn(name, [member.name for member in search.members])

  @parameterized.named_parameters(*level.first([
      ("threads", {}),
      ("dataset", {"x": lambda: tf.data.Dataset.from_tensor_slices(
          (_X, _Y)).batch(32), "y": None, "validation_data": (_X, _Y)}),
      ("executor", {"executor": futures.ThreadPoolExecutor(1)})]))
  def test_weights(self, fit):
    """A `relu` of NaN is 0 on a CPU, so the loss is ln 2."""
    models = {"bad": _make(ForgetsNumbers), "good": _make()}
    search = self._fit(models, **fit)
    self._check_failed(search, "bad", "NaN in hidden/kernel after epoch 1")
    self.assertLen(search.history.networks[0].epochs, 1)
    self.assertCountEqual(
        ["network.json", "traceback.txt"],
        os.listdir(os.path.join(self.folder, "networks", "0-0-bad")))
    # It trains once more in each later call.
    self._fit(models, **{**fit, "iterations": 2})
    self.assertEmpty([line for line in self.lines() if "the same" in line])
    self.assertEqual([
        f"{name} failed: NaN in hidden/kernel after epoch 1. {_GOES_ON}"
        for name in ("bad", "bad", "bad (2)")], [
            line for line in self.lines() if " failed: " in line])

  def test_one_fold(self):
    """The other networks of the function do not begin."""
    y = np.arange(120) % 2
    x = np.array(_X)
    x[::2, 1] = math.nan
    folds = [(np.arange(0, 100, 2), np.arange(100, 110)),
             (np.arange(1, 100, 2), np.arange(111, 120, 2))]
    search = self._fit(
        {"bad": _make(), "good": _make(ReplacesNaN)}, x, y, folds=folds,
        parallel=1)
    self.assertEqual(
        ["bad, fold 1 of 2", "good, fold 1 of 2", "good, fold 2 of 2"],
        [network.name for network in search.history.networks])
    self.assertTrue(math.isnan(search.history.rows()[-1]["val_loss"]))
    self.assertEqual(["good"], [member.name for member in search.members])

  def test_weights_after_a_good_epoch(self):
    """The good epoch counts, as where the loss is NaN later."""
    search = self._fit({"a": _make(
        lambda: ForgetsNumbers(3), kernel_initializer="zeros",
        bias_initializer=keras.initializers.Constant(3.))}, search={
            "optimizer": keras.optimizers.SGD(.1)})
    network, = search.history.networks
    losses = [logs["val_loss"] for logs in network.epochs]
    self.assertLess(losses[1], losses[0])
    self.assertEqual(1, network.best_epoch)
    self.assertEqual("all epochs", network.ended)
    for value in search.model.get_weights():
      self.assertTrue(np.isfinite(value).all())

  def test_predictions(self):
    search = self._fit({
        "bad": _make(end=[PredictsNaN], bias_initializer="ones"),
        "good": _make()}, loss=blind, epochs=1)
    self._check_failed(
        search, "bad", "NaN in the predictions of held-out rows after epoch 1")

  def test_a_variable_that_is_never_finite(self):
    search = self._fit({"a": _make(WithInfinity)})
    self.assertEqual("all epochs", search.history.networks[0].ended)
    self.assertEmpty(self.lines())

  def test_trial(self):
    def make(trial):
      return _make(*[ForgetsNumbers] * trial.suggest_int("forgets", 0, 1))()

    search = self._fit({"make": make}, trials=2, search={
        "sampler": lambda seed: optuna.samplers.GridSampler(
            {"forgets": [0, 1]}, seed)})
    self.assertCountEqual(
        [(0, "COMPLETE"), (1, "FAIL")],
        [(trial.params["forgets"], trial.state.name)
         for trial in search.study("make").trials])

  @parameterized.named_parameters(*level.first([
      ("matrix", _BAD_X, {}, "x has NaN in 4 of 120 rows, in columns 0, 2"),
      ("held_out", _X, {"validation_data": (_BAD_X, _Y)},
       "held-out x has NaN in 4 of 120 rows, in columns 0, 2"),
      ("infinity", np.where(_X > 1, math.inf, _X), {},
       r"x has infinity in \d+ of 120 rows, in columns 0, 1, 2 and 1 more"),
      ("columns", {"age": _BAD_X[:, :1], "size": _BAD_X[:, 1:]}, {},
       r"x\['age'\] has NaN in 2 of 120 rows, x\['size'\] has NaN in 2 of 120 "
       "rows, in column 1")]))
  def test_warning_of_x(self, x, fit, expected):
    """It is an error only if each network fails."""

    def make(*layers):
      inputs = {name: keras.Input(part.shape[1:], name=name) for name, part in (
          x.items())} if isinstance(x, dict) else keras.Input([4])
      outputs = L.Concatenate()(keras.tree.flatten([inputs, inputs]))
      for layer in layers:
        outputs = layer()(outputs)
      return keras.Model(inputs, L.Dense(1, "sigmoid")(outputs))

    search = self._fit({
        "bad": make, "good": lambda: make(ReplacesNaN)}, x, **fit)
    warning, *others = self.lines()
    self.assertRegex(warning, f"^{expected}: a network whose weights become "
                     "NaN will fail. Leave these rows out, or fill them, for ")
    self.assertLen(others, 1)
    self.assertRegex(others[0], "^bad failed: NaN in ")
    self.assertEqual(["good"], [member.name for member in search.members])
    self.folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(
        ValueError, "^models.'bad'. failed: NaN in .* All 2 networks that "
        "began have failed. Try a smaller learning rate, or look for NaN"):
      self._fit({"bad": make, "worse": make}, x, **fit)

  @parameterized.parameters(math.nan, math.inf, -1.)
  def test_weights_of_rows(self, value):
    weights = np.ones(120)
    weights[7] = value
    with self.assertRaisesRegex(
        ValueError, f"^sample_weight has {value}: expected finite weights of "
        "at least 0."):
      self._fit({"a": _make()}, sample_weight=weights)

  @parameterized.parameters(level.first([(2,), (1,)]))
  def test_all_networks(self, count):
    names = ["a", "b"][:count]
    all_failed = f" All {count} networks that began have failed."
    with self.assertRaisesRegex(
        ValueError, r"^models\['a'\] failed: NaN in hidden/kernel after epoch "
        f"1.{all_failed if count > 1 else ''} Try a smaller learning rate, or "
        "look for NaN and .* fit trains (it|them) again when called again."):
      self._fit({name: _make(ForgetsNumbers) for name in names})

  def test_monitor_that_is_nan_at_first(self):
    """Keras would keep the first epoch."""
    search = self._fit(
        {"a": _make()}, search={
            "metrics": [Late()], "monitor": "val_late", "mode": "max",
            "optimizer": keras.optimizers.Adam(.02)}, epochs=12, patience=8)
    network, = search.history.networks
    values = [logs["val_late"] for logs in network.epochs]
    self.assertTrue(math.isnan(values[0]))
    self.assertEqual(np.nanmax(values), values[network.best_epoch - 1])
    self.assertAlmostEqual(
        np.nanmax(values), search.history.ensemble["val_late"], places=5)


if __name__ == "__main__":
  absltest.main()
