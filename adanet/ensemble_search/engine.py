# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who trains the networks: threads of this process, or a user's executor.

A search is a map: the engines yield each network's record when it has ended.
Each engine divides its networks among the GPUs of the process that trains them.
"""

from collections.abc import Iterator
from concurrent import futures
import dataclasses
import functools
import os
import pickle
import threading
import time
from typing import Any

from adanet.ensemble_search import devices
from adanet.ensemble_search import files
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import reuse
from adanet.ensemble_search import words
from adanet.tf_compat import runtime

# A dataset is read once for so many networks.
_MAX_SHARED = 16
_SECS_BETWEEN_LOOKS = .5
# Of a worker of an executor.
_of_process = reuse.EndedNetworks()
_running = devices.RunningNetworks()

# The key of a network that has ended, and its record.
Ended = tuple[files.Key, files.NetworkRecord]


class Stop:
  """Whether a search ends before its networks do.

  Attributes:
    deadline: float, by `time.monotonic`; None for none.
  """

  def __init__(self, max_seconds: float | None):
    self.deadline = None if max_seconds is None else (
        time.monotonic() + max_seconds)
    self._event = threading.Event()

  def set(self) -> None:
    self._event.set()

  def is_set(self) -> bool:
    return self._event.is_set() or (
        self.deadline is not None and time.monotonic() > self.deadline)


def in_threads(tasks: list[network_lib.NetworkTask], data: list,
               directory: files.Directory, stop: Stop,
               report: network_lib.Report,
               made: dict[files.Key, network_lib.Network],
               lent: reuse.EndedNetworks | None) -> Iterator[Ended]:
  """Trains networks in threads: one a core, or some for each GPU.

  Models are made and traced in this thread, just before their turn.

  Args:
    tasks: what to train.
    data: list with the `RowData` of each fold.
    directory: of the search.
    stop: ends it.
    report: is called after each epoch.
    made: dict with networks that were made before; each is taken out.
    lent: networks that have ended, for others of their functions; None where a
      function makes one network alone.

  Yields:
    Each network that has ended.
  """
  count = devices.networks_at_a_time(
      runtime.gpu_names(), len(os.sched_getaffinity(0)))
  waiting = list(tasks)
  running: dict[futures.Future, network_lib.Network] = {}
  with futures.ThreadPoolExecutor(count) as pool:
    try:
      while waiting or running:
        while waiting and len(running) <= count and not stop.is_set():
          network, folder = _made(waiting, running.values(), data, directory,
                                  made, lent)
          running[pool.submit(network.train, folder, report, stop.is_set)] = (
              network)
          del network
        if not running:
          break
        done, _ = futures.wait(
            running, return_when=futures.FIRST_COMPLETED)
        for future in done:
          network = running.pop(future)
          record = future.result()
          if record is not None:
            key = network.task.key
            if lent is not None:
              lent.add(key.function, network)
            del network
            yield key, record
        del done
    except BaseException:
      stop.set()
      raise


def _made(waiting, running, data, directory, made, lent):
  """Returns a network that goes on from its folder, and the folder.

  Args:
    waiting: list of tasks, of which the network's is taken out: the first one
      that can train on the device with the fewest networks.
    running: the networks that train.
    data, directory, made, lent: as those of `in_threads`.
  """
  device = devices.least_loaded(
      runtime.gpu_names(), [one.device for one in running])
  task = waiting.pop(next((
      i for i, one in enumerate(waiting)
      if one.key not in made or made[one.key].device == device), 0))
  rows = data[task.key.fold]
  network = made.pop(task.key, None) or (
      lent.taken(task.key.function, task, rows, device) if lent else None) or (
          network_lib.Network(task, rows, device))
  folder = directory.folder(task.key)
  network.begin(folder)
  return network, folder


def with_shared_data(tasks: list[network_lib.NetworkTask], data: list,
                     directory: files.Directory, stop: Stop,
                     report: network_lib.Report,
                     made: dict[files.Key, network_lib.Network],
                     lent: reuse.EndedNetworks | None) -> Iterator[Ended]:
  """Trains networks that read a dataset together; see `in_threads`.

  Each chunk of batches goes to all networks that train, and the slowest one is
  waited for. A network begins with an epoch of the dataset, which has no folds.
  """
  waiting = list(tasks)
  running: list[tuple[network_lib.Network, files.Folder]] = []
  count = max(_MAX_SHARED, devices.networks_at_a_time(runtime.gpu_names(), 0))
  with futures.ThreadPoolExecutor(min(count, len(tasks) or 1)) as pool:

    def of_all(some, function, *args):
      return list(pool.map(lambda one: function(*one, *args), some))

    def taken(one, folder, tensors, rows):
      del folder  # Unused.
      with devices.scope(one.device):
        return at[id(one)].take(tensors.here(), rows, stop.is_set)

    saved = time.monotonic()
    try:
      while (waiting or running) and not stop.is_set():
        while waiting and len(running) < count:
          running.append(_made(waiting, [one for one, _ in running], data,
                               directory, made, lent))
        some = [one for one in running if not one[0].record.ended]
        epoch = min((len(one.record.epochs) for one, _ in some), default=0)
        if data[0].has_epochs:
          some = [one for one in some if len(one[0].record.epochs) == epoch]
        at = {id(one): _PlaceInEpoch(one) for one, _ in some}
        for flat, rows in data[0].calls(epoch) if some else ():
          tensors = devices.TensorsOfDevices(functools.partial(list, flat))
          if not all(of_all(some, taken, tensors, rows)):
            break
        else:
          of_all(some, lambda one, _: one.end_epoch())
          for one, _ in some:
            report(one.task.key, one.record)
        ended = [one for one in running if one[0].record.ended]
        running = [one for one in running if not one[0].record.ended]
        for one, folder in ended:
          record, key = one.finish(folder), one.task.key
          if lent is not None:
            lent.add(key.function, one)
          yield key, record
        del ended
        if time.monotonic() - saved > 10:
          of_all(running, lambda one, folder: one.save(folder))
          saved = time.monotonic()
    except BaseException:
      stop.set()
      raise
    finally:
      if stop.is_set():
        of_all(running, lambda one, folder: one.save(folder))


class _PlaceInEpoch:
  """How far a network is in an epoch of a dataset that others read, too."""

  def __init__(self, network: network_lib.Network):
    self._network = network
    self._skipped = network.step

  def take(self, flat, rows, is_stopped):
    """Takes the steps that the network has not taken before a resume."""
    skipped = min(self._skipped, len(rows))
    self._skipped -= skipped
    return self._network.take(flat, rows[skipped:], is_stopped)


def on_executor(tasks: list[network_lib.NetworkTask], data: list,
                directory: files.Directory, stop: Stop,
                report: network_lib.Report, executor: Any) -> Iterator[Ended]:
  """Trains networks by the workers of an executor; see `in_threads`.

  Args:
    tasks: what to train.
    data: list with the `RowData` of each fold, or with `StreamData`.
    directory: of the search.
    stop: ends it.
    report: is called with what a network has saved now and then.
    executor: `concurrent.futures.Executor`.

  Yields:
    Each network that has ended.

  Raises:
    ValueError: a task cannot be sent, or its training raised an error.
    RuntimeError: a worker died.
  """
  folder = os.path.join(directory.path, "data")
  saved = [one.saved(folder) for one in data]
  running: dict[Any, files.Key] = {}
  shown: dict[files.Key, int] = {}
  try:
    for number, task in enumerate(tasks):
      running[executor.submit(train_network, WorkerTask(
          number, task, saved[task.key.fold], directory.path))] = task.key
    while running:
      done, _ = futures.wait(running, _SECS_BETWEEN_LOOKS,
                             futures.FIRST_COMPLETED)
      if stop.is_set():
        directory.set_stopping(True)
      for key in running.values():
        record = directory.folder(key).running()
        if record is not None and len(record.epochs) > shown.get(key, 0):
          shown[key] = len(record.epochs)
          report(key, record)
      for future in done:
        key = running.pop(future)
        record = _result(key, future)
        if record is not None:
          yield key, record
  except BaseException:
    directory.set_stopping(True)
    for future in running:
      future.cancel()
    futures.wait(running, 60)
    raise


@dataclasses.dataclass
class WorkerTask:
  """What a worker of an executor gets.

  Attributes:
    number: int, which of the tasks this is: workers that see the same GPUs
      begin with different ones.
    task: what to train.
    data: as `RowData.saved` or `StreamData.saved` returned it.
    directory: str, the folder of the search.
  """
  number: int
  task: network_lib.NetworkTask
  data: Any
  directory: str

  def __reduce__(self):
    # The attributes are read afterwards: an optimizer makes its variables then,
    # for which TensorFlow initializes the GPUs.
    return _worker_task, (), self.__dict__


def _worker_task():
  runtime.grow_gpu_memory()
  return WorkerTask.__new__(WorkerTask)


def train_network(given: WorkerTask) -> files.NetworkRecord | None:
  """Trains a network in a worker of an executor; returns its record.

  Args:
    given: what to train.

  Returns:
    The record; None if the search was stopped.
  """
  task = given.task
  task.settings.set()
  directory = files.Directory(given.directory)
  folder = directory.folder(task.key)
  found = folder.record()
  if found is not None:
    return found
  if directory.is_stopping():
    return None
  rows = given.data.loaded()
  key = (given.directory, task.key.function, task.settings)
  with _running.one_more(given.number) as device:
    network = _of_process.taken(key, task, rows, device) or (
        network_lib.Network(task, rows, device))
    network.begin(folder)
    record = network.train(folder, is_stopped=directory.is_stopping)
  if record is not None and (task.key.folds > 1 or task.key.iteration):
    _of_process.add(key, network)
  return record


def _result(key, future):
  try:
    return future.result()
  except (futures.BrokenExecutor, ConnectionError) as error:
    raise RuntimeError(
        f"A worker of executor died while it trained {key.name}: "
        f"{words.one_line(error)} What was trained is in the directory: call "
        "fit again with another executor to go on.") from error
  except (pickle.PicklingError, AttributeError, TypeError,
          ImportError) as error:
    if "pickle" not in str(error).lower():
      raise
    raise ValueError(
        f"models[{key.function!r}] cannot be sent to a worker: "
        f"{words.one_line(error)} Define the function at the top of a module, "
        "or use an executor that sends any function, such as Dask's."
    ) from error
