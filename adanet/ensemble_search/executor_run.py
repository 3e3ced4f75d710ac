# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Has the networks of a search trained by the workers of an executor."""

from collections.abc import Iterator
from concurrent import futures
import itertools
import time
from typing import Any

from adanet import forks
from adanet import log
from adanet import messages
from adanet.ensemble_search import failures
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import tasks as tasks_lib
from adanet.ensemble_search import workers

_SECS_BETWEEN_LOOKS = .5
_SILENT_SECS = 60.  # Without an epoch of any worker.
_STOP_SECS = 60.  # For workers to save and stop.


class ExecutorRun:
  """The networks of an iteration on an executor.

  A network whose worker died trains once more, after all others and alone, so
  that the next death of a worker is the network's own failure.
  """

  def __init__(self, tasks: list[tasks_lib.NetworkTask], executor: Any,
               sent: workers.SentFiles, stop: Any,
               report: network_lib.Report):
    """Submits nothing yet; see `SearchEngine` for `stop` and `report`."""
    self._task_of = {task.key: task for task in tasks}
    self._executor = executor
    self._sent = sent
    self._directory = sent.directory
    self._stop = stop
    self._report = report
    # Of networks that were out of time in an earlier call.
    self._late_records = {key: self._directory.folder(key).predicted_record()
                          for key in self._task_of}
    # Where a network ends a pool each time, the others come first.
    self._waiting = sorted(self._task_of, key=self._has_begun)
    self._suspects: list[records.NetworkKey] = []  # These train alone.
    self._alone: records.NetworkKey | None = None
    self._sent_again: set[records.NetworkKey] = set()
    # The network of each future; None for the check of a worker.
    self._running: dict[futures.Future, records.NetworkKey | None] = {
        sent.check: None}
    # Engines may know a call by its arguments: each has a new number.
    self._numbers = itertools.count()
    self._num_epochs = dict.fromkeys(self._task_of, 0)
    self._heard = time.monotonic()

  def networks(self) -> Iterator[
      tuple[records.NetworkKey, records.NetworkRecord]]:
    """Yields the networks as they end or fail."""
    try:
      while self._running or self._waiting or (
          self._suspects and not self._stop.is_set()):
        if not self._running and not self._waiting:
          self._alone = self._suspects.pop(0)
          self._waiting.append(self._alone)
        self._submit_waiting()
        for future in self._wait():
          key = self._running.pop(future)
          record = self._take(key, future)
          if key is not None and record is not None:
            yield key, record
        self._warn_of_silence()
    except BaseException:
      self._directory.stop()
      for future in self._running:
        future.cancel()
      futures.wait(self._running, _STOP_SECS)
      raise

  def _submit_waiting(self):
    while self._waiting:
      task = self._task_of[self._waiting[0]]
      try:
        future = workers.submit(
            self._executor, workers.train_network,
            self._sent.worker_task(next(self._numbers), task))
      except futures.BrokenExecutor as error:
        self._renew_executor(error)
      else:
        self._running[future] = self._waiting.pop(0)

  def _wait(self):
    """Waits a moment, and reports epochs; returns the futures that have ended.
    """
    done, _ = futures.wait(self._running, _SECS_BETWEEN_LOOKS,
                           futures.FIRST_COMPLETED)
    if self._stop.is_set():
      self._directory.stop(
          records.TIME if self._stop.is_out_of_time() else "")
    for key in filter(None, self._running.values()):
      record = self._directory.folder(key).read_record()
      if record is not None and len(record.epochs) > self._num_epochs[key]:
        self._num_epochs[key] = len(record.epochs)
        self._report(key, record)
        self._heard = time.monotonic()
    if done:
      self._heard = time.monotonic()
    # The check first: its error tells more.
    return sorted(done, key=lambda future: self._running[future] is not None)

  def _take(self, key, future):
    """Returns the record of a network that has ended, or None."""
    try:
      answer = future.result()
    except Exception as error:  # pylint: disable=broad-except
      return self._lose(key, error)
    if answer.error is not None:
      raise answer.error from RuntimeError(f"In a worker:\n{answer.traceback}")
    return answer.record

  def _lose(self, key, error):
    """Has a network trained again whose worker died.

    Returns the record of the network if this was its own failure, or None.
    """
    if key is None:  # The check would fail again.
      raise self._death(error) from error
    self._renew_executor(error, key)
    if key == self._alone:
      return failures.record_failure(
          self._task_of[key], self._directory.folder(key), error,
          before=self._late_records[key])
    if key in self._sent_again or self._has_begun(key):
      self._suspects.append(key)
    else:
      self._sent_again.add(key)
      self._waiting.append(key)
    return None

  def _renew_executor(self, error, *lost_keys):
    """Replaces a broken executor of loky; raises an error about others."""
    self._executor = forks.renew_executor(self._executor, error)
    if self._executor is None:
      raise self._death(error, *lost_keys) from error

  def _death(self, error, *lost_keys):
    """Returns an error that names the networks that were in training."""
    return workers.died(error, [
        key.name for key in filter(None, (*lost_keys, *self._running.values()))
        if self._has_begun(key) and
        self._directory.folder(key).finished_record() is None])

  def _has_begun(self, key):
    return self._directory.folder(key).read_record() is not None

  def _warn_of_silence(self):
    if time.monotonic() - self._heard > _SILENT_SECS:
      self._heard = time.monotonic()
      log.warning(
          "No worker of executor has reported an epoch for %d s. Waiting for "
          "%s.", _SILENT_SECS, messages.list_names(
              key.name for key in filter(None, self._running.values())))
