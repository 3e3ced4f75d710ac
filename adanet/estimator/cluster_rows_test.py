# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which rows of the input each network of a real cluster is trained on."""

import itertools
import json
import os
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
import numpy as np

_WAIT_SECS = 300
_ROWS = 400
_BATCH = 8
# Four epochs: of the chief and three workers that train one network, at least
# one reads as many batches as an epoch has, however fast the others are.
_STEPS = 4 * _ROWS // _BATCH
_NAMES = ("a", "b", "c")

_STRATEGIES = (distributed.RoundRobinStrategy(),
               distributed.BalancedStrategy(),
               distributed.ReplicationStrategy())
# With five workers, some of a BalancedStrategy train in turns. With an input
# that ends, the workers of a ReplicationStrategy do not end at once.
_CASES = ((distributed.RoundRobinStrategy, 3, False),
          (distributed.ReplicationStrategy, 3, False),
          (distributed.BalancedStrategy, 5, True),
          (distributed.ReplicationStrategy, 3, True))
_ALL_CASES = flags.DEFINE_boolean(
    "all_cases", False, "Try each strategy on each cluster and input.")


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


def _estimator(model_dir, strategy):
  return adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(*map(_Counting, _NAMES)),
      max_iteration_steps=_STEPS, max_iterations=1, worker_wait_timeout_secs=_WAIT_SECS,
      config=tf_compat.RunConfig(
          model_dir=model_dir, save_checkpoints_secs=None,
          save_summary_steps=None),
      placement_strategy=strategy)


def _task(connection, model_dir, strategy, cluster, task_type, index,
          num_epochs):
  """Runs a task, and sends what it failed with, or None."""
  os.environ["TF_CONFIG"] = json.dumps(
      {"cluster": cluster, "task": {"type": task_type, "index": index}})
  features, labels = builders.data(_ROWS)
  try:
    _estimator(model_dir, strategy).train(
        adanet.inputs.numpy_input_fn(
            {"x": features, "row": np.arange(_ROWS)}, labels, _BATCH,
            num_epochs=num_epochs, shuffle=True))
    connection.send(None)
  except BaseException:  # pylint: disable=broad-except
    connection.send(traceback.format_exc())


def _seen(connection, model_dir, strategy):
  """Sends how often each network was trained on each row."""
  estimator = _estimator(model_dir, strategy)
  connection.send([estimator.get_variable_value(
      f"adanet/iteration_0/subnetwork_t0_{name}/seen") for name in _NAMES])


class ClusterRowsTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    tf_compat.v1.ConfigProto()  # Loads TensorFlow once for all processes.

  def _train(self, strategy, num_workers, num_epochs):
    """Returns how often each network of a job was trained on each row."""
    model_dir = self.create_tempdir().full_path
    cluster = processes.free_cluster(chief=1, worker=num_workers, ps=2)
    tasks = [
        (job, i, processes.Process(
            _task, model_dir, strategy, cluster, job, i, num_epochs))
        for job, addresses in cluster.items() for i in range(len(addresses))]
    for _, _, process in tasks:
      self.addCleanup(process.kill)
    deadline = time.monotonic() + _WAIT_SECS
    for job, i, process in tasks:
      self.assertTrue(
          process.has_replied(max(deadline - time.monotonic(), 0.)),
          f"{job}:{i} does not end")
      self.assertIsNone(process.receive(), f"{job}:{i}")
    return processes.Process(_seen, model_dir, strategy).receive()

  # Workers beside the chief, and whether the input has an end.
  @parameterized.parameters(*itertools.product(
      _STRATEGIES, (3, 5), (False, True)))
  def test_each_network_sees_all_rows(self, strategy, num_workers, has_end):
    if not _ALL_CASES.value and (
        type(strategy), num_workers, has_end) not in _CASES:
      self.skipTest("--all_cases tries it, too")
    seen = self._train(strategy, num_workers, 1 if has_end else None)
    for name, counts in zip(_NAMES, seen):
      self.assertEqual([], np.flatnonzero(counts == 0).tolist(), name)
      if has_end:
        self.assertEqual({1}, set(counts), name)


if __name__ == "__main__":
  absltest.main()
