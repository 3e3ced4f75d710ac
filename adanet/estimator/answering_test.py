# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of answers from a model_dir in which another process trains."""

import os
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import model_dir as model_dir_lib
from adanet.estimator import export
from adanet.testing import builders
from adanet.testing import level
from adanet.testing import searches
import numpy as np


_FEATURES = {"x": builders.data()[0]}


def _write_latest(model_dir, step):
  """Writes which checkpoint is the latest of a model_dir."""
  with open(os.path.join(model_dir, "checkpoint"), "w", encoding="utf-8") as f:
    f.write(f'model_checkpoint_path: "model.ckpt-{step}"\n')


class _Job:
  """Stands for a process that trains on: saves a checkpoint, deletes the last.

  Attributes:
    num_saves: int, how many checkpoints it has still to save.
    step: int, the number of the latest checkpoint.
  """

  def __init__(self, model_dir, step, deletes):
    self.num_saves = 0
    self.step = step
    self._model_dir = model_dir
    self._deletes = deletes

  def save(self):
    """Saves the next checkpoint, if there is one to save."""
    if not self.num_saves:
      return
    self.num_saves -= 1
    before, self.step = f"model.ckpt-{self.step}.", self.step + 1
    for name in os.listdir(self._model_dir):
      if name.startswith(before):
        path = os.path.join(self._model_dir, name)
        with open(path, "rb") as f:
          content = f.read()
        ending = name[len(before):]
        with open(os.path.join(
            self._model_dir, f"model.ckpt-{self.step}.{ending}"), "wb") as f:
          f.write(content)
        if ending.startswith(self._deletes):
          os.remove(path)
    _write_latest(self._model_dir, self.step)


class _Builder(builders.Dense):
  """A network during whose building a `_Job` trains on."""

  job = None

  def build_subnetwork(self, *args, **kwargs):
    if self.job:
      self.job.save()
    return super().build_subnetwork(*args, **kwargs)


def _serving_input():
  return export.build_raw_serving_input_receiver_fn(builders.input_fn(1))()


_ANSWERS = {
    "evaluate": lambda e, **kw: e.evaluate(
        builders.input_fn(1), **kw)["average_loss"],
    "predict": lambda e, **kw: [
        row["predictions"] for row in e.predict(builders.input_fn(1), **kw)],
    "predictor": lambda e, **kw: e.predictor(
        _FEATURES, **kw)(_FEATURES)["predictions"],
    "export": lambda e, **kw: _served(e.export_saved_model(
        os.path.join(e.model_dir, "export"), _serving_input, **kw)),
    "variable": lambda e: e.get_variable_value("global_step"),
    "variables": lambda e: e.get_variable_names(),
}


def _served(path):
  """Returns what a SavedModel predicts."""
  v1 = tf_compat.v1
  with v1.Graph().as_default(), v1.Session() as session:
    loaded = v1.saved_model.load(
        session, [v1.saved_model.tag_constants.SERVING], path.decode())
    signature = loaded.signature_def["predict"]
    tensor, = signature.inputs.values()
    return session.run(signature.outputs["predictions"].name,
                       {tensor.name: _FEATURES["x"]})


class LiveModelDirTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._trained = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    searches.estimator(cls._trained, _Builder("a"), max_iterations=1).train(
        builders.input_fn())

  def setUp(self):
    super().setUp()
    self._builder = _Builder("a")
    self._estimator = searches.estimator(
        os.path.join(self.create_tempdir().full_path, "model"), self._builder,
        max_iterations=1)
    shutil.copytree(self._trained, self._estimator.model_dir)
    _write_latest(self._estimator.model_dir, 4)  # Not that of `_trained`.

  def _train_on(self, num_saves, deletes=""):
    """Lets a job save checkpoints, each when the builder is called."""
    self._builder.job = _Job(self._estimator.model_dir, 4, deletes)
    self._builder.job.num_saves = num_saves
    return self._builder.job

  @parameterized.parameters(*level.first([
      ("evaluate", ""), ("predict", "data"), ("predictor", ""), ("export", ""),
      ("variables", ""), ("variable", "data"), ("evaluate", "data"),
      ("predict", ""), ("predictor", "data"), ("export", "data"),
      ("variable", "")], 6))
  def test_latest_checkpoint_is_deleted_before_it_is_read(self, how, deletes):
    answer = _ANSWERS[how]
    expected = answer(self._estimator)
    job = self._train_on(1, deletes)
    saved_checkpoint = model_dir_lib.ModelDir.saved_checkpoint

    def chosen(model_dir):
      checkpoint = saved_checkpoint(model_dir)
      if how.startswith("variable"):  # No graph is built.
        job.save()
      return checkpoint

    with mock.patch.object(model_dir_lib.ModelDir, "saved_checkpoint", chosen):
      with self.assertLogs(level="WARNING") as logged:
        found = answer(self._estimator)
    np.testing.assert_array_equal(expected, found)
    self.assertEqual(5, job.step)
    self.assertIn("model.ckpt-4 was deleted while it was read: the latest one "
                  "is next.", "\n".join(logged.output))

  @parameterized.parameters(*level.first(
      ["evaluate", "predict", "predictor", "export"], 2))
  def test_checkpoint_of_the_user_that_is_deleted(self, how):
    self._train_on(1).save()
    checkpoint = os.path.join(self._estimator.model_dir, "model.ckpt-4")
    with self.assertRaisesRegex(
        checkpoints.DeletedError,
        f"^{checkpoint} is not there: a job deletes its older checkpoints, and "
        "the latest one is model.ckpt-5. .*keep_checkpoint_max"):
      _ANSWERS[how](self._estimator, checkpoint_path=checkpoint)

  def test_job_that_saves_faster_than_a_graph_is_built(self):
    job = self._train_on(100)
    with self.assertRaisesRegex(
        checkpoints.DeletedError, "model.ckpt-8 .* the latest one is "
        "model.ckpt-9.*keep_checkpoint_max"):
      self._estimator.evaluate(builders.input_fn(1))
    self.assertEqual(95, job.num_saves)

  def test_checkpoint_is_deleted_when_it_is_read(self):
    """What is read by then needs no checkpoint."""
    job = self._train_on(0)
    rows = self._estimator.predict(builders.input_fn(1))
    first = next(rows)
    job.num_saves = 1
    job.save()
    self.assertLen([first, *rows], 32)

  def test_mistake_of_the_user_is_not_repeated(self):
    job = self._train_on(9)

    def input_fn():
      job.save()
      raise ValueError("mine")

    with self.assertRaisesRegex(ValueError, "^mine$"):
      self._estimator.evaluate(input_fn)
    self.assertEqual(8, job.num_saves)

  @parameterized.parameters(*level.first(
      ["evaluate", "predict", "predictor", "export"], 2))
  def test_damaged_checkpoint_keeps_its_advice(self, how):
    os.remove(os.path.join(self._estimator.model_dir, "model.ckpt-4.index"))
    with self.assertRaisesRegex(
        checkpoints.CheckpointError, "the file 'checkpoint' names it, but it "
        "is not there.* let this be the only line of"):
      _ANSWERS[how](self._estimator)


if __name__ == "__main__":
  absltest.main()
