# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finals: the best on the first fold train all folds, and nothing else does."""

import json
import os
import pathlib
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import engine
from adanet.ensemble_search import ensemble_search
from adanet.testing import engines
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np

keras = tf_compat.keras_3
L = keras.layers
_R = np.random.RandomState(0)
X = _R.randn(120, 4).astype("float32")
_ROWS = np.arange(120)
PAIRS = [(_ROWS[1::2], _ROWS[::2]), (_ROWS[::2], _ROWS[1::2])]
# The loss of all rows is far above the loss of the first fold.
Y = X[:, :1] * X[:, 1:2] * np.where(_ROWS % 2, 30., .1)[:, None]
_FIRST = ", fold 1 of "


def line():
  return keras.Sequential([L.Dropout(.2), L.Dense(1)])


def wide():
  return keras.Sequential([L.Dense(9, "tanh"), L.Dense(1)])


def space(trial):
  return keras.Sequential([
      L.Dense(trial.suggest_int("width", 2, 9), "tanh"),
      L.Dropout(trial.suggest_float("rate", 0., .5)), L.Dense(1)])


FUNCTIONS = {"line": line, "wide": wide}
BOTH = {"line": line, "space": space}
TRIALS = dict(iterations=2, trials=2, folds=PAIRS)


def fitted(directory, models=None, **fit):
  return ensemble_search.EnsembleSearch(
      models or FUNCTIONS, "mse", ["mae"], keras.optimizers.Adam(.03),
      directory=directory, seed=2).fit(**{**dict(
          x=X, y=Y, epochs=2, verbose=0), **fit})


def listing(names):
  """Returns `callbacks` that append the name of each network that begins."""

  def callbacks(name):
    if name != "name":  # Of the check of the argument.
      names.append(name)
    return []

  return callbacks


def fails(name):
  """Returns `callbacks` with which a network fails after its first epoch."""

  def fail(epoch, logs):
    raise MemoryError("out of memory")

  return lambda network: [keras.callbacks.LambdaCallback(
      on_epoch_end=fail)] * (network == name)


def _networks(search):
  """Returns what is to be equal of each network, by name."""
  return {network.name: network._replace(
      seconds=0., predict_seconds=0., weight=network.weight or 0.)
          for network in search.history.networks}


def _figures(search):
  """Returns what is to be equal of the ensemble."""
  history = search.history
  return {"ensemble": history.ensemble,
          "members": [(member.name, member.weight, member.values)
                      for member in history.members if member.weight],
          "weights": search.model.get_weights(),
          "predictions": np.asarray(search.model(X))}


def _folds(search):
  """Returns the number of networks of each candidate."""
  folds = {}
  for network in search.history.networks:
    folds[network.member] = folds.get(network.member, 0) + 1
  return folds


def _best(search, count, key=lambda values: values["val_loss"]):
  """Returns the names of the candidates that are the best on the first fold."""
  first = sorted((network for network in search.history.networks
                  if not network.fold), key=lambda network: key(network.values))
  return [network.member for network in first[:count]]


