# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search on clusters of some shapes, with a real server in each task."""

import json
import os
import time
import traceback

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import processes
from adanet.testing import searches
import numpy as np

_WAIT_SECS = 300
_STEPS = 20
_NAMES = ("a", "b", "c")
_ROWS = 120
_BATCH = 8
# Four epochs: of the chief and three workers that train one network, at least
# one reads as many batches as an epoch has, however fast the others are.
_STEPS_OF_ROWS = 4 * _ROWS // _BATCH


def _search(model_dir, strategy):
  """Returns an estimator of which network the best is known."""
  v1 = tf_compat.v1
  return searches.estimator(
      model_dir,
      # The one in the middle is the best by far.
      *[builders.Dense(f"n{i}", width=4 + i, learning_rate=rate)
        for i, rate in enumerate([.0001, .1, .001])],
      max_iteration_steps=_STEPS, force_grow=True,
      worker_wait_timeout_secs=_WAIT_SECS,
      ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
          lambda: v1.train.GradientDescentOptimizer(.001))],
      config=tf_compat.RunConfig(
          tf_random_seed=1, save_checkpoints_secs=None,
          save_summary_steps=None),
      placement_strategy=strategy)


class _Counting(builders.Dense):
  """Counts in a variable how often its network is trained on each row."""

  def build_subnetwork(self, features, **arguments):
    v1 = tf_compat.v1
    self._rows = features["row"]
    self._seen = v1.get_variable(
        "seen", [_ROWS], v1.int64, v1.zeros_initializer(), trainable=False)
    return super().build_subnetwork({"x": features["x"]}, **arguments)

  def build_subnetwork_train_op(self, *args, **kwargs):
    v1 = tf_compat.v1
    return v1.group(
        super().build_subnetwork_train_op(*args, **kwargs),
        v1.scatter_add(self._seen, self._rows, v1.ones_like(self._rows)))


def _counting_search(model_dir, strategy):
  """Returns an estimator that counts rows."""
  return searches.estimator(
      model_dir, *map(_Counting, _NAMES), max_iteration_steps=_STEPS_OF_ROWS,
      max_iterations=1, worker_wait_timeout_secs=_WAIT_SECS,
      config=tf_compat.RunConfig(
          save_checkpoints_secs=None, save_summary_steps=None),
      placement_strategy=strategy)


def _train_search(model_dir, strategy):
  adanet.train_and_evaluate(
      _search(model_dir, strategy), adanet.TrainSpec(builders.input_fn()),
      adanet.EvalSpec(builders.input_fn(1)))


