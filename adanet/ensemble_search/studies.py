# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optuna's side of a search: the study of a function, and its trials.

Each function that takes a trial has one study over all iterations, as in
Optuna, because samplers learn from attributes of trials and study that no
record of hyperparameters and values has. The study of each iteration is kept in
a file, with the sampler. A pickle runs what it holds, so only a `fit` that
proposes trials reads the file.
"""

from collections.abc import Iterable, Iterator
import contextlib
import itertools
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


def import_optuna() -> Any:
  """Returns the package `optuna`, which functions with a trial need."""
  try:
    import optuna  # pylint: disable=g-import-not-at-top
  except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "models has a function that takes a trial of Optuna, which is not "
        "installed: expected the extra \"trials\", as in pip install "
        "'adanet-distributed[trials]'.") from error
  return optuna


def is_pruned(error: Exception) -> bool:
  """Returns whether an error of a model's function says to prune the trial."""
  optuna = sys.modules.get("optuna")
  return optuna is not None and isinstance(
      error.__cause__, optuna.TrialPruned)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
  """Leaves out that a study begins, and that options are experimental."""
  optuna = import_optuna()
  verbosity = optuna.logging.get_verbosity()
  optuna.logging.set_verbosity(optuna.logging.WARNING)
  try:
    with warnings.catch_warnings():
      warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
      # The directory has tuples and lists as they are.
      warnings.filterwarnings("ignore", "Choices for a categorical")
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


def recorded_trial(hyperparameters: dict[str, Any], number: int) -> Any:
  """Returns an `optuna.trial.FixedTrial`; `number` begins at 1."""
  trial = import_optuna().trial.FixedTrial(hyperparameters, number - 1)
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


def _make_sampler(sampler, seed, iteration):
  optuna = import_optuna()
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
    is_by_fold: bool, whether trials are told the values of their first fold.
  """
  optuna = import_optuna()
  new = _make_sampler(sampler, sampler_seed(seed, name), iteration)
  # Fresh samplers of a function are compared, because samplers change.
  kind = [optuna.__version__, "" if sampler is None else identity.text_of(
      [type(new).__name__, getattr(new, "__dict__", {})])]
  study = _read_study(directory.study_path(name, iteration - 1), trials
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
    state, value = _read_result(trials[trial.number], monitor, is_by_fold)
    if state != optuna.trial.TrialState.RUNNING:
      study.tell(trial.number, value, state)
  return study


def _read_result(trial, monitor, is_by_fold):
  """Returns the `TrialState` of a candidate, and its value or None.

  The value is on all held-out rows, or with `is_by_fold` on those of the first
  fold, which all trials have.
  """
  states = import_optuna().trial.TrialState
  if trial.is_pruned:
    return states.PRUNED, None
  values = trial.values.get(0, {}) if is_by_fold else trial.all_values
  if values and not math.isnan(values[monitor.name]):
    return states.COMPLETE, values[monitor.name]
  return states.FAIL if values or trial.error else states.RUNNING, None


def _read_study(path, trials):
  """Returns the study in a file; None, with a warning, if it is unusable."""
  optuna = import_optuna()
  try:
    study = cloudpickle.loads(path.read_bytes())
    version, _ = study.user_attrs["sampler"]
    if version != optuna.__version__:
      raise ValueError(f"it is of Optuna {version}")
    if [trial.params for trial in study.get_trials(deepcopy=False)] != [
        trial.hyperparameters for trial in trials]:
      raise ValueError("it has other trials than were recorded")
    return study
  except Exception as error:  # Of any pickle.  # pylint: disable=broad-except
    log.warning(
        "%r cannot be read: %s. The sampler starts anew from the values of %d "
        "trials.", str(path), messages.one_line(error), len(trials))
    return None


def read_trials(directory: files.Directory, name: str, iteration: int) -> list:
  """Returns the trials of a study's file; [] if the file is unusable."""
  try:
    study = cloudpickle.loads(
        directory.study_path(name, iteration).read_bytes())
    return [trial for trial in study.get_trials()
            if trial.state.name != "WAITING"]
  except Exception:  # Of any pickle.  # pylint: disable=broad-except
    return []


def write_study(directory: files.Directory, name: str, iteration: int,
                study: Any) -> None:
  """Keeps a study, from which the next iteration is proposed."""
  with files.atomic_write(directory.study_path(name, iteration)) as temporary:
    temporary.write_bytes(_dumps(study))


def _dumps(study):
  try:
    return cloudpickle.dumps(study)
  except Exception as error:  # Of the user's sampler.
    raise ValueError(
        f"sampler returned {messages.describe(study.sampler)}, which "
        f"cloudpickle cannot write: {messages.one_line(error)}. Give its class "
        "a __getstate__, because the directory keeps the sampler for the next "
        "iteration.") from error


