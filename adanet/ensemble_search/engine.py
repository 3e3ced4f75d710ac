# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who trains the networks: threads of this process, or a user's executor.

A search is a map: the engines yield each network's record when it has ended.
Each engine divides its networks among the GPUs of the process that trains them.
"""

from collections.abc import Iterator
from concurrent import futures
import dataclasses
import os
import threading
import time
from typing import Any

from adanet import log
from adanet.ensemble_search import devices
from adanet.ensemble_search import files
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import reuse
from adanet.ensemble_search import words
from adanet.ensemble_search import workers

# A dataset is read once for so many networks.
_MAX_SHARED = 16
_SECS_BETWEEN_LOOKS = .5
# Without an epoch of any worker.
_SILENT_SECS = 60.


class Stop:
  """Whether a search ends before its networks do."""

  def __init__(self, max_seconds: float | None):
    self._deadline = float("inf") if max_seconds is None else (
        time.monotonic() + max_seconds)
    self._event = threading.Event()

  def set(self) -> None:
    self._event.set()

  def is_set(self) -> bool:
    return self._event.is_set() or time.monotonic() > self._deadline


@dataclasses.dataclass
class SearchEngine:
  """Trains the networks of a search.

  Attributes:
    data: list with the `RowData` of each fold, or with `StreamData`.
    directory: of the search.
    stop: ends it.
    report: is called after each epoch.
    made: dict with networks that were made before; each is taken out.
    lent: networks that have ended, for others of their functions; None where a
      function makes one network alone.
    sent: `workers.Sent`, what workers of an executor get; None without one.
    signed: dict, as `trial.TrialResult` has it.
    has_sent_data: bool, whether workers can read the data.
  """
  data: list
  directory: files.Directory
  stop: Stop
  report: network_lib.Report
  made: dict[files.Key, network_lib.Network]
  lent: reuse.EndedNetworks | None
  sent: workers.Sent | None = None
  signed: dict = dataclasses.field(default_factory=dict)
  has_sent_data: bool = False

  def train(self, tasks: list[network_lib.NetworkTask], executor: Any
           ) -> Iterator[tuple[files.Key, files.NetworkRecord]]:
    """Yields each network that has ended; None for `executor` are threads."""
    if executor is not None:
      return self._on_executor(tasks, executor)
    return (self._in_threads if self.data[0].source is None else
            self._with_shared_data)(tasks)

  def _in_threads(self, waiting):
    """Trains networks in threads: one a core, or some for each GPU.

    Models are made and traced in this thread, just before their turn.
    """
    count = devices.networks_at_a_time() or len(os.sched_getaffinity(0))
    running = {}  # The network of each future.
    with futures.ThreadPoolExecutor(count) as pool:
      try:
        while running or waiting and not self.stop.is_set():
          while waiting and len(running) <= count and not self.stop.is_set():
            network = self._begun(waiting, running.values())
            running[pool.submit(
                network.train, self.stop.is_set, self.report)] = network
            del network
          done, _ = futures.wait(
              running, return_when=futures.FIRST_COMPLETED)
          for future in done:
            network = running.pop(future)
            record = future.result()
            if record is not None:
              yield self._ended(network, record)
            del network
          del done
      except BaseException:
        self.stop.set()  # Before the pool waits for its threads.
        raise

  def _begun(self, waiting, running):
    """Returns a network that goes on from its folder.

    Its task is taken out of `waiting`: the first one that can train on the
    device with the fewest networks.
    """
    device = devices.least_loaded(one.device for one in running)
    task = waiting.pop(next((
        i for i, one in enumerate(waiting) if one.key not in self.made or
        self.made[one.key].device == device), 0))
    data = self.data[task.key.fold]
    network = self.made.pop(task.key, None) or (
        self.lent and self.lent.borrow(
            task.key.function, task, data, device)) or (
                network_lib.Network(task, data, device))
    network.begin(self.directory.folder(task.key))
    return network

  def _ended(self, network, record):
    if self.lent is not None:
      self.lent.add(network.task.key.function, network)
    return network.task.key, record

  def _with_shared_data(self, waiting):
    """Trains networks that read a dataset together.

    Each chunk of batches goes to all networks that train, and the slowest one
    is waited for. A network begins with an epoch of the dataset.
    """
    running = []
    count = max(_MAX_SHARED, devices.networks_at_a_time())
    with futures.ThreadPoolExecutor(min(count, len(waiting) or 1)) as pool:
      of_all = lambda function, some: list(pool.map(function, some))
      try:
        while (waiting or running) and not self.stop.is_set():
          while waiting and len(running) < count:
            running.append(self._begun(waiting, running))
          some = [one for one in running if not one.record.ended]
          epoch = min((len(one.record.epochs) for one in some), default=0)
          if self.data[0].source.has_epochs:
            some = [one for one in some if len(one.record.epochs) == epoch]
          if some and self._take_epoch(some, epoch, of_all):
            self._end_epoch(some, of_all)
            for one in some:
              self.report(one.task.key, one.record)
          ended = [one for one in running if one.record.ended]
          running = [one for one in running if not one.record.ended]
          for one in ended:
            yield self._ended(one, one.finish())
          del ended
      except BaseException:
        self.stop.set()
        raise
      finally:
        if self.stop.is_set():
          of_all(network_lib.Network.save, running)

  def _take_epoch(self, networks, epoch, of_all):
    """Reads an epoch for networks; returns False if it was stopped."""
    # Steps that a network has taken before a resume are left out.
    before = {id(one): one.record.step for one in networks}
    read = 0
    for flat, rows in self.data[0].calls(epoch):
      tensors = devices.TensorsOfDevices(list, flat)

      def taken(one):
        with devices.scope(one.device):
          return one.take(tensors.here(), rows[max(
              0, before[id(one)] - read):], self.stop.is_set)

      if not all(of_all(taken, networks)):
        return False
      read += len(rows)
    return True

  def _end_epoch(self, networks, of_all):
    """Checks networks; held-out rows that are not kept are read once for all.
    """
    held_out = self.data[0].held_out
    sizes = {network.check_size for network in networks}
    if getattr(held_out, "source", None) is None or len(sizes) > 1:
      of_all(network_lib.Network.end_epoch, networks)
      return
    of_all(network_lib.Network.begin_check, networks)
    for flat, rows in held_out.calls(sizes.pop()):
      tensors = devices.TensorsOfDevices(list, flat)

      def check(network):
        with devices.scope(network.device):
          network.check(tensors.here(), rows)

      of_all(check, networks)
    of_all(network_lib.Network.end_check, networks)

  def _on_executor(self, tasks, executor):
    """Trains networks by the workers of an executor."""
    running = {}  # The key of each future; None for the first, a check.
    shown = {}  # How many epochs of each key.
    heard = time.monotonic()
    try:
      self._send_data()
      if self.sent.check is not None:
        running[self.sent.check] = None
      for number, task in enumerate(tasks):
        running[workers.submit(
            executor, workers.train_network, workers.WorkerTask(
                number, task.key, str(self.directory.path), self.sent.name,
                task.copies, self.signed[task.key.function]))] = task.key
      while running:
        done, _ = futures.wait(running, _SECS_BETWEEN_LOOKS,
                               futures.FIRST_COMPLETED)
        if self.stop.is_set():
          self.directory.stop()
        for key in filter(None, running.values()):
          record = self.directory.folder(key).running()
          if record is not None and len(record.epochs) > shown.get(key, 0):
            shown[key] = len(record.epochs)
            self.report(key, record)
            heard = time.monotonic()
        # The check first: its error tells more.
        for future in sorted(done, key=lambda done: running[done] is not None):
          key = running.pop(future)
          heard = time.monotonic()
          record = _result(key, future)
          if record is not None and key is not None:
            yield key, record
        if time.monotonic() - heard > _SILENT_SECS:
          heard = time.monotonic()
          names = [key.name for key in running.values() if key is not None]
          log.warning(
              "The workers of executor have told of no epoch for %d s. Waiting "
              "for %s%s.", _SILENT_SECS, ", ".join(names[:3]),
              f" and {len(names) - 3} more" if len(names) > 3 else "")
    except BaseException as error:
      self.directory.stop()
      for future in running:
        future.cancel()
      futures.wait(running, 60)
      if isinstance(error, futures.BrokenExecutor):  # Of submit.
        raise _died("", error) from error
      raise

  def _send_data(self):
    """Writes all arrays to a file, once for all iterations."""
    if not self.has_sent_data:
      self.has_sent_data = True
      workers.send_data(self.directory, self.data)


def _result(key, future):
  """Returns what a worker returned.

  Raises:
    RuntimeError: it died.
    ValueError: its training raised an error.
  """
  try:
    return future.result()
  except Exception as error:
    # The class of Dask, which need not be installed.
    if isinstance(error, (futures.BrokenExecutor, ConnectionError)) or (
        type(error).__name__ == "KilledWorker"):
      raise _died("" if key is None else f" while it trained {key.name}",
                  error) from error
    raise


def _died(when, error):
  """Returns the error about a worker that died."""
  return RuntimeError(
      f"A worker of executor died{when}: {words.one_line(error)} What was "
      "trained is in the directory: call fit again with another executor to go "
      "on. A program whose pool spawns processes needs if __name__ == "
      "\"__main__\".")
