# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network that fails costs no other network: its error becomes a record.

An error while a network is built, trains or predicts is the network's own. The
record says why, and the traceback is kept as text: its frames would hold the
memory of the network. A few errors end `fit`: those of the disk and the
dataset, which all networks would have.
"""

from collections.abc import Iterable, Iterator
import dataclasses
import errno
import os
import traceback
from typing import Any

from adanet import messages
from adanet.ensemble_search import files
from adanet.ensemble_search import records
import numpy as np

_MAX_REASON = 400
_DISK_FULL = errno.ENOSPC, errno.EDQUOT


class NotFiniteError(ValueError):
  """A network has NaN or infinity; the message says where."""


class OtherModelError(ValueError):
  """A worker builds another model than the program, as all workers would."""


def reading(chunks: Iterable) -> Iterator:
  """Yields chunks of a dataset, whose errors end `fit`."""
  try:
    yield from chunks
  except MemoryError:  # The network's: arrays are copied in chunks, too.
    raise
  except Exception as exception:
    if type(exception).__name__ == "ResourceExhaustedError":  # Of a GPU.
      raise
    error: Any = exception
    error.is_of_dataset = True
    raise


def record_failure(key: records.NetworkKey, folder: files.Folder,
                   error: Exception, network: Any = None, before: Any = None
                  ) -> records.NetworkRecord:
  """Writes that a network failed, and returns the record.

  Args:
    key: `NetworkKey`.
    folder: `Folder` of the network.
    error: why the network failed.
    network: `Network`; None if the network was not built in this process.
    before: `NetworkRecord` with which an earlier call of `fit` ran out of time;
      or None. The network keeps this record with its files.

  Raises:
    Exception: `error`, if `error` ends `fit`.
    OSError: the folder cannot be written.
  """
  if isinstance(error, OtherModelError) or (
      getattr(error, "is_of_dataset", False) or _is_of_disk(error)):
    raise error
  text = "".join(traceback.format_exception(error))
  reason = _describe(error, key.owner)
  if before is not None:
    record = dataclasses.replace(before, late_error=reason)
  else:
    record = (network.record if network is not None else
              folder.read_record() or records.NetworkRecord())
    record.fail(reason)
  record.failed_epoch = 0 if network is None else network.epoch_in_training
  folder.write_failure(record, text)
  return record


def _is_of_disk(error):
  # TensorFlow and h5py have errors of their own, with the words of the system.
  return getattr(error, "errno", None) in _DISK_FULL or any(
      os.strerror(code) in str(error) for code in _DISK_FULL) or (
          error.__cause__ is not None and _is_of_disk(error.__cause__))


def _describe(error, owner):
  """Returns a line about an error, which is shown with the network's name."""
  text, cause = messages.one_line(error), error.__cause__
  if cause is not None and text == f"{owner}: {messages.one_line(cause)}":
    text = messages.with_type(cause)
  elif text.startswith(owner):
    text = text.removeprefix(owner).removeprefix(
        " fails to make its model").removeprefix(":").strip()
  elif not isinstance(error, NotFiniteError):
    text = messages.with_type(error)
  return messages.shorten(text, _MAX_REASON)


def find_not_finite(array: np.ndarray) -> str:
  """Returns "NaN", "infinity", or "" for an array of finite numbers."""
  if array.dtype.kind in "biuOSU" or np.isfinite(array).all():
    return ""
  return "NaN" if np.isnan(array).any() else "infinity"
