# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Proposes the candidates of an iteration: functions, and Optuna's trials.

A function that takes an argument has a space of hyperparameters. In each
iteration, Optuna proposes trials of the function from the results of all
earlier iterations; `studies` has Optuna's study. The proposals depend on the
seed and the results alone, and are written before a network trains: first the
study, which the next iteration reads, and then the trials.
"""

import dataclasses
import functools
from typing import Any

from adanet import log
from adanet import messages
from adanet.ensemble_search import candidates as candidates_lib
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import studies
from adanet.ensemble_search import tasks as tasks_lib
from adanet.tf_compat import seeds

# Of `build_at_random`.
_MAX_PRUNED = 100


def check_sampler(sampler: Any) -> None:
  """Raises a TypeError if `sampler` is no function, and not None."""
  if sampler is not None and not callable(sampler):
    raise TypeError(
        f"sampler={messages.describe(sampler)}: expected a function from a seed"
        " to a new sampler, such as lambda seed: "
        "optuna.samplers.TPESampler(seed=seed), because each function in "
        "models has a sampler of its own.")


def check_trials(trials: int | None, enqueue: Any, functions: dict[str, Any]
                ) -> None:
  """Raises an error about an argument of `fit`, or if Optuna is missing."""
  spaces = list_spaces(functions)
  if spaces:
    studies.import_optuna()
    if trials is None:
      raise ValueError(
          f"trials=None: models[{spaces[0]!r}] takes an argument, a trial of "
          "Optuna: expected the number of trials of an iteration, such as 8. "
          "Give the argument a default value if the function takes no trial.")
  elif trials is not None:
    raise ValueError(
        f"trials={trials}: expected None, because no function in models takes "
        "a trial of Optuna as its argument, such as def make(trial).")
  if enqueue is not None and not (
      isinstance(enqueue, dict) and set(enqueue) <= set(spaces) and all(
          isinstance(rows, (list, tuple)) and all(
              isinstance(row, dict) for row in rows)
          for rows in enqueue.values())):
    raise ValueError(
        f"enqueue={messages.describe(enqueue)}: expected a dict from a function"
        " that takes a trial "
        f"({', '.join(map(repr, spaces)) or 'models has none'}) to a list of "
        "dicts of hyperparameters, such as "
        "{'dense': [{'width': 64, 'rate': .001}]}.")


def list_spaces(functions: dict[str, Any]) -> list[str]:
  """Returns the names of the functions that take a trial."""
  return [name for name, function in functions.items()
          if models_lib.count_arguments(function)]


def build_at_random(owner: str, function: Any) -> Any:
  """Returns the model of a function for a trial that is drawn at random.

  `owner` is the function in messages: "models['deep']".

  Raises:
    ValueError: the function fails, or has pruned many trials.
  """
  optuna = studies.import_optuna()
  with studies.quiet():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    while True:
      trial = study.ask()
      try:
        return models_lib.call_function(
            owner, functools.partial(function, trial))
      except ValueError as error:
        if trial.number > _MAX_PRUNED or not studies.is_pruned(error):
          raise


@dataclasses.dataclass
class Proposer:
  """Proposes the candidates of each iteration, and records new ones.

  Attributes:
    directory: `Directory` of the search.
    store: `CandidateStore` of the directory.
    functions: dict from a name to a function.
    training: `TrainingArguments`.
    folds: int, the networks of a function or a trial in an iteration.
    limits: `Limits`.
    sampler: as in `EnsembleSearch`.
    enqueue: as in `EnsembleSearch.fit`.
  """
  directory: files.Directory
  store: candidates_lib.CandidateStore
  functions: dict[str, Any]
  training: tasks_lib.TrainingArguments
  folds: int
  limits: judge_lib.Limits
  sampler: Any = None
  enqueue: dict[str, list] | None = None

  def __post_init__(self) -> None:
    self._spaces = list_spaces(self.functions)
    self._stopped: set[str] = set()  # Functions that get no more trials.
    self._forget_untrained()

  def _forget_untrained(self):
    """Removes trials after the last one that has trained.

    Another function may be given for these. The same one is proposed the same.
    """
    last = {candidate.function: candidate.iteration for candidate in self.store
            if any(map(self._has_trained, candidate.keys()))}
    for candidate in list(self.store):
      if candidate.trial and candidate.function in self._spaces and (
          candidate.iteration > last.get(candidate.function, -1)):
        self.store.remove(candidate)

  def _has_trained(self, key):
    record = self.directory.folder(key).read_record()
    return record is not None and not record.error

  def propose(self, iteration: int) -> list[candidates_lib.SearchCandidate]:
    """Returns the candidates of an iteration, without pruned trials."""
    candidates = []
    for name in self.functions:
      if name not in self._spaces and not self._is_repeated(name, iteration):
        candidate = candidates_lib.SearchCandidate(
            name, iteration, folds=self.folds)
        if candidate.name not in self.store:
          self.store.write(candidate)
        candidates.append(self.store.get(candidate.name))
    for name in self._spaces:
      count = len(self._trials_of(name, iteration))
      if not self._is_proposed(name, iteration):
        if name not in self._stopped:
          self._ask(name, iteration)
      elif count != self.limits.trials:
        log.warning(
            "trials=%d: iteration %d of models[%r] has the %d trials that were "
            "proposed before.", self.limits.trials, iteration + 1, name, count)
      candidates += [trial for trial in self._trials_of(name, iteration)
                     if not trial.is_pruned]
    return candidates

  def _is_repeated(self, name, iteration):
    """Returns whether a function makes the same network in each iteration."""
    if iteration < 2:
      return False
    first, second = (self.store.get(candidates_lib.SearchCandidate(
        name, earlier).name).values for earlier in range(2))
    if not first or first != second:
      return False
    if iteration == 2:
      log.warning(
          "models[%r] makes the same network in each iteration, so no third "
          "network is trained. Leave out what fixes the seeds in the function, "
          "such as keras.utils.set_random_seed.", name)
    return True

  def _trials_of(self, name, iteration=None):
    """Returns the trials of a function, in an iteration or in all."""
    return [candidate for candidate in self.store
            if candidate.trial and candidate.function == name and
            iteration in (candidate.iteration, None)]

  def _is_proposed(self, name, iteration):
    trials = self._trials_of(name, iteration)
    return bool(trials) and len(trials) == trials[0].proposed

  def _to_enqueue(self, name, trials):
    """Returns the hyperparameters of the user that no trial was enqueued with.
    """
    rows = []
    enqueued = [trial.enqueued for trial in trials]
    for row in (self.enqueue or {}).get(name, ()):
      if row not in enqueued + rows:
        rows.append(row)
    return rows

  def warn_of_enqueued(self) -> None:
    """Says which hyperparameters of the user no iteration had room for."""
    for name in self._spaces:
      rows = self._to_enqueue(name, self._trials_of(name))
      if rows:
        log.warning(
            "enqueue: %d trials of models[%r] wait for a larger number of "
            "iterations than %d.", len(rows), name, self.limits.iterations)

  def _ask(self, name, iteration):
    """Records the trials that Optuna proposes for an iteration.

    Each file depends on the earlier ones, and a kill between two of them
    proposes the same again.
    """
    known = self._trials_of(name, iteration)
    count = known[0].proposed if known else self.limits.trials
    earlier = [trial for trial in self._trials_of(name)
               if trial.iteration < iteration]
    if self._restore(name, iteration, len(earlier)):
      return
    asked = []  # Candidates, with the errors of their function.
    with studies.quiet():
      study = studies.open_study(
          self.directory, self.training.monitor, name, iteration, earlier,
          self.sampler, self.training.seed, self.limits.finalists is not None)
      for row in self._to_enqueue(name, earlier)[:count]:
        study.enqueue_trial(row)
      while len(asked) < count and not studies.has_stopped(study):
        asked.append(self._ask_once(study, name, iteration))
      new = [(candidate, error) for candidate, error in asked
             if candidate.name not in self.store]
      for candidate, _ in new:
        for key in candidate.keys():
          self.directory.folder(key).forget()
      studies.write_study(self.directory, name, iteration, study)
    for candidate, error in new:
      candidate.proposed = len(asked)
      self.store.write(candidate)
      if error is not None:
        folder = self.directory.folder(candidate.key())
        failures.record_failure(candidate.key(), folder, error,
                                before=folder.predicted_record())
    if len(asked) < count:
      self._stopped.add(name)
      log.warning(
          "models[%r] gets no more trials than %d: its sampler has proposed "
          "all, or the function has called trial.study.stop().", name,
          len(self._trials_of(name)))

  def _restore(self, name, iteration, first):
    """Makes records that were damaged, of trials from the number `first` on.

    Returns whether the study's file has these trials, of which one has trained.
    """
    trials = studies.read_trials(self.directory, name, iteration)[first:]
    candidates = [candidates_lib.SearchCandidate(
        name, iteration, trial.number + 1, self.folds, len(trials),
        is_pruned=trial.state.name == "PRUNED") for trial in trials]
    if not any(self._has_trained(key) for candidate in candidates
               for key in candidate.keys()):
      return False
    for candidate, trial in zip(candidates, trials):
      if candidate.name not in self.store:
        studies.record_trial(candidate, trial, None)
        self.store.write(candidate)
    return True

  def _ask_once(self, study, name, iteration):
    """Returns the next trial of a study, and the error of its function."""
    trial = study.ask()
    candidate = candidates_lib.SearchCandidate(
        name, iteration, trial.number + 1, self.folds,
        code=identity.digest_code(self.functions[name]))
    key, failure = candidate.key(), None
    try:
      with seeds.seeded_thread(key.seed(self.training.seed)):
        candidate.architecture = identity.describe_model(models_lib.build_model(
            key.owner, functools.partial(self.functions[name], trial),
            self.training.arguments))
    except Exception as error:  # Of the user.  # pylint: disable=broad-except
      if studies.is_pruned(error):
        candidate.is_pruned = True
        study.tell(
            trial, state=studies.import_optuna().trial.TrialState.PRUNED)
      else:
        failure = error
    studies.record_trial(
        candidate, study.get_trials(deepcopy=False)[trial.number], failure)
    return candidate, failure
