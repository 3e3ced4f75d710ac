# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of AdaNet 0.8.0's Estimator on this project's strategies.

Two packages are named `adanet`. This process imports this project's alone. Its
children import the reference's with this project's `distributed` in the place
of its own: first on their import path is a folder `adanet` of links to what the
reference has, but for that one.
"""

import collections
import json
import os
import re
import subprocess
import sys
import time

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import devices
from adanet.distributed import local_servers
import runfiles

Op = collections.namedtuple("Op", "name")

# What one worker owns: whether it builds the ensembles, which subnetworks it
# builds, and which it trains.
Owned = collections.namedtuple("Owned", "ensembles builds trains")

# For an iteration of two subnetworks and for one of three: what each of five
# workers owns, the chief first, and which of three ps each subnetwork has.
_REPLICATION = [
    ([Owned(True, [0, 1], [0, 1])] * 5, [[0, 1, 2]] * 2),
    ([Owned(True, [0, 1, 2], [0, 1, 2])] * 5, [[0, 1, 2]] * 3),
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

_NUM_TASKS = [("ps", 3), ("chief", 1), ("worker", 4)]
_TIMEOUT_SECS = 400
_TASK = os.path.join(os.path.dirname(__file__), "reference_estimator_task.py")


def _built(variable_devices, iteration):
  """Returns what a worker built of an iteration.

  Args:
    variable_devices: dict from a variable's name to its device.
    iteration: int.

  Returns:
    bool, whether ensembles, and a dict from the index of each subnetwork to its
    part of `variable_devices`.
  """
  pattern = re.compile(
      "adanet/iteration_{0}/(ensemble|subnetwork)_t{0}_dnn([0-9])".format(
          iteration))
  ensembles = False
  subnetworks = collections.defaultdict(dict)
  for name, device in variable_devices.items():
    match = pattern.match(name)
    if match and match.group(1) == "ensemble":
      ensembles = True
    elif match:
      subnetworks[int(match.group(2))][name] = device
  return ensembles, subnetworks


class ReferenceEstimatorTest(parameterized.TestCase):

  def setUp(self):
    super(ReferenceEstimatorTest, self).setUp()
    theirs = runfiles.Create().Rlocation(
        "adanet_reference/site-packages/adanet-0.8.0/adanet")
    if not os.path.isdir(theirs):
      self.skipTest("adanet 0.8.0 needs TensorFlow 1.15: other legs are "
                    "without it")
    self._folder = self.create_tempdir().full_path
    ours = os.path.dirname(distributed.__file__)
    package = os.path.join(self._folder, "path", "adanet")
    os.makedirs(package)
    for name in os.listdir(theirs):
      os.symlink(
          ours if name == "distributed" else os.path.join(theirs, name),
          os.path.join(package, name))

  def _path(self, name):
    return os.path.join(self._folder, name)

  def _read(self, name):
    with open(self._path(name)) as f:
      return json.load(f)

  def _start(self, strategy, cluster, job, index):
    """Starts a task, which ends with the test at the latest."""
    tf_config = {"cluster": cluster, "task": {"type": job, "index": index}}
    with open(self._path(job + str(index)), "w") as log:
      process = subprocess.Popen(
          # Killed with this process, however that ends.
          ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, _TASK,
           strategy, self._folder],
          env=dict(
              os.environ,
              TF_CONFIG=json.dumps(tf_config),
              PYTHONPATH=os.pathsep.join([self._path("path")] + sys.path)),
          stderr=log)
    self.addCleanup(process.wait)
    self.addCleanup(process.kill)
    return process

  def _wait(self, job, index, process, give_up):
    try:
      code = process.wait(timeout=max(0, give_up - time.monotonic()))
    except subprocess.TimeoutExpired:
      code = "none in {} s".format(_TIMEOUT_SECS)
    if code != 0:
      with open(self._path(job + str(index))) as log:
        self.fail("{}:{}: exit code {}: {}".format(
            job, index, code, log.read()[-3000:]))

  def _run(self, strategy):
    """Runs a cluster, and when it has trained an evaluator."""
    give_up = time.monotonic() + _TIMEOUT_SECS
    addresses = iter(local_servers.free_addresses(
        sum(count for _, count in _NUM_TASKS)))
    cluster = {
        job: [next(addresses) for _ in range(count)]
        for job, count in _NUM_TASKS
    }
    tasks = [(job, index, self._start(strategy, cluster, job, index))
             for job, count in _NUM_TASKS
             for index in range(count)]
    for job, index, process in tasks:
      if job != "ps":  # A ps serves until it is killed.
        self._wait(job, index, process, give_up)
    evaluator = self._start(strategy, cluster, "evaluator", 0)
    self._wait("evaluator", 0, evaluator, give_up)

  @parameterized.named_parameters(
      ("round_robin", "RoundRobinStrategy", _ROUND_ROBIN),
      ("replication", "ReplicationStrategy", _REPLICATION))
  def test_trains(self, strategy, iterations):
    self._run(strategy)
    for iteration, (workers, parameter_servers) in enumerate(iterations):
      for worker_index, owned in enumerate(workers):
        with self.subTest(iteration=iteration, worker_index=worker_index):
          record = self._read("record-{}-{}.json".format(
              iteration, worker_index))
          self.assertTrue(
              os.path.samefile(distributed.placement.__file__,
                               record["strategy"]))
          ensembles, subnetworks = _built(record["devices"], iteration)
          self.assertEqual(
              owned, Owned(ensembles, sorted(subnetworks), record["trains"]))
          for index, variables in subnetworks.items():
            tasks = parameter_servers[index]
            pick = devices.OpNameHashStrategy(len(tasks))
            # A kernel and a bias in each of two layers.
            self.assertLen(variables, 4)
            self.assertEqual(
                {
                    name: "/job:ps/task:{}".format(tasks[pick(Op(name))])
                    for name in variables
                }, variables)
    metrics = self._read("metrics.json")
    self.assertEqual(len(iterations) - 1, metrics["iteration"])
    # The best constant prediction leaves more than 1.
    self.assertLess(metrics["average_loss"], .1)


if __name__ == "__main__":
  absltest.main()
