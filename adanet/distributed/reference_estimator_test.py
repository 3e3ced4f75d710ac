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
from adanet import distributed
from adanet.testing import processes
from adanet.testing import servers
import runfiles

# What one worker owns: whether it builds the ensembles, which subnetworks it
# builds, and which it trains.
Owned = collections.namedtuple("Owned", "ensembles builds trains")

# What each worker owns of the three subnetworks, the chief first, and which
# parameter server each subnetwork has.
_WORKERS = [
    Owned(True, [0, 1, 2], []),
    Owned(False, [0, 2], [0, 2]),
    Owned(False, [1], [1]),
]
_PS_TASKS = [0, 1, 2]

_TIMEOUT_SECS = 400  # For each wait.
_TASK = os.path.join(
    os.path.dirname(__file__), "testdata", "reference_estimator_task.py")


def _built(names):
  """Returns what a worker built.

  Args:
    names: the names of all its variables.

  Returns:
    bool, whether ensembles, and a dict from the index of each subnetwork to the
    list of its variables' names.
  """
  prefix = "adanet/iteration_0/{}_t0_dnn".format
  subnetworks = collections.defaultdict(list)
  for name in names:
    if name.startswith(prefix("subnetwork")):
      subnetworks[int(name[len(prefix("subnetwork"))])].append(name)
  ensemble = prefix("ensemble")
  return any(name.startswith(ensemble) for name in names), subnetworks


class ReferenceEstimatorTest(absltest.TestCase):

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

  def _start(self, cluster, job, index):
    """Starts a task, which ends with the test at the latest."""
    tf_config = {"cluster": cluster, "task": {"type": job, "index": index}}
    return self.enter_context(processes.Program(
        [sys.executable, _TASK, "RoundRobinStrategy", self._model_dir],
        dict(os.environ, TF_CONFIG=json.dumps(tf_config),
             PYTHONPATH=os.pathsep.join([self._import_path] + sys.path)),
        stderr=None))

  def _run(self):
    """Runs a cluster, and then an evaluator.

    Returns:
      A list of the workers' records, and the evaluator's metrics.
    """
    cluster = processes.free_cluster(ps=len(_PS_TASKS), chief=1, worker=2)
    for server in servers.start(cluster, "ps"):
      self.addCleanup(server.kill)
    workers = [self._start(cluster, job, index) for job, index in (
        ("chief", 0), ("worker", 0), ("worker", 1))]
    records = [json.loads(worker.read()) for worker in workers]
    for worker in workers:
      worker.write("")
    for worker in workers:
      self.assertEqual(0, worker.process.wait(_TIMEOUT_SECS))
    evaluator = self._start(cluster, "evaluator", 0)
    return records, json.loads(evaluator.read())

  def test_trains(self):
    records, metrics = self._run()
    for index, (owned, record) in enumerate(zip(_WORKERS, records)):
      with self.subTest(worker_index=index):
        self.assertTrue(os.path.samefile(
            distributed.placement.__file__, record["strategy"]))
        ensembles, subnetworks = _built(record["devices"])
        self.assertEqual(
            owned, Owned(ensembles, sorted(subnetworks), record["trains"]))
        for subnetwork, names in subnetworks.items():
          self.assertLen(names, 4)  # A kernel and a bias in each layer.
          for name in names:
            self.assertEqual(f"/job:ps/task:{_PS_TASKS[subnetwork]}",
                             record["devices"][name])
    self.assertGreaterEqual(metrics["global_step"], 60)
    # The best constant prediction leaves more than 1.
    self.assertLess(metrics["average_loss"], .1)


if __name__ == "__main__":
  absltest.main()
