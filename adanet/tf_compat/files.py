# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes files whole or not at all, on every file system."""

import contextlib
import json
import os
import time
import uuid
from typing import Any, Iterator, List, Optional, Type, TypeVar

from adanet import typed_json
from adanet.tf_compat import _tensorflow

_T = TypeVar("_T")

_TEMPORARY = ".adanet-tmp-"
_REMOVALS = 50  # How often to try it, within 5 s.
_READS = 10  # Within 1 s.

# A pattern for the files that a process that died left behind.
TEMPORARY_PATTERN = "*" + _TEMPORARY + "*"


def real_path(path: str) -> str:
  """Returns the absolute path of a file, without symbolic links.

  A path with a scheme, such as "gs://", is returned unchanged.
  """
  return path if "://" in path else os.path.realpath(path)


@contextlib.contextmanager
def written_whole(path: str) -> Iterator[str]:
  """Writes a file whole or not at all.

  Args:
    path: str, the file. A missing folder is made.

  Yields:
    The path to write to, in the same folder. The file becomes `path` at the
    end, unless an error occurs.
  """
  gfile = _tensorflow.v1.io.gfile
  gfile.makedirs(os.path.dirname(path))
  temporary = path + _TEMPORARY + uuid.uuid4().hex
  try:
    yield temporary
    gfile.rename(temporary, path, overwrite=True)
  except BaseException:
    if gfile.exists(temporary):
      gfile.remove(temporary)
    raise


def is_disk_full(error: BaseException) -> bool:
  """Returns whether an error is about a full disk.

  Ops, summaries and Python raise errors of different types.
  """
  text = str(error)
  return "No space left on device" in text or "Disk quota exceeded" in text


def write_bytes(path: str, content: bytes) -> None:
  """Writes a file whole or not at all. Makes a missing folder."""
  with written_whole(path) as temporary:
    with _tensorflow.v1.io.gfile.GFile(temporary, "wb") as f:
      f.write(content)


def write_text(path: str, text: str) -> None:
  """Writes a text file; see `write_bytes`."""
  write_bytes(path, text.encode())


def read_text(path: str) -> Optional[str]:
  """Returns the text of a file; None if the file does not exist."""
  errors = _tensorflow.v1.errors
  for tries_left in reversed(range(_READS)):
    try:
      with _tensorflow.v1.io.gfile.GFile(path, "rb") as f:
        return f.read().decode("utf-8", "replace")
    except errors.NotFoundError:
      return None
    except (errors.AbortedError, errors.UnavailableError, errors.UnknownError):
      # On a network's file system, another task may have replaced it just now.
      if not tries_left:
        raise
    time.sleep(.1)
  return None


def write_json(path: str, kind: Any, value: Any) -> None:
  """Writes a value of a type as JSON; see `typed_json` and `write_bytes`."""
  write_text(path, json.dumps(typed_json.to_json(kind, value)))


def read_json(path: str, kind: Type[_T],
              skips_unknown: bool = False) -> Optional[_T]:
  """Returns a value of `write_json`; see `typed_json.from_json`.

  None if the file does not exist, or the value has another type.
  """
  text = read_text(path)
  try:
    return typed_json.from_json(
        kind, typed_json.loads(text or ""), skips_unknown)
  except ValueError:
    return None


def names(folder: str) -> List[str]:
  """Returns the sorted names in a folder; none if the folder is missing."""
  gfile = _tensorflow.v1.io.gfile
  if not gfile.isdir(folder):
    return []
  # Some file systems end the names of folders with a slash.
  return sorted(name.rstrip("/") for name in gfile.listdir(folder))


def remove_folder(folder: str) -> None:
  """Removes a folder, in which another task may write or remove files, too."""
  gfile = _tensorflow.v1.io.gfile
  for tries_left in reversed(range(_REMOVALS)):
    if not gfile.isdir(folder):
      return
    try:
      return gfile.rmtree(folder)
    except _tensorflow.v1.errors.OpError:
      if not tries_left:
        raise
      time.sleep(.1)
