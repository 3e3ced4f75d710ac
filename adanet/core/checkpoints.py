# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads TensorFlow's checkpoints, with one clear line for a broken one.

The name of a checkpoint is the prefix, a str. All reading functions raise a
`CheckpointError` if the checkpoint is broken, or a variable is missing.

A job deletes old checkpoints while other processes may read. So the error of a
checkpoint with a successor is a `DeletedError`, and `read_latest` reads the
successor instead.
"""

import collections
import contextlib
import hashlib
import os
import re
from typing import Any, Callable, DefaultDict, Dict, Iterable, Iterator, List
from typing import Optional, Set, Tuple, TypeVar

from adanet import log as logging
from adanet import tf_compat
from adanet.core import checkpoint_index
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import files
import numpy as np

# The scope of a subnetwork, its layer's name without the number, the number.
_LAYER = re.compile(
    r"(adanet/iteration_\d+/subnetwork_[^/]+)/([^/]*?)(?:_(\d+))?/")
# A job that deletes so many in a row saves faster than this process reads.
_MAX_DELETED = 5

_T = TypeVar("_T")


class CheckpointError(ValueError):
  """A checkpoint is not complete, or belongs to a different search."""


class DeletedError(CheckpointError):
  """A checkpoint is deleted, or is being deleted: another is the latest."""

  def __init__(self, message: str, checkpoint: str = ""):
    super().__init__(message)
    self.checkpoint = checkpoint


class _Broken(Exception):
  """A checkpoint is not complete. The message does not give a remedy yet."""


def _error(checkpoint, problem):
  return _Broken(f"{checkpoint}: {' '.join(str(problem).split()).rstrip('.')}. "
                 "Expected a complete checkpoint of AdaNet.")


def _age(checkpoint):
  """Returns a key for ordering by age; None for a broken checkpoint."""
  try:
    _check_readable(checkpoint)
    numbers = _values(checkpoint, ["current_iteration", "global_step"])
    number, global_step = map(int, numbers.values())
    # Of one global step there may be several.
    steps = _integers(checkpoint, f"adanet/iteration_{number}/(.*)/step")
    return number, global_step, sum(steps.values())
  except _broken_errors():
    return None


def _advice(folder):
  """Returns the remedy for a broken checkpoint in a folder."""
  whole = []
  for name in files.names(folder):
    checkpoint, ending = os.path.splitext(os.path.join(folder, name))
    age = _age(checkpoint) if ending == ".index" else None
    if age is not None:
      whole.append((age, checkpoint))
  if not whole:
    return ("No checkpoint in this folder is whole: restore one from a copy, "
            "or train in an empty model_dir.")
  (_, global_step, _), newest = max(whole)
  return (
      f"The newest whole one in this folder is of step {global_step}. To go on "
      "from it, let this be the only line of "
      f"{os.path.join(folder, checkpoint_file.NAME)}: model_checkpoint_path: "
      f"\"{os.path.basename(newest)}\"")


def _is_whole(checkpoint):
  try:
    _check_readable(checkpoint)
    return True
  except _broken_errors():
    return False


def successor(checkpoint: str) -> Optional[str]:
  """Returns the checkpoint that has replaced a deleted checkpoint.

  TensorFlow first names the latest checkpoint, then deletes the data of an old
  checkpoint, and last the index of the old checkpoint.

  Returns:
    The prefix of the folder's latest checkpoint; None if `checkpoint` is whole,
    or is the latest.
  """
  try:
    # A fast job may have deleted the first name that is read here, too.
    newest = _latest(os.path.dirname(checkpoint))
  except _Broken:
    return None
  return None if newest == checkpoint or _is_whole(checkpoint) else newest


@contextlib.contextmanager
def explained(checkpoint: str) -> Iterator[None]:
  """Explains the error of a block that reads a checkpoint.

  Raises:
    DeletedError: the training job has deleted the checkpoint.
    CheckpointError: the checkpoint is broken. The message has a remedy.
  """
  try:
    yield
  except _broken_errors() as error:
    newest = successor(checkpoint)
    if newest is not None:
      state = "incomplete" if checkpoint_file.is_there(
          checkpoint) else "not there"
      raise DeletedError(
          f"{checkpoint} is {state}: a job deletes its older checkpoints, and "
          f"the latest one is {os.path.basename(newest)}. Read that one, or "
          "let the job keep more, by keep_checkpoint_max of its RunConfig",
          checkpoint) from error
    if isinstance(error, _Broken):
      raise CheckpointError(
          f"{error} {_advice(os.path.dirname(checkpoint))}"
      ) from error.__cause__
    raise


def read_latest(read: Callable[[], _T]) -> _T:
  """Returns the result of a function that reads the latest checkpoint.

  If a job deletes the checkpoint meanwhile, the function is called again, to
  read the latest checkpoint by then.

  Raises:
    DeletedError: the job deletes faster than the function reads.
  """
  for _ in range(_MAX_DELETED - 1):
    try:
      return read()
    except DeletedError as error:
      logging.warning("%s was deleted while it was read: the latest one is "
                      "next.", error.checkpoint)
  return read()


def latest(folder: str) -> Optional[str]:
  """Returns the prefix of the latest checkpoint of a folder, or None.

  The file "checkpoint" names the latest checkpoint. In a copied or moved
  folder, the checkpoint of the same name in the folder counts.

  Raises:
    CheckpointError: the named checkpoint does not exist.
  """
  try:
    return _latest(folder)
  except _Broken as broken:
    raise CheckpointError(f"{broken} {_advice(folder)}") from None


def _latest(folder):
  path = os.path.join(folder, checkpoint_file.NAME)
  if not tf_compat.v1.io.gfile.exists(path):
    return None
  checkpoint = None
  while True:
    before, checkpoint = checkpoint, checkpoint_file.latest(folder)
    if checkpoint is None:
      raise _error(path, "it names no checkpoint")
    if checkpoint_file.is_there(checkpoint):
      return checkpoint
    if checkpoint == before:  # Else a job has saved another one meanwhile.
      raise _error(
          checkpoint, "the file 'checkpoint' names it, but it is not there")


def _reader_errors():
  # TensorFlow 2's reader raises IndexError where 1.15's raises OutOfRangeError,
  # and RuntimeError for a file that it does not know.
  return (tf_compat.v1.errors.OpError, IndexError, RuntimeError, ValueError)


def _broken_errors():
  return (_Broken, OSError, *_reader_errors())


def _reader(checkpoint):
  try:
    return checkpoint_file.reader(checkpoint)
  except _reader_errors() as e:
    raise _error(checkpoint, e) from e


def _tensor(reader, checkpoint, name):
  try:
    return reader.get_tensor(name)
  except _reader_errors() as e:
    raise _error(checkpoint, f"{name!r} cannot be read: {e}") from e


def values(checkpoint: str, names: Iterable[str]) -> Dict[str, Any]:
  """Returns the values of variables of a checkpoint, as NumPy's."""
  with explained(checkpoint):
    return _values(checkpoint, names)


