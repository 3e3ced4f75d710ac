# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files that training writes for TensorBoard and other programs.

What is expected is what AdaNet 0.8.0 and `tf.estimator` write.
"""

import glob
import os
import time
from unittest import mock

from absl.testing import absltest
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import searches
from adanet.training import training_summaries
import numpy as np


class TrainingFilesTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _train(self, hooks=(), saving_listeners=(), builder=builders.Dense("a"),
             **config):
    """Trains two iterations of 8 steps; returns the estimator."""
    estimator = searches.estimator(
        self._model_dir, builder, max_iteration_steps=8,
        config=tf_compat.RunConfig(**config))
    return estimator.train(builders.input_fn(), hooks=hooks,
                           saving_listeners=saving_listeners)

  def _events(self):
    """Yields what is in the file of events of the model_dir."""
    path, = glob.glob(os.path.join(self._model_dir, "events.*"))
    return tf_compat.v1.train.summary_iterator(path)

  def _rates(self):
    """Returns pairs of a step and the global steps a second."""
    return [(event.step, value.simple_value) for event in self._events()
            for value in event.summary.value if value.tag == "global_step/sec"]

  def _names(self, ending):
    return sorted(os.path.basename(path)[:-len(ending)] for path in glob.glob(
        os.path.join(self._model_dir, "*" + ending)))

  def test_step_rate_and_graphs(self):
    estimator = self._train(
        log_step_count_steps=3, save_checkpoints_steps=2, keep_checkpoint_max=3)
    rates = self._rates()
    # The first step of an iteration takes longer: a session begins.
    self.assertEqual([4, 7, 12, 15], [step for step, _ in rates])
    self.assertGreater(min(rate for _, rate in rates), 0)
    self.assertEqual(
        ["graph_def", "meta_graph_def"] * 2,
        [event.WhichOneof("what") for event in self._events()
         if "graph_def" in event.WhichOneof("what")])
    with open(os.path.join(self._model_dir, "graph.pbtxt")) as f:
      self.assertIn('"adanet/iteration_1/subnetwork_t1_a/hidden"', f.read())
    self.assertLen(self._names(".meta"), 3)
    self.assertEqual(self._names(".index"), self._names(".meta"))
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      path = estimator.latest_checkpoint()
      v1.train.import_meta_graph(path + ".meta").restore(session, path)
      for variable in v1.global_variables():
        np.testing.assert_array_equal(
            session.run(variable),
            estimator.get_variable_value(variable.op.name))

  def test_no_step_rate(self):
    self._train(log_step_count_steps=None)
    self.assertEmpty(self._rates())

  def test_step_rate_where_others_train_too(self):
    writer = mock.Mock()
    rate = training_summaries.StepRate(writer, 5)
    with mock.patch.object(time, "time", side_effect=[10., 12., 16.]):
      for global_step in (3, 7, 9, 9, 13, 21):
        rate.count(global_step)
    self.assertEqual(
        [mock.call("", {"global_step/sec": 3.}, 9),
         mock.call("", {"global_step/sec": 3.}, 21)],
        writer.add_scalars.call_args_list)

  def test_saver_hook_of_a_user_replaces_the_default(self):
    train = tf_compat.v1.train
    stop_at = [None]
    calls = []

    class Listener(train.CheckpointSaverListener):

      def after_save(self, session, global_step_value):
        calls.append(global_step_value)
        return global_step_value == stop_at[0]

    class Hook(train.CheckpointSaverHook):
      """Keeps what it counts, as it is one for all iterations."""
      num_steps = 0

      def after_run(self, run_context, run_values):
        self.num_steps += 1
        super().after_run(run_context, run_values)

    hook = Hook(self._model_dir, save_steps=5)
    listener = Listener()
    self._train([hook], [listener], save_checkpoints_steps=1,
                keep_checkpoint_max=None)
    self.assertEqual([0, 5, 8, 8, 13, 16], calls)
    self.assertCountEqual(
        ["increment.ckpt-1"] +
        [f"model.ckpt-{step}" for step in (0, 5, 8, 13, 16)],
        self._names(".index"))
    self.assertEqual(self._names(".index"), self._names(".meta"))
    self.assertEqual(16, hook.num_steps)
    # Its listener may ask for a stop.
    del calls[:]
    stop_at[0] = 5
    self._model_dir = self.create_tempdir().full_path
    estimator = self._train([Hook(self._model_dir, save_steps=5)], [listener])
    self.assertEqual([0, 5], calls)
    self.assertEqual(["model.ckpt-0", "model.ckpt-5"], self._names(".index"))
    self.assertEqual(5, estimator.get_variable_value("global_step"))

  def test_saver_hooks_of_builders_and_in_hooks(self):
    """They save beside the default; all is saved before hooks end."""
    train = tf_compat.v1.train
    told = {"train": [], "builder": [], "wrapped": []}
    ends = []

    class Listener(train.CheckpointSaverListener):

      def __init__(self, name):
        self._told = told[name]

      def after_save(self, session, global_step_value):
        self._told.append(global_step_value)

    class End(train.SessionRunHook):

      def end(self, session):
        ends.append(os.path.basename(train.latest_checkpoint(model_dir)))
        if len(ends) == 2:
          raise ValueError("the hook's own")

    def hook(name, steps):
      return train.CheckpointSaverHook(
          model_dir, save_steps=steps, listeners=[Listener(name)])

    model_dir = self._model_dir
    with self.assertRaisesRegex(ValueError, "the hook's own"):
      self._train(
          [End(), searches.Wrapped(hook("wrapped", 5))], [Listener("train")],
          builders.Hooked("a", chief_hooks=[hook("builder", 3)]),
          save_checkpoints_steps=6, keep_checkpoint_max=None)
    # An iteration begins with a checkpoint of which listeners are not told.
    self.assertEqual({
        "train": [0, 6, 8, 14, 16],
        "builder": [0, 3, 6, 8, 8, 11, 14, 16],
        "wrapped": [0, 5, 8, 8, 13]}, told)  # It was still to end.
    self.assertEqual(["model.ckpt-8", "model.ckpt-16"], ends)
    self.assertCountEqual(
        ["increment.ckpt-1"] + [f"model.ckpt-{step}" for step in (
            0, 3, 5, 6, 8, 11, 13, 14, 16)], self._names(".index"))


if __name__ == "__main__":
  absltest.main()
