# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A folder's file of events for TensorBoard, on a disk that may be full."""

import os
import time
import typing

from absl import logging
from adanet import tf_compat
from adanet.tf_compat import files

_RETRY_SECS = 10.


class EventFile:
  """A `FileWriter` that loses what does not fit on the disk.

  Curves are not worth the end of training.
  """

  def __init__(self, folder: str):
    """Writes nothing yet."""
    self._folder = folder
    self._writer: typing.Any = None
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

  def add(self, summary: typing.Any, global_step: int) -> None:
    """Writes a `Summary` proto."""
    self._call(lambda writer: writer.add_summary(summary, global_step))

  def add_graph(self, meta_graph: typing.Any) -> None:
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
