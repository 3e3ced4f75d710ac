# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads TensorFlow's checkpoints, with one clear line for a broken one."""

import os
from typing import Optional

from adanet import tf_compat
from adanet.core import checkpoint_index

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
  if checkpoint is None:
    return 0
  reader = _reader(checkpoint)
  if not reader.has_tensor(name):
    raise _error(checkpoint, "it has no variable {!r}".format(name))
  return int(_tensor(reader, checkpoint, name))


def check_readable(checkpoint: str) -> None:
  """Checks that a checkpoint has all the data that its index says.

  No data is read, so this is fast for a large checkpoint too.

  Args:
    checkpoint: str, its prefix.

  Raises:
    CheckpointError: it has not.
  """
  gfile = tf_compat.v1.io.gfile
  _reader(checkpoint)  # It checks the index.
  shards = sorted(gfile.glob(checkpoint + ".data-?????-of-?????"))
  if {int(shard[-5:]) for shard in shards} != {len(shards)}:
    raise _error(checkpoint, "of its files '.data-*', only these are there: "
                 "[{}]".format(", ".join(map(os.path.basename, shards))))
  sizes = [gfile.stat(shard).length for shard in shards]
  with gfile.GFile(checkpoint + ".index", "rb") as f:
    index = f.read()
  for extent in checkpoint_index.extents(index):
    if extent.shard >= len(shards) or extent.end > sizes[extent.shard]:
      raise _error(
          checkpoint, "it is cut short: its files '.data-*' have {:,} bytes, "
          "and its index names more".format(sum(sizes)))
