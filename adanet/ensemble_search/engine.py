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
import os
import threading
import time
from typing import Any

from adanet.ensemble_search import devices
from adanet.ensemble_search import executor_run
from adanet.ensemble_search import failures
from adanet.ensemble_search import files
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import records
from adanet.ensemble_search import tasks as tasks_lib
from adanet.ensemble_search import workers

# A dataset is read once for so many networks.
_MAX_SHARED = 16


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
    # Of networks that were out of time in an earlier call.
    self._late_records: dict[
        records.NetworkKey, records.NetworkRecord | None] = {}

  def prepare(self) -> None:
    """Has the search sent to the workers of an executor, once."""
    if self.send is not None and self._sent is None:
      self._sent = self.send()

  def train(self, tasks: list[tasks_lib.NetworkTask], executor: Any
           ) -> Iterator[tuple[records.NetworkKey, records.NetworkRecord]]:
    """Yields the networks as they end; without an executor, threads train."""
    tasks = self._without_failed(tasks)
    if not tasks:
      return iter(())
    if executor is not None:
      return self._train_on_executor(tasks, executor)
    if self.splits[0].source is not None:
      return self._train_together(tasks)
    return self._train_in_threads(tasks)

  def _train_on_executor(self, tasks, executor):
    self._sent.send_data(self.splits)
    for key, record in executor_run.ExecutorRun(
        tasks, executor, self._sent, self.stop, self.report).networks():
      if record.error:
        self._failed.add(key)
      yield key, record

  def _without_failed(self, tasks):
    """Returns the tasks of members of which no network has failed."""
    members = {key.member for key in list(self._failed)}
    return [task for task in tasks if task.key.member not in members]

  def _fail(self, task, error, network=None):
    """Records why a network failed; raises an error that ends `fit`."""
    record = failures.record_failure(
        task.key, self.directory.folder(task.key), error, network,
        self._late_records[task.key])
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

  def _begin_next(self, waiting, running):
    """Begins or resumes a network of `waiting`; returns [] if it fails.

    The network is the first for the device with the fewest networks.
    """
    device = devices.least_loaded(network.device for network in running)
    task = next((task for task in waiting
                 if self.kept.may_train_on(device, task.key)), waiting[0])
    waiting.remove(task)
    folder = self.directory.folder(task.key)
    self._late_records[task.key] = folder.predicted_record()
    network = None
    try:
      network = self.kept.build(
          task.key.maker, task, self.splits[task.key.fold], device)
      network.start(folder)
      return [network]
    except Exception as error:  # pylint: disable=broad-except
      self._fail(task, error, network)
      return []

  def _end(self, network, record):
    if self.lends:
      self.kept.add_ended(network.task.key.maker, network)
    return network.task.key, record

  def _train_in_threads(self, waiting):
    """Trains networks in threads; builds and traces models in this thread."""
    count = self.parallel or devices.networks_at_a_time() or len(
        os.sched_getaffinity(0))
    # A network that is built ahead keeps no thread waiting, and takes memory.
    most = count + (1 if self.parallel is None else 0)
    running = {}  # The network of each future.
    with futures.ThreadPoolExecutor(count) as pool:
      try:
        while running or waiting and not self.stop.is_set():
          while waiting and len(running) < most and not self.stop.is_set():
            self._submit_next(pool, waiting, running)
            waiting = self._without_failed(waiting)
          done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
          yield from self._take_ended(done, running)
          yield from self._new_failures()
          waiting = self._without_failed(waiting)
      except BaseException:
        self.stop.set()  # Before the pool waits for its threads.
        raise

  def _submit_next(self, pool, waiting, running):
    for network in self._begin_next(waiting, running.values()):
      future = pool.submit(self._attempt, self._train_network, network)
      running[future] = network

  def _train_network(self, network):
    record = network.train(self.stop.is_set, self.report)
    return record or (
        network.finish_early() if self.stop.is_out_of_time() else None)

  def _take_ended(self, done, running):
    """Yields the networks of futures; those that were stopped have no record.
    """
    for future in done:
      network = running.pop(future)
      for record in future.result():
        if record is not None:
          yield self._end(network, record)

  def _train_together(self, waiting):
    """Trains networks that read a dataset together.

    Each chunk of batches goes to all networks, at the pace of the slowest. A
    network begins with an epoch of the dataset.
    """
    source = self.splits[0].source.begin_anew()
    running = []
    count = self.parallel or max(_MAX_SHARED, devices.networks_at_a_time())
    with futures.ThreadPoolExecutor(min(count, len(waiting))) as pool:
      for_all = functools.partial(self._for_all, pool)
      try:
        while (waiting or running) and not self.stop.is_set():
          while waiting and len(running) < count:
            running += self._begin_next(waiting, running)
          self._train_epoch(source, running, for_all)
          yield from self._finish_ended(running)
          yield from self._new_failures()
          waiting = self._without_failed(waiting)
        if running:
          for_all(network_lib.Network.save, running)
        if self.stop.is_out_of_time():
          yield from self._finish_early(running, for_all)
          yield from self._new_failures()
      except BaseException:
        self.stop.set()
        for_all(network_lib.Network.save, running)
        raise

  def _for_all(self, pool, function, networks):
    """Returns the results for networks; those that fail leave the list."""
    results = list(pool.map(functools.partial(
        self._attempt, function), networks))
    networks[:] = [network for network, result in zip(networks, results)
                   if result]
    return [value for result in results for value in result]

  def _train_epoch(self, source, running, for_all):
    """Has the networks with the fewest epochs train an epoch of a dataset."""
    training = [network for network in running if not network.record.ended]
    epoch = min((len(network.record.epochs) for network in training), default=0)
    if source.has_epochs:
      training = [network for network in training
                  if len(network.record.epochs) == epoch]
    if self._take_steps(source, epoch, training, for_all):
      self._end_epoch(training, for_all)
      for network in training:
        self.report(network.task.key, network.record)
    running[:] = [network for network in running
                  if network.task.key not in self._failed]

  def _take_steps(self, source, epoch, networks, for_all):
    """Reads an epoch for networks; returns False if no network has taken it."""
    # Steps that a network has taken before a resume are left out.
    first_steps = {id(network): network.record.step for network in networks}
    num_read = 0
    for flat, numbers in source.chunks(epoch) if networks else ():
      tensors = devices.DeviceTensors(list, flat)

      def take_steps(network):
        with devices.scope(network.device):
          return network.take_steps(tensors.here(), numbers[max(
              0, first_steps[id(network)] - num_read):], self.stop.is_set)

      if not all(for_all(take_steps, networks)) or not networks:
        return False  # After a stop.
      num_read += len(numbers)
    return bool(networks)

  def _end_epoch(self, networks, for_all):
    """Checks networks; held-out rows that are not kept are read once for all.
    """
    held_out = self.splits[0].held_out
    sizes = {network.check_size for network in networks}
    if getattr(held_out, "source", None) is None or len(sizes) > 1:
      for_all(network_lib.Network.end_epoch, networks)
      return
    for_all(network_lib.Network.start_check, networks)
    for flat, numbers in held_out.chunks(sizes.pop()):
      tensors = devices.DeviceTensors(list, flat)

      def check(network):
        with devices.scope(network.device):
          network.check(tensors.here(), numbers)

      for_all(check, networks)
    for_all(network_lib.Network.end_check, networks)

  def _finish_ended(self, running):
    """Yields the networks that have ended, which leave the list."""
    for network in list(running):
      if network.record.ended:
        running.remove(network)
        for record in self._attempt(network_lib.Network.finish, network):
          yield self._end(network, record)

  def _finish_early(self, running, for_all):
    """Yields the networks that are out of time, which leave the list."""
    networks = list(running)
    running.clear()
    for network, record in zip(networks, for_all(
        network_lib.Network.finish_early, networks)):
      if record is not None:
        yield network.task.key, record