def _values(checkpoint, names):
  reader = _reader(checkpoint)
  tensors = {}
  for name in names:
    if not reader.has_tensor(name):
      raise _error(checkpoint, f"it has no variable {name!r}")
    tensors[name] = _tensor(reader, checkpoint, name)
  return tensors


def not_finite(checkpoint: str, names: Iterable[str]) -> Optional[str]:
  """Returns the first float variable with NaN or infinity, or None.

  Args:
    names: of variables in the graph. Variables that the checkpoint lacks are
      left out.
  """
  with explained(checkpoint):
    return _not_finite(checkpoint, names)


def _not_finite(checkpoint, names):
  reader = _reader(checkpoint)
  stored = reader.get_variable_to_shape_map()
  names = [re.sub(r"/part_\d+\Z", "", name) for name in names]
  renamed = stored_names(names, stored)
  for name in names:
    if renamed.get(name, name) in stored:
      value = _tensor(reader, checkpoint, renamed.get(name, name))
      # NumPy's functions do not know each type of TensorFlow's.
      if not np.isfinite(value.astype(np.float64 if value.dtype == np.float64
                                      else np.float32, copy=False)).all():
        return name
  return None


def integers(checkpoint: str, pattern: str) -> Dict[str, int]:
  """Returns some integer variables of shape [], by the pattern's group.

  Args:
    pattern: str, a pattern of whole names, with a group.
  """
  with explained(checkpoint):
    return _integers(checkpoint, pattern)


