# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of AdaNet 0.8.0's Estimator on this project's strategies.

Two packages are named `adanet`. This process imports this project's. Its
children import AdaNet's, with this project's `distributed` in it: first on
their import path is a folder `adanet` of links.
"""

import collections
import json
import os
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import devices
from adanet.testing import processes
from adanet.testing import strategies
import runfiles

# What one worker owns: whether it builds the ensembles, which subnetworks it
# builds, and which it trains.
Owned = collections.namedtuple("Owned", "ensembles builds trains")

# For an iteration of two subnetworks and for one of three: what each worker
# owns, the chief first, and which parameter servers each subnetwork has.
_REPLICATION = [
    ([Owned(True, [0, 1], [0, 1])] * 2, [[0, 1]] * 2),
    ([Owned(True, [0, 1, 2], [0, 1, 2])] * 2, [[0, 1]] * 3),
]
_ROUND_ROBIN = [
    ([
        Owned(True, [0, 1], []),
        Owned(False, [0], [0]),
        Owned(False, [1], [1]),
        Owned(True, [0, 1], []),
        Owned(False, [0, 1], [0, 1]),
    ], [[0, 1], [2]]),
    ([
        Owned(True, [0, 1, 2], []),
        Owned(False, [0], [0]),
        Owned(False, [1], [1]),
        Owned(False, [2], [2]),
        Owned(True, [0, 1, 2], []),
    ], [[0], [1], [2]]),
]

_TIMEOUT_SECS = 400  # For each wait.
_TASK = os.path.join(
    os.path.dirname(__file__), "testdata", "reference_estimator_task.py")


def _built(names, iteration):
  """Returns what a worker built of an iteration.

  Args:
    names: the names of all its variables.
    iteration: int.

  Returns:
    bool, whether ensembles, and a dict from the index of each subnetwork to the
    list of its variables' names.
  """
  prefix = "adanet/iteration_{0}/{1}_t{0}_dnn".format
  subnetwork = prefix(iteration, "subnetwork")
  subnetworks = collections.defaultdict(list)
  for name in names:
    if name.startswith(subnetwork):
      subnetworks[int(name[len(subnetwork)])].append(name)
  ensemble = prefix(iteration, "ensemble")
  return any(name.startswith(ensemble) for name in names), subnetworks


class ReferenceEstimatorTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    theirs = runfiles.Create().Rlocation(
        "adanet_reference/site-packages/adanet-0.8.0/adanet")
    if not os.path.isdir(theirs):
      self.skipTest("adanet 0.8.0 runs on TensorFlow 1.15 only")
    ours = os.path.dirname(distributed.__file__)
    self._model_dir = self.create_tempdir("model").full_path
    self._import_path = self.create_tempdir("path").full_path
    package = self.create_tempdir("path/adanet").full_path
    for name in os.listdir(theirs):
      os.symlink(
          ours if name == "distributed" else os.path.join(theirs, name),
          os.path.join(package, name))
    # What our `distributed` imports. Here the mix is intended.
    for name in ("_submodules.py", "log.py"):
      os.symlink(os.path.join(os.path.dirname(ours), name),
                 os.path.join(package, name))
    with open(os.path.join(package, "_sole_owner.py"), "w") as f:
      f.write("def check():\n  pass\n")

  def _start(self, strategy, cluster, job, index):
    """Starts a task, which ends with the test at the latest."""
    tf_config = {"cluster": cluster, "task": {"type": job, "index": index}}
    return self.enter_context(processes.Program(
        [sys.executable, _TASK, strategy, self._model_dir],
        dict(os.environ, TF_CONFIG=json.dumps(tf_config),
             PYTHONPATH=os.pathsep.join([self._import_path] + sys.path)),
        stderr=None))

  def _run(self, strategy, num_ps, num_workers, num_iterations):
    """Runs a cluster, and then an evaluator.

    Returns:
      For each iteration a list of the workers' records, and the evaluator's
      metrics.
    """
    cluster = processes.free_cluster(ps=num_ps, chief=1, worker=num_workers - 1)
    tasks = {
        job: [self._start(strategy, cluster, job, i) for i in range(len(tasks))]
        for job, tasks in cluster.items()
    }
    workers = tasks["chief"] + tasks["worker"]
    records = []
    for _ in range(num_iterations):
      records.append([json.loads(worker.read()) for worker in workers])
      for worker in workers:
        worker.write("")
    for worker in workers:
      self.assertEqual(0, worker.process.wait(_TIMEOUT_SECS))
    evaluator = self._start(strategy, cluster, "evaluator", 0)
    return records, json.loads(evaluator.read())

  @parameterized.named_parameters(
      ("round_robin", "RoundRobinStrategy", 3, 5, _ROUND_ROBIN),
      ("replication", "ReplicationStrategy", 2, 2, _REPLICATION))
  def test_trains(self, strategy, num_ps, num_workers, iterations):
    records, metrics = self._run(strategy, num_ps, num_workers, len(iterations))
    for iteration, (workers, parameter_servers) in enumerate(iterations):
      for worker_index, owned in enumerate(workers):
        with self.subTest(iteration=iteration, worker_index=worker_index):
          record = records[iteration][worker_index]
          self.assertTrue(
              os.path.samefile(distributed.placement.__file__,
                               record["strategy"]))
          ensembles, subnetworks = _built(record["devices"], iteration)
          self.assertEqual(
              owned, Owned(ensembles, sorted(subnetworks), record["trains"]))
          for index, names in subnetworks.items():
            self.assertLen(names, 4)  # A kernel and a bias in each layer.
            tasks = parameter_servers[index]
            pick = devices.OpNameHashStrategy(len(tasks))
            for name in names:
              self.assertEqual(
                  f"/job:ps/task:{tasks[pick(strategies.Op(name))]}",
                  record["devices"][name])
    self.assertEqual(len(iterations) - 1, metrics["iteration"])
    # The best constant prediction leaves more than 1.
    self.assertLess(metrics["average_loss"], .1)


if __name__ == "__main__":
  absltest.main()
