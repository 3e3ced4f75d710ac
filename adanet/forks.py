# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Executors, and forked processes, in which a started TensorFlow hangs.

The threads of TensorFlow do not survive a fork. A process that was forked
before TensorFlow has started, such as by a server of forks, can train.
"""

from concurrent import futures
import multiprocessing
import os
import sys
from typing import Any, Iterable, Optional

from adanet import messages
from adanet.tf_compat import tensorflow_internals

#: What to do about forked workers.
FIX = ("Give spawned processes, in a program with if __name__ == "
       "\"__main__\": ProcessPoolExecutor(2, "
       "multiprocessing.get_context(\"spawn\")). loky and Dask work, too.")


def is_fork() -> bool:
  """Returns whether this process was forked, by multiprocessing or otherwise.

  A server of forks is a different program, without the threads of TensorFlow.
  """
  process = multiprocessing.current_process()
  if isinstance(process, multiprocessing.get_context("forkserver").Process):
    return False
  return _IMPORTED_BY != os.getpid() or isinstance(
      process, multiprocessing.get_context("fork").Process)


_IMPORTED_BY = os.getpid()
# A pool may have forked this process before it imported adanet.
_can_train = not (is_fork() and tensorflow_internals.has_started())


def _after_fork():
  global _can_train
  if tensorflow_internals.has_started():
    _can_train = False


os.register_at_fork(after_in_child=_after_fork)


def check_process() -> None:
  """Raises a RuntimeError in a process in which TensorFlow would hang."""
  if not _can_train:
    raise RuntimeError(
        f"Process {os.getpid()} was forked from a program in which TensorFlow "
        f"had started, and TensorFlow hangs in such a process. {FIX}")


def check_executor(executor: Any) -> Any:
  """Returns the executor of an argument `executor`; Dask's for Dask's Client.

  Raises:
    TypeError: `executor` is no executor.
    ValueError: the processes of a pool cannot train.
  """
  if not isinstance(executor, type) and callable(
      getattr(executor, "get_executor", None)):
    executor = executor.get_executor()  # A Client of Dask.
  if isinstance(executor, type) or not callable(
      getattr(executor, "submit", None)):
    raise TypeError(
        f"executor={messages.describe(executor)}: expected an object with the "
        "interface of concurrent.futures.Executor, such as a "
        "ProcessPoolExecutor.")
  context = getattr(executor, "_mp_context", None)
  if context is None:
    return executor
  kind = type(executor).__name__
  if context.get_start_method() == "fork":
    raise ValueError(
        f"executor: the workers of this {kind} are forks of the program, in "
        f"which TensorFlow hangs. {FIX}")
  main = sys.modules["__main__"]
  path = getattr(main, "__file__", None)
  if path and main.__spec__ is None and not os.path.exists(path):
    raise ValueError(
        f"executor: the workers of this {kind} import the program's main "
        f"module, and {path!r} is no file. Put the program into a file.")
  return executor


def renew_executor(executor: Any, error: BaseException) -> Optional[Any]:
  """Returns an executor for further work after a worker died; None without.

  A reusable executor of loky whose worker died has to be asked for anew. Other
  executors are broken for good, or replace the worker.
  """
  if not isinstance(error, futures.BrokenExecutor):
    return executor
  kind = type(executor)
  if not hasattr(kind, "get_reusable_executor"):
    return None
  options = getattr(sys.modules[kind.__module__], "_executor_kwargs", None)
  return kind.get_reusable_executor(
      getattr(executor, "_max_workers", None), **options or {})[0]


def describe_death(error: BaseException, names: Iterable[str],
                   advice: str) -> str:
  """Returns what to say of a worker that died, and ended the executor.

  Args:
    error: Exception of the executor.
    names: names of what the workers trained.
    advice: str, how to resume.
  """
  trained = messages.list_names(names)
  when = f" while it trained {trained}" if trained else ""
  broken = (" A pool whose worker died is broken for good."
            if isinstance(error, futures.BrokenExecutor) else "")
  reason = messages.one_line(error).rstrip(".")
  return (
      f"A worker of executor died{when}: {reason}.{broken} {advice} A program "
      "whose pool spawns processes needs if __name__ == \"__main__\".")
