# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The records of a search in the model_dir.

    <model_dir>/history/
      iteration-<t>.json             the result of iteration t, from the chief
      iteration-<t>/<task>.json      the work of a task, such as worker-1
      evaluation-<t>[-<name>].json   the last evaluation in iteration t
      undecided.json                 the best ensemble, if training ended before
                                     the iteration had a winner
      end.json                       the reason for the end of training
"""

import os
import re
from typing import Any, Callable, List, Optional

from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.console import wording
from adanet.core import architecture as architecture_lib
from adanet.history import history as history_lib
from adanet.history import records
from adanet.tf_compat import files

_ITERATION = re.compile(r"iteration-(\d{1,18})$")
_ITERATION_FILE = re.compile(r"iteration-(\d{1,18})\.json$")
_ARCHITECTURE_FILE = re.compile(r"architecture-(\d{1,18})\.json$")
_TASK_FILE = re.compile(r"(\w+)-(\d{1,18})\.json$")
_EVALUATION_FILE = re.compile(r"evaluation-(\d{1,18})(-.*)?\.json$")
# The order of the kinds of tasks.
_KINDS = ("chief", "master", "worker", "ps", "evaluator")


def _is_local(path):
  """Whether Python can read a path without importing TensorFlow."""
  return "://" not in path


def _names(folder):
  """Returns the names in a folder; no names if the folder does not exist."""
  if _is_local(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
  return files.names(folder)


def _text(path):
  """Returns the text of a file; None if the file does not exist."""
  if not _is_local(path):
    return files.read_text(path)
  try:
    with open(path, encoding="utf-8", errors="replace") as f:
      return f.read()
  except FileNotFoundError:
    return None


def _numbered(pattern, folder):
  """Returns list of (number, name) of files in a folder, sorted by number."""
  matches = [pattern.match(name) for name in _names(folder)]
  return sorted((int(m.group(1)), m.group()) for m in matches if m)


def _task_key(record):
  kind, _, index = record.task.partition(":")
  known = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
  return record.iteration, known, kind, int(index or 0)


def _of_architecture(iteration, architecture):
  """Returns the record of an iteration from the architecture."""
  # A previous ensemble that wins again keeps the earlier name.
  number = max([t for t, _ in architecture.subnetworks], default=iteration)
  name = "t{}_{}_{}".format(
      number, architecture.ensemble_candidate_name, architecture.ensembler_name)
  subnetworks = tuple(
      f"t{t}_{builder}" for t, builder in architecture.subnetworks)
  return records.IterationRecord(
      iteration,
      (records.CandidateRecord(
          name, None, subnetworks, (None,) * len(subnetworks)),),
      name, reason="only its architecture is known",
      global_step=architecture.global_step)


def _evaluated(evaluation, iterations):
  """Returns the iteration that trained the evaluated ensemble.

  The first checkpoint of an iteration has the ensemble of the previous
  iteration, at the same global step.
  """
  return next(
      (record.iteration for record in iterations
       if (record.global_step or 0) >= evaluation.global_step),
      evaluation.iteration)


def _log(message):
  logging.warning("%s", message)


def _warn(problems, warn):
  if problems:
    # Paths and texts of files may contain escape sequences.
    first = wording.printable(problems[0])
    warn("{} of the files about this search cannot be read, and {} left out: {}"
         .format(len(problems), "is" if len(problems) == 1 else "are",
                 first if len(problems) == 1 else "the first is " + first))


def _write_or_remove(path, record):
  """Writes a record; removes the file for None."""
  if record is not None:
    files.write_text(path, records.dumps(record))
  elif tf_compat.v1.io.gfile.exists(path):
    tf_compat.v1.io.gfile.remove(path)


class Store:
  """The records in a model_dir. The constructor reads and writes nothing."""

  def __init__(self, model_dir: str):
    """Makes a store.

    Args:
      model_dir: str, a path on any file system of TensorFlow.
    """
    self._model_dir = os.fspath(model_dir)
    self._folder = os.path.join(self._model_dir, "history")

  def _path(self, name):
    return os.path.join(self._folder, name + ".json")

  def _task_path(self, task, iteration):
    return self._path(f"iteration-{iteration}/{task.replace(':', '-')}")

  def write_iteration(self, record: records.IterationRecord) -> None:
    """Atomically writes the result of an iteration."""
    files.write_text(
        self._path(f"iteration-{record.iteration}"), records.dumps(record))

  def write_undecided(
      self, record: Optional[records.UndecidedRecord]) -> None:
    """Writes the best ensemble of an iteration without a winner.

    Args:
      record: `UndecidedRecord`; None while training continues.
    """
    _write_or_remove(self._path("undecided"), record)

  def write_end(self, record: Optional[records.EndRecord]) -> None:
    """Writes the reason for the end of training.

    Args:
      record: `EndRecord`; None while training continues.
    """
    _write_or_remove(self._path("end"), record)

  def end(self) -> Optional[records.EndRecord]:
    """Returns the end of training; None if unknown or unreadable."""
    return self._record(records.EndRecord, self._path("end"), [])

  def _evaluation_path(self, iteration, name):
    ending = "-" + re.sub(r"[^\w.-]", "_", name) if name else ""
    return self._path(f"evaluation-{iteration}{ending}")

  def write_evaluation(self, record: records.EvaluationRecord) -> None:
    """Writes an evaluation, unless a later step was already evaluated."""
    before = self.evaluation(record.iteration, record.name)
    if before is None or before.global_step <= record.global_step:
      files.write_text(self._evaluation_path(record.iteration, record.name),
                       records.dumps(record))

  def write_task(self, record: records.TaskRecord) -> None:
    """Atomically writes all work of a task for an iteration.

    Args:
      record: `TaskRecord` that includes the work of earlier processes; see
        `task` and `records.added`.
    """
    files.write_text(
        self._task_path(record.task, record.iteration), records.dumps(record))

  def iteration(self, iteration: int) -> Optional[records.IterationRecord]:
    """Returns the result of an iteration; None if unknown or unreadable."""
    return self._record(
        records.IterationRecord, self._path(f"iteration-{iteration}"), [])

  def evaluation(self, iteration: int, name: str
                ) -> Optional[records.EvaluationRecord]:
    """Returns the last evaluation of an iteration; None if unknown.

    Args:
      name: str, the name of the evaluation, or "".
    """
    return self._record(records.EvaluationRecord,
                        self._evaluation_path(iteration, name), [])

  def task(self, task: str, iteration: int) -> Optional[records.TaskRecord]:
    """Returns the work of a task for an iteration so far.

    None if the record does not exist or cannot be read.
    """
    problems: List[str] = []
    record = self._record(
        records.TaskRecord, self._task_path(task, iteration), problems)
    _warn(problems, _log)
    return record

  def read(self, warn: Callable[[str], Any] = _log) -> history_lib.History:
    """Returns the history of the search so far.

    A single warning reports skipped records that cannot be read. An iteration
    without a record, as in a model_dir of AdaNet, is read from the architecture
    file.
    """
    path = self._model_dir
    if not (os.path.isdir(path) if _is_local(path)
            else tf_compat.v1.io.gfile.isdir(path)):
      raise ValueError(f"model_dir={path!r}: expected a folder.")
    problems: List[str] = []
    iterations = {}
    for number, name in _numbered(_ARCHITECTURE_FILE, self._model_dir):
      architecture = self._read(
          os.path.join(self._model_dir, name), problems,
          architecture_lib.Architecture.from_json)
      if architecture is not None:
        iterations[number] = _of_architecture(number, architecture)
    for number, name in _numbered(_ITERATION_FILE, self._folder):
      record = self._record(
          records.IterationRecord, os.path.join(self._folder, name), problems)
      if record is not None:
        iterations[number] = record._replace(iteration=number)
    tasks = sorted(self._read_tasks(problems), key=_task_key)
    iteration_records = [
        records.with_tasks(record, [
            task for task in tasks if task.iteration == number])
        for number, record in sorted(iterations.items())]
    evaluations = self._read_evaluations(iteration_records, problems)
    undecided = self._record(
        records.UndecidedRecord, self._path("undecided"), problems)
    end = self._record(records.EndRecord, self._path("end"), problems)
    _warn(problems, warn)
    return history_lib.History(
        self._model_dir, tuple(iteration_records), tuple(tasks), evaluations,
        undecided, end)

  def _read_evaluations(self, iterations, problems):
    """Returns the last evaluation of each iteration and name."""
    last = {}
    for _, name in _numbered(_EVALUATION_FILE, self._folder):
      record = self._record(
          records.EvaluationRecord, os.path.join(self._folder, name), problems)
      if record is None:
        continue
      record = record._replace(iteration=_evaluated(record, iterations))
      key = record.iteration, record.name
      if key not in last or last[key].global_step <= record.global_step:
        last[key] = record
    return tuple(sorted(
        last.values(), key=lambda record: (record.global_step, record.name)))

  def _read_tasks(self, problems: List[str]) -> List[records.TaskRecord]:
    tasks = []
    for number, folder in _numbered(_ITERATION, self._folder):
      folder = os.path.join(self._folder, folder)
      for name in _names(folder):
        match = _TASK_FILE.match(name)
        record = match and self._record(
            records.TaskRecord, os.path.join(folder, name), problems)
        if match and record:
          tasks.append(record._replace(
              task=":".join(match.groups()), iteration=number))
    return tasks

  def _record(self, kind, path, problems):
    """Returns the record of a kind in a file. See `_read`."""
    return self._read(path, problems, lambda text, _: records.loads(kind, text))

  def _read(self, path: str, problems: List[str],
            parse: Callable[[str, str], Any]) -> Optional[Any]:
    """Returns the value of a file; on an error, adds a problem."""
    try:
      text = _text(path)
      return None if text is None else parse(text, path)
    except (OSError, ValueError) as e:
      problems.append(f"{path}: {messages.one_line(e)}")
    return None


def report(model_dir: str) -> history_lib.History:
  """Returns the history of a search: the iterations and the work of each task.

  This function reads only small files, also during the search. On a local file
  system, the function does not import TensorFlow. For example::

      print(adanet.report("digits"))
      adanet.report("digits").picture("search.svg")

  Args:
    model_dir: str, the `model_dir` of an `adanet.Estimator` or of AdaNet.

  Returns:
    An `adanet.history.history.History`.

  Raises:
    ValueError: the folder `model_dir` does not exist.
  """
  return Store(model_dir).read()
