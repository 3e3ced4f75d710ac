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
import time
from typing import Any, Dict, Mapping, Set

from adanet import log as logging
from adanet import tf_compat
from adanet.core import scoped_summary
from adanet.tf_compat import files
from google.protobuf import message
import numpy as np

_RETRY_SECS = 10.


class SummaryWriter:
  """Writes summaries to the folders of a model_dir.

  On a full disk, training continues and summaries are lost, with a warning. The
  `FileWriter` of TensorFlow 1.15 raises no error: a full disk then loses all
  later summaries of the process, without a warning.
  """

  def __init__(self, model_dir: str) -> None:
    """Writes nothing yet."""
    self._model_dir = model_dir
    self._writers: Dict[str, Any] = {}
    self._started: Set[str] = set()
    self._next_try: Dict[str, float] = {}

  def _open(self, path):
    """Returns a `FileWriter` with a new file in a folder."""
    with tf_compat.v1.Graph().as_default():  # Eager execution is an error.
      # TensorFlow's name alone is the same for all writers of one second.
      return tf_compat.v1.summary.FileWriter(
          path, filename_suffix=f".{time.time_ns()}.{os.getpid()}")

  def _call(self, folder, function):
    """Calls a function with the writer of a folder, unless the disk is full."""
    if time.monotonic() < self._next_try.get(folder, 0.):
      return
    path = os.path.join(self._model_dir, folder)
    try:
      if folder not in self._writers:
        self._writers[folder] = self._open(path)
      function(self._writers[folder])
    # The writer raises a RuntimeError, and makedirs an OpError.
    except (tf_compat.v1.errors.OpError, OSError, RuntimeError) as error:
      if not files.is_disk_full(error):
        raise
      logging.warning("Summaries of %s are lost: the disk is full.", path)
      self._writers.pop(folder, None)  # The next writer starts another file.
      self._next_try[folder] = time.monotonic() + _RETRY_SECS

  def add(self, summary: scoped_summary.ScopedSummary, serialized: bytes,
          global_step: int) -> None:
    """Writes the values of the ops of a summary.

    Args:
      summary: the summary.
      serialized: the value of `summary.merged()`, or of an op of the summary.
      global_step: int, the step of the values.
    """
    folder = os.path.join(summary.namespace or "", summary.scope or "")
    if folder not in self._started:
      self._started.add(folder)
      # TensorBoard then forgets later steps of a stopped run.
      start = tf_compat.v1.SessionLog(status=tf_compat.v1.SessionLog.START)
      self._call(folder, lambda writer: writer.add_session_log(
          start, global_step))
    proto = summary.rename(serialized)
    self._call(folder, lambda writer: writer.add_summary(proto, global_step))

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
    self._call(folder, lambda writer: writer.add_summary(proto, global_step))

  def add_graph(self, meta_graph: Any) -> None:
    """Writes a `MetaGraphDef` for TensorBoard to the model_dir."""
    event = tf_compat.v1.Event(
        wall_time=time.time(),
        graph_def=meta_graph.graph_def.SerializeToString())
    self._call("", lambda writer: writer.add_event(event))
    self._call("", lambda writer: writer.add_meta_graph(meta_graph))

  def flush(self) -> None:
    """Writes the events in memory to the files."""
    for folder in list(self._writers):
      self._call(folder, lambda writer: writer.flush())

  def close(self) -> None:
    """Closes all files. A later call of `add` opens new files."""
    for folder in list(self._writers):
      self._call(folder, lambda writer: writer.close())
    self._writers = {}
    self._started = set()


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
