# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files that training writes for TensorBoard and other programs.

What is expected is what AdaNet 0.8.0 and `tf.estimator` write.
"""

import glob
import os

from absl.testing import absltest
import adanet
from adanet import tf_compat
from adanet.testing import builders
import numpy as np


class TrainingFilesTest(absltest.TestCase):

  def _train(self, **config):
    """Trains two iterations of 8 steps; returns the estimator."""
    self._model_dir = self.create_tempdir().full_path
    estimator = adanet.Estimator(
        adanet.heads.RegressionHead(),
        builders.generator(builders.Dense("a"), builders.Dense("b", width=3)),
        max_iteration_steps=8, max_iterations=2,
        config=tf_compat.RunConfig(model_dir=self._model_dir, **config))
    return estimator.train(builders.input_fn())

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


if __name__ == "__main__":
  absltest.main()
