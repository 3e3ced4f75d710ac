# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tf.distribute over several processes, inside a subnetwork's scope.

The workers that train one subnetwork form a group and take each step together;
the groups go on without each other.
"""

import collections
import json
import multiprocessing
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import local_servers
from adanet.distributed import regression
import numpy as np

Config = collections.namedtuple(
    "Config", "num_worker_replicas global_id_in_cluster num_ps_replicas")

v1, v2 = tf_compat.v1, tf_compat.v2

_NUM_WORKERS = 6
_NUM_PS = 3
_NUM_SUBNETWORKS = 2
_NUM_STEPS = 4
_WAIT_SECS = 200.  # For many to import TensorFlow on a busy machine.
# A fresh interpreter, because TensorFlow does not survive a fork.
_spawn = multiprocessing.get_context("spawn")


def _strategy(worker_index):
  strategy = distributed.RoundRobinStrategy()
  strategy.config = Config(_NUM_WORKERS, worker_index, _NUM_PS)
  return strategy


def _trainers(subnetwork_index):
  """Returns the indices of the workers that train a subnetwork."""
  return [
      w for w in range(_NUM_WORKERS)
      if _strategy(w).should_train_subnetworks(_NUM_SUBNETWORKS) and
      _strategy(w).should_build_subnetwork(_NUM_SUBNETWORKS, subnetwork_index)
  ]


def _serve_steps(connection, training):
  """Takes a step for each request and replies with the loss before it."""
  while connection.recv() == "step":
    connection.send(training.step())
  connection.send(training.devices())


def _work_in_group(connection, worker_index, subnetwork_index, addresses, mode,
                   outer_scope):
  """Trains a subnetwork together with the others of its group.

  Args:
    connection: what requests to take a step come from.
    worker_index: int, in the cluster.
    subnetwork_index: int.
    addresses: list of str, one a worker of the group, in order.
    mode: "graph" or "function".
    outer_scope: "subnetwork" or "strategy".
  """
  placement = _strategy(worker_index)
  share = placement.input_context(_NUM_SUBNETWORKS, subnetwork_index)
  os.environ["TF_CONFIG"] = json.dumps({
      "cluster": {"worker": addresses},
      "task": {"type": "worker", "index": share.input_pipeline_id}})

  def points():
    return tuple(
        values[share.input_pipeline_id::share.num_input_pipelines]
        for values in (regression.INPUTS, regression.LABELS))

  v = v1 if mode == "graph" else v2
  if mode == "function":
    v1.enable_v2_behavior()
  else:
    v1.disable_v2_behavior()
  strategy = v.distribute.experimental.MultiWorkerMirroredStrategy()
  server = None
  if mode == "graph":
    server = v1.distribute.Server(
        {"worker": addresses}, "worker", share.input_pipeline_id,
        config=strategy.update_config_proto(v1.ConfigProto()))
  scopes = [
      placement.subnetwork_devices(_NUM_SUBNETWORKS, subnetwork_index),
      strategy.scope()
  ]
  outer, inner = scopes if outer_scope == "subnetwork" else reversed(scopes)
  with outer, inner:
    _serve_steps(
        connection, regression.Training(strategy, mode, points, server))


def _train_with_parameter_servers(strategy, outer_scope, inner_scope):
  """Returns the losses and the devices of the variables."""
  with outer_scope, inner_scope:
    weights = v2.Variable(np.zeros([2, 1], np.float32), name="weights")
    bias = v2.Variable(np.zeros([1], np.float32), name="bias")

  @v2.function
  def step():
    with v2.GradientTape() as tape:
      errors = (
          v2.matmul(regression.INPUTS, weights) + bias - regression.LABELS)
      loss = v2.reduce_mean(errors**2)
    for variable, gradient in zip((weights, bias),
                                  tape.gradient(loss, (weights, bias))):
      variable.assign_sub(.05 * gradient)
    return loss

  coordinator = v2.distribute.coordinator.ClusterCoordinator(strategy)
  losses = [
      float(coordinator.schedule(step).fetch()) for _ in range(_NUM_STEPS)
  ]
  return losses, [weights.device, bias.device]


def _coordinate(connection, cluster):
  """Trains as the coordinator of a cluster, outside a subnetwork and inside.

  Args:
    connection: what the losses and the devices are sent to: those outside all
      subnetworks, with the subnetwork's as the outer scope, as the inner one.
    cluster: dict from job to list of addresses.
  """
  os.environ["TF_CONFIG"] = json.dumps(
      {"cluster": cluster, "task": {"type": "chief", "index": 0}})
  v1.enable_v2_behavior()
  strategy = v2.distribute.ParameterServerStrategy(
      v2.distribute.cluster_resolver.TFConfigClusterResolver())

  def subnetwork():
    return _strategy(0).subnetwork_devices(_NUM_SUBNETWORKS, 1)

  connection.send([
      _train_with_parameter_servers(strategy, outer, inner)
      for outer, inner in ((strategy.scope(), strategy.scope()),
                           (subnetwork(), strategy.scope()),
                           (strategy.scope(), subnetwork()))
  ])


class _Process(object):
  """A function of this module in a process of its own, at a connection."""

  def __init__(self, function, *args):
    self._connection, theirs = _spawn.Pipe()
    self._process = _spawn.Process(
        target=function, args=(theirs,) + args, daemon=True)
    self._process.start()
    theirs.close()

  def send(self, request):
    self._connection.send(request)

  def has_replied(self, wait_secs):
    return self._connection.poll(wait_secs)

  def receive(self):
    """Returns what the process sends next; raises EOFError if it has ended."""
    if not self.has_replied(_WAIT_SECS):
      raise TimeoutError("no reply in {} s".format(_WAIT_SECS))
    return self._connection.recv()

  def kill(self):
    self._process.kill()
    self._process.join()


class WorkerGroupsTest(parameterized.TestCase):

  def start(self, function, *args):
    process = _Process(function, *args)
    self.addCleanup(process.kill)
    return process

  def start_group(self, subnetwork_index, mode, outer_scope):
    trainers = _trainers(subnetwork_index)
    addresses = local_servers.free_addresses(len(trainers))
    return [
        self.start(_work_in_group, w, subnetwork_index, addresses, mode,
                   outer_scope)
        for w in trainers
    ]

  def step(self, group):
    for worker in group:
      worker.send("step")
    return [worker.receive() for worker in group]

  @parameterized.parameters(("graph", "subnetwork"), ("function", "strategy"))
  def test_multi_worker_mirrored_strategy(self, mode, outer_scope):
    fast, slow = [
        self.start_group(i, mode, outer_scope) for i in range(_NUM_SUBNETWORKS)
    ]
    self.assertEqual([2, 2], [len(fast), len(slow)])
    losses = {"fast": [], "slow": []}

    losses["slow"].append(self.step(slow))
    # One group in the middle of a step does not keep the other from its own.
    slow[0].send("step")
    losses["fast"] = [self.step(fast) for _ in range(_NUM_STEPS)]
    # In a group, nobody is done with a step before everybody has begun it.
    self.assertFalse(slow[0].has_replied(.5))
    slow[1].send("step")
    losses["slow"].append([worker.receive() for worker in slow])
    losses["slow"] += [self.step(slow) for _ in range(_NUM_STEPS - 2)]

    expected = regression.expected_losses(_NUM_STEPS)
    for group in losses.values():
      for in_worker in zip(*group):
        np.testing.assert_allclose(expected, in_worker, rtol=1e-4)
    for group in (fast, slow):
      for index, worker in enumerate(group):
        worker.send("stop")
        self.assertEqual(
            {"/job:worker/replica:0/task:{}/device:CPU:0".format(index)},
            set(worker.receive()))

  def test_parameter_server_strategy(self):
    if not hasattr(v2.distribute, "ParameterServerStrategy"):
      self.skipTest("this TensorFlow has no tf.distribute."
                    "ParameterServerStrategy for TensorFlow 2")
    addresses = local_servers.free_addresses(4)
    cluster = {"chief": addresses[:1], "worker": addresses[1:2],
               "ps": addresses[2:]}
    for job in ("worker", "ps"):
      for server in local_servers.start(cluster, job):
        self.addCleanup(server.kill)
    outside, as_outer, as_inner = self.start(_coordinate, cluster).receive()
    losses, devices = outside
    self.assertLess(losses[-1], losses[0])
    self.assertEqual(
        [0, 1], [v2.DeviceSpec.from_string(d).task for d in devices])
    self.assertEqual(outside, as_outer)
    self.assertEqual(outside, as_inner)


if __name__ == "__main__":
  absltest.main()
