# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optuna's side of a search: the study of a function, and its trials.

Each function that takes a trial has one study over all iterations, as in
Optuna, because samplers learn from attributes of trials and study that no
record of hyperparameters and values has. The study of each iteration is kept in
a file, with the sampler. A pickle runs what it holds, so only a `fit` that
proposes trials reads the file.
"""

from collections.abc import Iterator
import contextlib
import functools
import json
import math
import sys
from typing import Any
import warnings
import zlib

from adanet import log
from adanet import messages
from adanet.ensemble_search import candidates
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import records
import cloudpickle
import numpy as np


def import_optuna(owner: str) -> Any:
  """Returns the package `optuna`, which `owner` needs."""
  try:
    import optuna  # pylint: disable=g-import-not-at-top
  except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{owner} takes a trial of Optuna, which is not installed: expected the "
        "extra \"trials\", as in pip install 'adanet-distributed[trials]'."
    ) from error
  return optuna


def is_pruned(error: Exception) -> bool:
  """Returns whether an error of a model's function says to prune the trial."""
  optuna = sys.modules.get("optuna")
  return optuna is not None and isinstance(
      error.__cause__, optuna.TrialPruned)


@contextlib.contextmanager
def quiet(optuna: Any) -> Iterator[None]:
  """Leaves out that a study begins, and that options are experimental."""
  verbosity = optuna.logging.get_verbosity()
  optuna.logging.set_verbosity(optuna.logging.WARNING)
  try:
    with warnings.catch_warnings():
      warnings.simplefilter(
          "ignore", optuna.exceptions.ExperimentalWarning)
      # The directory has tuples and lists as they are.
      warnings.filterwarnings("ignore", "Choices for a categorical")
      # An error says so.
      warnings.filterwarnings("ignore", "Fixed parameter")
      yield
  finally:
    optuna.logging.set_verbosity(verbosity)


class _NoStudy:
  """Stands for the study where a model is built for a recorded trial."""

  def stop(self):
    """Does nothing: the study stopped when the trial was proposed."""

  def __getattr__(self, name):
    raise AttributeError(
        f"trial.study has no {name!r} where the network of a proposed trial is "
        "built: expected trial.study.stop() alone. Use other attributes where "
        "isinstance(trial, optuna.Trial).")


def recorded_trial(owner: str, hyperparameters: dict[str, Any], number: int
                  ) -> Any:
  """Returns an `optuna.trial.FixedTrial` with the hyperparameters of a record.

  Args:
    owner: str, the trial in messages.
    hyperparameters: dict from a name to a value.
    number: int, from 1.
  """
  trial = import_optuna(owner).trial.FixedTrial(hyperparameters, number - 1)
  trial.study = _NoStudy()
  return trial


class _StudyStop:
  """Stands for `Study.stop`, which Optuna allows in `optimize` alone."""

  is_set = False

  def __call__(self):
    self.is_set = True


def sampler_seed(seed: int, function: str) -> int:
  """Returns the seed of a function's sampler, from the seed of the search."""
  return zlib.crc32(f"{seed}/sampler/{function}".encode()) & 0x7fffffff


def _make_sampler(optuna, sampler, seed, iteration):
  if sampler is None:
    # The first iteration is drawn at random, and no other, even if all networks
    # of the first iteration have failed.
    return optuna.samplers.TPESampler(
        n_startup_trials=0, multivariate=True, group=True, constant_liar=True,
        seed=seed) if iteration else optuna.samplers.RandomSampler(seed)
  result = sampler(seed)
  if not isinstance(result, optuna.samplers.BaseSampler):
    raise TypeError(f"sampler returned {messages.describe(result)}: expected "
                    "a sampler of Optuna.")
  return result


