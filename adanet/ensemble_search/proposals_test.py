# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions with a space: what Optuna proposes, trains and is told."""

import logging
import os
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import candidates
from adanet.ensemble_search import engine
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import files
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import search_run
from adanet.ensemble_search import studies
from adanet.testing import engines
from adanet.testing import level
import numpy as np
import optuna

keras = tf_compat.keras_3
L = keras.layers
_R = np.random.RandomState(0)
X = _R.randn(96, 4).astype("float32")
Y = X[:, :1] * X[:, 1:2]
_TRIALS = 2


def space(trial):
  model = keras.Sequential([
      L.Dense(trial.suggest_int(f"width_{i}", 2, 9), "tanh")
      for i in range(trial.suggest_int("layers", 1, 2))])
  model.add(L.Dense(1))
  model.compile(keras.optimizers.Adam(
      trial.suggest_float("rate", 1e-3, .1, log=True)), "mse")
  return model


def line():
  return keras.Sequential([L.Dense(1)])


MODELS = {"space": space, "line": line}


def fitted(directory, models=None, search=None, **fit):
  result = ensemble_search.EnsembleSearch(**{**dict(
      models=models or MODELS, loss="mse", directory=directory, seed=4,
      optimizer=keras.optimizers.Adam(.03)), **(search or {})})
  return result.fit(**{**dict(
      x=X, y=Y, epochs=3, iterations=2, trials=_TRIALS, batch_size=16,
      verbose=0), **fit})


def _figures(search):
  """Returns all that is to be equal."""
  return [record._replace(seconds=0., predict_seconds=0.)
          for record in search.history.networks] + [
              search.history.ensemble] + search.model.get_weights()


class _Killed(BaseException):
  pass


