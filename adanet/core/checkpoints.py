# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads TensorFlow's checkpoints, with one clear line for a broken one."""

import os
import re
from typing import Any, Dict, Iterable, Optional

from adanet import tf_compat

_RESTORE = ("Restore it from a copy, delete it and name an older one in the "
            "file 'checkpoint', or train in an empty model_dir.")


class CheckpointError(ValueError):
  """A checkpoint is not complete, or is not one of this search."""


def _error(checkpoint, problem):
  return CheckpointError(
      "{}: {}. Expected a complete checkpoint of AdaNet. {}".format(
          checkpoint, " ".join(str(problem).split()).rstrip("."), _RESTORE))


def latest(folder: str) -> Optional[str]:
  """Returns the prefix of the latest checkpoint of a folder, or None.

  The file "checkpoint" says which one it is. If the folder has been moved since
  that was written, the checkpoint of the same name in it counts.

  Args:
    folder: str.

  Raises:
    CheckpointError: there is no such checkpoint.
  """
  v1 = tf_compat.v1
  path = os.path.join(folder, "checkpoint")
  if not v1.io.gfile.exists(path):
    return None
  try:
    state = v1.train.get_checkpoint_state(folder)
  except ValueError:
    state = None
  if state is None:
    raise _error(path, "it names no checkpoint")
  named = state.model_checkpoint_path
  for path in (named, os.path.join(folder, os.path.basename(named))):
    if v1.io.gfile.exists(path + ".index"):
      return path
  raise _error(named, "the file 'checkpoint' names it, but it is not there")


def _reader_errors():
  # TensorFlow 2's reader raises IndexError where 1.15's raises OutOfRangeError,
  # and RuntimeError for what it does not know.
  return (tf_compat.v1.errors.OpError, IndexError, RuntimeError, ValueError)


def _reader(checkpoint):
  try:
    return tf_compat.v1.train.NewCheckpointReader(checkpoint)
  except _reader_errors() as e:
    raise _error(checkpoint, e) from e


def _tensor(reader, checkpoint, name):
  try:
    return reader.get_tensor(name)
  except _reader_errors() as e:
    raise _error(checkpoint, "{!r} cannot be read: {}".format(name, e)) from e


def values(checkpoint: str, names: Iterable[str]) -> Dict[str, Any]:
  """Returns the values of variables of a checkpoint, as NumPy has them.

  Args:
    checkpoint: str, its prefix.
    names: the names of the variables.

  Raises:
    CheckpointError: the checkpoint cannot be read, or lacks a variable.
  """
  reader = _reader(checkpoint)
  found = {}
  for name in names:
    if not reader.has_tensor(name):
      raise _error(checkpoint, "it has no variable {!r}".format(name))
    found[name] = _tensor(reader, checkpoint, name)
  return found


def integers(checkpoint: str, pattern: str) -> Dict[str, int]:
  """Returns the values of some integer variables of shape [].

  Args:
    checkpoint: str, its prefix.
    pattern: str, what the names match as a whole, with one group.

  Returns:
    Dict from what the group matches to an int.

  Raises:
    CheckpointError: the checkpoint cannot be read.
  """
  found = {
      name: re.match(pattern + r"\Z", name) for name, shape in
      _reader(checkpoint).get_variable_to_shape_map().items() if not shape}
  names = {name: match.group(1) for name, match in found.items() if match}
  return {names[name]: int(value)
          for name, value in values(checkpoint, names).items()}


def integer(checkpoint: Optional[str], name: str) -> int:
  """Returns the value of an integer variable of a checkpoint.

  Args:
    checkpoint: str, its prefix, or None.
    name: str, the name of the variable.

  Returns:
    An int; 0 if there is no checkpoint.

  Raises:
    CheckpointError: the checkpoint cannot be read, or has no such variable.
  """
  return 0 if checkpoint is None else int(values(checkpoint, [name])[name])


def _varint_size(number):
  return max(1, (number.bit_length() + 6) // 7)


def _stored_size(reader, checkpoint, name, shape, dtype):
  """Returns how many bytes a tensor takes in the data of a checkpoint."""
  if dtype != tf_compat.v1.string:
    size = dtype.size
    for dimension in shape:
      size *= dimension
    return size
  # The length of each string, a checksum of the lengths, and the strings.
  strings = _tensor(reader, checkpoint, name)
  lengths = [len(s) for s in (
      [strings] if isinstance(strings, bytes) else strings.ravel().tolist())]
  return 4 + sum(n + _varint_size(n) for n in lengths)


def check_readable(checkpoint: str) -> None:
  """Checks that a checkpoint has all the data that its index says.

  Nothing but strings is read, so this is fast for a large checkpoint too.

  Args:
    checkpoint: str, its prefix.

  Raises:
    CheckpointError: it has not.
  """
  gfile = tf_compat.v1.io.gfile
  reader = _reader(checkpoint)
  shards = sorted(gfile.glob(checkpoint + ".data-?????-of-?????"))
  if {int(shard[-5:]) for shard in shards} != {len(shards)}:
    raise _error(checkpoint, "of its files '.data-*', only these are there: "
                 "[{}]".format(", ".join(map(os.path.basename, shards))))
  dtypes = reader.get_variable_to_dtype_map()
  expected = sum(
      _stored_size(reader, checkpoint, name, shape, dtypes[name])
      for name, shape in reader.get_variable_to_shape_map().items())
  size = sum(gfile.stat(shard).length for shard in shards)
  if size < expected:
    raise _error(
        checkpoint, "it is cut short: its files '.data-*' have {:,} bytes, and "
        "its index says {:,}".format(size, expected))
