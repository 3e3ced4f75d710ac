# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What trains next in a search, and what has ended.

A round has the networks of an iteration, whose candidates are `proposals`. With
finalists, all candidates train their first fold, and in a last round, the best
ones train the other folds.
"""

from collections.abc import Iterator

from adanet import log
from adanet import messages
from adanet.ensemble_search import candidates as candidates_lib
from adanet.ensemble_search import combining
from adanet.ensemble_search import identity
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import proposals
from adanet.ensemble_search import records
from adanet.ensemble_search import tasks as tasks_lib


class SearchRounds:
  """The rounds of a search.

  Attributes:
    functions: dict from a name to a function.
    store: `CandidateStore` of the directory.
    judged_by: str, the loss and the metrics by which candidates have values.
  """

  def __init__(self, proposer: proposals.Proposer):
    self.store = proposer.store
    self.functions = proposer.functions
    self._proposer = proposer
    self._directory = proposer.directory
    self._training = proposer.training
    self._limits = proposer.limits
    self.judged_by = identity.digest_json({
        name: value
        for name, value in self._training.arguments.to_json().items()
        if name != "optimizer"})

  def task(self, candidate: candidates_lib.SearchCandidate, fold: int = 0
          ) -> tasks_lib.NetworkTask:
    """Returns the task of a network."""
    return tasks_lib.NetworkTask(
        candidate.key(fold), self.functions[candidate.function], self._training,
        candidate.hyperparameters)

  def known(self) -> list[candidates_lib.SearchCandidate]:
    """Returns all candidates of the functions."""
    return [candidate for candidate in self.store
            if candidate.function in self.functions]

  def rounds(self) -> Iterator[list[tasks_lib.NetworkTask]]:
    """Yields all tasks of each round in which something is left to do.

    All networks of a round have ended before the next round, and an ensemble is
    selected after each. Where nothing is left, and the ensemble is of other
    candidates than `shortlist` has, the tasks of the last round are yielded.
    """
    missing = sorted({candidate.function for candidate in self.store
                     } - set(self.functions))
    if missing:
      log.warning("models lacks %s, whose networks stay in the directory, and "
                  "out of the ensemble.", messages.list_names(missing))
    has_yielded = False
    tasks: list[tasks_lib.NetworkTask] = []
    for candidates, folds in self._list_rounds():
      # Without new trials, the ensemble is selected from the earlier ones.
      tasks = [self.task(candidate, fold)
               for candidate in candidates for fold in folds] or tasks
      if candidates and self._is_left(tasks):
        has_yielded = True
        yield tasks
    self._proposer.warn_of_enqueued()
    if tasks and not has_yielded and self._needs_selection():
      yield tasks

  def _list_rounds(self):
    """Yields the candidates of each round, and the folds that they train."""
    has_finals = self._limits.finalists is not None
    for iteration in range(self._limits.iterations):
      self._forget_failures([candidate for candidate in self.known()
                             if candidate.iteration == iteration])
      yield self._proposer.propose(iteration), range(
          1 if has_finals else self._proposer.folds)
    if has_finals:
      finalists = self.shortlist().finalists
      self._forget_failures(finalists)
      yield finalists, range(1, self._proposer.folds)

  def _forget_failures(self, candidates):
    """Forgets the networks that failed in an earlier call."""
    for candidate in candidates:
      for key in candidate.keys():
        folder = self._directory.folder(key)
        record = folder.read_record()
        if record is not None and record.error:
          folder.forget()
      if candidate.error:
        candidate.error = ""
        self.store.write(candidate)

  def _is_left(self, tasks):
    """Returns whether a network is to train or to be judged."""
    waiting = [folder for folder in self._folders(tasks)
               if folder.finished_record() is None]
    if self._training.callbacks is not None and any(
        folder.read_record() is not None for folder in waiting):
      log.warning("Resuming networks; their callbacks start fresh.")
    return bool(waiting) or any(judge_lib.needs_values(
        self._directory, self.store.get(task.key.member), self.judged_by,
        task.key) for task in tasks)

  def _folders(self, tasks):
    return [self._directory.folder(task.key) for task in tasks]

  def unfinished(self, tasks: list[tasks_lib.NetworkTask]
                ) -> list[tasks_lib.NetworkTask]:
    """Returns the tasks that are to train."""
    failed = {key.member for key, _ in self.failed(tasks)}
    return [task for task, folder in zip(tasks, self._folders(tasks))
            if task.key.member not in failed and
            not self.store.get(task.key.member).is_pruned and
            folder.finished_record() is None]

  def failed(self, tasks: list[tasks_lib.NetworkTask]
            ) -> list[tuple[records.NetworkKey, records.NetworkRecord]]:
    """Returns the networks that failed in this call, with their records."""
    networks = [(task.key, folder.read_record())
                for task, folder in zip(tasks, self._folders(tasks))]
    return [(key, record) for key, record in networks
            if record is not None and record.error]

  def end(self, key: records.NetworkKey, record: records.NetworkRecord,
          judge: judge_lib.Judge) -> None:
    """Records that a network has ended."""
    candidate = self.store.get(key.member)
    if record.error:
      if candidate.error != record.error:
        candidate.error = record.error
        candidate.values.pop(key.fold, None)
        candidate.all_values = {}
        self.store.write(candidate)
    elif judge_lib.needs_values(
        self._directory, candidate, self.judged_by, key):
      judge_lib.record_values(
          self._directory, self.store, judge, self.judged_by, key)

  def judge_all(self, judge: judge_lib.Judge) -> None:
    """Judges networks that ended unjudged, or that have other metrics."""
    for candidate in self.known():
      for key in candidate.keys():
        record = self._directory.folder(key).read_record()
        if record is not None:
          self.end(key, record, judge)

  def check_failures(self, tasks: list[tasks_lib.NetworkTask]) -> None:
    """Raises a ValueError if all candidates of the first tasks have failed."""
    failed = self.failed(tasks)
    members = {task.key.member for task in tasks
               if not self.store.get(task.key.member).is_pruned}
    if not failed or members - {key.member for key, _ in failed} or (
        self.shortlist().candidates):
      return
    key, record = failed[0]
    parts = [f"{key.owner} failed: {record.error.rstrip('.')}."]
    if len(members) > 1:
      parts.append(f"All {len(members)} networks that began have failed.")
    if record.error.startswith(("NaN", "infinity")):
      parts.append("Try a smaller learning rate, or look for NaN and for "
                   "values that are too large in x and y.")
    raise ValueError(
        f"{' '.join(parts)} fit trains {'them' if len(members) > 1 else 'it'} "
        "again when called again. Each traceback is in the network's folder in "
        f"{str(self._directory.path / 'networks')!r}.")

  def find_ended(self) -> tasks_lib.NetworkTask | None:
    """Returns the task of a network that has ended, or None."""
    return next((
        self.task(candidate, key.fold) for candidate in self.known()
        for key in candidate.keys()
        if self._directory.folder(key).predicted_record() is not None), None)

  def shortlist(self) -> judge_lib.Shortlist:
    """Returns what the ensemble is selected from."""
    return judge_lib.make_shortlist(
        self.store, self.functions, self._training.monitor, self._limits)

  def _needs_selection(self):
    """Returns whether the ensemble is of other candidates, or unfinished."""
    content, ensemble = self._directory.read(), self._directory.read_ensemble()
    if content is None or ensemble is None or ensemble["is_stopped"]:
      return True
    # The loss may be of the user's, and only compiled models have it.
    if "own" in content["judge"]["loss"] and (
        self._training.arguments.loss is None):
      return True
    shortlist = self.shortlist()
    if any(candidate.judged_by != self.judged_by
           for candidate in shortlist.candidates) or any(
               ensemble[name] != value
               for name, value in shortlist.to_json().items()
               if name != "combine"):
      return True
    return not combining.is_unchanged(self._directory, self._limits.combine)