class TrialsTest(parameterized.TestCase):

  folder = ""
  figures = None

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.folder)
    cls.figures = _figures(fitted(cls.folder))

  def _copy(self):
    folder = os.path.join(self.create_tempdir().full_path, "copy")
    shutil.copytree(self.folder, folder)
    return folder

  def _load(self, models=None):
    return ensemble_search.EnsembleSearch(
        models or MODELS, directory=self.folder)

  def test_names_and_hyperparameters(self):
    search = self._load()
    names = [f"space #{i + 1}" for i in range(2 * _TRIALS)]
    networks = {network.name: network for network in search.history.networks}
    self.assertSameElements([*names, "line", "line (2)"], networks)
    rows = {row["name"]: row for row in search.history.rows()}
    for name in names:
      values = networks[name].hyperparameters
      self.assertEqual(
          {"layers", "rate", *(f"width_{i}" for i in range(values["layers"]))},
          set(values))
      for key, value in values.items():
        self.assertEqual(value, rows[name]["params_" + key])
      self.assertLen(search.network(name).layers, 1 + values["layers"])
    self.assertIsNone(rows["line"]["params_rate"])
    heading, *cells = search.history.cells()
    self.assertEqual("hyperparameters", heading[-1])
    row = next(row for row in cells if row[0] == names[0])
    self.assertIn(f"rate={networks[names[0]].hyperparameters['rate']:.4g}",
                  row[-1])
    search.plot(os.path.join(self.create_tempdir().full_path, "a.svg"))

  def test_study(self):
    search = self._load()
    study = search.study("space")
    members = {member.name: member for member in search.history.members}
    self.assertLen(study.trials, 2 * _TRIALS)
    for i, trial in enumerate(study.trials):
      member = members[f"space #{i + 1}"]
      self.assertEqual(member.values["val_loss"], trial.value)
      self.assertEqual(member.networks[0].hyperparameters, trial.params)
      self.assertEqual(member.networks[0].parameters,
                       trial.user_attrs["parameters"])
      self.assertEqual(member.name, trial.user_attrs["network"])
    with self.assertRaisesRegex(ValueError, "^name='line': expected the name "
                                "of a function that takes a trial: 'space'.$"):
      search.study("line")

  def test_what_is_proposed(self):
    """As in one study of Optuna that is told the results of an iteration."""
    trials = self._load().study("space").trials
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(
        n_startup_trials=_TRIALS, multivariate=True, group=True,
        constant_liar=True, seed=studies.sampler_seed(4, "space")))
    for _ in range(2):
      asked = [study.ask() for _ in range(_TRIALS)]
      for trial in asked:
        space(trial)
      for trial in asked:
        study.tell(trial, trials[trial.number].value)
    self.assertEqual([trial.params for trial in study.trials],
                     [trial.params for trial in trials])

  @parameterized.parameters("pool", "dask")
  @level.gate
  def test_executors(self, name):
    with (engines.process_pool(2) if name == "pool" else
          engines.dask_cluster(2)) as executor:
      np.testing.assert_equal(self.figures, _figures(fitted(
          self.create_tempdir().full_path, executor=executor)))

  @parameterized.parameters(*level.first([
      # As often as this is called.
      (candidates.CandidateStore, "write", 4), (network_lib.Network, "start", 2),
      (network_lib.Network, "finish", 4)]))
  def test_killed(self, owner, name, calls):
    """Before and after what is proposed is written, and while it trains."""
    folder = self.create_tempdir().full_path
    method = getattr(owner, name)
    left = [calls]

    def killed(*args):
      left[0] -= 1
      if not left[0]:
        raise _Killed()
      return method(*args)

    with mock.patch.object(owner, name, killed), self.assertRaises(_Killed):
      fitted(folder)
    np.testing.assert_equal(self.figures, _figures(fitted(folder)))

  def test_nothing_is_traced_where_nothing_is_left(self):
    with mock.patch.object(network_lib, "Network", side_effect=ValueError):
      np.testing.assert_equal(self.figures, _figures(fitted(self._copy())))

  def test_a_search_grows(self):
    """A later call may have more functions, iterations and trials."""
    folder = self.create_tempdir().full_path
    fitted(folder, {"line": line}, trials=None)
    trained = []
    finish = network_lib.Network.finish
    with mock.patch.object(
        network_lib.Network, "finish",
        lambda self: trained.append(self.task.key.name) or finish(self)):
      search = fitted(folder, {"line": line, "space": space})
    self.assertSameElements(
        [f"space #{i + 1}" for i in range(2 * _TRIALS)], trained)
    np.testing.assert_equal(
        {network.name: network.epochs for network in search.history.networks},
        {network.name: network.epochs for network in self.figures[:-1]
         if isinstance(network, tuple)})
    with self.assertLogs("absl") as logs:
      search = fitted(folder, {"line": line, "space": space}, iterations=3,
                      trials=1)
    self.assertIn("iteration 1 of models['space'] has the 2 trials that were "
                  "proposed before", logs.output[0])
    self.assertLen(search.history.networks, 2 * (_TRIALS + 1) + 2)

  @level.gate
  def test_another_function_before_anything_has_trained(self):
    folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(ValueError, r"^trial 1 of models\['space'\]"):
      fitted(folder, {"space": lambda trial: space(trial) and keras.Sequential([
          keras.Input([trial.suggest_int("size", 5, 5)]), L.Dense(1)])})
    self.assertLen(list(candidates.CandidateStore(
        files.Directory(folder))), _TRIALS)
    fitted(folder, {"space": space, "line": line})
    np.testing.assert_equal(self.figures, _figures(fitted(folder)))

  def test_quiet(self):
    """Optuna's own log, and its level, stay as they are."""
    before = optuna.logging.get_verbosity()
    with self.assertNoLogs("optuna", logging.INFO):
      self._load().study("space")
      fitted(self.create_tempdir().full_path, iterations=1, epochs=1)
    self.assertEqual(before, optuna.logging.get_verbosity())

  @parameterized.named_parameters(
      ("lost", lambda trial: keras.Sequential([
          L.Dense(trial.suggest_int("width_0", 2, 9), "tanh"), L.Dense(1)]),
       r"trial \d of models\['space'\] (compiles|makes) another model"),
      ("new", lambda trial: trial.suggest_int("more", 1, 2) and space(trial),
       r"trial \d of models\['space'\] fails .*'more' is not found"),
      ("activation", lambda trial: _with_relu(space(trial)),
       r"trial \d of models\['space'\] makes another model: layer 1 "
       r"\(Dense\): activation tanh before, relu now"),
      ("line", line, r"models\['space'\] takes no trial now"))
  def test_another_function(self, function, expected):
    with self.assertRaisesRegex(
        ValueError, rf"^directory=.* has 'space #\d', and now .*{expected}.*"
        r'Give the original function, .* another name, such as "space_2"'):
      fitted(self.folder, {"space": function, "line": line},
             trials=None if function is line else _TRIALS)

  @parameterized.parameters("_Narrow", "_Wider")
  @level.gate
  def test_another_range(self, name):
    """What was proposed can be made by the function of now."""
    folder = self._copy()
    search = fitted(folder, {
        "space": lambda trial: space(globals()[name](trial)), "line": line},
                    iterations=3)
    self.assertLen(search.study("space").trials, 3 * _TRIALS)

  def test_without_optuna(self):
    with mock.patch.dict("sys.modules", {"optuna": None}):
      with self.assertRaisesRegex(
          ModuleNotFoundError, "^models has a function that takes a trial of "
          'Optuna, which is not installed: expected the extra "trials", as in '
          r"pip install 'adanet-distributed\[trials\]'.$"):
        fitted(self.create_tempdir().full_path)
      # Also where a model is made again.
      with self.assertRaisesRegex(
          ModuleNotFoundError, "^models has a function that takes a trial"):
        self._load().network("space #2")
      fitted(self.create_tempdir().full_path, {"line": line}, trials=None,
             epochs=1)


