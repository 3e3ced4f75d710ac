# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `adanet.Estimator` on one machine.

`adanet/testing/oracle` holds its figures against AdaNet's; here is what those
settings do not say.
"""

import glob
import os
import shutil
from unittest import mock

from absl.testing import absltest
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.core import events
from adanet.estimator import export
from adanet.progress import reporter
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_Dense = builders.Dense


class _Partitioned(_Dense):
  """A network whose variables are in parts, and those of its optimizer too."""

  def build_subnetwork(self, *args, **kwargs):
    v1 = tf_compat.v1
    with v1.variable_scope(
        "parts", partitioner=v1.fixed_size_partitioner(2, axis=1)):
      return super().build_subnetwork(*args, **kwargs)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    return tf_compat.v1.train.AdamOptimizer(.05).minimize(
        loss, var_list=var_list)


class _Stop(tf_compat.v1.train.SessionRunHook):
  """Asks for a stop after some runs; None for never."""

  def __init__(self, runs=None):
    self._left = runs

  def after_run(self, run_context, run_values):
    if self._left is not None:
      self._left -= 1
      if not self._left:
        run_context.request_stop()


class EstimatorTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _estimator(self, *builder_list, **kwargs):
    return searches.estimator(self._model_dir, *builder_list, **kwargs)

  @level.gate
  def test_copied_model_dir(self):
    def estimator():
      return self._estimator(
          _Dense("a"), warm_start_mixture_weights=True,
          config=tf_compat.RunConfig(
              save_checkpoints_steps=1, keep_checkpoint_max=2))

    estimator().train(builders.input_fn(), max_steps=4)
    original, self._model_dir = self._model_dir, self._model_dir + "-copy"
    shutil.copytree(original, self._model_dir)
    # Whatever is read of these would be noticed.
    for path in glob.glob(os.path.join(original, "*.ckpt-*")):
      open(path, "w").close()
    before = sorted(os.listdir(original))
    copy = estimator()
    self.assertEqual(4, copy.get_variable_value("global_step"))
    self.assertIn("global_step", copy.get_variable_names())
    copy.train(builders.input_fn())
    self.assertEqual(8, copy.evaluate(builders.input_fn(1))["global_step"])
    self.assertEqual(before, sorted(os.listdir(original)))
    with open(os.path.join(self._model_dir, "checkpoint")) as f:
      self.assertNotIn(original + "/", f.read())

  @level.gate
  def test_subnetwork_that_was_stopped_stays_stopped(self):
    builder_list = [builders.Hooked("a", [_Stop(2)]), _Dense("b")]
    self._estimator(*builder_list).train(builders.input_fn(), max_steps=2)
    estimator = self._estimator(
        builders.Hooked("a", [_Stop()]), builder_list[1], max_iterations=1)
    estimator.train(builders.input_fn())
    step = "adanet/iteration_0/subnetwork_t0_{}/step".format
    self.assertEqual(2, estimator.get_variable_value(step("a")))
    self.assertEqual(4, estimator.get_variable_value(step("b")))

  @level.gate
  def test_training_goes_on_where_it_was_stopped(self):
    builder_list = _Partitioned("a"), builders.Remembering("b", width=3)
    whole = self._estimator(*builder_list)
    # Batches of all rows, so that it does not matter where the input begins.
    input_fn = builders.input_fn(batch_size=32)
    whole.train(input_fn)
    # TensorFlow reads no slot of a part by itself.
    expected = {name: whole.get_variable_value(name)
                for name in whole.get_variable_names() if "part_" not in name}
    self._model_dir = self.create_tempdir().full_path
    for max_steps in (1, 5, None):
      parts = self._estimator(*builder_list)
      parts.train(input_fn, max_steps=max_steps)
    self.assertContainsSubset(expected, parts.get_variable_names())
    for name, value in expected.items():
      np.testing.assert_allclose(
          value, parts.get_variable_value(name), rtol=1e-5, atol=1e-6,
          err_msg=name)

  def test_model_dir_at_home(self):
    with mock.patch.dict(os.environ, HOME=self._model_dir):
      self.assertEqual(
          os.path.join(self._model_dir, "m"),
          adanet.Estimator(
              adanet.heads.RegressionHead(), builders.generator(), 1,
              model_dir="~/m").model_dir)

  @level.gate
  def test_relative_model_dir(self):
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self._model_dir)
    estimator = adanet.Estimator(
        adanet.heads.RegressionHead(), builders.generator(_Dense("a")), 1,
        config=tf_compat.RunConfig(model_dir="m"))
    estimator.train(builders.input_fn(), max_steps=1)
    os.chdir("/")
    self.assertEqual(os.path.join(self._model_dir, "m"), estimator.model_dir)
    self.assertEqual(1, estimator.evaluate(builders.input_fn(1))["global_step"])

  @level.gate
  def test_model_dir_that_tensorflow_reads_as_a_pattern(self):
    parent = self._model_dir
    # The pattern "[0]\\*?" does not match itself, but it does match "0*x".
    neighbor = os.path.join(parent, "0*x")
    os.mkdir(neighbor)
    kept = [f"model.ckpt-{step}.index" for step in range(7)]
    for name in kept:
      open(os.path.join(neighbor, name), "w").close()
    self._model_dir = os.path.join(parent, "[0]\\*?")
    for max_steps in 5, None:
      estimator = self._estimator(
          _Dense("a"), warm_start_mixture_weights=True,
          config=tf_compat.RunConfig(
              save_checkpoints_steps=1, keep_checkpoint_max=2))
      estimator.train(builders.input_fn(), max_steps=max_steps)
    self.assertSameElements(
        ["model.ckpt-7.index", "model.ckpt-8.index"],
        [name for name in os.listdir(self._model_dir)
         if name.endswith(".index")])
    self.assertSameElements(kept, os.listdir(neighbor))
    self.assertEqual(8, estimator.evaluate(builders.input_fn(1))["global_step"])
    self.assertEqual(8, estimator.get_variable_value("global_step"))
    self.assertIn("global_step", estimator.get_variable_names())
    self.assertLen(adanet.report(self._model_dir).iterations, 2)
    with self.assertLogs(level="WARNING") as logs:
      exported = estimator.export_saved_model(
          self._model_dir, lambda: export.ServingInputReceiver(
              *[{"x": tf_compat.v1.placeholder(tf_compat.v1.float32, [None, 3])}
                ] * 2)).decode()
    self.assertIn(
        "move the export out of " + self._model_dir, "".join(logs.output))
    moved = os.path.join(parent, "moved")
    os.rename(exported, moved)
    with tf_compat.v1.Graph().as_default(), tf_compat.v1.Session() as session:
      tf_compat.v1.saved_model.load(session, ["serve"], moved)

  @level.gate
  def test_says_that_it_takes_part(self):
    reader, writer = os.pipe()
    with mock.patch.dict(os.environ, {reporter.EVENTS_FD: str(writer)}):
      for _ in range(2):  # In the second life, training is over already.
        self._estimator(_Dense("a")).train(builders.input_fn(), max_steps=1)
    os.close(writer)
    with os.fdopen(reader) as f:
      event_list = [reporter.from_json_line(line) for line in f]
    joined = events.Joined(os.path.realpath(self._model_dir))
    self.assertEqual([joined, joined], [event_list[0], event_list[-1]])

  @level.gate
  def test_folders_for_tensorboard(self):
    estimator = self._estimator(_Dense("a"), max_iterations=1)
    estimator.train(builders.input_fn())
    estimator.evaluate(builders.input_fn(1), name="test")
    self.assertSetEqual(
        {".", "subnetwork/t0_a", "subnetwork/t0_a/eval_test", "eval_test",
         "ensemble/t0_a_grow_complexity_regularized",
         "ensemble/t0_a_grow_complexity_regularized/eval_test"},
        {os.path.relpath(os.path.dirname(path), self._model_dir)
         for path in glob.glob(
             os.path.join(self._model_dir, "**", "events.*"), recursive=True)})


if __name__ == "__main__":
  absltest.main()
