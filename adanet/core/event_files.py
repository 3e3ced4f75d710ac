# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The folders of TensorBoard summaries, on a disk that may be full.

Each subnetwork and each ensemble has a separate folder:

    <model_dir>/subnetwork/t0_dnn/
    <model_dir>/ensemble/t0_dnn_grow_complexity_regularized/
    <model_dir>/                                the search as a whole

TensorBoard draws curves of equal tags from different folders in a common chart.
"""

import os
import socket
import time
from typing import Any, Dict, Mapping, Set

from adanet import log as logging
from adanet import tf_compat
from adanet.core import scoped_summary
from adanet.tf_compat import files
from google.protobuf import message
import numpy as np

_RETRY_SECS = 10.
_FLUSH_SECS = 120.


def _serialized(**fields):
  """Returns an `Event` with the current time, as bytes."""
  return tf_compat.v1.Event(
      wall_time=time.time(), **fields).SerializeToString()


class EventFile:
  """A file of events that drops events when the disk is full.

  So a full disk loses curves, and training continues. TensorFlow's `FileWriter`
  writes in a thread. A full disk ends the thread with a traceback, or silently
  on TensorFlow 1.15, where later writes then block forever.
  """

  def __init__(self, folder: str):
    """Writes nothing yet."""
    self._folder = folder
    self._writer: Any = None
    self._next_try = 0.
    self._next_flush = 0.

  def _path(self):
    """Returns the path of a new file with a name as from TensorFlow."""
    now = time.time()
    return os.path.join(self._folder, (
        f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}."
        f"{int(now * 1000000000.0):020d}.{os.getpid()}"))

  def _call(self, function):
    """Calls a function with the writer, unless the disk is full."""
    now = time.monotonic()
    if now < self._next_try:
      return
    try:
      if self._writer is None:
        tf_compat.v1.io.gfile.makedirs(self._folder)
        self._writer = tf_compat.v1.io.TFRecordWriter(self._path())
        self._writer.write(_serialized(file_version="brain.Event:2"))
        self._next_flush = 0.
      function(self._writer)
      if now >= self._next_flush:
        self._writer.flush()
        self._next_flush = now + _FLUSH_SECS
    except (tf_compat.v1.errors.OpError, OSError) as error:
      if not files.is_disk_full(error):
        raise
      logging.warning("Summaries of %s are lost: the disk is full.",
                      self._folder)
      self._writer = None  # The next writer starts another file.
      self._next_try = now + _RETRY_SECS

  def _add(self, step=0, **fields):
    event = _serialized(step=step, **fields)
    self._call(lambda writer: writer.write(event))

  def start(self, global_step: int) -> None:
    """Makes TensorBoard forget later steps from a stopped run."""
    self._add(global_step, session_log=tf_compat.v1.SessionLog(
        status=tf_compat.v1.SessionLog.START))

  def add(self, summary: Any, global_step: int) -> None:
    """Writes a `Summary` proto."""
    self._add(global_step, summary=summary)

  def add_graph(self, meta_graph: Any) -> None:
    """Writes a `MetaGraphDef` and separately its `GraphDef`."""
    self._add(graph_def=meta_graph.graph_def.SerializeToString())
    self._add(meta_graph_def=meta_graph.SerializeToString())

  def flush(self) -> None:
    """Writes the events in memory."""
    if self._writer is not None:
      self._call(lambda writer: writer.flush())

  def close(self) -> None:
    """Closes the file."""
    if self._writer is not None:
      self._call(lambda writer: writer.flush())
      self._writer = None


class SummaryWriter:
  """Writes summaries to the folders of a model_dir."""

  def __init__(self, model_dir: str) -> None:
    """Writes nothing yet."""
    self._model_dir = model_dir
    self._writers: Dict[str, EventFile] = {}
    self._started: Set[str] = set()

  def add(self, summary: scoped_summary.ScopedSummary, serialized: bytes,
          global_step: int) -> None:
    """Writes the values of the ops of a summary.

    Args:
      summary: the summary.
      serialized: the value of `summary.merged()`, or of an op of the summary.
      global_step: int, the step of the values.
    """
    folder = os.path.join(summary.namespace or "", summary.scope or "")
    writer = self._writer(folder)
    if folder not in self._started:
      self._started.add(folder)
      writer.start(global_step)
    writer.add(summary.rename(serialized), global_step)

  def add_scalars(self, folder: str, values: Mapping[str, Any],
                  global_step: int) -> None:
    """Writes given values, such as the results of an evaluation.

    Args:
      folder: path relative to the model_dir, such as "eval" or
        "ensemble/t0_all_mean/eval"; "" is the model_dir.
      values: dict from tag to a number, a serialized `Summary` proto (bytes),
        a string or an array. "global_step" and values of None are skipped.
      global_step: int, the step of the values.
    """
    proto = tf_compat.v1.Summary()
    for tag in sorted(set(values) - {"global_step"}):
      _add_value(proto, tag, values[tag])
    self._writer(folder).add(proto, global_step)

  def add_graph(self, meta_graph: Any) -> None:
    """Writes a `MetaGraphDef` for TensorBoard to the model_dir."""
    self._writer("").add_graph(meta_graph)

  def flush(self) -> None:
    """Writes the events in memory to the files."""
    for writer in self._writers.values():
      writer.flush()

  def close(self) -> None:
    """Closes all files. A later call of `add` opens new files."""
    for writer in self._writers.values():
      writer.close()
    self._writers = {}
    self._started = set()

  def _writer(self, folder):
    if folder not in self._writers:
      self._writers[folder] = EventFile(os.path.join(self._model_dir, folder))
    return self._writers[folder]


def _add_value(proto, tag, value):
  """Adds a value to a `Summary` proto."""
  if value is None:
    return
  if isinstance(value, bytes):
    try:
      parts = tf_compat.v1.Summary.FromString(value).value
    except message.DecodeError:
      logging.warning(
          "The value of %r is not shown in TensorBoard: its bytes are not a "
          "Summary proto.", tag)
      return
    for i, part in enumerate(parts):
      part.tag = f"{tag}/{i}"
    proto.value.extend(parts)
  elif isinstance(value, (str, np.ndarray)):
    proto.value.add(
        tag=tag, node_name=tag, tensor=tf_compat.v1.make_tensor_proto(value))
  else:
    proto.value.add(tag=tag, simple_value=float(value))
