# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tf.distribute over several processes, inside a subnetwork's scope.

The workers that train one subnetwork form a group and take each step together.
The groups do not wait for each other.
"""

import functools
import json
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.testing import processes
from adanet.testing import regression
from adanet.testing import servers
from adanet.testing import strategies
import numpy as np

v1, v2 = tf_compat.v1, tf_compat.v2

_NUM_PS = 3
_NUM_SUBNETWORKS = 2
_NUM_STEPS = 3

# For each strategy, how to make it, the number of workers, and the workers that
# train each subnetwork.
_PLACEMENTS = {
    "round_robin": (strategies.round_robin, 6, ((1, 4), (2, 5))),
    "balanced": (functools.partial(strategies.balanced, num_ensemble_workers=1),
                 5, ((1, 2), (3, 4))),
}


def _strategy(placement, worker_index):
  make, num_workers, _ = _PLACEMENTS[placement]
  return make(strategies.Config(num_workers, _NUM_PS, worker_index))


def _set_tf_config(cluster, task_type, task_index):
  os.environ["TF_CONFIG"] = json.dumps({
      "cluster": cluster,
      "task": {"type": task_type, "index": task_index}})


def _train_in_group(connection, placement_name, worker_index, subnetwork_index,
                    addresses, mode, outer_scope):
  """Trains a subnetwork together with the other workers of its group.

  Args:
    connection: receives "step" for each step and sends the loss before it; then
      receives "stop" and sends the devices of the variables.
    placement_name: str, the name of the placement strategy.
    worker_index: int, in the cluster.
    subnetwork_index: int.
    addresses: list of str, for each worker of the group, in order.
    mode: "graph" or "function".
    outer_scope: "subnetwork" or "strategy".
  """
  placement = _strategy(placement_name, worker_index)
  share = placement.input_context(_NUM_SUBNETWORKS, subnetwork_index)
  cluster = {"worker": addresses}
  _set_tf_config(cluster, "worker", share.input_pipeline_id)

  def points():
    return tuple(
        values[share.input_pipeline_id::share.num_input_pipelines]
        for values in (regression.INPUTS, regression.LABELS))

  server = None
  if mode == "graph":
    v1.disable_v2_behavior()
    strategy = v1.distribute.experimental.MultiWorkerMirroredStrategy()
    server = v1.distribute.Server(
        cluster, "worker", share.input_pipeline_id,
        config=strategy.update_config_proto(v1.ConfigProto()))
  else:
    v1.enable_v2_behavior()
    strategy = v2.distribute.experimental.MultiWorkerMirroredStrategy()
  scopes = [
      placement.subnetwork_devices(_NUM_SUBNETWORKS, subnetwork_index),
      strategy.scope()
  ]
  outer, inner = scopes if outer_scope == "subnetwork" else reversed(scopes)
  with outer, inner:
    training = regression.Training(strategy, mode, points, server)
    while connection.recv() == "step":
      connection.send(training.step())
    connection.send(training.devices())


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
    connection: sends losses and devices without the subnetwork's scope, with it
      as the outer scope, and with it as the inner one.
    cluster: dict from job to list of addresses.
  """
  _set_tf_config(cluster, "chief", 0)
  v1.enable_v2_behavior()
  strategy = v2.distribute.ParameterServerStrategy(
      v2.distribute.cluster_resolver.TFConfigClusterResolver())

  def subnetwork():
    return _strategy("round_robin", 0).subnetwork_devices(_NUM_SUBNETWORKS, 1)

  for outer, inner in ((strategy.scope(), strategy.scope()),
                       (subnetwork(), strategy.scope()),
                       (strategy.scope(), subnetwork())):
    connection.send(_train_with_parameter_servers(strategy, outer, inner))


class WorkerGroupsTest(parameterized.TestCase):

  def start(self, function, *args):
    process = processes.Process(function, *args)
    self.addCleanup(process.kill)
    return process

  def step(self, group):
    for worker in group:
      worker.send("step")
    return [worker.receive() for worker in group]

  @parameterized.parameters(
      ("round_robin", "graph", "subnetwork"),
      ("balanced", "function", "strategy"))
  def test_multi_worker_mirrored_strategy(self, placement, mode, outer_scope):
    addresses = processes.free_cluster(worker=4)["worker"]
    fast, slow = ([
        self.start(_train_in_group, placement, w, i,
                   addresses[2 * i:2 * i + 2], mode, outer_scope)
        for w in trainers
    ] for i, trainers in enumerate(_PLACEMENTS[placement][2]))

    losses_of_slow = [self.step(slow)]
    # One group in the middle of a step does not keep the other from its own.
    slow[0].send("step")
    losses_of_fast = [self.step(fast) for _ in range(_NUM_STEPS)]
    # No worker of a group is done with a step before all have begun it.
    self.assertFalse(slow[0].has_replied(.5))
    slow[1].send("step")
    losses_of_slow.append([worker.receive() for worker in slow])
    losses_of_slow += [self.step(slow) for _ in range(_NUM_STEPS - 2)]

    expected = [[loss] * 2 for loss in regression.expected_losses(_NUM_STEPS)]
    np.testing.assert_allclose(expected, losses_of_fast, rtol=1e-4)
    np.testing.assert_allclose(expected, losses_of_slow, rtol=1e-4)
    for group in (fast, slow):
      for index, worker in enumerate(group):
        worker.send("stop")
        self.assertEqual(
            {f"/job:worker/replica:0/task:{index}/device:CPU:0"},
            set(worker.receive()))

  def test_parameter_server_strategy(self):
    if not hasattr(v2.distribute, "ParameterServerStrategy"):
      self.skipTest("this TensorFlow has no tf.distribute."
                    "ParameterServerStrategy for TensorFlow 2")
    cluster = processes.free_cluster(chief=1, worker=1, ps=2)
    for job in ("worker", "ps"):
      for server in servers.start(cluster, job):
        self.addCleanup(server.kill)
    coordinator = self.start(_coordinate, cluster)
    outside, as_outer, as_inner = (coordinator.receive() for _ in range(3))
    losses, devices = outside
    self.assertLess(losses[-1], losses[0])
    self.assertEqual(
        [0, 1], [v2.DeviceSpec.from_string(d).task for d in devices])
    self.assertEqual(outside, as_outer)
    self.assertEqual(outside, as_inner)


if __name__ == "__main__":
  absltest.main()