def open_study(directory: files.Directory, monitor: records.Monitor, name: str,
               iteration: int, trials: list[candidates.SearchCandidate],
               sampler: Any, seed: int, is_by_fold: bool) -> Any:
  """Returns the study of a function, told all results so far.

  Results are told in the order of the trials, so that the order in which
  networks end changes nothing.

  Args:
    directory, monitor: of the search.
    name: str, the function.
    iteration: int, from 0, the iteration to propose.
    trials: list of the trials of the function in earlier iterations.
    sampler: as in `EnsembleSearch`.
    seed: int, the seed of the search.
    is_by_fold: see `read_result`.
  """
  optuna = import_optuna(f"models[{name!r}]")
  new = _make_sampler(optuna, sampler, sampler_seed(seed, name), iteration)
  # Fresh samplers of a function are compared, because samplers change.
  kind = [optuna.__version__, "" if sampler is None else identity.text_of(
      [type(new).__name__, getattr(new, "__dict__", {})])]
  study = _read_study(directory.study_path(name, iteration - 1), optuna, trials
                     ) if trials else None
  if study is None:
    study = build_study(monitor, name, trials, is_by_fold, new)
    study.stop = _StudyStop()
  elif study.user_attrs["sampler"] != kind:
    log.warning("sampler: models[%r] had another sampler in earlier iterations."
                " The new sampler starts from their %d trials.", name,
                len(trials))
    study.sampler = new
  elif sampler is None and iteration == 1:
    study.sampler = new
  study.set_user_attr("sampler", kind)
  for trial in study.get_trials(
      deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
    state, value = read_result(
        optuna, trials[trial.number], monitor, is_by_fold)
    if state != optuna.trial.TrialState.RUNNING:
      study.tell(trial.number, value, state)
  return study


def read_result(optuna: Any, trial: candidates.SearchCandidate,
                monitor: records.Monitor, is_by_fold: bool) -> tuple[Any, Any]:
  """Returns the `TrialState` of a candidate, and its value or None.

  The value is on all held-out rows, or with `is_by_fold` on those of the first
  fold, which all trials have.
  """
  states = optuna.trial.TrialState
  if trial.is_pruned:
    return states.PRUNED, None
  values = trial.values.get(0, {}) if is_by_fold else trial.all_values
  if values and not math.isnan(values[monitor.name]):
    return states.COMPLETE, values[monitor.name]
  return states.FAIL if values or trial.error else states.RUNNING, None


def _read_study(path, optuna, trials):
  """Returns the study in a file; None, with a warning, if it is unusable."""
  try:
    study = cloudpickle.loads(path.read_bytes())
    version, _ = study.user_attrs["sampler"]
    if version != optuna.__version__:
      raise ValueError(f"it is of Optuna {version}")
    if [trial.params for trial in study.get_trials(deepcopy=False)
        if trial.state != optuna.trial.TrialState.WAITING] != [
            trial.hyperparameters for trial in trials]:
      raise ValueError("it has other trials than were recorded")
    return study
  except Exception as error:  # Of any pickle.  # pylint: disable=broad-except
    log.warning(
        "%r cannot be read: %s. The sampler starts anew from the values of %d "
        "trials.", str(path), messages.one_line(error), len(trials))
    return None


def read_trials(directory: files.Directory, name: str, iteration: int) -> list:
  """Returns the trials of a function up to an iteration, by the study's file.

  Returns none if the file cannot be read.
  """
  try:
    study = cloudpickle.loads(
        directory.study_path(name, iteration).read_bytes())
    return [trial for trial in study.get_trials(deepcopy=False)
            if trial.state.name != "WAITING"]
  except Exception:  # Of any pickle.  # pylint: disable=broad-except
    return []


def write_study(directory: files.Directory, name: str, iteration: int,
                study: Any) -> None:
  """Keeps a study, from which the next iteration is proposed."""
  directory.write_study(name, iteration, _dumps(study))


def _dumps(study):
  try:
    return cloudpickle.dumps(study)
  except Exception as error:  # Of the user's sampler.
    raise ValueError(
        f"sampler returned {messages.describe(study.sampler)}, which "
        f"cloudpickle cannot write: {messages.one_line(error)}. Give its class a "
        "__getstate__, because the directory keeps the sampler for the next "
        "iteration."
    ) from error


def copy_study(study: Any) -> Any:
  """Returns a copy of a study, with which a proposal can be tried."""
  return cloudpickle.loads(_dumps(study))


def has_stopped(optuna: Any, study: Any) -> bool:
  """Returns whether no more trials are to be asked.

  The study has stopped, or will stop when the trials that train have ended: all
  points of a grid are proposed.
  """
  if study.stop.is_set:
    return True
  copy = copy_study(study)
  for trial in copy.get_trials(
      deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
    copy.tell(trial.number, 0.)
  return copy.stop.is_set


def count_waiting(optuna: Any, study: Any) -> int:
  """Returns how many enqueued trials wait to be asked."""
  return len(study.get_trials(
      deepcopy=False, states=[optuna.trial.TrialState.WAITING]))


def check_enqueued(optuna: Any, trial: Any) -> None:
  """Raises a ValueError about a value that the function does not take.

  `trial` is an enqueued `FrozenTrial`, after the function was called.
  """
  for name, value in trial.system_attrs["fixed_params"].items():
    distribution = trial.distributions.get(name)
    if distribution is None:
      raise ValueError(
          f"the function has no {name!r} with these values: expected names of "
          f"{', '.join(map(repr, trial.distributions))}.")
    try:
      optuna.trial.create_trial(
          params={name: value}, distributions={name: distribution}, value=0.)
    except ValueError:
      raise ValueError(f"{name}={value!r} is out of range: expected a value of "
                       f"{distribution}.") from None


def record_trial(candidate: candidates.SearchCandidate, trial: Any) -> None:
  """Gives a candidate what Optuna knows of its trial.

  `trial` is a `FrozenTrial`, after the function was called.

  Raises:
    ValueError: a choice or an attribute cannot be written as JSON.
  """
  owner = candidate.key().owner
  optuna = import_optuna(owner)
  for name, distribution in trial.distributions.items():
    for choice in getattr(distribution, "choices", ()):
      if not _is_written(choice):
        raise ValueError(
            f"{owner} suggests {messages.describe(choice)} for {name!r}, "
            "which the directory cannot keep: expected choices of None, bool, "
            "int, float and str, or lists and tuples of these.")
  for name, value in trial.user_attrs.items():
    try:
      candidate.attributes[name] = json.loads(
          json.dumps(value, default=_to_plain))
    except (TypeError, ValueError) as error:
      raise ValueError(
          f"{owner} has the user attribute {name!r}, which the directory "
          f"cannot keep: {messages.one_line(error)} Expected a value for "
          "json.dumps.") from error
  candidate.hyperparameters = trial.params
  candidate.distributions = {
      name: _distribution_to_json(optuna, distribution)
      for name, distribution in trial.distributions.items()}
  candidate.enqueued = {
      name: trial.params[name]
      for name in trial.system_attrs.get("fixed_params", ())
      if name in trial.params}


def _is_written(choice):
  """Returns whether a choice is the same after it was written and read."""
  try:
    content = json.loads(json.dumps(files.to_json(choice)))
  except (TypeError, ValueError):
    return False
  plain = choice.item() if isinstance(choice, np.generic) else choice
  return repr(files.from_json(content)) == repr(plain)


def _to_plain(value):
  if isinstance(value, (np.generic, np.ndarray)):
    return value.tolist()
  raise TypeError(f"it is {messages.describe(value)}.")


def _distribution_to_json(optuna, distribution):
  if isinstance(distribution, optuna.distributions.CategoricalDistribution):
    distribution = type(distribution)(
        list(map(files.to_json, distribution.choices)))
  return optuna.distributions.distribution_to_json(distribution)


def _distribution_from_json(optuna, text):
  distribution = optuna.distributions.json_to_distribution(text)
  if isinstance(distribution, optuna.distributions.CategoricalDistribution):
    distribution = type(distribution)(
        list(map(files.from_json, distribution.choices)))
  return distribution


def build_study(monitor: records.Monitor, name: str,
                trials: list[candidates.SearchCandidate], is_by_fold: bool,
                sampler: Any = None) -> Any:
  """Returns an `optuna.Study` in memory with the trials of a function.

  `sampler` is None for Optuna's default; see `read_result` for `is_by_fold`.
  """
  optuna = import_optuna(f"models[{name!r}]")
  with quiet(optuna):
    study = optuna.create_study(
        sampler=sampler, study_name=name, direction={
            "min": "minimize", "max": "maximize"}[monitor.mode])
    read = functools.lru_cache(None)(functools.partial(
        _distribution_from_json, optuna))
    for trial in trials:
      state, value = read_result(optuna, trial, monitor, is_by_fold)
      study.add_trial(optuna.trial.create_trial(
          state=state, value=value, params=trial.hyperparameters,
          distributions={
              parameter: read(text)
              for parameter, text in trial.distributions.items()},
          user_attrs=trial.attributes, system_attrs={
              "fixed_params": trial.enqueued} if trial.enqueued else None))
  return study