def has_stopped(study: Any) -> bool:
  """Returns whether no more trials are to be asked.

  The study has stopped, or will stop when the trials that train have ended: all
  points of a grid are proposed.
  """
  if study.stop.is_set:
    return True
  copy = cloudpickle.loads(_dumps(study))
  try:
    for trial in copy.get_trials(deepcopy=False):
      if trial.state.name == "RUNNING":
        copy.tell(trial.number, 0.)
  except Exception:  # Of the sampler.  # pylint: disable=broad-except
    return False
  return copy.stop.is_set


def record_trial(candidate: candidates.SearchCandidate, trial: Any,
                 failure: Exception | None) -> None:
  """Gives a candidate what Optuna knows of its trial.

  Args:
    candidate: the candidate.
    trial: `FrozenTrial`, after the function was called.
    failure: the error of the function, or None.

  Raises:
    ValueError: a choice or an attribute cannot be written as JSON, or the
      function does not take the values of `enqueue`.
  """
  owner = candidate.key().owner
  enqueued = trial.system_attrs.get("fixed_params", {})
  if enqueued:
    _check_enqueued(candidate.function, enqueued, trial, failure)
  for name, distribution in trial.distributions.items():
    for choice in getattr(distribution, "choices", ()):
      if not _is_written(choice):
        raise ValueError(
            f"{owner} suggests {messages.describe(choice)} for {name!r}, "
            "which the directory cannot keep: expected choices of None, bool, "
            "int, float and str, or lists and tuples of these.")
    candidate.distributions[name] = [
        type(distribution).__name__, dict(vars(distribution))]
  for name, value in trial.user_attrs.items():
    try:
      candidate.attributes[name] = json.loads(json.dumps(
          value, default=lambda array: array.tolist()))  # NumPy's.
    except (AttributeError, TypeError, ValueError) as error:
      raise ValueError(
          f"{owner} has the user attribute {name!r}, which the directory "
          f"cannot keep: {messages.describe(value)}. Expected a value for "
          "json.dumps.") from error
  candidate.hyperparameters = trial.params
  candidate.enqueued = {name: trial.params[name] for name in enqueued}


def _check_enqueued(function, enqueued, trial, failure):
  """Raises a ValueError about values that the function does not take."""
  try:
    if failure is None:
      import_optuna().trial.create_trial(
          params={**trial.params, **enqueued},
          distributions=trial.distributions, value=0.)
  except ValueError as error:
    failure = error
  if failure is not None:
    raise ValueError(
        f"enqueue: {enqueued} of models[{function!r}]: "
        f"{messages.one_line(failure)} Expected values of "
        f"{trial.distributions}.") from failure


def _is_written(choice):
  """Returns whether a choice is the same after it was written and read."""
  try:
    content = json.loads(json.dumps(files.to_json(choice)))
  except (TypeError, ValueError):
    return False
  plain = choice.item() if isinstance(choice, np.generic) else choice
  return repr(files.from_json(content)) == repr(plain)


def build_study(monitor: records.Monitor, name: str,
                trials: list[candidates.SearchCandidate], is_by_fold: bool,
                sampler: Any = None) -> Any:
  """Returns an `optuna.Study` in memory with the trials of a function.

  `sampler` is None for Optuna's default; see `open_study` for `is_by_fold`.
  """
  optuna = import_optuna()
  with quiet():
    study = optuna.create_study(
        sampler=sampler, study_name=name, direction={
            "min": "minimize", "max": "maximize"}[monitor.mode])
    for trial in trials:
      state, value = _read_result(trial, monitor, is_by_fold)
      study.add_trial(optuna.trial.create_trial(
          state=state, value=value, params=trial.hyperparameters,
          distributions={
              parameter: getattr(optuna.distributions, kind)(**arguments)
              for parameter, (kind, arguments) in trial.distributions.items()},
          user_attrs=trial.attributes))
  return study


def read_study(directory: files.Directory, name: str,
               networks: Iterable[Any]) -> Any:
  """Returns the result of `EnsembleSearch.study`.

  `networks` has the `NetworkHistory`s of the search, in the order of training.
  """
  trials = [candidate for candidate in candidates.CandidateStore(directory)
            if candidate.trial]
  spaces = list(dict.fromkeys(trial.function for trial in trials))
  if name not in spaces:
    raise ValueError(f"name={messages.describe(name)}: expected the name of a "
                     "function that takes a trial: "
                     f"{', '.join(map(repr, spaces)) or 'models has none'}.")
  is_by_fold = (directory.read() or {}).get("finalists") is not None
  trials = [trial for trial in trials if trial.function == name]
  networks_of = {member: list(own) for member, own in itertools.groupby(
      networks, lambda network: network.member)}
  for candidate in trials:
    own = networks_of.get(candidate.name)
    if own:
      candidate.attributes |= {
          "network": candidate.name,
          "seconds": sum(network.seconds for network in own),
          "parameters": sum(network.parameters for network in own)}
      if candidate.folds > 1:
        candidate.attributes["folds"] = (
            f"{1 if is_by_fold else candidate.folds} of {candidate.folds}")
  return build_study(directory.monitor(), name, trials, is_by_fold)
