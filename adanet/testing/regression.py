# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model with losses that are known without TensorFlow.

It fits a line to eight points by gradient descent with momentum. The losses do
not depend on how tf.distribute divides the points among replicas.
"""

from adanet import tf_compat
import numpy as np

_LEARNING_RATE = .05
_MOMENTUM = .9

INPUTS = np.random.RandomState(0).randn(8, 2).astype(np.float32)
LABELS = (INPUTS.dot([[1.], [2.]]) + 3.).astype(np.float32)

v1, v2 = tf_compat.v1, tf_compat.v2


def expected_losses(num_steps):
  """Returns the loss before each step, as float, computed with NumPy."""
  features = np.concatenate([INPUTS, np.ones([len(INPUTS), 1])], axis=1)
  weights = np.zeros([3, 1])
  velocity = np.zeros([3, 1])
  losses = []
  for _ in range(num_steps):
    errors = features.dot(weights) - LABELS
    losses.append((errors**2).mean())
    gradient = 2. * features.T.dot(errors) / len(INPUTS)
    velocity = _MOMENTUM * velocity + gradient
    weights -= _LEARNING_RATE * velocity
  return losses


def _points_of_replica():
  """Returns the inputs and labels of this replica."""
  context = v1.distribute.get_replica_context()
  num_replicas = context.num_replicas_in_sync
  index = context.replica_id_in_sync_group
  return (v2.reshape(v2.constant(INPUTS), [num_replicas, -1, 2])[index],
          v2.reshape(v2.constant(LABELS), [num_replicas, -1, 1])[index])


class Training:
  """The model and its optimizer, made in the current scopes."""

  def __init__(self, strategy, mode, points=_points_of_replica, server=None):
    """Makes the variables; the optimizer makes its own at the first step.

    Args:
      strategy: a `tf.distribute.Strategy`.
      mode: "graph", "eager" or "function".
      points: a function that returns the inputs and labels of a replica.
      server: the `tf.distribute.Server` of the session, for a graph.
    """
    self._strategy = strategy
    self._points = points
    with strategy.scope():
      self._variables = [
          v2.Variable(np.zeros([2, 1], np.float32), name="weights"),
          v2.Variable(np.zeros([1], np.float32), name="bias")
      ]
      self._optimizer = v1.train.MomentumOptimizer(_LEARNING_RATE, _MOMENTUM)
      self._run = {
          "graph": lambda: self._step_of_graph(server),
          "eager": lambda: self._step,
          "function": lambda: v2.function(self._step),
      }[mode]()

  def step(self):
    """Takes a step and returns the loss before it, as float."""
    with self._strategy.scope():
      return float(self._run())

  def devices(self):
    """Returns a list of the device of each copy of each variable, as str."""
    variables = self._variables + self._optimizer.variables()
    return [
        copy.device for v in variables for copy in getattr(v, "values", [v])
    ]

  def _step_of_graph(self, server):
    step = self._step()
    # A strategy over several workers configures its session.
    session = v1.Session(
        server.target, config=self._strategy.update_config_proto(
            v1.ConfigProto()))
    session.run(v1.global_variables_initializer())
    return lambda: session.run(step)

  def _step(self):
    losses = self._strategy.extended.call_for_each_replica(self._replica_step)
    return self._strategy.reduce(
        v1.distribute.ReduceOp.SUM, losses, axis=None)

  def _replica_step(self):
    inputs, labels = self._points()
    weights, bias = self._variables

    def loss():
      errors = v2.matmul(inputs, weights) + bias - labels
      return v2.reduce_sum(errors**2) / len(INPUTS)

    loss_before = loss()
    with v1.control_dependencies([loss_before]):
      minimize = self._optimizer.minimize(loss)
    if v1.executing_eagerly():
      return loss_before
    with v1.control_dependencies([minimize]):
      return v2.identity(loss_before)
