# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files that show a graph."""

import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import event_files
from adanet.tf_compat import files
from adanet.training import graph_files
from google.protobuf import text_format
import numpy as np


class GraphFilesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    self._writer = event_files.SummaryWriter(self._folder)
    self.enter_context(tf_compat.v1.Graph().as_default())

  def _files(self):
    """Returns the files of a graph with a variable `w` and data."""
    v1 = tf_compat.v1
    data = v1.constant(np.arange(300000, dtype=np.float32), name="data")
    w = v1.get_variable("w", initializer=v1.constant(2., name="small"))
    v1.multiply(w, data, name="product")
    return graph_files.GraphFiles(self._folder, v1.train.Saver())

  def _path(self, name):
    return os.path.join(self._folder, name)

  def _shown(self):
    """Returns the graph of each file that shows it."""
    self._writer.flush()
    events, = (name for name in os.listdir(self._folder) if "events" in name)
    shown = text_format.Parse(
        files.read_text(self._path("graph.pbtxt")), tf_compat.v1.GraphDef())
    found = [shown]
    for event in tf_compat.v1.train.summary_iterator(self._path(events)):
      if event.WhichOneof("what") == "graph_def":
        found.append(tf_compat.v1.GraphDef.FromString(event.graph_def))
      elif event.WhichOneof("what") == "meta_graph_def":
        found.append(tf_compat.v1.MetaGraphDef.FromString(
            event.meta_graph_def).graph_def)
    return found

  def test_large_constants_are_placeholders(self):
    files_of_graph = self._files()
    files_of_graph.write_beside(self._path("model.ckpt-3"))
    files_of_graph.write(self._writer)
    shown = self._shown()
    self.assertLen(shown, 3)
    for graph_def in shown:
      self.assertEqual(
          {"data": "Placeholder", "small": "Const", "product": "Mul"},
          {node.name: node.op for node in graph_def.node
           if node.name in ("data", "small", "product")})
      self.assertLess(graph_def.ByteSize(), 100000)

  def test_meta_graph_is_whole_but_for_large_constants(self):
    v1 = tf_compat.v1
    self._files().write_beside(self._path("model.ckpt-3"))
    with v1.Graph().as_default(), v1.Session() as session:
      saver = v1.train.import_meta_graph(self._path("model.ckpt-3.meta"))
      self.assertIsNotNone(saver)
      session.run(v1.global_variables_initializer())
      self.assertEqual(
          [10.], session.run("product:0", {"data:0": np.full(
              [300000], 5., np.float32)})[:1].tolist())
      with self.assertRaisesRegex(
          v1.errors.InvalidArgumentError, "feed a value for placeholder.*data"):
        session.run("product:0")

  def test_is_made_and_shown_once(self):
    files_of_graph = self._files()
    graph = tf_compat.v1.get_default_graph()
    with mock.patch.object(graph, "as_graph_def", wraps=graph.as_graph_def
                          ) as as_graph_def:
      for number in range(3):
        files_of_graph.write_beside(self._path("model.ckpt-%d" % number))
        files_of_graph.write(self._writer)
    self.assertEqual(1, as_graph_def.call_count)
    self.assertLen(self._shown(), 3)

  def test_too_large(self):
    files_of_graph = self._files()
    with mock.patch.object(
        tf_compat.v1.get_default_graph(), "as_graph_def",
        side_effect=ValueError("GraphDef cannot be larger than 2GB.")), \
        self.assertLogs(level="WARNING") as logs:
      files_of_graph.write_beside(self._path("model.ckpt-3"))
      files_of_graph.write(self._writer)
    self.assertEmpty(os.listdir(self._folder))
    self.assertLen(logs.output, 1)
    self.assertIn("has more than 2 GB", logs.output[0])

  @parameterized.parameters(
      ("No space left on device", None), ("Permission denied", "Permission"))
  def test_cannot_be_written(self, problem, raised):
    error = tf_compat.v1.errors.ResourceExhaustedError(None, None, problem)
    with mock.patch.object(files, "write_bytes", side_effect=error):
      if raised:
        with self.assertRaisesRegex(type(error), raised):
          self._files().write_beside(self._path("model.ckpt-3"))
        return
      with self.assertLogs(level="WARNING") as logs:
        self._files().write_beside(self._path("model.ckpt-3"))
    self.assertIn("model.ckpt-3.meta is not written: the disk is full.",
                  logs.output[0])


if __name__ == "__main__":
  absltest.main()
