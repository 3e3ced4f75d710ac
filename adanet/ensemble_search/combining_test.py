# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How an ensemble's outputs are combined: what is selected, shown and saved."""

import glob
import os
import types
from unittest import mock
import warnings

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import log
from adanet import tf_compat
from adanet.testing import level
import numpy as np

keras = tf_compat.keras_3
ops = keras.ops
_DRAW = np.random.RandomState(1)
_X = _DRAW.randn(90, 3).astype("float32")
_Y = _X[:, :1] + _DRAW.randn(90, 1).astype("float32")


@keras.saving.register_keras_serializable()
def mixture(outputs, weights):
  """Returns mean and log-variance of a mixture of normal distributions."""
  shares = ops.reshape(weights, [-1, 1])
  means, variances = outputs[..., 0], ops.exp(outputs[..., 1])
  mean = ops.sum(shares * means, 0)
  variance = ops.sum(shares * (variances + ops.square(means - mean)), 0)
  return ops.stack([mean, ops.log(variance)], -1)


@keras.saving.register_keras_serializable()
def mean(outputs, weights):
  return ops.sum(ops.reshape(weights, [-1, 1, 1]) * outputs, 0)


@keras.saving.register_keras_serializable()
def mean_of_each(outputs, weights):
  return {name: mean(output, weights) for name, output in outputs.items()}


@keras.saving.register_keras_serializable()
def median_and_mean(outputs, weights):
  return {"a": ops.median(outputs["a"], 0), "b": mean(outputs["b"], weights)}


@keras.saving.register_keras_serializable()
def first_column(outputs, weights):
  del weights
  return outputs[0, :, :1]


@keras.saving.register_keras_serializable()
def mean_of_rows(outputs, weights):
  del weights
  return ops.mean(outputs, axis=1)


@keras.saving.register_keras_serializable()
def weights_of_columns(outputs, weights):
  return ops.sum(outputs * weights, axis=0)


@keras.saving.register_keras_serializable()
def not_finite(outputs, weights):
  del weights
  return ops.log(-ops.abs(outputs[0]) - 1)


_FACTOR = 1.
_module = types.SimpleNamespace(shift=lambda outputs: outputs)


def _scale(outputs):
  return _FACTOR * outputs


@keras.saving.register_keras_serializable()
def scaled(outputs, weights):
  return mean(_module.shift(_scale(outputs)), weights)


@keras.saving.register_keras_serializable()
def of_numpy(outputs, weights):
  return np.average(outputs.numpy(), 0, weights)


@keras.saving.register_keras_serializable()
def likelihood(y, outputs):
  mean_of_row, log_variance = outputs[..., 0], outputs[..., 1]
  return ops.mean(log_variance + ops.square(y[..., 0] - mean_of_row) * ops.exp(
      -log_variance), -1)


def _normal(width):
  return lambda: keras.Sequential([
      keras.layers.Dense(width, "relu"), keras.layers.Dense(2)])


def _biased(bias):
  return lambda: keras.Sequential([keras.layers.Dense(
      2, bias_initializer=keras.initializers.Constant(bias))])


def _two(bias):

  def make():
    x = keras.Input([3])
    return keras.Model(x, {name: keras.layers.Dense(
        1, name=name, bias_initializer=keras.initializers.Constant(bias))(x)
                           for name in ("a", "b")})

  return make


def _masked():
  x = keras.Input([3])
  rows = keras.layers.Masking()(keras.layers.Reshape([3, 1])(x))
  return keras.Model(x, keras.layers.TimeDistributed(
      keras.layers.Dense(2))(rows))


_NORMAL = {str(width): _normal(width) for width in (4, 8)}
# Their mean is better than each.
_TWO = {"high": _two(2.), "low": _two(-2.)}
_OPTIONS = {"verbose": 0, "epochs": 3}


def _search(models=None, directory=None, loss=likelihood, **arguments):
  return adanet.EnsembleSearch(
      models or _NORMAL, loss, optimizer=keras.optimizers.SGD(.05), seed=1,
      directory=directory, **arguments)


