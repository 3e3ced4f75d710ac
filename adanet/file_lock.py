# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files for a single process at a time: a lock of the kernel (flock).

The kernel releases the lock when the process dies. The file names the owner.
"""

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
  """Another process, or another thread of the process, has the lock."""


class _Owner(NamedTuple):
  """The content of the file."""
  host: str
  pid: int
  since: str


class Lock:
  """A file that the process has locked, until `release`."""

  def __init__(self, fd: Optional[int]) -> None:
    """`fd` is None on a file system without locks."""
    self._fd = fd
    # The kernel releases the lock when its last holder ends. A child that is
    # forked without exec would be one, and may outlive this process.
    os.register_at_fork(after_in_child=self._close)

  @property
  def is_held(self) -> bool:
    """Whether this process has the lock; False in a forked child."""
    return self._fd is not None

  def _close(self):
    fd, self._fd = self._fd, None
    if fd is not None:
      os.close(fd)

  def release(self) -> None:
    """Releases the lock."""
    if self._fd is not None:
      with contextlib.suppress(OSError):
        os.ftruncate(self._fd, 0)
    self._close()


@contextlib.contextmanager
def locked(path: str, what: str) -> Iterator[Lock]:
  """Locks a file until the end of the block; makes a missing file.

  A file system without locks gets a warning, and the block runs.

  Args:
    what: str, the locked thing for messages: "directory '/searches/digits'".

  Raises:
    InUseError: another process or thread has the lock.
    OSError: the file cannot be made.
  """
  fd = _open(path)
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
      raise InUseError(f"{what} is in use by {owner}") from None
    if e.errno not in _NO_LOCKS:
      raise
    logging.warn_once(
        "Use %s in one program only. This is not checked, because its file "
        "system has no locks (%s).", what, e.strerror)
    yield Lock(None)
    return
  lock = Lock(fd)
  try:
    _write_owner(fd)
    yield lock
  finally:
    lock.release()


def _open(path):
  """Opens the file; makes a missing file and folder."""
  for _ in range(_MAX_TRIES):
    with contextlib.suppress(FileNotFoundError):  # Another has just removed it.
      os.makedirs(os.path.dirname(path), exist_ok=True)
      # Python's files are closed in programs that this one starts.
      return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
  raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _is_at(fd, path):
  """Returns whether an open file is the file at a path."""
  try:
    return os.path.samestat(os.fstat(fd), os.stat(path))
  except FileNotFoundError:
    return False


def _write_owner(fd):
  """Writes the owner into the file."""
  text = json.dumps(typed_json.to_json(_Owner, _Owner(
      socket.gethostname(), os.getpid(),
      time.strftime("%Y-%m-%d %H:%M:%S %z"))))
  with contextlib.suppress(OSError):  # The lock holds on a full disk too.
    os.ftruncate(fd, 0)
    os.pwrite(fd, text.encode("utf-8"), 0)


def _owner(fd):
  """Returns the owner of the file, for a message."""
  try:
    owner = typed_json.from_json(
        _Owner, typed_json.loads(os.pread(fd, 10000, 0).decode("utf-8")))
    return f"process {owner.pid} on host {owner.host} since {owner.since}"
  except (OSError, ValueError):  # It is being written.
    return "another process"
