# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Samplers of Optuna over the iterations of a search: what they propose."""

import enum
import os
import pathlib
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import candidates
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import search_run
from adanet.ensemble_search import studies
from adanet.testing import engines
from adanet.testing import level
import cloudpickle
import numpy as np
import optuna

keras = tf_compat.keras_3
L = keras.layers
X = np.zeros([20, 1], "float32")
_TRIALS, _ITERATIONS = 2, 3
_S = optuna.samplers


class Memory(_S.BaseSampler):
  """Draws about the best value, more closely each time.

  Its state is in attributes of Python alone, as the models of GPSampler.
  """

  def __init__(self, seed):
    self._random = np.random.RandomState(seed)
    self._told = []

  def infer_relative_search_space(self, study, trial):
    return {}

  def sample_relative(self, study, trial, search_space):
    return {}

  def sample_independent(self, study, trial, param_name, param_distribution):
    best = min(self._told, default=(0, {param_name: .5}))[1][param_name]
    return np.clip(
        best + self._random.randn() / (2 + len(self._told)), 0, 1)

  def after_trial(self, study, trial, state, values):
    self._told.append((values[0], trial.params))


def bowl(trial):
  return trial.suggest_float("a", 0, 1) + trial.suggest_float("b", 0, 1) - 1.8


def grid(trial):
  """Returns values of both signs, so that the ensemble has two members."""
  return trial.suggest_int("n", 1, 5) - 3.4 + trial.suggest_categorical(
      "m", [.1, .2])


def maker(value):
  """Returns a function whose networks have the square of a value as a loss."""

  def make(trial):
    model = keras.Sequential([
        keras.Input([1]), L.Dense(1, kernel_initializer="zeros")])
    model.layers[0].bias.assign([float(value(trial))])
    model.compile(keras.optimizers.SGD(0.), "mse")
    return model

  return make


def samplers():
  """Returns the rows of a parameterized test: a name, a sampler, a value."""
  return [
      ("cmaes", lambda seed: _S.CmaEsSampler(seed=seed, popsize=3), bowl),
      ("qmc", lambda seed: _S.QMCSampler(seed=seed), bowl),
      ("memory", Memory, bowl),
      ("random", lambda seed: _S.RandomSampler(seed=seed), bowl),
      ("nsgaii", lambda seed: _S.NSGAIISampler(seed=seed, population_size=3),
       bowl),
      ("tpe", lambda seed: _S.TPESampler(seed=seed, n_startup_trials=4), bowl),
      ("fixed", lambda seed: _S.PartialFixedSampler(
          {"a": .25}, _S.CmaEsSampler(seed=seed)), bowl),
      ("grid", lambda seed: _S.GridSampler(
          {"n": [1, 2, 3, 4, 5, 6], "m": [.1, .2]}, seed=seed),
       lambda trial: trial.suggest_int("n", 1, 6) + trial.suggest_categorical(
           "m", [.1, .2])),
      ("brute_force", lambda seed: _S.BruteForceSampler(seed=seed),
       lambda trial: trial.suggest_int("n", 1, 6) + trial.suggest_categorical(
           "m", [.1, .2]))]


class StudiesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def _fit(self, sampler=None, value=bowl, folder=None, **fit):
    search = ensemble_search.EnsembleSearch(
        {"m": value if "make" in value.__name__ else maker(value)},
        directory=folder or self.folder, seed=3, sampler=sampler)
    return search.fit(**{**dict(
        x=X, y=X, epochs=1, trials=_TRIALS, iterations=_ITERATIONS, verbose=0),
                         **fit})

  def _params(self, search):
    return [trial.params for trial in search.study("m").trials]

  def _warnings(self, *args, **fit):
    """Returns the search, and the lines that it logs."""
    with self.assertLogs("absl") as logs:
      search = self._fit(*args, **fit)
    return search, [record.getMessage() for record in logs.records]

  @parameterized.named_parameters(*level.first(samplers()))
  def test_as_in_one_study(self, sampler, value):
    """The study is told the results of an iteration, and asked for the next."""
    trials = self._fit(sampler, value).study("m").trials
    params = [trial.params for trial in trials]
    self.assertEqual(params, self._in_one_study(
        sampler(studies.sampler_seed(3, "m")), value, trials, _TRIALS))
    self.assertLen(set(map(str, params)), len(params))  # No point twice.

  def _in_one_study(self, sampler, value, trials, count):
    """Returns the hyperparameters in a study that is told the same values."""
    study = optuna.create_study(sampler=sampler)
    study.stop = lambda: None
    for _ in range(len(trials) // count):
      asked = [study.ask() for _ in range(count)]
      for trial in asked:
        value(trial)
      for trial in asked:
        told = trials[trial.number]
        study.tell(trial, told.value, told.state)
    return [trial.params for trial in study.trials]

  @level.gate
  def test_cmaes_learns(self):
    trials = self._fit(lambda seed: _S.CmaEsSampler(seed=seed), trials=6,
                       iterations=6).study("m").trials
    first, last = (np.mean([trial.value for trial in part])
                   for part in (trials[:12], trials[-12:]))
    self.assertLess(last, first / 3)

  @parameterized.named_parameters(*[
      (f"{sampler[0]}_{name}_{calls}", *sampler[1:], owner, name, calls)
      for sampler in samplers()[:3:level.number(3, 2)]
      # As often as this is called: between the two files of an iteration,
      # before these files and its training, and in the training.
      for owner, name, calls in level.first([
          (candidates.CandidateStore, "write", _TRIALS + 2),
          (studies, "write_study", 2),
          (search_run.engine_lib.SearchEngine, "train", 2),
          (network_lib.Network, "finish", _TRIALS + 2)])])
  def test_killed(self, sampler, value, owner, name, calls):
    method = getattr(owner, name)
    left = [calls]

    def killed(*args):
      left[0] -= 1
      if not left[0]:
        raise KeyboardInterrupt
      return method(*args)

    with mock.patch.object(owner, name, killed):
      with self.assertRaises(KeyboardInterrupt):
        self._fit(sampler, value)
    trials = self._fit(sampler, value).study("m").trials
    self.assertEqual([trial.params for trial in trials], self._in_one_study(
        sampler(studies.sampler_seed(3, "m")), value, trials, _TRIALS))

  @level.gate
  def test_executor(self):
    expected = self._params(self._fit(Memory))
    with engines.process_pool(2) as executor:
      self.assertEqual(expected, self._params(self._fit(
          Memory, folder=self.create_tempdir().full_path, executor=executor)))

  @parameterized.parameters(level.first([("brute_force", 10), ("grid", 10)]))
  def test_no_more_points(self, name, points):
    sampler = {
        "grid": lambda seed: _S.GridSampler(
            {"n": [1, 2, 3, 4, 5], "m": [.1, .2]}, seed=seed),
        "brute_force": lambda seed: _S.BruteForceSampler(seed=seed)}[name]

    def prunes(trial):
      value = grid(trial)
      if trial.number == 4:
        raise optuna.TrialPruned()
      return value

    search, lines = self._warnings(sampler, prunes, trials=4)
    params = self._params(search)
    self.assertLen(params, points)
    self.assertLen(set(map(str, params)), points)
    expected = (f"models['m'] gets no more trials than {points}: its sampler "
                "has proposed all, or")
    self.assertLen([line for line in lines if line.startswith(expected)], 1)
    with mock.patch.object(network_lib, "Network", side_effect=ValueError):
      again, lines = self._warnings(sampler, prunes, trials=4, iterations=9)
    self.assertStartsWith(lines[-1], expected)
    self.assertEqual(params, self._params(again))
    # The ensemble is selected anew from what there is.
    again = again.history
    search = self._fit(
        sampler, prunes, trials=4, iterations=9, max_members=1)
    weights = [[member.weight for member in history.members if member.weight]
               for history in (again, search.history)]
    self.assertGreater(len(weights[0]), 1)
    self.assertLen(weights[1], 1)

  @level.gate
  def test_points_that_just_fill_the_iterations(self):
    search = self._fit(
        lambda seed: _S.GridSampler({"n": [1, 2, 3, 4]}, seed=seed),
        lambda trial: trial.suggest_int("n", 1, 4), trials=2, iterations=3)
    self.assertCountEqual([1, 2, 3, 4], [
        params["n"] for params in self._params(search)])

  def test_stop(self):
    def stops(trial):
      value = bowl(trial)
      if trial.number == 4:
        trial.study.stop()
      return value

    search, lines = self._warnings(None, stops)
    self.assertLen(search.study("m").trials, 5)
    self.assertLen(search.history.networks, 5)
    self.assertRegex(lines[0], "gets no more trials than 5.*study.stop")
    search.network("m #5")

  @level.gate
  def test_study_of_a_trial(self):
    def prunes_the_same(trial):
      value = trial.suggest_int("n", 1, 2)
      if isinstance(trial, optuna.Trial) and any(
          trial.params == other.params for other in trial.study.trials[:-1]):
        raise optuna.TrialPruned()
      return value

    search = self._fit(None, prunes_the_same, trials=6, iterations=1)
    self.assertLen(search.history.networks, 2)
    with self.assertRaisesRegex(
        ValueError, r"^trial 1 of models\['m'\] failed: "
        "AttributeError: trial.study has no 'trials' where the network of a "
        "proposed trial is built: expected trial.study.stop.*Trial"):
      self._fit(None, lambda trial: len(trial.study.trials) + bowl(trial),
                self.create_tempdir().full_path)

  @parameterized.parameters(level.first(
      [("damaged",), ("missing",), ("Optuna",), ("other trials",)]))
  def test_unreadable(self, problem):
    sampler = lambda seed: _S.QMCSampler(seed=seed)
    self._fit(sampler, iterations=2)
    path = pathlib.Path(self.folder, "studies", "m-1.pickle")
    if problem == "damaged":
      path.write_bytes(path.read_bytes()[:100])
    elif problem == "missing":
      path.unlink()
    elif problem == "Optuna":
      study = cloudpickle.loads(path.read_bytes())
      study.set_user_attr("sampler", ["4.0.0", ""])
      path.write_bytes(cloudpickle.dumps(study))
    else:
      shutil.copy(path.with_name("m-0.pickle"), path)
    search, lines = self._warnings(sampler, iterations=3)
    self.assertLen(search.study("m").trials, 3 * _TRIALS)
    self.assertLen(lines, 1, lines)
    self.assertRegex(lines[0], r"m-1.pickle' cannot be read: .*The sampler "
                     "starts anew from the values of 4 trials.$")

  def test_who_reads(self):
    """A pickle runs what it holds."""
    self._fit(iterations=1)
    path = pathlib.Path(self.folder, "studies", "m-0.pickle")
    marker = os.path.join(self.create_tempdir().full_path, "was run")
    path.write_bytes(cloudpickle.dumps(_Runs(marker)))
    search = ensemble_search.EnsembleSearch(
        {"m": maker(bowl)}, directory=self.folder)
    search.model.predict(X, verbose=0)
    search.study("m")
    str(search.history)
    self._fit(iterations=1)
    self.assertFalse(os.path.exists(marker))
    self._fit(iterations=2)
    self.assertTrue(os.path.exists(marker))

  @level.gate
  def test_another_sampler(self):
    self._fit(Memory, iterations=2)
    _, lines = self._warnings(
        lambda seed: _S.QMCSampler(seed=seed), iterations=3)
    self.assertEqual(
        ["sampler: models['m'] had another sampler in earlier iterations. The "
         "new sampler starts from their 4 trials."], lines)

  def test_sampler_errors(self):
    with self.assertRaisesRegex(TypeError, "^sampler returned 3: expected"):
      self._fit(lambda seed: 3)
    with self.assertRaisesRegex(
        ValueError, "^sampler returned a value of type _Unwritable, which "
        "cloudpickle cannot write: .*Give its class a __getstate__"):
      self._fit(_Unwritable)
    self.assertFalse(os.path.exists(os.path.join(self.folder, "networks")))

  @level.gate
  def test_a_failed_network_of_the_first_iteration(self):
    """The next iteration is not drawn at random again."""
    def fails(trial):
      value = trial.suggest_float("a", 0, 1)
      return value if trial.number != 1 else np.nan

    trials = self._fit(None, fails, trials=2).study("m").trials
    self.assertEqual(optuna.trial.TrialState.FAIL, trials[1].state)
    self.assertEqual([trial.params for trial in trials], self._in_one_study(
        _S.TPESampler(
            n_startup_trials=1, multivariate=True, group=True,
            constant_liar=True, seed=studies.sampler_seed(3, "m")),
        fails, trials, 2))

  def test_tuples(self):
    def make(trial):
      widths = trial.suggest_categorical("widths", [(3, 4), (5, (6,)), [7, 8]])
      return keras.Sequential([
          *(L.Dense(width[0] if isinstance(width, tuple) else width)
            for width in widths), L.Dense(1)])

    search = ensemble_search.EnsembleSearch(
        {"m": make}, "mse", directory=self.folder, seed=3)
    search.fit(X, X, epochs=1, verbose=0, trials=3)
    search.model.predict(X, verbose=0)
    params = self._params(search)
    self.assertIn("widths=(", str(search.history))
    self.assertIn((3, 4), [each["widths"] for each in params])
    self.assertEqual(params, [
        network.hyperparameters for network in search.history.networks])
    self.assertEqual(params, self._params(
        ensemble_search.EnsembleSearch({"m": make}, directory=self.folder)))
    search.fit(X, X, epochs=1, verbose=0, trials=1, iterations=2)
    self.assertLen(search.study("m").trials, 4)

  @parameterized.parameters(
      (lambda trial: trial.suggest_categorical("c", [1, *_Color]),
       "suggests <_Color.RED: 7> for 'c', which the directory cannot "
       "keep: expected choices of None, bool, int, float and str, or lists "),
      (lambda trial: trial.suggest_categorical("c", [1, np.int64(2)]),
       r"suggests .*2.* for 'c', which the directory cannot keep"),
      (lambda trial: trial.suggest_categorical("c", [1, {2: 3}]) and 1,
       "suggests {2: 3} for 'c', which the directory cannot keep"),
      (lambda trial: trial.set_user_attr("made", object()) or bowl(trial),
       "has the user attribute 'made', which the directory cannot keep: a value "
       "of type object. Expected a value for json.dumps."))
  def test_mistakes(self, value, expected):
    with self.assertRaisesRegex(
        ValueError, rf"^trial 1 of models\['m'\] {expected}") as caught:
      self._fit(None, value)
    self.assertLen(str(caught.exception).splitlines(), 1)
    self.assertFalse(os.path.exists(os.path.join(self.folder, "networks")))

  def test_numpy_attributes(self):
    def value(trial):
      trial.set_user_attr("n", np.int64(3))
      trial.set_user_attr("values", np.arange(2))
      return bowl(trial)

    trial, *_ = self._fit(None, value, iterations=1).study("m").trials
    self.assertEqual((3, [0, 1]), (
        trial.user_attrs["n"], trial.user_attrs["values"]))

  @level.gate
  def test_floats_of_numpy(self):
    search = self._fit(None, lambda trial: trial.suggest_categorical(
        "rate", list(np.logspace(-3, -1, 3))), iterations=1)
    search.network("m #1")

  def test_damaged_record_of_an_enqueued_trial(self):
    """The study has the trial, which is not asked for again."""
    search = self._fit(enqueue={"m": [{"a": .25}]}, iterations=1)
    params = self._params(search)
    self.assertEqual(.25, params[0]["a"])
    path, = pathlib.Path(self.folder, "candidates").glob("0-m #1.json")
    path.write_text("{")
    with mock.patch.object(network_lib.Network, "train") as train:
      search = self._fit(iterations=1)
    train.assert_not_called()
    self.assertEqual(params, self._params(search))

  def test_enqueue(self):
    rows = [{"a": .1}, {"a": .2, "b": .3}, {"b": .7}, {"a": .6}, {"a": .5}]
    enqueue = {"m": rows}
    search, lines = self._warnings(enqueue=enqueue, iterations=1)
    self.assertEqual(
        ["enqueue: 3 trials of models['m'] wait for a larger number of "
         "iterations than 1."],
        lines)
    self._fit(enqueue=enqueue, iterations=1)
    _, lines = self._warnings(enqueue={"m": [{"a": .9}]}, iterations=1)
    self.assertEqual(
        ["enqueue: 1 trials of models['m'] wait for a larger number of "
         "iterations than 1."], lines)
    search = self._fit(enqueue=enqueue)
    params = self._params(search)
    self.assertLen(params, _ITERATIONS * _TRIALS)
    for row, hyperparameters in zip(rows, params):
      self.assertEqual(row, {name: hyperparameters[name] for name in row})
    for row in rows:
      self.assertLen([1 for each in params if row.items() <= each.items()], 1)

  @level.gate
  def test_enqueue_with_a_lost_study(self):
    """What has trained is not enqueued again."""
    enqueue = {"m": [{"a": .1}]}
    self._fit(enqueue=enqueue, iterations=1)
    os.remove(os.path.join(self.folder, "studies", "m-0.pickle"))
    search = self._fit(enqueue=enqueue, iterations=2)
    self.assertLen([1 for each in self._params(search) if each["a"] == .1], 1)

  @parameterized.parameters(
      ({"m": [{"a": .5}, {"a": .5, "c": 1}]},
       r"^enqueue: {'a': 0.5, 'c': 1} of models\['m'\]: Inconsistent parameters "
       r".*'c'.* Expected values of {'a': FloatDist.*, 'b': FloatDist.*}\.$"),
      ({"m": [{"a": .1}] * 5 + [{"a": 5}]},
       r"^enqueue: {'a': 5} of models\['m'\]: The value 5 of parameter 'a' isn't "
       r"contained .*FloatDistribution\(high=1.0, log=False, low=0.0"),
      ({"n": [{"a": .5}]}, "^enqueue={'n': .*: expected a dict from a function "
       r"that takes a trial \('m'\) to a list of dicts of hyperparameters,"),
      ({"m": {"a": .5}}, "^enqueue=.*: expected a dict from a function"))
  def test_enqueue_mistakes(self, enqueue, expected):
    with self.assertRaisesRegex(ValueError, expected) as caught:
      self._fit(enqueue=enqueue)
    self.assertLen(str(caught.exception).splitlines(), 1)
    self.assertEmpty([name for name in ("networks", "candidates", "studies")
                      if os.path.exists(os.path.join(self.folder, name))])


class _Color(enum.IntEnum):
  RED = 7


class _Runs:
  """Writes a file when its pickle is read."""

  def __init__(self, path):
    self._path = path

  def __reduce__(self):
    return pathlib.Path.touch, (pathlib.Path(self._path),)


class _Unwritable(Memory):

  def __reduce__(self):
    raise TypeError("a socket")


if __name__ == "__main__":
  absltest.main()