class CombineTest(parameterized.TestCase):

  @level.gate
  def test_mean_is_what_none_selects(self):
    y = {"a": _Y, "b": -_Y}
    search, own = [_search(
        _TWO, self.create_tempdir().full_path, "mse", combine=combine
    ).fit(_X, y, **_OPTIONS) for combine in (None, mean_of_each)]
    self.assertGreater(len(search.members), 1)
    self.assertEqual([member.weight for member in search.history.members],
                     [member.weight for member in own.history.members])
    keras.tree.map_structure(
        lambda *pair: np.testing.assert_allclose(*pair, atol=1e-6),
        search.model.predict(_X, verbose=0), own.model.predict(_X, verbose=0))

  @parameterized.named_parameters(*level.first([
      ("held_out", _NORMAL, mixture, likelihood, {}),
      ("folds", _NORMAL, mixture, likelihood, {"folds": 3}),
      ("two_outputs", _TWO, median_and_mean, "mse",
       {"folds": [(np.arange(60), np.arange(60, 90))]}),
  ]))
  def test_all_that_the_user_sees_is_combined(self, models, combine, loss,
                                              options):
    y = _Y if loss is likelihood else {"a": _Y, "b": -_Y}
    path = self.create_tempdir().full_path
    search = _search(models, path, loss, combine=combine)
    search.fit(_X, y, **options, **_OPTIONS)
    history = search.history
    model = search.model
    self.assertIs(model, search.model)
    networks = [(network.name, member.weight / len(member.networks))
                for member in history.members for network in member.networks
                if member.weight]
    self.assertGreater(len(networks), 1)
    predictions = [search.network(name).predict(_X, verbose=0)
                   for name, _ in networks]
    weights = np.array([weight for _, weight in networks], "float32")
    everything = list(range(len(networks)))

    def combined(rows, used=everything):
      return keras.tree.map_structure(np.asarray, combine(
          keras.tree.map_structure(
              lambda *arrays: ops.stack([array[rows] for array in arrays]),
              *(predictions[i] for i in used)),
          weights[used] / weights[used].sum()))

    def check(expected, actual):
      keras.tree.map_structure(
          lambda *pair: np.testing.assert_allclose(*pair, atol=1e-5),
          expected, actual)

    # What is served.
    check(combined(slice(None)), model.predict(_X, verbose=0))
    path = os.path.join(path, "ensemble.keras")
    model.save(path)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      check(combined(slice(None)),
            keras.models.load_model(path).predict(_X, verbose=0))
    # What is shown: a row has the networks that did not train on the row.
    sums, all_rows = 0., search.held_out
    for fold in np.unique(all_rows.folds):
      rows, labels, outputs = (keras.tree.map_structure(
          lambda array: array[all_rows.folds == fold], arrays)  # pylint: disable=cell-var-from-loop
                               for arrays in (all_rows.rows, all_rows.labels,
                                              all_rows.outputs["ensemble"]))
      used = [i for i, (name, _) in enumerate(networks)
              if f"fold {fold + 1} of" in name or "fold" not in name]
      expected = combined(rows, used) if used[1:] else (
          keras.tree.map_structure(lambda array: array[rows],  # pylint: disable=cell-var-from-loop
                                   predictions[used[0]]))
      check(expected, outputs)
      check(keras.tree.map_structure(lambda array: array[rows], y), labels)  # pylint: disable=cell-var-from-loop
      losses = keras.tree.map_structure(
          lambda *pair: float(np.mean(keras.losses.get(loss)(*pair))),
          labels, outputs)
      sums += len(rows) * sum(keras.tree.flatten(losses))
    count = len(all_rows.rows)
    self.assertAlmostEqual(
        sums / count, history.ensemble["val_loss"], places=4)

  def test_another_function_selects_anew_and_trains_nothing(self):
    path = self.create_tempdir().full_path
    _search(directory=path).fit(_X, _Y, **_OPTIONS)
    search = _search(directory=path, combine=mixture)
    with self.assertRaisesRegex(
        ValueError, "selected with combine=None, and this search has combine="
        ".*mixture: give the same function, or call fit"):
      _ = search.model
    seconds = [network.seconds for network in search.history.networks]
    search.fit(_X, _Y, **_OPTIONS)
    self.assertEqual(
        seconds, [network.seconds for network in search.history.networks])
    loaded = adanet.EnsembleSearch(
        _NORMAL, loss=likelihood, combine=mixture, directory=path)
    np.testing.assert_array_equal(
        search.model.predict(_X, verbose=0),
        loaded.model.predict(_X, verbose=0))

  @parameterized.named_parameters(*level.first([
      ("module", {"_module": types.SimpleNamespace(shift=lambda x: x + 1)}),
      ("constant", {"_FACTOR": .5}),
      # The ensemble has one network, and could have two.
      ("one_network", {"_FACTOR": .5}, (0., 9.), 1),
      ("function", {"_scale": lambda outputs: .5 * outputs}),
      ("folds", {"_FACTOR": .5}, (2., -2.), 2, {"folds": 2})]))
  def test_what_a_function_returns(self, values, biases=(2., -2.), count=2,
                                   fit=None):
    """The function may depend on any code and any value."""
    fit = {**_OPTIONS, **(fit or {})}
    search = _search(
        {str(bias): _biased(bias) for bias in biases},
        self.create_tempdir().full_path, "mse", combine=scaled
    ).fit(_X, _Y, **fit)
    self.assertLen(search.members, count)
    seconds = [network.seconds for network in search.history.networks]
    with mock.patch.object(log, "warning") as warning:
      search.fit(_X, _Y, **fit)
      warning.assert_not_called()
      with mock.patch.dict(scaled.__globals__, values):
        for name in ("model", "members", "held_out"):
          with self.assertRaisesRegex(
              ValueError, "^combine=scaled returns other outputs for the held-"
              "out rows than when the ensemble was selected: give the same "
              "function, or call fit, which selects another ensemble.$"):
            getattr(search, name)
        search.fit(_X, _Y, **fit)
        self.assertEqual(
            "combine=scaled returns other outputs for the held-out rows than "
            "when the ensemble was selected. Selecting the ensemble anew.",
            warning.mock_calls[0].args[0] % warning.mock_calls[0].args[1:])
        self.assertEqual(
            seconds, [network.seconds for network in search.history.networks])
        held_out = search.held_out
    np.testing.assert_array_equal(_Y[held_out.rows], held_out.labels)
    self.assertAlmostEqual(np.square(
        held_out.outputs["ensemble"] - held_out.labels).mean(),
                           search.history.ensemble["val_loss"], places=4)

  def test_a_function_that_fails(self):
    search = _search(directory=self.create_tempdir().full_path, combine=scaled)
    search.fit(_X, _Y, **_OPTIONS)
    with mock.patch.dict(scaled.__globals__, _scale=None):
      with self.assertRaisesRegex(
          ValueError, "^combine=scaled cannot be compared with '.*-outputs.npz': "
          "'NoneType' object is not callable: give the same function"):
        _ = search.model
      with self.assertRaisesRegex(
          ValueError, "^combine=scaled does not fit .*NoneType"):
        search.fit(_X, _Y, **_OPTIONS)

  @level.gate
  def test_lost_outputs_of_the_ensemble(self):
    path = self.create_tempdir().full_path
    search = _search(directory=path, combine=mixture).fit(_X, _Y, **_OPTIONS)
    outputs, = glob.glob(os.path.join(path, "*-outputs.npz"))
    os.remove(outputs)
    with self.assertRaisesRegex(ValueError, "-outputs.npz.: .*No such file"):
      _ = search.model
    search.fit(_X, _Y, **_OPTIONS)
    self.assertLen(glob.glob(os.path.join(path, "*-outputs.npz")), 1)
    _ = search.model

  def test_model_is_built_anew_after_fit(self):
    search = adanet.EnsembleSearch(
        {"8": _NORMAL["8"]}, likelihood,
        directory=self.create_tempdir().full_path, seed=1)
    model = search.fit(_X, _Y, **_OPTIONS).model
    self.assertIs(model, search.fit(_X, _Y, **_OPTIONS).model)
    model.fit(_X, _Y, verbose=0)
    self.assertIsNot(
        model, search.fit(_X, _Y, iterations=2, **_OPTIONS).model)
    # What was tuned keeps its optimizer.
    path = os.path.join(self.create_tempdir().full_path, "ensemble.keras")
    model.save(path)
    optimizer = keras.models.load_model(path).optimizer
    self.assertLen(optimizer.variables, len(model.optimizer.variables))
    for variable, expected in zip(
        optimizer.variables, model.optimizer.variables):
      np.testing.assert_array_equal(variable, expected)

  @parameterized.named_parameters(
      ("no_function", 3, ValueError, r"combine=3: expected a function combine\("
       r"outputs, weights\) in keras.ops"),
      ("not_registered", lambda outputs, weights: outputs[0], ValueError,
       "combine=<lambda>: expected a function .*Decorate"),
      ("of_other_rows", first_column, ValueError,
       r"combine=first_column does not fit the outputs of models\['4'\], which "
       r"are 18 rows of \[2\]: it returns 18 rows of \[1\]: expected"),
      ("mean_of_rows", mean_of_rows, ValueError,
       r"combine=mean_of_rows .*: it returns 3 rows of \[2\]: expected"),
      ("weights_of_columns", weights_of_columns, ValueError,
       "combine=weights_of_columns does not fit .*Incompatible shapes"),
      ("of_several_outputs", mean_of_each, ValueError,
       "combine=mean_of_each does not fit the outputs of "),
      ("not_finite", not_finite, ValueError,
       "combine=not_finite .*: it returns NaN or infinity: expected"),
      ("layer", keras.layers.Average(), ValueError,
       "combine=.*Average.*: expected a function combine"),
      ("not_of_keras", of_numpy, ValueError,
       r"combine=of_numpy does not fit the outputs of models\['4'\].*numpy"))
  def test_mistake(self, combine, error, message):
    path = self.create_tempdir().full_path
    with self.assertRaisesRegex(error, message):
      _search(directory=path, combine=combine).fit(_X, _Y, **_OPTIONS)
    self.assertEmpty(os.listdir(os.path.join(path, "networks")) if (
        os.path.exists(os.path.join(path, "networks"))) else [])

  def test_masked_outputs(self):
    with self.assertRaisesRegex(
        ValueError, r"combine=mean does not fit the outputs of "
        r"models\['masked'\].*: leave out combine, or the mask of the outputs"):
      _search({"masked": _masked}, loss="mse", combine=mean).fit(
          _X, np.zeros([90, 3, 2]), **_OPTIONS)


