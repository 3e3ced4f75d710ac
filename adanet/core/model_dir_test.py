# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what lies in a model_dir."""

import json
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import architecture
from adanet.core import events
from adanet.core import model_dir
from adanet.testing import variables
from adanet.tf_compat import files
import numpy as np

_ARCHITECTURE = architecture.Architecture(
    "dnn_grow", "mean", ((0, "dnn"),), (0,), 7)


def _files(folder):
  return sorted(
      os.path.relpath(os.path.join(parent, file), folder)
      for parent, _, files in os.walk(folder) for file in files)


class ModelDirTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._path = os.path.join(self.create_tempdir().full_path, "model")
    self._model_dir = model_dir.ModelDir(self._path)

  def _make(self, path, content=""):
    path = os.path.join(self._path, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
      f.write(content)

  @parameterized.parameters(
      # The steps of subnetworks and of ensembles.
      ({"a": 5, "b": 3}, {"e": 5, "f": 5}, False),
      ({"a": 5, "b": 3}, {"e": 5, "f": 4}, True),
      # One that trains no further.
      ({"a": 5, "b": 3}, {"e": 5, "stopped": 4}, False),
      ({}, {"e": 1}, False))
  def test_has_ensembles_behind(self, subnetworks, ensembles, expected):
    self._model_dir.mark_stopped(1, "stopped", "a hook asked for it", 4)
    values = {f"adanet/iteration_1/{kind}_{name}/step": np.int64(step)
              for kind, steps in (("subnetwork", subnetworks),
                                  ("ensemble", ensembles))
              for name, step in steps.items()}
    # What has won before does not count.
    values["adanet/iteration_0/ensemble_g/step"] = np.int64(1)
    checkpoint = variables.save(self._model_dir.checkpoint_path, dict(
        values, global_step=np.int64(9), current_iteration=np.int64(1)))
    self.assertEqual(expected, self._model_dir.has_ensembles_behind(checkpoint))
    self.assertFalse(self._model_dir.has_ensembles_behind(None))

  def test_reading_makes_nothing(self):
    self.assertIsNone(self._model_dir.architecture(0))
    self.assertIsNone(self._model_dir.latest_checkpoint())
    self.assertEqual({}, self._model_dir.stopped(0))
    self.assertEqual(0, self._model_dir.current_iteration(None))
    self.assertEqual(0, self._model_dir.global_step(None))
    self._model_dir.remove_temporary_files()
    self.assertFalse(os.path.exists(self._path))

  def test_architecture(self):
    self._model_dir.write_architecture(1, _ARCHITECTURE)
    self.assertEqual(_ARCHITECTURE, self._model_dir.architecture(1))
    self.assertIsNone(self._model_dir.architecture(0))
    self.assertEqual(["architecture-1.json"], _files(self._path))

  def test_checkpoint(self):
    os.makedirs(self._path)
    saved = variables.save(
        self._model_dir.increment_checkpoint_path,
        {"current_iteration": np.int64(2), "global_step": np.int64(30)},
        global_step=2)
    self.assertEqual(self._model_dir.increment_checkpoint_path + "-2", saved)
    self.assertEqual(saved, self._model_dir.latest_checkpoint())
    self.assertEqual(2, self._model_dir.current_iteration(saved))
    self.assertEqual(30, self._model_dir.global_step(saved))

  def test_input_position(self):
    first, second = (
        os.path.join(self._path, f"model.ckpt-{step}") for step in (1, 2))
    self._make("model.ckpt-1.index")
    self._make("model.ckpt-2.index")
    self.assertEqual({}, self._model_dir.input_position(first))
    self._model_dir.write_input_position(first, {})
    self.assertNotIn("input.json", _files(self._path))
    self._model_dir.write_input_position(first, {"": 1, "own": 3})
    self._model_dir.write_input_position(second, {"": 2})
    self.assertEqual({"": 1, "own": 3}, self._model_dir.input_position(first))
    # What trains where others do says nothing, and writes the second anew.
    self._model_dir.write_input_position(second, {})
    self.assertEqual({}, self._model_dir.input_position(second))
    os.remove(first + ".index")  # It is not kept.
    self._model_dir.write_input_position(second, {"": 2})
    self.assertEqual({}, self._model_dir.input_position(first))
    self.assertEqual({"": 2}, self._model_dir.input_position(second))
    for _ in range(2):
      self._model_dir.forget_input_positions()
      self.assertNotIn("input.json", _files(self._path))

  @parameterized.parameters("", "{", "[]", '{"model.ckpt-1": 3}')
  def test_input_position_in_a_file_that_is_not_complete(self, content):
    self._make("input.json", content)
    self.assertEqual({}, self._model_dir.input_position("model.ckpt-1"))

  def test_stopped(self):
    self._model_dir.mark_stopped(1, "t1_dnn", "Trained 5 steps.")
    self._model_dir.mark_stopped(1, "t1_dnn", "Another reason.")
    self._model_dir.mark_stopped(2, "t2_dnn", "The input ended.")
    self.assertEqual({"t1_dnn": "Trained 5 steps."}, self._model_dir.stopped(1))
    self.assertEqual({}, self._model_dir.stopped(0))
    self.assertEqual(["train_manager/t1/t1_dnn.json",
                      "train_manager/t2/t2_dnn.json"], _files(self._path))
    with open(os.path.join(self._path, "train_manager/t1/t1_dnn.json")) as f:
      self.assertEqual({"message": "Trained 5 steps.", "step": 0}, json.load(f))

  def test_stopped_after_restore(self):
    self._model_dir.mark_stopped(0, "t0_dnn", "At 8 steps.", 8)
    for step, reasons in ((7, {}), (8, {"t0_dnn": "At 8 steps."})):
      self.assertEqual(reasons, self._model_dir.stopped(0, {"t0_dnn": step}))
    self.assertIn("t0_dnn", self._model_dir.stopped(0, {"t0_cnn": 1}))
    # The last checkpoint was restored, and it stops again, earlier.
    self._model_dir.mark_stopped(0, "t0_dnn", "At 5 steps.", 5)
    self._model_dir.mark_stopped(0, "t0_dnn", "At 6 steps.", 6)
    self.assertEqual({"t0_dnn": "At 5 steps."}, self._model_dir.stopped(0))

  def test_forget_stops(self):
    for name, step in ("t0_a", 3), ("t0_b", 4), ("t0_of_another_part", 9):
      self._model_dir.mark_stopped(0, name, "Its loss is NaN.", step)
    self._model_dir.mark_stopped(1, "t0_b", "Its loss is NaN.", 9)
    self._model_dir.forget_stops(0, {"t0_a": 3, "t0_b": 3, "t0_c": 0}, 3)
    self.assertCountEqual(
        ["t0_a", "t0_of_another_part"], self._model_dir.stopped(0))
    self.assertCountEqual(["t0_b"], self._model_dir.stopped(1))

  @parameterized.parameters((4, True), (5, False), (None, False))
  def test_forget_stops_of_another_limit(self, limit, stays):
    self._model_dir.mark_stopped(0, "t0_a", events.at_limit(4), 4)
    self._model_dir.mark_stopped(0, "t0_b", "Its loss is NaN.", 4)
    self._model_dir.forget_stops(0, {"t0_a": 4, "t0_b": 4}, limit)
    self.assertCountEqual(["t0_a"] * stays + ["t0_b"],
                          self._model_dir.stopped(0))

  @parameterized.parameters("", "{", "[]", "{}")
  def test_stopped_by_a_file_that_is_not_complete(self, content):
    self._make("train_manager/t0/t0_dnn.json", content)
    self.assertEqual({"t0_dnn": ""}, self._model_dir.stopped(0))

  def test_remove_temporary_files(self):
    self._model_dir.write_architecture(0, _ARCHITECTURE)
    kept = ["checkpoint", "model.ckpt-5.index", "report/a.tfrecord",
            "model.ckpt-5.data-00000-of-00001", "train_manager/t0/a.json",
            "my_temporary_notes.txt"]
    for path in kept + [
        "checkpoint.tmp1a2b",
        "model.ckpt-6_temp_1a2b/part-00000-of-00001.index",
        "increment.ckpt-1_temp/part-00000-of-00001.index",
        "model.ckpt-6.data-00000-of-00001.tempstate12"]:
      self._make(path)
    # A process dies as it renames, and can remove nothing.
    gfile = tf_compat.v1.io.gfile
    with mock.patch.object(gfile, "rename", side_effect=OSError), \
         mock.patch.object(gfile, "remove"):
      for write in (
          lambda: self._model_dir.write_architecture(1, _ARCHITECTURE),
          lambda: self._model_dir.mark_stopped(3, "t3_dnn", "Over."),
          lambda: files.write_text(
              os.path.join(self._path, "cluster", "job_state.json"), "{}")):
        with self.assertRaises(OSError):
          write()
    self.assertLen(_files(self._path), len(kept) + 1 + 4 + 3)
    self._model_dir.remove_temporary_files()
    self.assertCountEqual(kept + ["architecture-0.json"], _files(self._path))
    self.assertIsNone(self._model_dir.architecture(1))
    self.assertEqual({}, self._model_dir.stopped(3))


if __name__ == "__main__":
  absltest.main()
