# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the networks of a search: threads of this process, or an executor.

A search is a map: the engine yields the record of each network that has ended.
Networks are divided among the GPUs of the process that trains them.
"""

from collections.abc import Iterator
from concurrent import futures
import dataclasses
import os
import threading
import time
from typing import Any

from adanet import log
from adanet import messages
from adanet.ensemble_search import files
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import workers

# A dataset is read once for so many networks.
_MAX_SHARED = 16
_SECS_BETWEEN_LOOKS = .5
# Without an epoch of any worker.
_SILENT_SECS = 60.
_STOP_SECS = 60.  # For workers to save and stop.


class Stop:
  """Whether a search ends before its networks do.

  Training uses up `max_seconds`, so selecting has a tenth more.
  """

  def __init__(self, max_seconds: float | None):
    secs = float("inf") if max_seconds is None else max_seconds
    self._deadline = time.monotonic() + secs
    self._late = self._deadline + secs / 10
    self._event = threading.Event()

  def is_late(self) -> bool:
    """Returns whether to end selecting, too."""
    return time.monotonic() > self._late

  def set(self) -> None:
    self._event.set()

  def is_set(self) -> bool:
    return self._event.is_set() or time.monotonic() > self._deadline

  def is_out_of_time(self) -> bool:
    """Returns whether the search ends because of `max_seconds` alone."""
    return not self._event.is_set() and self.is_set()


@dataclasses.dataclass
class SearchEngine:
  """Trains the networks of a search.

  Attributes:
    splits: list with the `ArraySplit` of each fold, or with a `DatasetSplit`.
    directory: `Directory` of the search.
    stop: `Stop`.
    report: function to call after each epoch.
    kept: `KeptNetworks`, some of which were built ahead.
    lends: bool, whether a function makes several networks, which may borrow.
    sent: `workers.SentFiles` for an executor; None without an executor.
    parallel: int, how many networks train at a time in this process; None for
      one a core, or some for each GPU.
  """
  splits: list
  directory: files.Directory
  stop: Stop
  report: network_lib.Report
  kept: network_lib.KeptNetworks
  lends: bool
  sent: workers.SentFiles | None = None
  parallel: int | None = None

  def train(self, tasks: list[network_lib.NetworkTask], executor: Any
           ) -> Iterator[tuple[files.NetworkKey, files.NetworkRecord]]:
    """Yields the networks as they end; without an executor, threads train."""
    if executor is not None:
      return self._train_on_executor(tasks, executor)
    return (self._train_in_threads if self.splits[0].source is None else
            self._train_together)(tasks)

  def _train_in_threads(self, waiting):
    """Trains networks in threads; builds and traces models in this thread."""
    count = self.parallel or rows_lib.networks_at_a_time() or len(
        os.sched_getaffinity(0))
    # A network that is built ahead keeps no thread waiting, and takes memory.
    most = count + (self.parallel is None)
    running = {}  # The network of each future.
    with futures.ThreadPoolExecutor(count) as pool:
      try:
        while running or waiting and not self.stop.is_set():
          while waiting and len(running) < most and not self.stop.is_set():
            network = self._start_next(waiting, running.values())
            running[pool.submit(self._train_network, network)] = network
            del network
          done, _ = futures.wait(
              running, return_when=futures.FIRST_COMPLETED)
          for future in done:
            network = running.pop(future)
            record = future.result()
            if record is not None:
              yield self._end(network, record)
            del network
          del done
      except BaseException:
        self.stop.set()  # Before the pool waits for its threads.
        raise

  def _train_network(self, network):
    record = network.train(self.stop.is_set, self.report)
    return record or (
        network.finish_early() if self.stop.is_out_of_time() else None)

  def _start_next(self, waiting, running):
    """Begins or resumes the network of a task of `waiting`.

    The task is the first task for the device with the fewest networks.
    """
    device = rows_lib.least_loaded(network.device for network in running)
    task = waiting.pop(next((
        i for i, task in enumerate(waiting)
        if self.kept.may_train_on(device, task.key)), 0))
    network = self.kept.build(
        task.key.maker, task, self.splits[task.key.fold], device)
    network.begin(self.directory.folder(task.key))
    return network

  def _end(self, network, record):
    if self.lends:
      self.kept.add_ended(network.task.key.maker, network)
    return network.task.key, record

  def _train_together(self, waiting):
    """Trains networks that read a dataset together.

    Each chunk of batches goes to all networks, at the pace of the slowest. A
    network begins with an epoch of the dataset.
    """
    self._source = self.splits[0].source.begin_anew()
    running = []
    count = self.parallel or max(_MAX_SHARED, rows_lib.networks_at_a_time())
    with futures.ThreadPoolExecutor(min(count, len(waiting) or 1)) as pool:
      for_all = lambda function, networks: list(pool.map(function, networks))
      try:
        while (waiting or running) and not self.stop.is_set():
          while waiting and len(running) < count:
            running.append(self._start_next(waiting, running))
          training = [network for network in running
                      if not network.record.ended]
          epoch = min((len(network.record.epochs) for network in training),
                      default=0)
          if self._source.has_epochs:
            training = [network for network in training
                        if len(network.record.epochs) == epoch]
          if training and self._take_epoch(training, epoch, for_all):
            self._end_epoch(training, for_all)
            for network in training:
              self.report(network.task.key, network.record)
          ended = [network for network in running if network.record.ended]
          running = [network for network in running
                     if not network.record.ended]
          for network in ended:
            yield self._end(network, network.finish())
          del ended
        if self.stop.is_out_of_time():
          for_all(network_lib.Network.save, running)
          records = for_all(network_lib.Network.finish_early, running)
          networks, running = running, []
          for network, record in zip(networks, records):
            if record is not None:
              yield network.task.key, record
      except BaseException:
        self.stop.set()
        raise
      finally:
        if self.stop.is_set():
          for_all(network_lib.Network.save, running)

  def _take_epoch(self, networks, epoch, for_all):
    """Reads an epoch for networks; returns False if it was stopped."""
    # Steps that a network has taken before a resume are left out.
    before = {id(network): network.record.step for network in networks}
    read = 0
    for flat, numbers in self._source.chunks(epoch):
      tensors = rows_lib.DeviceTensors(list, flat)

      def take_steps(network):
        with rows_lib.scope(network.device):
          return network.take_steps(tensors.here(), numbers[max(
              0, before[id(network)] - read):], self.stop.is_set)

      if not all(for_all(take_steps, networks)):
        return False
      read += len(numbers)
    return True

  def _end_epoch(self, networks, for_all):
    """Checks networks; held-out rows that are not kept are read once for all.
    """
    held_out = self.splits[0].held_out
    sizes = {network.check_size for network in networks}
    if getattr(held_out, "source", None) is None or len(sizes) > 1:
      for_all(network_lib.Network.end_epoch, networks)
      return
    for_all(network_lib.Network.begin_check, networks)
    for flat, numbers in held_out.chunks(sizes.pop()):
      tensors = rows_lib.DeviceTensors(list, flat)

      def check(network):
        with rows_lib.scope(network.device):
          network.check(tensors.here(), numbers)

      for_all(check, networks)
    for_all(network_lib.Network.end_check, networks)

  def _train_on_executor(self, tasks, executor):
    """Trains networks by the workers of an executor."""
    running = {}  # The key of each future.
    num_shown = {}  # Epochs.
    heard = time.monotonic()
    try:
      self.sent.send_data(self.splits)
      running[self.sent.check] = None  # Only whether a worker can train.
      for number, task in enumerate(tasks):
        running[workers.submit(
            executor, workers.train_network, self.sent.worker_task(
                number, task))] = task.key
      while running:
        done, _ = futures.wait(running, _SECS_BETWEEN_LOOKS,
                               futures.FIRST_COMPLETED)
        if self.stop.is_set():
          self.directory.stop(
              files.TIME if self.stop.is_out_of_time() else "")
        for key in filter(None, running.values()):
          record = self.directory.folder(key).read_record()
          if record is not None and len(record.epochs) > num_shown.get(key, 0):
            num_shown[key] = len(record.epochs)
            self.report(key, record)
            heard = time.monotonic()
        # The check first: its error tells more.
        for future in sorted(done, key=lambda done: running[done] is not None):
          key = running.pop(future)
          heard = time.monotonic()
          record = _result(key, future)
          if key is not None and record is not None:
            yield key, record
        if time.monotonic() - heard > _SILENT_SECS:
          heard = time.monotonic()
          log.warning(
              "No worker of executor has reported an epoch for %d s. Waiting "
              "for %s.", _SILENT_SECS, messages.list_names(
                  key.name for key in filter(None, running.values())))
    except BaseException as error:
      self.directory.stop()
      for future in running:
        future.cancel()
      futures.wait(running, _STOP_SECS)
      if isinstance(error, futures.BrokenExecutor):  # Of submit.
        raise _worker_died(None, error) from error
      raise


def _result(key, future):
  """Returns what a worker returned.

  Raises:
    RuntimeError: the worker died.
    ValueError: the training raised an error.
  """
  try:
    return future.result()
  except Exception as error:
    # The class of Dask, which need not be installed.
    if isinstance(error, (futures.BrokenExecutor, ConnectionError)) or (
        type(error).__name__ == "KilledWorker"):
      raise _worker_died(key, error) from error
    raise


def _worker_died(key, error):
  """Returns the error about a worker that died, perhaps with a network."""
  when = "" if key is None else f" while it trained {key.name}"
  return RuntimeError(
      f"A worker of executor died{when}: {messages.one_line(error)} All "
      "training so far is in the directory: call fit again with another "
      "executor to resume. A program whose pool spawns processes needs "
      "if __name__ == \"__main__\".")
