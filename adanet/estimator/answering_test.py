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
from adanet.tf_compat import checkpoint_file
from adanet.training import sessions
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
    cls._trained = {}
    for steps in (3, 4):  # Without a winner, and with it.
      cls._trained[steps] = tempfile.mkdtemp(
          dir=absltest.get_default_test_tmpdir())
      searches.estimator(
          cls._trained[steps], _Builder("a"), max_iterations=1).train(
              builders.input_fn(), steps=steps if steps < 4 else None)

  def setUp(self):
    super().setUp()
    self._builder = _Builder("a")

  def _copy(self, steps, deletes=""):
    """Returns an estimator that was trained, and a job that trains on."""
    estimator = searches.estimator(
        os.path.join(self.create_tempdir().full_path, "model"), self._builder,
        max_iterations=1)
    shutil.copytree(self._trained[steps], estimator.model_dir)
    _write_latest(estimator.model_dir, steps)  # Not that of `_trained`.
    return estimator, _Job(estimator.model_dir, steps, deletes)

  def _save_before_restored(self, job):
    """Lets a job save each time that a checkpoint is about to be restored."""
    restore = sessions.Restorer.restore

    def restore_later(restorer, session):
      job.save()
      restore(restorer, session)

    self.enter_context(mock.patch.object(
        sessions.Restorer, "restore", restore_later))

  def _save_when_chosen(self, job):
    """Lets a job save each time that the latest checkpoint is chosen."""
    saved_checkpoint = model_dir_lib.ModelDir.saved_checkpoint

    def chosen(model_dir):
      checkpoint = saved_checkpoint(model_dir)
      job.save()
      return checkpoint

    self.enter_context(mock.patch.object(
        model_dir_lib.ModelDir, "saved_checkpoint", chosen))

  @parameterized.parameters(*level.first([
      ("evaluate", 3, ""), ("predict", 4, "data"), ("predictor", 4, ""),
      ("export", 3, ""), ("variables", 4, ""), ("variable", 3, "data"),
      ("evaluate", 4, "data"), ("predict", 3, ""), ("predictor", 3, "data"),
      ("export", 4, "data"), ("variable", 4, "")], 6))
  def test_latest_checkpoint_is_deleted_before_it_is_read(
      self, how, steps, deletes):
    answer = _ANSWERS[how]
    estimator, job = self._copy(steps, deletes)
    expected = answer(estimator)
    job.num_saves = 1
    if how.startswith("variable"):
      self._save_when_chosen(job)
    else:
      self._save_before_restored(job)
    with self.assertLogs(level="WARNING") as logged:
      actual = answer(estimator)
    np.testing.assert_array_equal(expected, actual)
    self.assertEqual(steps + 1, job.step)
    self.assertIn(f"model.ckpt-{steps} was deleted while it was read: the "
                  "latest one is next.", "\n".join(logged.output))

  @parameterized.parameters(*level.first([
      ("evaluate", 3, 1), ("evaluate", 4, 2), ("predict", 3, 1),
      ("predictor", 3, 1), ("export", 3, 1)], 2))
  def test_job_saves_while_the_graph_is_built(self, how, steps, num_graphs):
    """The graph stays, unless it is that of a winner."""
    estimator, job = self._copy(steps)
    expected = _ANSWERS[how](estimator)
    self._builder.calls.clear()
    job.num_saves = 1
    self._builder.job = job
    np.testing.assert_array_equal(expected, _ANSWERS[how](estimator))
    self.assertEqual(0, job.num_saves)
    self.assertEqual(["build"] * num_graphs, self._builder.calls)

  def test_job_saves_again_while_the_next_checkpoint_is_looked_up(self):
    estimator, job = self._copy(3)
    expected = _ANSWERS["evaluate"](estimator)
    job.num_saves = 1
    self._save_before_restored(job)
    latest = checkpoint_file.latest

    def latest_for_a_moment(folder):
      checkpoint = latest(folder)
      if checkpoint.endswith("-4") and job.step == 4:
        job.num_saves = 1
        job.save()
      return checkpoint

    with mock.patch.object(checkpoint_file, "latest", latest_for_a_moment):
      np.testing.assert_array_equal(
          expected, _ANSWERS["evaluate"](estimator))
    self.assertEqual(5, job.step)

  @parameterized.parameters(*level.first(
      ["evaluate", "predict", "predictor", "export"], 2))
  def test_checkpoint_of_the_user_that_is_deleted(self, how):
    estimator, job = self._copy(3)
    job.num_saves = 1
    job.save()
    checkpoint = os.path.join(estimator.model_dir, "model.ckpt-3")
    with self.assertRaisesRegex(
        checkpoints.DeletedError,
        f"^{checkpoint} is not there: a job deletes its older checkpoints, and "
        "the latest one is model.ckpt-4. .*keep_checkpoint_max"):
      _ANSWERS[how](estimator, checkpoint_path=checkpoint)

  def test_checkpoint_of_the_user_is_not_replaced(self):
    estimator, job = self._copy(3)
    self._builder.job, job.num_saves = job, 1
    with self.assertRaises(checkpoints.DeletedError):
      estimator.evaluate(builders.input_fn(1), checkpoint_path=os.path.join(
          estimator.model_dir, "model.ckpt-3"))

  def test_job_that_saves_faster_than_a_checkpoint_is_read(self):
    estimator, job = self._copy(3)
    job.num_saves = 100
    self._save_before_restored(job)
    with self.assertRaisesRegex(
        checkpoints.DeletedError, "model.ckpt-7 .* the latest one is "
        "model.ckpt-8.*keep_checkpoint_max"):
      estimator.evaluate(builders.input_fn(1))
    self.assertEqual(95, job.num_saves)

  def test_checkpoint_is_deleted_when_it_is_read(self):
    """What is read by then needs no checkpoint."""
    estimator, job = self._copy(3)
    rows = estimator.predict(builders.input_fn(1))
    first = next(rows)
    job.num_saves = 1
    job.save()
    self.assertLen([first, *rows], 32)

  def test_mistake_of_the_user_is_not_repeated(self):
    estimator, job = self._copy(3)
    job.num_saves = 9

    def input_fn():
      job.save()
      raise ValueError("mine")

    with self.assertRaisesRegex(ValueError, "^mine$"):
      estimator.evaluate(input_fn)
    self.assertEqual(8, job.num_saves)

  @parameterized.parameters(*level.first(
      ["evaluate", "predict", "predictor", "export"], 2))
  def test_damaged_checkpoint_keeps_its_advice(self, how):
    estimator, _ = self._copy(3)
    os.remove(os.path.join(estimator.model_dir, "model.ckpt-3.index"))
    with self.assertRaisesRegex(
        checkpoints.CheckpointError, "the file 'checkpoint' names it, but it "
        "is not there.* let this be the only line of"):
      _ANSWERS[how](estimator)


if __name__ == "__main__":
  absltest.main()
