# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Executors of several processes, for tests.

Each is a context manager that ends its processes. Processes that still work are
killed, after an error at once (Dask: after some seconds).
They listen on loopback only.

The main module of a program that uses them is imported in each process too, so
it needs an `if __name__ == "__main__"`.
"""

import contextlib
import logging
import multiprocessing
import tempfile
import threading
import time
from typing import Any, Iterator
import unittest
from concurrent import futures

from adanet.launch import processes

_END_SECS = 10.
_POLL_SECS = .01


class Here(futures.Executor):
  """Runs each task at once, in this process."""

  def submit(self, fn, *args, **kwargs):  # pylint: disable=arguments-differ
    future: futures.Future = futures.Future()
    try:
      future.set_result(fn(*args, **kwargs))
    except Exception as error:  # pylint: disable=broad-except
      future.set_exception(error)
    return future


@contextlib.contextmanager
def _killing_processes() -> Iterator[None]:
  """Kills the processes of multiprocessing that its block leaves.

  Raises:
    TimeoutError: a process survives its kill.
  """
  before = set(multiprocessing.active_children())
  try:
    yield
  finally:
    left = set(multiprocessing.active_children()) - before
    for process in left:
      process.kill()
    end = time.monotonic() + _END_SECS
    # Not `join`: it returns early if a thread of the executor joins too.
    while left & set(multiprocessing.active_children()):
      if time.monotonic() > end:
        raise TimeoutError(f"still there {_END_SECS:g} s after a kill: {left}")
      time.sleep(_POLL_SECS)


@contextlib.contextmanager
def process_pool(workers: int) -> Iterator[futures.Executor]:
  """Yields a pool of processes of this machine."""
  # A "fork" would not work after TensorFlow has started threads.
  context = multiprocessing.get_context("spawn")
  with _killing_processes():
    pool = futures.ProcessPoolExecutor(
        workers, mp_context=context, initializer=processes.end_with_program)
    secs = 0.
    try:
      yield pool
      secs = _END_SECS
    finally:
      # It waits for the tasks, so it ends with the processes at the latest.
      shutdown = threading.Thread(target=pool.shutdown, daemon=True)
      shutdown.start()
      shutdown.join(secs)


def require_dask() -> Any:
  """Returns Dask's module `distributed`.

  Raises:
    unittest.SkipTest: it is not there.
  """
  try:
    import distributed  # pylint: disable=g-import-not-at-top
  except ImportError as e:
    raise unittest.SkipTest(
        "Dask is here only with the default version of TensorFlow.") from e
  return distributed


@contextlib.contextmanager
def _errors_only(logger: logging.Logger) -> Iterator[None]:
  """Keeps a logger quiet in its block: a log of absl's shows every level."""
  level = logger.level
  logger.setLevel(logging.ERROR)
  try:
    yield
  finally:
    logger.setLevel(level)


@contextlib.contextmanager
def dask_client(workers: int) -> Iterator[Any]:
  """Yields a `distributed.Client` of a Dask cluster on this machine.

  Its attribute `cluster` is the `LocalCluster`.

  Raises:
    unittest.SkipTest: Dask is not there.
  """
  distributed = require_dask()
  with contextlib.ExitStack() as stack:
    stack.enter_context(_killing_processes())
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    stack.enter_context(_errors_only(logging.getLogger("distributed")))
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0", local_directory=folder,
        # TensorFlow alone takes 800 MB: a limit would end workers.
        memory_limit=0, silence_logs=logging.ERROR)
    try:
      with distributed.Client(cluster) as client:
        yield client
    finally:
      with contextlib.suppress(TimeoutError):
        cluster.close(timeout=_END_SECS)


@contextlib.contextmanager
def dask_cluster(workers: int) -> Iterator[futures.Executor]:
  """Yields the executor of a Dask cluster on this machine; see `dask_client`."""
  with dask_client(workers) as client:
    yield client.get_executor(pure=False)
