# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Searches that are killed, or whose networks fail, equal undisturbed ones.

A killed process leaves its directory as the directory was before the next
change. So copies of the directory of an undisturbed search, made before each
file appears or goes, are the directories of all killed searches.
"""

import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import network as network_lib
from adanet.testing import engines
from adanet.testing import level
from adanet.testing import processes
import numpy as np

keras = tf_compat.keras_3
L = keras.layers
_R = np.random.RandomState(0)
X = _R.randn(120, 4).astype("float32")
Y = X[:, :1] * X[:, 1:2]


def line():
  return keras.Sequential([L.Dropout(.2), L.Dense(1)])


def dense():
  return keras.Sequential([L.Dense(4, "relu"), L.Dense(1)])


def space(trial):
  return keras.Sequential([
      L.Dense(trial.suggest_int("width", 2, 9), "tanh"),
      L.Dropout(trial.suggest_float("rate", 0., .5)), L.Dense(1)])


FUNCTIONS = {"line": line, "dense": dense}
SPACE = {"space": space}
BOTH = {"line": line, "space": space}


def new_search(directory, models):
  return ensemble_search.EnsembleSearch(
      models, "mse", ["mae"], keras.optimizers.Adam(.03),
      directory=directory, seed=2)


def fitted(directory, models, **fit):
  return new_search(directory, models).fit(**{**dict(
      x=X, y=Y, epochs=2, patience=2, verbose=0), **fit})


class _Fails(keras.callbacks.Callback):
  """Fails in the first epoch, if a marker is missing or None."""

  def __init__(self, exits=False, marker=None):
    super().__init__()
    self._exits, self._marker = exits, marker

  def on_epoch_end(self, epoch, logs=None):
    if self._marker is not None:
      if os.path.exists(self._marker):
        return
      pathlib.Path(self._marker).touch()
    if self._exits:
      os._exit(1)  # pylint: disable=protected-access
    raise MemoryError("out of memory")


def dense_fails(name):
  return [_Fails()] if name.startswith("dense") else []


def _figures(search, models):
  """Returns all that is to be equal."""
  history = search.history
  return {
      "networks": [network._replace(seconds=0., predict_seconds=0.)
                   for network in history.networks],
      "members": [(member.name, member.weight, member.values)
                  for member in history.members],
      "ensemble": history.ensemble,
      "trials": [(trial.state, trial.params, trial.values)
                 for name in models if models[name] is space
                 for trial in search.study(name).trials],
      # Two traces of `predict` may round the same model differently.
      "predictions": np.asarray(search.model(X)),
      "weights": search.model.get_weights()}


@contextlib.contextmanager
def _copied_states(folder, states):
  """Copies a folder before each of its changes to 0, 1, ... in `states`."""
  changes = {name: getattr(os, name) for name in ("replace", "unlink")}
  folder, states = pathlib.Path(folder), pathlib.Path(states)

  def copy_before(name):
    def change(path, *args, **kwargs):
      if folder in pathlib.Path(path).parents and os.path.lexists(path):
        shutil.copytree(folder, states / str(len(os.listdir(states))))
      changes[name](path, *args, **kwargs)
    return change

  with mock.patch.multiple(os, **{name: copy_before(name) for name in changes}):
    yield


class KillsTest(parameterized.TestCase):

  @parameterized.named_parameters(level.first([
      ("finals", BOTH, {"trials": 2, "folds": 2, "finalists": 1}),
      ("functions", FUNCTIONS, {"iterations": 2}),
      ("trials", SPACE, {"iterations": 2, "trials": 2}),
      ("failure", FUNCTIONS, {"callbacks": dense_fails})]))
  def test_kill_before_any_change(self, models, fit):
    folder, states = (self.create_tempdir().full_path for _ in range(2))
    # Each epoch is saved.
    with mock.patch.object(network_lib, "_SECS_BETWEEN_SAVES", -1), (
        _copied_states(folder, states)):
      expected = _figures(fitted(folder, models, parallel=1, **fit), models)
    count = len(os.listdir(states))
    self.assertGreater(count, 15)
    step = level.number(count // 2, count // 4)
    for i in range(step // 2, count, step):
      killed = os.path.join(states, str(i))
      with self.subTest(state=i):
        ended = self._ended(killed, models)
        search = fitted(killed, models, parallel=1, **fit)
        np.testing.assert_equal(_figures(search, models), expected)
        # Not even the seconds differ: no network trains twice.
        networks = {network.name: network
                    for network in search.history.networks}
        for network in ended:
          self.assertEqual(network.seconds, networks[network.name].seconds)
        self.assertEqual(self._files(folder), self._files(killed))

  def _ended(self, folder, models):
    """Returns the networks of a directory that no call of `fit` trains."""
    try:
      history = new_search(folder, models).history
    except ValueError as error:
      self.assertStartsWith(str(error), "Nothing was trained yet")
      return []
    return [network for network in history.networks
            if network.ended and not network.ended.startswith("failed")]

  def _files(self, folder):
    return sorted(str(path.relative_to(folder))
                  for path in pathlib.Path(folder).glob("**/*"))

  @level.gate
  @parameterized.parameters((9,))
  def test_a_killed_program(self, count):
    """A program is killed when it has written so many files of networks."""
    fit = {"trials": 3, "folds": 3, "finalists": 2}
    expected = _figures(
        fitted(self.create_tempdir().full_path, BOTH, **fit), BOTH)
    folder = self.create_tempdir().full_path
    with subprocess.Popen(
        [sys.executable, "-c", f"""if True:
            import sys
            from adanet.ensemble_search import kills_test
            kills_test.fitted(sys.argv[1], kills_test.BOTH, **{fit})
            """, folder], env=processes.python_environment()) as program:
      processes.wait_until(
          lambda: program.poll() is not None or count <= len(list(
              pathlib.Path(folder).glob("networks/*/*"))), "files")
      program.kill()
    np.testing.assert_equal(_figures(fitted(folder, BOTH, **fit), BOTH),
                            expected)


class FailuresTest(parameterized.TestCase):

  expected = {}

  def _undisturbed(self, trials):
    if trials not in self.expected:
      self.expected[trials] = fitted(
          tempfile.mkdtemp(), SPACE, iterations=2, trials=trials)
      self.addClassCleanup(
          shutil.rmtree, self.expected[trials].history.directory)
    return self.expected[trials]

  @level.gate
  def test_failed_trials(self):
    self._check_failures(2, ["space #2", "space #3"])

  @level.gate
  @parameterized.parameters((0,))
  def test_failed_trials_and_a_lost_worker(self, seed):
    self._check_failures(2, random.Random(seed).sample(
        [f"space #{i + 1}" for i in range(4)], 2), loses=True)

  def _check_failures(self, trials, names, loses=False):
    """Trains a search whose networks of these names fail once.

    Args:
      trials: int, of each of two iterations.
      names: list of the names of networks.
      loses: bool, whether the first call of `fit` is on a pool, which the last
        of the networks breaks.
    """
    folder, markers = (self.create_tempdir().full_path for _ in range(2))

    def callbacks(name):
      return [_Fails(loses and name == names[-1], os.path.join(
          markers, name))] if name in names else []

    fit = dict(iterations=2, trials=trials, callbacks=callbacks)
    search = new_search(folder, SPACE)
    if loses:
      with engines.process_pool(2) as pool:
        with self.assertRaises(RuntimeError):
          fitted(folder, SPACE, executor=pool, **fit)
    else:
      fitted(folder, SPACE, **fit)
      self.assertEqual(names, [
          network.name for network in search.history.networks
          if network.ended == "failed: MemoryError: out of memory"])
    if any(network.ended and not network.ended.startswith("failed")
           for network in search.history.networks):
      self.assertTrue(np.isfinite(search.model(X)).all())
    for _ in range(1 + loses):
      fitted(folder, SPACE, **fit)
    self.assertSameElements(names, os.listdir(markers))
    self.assertTrue(search.history.ensemble)
    networks = {network.name: network for network in search.history.networks}
    self.assertLen(networks, 2 * trials)
    self.assertNotIn("failed", " ".join(
        network.ended for network in networks.values()))
    undisturbed = self._undisturbed(trials)
    equal = [network for network in undisturbed.history.networks
             if network.hyperparameters == networks[
                 network.name].hyperparameters]
    # What a later iteration proposes may depend on the failures.
    self.assertGreaterEqual(len(equal), trials)
    for network in equal:
      actual = networks[network.name]
      self.assertEqual((network.epochs, network.best_epoch),
                       (actual.epochs, actual.best_epoch))
      np.testing.assert_equal(
          search.network(network.name).get_weights(),
          undisturbed.network(network.name).get_weights())


if __name__ == "__main__":
  absltest.main()