class HeldOutTest(absltest.TestCase):

  def test_validation_data(self):
    search = _search(directory=self.create_tempdir().full_path)
    search.fit(_X[:60], _Y[:60], validation_data=(_X[60:], _Y[60:]), **_OPTIONS)
    held_out = search.held_out
    self.assertIsNone(held_out.rows)
    self.assertIsNone(held_out.weights)
    np.testing.assert_array_equal(_Y[60:], held_out.labels)
    self.assertSameElements([*_NORMAL, "ensemble"], held_out.outputs)
    np.testing.assert_allclose(
        search.model.predict(_X[60:], verbose=0), held_out.outputs["ensemble"],
        atol=1e-6)

  def test_folds_hold_out_each_row(self):
    models = {"8": _NORMAL["8"]}
    search = _search(models, self.create_tempdir().full_path)
    weights = np.linspace(1, 2, 90, dtype="float32")
    search.fit(_X, _Y, folds=2, sample_weight=weights, **_OPTIONS)
    held_out = _search(models, search.history.directory).held_out
    self.assertCountEqual(range(90), held_out.rows.tolist())
    np.testing.assert_array_equal(_Y[held_out.rows], held_out.labels)
    np.testing.assert_array_equal(weights[held_out.rows], held_out.weights)
    for fold in range(2):
      is_of_fold = held_out.folds == fold
      np.testing.assert_allclose(
          search.network(f"8, fold {fold + 1} of 2").predict(
              _X[held_out.rows[is_of_fold]], verbose=0),
          held_out.outputs["8"][is_of_fold], atol=1e-6)


if __name__ == "__main__":
  absltest.main()
