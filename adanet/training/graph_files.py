# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The graph of an iteration in files, as `tf.estimator` writes them.

    <model_dir>/graph.pbtxt         as text
    <model_dir>/<checkpoint>.meta   for `tf.train.import_meta_graph`
    <model_dir>/events.*            for TensorBoard's page "Graphs"

An input_fn may hold all of its data in the graph, and these files are written
again and again. So they have a placeholder for each large constant. A graph of
more than 2 GB is in no file: TensorFlow cannot write it.
"""

import os
from typing import Any, Optional

from adanet import log as logging
from adanet import tf_compat
from adanet.core import event_files
from adanet.tf_compat import files
from google.protobuf import message

_LARGE_BYTES = 1 << 20


def _become_placeholder(node):
  """Makes a constant a placeholder of the same type and shape."""
  shape = node.attr["value"].tensor.tensor_shape
  node.op = "Placeholder"
  node.attr["shape"].shape.CopyFrom(shape)
  del node.attr["value"]


def _graph_def(graph):
  """Returns the `GraphDef` of a graph, without large constants."""
  graph_def = graph.as_graph_def(add_shapes=True)
  for node in graph_def.node:
    if node.op == "Const" and node.attr["value"].ByteSize() > _LARGE_BYTES:
      _become_placeholder(node)
  return graph_def


class GraphFiles:
  """Writes the files of the default graph.

  A graph that does not fit on the disk is lost, and a warning says so. For a
  large graph it takes seconds to make the contents, so they are made once.
  """

  def __init__(self, model_dir: str, saver: Any):
    """Writes nothing yet."""
    self._model_dir = model_dir
    self._saver = saver
    self._graph = tf_compat.v1.get_default_graph()
    self._content: Optional[bytes] = None
    self._is_written = False

  def _meta_graph(self):
    """Returns the serialized `MetaGraphDef`; empty if the graph is too large.
    """
    if self._content is None:
      try:
        graph_def = _graph_def(self._graph)
      except (ValueError, message.DecodeError):
        logging.warning(
            "The graph has more than 2 GB, so %s gets no graph.pbtxt and no "
            ".meta files. With adanet.inputs the data stays out of the graph.",
            self._model_dir)
        self._content = b""
        return self._content
      with self._graph.as_default():
        self._content = tf_compat.v1.train.export_meta_graph(
            graph_def=graph_def,
            saver_def=self._saver.as_saver_def()).SerializeToString()
    return self._content

  def _write(self, path, content):
    try:
      files.write_bytes(path, content)
    except tf_compat.v1.errors.OpError as error:
      if not files.is_disk_full(error):
        raise
      logging.warning("%s is not written: the disk is full.", path)

  def write_beside(self, checkpoint: str) -> None:
    """Writes the file that belongs to a checkpoint."""
    if self._meta_graph():
      self._write(checkpoint + ".meta", self._meta_graph())

  def write(self, writer: event_files.SummaryWriter) -> None:
    """Writes the text, and TensorBoard's graph; later calls do nothing."""
    if self._is_written or not self._meta_graph():
      return
    self._is_written = True
    meta_graph = tf_compat.v1.MetaGraphDef.FromString(self._meta_graph())
    writer.add_graph(meta_graph)
    # `str` is the text, in any order of attributes: `text_format` takes seven
    # times as long.
    self._write(os.path.join(self._model_dir, "graph.pbtxt"),
                str(meta_graph.graph_def).encode())
