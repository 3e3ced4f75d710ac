# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the networks of a search: threads of this process, or an executor.

A search is a map: the engine yields the record of each network that has ended
or failed. Networks are divided among the GPUs of the process that trains them.
"""

from collections.abc import Callable, Iterator
from concurrent import futures
import dataclasses
import functools
import gc
import itertools
import os
import threading
import time
from typing import Any

from adanet import forks
from adanet import log
from adanet import messages
from adanet.ensemble_search import devices
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import workers

# A dataset is read once for so many networks.
_MAX_SHARED = 16
_SECS_BETWEEN_LOOKS = .5
# Without an epoch of any worker.
_SILENT_SECS = 60.
_STOP_SECS = 60.  # For workers to save and stop.
# The errors of Dask and Ray, which need not be installed.
_DEATHS = ("KilledWorker", "WorkerCrashedError", "NodeDiedError",
           "OutOfMemoryError")


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
    send: function that has the search sent to an executor, and returns
      `workers.SentFiles`; None without an executor.
    parallel: int, how many networks train at a time in this process; None for
      one a core, or some for each GPU.
  """
  splits: list
  directory: files.Directory
  stop: Stop
  report: network_lib.Report
  kept: kept_networks.KeptNetworks
  lends: bool
  send: Callable[[], workers.SentFiles] | None = None
  parallel: int | None = None
  _sent: workers.SentFiles | None = None

  def __post_init__(self) -> None:
    self._failed: set[records.NetworkKey] = set()  # In this call of fit.
    self._failures: list = []  # Those to yield.
    self._before: dict[records.NetworkKey, records.NetworkRecord | None] = {}

  def prepare(self) -> None:
    """Has the search sent to the workers of an executor, once."""
    if self.send is not None and self._sent is None:
      self._sent = self.send()

  def train(self, tasks: list[network_lib.NetworkTask], executor: Any
           ) -> Iterator[tuple[records.NetworkKey, records.NetworkRecord]]:
    """Yields the networks as they end; without an executor, threads train."""
    tasks = self._without_failed(tasks)
    for task in tasks:
      folder = self.directory.folder(task.key)
      self._before[task.key] = folder.predicted_record()
    if not tasks:
      return iter(())
    if executor is not None:
      return self._train_on_executor(tasks, executor)
    return (self._train_in_threads if self.splits[0].source is None else
            self._train_together)(tasks)

  def _without_failed(self, tasks):
    """Returns the tasks of members of which no network has failed."""
    members = {key.member for key in list(self._failed)}
    return [task for task in tasks if task.key.member not in members]

  def _fail(self, task, error, network=None):
    """Records why a network failed; raises an error that ends `fit`."""
    record = failures.record_failure(
        task, self.directory.folder(task.key), error, network,
        self._before[task.key])
    self._failed.add(task.key)
    self._failures.append((task.key, record))

  def _attempt(self, function, network):
    """Returns a list with the result of a function; [] if the network fails."""
    try:
      return [function(network)]
    except Exception as error:  # pylint: disable=broad-except
      self._fail(network.task, error, network)
      return []

  def _new_failures(self):
    """Yields the networks that have failed since the last call."""
    if self._failures:
      gc.collect()  # A model has cycles, and the next network needs its memory.
    while self._failures:
      yield self._failures.pop(0)

  def _train_in_threads(self, waiting):
    """Trains networks in threads; builds and traces models in this thread."""
    count = self.parallel or devices.networks_at_a_time() or len(
        os.sched_getaffinity(0))
    # A network that is built ahead keeps no thread waiting, and takes memory.
    most = count + (self.parallel is None)
    running = {}  # The network of each future.
    with futures.ThreadPoolExecutor(count) as pool:
      try:
        while running or waiting and not self.stop.is_set():
          while waiting and len(running) < most and not self.stop.is_set():
            network = self._start_next(waiting, running.values())
            if network is not None:
              running[pool.submit(
                  self._attempt, self._train_network, network)] = network
            del network
            waiting = self._without_failed(waiting)
          done, _ = futures.wait(
              running, return_when=futures.FIRST_COMPLETED)
          for future in done:
            network = running.pop(future)
            for record in filter(None, future.result()):
              yield self._end(network, record)
            del network
          del done
          yield from self._new_failures()
          waiting = self._without_failed(waiting)
      except BaseException:
        self.stop.set()  # Before the pool waits for its threads.
        raise

  def _train_network(self, network):
    record = network.train(self.stop.is_set, self.report)
    return record or (
        network.finish_early() if self.stop.is_out_of_time() else None)

  def _start_next(self, waiting, running):
    """Begins or resumes the network of a task of `waiting`; None if it fails.

    The task is the first task for the device with the fewest networks.
    """
    device = devices.least_loaded(network.device for network in running)
    task = waiting.pop(next((
        i for i, task in enumerate(waiting)
        if self.kept.may_train_on(device, task.key)), 0))
    network = None
    try:
      network = self.kept.build(
          task.key.maker, task, self.splits[task.key.fold], device)
      network.begin(self.directory.folder(task.key))
      return network
    except Exception as error:  # pylint: disable=broad-except
      self._fail(task, error, network)
      return None

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
    count = self.parallel or max(_MAX_SHARED, devices.networks_at_a_time())
    with futures.ThreadPoolExecutor(min(count, len(waiting) or 1)) as pool:

      def for_all(function, networks):
        """Returns the results for networks; those that fail leave the list."""
        results = list(pool.map(functools.partial(
            self._attempt, function), networks))
        networks[:] = [network for network, result in zip(networks, results)
                       if result]
        return [part for result in results for part in result]

      try:
        while (waiting or running) and not self.stop.is_set():
          while waiting and len(running) < count:
            network = self._start_next(waiting, running)
            if network is not None:
              running.append(network)
            del network
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
          del training
          running = [network for network in running
                     if network.task.key not in self._failed]
          ended = [network for network in running if network.record.ended]
          running = [network for network in running
                     if not network.record.ended]
          for network in ended:
            for record in self._attempt(network_lib.Network.finish, network):
              yield self._end(network, record)
          ended = network = None
          yield from self._new_failures()
          waiting = self._without_failed(waiting)
        if self.stop.is_out_of_time():
          for_all(network_lib.Network.save, running)
          records = for_all(network_lib.Network.finish_early, running)
          networks, running = running, []
          for network, record in zip(networks, records):
            if record is not None:
              yield network.task.key, record
          yield from self._new_failures()
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
      tensors = devices.DeviceTensors(list, flat)

      def take_steps(network):
        with devices.scope(network.device):
          return network.take_steps(tensors.here(), numbers[max(
              0, before[id(network)] - read):], self.stop.is_set)

      if not all(for_all(take_steps, networks)) or not networks:
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
      tensors = devices.DeviceTensors(list, flat)

      def check(network):
        with devices.scope(network.device):
          network.check(tensors.here(), numbers)

      for_all(check, networks)
    for_all(network_lib.Network.end_check, networks)

  def _train_on_executor(self, tasks, executor):
    """Trains networks by the workers of an executor.

    A network whose worker died trains once more, after all others and alone, so
    that its next death is its own failure.
    """
    task_of = {task.key: task for task in tasks}
    # Where a network ends a pool each time, the others come first.
    waiting = sorted(task_of, key=self._has_begun)
    lost, sent_again = [], set()  # Those that train alone, or did not begin.
    alone = None
    running = {}  # The key of each future.
    numbers = itertools.count()
    num_shown = {}  # Epochs.
    heard = time.monotonic()
    try:
      self._sent.send_data(self.splits)
      running[self._sent.check] = None  # Only whether a worker can train.
      while running or waiting or lost and not self.stop.is_set():
        if not running and not waiting:
          alone = lost.pop(0)
          waiting = [alone]
        while waiting:
          # Engines may know a call by its arguments: each has a new number.
          try:
            future = workers.submit(
                executor, workers.train_network, self._sent.worker_task(
                    next(numbers), task_of[waiting[0]]))
          except futures.BrokenExecutor:
            executor = forks.renew_executor(executor)
            if executor is None:
              raise
          else:
            running[future] = waiting.pop(0)
        done, _ = futures.wait(running, _SECS_BETWEEN_LOOKS,
                               futures.FIRST_COMPLETED)
        if self.stop.is_set():
          self.directory.stop(
              records.TIME if self.stop.is_out_of_time() else "")
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
          try:
            record = future.result()
          except Exception as error:
            if not _is_death(error):
              raise
            if isinstance(error, futures.BrokenExecutor):
              executor = forks.renew_executor(executor)
            if executor is None or key is None:
              raise self._worker_died(
                  (key, *running.values()), error) from error
            if key == alone:
              self._fail(task_of[key], error)
            elif key in sent_again or self._has_begun(key):
              lost.append(key)
            else:
              sent_again.add(key)
              waiting.append(key)
            record = None
          if key is not None and record is not None:
            if record.error:
              self._failed.add(key)
            yield key, record
        yield from self._new_failures()
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
        raise self._worker_died(running.values(), error) from error
      raise

  def _has_begun(self, key):
    return self.directory.folder(key).read_record() is not None

  def _worker_died(self, keys, error):
    """Returns the error about a worker that died, perhaps with a network."""
    begun = [key.name for key in filter(None, keys) if self._has_begun(key) and
             self.directory.folder(key).finished_record() is None]
    return workers.died(error, begun)


def _is_death(error):
  """Returns whether a worker died, or its engine lost what it returned."""
  return isinstance(error, (
      futures.BrokenExecutor, futures.CancelledError, ConnectionError)) or (
          type(error).__name__ in _DEATHS)
