# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The lock of a `model_dir`: only one process at a time may write there."""

import contextlib
import os
from typing import Iterator

from adanet import file_lock


@contextlib.contextmanager
def owned(model_dir: str) -> Iterator[None]:
  """Locks a `model_dir` until the end of the block; makes the folder if needed.

  The lock is `<model_dir>/cluster/lock`. The file stays, except in a new
  `model_dir` with no more files. A file system without locks gets a warning. A
  `model_dir` with a scheme, such as "gs://", is not locked.

  Raises:
    file_lock.InUseError: another process or thread owns `model_dir`.
    OSError: the file cannot be made.
  """
  if "://" in model_dir:
    yield
    return
  is_new = not os.path.exists(model_dir)
  what = f"model_dir {model_dir!r}"
  with contextlib.ExitStack() as stack:
    try:
      lock = stack.enter_context(file_lock.locked(
          os.path.join(model_dir, "cluster", "lock"), what))
    except file_lock.InUseError as e:
      raise file_lock.InUseError(
          f"{e}: wait for its end, stop it, or use another model_dir") from None
    except OSError as e:
      raise OSError(
          e.errno,
          f"{what} cannot be made or written to ({e.strerror})") from e
    try:
      yield
    finally:
      if is_new and lock.is_held:
        _remove_unused(model_dir)


def _remove_unused(model_dir):
  """Removes a model_dir with no file but the lock."""
  folder = os.path.join(model_dir, "cluster")
  with contextlib.suppress(OSError):
    if os.listdir(model_dir) == ["cluster"] and os.listdir(folder) == ["lock"]:
      os.remove(os.path.join(folder, "lock"))
      os.rmdir(folder)
      os.rmdir(model_dir)
