# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who owns a `model_dir`: one process at a time may write to it."""

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from typing import Iterator, NamedTuple, Optional

from adanet import log as logging
from adanet import typed_json

# Errors of the kernel where a file system has no locks.
_NO_LOCKS = frozenset([
    errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP])
_MAX_TRIES = 100
_IN_USE = frozenset([errno.EACCES, errno.EAGAIN])


class InUseError(RuntimeError):
  """Somebody else owns the `model_dir`."""


class _Owner(NamedTuple):
  """The content of the file."""
  host: str
  pid: int
  since: str


class _Lock:
  """An open file that this process has locked, until `release`."""

  def __init__(self, fd: int) -> None:
    self._fd: Optional[int] = fd
    # The kernel releases the lock when its last holder ends. A child that is
    # forked without exec would be one, and may outlive this process.
    os.register_at_fork(after_in_child=self._close)

  def _close(self):
    fd, self._fd = self._fd, None
    if fd is not None:
      os.close(fd)

  def release(self, new_model_dir):
    if self._fd is not None:
      if new_model_dir is not None:
        _remove_unused(new_model_dir)
      with contextlib.suppress(OSError):
        os.ftruncate(self._fd, 0)
    self._close()


@contextlib.contextmanager
def owned(model_dir: str) -> Iterator[None]:
  """Owns a `model_dir`, and makes it if need be, until the end of the block.

  The lock is `<model_dir>/cluster/lock`. It is the kernel's (flock), which
  releases it when the process dies. The file says who has it. It stays, but in
  a new `model_dir` to which nothing else was written. A file system without
  locks gets a warning, and a `model_dir` with a scheme, such as "gs://", none.

  Raises:
    InUseError: another process, or another thread of this one, owns it.
    OSError: the file cannot be made.
  """
  if "://" in model_dir:
    yield
    return
  path = os.path.join(model_dir, "cluster", "lock")
  is_new = not os.path.exists(model_dir)
  try:
    fd = _open(path)
  except OSError as e:
    raise OSError(e.errno, f"model_dir {model_dir!r} cannot be made or written "
                  f"to ({e.strerror})") from e
  try:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    while not _is_at(fd, path):  # Its last owner has removed it meanwhile.
      os.close(fd)
      fd = _open(path)
      fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except OSError as e:
    owner = _owner(fd)
    os.close(fd)
    if e.errno in _IN_USE:
      raise InUseError(
          f"model_dir {model_dir!r} is in use by {owner}: wait for its end, "
          "stop it, or use another model_dir") from None
    if e.errno not in _NO_LOCKS:
      raise
    logging.warn_once(
        "Use model_dir %r in one job only. This is not checked, because its "
        "file system has no locks (%s).", model_dir, e.strerror)
    yield
    return
  lock = _Lock(fd)
  try:
    _write_owner(fd)
    yield
  finally:
    lock.release(model_dir if is_new else None)


def _open(path):
  """Opens the file, and makes it and its folder if need be."""
  for _ in range(_MAX_TRIES):
    with contextlib.suppress(FileNotFoundError):  # Another has just removed it.
      os.makedirs(os.path.dirname(path), exist_ok=True)
      # Python's files are closed in programs that this one starts.
      return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
  raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _is_at(fd, path):
  """Returns whether an open file is the one that a path leads to."""
  try:
    return os.path.samestat(os.fstat(fd), os.stat(path))
  except FileNotFoundError:
    return False


def _remove_unused(model_dir):
  """Removes a model_dir in which there is nothing but the lock."""
  folder = os.path.join(model_dir, "cluster")
  with contextlib.suppress(OSError):
    if os.listdir(model_dir) == ["cluster"] and os.listdir(folder) == ["lock"]:
      os.remove(os.path.join(folder, "lock"))
      os.rmdir(folder)
      os.rmdir(model_dir)


def _write_owner(fd):
  """Says in the file who owns it."""
  text = json.dumps(typed_json.to_json(_Owner, _Owner(
      socket.gethostname(), os.getpid(),
      time.strftime("%Y-%m-%d %H:%M:%S %z"))))
  with contextlib.suppress(OSError):  # The lock holds on a full disk too.
    os.ftruncate(fd, 0)
    os.pwrite(fd, text.encode("utf-8"), 0)


def _owner(fd):
  """Returns who owns the file, for a message."""
  try:
    owner = typed_json.from_json(
        _Owner, typed_json.loads(os.pread(fd, 10000, 0).decode("utf-8")))
    return f"process {owner.pid} on host {owner.host} since {owner.since}"
  except (OSError, ValueError):  # It is being written.
    return "another process"