class TrialsOfOneCaseTest(parameterized.TestCase):
  """Searches that share nothing."""

  @level.gate
  def test_layers_outside_of_the_function(self):
    scale = L.Normalization()
    scale.adapt(X)

    def scaled(trial):
      return keras.Sequential(
          [scale, L.Dense(trial.suggest_int("width", 2, 99)), L.Dense(1)])

    search = fitted(self.create_tempdir().full_path, {"scaled": scaled})
    networks = search.history.networks
    self.assertLen(networks, 2 * _TRIALS)
    # The sizes differ, so that no trial has the weights of another one.
    self.assertGreater(len({network.parameters for network in networks}), 2)
    search.network(networks[-1].name)

  @level.gate
  def test_killed_after_networks_that_were_out_of_time(self):
    """Trials are proposed by the values of networks that have ended."""
    fit = {"models": {"space": space}, "trials": 2, "parallel": 2}
    folder = self.create_tempdir().full_path
    checked = set()
    end_check = network_lib.Network.end_check
    with mock.patch.object(
        network_lib.Network, "end_check",
        lambda self: (end_check(self), checked.add(self.task.key))), (
            mock.patch.object(
                engine.Stop, "is_set", lambda self: len(checked) > 1)):
      search = fitted(folder, max_seconds=60, **fit)
    self.assertLen(search.history.members, 2)
    with mock.patch.object(
        search_run.judge_lib, "select_ensemble",
        side_effect=_Killed), self.assertRaises(_Killed):
      fitted(folder, **fit)
    np.testing.assert_equal(*(_figures(fitted(path, **fit)) for path in (
        folder, self.create_tempdir().full_path)))

  @level.gate
  def test_folds(self):
    search = fitted(self.create_tempdir().full_path, {"space": space}, folds=2)
    members = search.history.members
    self.assertLen(members, 2 * _TRIALS)
    for member in members:
      self.assertEqual(
          [f"{member.name}, fold {i + 1} of 2" for i in range(2)],
          [network.name for network in member.networks])
      self.assertLen({str(network.hyperparameters)
                      for network in member.networks}, 1)
      trial = search.study("space").trials[member.networks[0].trial - 1]
      self.assertEqual(member.values["val_loss"], trial.value)

  def test_pruned(self):
    calls = []

    def prunes(trial):
      model = space(trial)
      calls.append(trial.number)
      if trial.number in (1, 2):
        raise optuna.TrialPruned()
      return model

    folder = self.create_tempdir().full_path
    search = fitted(folder, {"space": prunes})
    self.assertEqual(["space #1", "space #4"], [
        network.name for network in search.history.networks])
    states = [trial.state.name for trial in search.study("space").trials]
    self.assertEqual(["COMPLETE", "PRUNED", "PRUNED", "COMPLETE"], states)
    self.assertTrue(np.isfinite(search.model.predict(X, verbose=0)).all())

    def prunes_all(trial):
      space(trial)
      raise optuna.TrialPruned()

    with self.assertRaisesRegex(ValueError, "^models: their functions have "
                                "pruned all trials"):
      fitted(self.create_tempdir().full_path, {"space": prunes_all})

  @level.gate
  def test_a_round_without_networks(self):
    asked = []

    def prunes(trial):
      model = space(trial)
      asked.append(trial.number)
      if _TRIALS <= trial.number < 2 * _TRIALS:
        raise optuna.TrialPruned()
      return model

    folder = self.create_tempdir().full_path
    search = fitted(folder, {"space": prunes}, iterations=3)
    self.assertLen(search.history.networks, 2 * _TRIALS)
    asked.clear()
    fitted(folder, {"space": prunes}, iterations=3)
    self.assertEqual([3 * _TRIALS - 1], asked)  # To compare it.

  @level.gate
  def test_nan_is_told_as_failed(self):
    def make(trial):
      model = space(trial)
      if trial.number == 1:
        model.compile(keras.optimizers.SGD(1e30), "mse")
      return model

    search = fitted(self.create_tempdir().full_path, {"space": make})
    states = [trial.state.name for trial in search.study("space").trials]
    self.assertEqual(["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"], states)

  @parameterized.parameters(
      ({}, {"trials": None}, r"trials=None: models\['space'\] takes an argum"),
      ({"models": {"line": line}}, {}, "trials=2: expected None, because no"),
      ({}, {"trials": 0}, "trials=0: expected an integer of at least"),
      ({"models": {"two": lambda trial, size: None}}, {},
       r"models\['two'\]: missing a required argument: 'size': expected a "),
      ({"models": {"a #1": line}}, {}, "models has the name 'a #1'"),
      ({"sampler": optuna.samplers.RandomSampler()}, {},
       "^sampler=.*: expected a function from a seed to a new sampler"),
      ({"models": {"a": lambda trial: 3}}, {},
       r"trial 1 of models\['a'\] failed: .*returned 3: expected a model of Ker"),
      ({"models": {"space": lambda trial: trial.suggest_categorical(
          "layer", [L.Dense(1)]) and line()}}, {},
       r"trial 1 of models\['space'\] suggests a value of type Dense for '"))
  def test_mistakes(self, search, fit, expected):
    folder = self.create_tempdir().full_path
    search = dict(search)
    with self.assertRaisesRegex((TypeError, ValueError), expected) as caught:
      fitted(folder, search.pop("models", None), search, **fit)
    self.assertLen(str(caught.exception).splitlines(), 1)
    self.assertNotIn("search.json", os.listdir(folder))

  @parameterized.parameters(
      ("Int", "int"), ("Float", "float"), ("Choice", "categorical"),
      ("Boolean", "categorical"))
  def test_a_word_of_keras_tuner(self, word, expected):
    make = lambda hp: getattr(hp, word)("units", 32, 512) and line()
    with self.assertRaisesRegex(
        ValueError, r"^trial 1 of models\['a'\] failed: .* In place of "
        rf"hp\.{word}\(...\) of KerasTuner, give trial\.suggest_{expected}"
        r"\(...\)\. All 2 networks "):
      fitted(self.create_tempdir().full_path, {"a": make})

  def test_a_missing_attribute_of_another_object(self):
    with self.assertRaisesRegex(
        ValueError, r"AttributeError: 'object' object has no attribute 'Int'\. "
        "All 2 networks that began have failed"):
      fitted(self.create_tempdir().full_path, {
          "a": lambda trial: object().Int})

  def test_another_range_in_a_later_trial(self):
    make = lambda trial: trial.suggest_categorical(
        "kind", [1, 2 + trial.number]) and line()
    with self.assertLogs("absl") as logs:
      search = fitted(self.create_tempdir().full_path, {"a": make})
    self.assertRegex(
        logs.output[0], "a #2 failed: ValueError: CategoricalDistribution does "
        "not support dynamic value")
    self.assertEqual(["COMPLETE", "FAIL"], [
        trial.state.name for trial in search.study("a").trials[:2]])


class _Narrow:
  """Suggests rates of a part of the range."""

  def __init__(self, trial):
    self._trial = trial

  def suggest_int(self, *args):
    return self._trial.suggest_int(*args)

  def suggest_float(self, name, low, high, log):
    del high
    return self._trial.suggest_float(name, low, 2e-3, log=log)


class _Wider(_Narrow):

  def suggest_float(self, name, low, high, log):
    return self._trial.suggest_float(name, low / 2, high, log=log)


def _with_relu(model):
  model.layers[0].activation = keras.activations.relu
  return model


if __name__ == "__main__":
  absltest.main()
