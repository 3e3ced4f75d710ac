# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Folds, what is selected from them, and callbacks of their networks."""

import contextlib
import os
from random import uniform  # As some programs write.
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import data as data_lib
from adanet.ensemble_search import engine
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import steps as steps_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L = keras.layers
_R = np.random.RandomState(0)
_X = _R.randn(90, 4).astype("float32")
_CLASSES = (_X[:, 0] > .3).astype("int32") + (_X[:, 1] > 0)
_SPARSE = "sparse_categorical_crossentropy"


def _make(*inner):
  return lambda: keras.Sequential([
      *(make_layer() for make_layer in inner), L.Dense(3, "softmax")])


_MODELS = {"line": _make(), "wide": _make(lambda: L.Dense(16, "relu"))}


def _search(directory, models=None):
  return ensemble_search.EnsembleSearch(
      models or _MODELS, _SPARSE, ["accuracy"], keras.optimizers.Adam(.03),
      directory=directory, seed=1)


def _data(y, folds, seed):
  return data_lib.split_data(
      np.zeros([len(y), 1], "float32"), y, 4, None, .2, None, None, folds,
      seed)[0]


class _Noisy(L.Layer):
  """Draws by an op of TensorFlow, whose seed is of the trace."""

  def call(self, inputs, training=False):
    return inputs + tf.random.normal(
        tf.shape(inputs)) if training else inputs


class _OwnModel(keras.Model):
  """Has a constant that each network draws."""

  def __init__(self):
    super().__init__()
    self.factor = uniform(1, 2)

  def call(self, inputs):
    return self.factor * inputs