def _integers(checkpoint, pattern):
  matches = {
      name: re.match(pattern + r"\Z", name) for name, shape in
      _reader(checkpoint).get_variable_to_shape_map().items() if not shape}
  names = {name: match.group(1) for name, match in matches.items() if match}
  return {names[name]: int(value)
          for name, value in _values(checkpoint, names).items()}


def integer(checkpoint: Optional[str], name: str) -> int:
  """Returns an integer variable of a checkpoint; 0 without a checkpoint."""
  return 0 if checkpoint is None else int(values(checkpoint, [name])[name])


def digest(checkpoint: str) -> str:
  """Returns the digest of a checkpoint: of the index, with sums of values."""
  with explained(checkpoint), tf_compat.v1.io.gfile.GFile(
      checkpoint + ".index", "rb") as f:
    return hashlib.sha256(f.read()).hexdigest()


def sums(checkpoint: str) -> Dict[str, int]:
  """Returns the checksum of each variable without parts.

  Variables with the same name and sum have the same values.
  """
  with explained(checkpoint):
    _check_readable(checkpoint)
    return {key.decode(): entry.sum
            for key, entry in checkpoint_index.entries(checkpoint)
            if entry.sum and b"\0" not in key}  # A part has one.


def check_readable(checkpoint: str) -> None:
  """Checks that a checkpoint has all data of the index.

  Reads no data, so the check is fast for a large checkpoint, too.

  Raises:
    CheckpointError: data are missing.
  """
  with explained(checkpoint):
    _check_readable(checkpoint)


def _check_readable(checkpoint):
  gfile = tf_compat.v1.io.gfile
  _reader(checkpoint)  # It checks the index.
  folder, prefix = os.path.split(checkpoint)
  pattern = re.compile(re.escape(prefix) + r"\.data-\d{5}-of-\d{5}")
  shards = [os.path.join(folder, name) for name in files.names(folder)
            if pattern.fullmatch(name)]
  if {int(shard[-5:]) for shard in shards} != {len(shards)}:
    raise _error(checkpoint, "of its files '.data-*', only these are there: "
                             f"[{', '.join(map(os.path.basename, shards))}]")
  sizes = [gfile.stat(shard).length for shard in shards]
  for _, entry in checkpoint_index.entries(checkpoint):
    if entry.shard >= len(shards) or entry.end > sizes[entry.shard]:
      raise _error(
          checkpoint, "it is cut short: its files '.data-*' have "
                      f"{sum(sizes):,} bytes, and its index names more")


def _layers(names: Iterable[str]) -> Dict[Tuple[str, str], List[int]]:
  """Returns the numbers of layers, by scope and name without the number."""
  layers: DefaultDict[Tuple[str, str], Set[int]] = collections.defaultdict(set)
  for name in names:
    match = _LAYER.match(name)
    if match and match.group(2) != "adanet":  # It would be a slot.
      scope, layer, number = match.groups()
      layers[scope, layer].add(int(number or 0))
  return {layer: sorted(numbers) for layer, numbers in layers.items()}


def _part(scope, layer, number):
  return f"{scope}/{layer}{'_{}'.format(number) if number else ''}/"


def stored_names(names: Iterable[str], stored: Iterable[str]) -> Dict[str, str]:
  """Returns the Keras variables that a checkpoint stores under another name.

  Keras names a layer without a name `dense`, `dense_1`, and so on. In AdaNet
  0.8, Keras counted through the whole graph. Here the count begins again in
  each builder. So the layers of a subnetwork have other numbers in an old
  checkpoint, in the same order.

  Returns:
    Dict from a name in the graph to the name in the checkpoint, for layers with
    the same count and different numbers.
  """
  names, stored = list(names), set(stored)
  checkpoint = _layers(stored)
  parts: Dict[str, str] = {}
  for (scope, layer), numbers in _layers(names).items():
    stored_as = checkpoint.get((scope, layer), [])
    if len(stored_as) == len(numbers) and stored_as != numbers:
      parts.update(
          (_part(scope, layer, number), _part(scope, layer, other))
          for number, other in zip(numbers, stored_as))
  renamed: Dict[str, str] = {}
  for name in names:
    for part, other in parts.items():
      candidate = name.replace(part, other)
      if part in name and candidate in stored:
        renamed[name] = candidate
        break
  return renamed
