# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a search on a real Ray, with the executor of a page."""

import glob
import os
import signal
import sys
import tempfile

from absl.testing import absltest
import adanet
from adanet import tf_compat
from adanet.launch import machine
from adanet.launch import processes as process_tree
from adanet.testing import builders
from adanet.testing import processes
from adanet.testing import searches
from adanet.testing import variables
from docs import pages

_INPUT = builders.input_fn(batch_size=5)
_REFUSED = 77
_END_SECS = 60.


def _estimator(model_dir, step_secs):
  """Returns an estimator whose every third step is saved, and one is slow."""
  return searches.estimator(
      model_dir, builders.Slow("a", step_secs), builders.Dense("b", 3),
      builders.Dense("c", 4), max_iteration_steps=12, max_iterations=3,
      ensemblers=[
          adanet.ensemble.ComplexityRegularizedEnsembler(
              lambda: tf_compat.v1.train.GradientDescentOptimizer(.1),
              use_bias=True),
          adanet.ensemble.GreedyEnsembler()],
      evaluator=adanet.Evaluator(builders.input_fn(1)),
      config=tf_compat.RunConfig(tf_random_seed=1, save_checkpoints_steps=3))


def _train_on_ray(unused_connection, model_dir, folder):
  """Trains with the page's executor in a network that only this process sees."""
  if not machine.enter_private_network():
    sys.exit(_REFUSED)
  os.environ.update(
      HOME=folder, RAY_TMPDIR=folder, RAY_USAGE_STATS_ENABLED="0",
      RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES=str(2**27))
  names = {}
  exec(compile(  # pylint: disable=exec-used
      pages.executor_of_ray(), pages.RAY, "exec"), names)
  with names["ray"].init(num_cpus=2):
    _estimator(model_dir, .3).train(_INPUT, executor=names["RayExecutor"]())


class RayTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    process_tree.adopt_orphans()
    self.addCleanup(process_tree.kill_descendants, _END_SECS)

  def test_has_the_figures_of_one_process_though_a_worker_is_killed(self):
    model_dir = self.create_tempdir().full_path
    # Not that of tests: the path of a socket has at most 107 characters.
    folder = self.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))
    on_ray = processes.Process(_train_on_ray, model_dir, folder)
    attempts = os.path.join(model_dir, "parts", "1", "a", "*-*-*")
    checkpoint = os.path.join(attempts, "model.ckpt-15.index")
    processes.wait_until(
        lambda: glob.glob(checkpoint) or on_ray.status is not None, checkpoint)
    if on_ray.status == _REFUSED:
      self.skipTest("The kernel refuses namespaces.")
    self.assertIsNone(on_ray.status)
    saved, = glob.glob(checkpoint)
    attempt = os.path.basename(os.path.dirname(saved))
    os.kill(int(attempt.rsplit("-", 2)[1]), signal.SIGKILL)
    processes.wait_until(
        lambda: len(glob.glob(attempts)) == 2, "another worker")
    self.assertEqual(0, on_ray.wait_until_ended())

    alone = _estimator(self.create_tempdir().full_path, 0.)
    alone.train(_INPUT)
    variables.assert_equal(
        variables.latest(alone.model_dir), variables.latest(model_dir))
    estimator = _estimator(model_dir, 0.)
    self.assertEqual(
        [i.winner for i in alone.history().iterations],
        [i.winner for i in estimator.history().iterations])
    self.assertEqual(alone.evaluate(builders.input_fn(1)),
                     estimator.evaluate(builders.input_fn(1)))
    processes.wait_until(
        lambda: not process_tree.descendants(os.getpid()),
        "the end of Ray's processes", _END_SECS)


if __name__ == "__main__":
  absltest.main()
