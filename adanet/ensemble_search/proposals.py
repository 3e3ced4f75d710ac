# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decides what trains next: functions once an iteration, trials, and finals.

A function that takes an argument has a space of hyperparameters. In each
iteration, Optuna proposes trials of the function from the results of all
earlier iterations; `studies` has Optuna's study. The proposals depend on the
seed and the results alone, and are written before a network trains: first the
study, which the next iteration reads, and then the trials.

With finalists, all candidates train their first fold, and the best ones train
the other folds after the last iteration.
"""

from collections.abc import Iterable, Iterator
import functools
from typing import Any

from adanet import log
from adanet import messages
from adanet.ensemble_search import candidates as candidates_lib
from adanet.ensemble_search import combining
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import identity
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
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
        if trial.number > _MAX_PRUNED or not studies.is_pruned(error):
          raise


class Proposer:
  """Makes the tasks of each round of a search: iterations, and then finals.

  Attributes:
    functions: dict from a name to a function.
    store: `CandidateStore` of the directory.
    judged_by: str, the loss and the metrics by which candidates have values.
  """

  def __init__(self, directory: files.Directory,
               store: candidates_lib.CandidateStore, functions: dict[str, Any],
               example: network_lib.NetworkTask, folds: int,
               limits: judge_lib.Limits, sampler: Any = None,
               enqueue: dict[str, list] | None = None):
    """Proposes nothing yet.

    Args:
      directory: `Directory` of the search.
      store: `CandidateStore` of the directory.
      functions: dict from a name to a function.
      example: `NetworkTask`, for all that tasks have in common.
      folds: int, the networks of a function or a trial in an iteration.
      limits: `Limits`.
      sampler: as in `EnsembleSearch`.
      enqueue: as in `EnsembleSearch.fit`.
    """
    self._directory = directory
    self.store = store
    self.functions = functions
    self._spaces = list_spaces(functions)
    self._example = example
    self._folds = folds
    self._limits = limits
    self.judged_by = identity.digest_json({
        name: value for name, value in example.arguments.to_json().items()
        if name != "optimizer"})
    self._sampler = sampler
    self._enqueue = enqueue or {}
    self._repeated: list[str] = []
    self._has_judged = False  # All networks.
    self._tasks: list[network_lib.NetworkTask] = []  # Of the last round.
    self._new_failures: set[str] = set()  # Trials that could not be built.
    # The last iteration of each function whose study has stopped.
    self._stops = (directory.read() or {}).get("stops", {})
    for name in self._spaces:
      self._restore(name)
    # Where nothing has trained, another function may be given. The same one
    # is proposed the same trials.
    last = {candidate.function: candidate.iteration for candidate in store
            if any(map(self._has_trained, candidate.keys()))}
    for candidate in list(store):
      if candidate.trial and candidate.function in self._spaces and (
          candidate.iteration > last.get(candidate.function, -1)):
        store.remove(candidate)
        self._stops.pop(candidate.function, None)

  def is_space(self, name: str) -> bool:
    """Returns whether a function takes a trial."""
    return name in self._spaces

  def _has_trained(self, key):
    record = self._directory.folder(key).read_record()
    return record is not None and not record.error

  def task(self, candidate: candidates_lib.SearchCandidate, fold: int = 0
          ) -> network_lib.NetworkTask:
    """Returns the task of a network."""
    return self._example._replace(
        key=candidate.key(fold), function=self.functions[candidate.function],
        hyperparameters=candidate.hyperparameters)

  def rounds(self) -> Iterator[list[network_lib.NetworkTask]]:
    """Yields all tasks of each round in which something is left to do.

    All networks of a round have ended before the next round, and an ensemble is
    selected after each. Where nothing is left, and the ensemble is of other
    candidates than `shortlist` has, the tasks of the last round are yielded.
    """
    self._warn()
    has_yielded = False
    tasks: list[network_lib.NetworkTask] = []
    for candidates, folds in self._list_rounds():
      is_new = self._begin(candidates, folds)
      # Without new trials, the ensemble is selected from the earlier ones.
      tasks = [self.task(candidate, fold)
               for candidate in candidates for fold in folds] or tasks
      if is_new:
        has_yielded, self._tasks = True, tasks
        yield tasks
    if tasks and not has_yielded and self._needs_selection():
      yield tasks

  def _list_rounds(self):
    """Yields the candidates of each round, and the folds that they train."""
    has_finals = self._limits.finalists is not None
    for iteration in range(self._limits.iterations):
      yield self._propose(iteration), range(1 if has_finals else self._folds)
    if has_finals:
      yield self.shortlist().finalists, range(1, self._folds)

  def _begin(self, candidates, folds):
    """Forgets what has failed in an earlier call.

    Returns whether a network is to train or to be judged.
    """
    is_new, is_resumed = False, False
    for candidate in candidates:
      for key in candidate.keys():
        if candidate.name not in self._new_failures:
          self._directory.folder(key).forget_failure()
      for key in map(candidate.key, folds):
        folder = self._directory.folder(key)
        is_new = is_new or folder.finished_record() is None or (
            judge_lib.needs_values(
                self._directory, candidate, self.judged_by, key))
        is_resumed = is_resumed or folder.finished_record() is None and (
            folder.read_record() is not None)
      if candidate.error:
        candidate.error = ""
        self.store.write(candidate)
    if is_resumed and self._example.callbacks is not None:
      log.warning("Resuming networks; their callbacks start fresh.")
    return is_new

  def unfinished(self, tasks: list[network_lib.NetworkTask]
                ) -> list[network_lib.NetworkTask]:
    """Returns the tasks that are to train."""
    records = [(task, self._directory.folder(task.key)) for task in tasks
               if not self.store.get(task.key.member).is_pruned]
    unfinished = [(task, folder.read_record()) for task, folder in records
                  if folder.finished_record() is None]
    failed = {task.key.member for task, record in unfinished
              if record is not None and record.error}
    return [task for task, _ in unfinished if task.key.member not in failed]

  def failed(self, tasks: list[network_lib.NetworkTask]
            ) -> list[tuple[records.NetworkKey, records.NetworkRecord]]:
    """Returns the networks that failed in this call, with their records."""
    records = [(task.key, self._directory.folder(task.key).read_record())
               for task in tasks]
    return [(key, record) for key, record in records
            if record is not None and record.error]

  def end(self, key: records.NetworkKey, record: records.NetworkRecord,
          judge: judge_lib.Judge) -> None:
    """Records that a network has ended."""
    candidate = self.store.get(key.member)
    if record.error:
      candidate.error = record.error
      candidate.values.pop(key.fold, None)
      candidate.all_values = {}
      self.store.write(candidate)
    elif judge_lib.needs_values(
        self._directory, candidate, self.judged_by, key):
      judge_lib.record_values(
          self._directory, self.store, judge, self.judged_by, key)

  def judge_all(self, judge: judge_lib.Judge) -> None:
    """Judges networks that ended in an earlier call, or have other metrics.

    At first, these are networks of all rounds, and then those of the last one.
    """
    keys = [task.key for task in self._tasks] if self._has_judged else [
        key for candidate in self.store
        if candidate.function in self.functions for key in candidate.keys()]
    self._has_judged = True
    for key in keys:
      record = self._directory.folder(key).read_record()
      if record is not None and (record.error or self._directory.folder(
          key).predicted_record() is not None):
        self.end(key, record, judge)

  def check_failures(self, tasks: list[network_lib.NetworkTask]) -> None:
    """Raises a ValueError if all candidates of the first tasks have failed."""
    failed = {key.member: record for key, record in self.failed(tasks)}
    count = len({task.key.member for task in tasks
                 if not self.store.get(task.key.member).is_pruned})
    if not failed or len(failed) < count or self.shortlist().candidates:
      return
    key = next(task.key for task in tasks if task.key.member in failed)
    reason = failed[key.member].error.rstrip(".")
    raise ValueError(
        f"{key.owner} failed: {reason}." + (
            f" All {count} networks that began have failed." if count > 1 else
            "") + (
                " Try a smaller learning rate, or look for NaN and for values "
                "that are too large in x and y." if reason.startswith(
                    ("NaN", "infinity")) else "") +
        f" fit trains {'it' if count == 1 else 'them'} again when called again."
        " Each traceback is in the network's folder in "
        f"{str(self._directory.path / 'networks')!r}.")

  def find_ended(self) -> network_lib.NetworkTask | None:
    """Returns the task of a network that has ended, or None."""
    return next((
        self.task(candidate, key.fold) for candidate in self.store
        if candidate.function in self.functions for key in candidate.keys()
        if self._directory.folder(key).predicted_record() is not None), None)

  def shortlist(self) -> judge_lib.Shortlist:
    """Returns what the ensemble is selected from."""
    return judge_lib.make_shortlist(
        self.store, self.functions, self._example.monitor, self._limits)

  def _needs_selection(self):
    """Returns whether the ensemble is of other candidates, or unfinished."""
    content, ensemble = self._directory.read(), self._directory.read_ensemble()
    if content is None or ensemble is None:
      return True
    shortlist = self.shortlist()
    # The loss may be of the user's, and only compiled models have it.
    return ensemble["is_stopped"] or "own" in content["judge"]["loss"] and (
        self._example.arguments.loss is None) or any(
            candidate.judged_by != self.judged_by
            for candidate in shortlist.candidates) or any(
                ensemble[name] != value
                for name, value in shortlist.to_json().items()
                if name != "combine") or not combining.is_unchanged(
                    self._directory, self._limits.combine)

  def _propose(self, iteration):
    """Returns the candidates of an iteration, and records new ones."""
    candidates = []
    if iteration == 2:
      self._repeated = self._find_repeated()
    for name in self.functions:
      if name not in self._spaces and (
          iteration < 2 or name not in self._repeated):
        candidate = candidates_lib.SearchCandidate(
            name, iteration, folds=self._folds)
        if candidate.name not in self.store:
          self.store.write(candidate)
        candidates.append(self.store.get(candidate.name))
    for name in self._spaces:
      trials = self._trials_of(name, iteration)
      if not self._is_proposed(name, iteration):
        self._ask(name, iteration)
      elif len(trials) != self._limits.trials and name not in self._stops:
        log.warning(
            "trials=%d: iteration %d of models[%r] has the %d trials that were "
            "proposed before.", self._limits.trials, iteration + 1, name,
            len(trials))
      candidates += [trial for trial in self._trials_of(name, iteration)
                if not trial.is_pruned]
    return candidates

  def _trials_of(self, name, iteration=None):
    """Returns the trials of a function, in an iteration or in all."""
    return [candidate for candidate in self.store
            if candidate.trial and candidate.function == name and
            iteration in (candidate.iteration, None)]

  def _is_proposed(self, name, iteration):
    trials = self._trials_of(name, iteration)
    return len(trials) == trials[0].proposed if trials else (
        self._stops.get(name, iteration + 1) <= iteration)

  def _warn(self):
    """Says which functions get no more trials, or lack in `models`."""
    iterations = self._limits.iterations
    missing = sorted({candidate.function for candidate in self.store
                      } - set(self.functions))
    if missing:
      log.warning("models lacks %s, whose networks stay in the directory, and "
                  "out of the ensemble.", messages.list_names(missing))
    for name in self._spaces:
      if self._stops.get(name, iterations) < iterations:
        self._warn_of_stop(name)
      elif all(self._is_proposed(name, i) for i in range(iterations)) and any(
          row not in [{key: trial.hyperparameters.get(key) for key in row}
                      for trial in self._trials_of(name)]
          for row in self._enqueue.get(name, ())):
        log.warning(
            "enqueue: models[%r] has the trials of all %d iterations: expected "
            "a larger number of iterations.", name, iterations)

  def _warn_of_stop(self, name):
    log.warning(
        "models[%r] gets no more trials than %d: its sampler has proposed all, "
        "or the function has called trial.study.stop().", name,
        len(self._trials_of(name)))

  def _ask(self, name, iteration):
    """Records the trials that Optuna proposes for an iteration."""
    optuna = studies.import_optuna(f"models[{name!r}]")
    trials = []  # With errors.
    with studies.quiet(optuna):
      study = studies.open_study(
          self._directory, self._example.monitor, name, iteration, [
              trial for trial in self._trials_of(name)
              if trial.iteration < iteration], self._sampler,
          self._example.seed, self._limits.finalists is not None)
      self._enqueue_trials(optuna, study, name, iteration)
      count = next((trial.proposed for trial in self._trials_of(
          name, iteration)), self._limits.trials)
      while len(trials) < count:
        if studies.has_stopped(optuna, study):
          self._stops[name] = iteration
          break
        trials.append(self._ask_once(optuna, study, name, iteration))
      waiting = studies.count_waiting(optuna, study)
      # Each file depends on the earlier ones, and a kill between two of them
      # proposes the same again.
      studies.write_study(self._directory, name, iteration, study)
    for candidate, error in trials:
      candidate.proposed = len(trials)
      if candidate.name not in self.store:
        for key in candidate.keys():  # Of a record that was damaged.
          self._directory.folder(key).forget()
        self.store.write(candidate)
        if error is not None:
          self._new_failures.add(candidate.name)
          failures.record_failure(
              self.task(candidate), self._directory.folder(candidate.key()),
              error)
    if name in self._stops:
      content = self._directory.read()
      if content is not None:
        self._directory.write({**content, "stops": self._stops})
      self._warn_of_stop(name)
    elif waiting:
      log.warning("enqueue: %d trials of models[%r] wait for the next "
                  "iteration.", waiting, name)

  def _restore(self, name):
    """Records trials that have trained and lack a record, by their study."""
    first, iteration = 0, 0
    while self._directory.study_path(name, iteration).exists():
      if not self._is_proposed(name, iteration):
        trials = studies.read_trials(
            self._directory, name, iteration)[first:]
        candidates = [candidates_lib.SearchCandidate(
            name, iteration, trial.number + 1, self._folds, len(trials),
            is_pruned=trial.state.name == "PRUNED") for trial in trials]
        if not any(self._has_trained(key) for candidate in candidates
                   for key in candidate.keys()):
          return
        for candidate, trial in zip(candidates, trials):
          if candidate.name not in self.store:
            studies.record_trial(candidate, trial)
            self.store.write(candidate)
      first += len(self._trials_of(name, iteration))
      iteration += 1

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
        _, error = self._ask_once(optuna, copy, name, iteration)
        if error is not None:
          raise error
        studies.check_enqueued(
            optuna, copy.get_trials(deepcopy=False)[row.number])
      except ValueError as error:
        raise ValueError(
            f"enqueue: {row.system_attrs['fixed_params']} of models[{name!r}]: "
            f"{error}") from error

  def _ask_once(self, optuna, study, name, iteration):
    """Returns the next trial of a study, and the error of its function."""
    trial = study.ask()
    candidate = candidates_lib.SearchCandidate(
        name, iteration, trial.number + 1, self._folds,
        code=identity.digest_code(self.functions[name]))
    key, cause = candidate.key(), None
    try:
      with seeds.seeded_thread(key.seed(self._example.seed)):
        candidate.architecture = identity.describe_model(models_lib.build_model(
            key.owner, functools.partial(self.functions[name], trial),
            self._example.arguments))
    except Exception as error:  # Of the user.  # pylint: disable=broad-except
      if studies.is_pruned(error):
        candidate.is_pruned = True
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
      else:
        cause = error
    studies.record_trial(
        candidate, study.get_trials(deepcopy=False)[trial.number])
    return candidate, cause

  def _find_repeated(self):
    """Returns the functions whose networks are the same in two iterations."""
    repeated = []
    for name in self.functions:
      if name in self._spaces:
        continue
      pairs = [[self._directory.folder(records.NetworkKey(
          iteration, fold, name, self._folds)).finished_record()
                for iteration in range(2)] for fold in range(
                    self._folds if self._limits.finalists is None else 1)]
      if all(None not in pair and pair[0].epochs == pair[1].epochs
             for pair in pairs):
        repeated.append(name)
        log.warning(
            "models[%r] makes the same network in each iteration, so no third "
            "network is trained. Leave out what fixes the seeds in the function"
            ", such as keras.utils.set_random_seed.", name)
    return repeated

  @property
  def stops(self) -> dict[str, int]:
    """The last iteration of each function whose study has stopped."""
    return self._stops


def read_study(directory: files.Directory, name: str,
               networks: Iterable[Any]) -> Any:
  """Returns the result of `EnsembleSearch.study`.

  `networks` has the `NetworkHistory`s of the search.
  """
  trials = [candidate for candidate in candidates_lib.CandidateStore(directory)
            if candidate.trial]
  spaces = list(dict.fromkeys(trial.function for trial in trials))
  if name not in spaces:
    raise ValueError(f"name={messages.describe(name)}: expected the name of a "
                     "function that takes a trial: "
                     f"{', '.join(map(repr, spaces)) or 'models has none'}.")
  is_by_fold = (directory.read() or {}).get("finalists") is not None
  of_trials: dict[int, list] = {}
  for network in networks:
    if network.function == name:
      of_trials.setdefault(network.trial, []).append(network)
  trials = [trial for trial in trials if trial.function == name]
  for candidate in trials:
    own = of_trials.get(candidate.trial)
    if own:
      candidate.attributes |= {
          "network": own[0].member,
          "seconds": sum(network.seconds for network in own),
          "parameters": sum(network.parameters for network in own)}
      if candidate.folds > 1:
        candidate.attributes["folds"] = (
            f"{1 if is_by_fold else candidate.folds} of {candidate.folds}")
  return studies.build_study(directory.monitor(), name, trials, is_by_fold)
