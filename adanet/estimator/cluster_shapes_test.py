# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search on clusters of many shapes, with a real server in each task."""

import json
import os
import tempfile
import time
import traceback

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import processes
from adanet.testing import searches

_WAIT_SECS = 300
# Workers, the chief included, and parameter servers.
_SHAPES = ((1, 0), (1, 1), (2, 1), (3, 3), (5, 3), (7, 2))
# Each strategy, and those of the shapes that are tried in each run. Other tests
# have clusters, too.
_STRATEGIES = (
    (distributed.RoundRobinStrategy(), ()),
    (distributed.RoundRobinStrategy(drop_remainder=True), ()),
    (distributed.ReplicationStrategy(), ()),
    (distributed.BalancedStrategy(costs=[1, 2, 4]), ()),
    (distributed.BalancedStrategy(num_ensemble_workers=0), ((2, 1),)),
    (distributed.BalancedStrategy("measured", "measured"), ((3, 3),)),
)
_STEPS = 20

_ALL_SHAPES = flags.DEFINE_boolean(
    "all_shapes", False, "Try each strategy on each shape.")


def _estimator(model_dir, strategy):
  v1 = tf_compat.v1
  return adanet.Estimator(
      adanet.heads.RegressionHead(), builders.generator(
          # The one in the middle is the best by far.
          *[builders.Dense(f"n{i}", width=4 + i, learning_rate=rate)
            for i, rate in enumerate([.0001, .1, .001])]),
      max_iteration_steps=_STEPS, max_iterations=2, force_grow=True,
      worker_wait_timeout_secs=_WAIT_SECS,
      ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
          lambda: v1.train.GradientDescentOptimizer(.001))],
      config=tf_compat.RunConfig(
          model_dir=model_dir, tf_random_seed=1, save_checkpoints_secs=None,
          save_summary_steps=None),
      placement_strategy=strategy)


def _task(connection, model_dir, strategy, cluster, task_type, index,
          max_steps, of_user):
  """Runs a task, and sends what it failed with, or None.

  Args:
    connection: to the test.
    model_dir: str.
    strategy: `PlacementStrategy`.
    cluster: dict of addresses.
    task_type: str.
    index: int.
    max_steps: int, or None.
    of_user: whether hooks of the user save, and arrays are the input.
  """
  os.environ["TF_CONFIG"] = json.dumps(
      {"cluster": cluster, "task": {"type": task_type, "index": index}})
  try:
    input_fn, hooks = builders.input_fn(), ()
    if of_user:
      features, labels = builders.data()
      input_fn = adanet.inputs.numpy_input_fn(
          {"x": features}, labels, 8, num_epochs=None, shuffle=True)
      hooks = [make(tf_compat.v1.train.CheckpointSaverHook(
          model_dir, save_steps=2)) for make in (lambda h: h, searches.Wrapped)]
    adanet.train_and_evaluate(
        _estimator(model_dir, strategy),
        adanet.TrainSpec(input_fn, max_steps, hooks),
        adanet.EvalSpec(builders.input_fn(1)))
    connection.send(None)
  except BaseException:  # pylint: disable=broad-except
    connection.send(traceback.format_exc())


def _graphs(model_dir):
  """Returns what there is of graphs, for TensorBoard and other programs."""
  names = set(os.listdir(model_dir))
  return {
      "graph.pbtxt": "graph.pbtxt" in names,
      "checkpoints without one": [
          name for name in names if name.endswith(".index") and
          name.replace(".index", ".meta") not in names],
  }


def _result(connection, model_dir, strategy):
  """Sends what a search found, asked in a process without a cluster."""
  estimator = _estimator(model_dir, strategy)
  connection.send({
      "graphs": _graphs(model_dir),
      "loss": float(estimator.evaluate(builders.input_fn(1))["average_loss"]),
      "winners": [r.winner for r in adanet.report(model_dir).iterations],
      "shapes": {name: estimator.get_variable_value(name).shape
                 for name in estimator.get_variable_names()},
  })


def _steps(connection, model_dir, strategy):
  """Sends how often each subnetwork and ensemble was trained."""
  estimator = _estimator(model_dir, strategy)
  connection.send([
      int(estimator.get_variable_value(name))
      for name in estimator.get_variable_names() if name.endswith("/step")])


def _local(connection, model_dir, strategy):
  """Trains without a cluster, and sends what the search found."""
  estimator = _estimator(model_dir, strategy)
  estimator.train(builders.input_fn())
  _result(connection, model_dir, strategy)


class ClusterShapesTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    tf_compat.v1.ConfigProto()  # Loads TensorFlow once for all processes.
    with tempfile.TemporaryDirectory() as model_dir:
      cls._expected = processes.Process(
          _local, model_dir, distributed.ReplicationStrategy()).receive()

  def _train(self, model_dir, strategy, num_workers, num_ps, max_steps=None,
             of_user=False):
    """Trains on a cluster and waits until all tasks have ended."""
    cluster = processes.free_cluster(
        chief=1, worker=num_workers - 1, ps=num_ps)
    tasks = [
        (job, i, processes.Process(
            _task, model_dir, strategy, cluster, job, i, max_steps, of_user))
        for job, addresses in cluster.items() for i in range(len(addresses))]
    for _, _, process in tasks:
      self.addCleanup(process.kill)
    deadline = time.monotonic() + _WAIT_SECS
    for job, i, process in tasks:
      self.assertTrue(
          process.has_replied(max(deadline - time.monotonic(), 0.)),
          f"{job}:{i} does not end")
      self.assertIsNone(process.receive(), f"{job}:{i}")

  @parameterized.parameters(
      (strategy, shapes, shape)
      for strategy, shapes in _STRATEGIES for shape in _SHAPES)
  def test_finds_what_one_process_finds(self, strategy, shapes, shape):
    if shape not in shapes and not _ALL_SHAPES.value:
      self.skipTest("--all_shapes tries it, too")
    num_workers, num_ps = shape
    model_dir = self.create_tempdir().full_path
    self._train(model_dir, strategy, num_workers, num_ps)
    found = processes.Process(_result, model_dir, strategy).receive()
    self.assertEqual({"graph.pbtxt": True, "checkpoints without one": []},
                     found["graphs"])
    plan = distributed.plan.PlacementPlan(strategy, num_workers, num_ps, 3)
    if plan.training_time() == float("inf"):
      # Some candidates are not trained, as a warning says. So others win.
      self.assertLen(found["shapes"], len(self._expected["shapes"]))
      return
    self.assertEqual(self._expected["shapes"], found["shapes"])
    self.assertEqual(self._expected["winners"], found["winners"])
    self.assertLess(found["loss"], 2 * self._expected["loss"] + .01)

  def test_ensembles_have_caught_up_at_max_steps(self):
    model_dir = self.create_tempdir().full_path
    strategy = distributed.RoundRobinStrategy()
    self._train(
        model_dir, strategy, 2, 1, max_steps=_STEPS // 2, of_user=True)
    found = processes.Process(_steps, model_dir, strategy).receive()
    self.assertLen(found, 6)  # Of three subnetworks, and of their ensembles.
    self.assertBetween(min(found), _STEPS // 2, _STEPS // 2 + 1)
    self.assertBetween(max(found), _STEPS // 2, _STEPS // 2 + 1)


if __name__ == "__main__":
  absltest.main()