class FoldsTest(parameterized.TestCase):

  @hypothesis.given(
      st.lists(st.integers(0, 3), min_size=2, max_size=40), st.data(),
      st.sampled_from(["classes", "column", "one_hot"]), st.integers(0, 9))
  @hypothesis.settings(max_examples=level.number(15, 50))
  def test_rows(self, classes, draw, shape, seed):
    count = draw.draw(st.integers(2, len(classes)))
    classes = np.array(classes, "int32")
    data = _data({"classes": classes, "column": classes[:, None].astype(
        "float32"), "one_hot": np.eye(4, dtype="float32")[classes]}[shape],
                 count, seed)
    self.assertLen(data, count)
    self.assertSequenceEqual(range(len(classes)), sorted(
        row for fold in data for row in fold.held_out.numbers))
    for fold in data:
      self.assertSequenceEqual(range(len(classes)), sorted(
          [*fold.trained.numbers, *fold.held_out.numbers]))
    for counts in ([len(fold.held_out.numbers) for fold in data], *(
        [np.sum(classes[fold.held_out.numbers] == label) for fold in data]
        for label in range(4))):
      self.assertLessEqual(max(counts) - min(counts), 1)

  def test_values_and_models(self):
    search = _search(self.create_tempdir().full_path)
    weights = np.linspace(.5, 2, 90)
    search.fit(_X, _CLASSES, sample_weight=weights, epochs=2, folds=2,
               verbose=0)
    history = search.history
    data = data_lib.split_data(
        _X, _CLASSES, 32, None, .2, weights, None, 2, 1)[0]
    rows = np.concatenate([fold.held_out.numbers for fold in data])
    mean = 0
    self.assertLen(history.members, 2)
    for member in history.members:
      outputs = np.concatenate([
          np.asarray(search.network(network.name)(_X[fold.held_out.numbers]))
          for network, fold in zip(member.networks, data)])
      mean += member.weight * outputs
      self._check_values(member.values, outputs, rows, weights)
      for network, fold in zip(member.networks, data):
        # Models without penalties: the judge says what Model.fit says.
        self.assertAlmostEqual(
            network.own_val_loss, network.values["val_loss"], places=5)
        self.assertAlmostEqual(member.weight / 2, network.weight)
    self._check_values(history.ensemble, mean, rows, weights)
    # What is served is the mean of all networks.
    expected = sum(
        network.weight * np.asarray(search.network(network.name)(_X))
        for network in history.networks if network.weight)
    np.testing.assert_allclose(expected, search.model(_X), atol=1e-6)
    np.testing.assert_allclose(expected, sum(
        member.weight * np.asarray(member.model(_X))
        for member in search.members), atol=1e-6)

  @level.gate
  def test_pairs_of_folds(self):
    """Pairs with the rows of equal folds are these folds."""
    folds = _data(_CLASSES, 3, 1)
    pairs = ((fold.trained.numbers, fold.held_out.numbers) for fold in folds)
    search, expected = (
        _search(self.create_tempdir().full_path).fit(
            _X, _CLASSES, epochs=2, folds=folds, verbose=0).history
        for folds in (pairs, 3))
    self.assertEqual(
        [network.epochs for network in search.networks],
        [network.epochs for network in expected.networks])
    self.assertEqual(search.ensemble, expected.ensemble)

  def test_pairs(self):
    """Rows may be held out twice or never, by folds of different sizes."""
    pairs = [(range(0, 40), range(40, 70)), (range(20, 50), [60, 3, 80]),
             (range(80, 90), range(0, 21))]
    models = {"line": _MODELS["line"]}
    search = _search(self.create_tempdir().full_path, models).fit(
        _X, _CLASSES, epochs=1, folds=pairs, verbose=0)
    rows = np.concatenate([list(part) for _, part in pairs])
    for member in search.history.members:
      outputs = np.concatenate([
          np.asarray(search.network(network.name)(_X[list(part)]))
          for network, (_, part) in zip(member.networks, pairs)])
      self._check_values(member.values, outputs, rows, np.ones(90))
    with self.assertRaisesRegex(
        ValueError, "folds: 3 pairs before, 2 pairs now"):
      search.fit(_X, _CLASSES, epochs=1, folds=pairs[:2])
    # A single pair is one split, with a network for each function.
    search = _search(self.create_tempdir().full_path, models).fit(
        _X, _CLASSES, epochs=1, folds=pairs[:1], verbose=0)
    self.assertEqual(["line"], [
        network.name for network in search.history.networks])

  def _check_values(self, values, outputs, rows, weights):
    losses = -np.log(outputs[np.arange(len(rows)), _CLASSES[rows]])
    self.assertAlmostEqual(
        float(np.mean(losses * weights[rows])), values["val_loss"], places=5)
    self.assertAlmostEqual(
        float(np.mean(outputs.argmax(1) == _CLASSES[rows])),
        values["val_accuracy"], places=5)

  @level.gate
  def test_leaderboard(self):
    models = dict(reversed(_MODELS.items()))
    search = _search(self.create_tempdir().full_path, models)
    search.fit(_X, _CLASSES, epochs=2, folds=2, iterations=2, verbose=0)
    # In the order of training: of the functions, and not of the alphabet.
    self.assertEqual([
        f"{name}{iteration}, fold {fold} of 2" for iteration in ("", " (2)")
        for name in models for fold in (1, 2)],
                     [network.name for network in search.history.networks])
    rows = search.history.rows()
    self.assertEqual("ensemble", rows[0]["name"])
    self.assertLen(rows, 1 + 2 * 2 * 3)
    members = rows[1::3]
    self.assertEqual(sorted(row["val_loss"] for row in members),
                     [row["val_loss"] for row in members])
    for i, row in enumerate(members):
      self.assertEqual(
          [row["name"] + ", fold 1 of 2", row["name"] + ", fold 2 of 2"],
          [network["name"] for network in rows[2 + 3 * i:4 + 3 * i]])
    self.assertEqual({"line", "line (2)", "wide", "wide (2)"},
                     {row["name"] for row in members})

  @parameterized.parameters(level.first([None, 2]))
  def test_max_members(self, folds):
    # Each knows a class, and learns nothing.
    models = {f"class_{i}": lambda i=i: keras.Sequential([
        L.Dense(3, "softmax", kernel_initializer="zeros",
                bias_initializer=lambda shape, dtype: 2 * keras.ops.one_hot(
                    i, 3, dtype=dtype))]) for i in range(3)}
    search = ensemble_search.EnsembleSearch(
        models, _SPARSE, optimizer=keras.optimizers.SGD(0.), seed=1,
        directory=self.create_tempdir().full_path)
    fit = {"epochs": 1, "folds": folds, "verbose": 0}
    search.fit(_X, np.arange(90) % 3, **fit)
    free = search.history
    self.assertTrue(all(member.weight for member in free.members))
    search.fit(_X, np.arange(90) % 3, max_members=2, **fit)
    limited = search.history
    self.assertLen([member for member in limited.members if member.weight], 2)
    self.assertLess(free.ensemble["val_loss"], limited.ensemble["val_loss"])
    self.assertLess(limited.ensemble["val_loss"], min(
        member.values["val_loss"] for member in limited.members))
    with_metric = ensemble_search.EnsembleSearch(
        models, _SPARSE, ["accuracy"], keras.optimizers.SGD(0.), seed=1,
        directory=limited.directory)
    with_metric.fit(_X, np.arange(90) % 3, max_members=2, **fit)
    self.assertIn("val_accuracy", with_metric.history.ensemble)
    self.assertEqual(
        [network.seconds for network in limited.networks],
        [network.seconds for network in with_metric.history.networks])

  @parameterized.named_parameters(level.first([
      ("layers_of_keras", lambda: L.Dropout(.1), {}, True),
      ("own_layer", lambda: _Noisy(), {}, False),
      ("functional", lambda: keras.Model(i := keras.Input([4]), L.Dense(
          3, bias_initializer=keras.initializers.Constant(.1))(i * 2)), {},
       True),
      ("lambda_layer", lambda: L.Lambda(lambda x: x + 1), {}, False),
      ("own_activation", lambda: L.Activation(lambda x: x + 1), {}, False),
      ("lookup", lambda: keras.Sequential([
          L.Discretization([0.]), L.IntegerLookup(vocabulary=[0]),
          L.Rescaling(1.)]), {}, False),
      ("own_loss", lambda: L.Dropout(.1), {"loss": lambda y, p: (
          keras.losses.sparse_categorical_crossentropy(y, p))}, False),
      ("own_model", lambda: _OwnModel(), {}, False)]))
  def test_who_lends_a_trace(self, inner, arguments, is_lent):
    """The figures are those of networks that are traced themselves."""
    figures, traced = [], []
    trace = steps_lib.Steps.trace

    def count(steps):
      traced[-1] += 1
      trace(steps)

    for lends in (True, False):
      traced.append(0)
      with contextlib.ExitStack() as exits:
        for patch in (mock.patch.object(steps_lib.Steps, "trace", count),
                      mock.patch.object(os, "sched_getaffinity", lambda _: {0}),
                      *(() if lends else [mock.patch.object(
                          kept_networks.KeptNetworks, "borrow",
                          lambda *_: None)])):
          exits.enter_context(patch)
        search = ensemble_search.EnsembleSearch(**{**dict(
            models={"line": _make(inner)}, loss=_SPARSE, seed=1,
            directory=self.create_tempdir().full_path), **arguments})
        search.fit(_X, _CLASSES, epochs=2, folds=4, verbose=0)
        figures.append([network.epochs for network in search.history.networks])
    self.assertEqual(*figures)
    # With one core, one network trains, one waits, and two borrow.
    self.assertEqual([2 if is_lent else 4, 4], traced)

  def test_one_trace_of_a_step(self):
    traced = []

    class Counting(L.Layer):

      def call(self, x, training=False):
        traced.append(training)
        return x

    _search(self.create_tempdir().full_path, {"line": _make(Counting)}).fit(
        _X, _CLASSES, epochs=1, verbose=0)
    self.assertEqual(1, traced.count(True))

  def test_callbacks(self):
    seen = []

    class Seen(keras.callbacks.Callback):

      def __init__(self, name):
        super().__init__()
        self.name = name

      def __getattribute__(self, name):
        if name.startswith("on_"):
          seen.append((object.__getattribute__(self, "name"), name))
        return super().__getattribute__(name)

      def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = epoch == 1

    search = _search(self.create_tempdir().full_path, {"line": _make()})
    search.fit(_X, _CLASSES, epochs=9, callbacks=lambda name: [Seen(name)],
               verbose=0)
    (network,) = search.history.networks
    self.assertLen(network.epochs, 2)
    self.assertEqual("by a callback", network.ended)
    self.assertEqual(
        ["on_train_begin"] + 2 * [
            "on_epoch_begin", "on_test_begin", "on_test_end", "on_epoch_end"
        ] + ["on_train_end"],
        [hook for name, hook in seen if name == "line" and "batch" not in hook])

  @level.gate
  def test_callbacks_begin_anew(self):
    folder = self.create_tempdir().full_path
    search = _search(folder, {"line": _make()})
    fit = {"callbacks": lambda: [keras.callbacks.ReduceLROnPlateau()],
           "verbose": 0}
    with mock.patch.object(
        engine.Stop, "is_set", lambda _: bool(search.history.networks) if (
            os.path.exists(os.path.join(folder, "search.json"))) else False), (
                mock.patch.object(network_lib, "_SECS_BETWEEN_SAVES", -1)):
      search.fit(_X, _CLASSES, epochs=4, **fit)
    self.assertEqual(
        ["out of time"], [
            network.ended for network in search.history.networks])
    with self.assertLogs("absl", "WARNING") as logs:
      search.fit(_X, _CLASSES, epochs=4, **fit)
    self.assertIn("their callbacks start fresh", logs.output[-1])

  def test_a_callback_of_another_network(self):
    shared = keras.callbacks.LearningRateScheduler(lambda epoch: .01)
    search = _search(self.create_tempdir().full_path, {"line": _make()})
    with self.assertLogs("absl") as logs:
      search.fit(_X, _CLASSES, epochs=1, iterations=2, verbose=0,
                 callbacks=lambda: [shared])
    self.assertRegex(logs.output[0], r"line \(2\) failed: ValueError: callbacks "
                     "returned an object of another network")
    self.assertEqual(["line"], [member.name for member in search.members])


if __name__ == "__main__":
  absltest.main()
