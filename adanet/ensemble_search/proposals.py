# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decides what trains next: functions once an iteration, or trials.

A function that takes an argument has a space of hyperparameters. In each
iteration, Optuna proposes trials of the function from the results of all
earlier iterations; `studies` has Optuna's study. The proposals depend on the
seed and the results alone, and are written before a network trains: first the
study, which the next iteration reads, and then the trials.
"""

from collections.abc import Iterable
import functools
from typing import Any
import warnings

from adanet import log
from adanet import messages
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import studies
from adanet.tf_compat import seeds

# Of `build_at_random`.
_MAX_PRUNED = 100


def check_sampler(sampler: Any) -> None:
  """Raises a TypeError if `sampler` is no function of a seed, and not None."""
  if sampler is not None and (
      not callable(sampler) or hasattr(sampler, "sample_relative") and
      not isinstance(sampler, type)):
    raise TypeError(
        f"sampler={messages.describe(sampler)}: expected a function from a seed"
        " to a new sampler, such as lambda seed: "
        "optuna.samplers.TPESampler(seed=seed), because each function in "
        "models has a sampler of its own.")


def check_trials(trials: int | None, enqueue: Any, functions: dict[str, Any]
                ) -> None:
  """Raises an error about an argument of `fit`, or if Optuna is missing."""
  spaces = list_spaces(functions)
  if spaces and trials is None:
    raise ValueError(
        f"trials=None: models[{spaces[0]!r}] takes an argument, a trial of "
        "Optuna: expected the number of trials of an iteration, such as 8. "
        "Give the argument a default value if the function takes no trial.")
  if trials is not None and not spaces:
    raise ValueError(
        f"trials={trials}: expected None, because no function in models takes "
        "a trial of Optuna as its argument, such as def make(trial).")
  if spaces:
    studies.import_optuna(f"models[{spaces[0]!r}]")
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
  optuna = studies.import_optuna(owner)
  with studies.quiet(optuna):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    while True:
      trial = study.ask()
      try:
        return models_lib.call_function(
            owner, functools.partial(function, trial))
      except ValueError as error:
        if trial.number > _MAX_PRUNED or not isinstance(
            error.__cause__, optuna.TrialPruned):
          raise


class Proposer:
  """Makes the tasks of each iteration of a search."""

  def __init__(self, directory: files.Directory, functions: dict[str, Any],
               example: network_lib.NetworkTask, folds: int,
               sampler: Any = None, trials: int | None = None,
               enqueue: dict[str, list] | None = None):
    """Proposes nothing yet.

    Args:
      directory: `Directory` of the search.
      functions: dict from a name to a function.
      example: `NetworkTask`, for all that tasks have in common.
      folds: int, the networks of a function or a trial in an iteration.
      sampler: as in `EnsembleSearch`.
      trials, enqueue: as in `EnsembleSearch.fit`.
    """
    self._directory = directory
    self._functions = functions
    self._spaces = list_spaces(functions)
    self._example = example
    self._folds = folds
    self._sampler = sampler
    self._trials = trials
    self._enqueue = enqueue or {}
    # Where nothing has trained, another function may be given. The same one
    # is proposed the same trials.
    last = {key.function: key.iteration for key in directory.keys()}
    self._recorded, dropped = [], set()
    for trial in directory.trials():
      if trial.iteration <= last.get(trial.function, -1):
        self._recorded.append(trial)
      else:
        dropped.add(trial.function)
    self._stops = {name: iteration for name, iteration in
                   directory.stops().items() if name not in dropped}

  def _tasks(self, iteration, name, trial=None):
    return [self._example._replace(
        key=files.NetworkKey(iteration, fold, name, self._folds,
                             trial.number if trial else 0),
        function=self._functions[name],
        hyperparameters=trial and trial.hyperparameters)
            for fold in range(self._folds)]

  def tasks_of_functions(self, iteration: int) -> list[network_lib.NetworkTask]:
    """Returns the tasks of functions that take no trial."""
    return [task for name in self._functions if name not in self._spaces
            for task in self._tasks(iteration, name)]

  def recorded(self, iteration: int) -> list[network_lib.NetworkTask] | None:
    """Returns the tasks of an iteration; None before all are proposed."""
    tasks = self.tasks_of_functions(iteration)
    for name in self._spaces:
      if not self._is_proposed(name, iteration):
        return None
      for trial in self._trials_of(name, iteration):
        if trial.architecture:
          tasks += self._tasks(iteration, name, trial)
    return tasks

  def _trials_of(self, name, iteration):
    return [trial for trial in self._recorded
            if (trial.function, trial.iteration) == (name, iteration)]

  def _is_proposed(self, name, iteration):
    return self._stops.get(name, iteration + 1) <= iteration or bool(
        self._trials_of(name, iteration))

  def warn(self, iterations: int) -> None:
    """Says which functions get no more trials in so many iterations."""
    for name in self._spaces:
      if self._stops.get(name, iterations) < iterations:
        self._warn_of_stop(name)
      elif all(self._is_proposed(name, i) for i in range(iterations)) and any(
          row not in [{key: trial.hyperparameters.get(key) for key in row}
                      for trial in self._recorded if trial.function == name]
          for row in self._enqueue.get(name, ())):
        log.warning(
            "enqueue: models[%r] has the trials of all %d iterations: expected "
            "a larger number of iterations.", name, iterations)

  def _warn_of_stop(self, name):
    log.warning(
        "models[%r] gets no more trials than %d: its sampler has proposed all, "
        "or the function has called trial.study.stop().", name,
        sum(trial.function == name for trial in self._recorded))

  def propose(self, iteration: int) -> list[network_lib.NetworkTask]:
    """Returns the tasks of an iteration, and records new trials.

    All networks of earlier iterations have ended.
    """
    for name in self._spaces:
      trials = self._trials_of(name, iteration)
      if not self._is_proposed(name, iteration):
        self._ask(name, iteration)
      elif len(trials) != self._trials and name not in self._stops:
        log.warning(
            "trials=%d: iteration %d of models[%r] has the %d trials that were "
            "proposed before.", self._trials, iteration + 1, name, len(trials))
    return self.recorded(iteration) or []

  def _ask(self, name, iteration):
    """Records the trials that Optuna proposes for an iteration."""
    optuna = studies.import_optuna(f"models[{name!r}]")
    records = []
    with studies.quiet(optuna):
      study = studies.open_study(
          self._directory, self._example.monitor, name, iteration, [
              trial for trial in self._recorded if trial.function == name and
              trial.iteration < iteration], self._sampler, self._example.seed)
      self._enqueue_trials(optuna, study, name, iteration)
      while len(records) < self._trials:
        if studies.has_stopped(optuna, study):
          self._stops[name] = iteration
          break
        records.append(self._ask_once(optuna, study, name, iteration))
      waiting = studies.count_waiting(optuna, study)
      # Each file depends on the earlier ones, and a kill between two of them
      # proposes the same again.
      studies.write_study(self._directory, name, iteration, study)
    self._recorded += records
    self._directory.write_trials(self._recorded, self._stops)
    if name in self._stops:
      self._warn_of_stop(name)
    elif waiting:
      log.warning("enqueue: %d trials of models[%r] wait for the next "
                  "iteration.", waiting, name)

  def _enqueue_trials(self, optuna, study, name, iteration):
    """Enqueues the trials of the user that are new, and tries each."""
    waiting = studies.count_waiting(optuna, study)
    for row in self._enqueue.get(name, ()):
      study.enqueue_trial(row, skip_if_exists=True)
    if studies.count_waiting(optuna, study) == waiting:
      return
    copy = studies.copy_study(study)
    for row in copy.get_trials(states=[optuna.trial.TrialState.WAITING]):
      try:
        self._ask_once(optuna, copy, name, iteration)
        studies.check_enqueued(
            optuna, copy.get_trials(deepcopy=False)[row.number])
      except ValueError as error:
        raise ValueError(
            f"enqueue: {row.system_attrs['fixed_params']} of models[{name!r}]: "
            f"{error}") from error

  def _ask_once(self, optuna, study, name, iteration):
    trial = study.ask()
    key = files.NetworkKey(iteration, 0, name, trial=trial.number + 1)
    architecture = ""
    try:
      architecture = identity.digest_model(self._build(key, trial))
    except ValueError as error:
      if not isinstance(error.__cause__, optuna.TrialPruned):
        raise
      study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    return studies.record_trial(
        key, study.get_trials(deepcopy=False)[trial.number], architecture,
        identity.digest_code(self._functions[name]))

  def _build(self, key, trial):
    """Returns the model that a function makes for a trial of Optuna."""
    with seeds.seeded_thread(key.seed(self._example.seed)):
      return models_lib.build_model(
          key.owner, functools.partial(self._functions[key.function], trial),
          self._example.arguments)

  def differences(self) -> list[str]:
    """Returns in words how functions differ from the recorded trials.

    A function with the same code as before is called for its last trial, and
    any other function for all trials.
    """
    texts: list[str] = []
    for name in self._spaces:
      records = [record for record in self._recorded
                 if record.function == name and record.architecture]
      code = identity.digest_code(self._functions[name])
      texts += filter(None, (
          self._difference(record, records) for record in [
              record for record in records if record.code != code
          ] or records[-1:]))
    return texts[:1]  # Each trial may have the same.

  def _difference(self, record, records):
    """Returns in words how a trial differs from its record, or ""."""
    key = files.NetworkKey(
        record.iteration, 0, record.function, trial=record.number)
    optuna = studies.import_optuna(key.owner)
    trial = studies.recorded_trial(
        key.owner, record.hyperparameters, record.number)
    try:
      with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of values out of range.
        model = self._build(key, trial)
    except ValueError as error:
      return messages.one_line(error)
    for name, value in record.hyperparameters.items():
      if name not in trial.distributions:
        return (f"{key.owner} has {name}={value!r}, which the function no longer "
                "takes")
    for other in records:
      for name, distribution in trial.distributions.items():
        if name not in other.hyperparameters:
          continue
        value = other.hyperparameters[name]
        try:
          optuna.trial.create_trial(
              params={name: value}, distributions={name: distribution}, value=0.)
        except ValueError:
          owner = files.NetworkKey(
              0, 0, other.function, trial=other.number).owner
          return (f"{owner} has {name}={value!r}, and the function takes "
                  f"{distribution}")
    return "" if identity.digest_model(model) == record.architecture else (
        f"{key.owner} makes another model")


def is_judged(directory: files.Directory, tasks: list[network_lib.NetworkTask]
             ) -> bool:
  """Returns whether all networks have ended, and count in the ensemble."""
  ensemble = directory.read(files.ENSEMBLE) or {"members": []}
  epochs = {files.NetworkKey(*network["network"]): network["epochs"]
            for member in ensemble["members"] for network in member["networks"]}
  for task in tasks:
    record = directory.folder(task.key).finished_record()
    if record is None or epochs.get(task.key) != len(record.epochs):
      return False
  return True


def is_done(directory: files.Directory, iterations: list,
            max_members: int | None, combine: str,
            arguments: dict[str, Any]) -> bool:
  """Returns whether nothing is left to train or to select.

  Args:
    directory: `Directory` of the search.
    iterations: list with the tasks of each iteration; None before all are
      proposed.
    max_members: as in `EnsembleSearch.fit`.
    combine: str, the name of the function.
    arguments: dict, the JSON of the `CompileArguments`.
  """
  content, ensemble = directory.read(), directory.read(files.ENSEMBLE)
  if content is None or ensemble is None:
    return False
  # A loss of the user's that only the compiled models have.
  if arguments["loss"] == {"keras": None} and "own" in content["judge"]["loss"]:
    return False
  return (
      (False, max_members, combine, arguments["metrics"]) == (
          ensemble["is_stopped"], ensemble["max_members"], ensemble["combine"],
          content["arguments"]["metrics"])) and all(
              tasks is not None and is_judged(directory, tasks)
              for tasks in iterations)


def repeated_functions(directory: files.Directory, tasks: list, later: list
                      ) -> list[str]:
  """Returns the functions whose networks are the same in two iterations.

  `tasks` and `later` have the tasks of the first and of the second iteration.
  """
  are_same: dict[str, bool] = {}
  for pair in zip(tasks, later):
    record, again = (directory.folder(task.key).finished_record()
                     for task in pair)
    function = pair[0].key.function
    are_same[function] = are_same.get(function, True) and (
        record is not None and again is not None and
        record.epochs == again.epochs and not record.error)
  repeated = [function for function, is_same in are_same.items() if is_same]
  for function in repeated:
    log.warning(
        "models[%r] makes the same network in each iteration, so no third "
        "network is trained. Leave out what fixes the seeds in the function, "
        "such as keras.utils.set_random_seed.", function)
  return repeated


def read_study(directory: files.Directory, name: str,
               networks: Iterable[Any]) -> Any:
  """Returns the result of `EnsembleSearch.study`.

  `networks` has the `NetworkHistory`s of the search.
  """
  trials = directory.trials()
  spaces = list(dict.fromkeys(trial.function for trial in trials))
  if name not in spaces:
    raise ValueError(f"name={messages.describe(name)}: expected the name of a "
                     "function that takes a trial: "
                     f"{', '.join(map(repr, spaces)) or 'models has none'}.")
  of_trials: dict[int, list] = {}
  for network in networks:
    if network.function == name:
      of_trials.setdefault(network.trial, []).append(network)
  return studies.build_study(directory, directory.monitor(), name, [
      trial._replace(attributes={
          **trial.attributes, "network": own[0].member,
          "seconds": sum(network.seconds for network in own),
          "parameters": sum(network.parameters for network in own)})
      if (own := of_trials.get(trial.number)) else trial for trial in trials])