class FinalsTest(parameterized.TestCase):
  """Searches that share a search with finals of two functions."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.folder)
    cls.names = []
    cls.search = fitted(cls.folder, BOTH, callbacks=listing(cls.names),
                        finalists=2, **TRIALS)

  def test_networks(self):
    """2 * (1 + 2) candidates train a fold, and the best 2 of them another."""
    self.assertLen(self.names, 6 + 2)
    self.assertSameElements(self.names, _networks(self.search))
    self.assertEqual([_FIRST in name for name in self.names],
                     [True] * 6 + [False] * 2)
    best = _best(self.search, 2)
    self.assertEqual(
        {name: 2 if name in best else 1 for name in _folds(self.search)},
        _folds(self.search))
    self.assertLen(os.listdir(os.path.join(self.folder, "networks")), 6 + 2)

  def test_values(self):
    """The finalists and the ensemble are compared on all rows."""
    search = ensemble_search.EnsembleSearch(BOTH, directory=self.folder)
    history = search.history
    self.assertEqual(self.search.history, history)
    best = _best(search, 2)
    self.assertContainsSubset(
        {member.name for member in history.members if member.weight}, best)
    self.assertSameElements(best, {
        network.member for network in history.networks if network.fold})
    mean, served = 0., 0.
    for member in history.members:
      if member.name not in best:
        continue
      outputs = np.concatenate([
          np.asarray(search.network(network.name)(X[rows]))
          for network, (_, rows) in zip(member.networks, PAIRS)])
      self._check_values(member.values, outputs)
      mean += member.weight * outputs
      served += member.weight * np.mean([
          np.asarray(search.network(network.name)(X))
          for network in member.networks], 0)
    self._check_values(history.ensemble, mean)
    np.testing.assert_allclose(served, search.model(X), atol=1e-5)
    np.testing.assert_allclose(
        mean, search.held_out.outputs["ensemble"], atol=1e-5)
    # The others are compared on the rows of the first fold.
    for network in history.networks:
      if network.member not in best:
        rows = PAIRS[0][1]
        np.testing.assert_allclose(network.values["val_loss"], np.mean(
            (np.asarray(search.network(network.name)(X[rows])) - Y[rows])**2),
                                   rtol=1e-4)

  def _check_values(self, values, outputs):
    """Checks the values of outputs for the held-out rows of all folds."""
    errors = outputs - np.concatenate([Y[rows] for _, rows in PAIRS])
    np.testing.assert_allclose(
        [values["val_loss"], values["val_mae"]],
        [np.mean(errors**2), np.mean(np.abs(errors))], rtol=1e-4)

  def test_first_folds(self):
    """The first folds are those of a search with this fold alone.

    So trials are told the value of the first fold, and the next trials are
    proposed by these values.
    """
    search = fitted(self.create_tempdir().full_path, BOTH, **{
        **TRIALS, "folds": PAIRS[:1]})
    first = {network.member: network for network in self.search.history.networks
             if not network.fold}
    self.assertLen(first, 6)
    for network in search.history.networks:
      same = first[network.name]
      self.assertEqual(
          (network.epochs, network.values, network.hyperparameters),
          (same.epochs, same.values, same.hyperparameters))
    trials, expected = (
        [(trial.params, trial.value) for trial in other.study("space").trials]
        for other in (self.search, search))
    self.assertEqual(trials, expected)
    self.assertEqual([value for _, value in trials], [
        first[f"space #{i + 1}"].values["val_loss"] for i in range(4)])

  def test_leaderboard(self):
    history = self.search.history
    best = _best(self.search, 2)
    values = {member.name: member.values["val_loss"]
              for member in history.members if member.name in best}
    others = {network.member: network.values["val_loss"]
              for network in history.networks if network.member not in best}
    # One order of all values would be another order.
    self.assertLess(max(others.values()), min(values.values()))
    rows = history.rows()
    self.assertEqual("ensemble", rows[0]["name"])
    first_rows = {}
    for row in rows[1:]:
      first_rows.setdefault(row["name"].partition(", fold")[0], row)
    expected = [*sorted(values, key=values.get),
                *sorted(others, key=others.get)]
    self.assertEqual(expected, list(first_rows))
    self.assertEqual(["2 of 2"] * 2 + ["1 of 2"] * 4, [
        row["folds"] for row in first_rows.values()])
    for name in expected:
      self.assertEqual({**values, **others}[name], first_rows[name]["val_loss"])
    self.assertIn("1 of 2", str(history))
    self.assertIn("folds", history.cells()[0])

  @level.gate
  def test_picture(self):
    path = os.path.join(self.create_tempdir().full_path, "search.svg")
    self.search.plot(path)
    self.assertGreater(os.path.getsize(path), 1000)

  @level.gate
  def test_more_iterations(self):
    """Later iterations change who the finalists are, and train the rest."""
    folder = self.create_tempdir().full_path
    names = []
    fit = dict(callbacks=listing(names), finalists=2)
    fitted(folder, BOTH, **fit, **{**TRIALS, "iterations": 1})
    self.assertLen(names, 3 + 2)
    before = list(names)
    search = fitted(folder, BOTH, **fit, **TRIALS)
    self.assertLen(names, len(set(names)))
    self.assertEqual(names[len(before):], sorted(
        names[len(before):], key=lambda name: _FIRST not in name))
    # The finalists of the first iteration have all folds, too.
    self.assertSameElements(names, {*before, *self.names})
    self._check_equal(search, self.search)

  def _check_equal(self, search, expected):
    """Checks a search that may have networks of earlier finalists, too."""
    np.testing.assert_equal(_figures(search), _figures(expected))
    networks = _networks(search)
    for name, network in _networks(expected).items():
      self.assertEqual(network, networks[name])

  @level.gate
  def test_a_pool(self):
    with engines.process_pool(2) as pool:
      search = fitted(self.create_tempdir().full_path, BOTH, executor=pool,
                      finalists=2, **TRIALS)
    self.assertEqual(_networks(self.search), _networks(search))
    self._check_equal(search, self.search)

  @level.gate
  @parameterized.parameters((.1,))
  def test_max_seconds(self, secs):
    folder = self.create_tempdir().full_path
    search = fitted(folder, BOTH, max_seconds=secs, finalists=2, **TRIALS)
    if search.history.networks:
      self.assertTrue(search.history.ensemble)
      self.assertTrue(np.isfinite(search.model(X)).all())
    search = fitted(folder, BOTH, finalists=2, **TRIALS)
    self.assertEqual(_networks(self.search), _networks(search))
    self._check_equal(search, self.search)


class FinalsOfFunctionsTest(parameterized.TestCase):
  """Finals of functions without trials."""

  expected = {}

  def _check(self, search, finalists):
    """Checks the ensemble and the networks of a search of two folds."""
    if finalists not in self.expected:
      self.expected[finalists] = fitted(
          tempfile.mkdtemp(), folds=2, finalists=finalists)
      self.addClassCleanup(
          shutil.rmtree, self.expected[finalists].history.directory)
    expected = self.expected[finalists]
    np.testing.assert_equal(_figures(search), _figures(expected))
    networks = _networks(search)
    for name, network in _networks(expected).items():
      self.assertEqual(network, networks[name])
    return expected

  @level.gate
  @parameterized.parameters(level.first([2, 3]))
  def test_all_are_finalists(self, finalists):
    """As many finalists as candidates are all folds of all candidates."""
    search = fitted(
        self.create_tempdir().full_path, folds=2, finalists=finalists)
    expected = self._check(search, None)
    self.assertEqual(_networks(expected), _networks(search))
    self.assertEqual([member.values for member in expected.history.members],
                     [member.values for member in search.history.members])

  @level.gate
  def test_an_executor(self):
    search = fitted(self.create_tempdir().full_path, folds=2, finalists=1,
                    executor=engines.Here())
    expected = self._check(search, 1)
    self.assertEqual(_networks(expected), _networks(search))

  @level.gate
  def test_other_finalists(self):
    """A later call trains what is missing, and removes nothing."""
    folder = self.create_tempdir().full_path
    names = []
    for finalists, count in ((1, 2 + 1), (2, 1), (None, 0), (1, 0)):
      names.clear()
      search = fitted(folder, callbacks=listing(names), folds=2,
                      finalists=finalists)
      self.assertLen(names, count)
      self._check(search, None if finalists == 2 else finalists)
    # The other function was a finalist.
    self.assertEqual({"line": 2, "wide": 2}, _folds(search))
    rows = {row["name"]: row for row in search.history.rows()}
    (dropped,) = set(FUNCTIONS) - set(_best(search, 1))
    for name in FUNCTIONS:
      self.assertEqual(1. if name != dropped else None, rows[name]["weight"])
    search.network(f"{dropped}, fold 2 of 2")

  @parameterized.parameters(level.first(["fold 2", "fold 1"]))
  def test_out_of_time(self, fold):
    """The time is over in the finals, or before; then the search goes on."""
    folder = self.create_tempdir().full_path
    ended = []
    callbacks = lambda name: [keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: ended.append(name))] * (fold in name)
    with mock.patch.object(engine.Stop, "is_set", lambda _: bool(ended)):
      search = fitted(folder, folds=2, finalists=1, callbacks=callbacks,
                      max_seconds=60)
    self.assertIn("out of time", [
        network.ended for network in search.history.networks])
    self.assertTrue(search.history.ensemble)
    self.assertTrue(np.isfinite(search.model(X)).all())
    search = fitted(folder, folds=2, finalists=1)
    expected = self._check(search, 1)
    self.assertEqual(_networks(expected), _networks(search))

  @level.gate
  @parameterized.parameters(level.first([1, 2]))
  def test_failure(self, fold):
    """A candidate fails with a fold of it, and the next call trains it."""
    folder = self.create_tempdir().full_path
    name = f"wide, fold {fold} of 2"
    search = fitted(folder, folds=2, finalists=2, callbacks=fails(name))
    self.assertEqual({"line": 2, "wide": fold}, _folds(search))
    self.assertEqual("failed: MemoryError: out of memory",
                     _networks(search)[name].ended)
    self.assertStartsWith(search.history.rows()[-1]["name"], "wide")
    self.assertEqual(["line"], [
        member.name for member in search.history.members if member.weight])
    self.assertTrue(np.isfinite(search.model(X)).all())
    names = []
    search = fitted(folder, folds=2, finalists=2, callbacks=listing(names))
    self.assertEqual(
        ["wide, fold 1 of 2", "wide, fold 2 of 2"][fold - 1:], names)
    expected = self._check(search, None)
    self.assertEqual(_networks(expected), _networks(search))

  @level.gate
  def test_the_other_folds_of_a_failed_finalist(self):
    search = fitted(self.create_tempdir().full_path, folds=3, finalists=2,
                    parallel=1, callbacks=fails("wide, fold 2 of 3"))
    self.assertEqual({"line": 3, "wide": 2}, _folds(search))

  @level.gate
  def test_monitor(self):
    """The finalists are the best by the monitored metric."""
    classes = (Y[:, 0] > .1).astype("int32")
    search = ensemble_search.EnsembleSearch(
        {f"line_{i}": lambda: keras.Sequential([L.Dense(2, "softmax")])
         for i in range(4)}, "sparse_categorical_crossentropy", ["accuracy"],
        directory=self.create_tempdir().full_path, seed=1,
        monitor="val_accuracy", mode="max")
    search.fit(X, classes, epochs=1, folds=3, finalists=2, verbose=0)
    best = _best(search, 2, lambda values: (
        -values["val_accuracy"], values["val_loss"]))
    self.assertNotEqual(best, _best(search, 2))
    self.assertSameElements(best, {
        network.member for network in search.history.networks if network.fold})


class AnySearchTest(parameterized.TestCase):

  @level.gate
  @hypothesis.given(
      st.integers(1, 2), st.integers(0, 3), st.integers(2, 3),
      st.integers(1, 4) | st.none())
  @hypothesis.settings(max_examples=2)
  def test_number_of_networks(self, functions, trials, folds, finalists):
    models = dict(list(FUNCTIONS.items())[:functions])
    if trials:
      models["space"] = space
    candidates = functions + trials
    best = candidates if finalists is None else min(finalists, candidates)
    names = []
    search = fitted(
        self.create_tempdir().full_path, models, epochs=1,
        trials=trials or None, folds=folds, finalists=finalists,
        callbacks=listing(names))
    self.assertLen(names, len(set(names)))
    self.assertLen(names, candidates + best * (folds - 1))
    self.assertEqual(
        {name: folds if name in _best(search, best) else 1
         for name in _folds(search)}, _folds(search))
    self.assertContainsSubset(
        {member.name for member in search.history.members if member.weight},
        _best(search, best))


class MistakesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("none", ValueError, {"finalists": 0, "folds": 3}, "at least 1"),
      ("fewer_than_none", ValueError, {"finalists": -1, "folds": 3},
       "at least 1"),
      ("half", TypeError, {"finalists": 1.5, "folds": 3}, "an integer"),
      ("bool", TypeError, {"finalists": True, "folds": 3}, "an integer"),
      ("text", TypeError, {"finalists": "2", "folds": 3}, "an integer"),
      ("no_folds", ValueError, {"finalists": 2}, "folds"),
      ("held_out", ValueError, {"finalists": 2, "validation_data": (X, Y)},
       "folds"),
      ("one_pair", ValueError, {"finalists": 2, "folds": PAIRS[:1]}, "pair"))
  def test_finalists(self, error_type, fit, words):
    folder = self.create_tempdir().full_path
    names = []
    expected = f"^finalists={fit['finalists']!r}[: ].*expected"
    with self.assertRaisesRegex(error_type, expected) as context:
      fitted(folder, callbacks=listing(names), **fit)
    self.assertIn(words, str(context.exception))
    self.assertNotIn("\n", str(context.exception))
    self.assertEmpty(names)
    self.assertNoCommonElements(
        ["search.json", "candidates", "networks"], os.listdir(folder))

  def test_a_directory_of_before(self):
    folder = self.create_tempdir().full_path
    pathlib.Path(folder, "search.json").write_text(json.dumps({
        "seed": 2, "models": ["line"], "digests": {
            "x": "[120, 4] 0123456789abcdef", "models['line']": "0123"}}))
    for use in (lambda: fitted(folder), lambda: (
        ensemble_search.EnsembleSearch(FUNCTIONS, directory=folder))):
      with self.assertRaisesRegex(
          ValueError, f"^'{folder}/search.json' cannot be read: .*earlier "
          "version of adanet. Give another directory") as context:
        use()
      self.assertNotIn("\n", str(context.exception))
    self.assertEqual(["search.json"], [
        name for name in os.listdir(folder) if name != "lock"])


if __name__ == "__main__":
  absltest.main()
