# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The folders of summaries that TensorBoard reads, on a disk that may be full.

Each subnetwork and each ensemble has a folder of its own:

    <model_dir>/subnetwork/t0_dnn/
    <model_dir>/ensemble/t0_dnn_grow_complexity_regularized/
    <model_dir>/                                the search as a whole

TensorBoard draws curves of equal tags from different folders in one chart.
"""

import os
import time
from typing import Any, Dict, Mapping, Set

from absl import logging
from adanet import tf_compat
from adanet.core import scoped_summary
from adanet.tf_compat import files
from google.protobuf import message
import numpy as np

_RETRY_SECS = 10.


class EventFile:
  """A `FileWriter` that drops what does not fit on the disk.

  So a full disk loses curves, and training goes on.
  """

  def __init__(self, folder: str):
    """Writes nothing yet."""
    self._folder = folder
    self._writer: Any = None
    self._next_try = 0.

  def _open(self):
    # Files are named by the second of their making, and one of the same name
    # would be overwritten.
    suffix = f".{int(time.time() * 1000000000.0):020d}.{os.getpid()}"
    # FileWriter refuses eager mode.
    with tf_compat.v1.Graph().as_default():
      return tf_compat.v1.summary.FileWriter(
          self._folder, filename_suffix=suffix)

  def _call(self, function):
    """Calls a function with the `FileWriter`, while there is space."""
    if time.monotonic() < self._next_try:
      return
    try:
      if self._writer is None:
        self._writer = self._open()
      function(self._writer)
    except (tf_compat.v1.errors.OpError, OSError, RuntimeError) as error:
      if not files.is_disk_full(error):
        raise
      logging.warning("Summaries of %s are lost: the disk is full.",
                      self._folder)
      self._writer = None  # It writes no more.
      self._next_try = time.monotonic() + _RETRY_SECS

  def start(self, global_step: int) -> None:
    """Makes TensorBoard forget later steps, which a stopped run has left."""
    log = tf_compat.v1.SessionLog(status=tf_compat.v1.SessionLog.START)
    self._call(lambda writer: writer.add_session_log(log, global_step))

  def add(self, summary: Any, global_step: int) -> None:
    """Writes a `Summary` proto."""
    self._call(lambda writer: writer.add_summary(summary, global_step))

  def add_graph(self, meta_graph: Any) -> None:
    """Writes a `MetaGraphDef`, and its `GraphDef` by itself."""
    graph = tf_compat.v1.Event(
        wall_time=time.time(),
        graph_def=meta_graph.graph_def.SerializeToString())
    self._call(lambda writer: writer.add_event(graph))
    self._call(lambda writer: writer.add_meta_graph(meta_graph))

  def flush(self) -> None:
    """Writes what is in memory."""
    if self._writer is not None:
      self._call(lambda writer: writer.flush())

  def close(self) -> None:
    """Closes the file."""
    if self._writer is not None:
      self._call(lambda writer: writer.close())


class SummaryWriter:
  """Writes summaries to the folders of a model_dir."""

  def __init__(self, model_dir: str) -> None:
    """Writes nothing yet."""
    self._model_dir = model_dir
    self._writers: Dict[str, EventFile] = {}
    self._started: Set[str] = set()

  def add(self, summary: scoped_summary.ScopedSummary, serialized: bytes,
          global_step: int) -> None:
    """Writes what the ops of a summary returned.

    Args:
      summary: the summary.
      serialized: the value of `summary.merged()`, or of one of its ops.
      global_step: the step to draw it at.
    """
    folder = os.path.join(summary.namespace or "", summary.scope or "")
    writer = self._writer(folder)
    if folder not in self._started:
      self._started.add(folder)
      writer.start(global_step)
    writer.add(summary.rename(serialized), global_step)

  def add_scalars(self, folder: str, values: Mapping[str, Any],
                  global_step: int) -> None:
    """Writes values that are known, such as the results of an evaluation.

    Args:
      folder: path relative to the model_dir, such as "eval" or
        "ensemble/t0_all_mean/eval"; "" is the model_dir.
      values: dict from tag to a number, a serialized `Summary` proto (bytes),
        a string or an array. "global_step" and values of None are left out.
      global_step: the step to draw them at.
    """
    proto = tf_compat.v1.Summary()
    for tag in sorted(set(values) - {"global_step"}):
      _add_value(proto, tag, values[tag])
    self._writer(folder).add(proto, global_step)

  def add_graph(self, meta_graph: Any) -> None:
    """Writes a `MetaGraphDef` to the model_dir, for TensorBoard to draw."""
    self._writer("").add_graph(meta_graph)

  def flush(self) -> None:
    """Writes what is in memory to the files."""
    for writer in self._writers.values():
      writer.flush()

  def close(self) -> None:
    """Closes all files. A later call of `add` opens new ones."""
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