def _train_half(model_dir, strategy):
  """Trains half an iteration on arrays, where hooks of the user save."""
  features, labels = builders.data()
  hooks = [make(tf_compat.v1.train.CheckpointSaverHook(
      model_dir, save_steps=2)) for make in (lambda h: h, searches.Wrapped)]
  _search(model_dir, strategy).train(
      adanet.inputs.numpy_input_fn(
          {"x": features}, labels, 8, num_epochs=None, shuffle=True),
      hooks=hooks, max_steps=_STEPS // 2)


def _train_rows(model_dir, strategy, num_epochs):
  features, labels = builders.data(_ROWS)
  _counting_search(model_dir, strategy).train(
      adanet.inputs.numpy_input_fn(
          {"x": features, "row": np.arange(_ROWS)}, labels, _BATCH,
          num_epochs=num_epochs, shuffle=True))


def _task(connection, cluster, task_type, index, train, *arguments):
  """Runs a task, and sends what it failed with, or None."""
  os.environ["TF_CONFIG"] = json.dumps(
      {"cluster": cluster, "task": {"type": task_type, "index": index}})
  try:
    train(*arguments)
    connection.send(None)
  except BaseException:  # pylint: disable=broad-except
    connection.send(traceback.format_exc())


def _result(connection, model_dir, strategy, trains=False):
  """Sends what a search found, asked in a process without a cluster."""
  estimator = _search(model_dir, strategy)
  if trains:
    estimator.train(builders.input_fn())
  names = set(os.listdir(model_dir))
  connection.send({
      # For TensorBoard and other programs.
      "graphs": ["graph.pbtxt" in names] + [
          name for name in names if name.endswith(".index") and
          name.replace(".index", ".meta") not in names],
      "loss": float(estimator.evaluate(builders.input_fn(1))["average_loss"]),
      "winners": [r.winner for r in adanet.report(model_dir).iterations],
      "shapes": {name: estimator.get_variable_value(name).shape
                 for name in estimator.get_variable_names()},
  })


def _variables(connection, model_dir, suffix):
  """Sends the variables whose names have an ending."""
  estimator = _search(model_dir, None)
  connection.send([
      estimator.get_variable_value(name)
      for name in estimator.get_variable_names() if name.endswith(suffix)])


class ClusterShapesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    tf_compat.v1.ConfigProto()  # Loads TensorFlow once for all processes.
    self._model_dir = self.create_tempdir().full_path

  def _train(self, strategy, num_workers, num_ps, train, *arguments):
    """Trains on a cluster and waits until all tasks have ended.

    Args:
      strategy: `PlacementStrategy`.
      num_workers: int, the chief included.
      num_ps: int.
      train: function of the model_dir, the strategy and of `arguments`.
      *arguments: what it gets.
    """
    cluster = processes.free_cluster(
        chief=1, worker=num_workers - 1, ps=num_ps)
    tasks = [
        (job, i, processes.Process(
            _task, cluster, job, i, train, self._model_dir, strategy,
            *arguments))
        for job, addresses in cluster.items() for i in range(len(addresses))]
    for _, _, process in tasks:
      self.addCleanup(process.kill)
    deadline = time.monotonic() + _WAIT_SECS
    for job, i, process in tasks:
      self.assertTrue(
          process.has_replied(max(deadline - time.monotonic(), 0.)),
          f"{job}:{i} does not end")
      self.assertIsNone(process.receive(), f"{job}:{i}")

  def test_finds_what_one_process_finds(self):
    alone = processes.Process(
        _result, self.create_tempdir().full_path,
        distributed.ReplicationStrategy(), True)
    strategy = distributed.BalancedStrategy("measured", "measured")
    self._train(strategy, 3, 2, _train_search)
    found = processes.Process(_result, self._model_dir, strategy).receive()
    expected = alone.receive()
    for what in "graphs", "shapes", "winners":
      self.assertEqual(expected[what], found[what])
    self.assertEqual([True], found["graphs"])
    self.assertLess(found["loss"], 2 * expected["loss"] + .01)

  def test_ensembles_have_caught_up_at_max_steps(self):
    self._train(distributed.RoundRobinStrategy(), 2, 1, _train_half)
    found = processes.Process(_variables, self._model_dir, "/step").receive()
    self.assertLen(found, 6)  # Of three subnetworks, and of their ensembles.
    self.assertBetween(min(found), _STEPS // 2, _STEPS // 2 + 1)
    self.assertBetween(max(found), _STEPS // 2, _STEPS // 2 + 1)

  # With six workers, some of a BalancedStrategy train in turns, and no one
  # trains alone.
  @parameterized.parameters(
      (distributed.ReplicationStrategy(), 4, False),
      (distributed.BalancedStrategy(num_ensemble_workers=0), 6, True))
  def test_each_network_sees_all_rows(self, strategy, num_workers, has_end):
    self._train(strategy, num_workers, 2, _train_rows, 1 if has_end else None)
    seen = processes.Process(_variables, self._model_dir, "/seen").receive()
    self.assertLen(seen, len(_NAMES))
    for counts in seen:
      self.assertEqual([], np.flatnonzero(counts == 0).tolist())
      if has_end:
        self.assertEqual({1}, set(counts))


if __name__ == "__main__":
  absltest.main()
