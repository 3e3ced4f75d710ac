# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of optimizers in a graph, on every version of TensorFlow."""

import functools
import gc
import unittest
import weakref

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet.tf_compat import optimizers


class _NoOptimizer:
  """Has only a part of what Keras's optimizers have."""

  def get_config(self):
    return {}

  def minimize(self, loss, var_list):
    raise NotImplementedError


class MinimizeTest(parameterized.TestCase):

  def _minimize(self, optimizer, steps=1, use_resource=True):
    """Returns x after steps from x = 1 on the loss 2 x, and the train op."""
    tf = tf_compat.v1
    with tf.Graph().as_default():
      with tf.variable_scope("scope"):
        x = tf.get_variable("x", initializer=1., use_resource=use_resource)
        train_op = optimizers.minimize(optimizer, 2. * x, [x])
      with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
          session.run(train_op)
        return session.run(x).tolist()

  @parameterized.parameters(level.first([
      "adam", "Adadelta", "ADAGRAD", "Ftrl", "RMSProp", "sgd"]))
  def test_name(self, name):
    # Keras cannot change the second kind of variables, and tf.train can.
    x = self._minimize(name, steps=3)
    self.assertLess(x, 1.)
    self.assertAlmostEqual(
        x, self._minimize(name, steps=3, use_resource=False), places=5)

  @parameterized.parameters(level.first(["Adamax", "nadam"]))
  def test_name_that_only_keras_has(self, name):
    self.assertAlmostEqual(.999, self._minimize(name), places=3)
    with self.assertRaisesRegex(
        ValueError, f"^optimizer='{name}': .*enable_resource_variables"):
      self._minimize(name, use_resource=False)

  def test_optimizer_and_function_that_makes_one(self):
    tf = tf_compat.v1
    optimizer = tf.train.GradientDescentOptimizer(.25)
    self.assertEqual(.5, self._minimize(optimizer))
    self.assertEqual(.5, self._minimize(lambda: optimizer))
    self.assertAlmostEqual(.98, self._minimize(lambda: "SGD"), places=6)

  def test_none_changes_nothing(self):
    self.assertEqual(1., self._minimize(None))
    self.assertEqual(1., self._minimize(lambda: None))

  @parameterized.parameters(level.first([
      lambda keras: keras.optimizers.SGD(.125),
      lambda keras: getattr(
          keras.optimizers, "legacy", keras.optimizers).SGD(.125)]))
  def test_keras_optimizer(self, make):
    make = functools.partial(make, tf_compat.keras)
    self.assertEqual(.5, self._minimize(make, steps=2))
    optimizer = optimizers.for_any_graph(make())
    for _ in range(2):
      self.assertEqual(.5, self._minimize(optimizer, steps=2))

  @level.gate
  def test_keras_optimizer_keeps_its_arguments(self):
    optimizer = optimizers.for_any_graph(
        tf_compat.keras.optimizers.SGD(.125, momentum=.5))
    # Steps of .25, then .5 * .25 + .25.
    self.assertEqual(.375, self._minimize(optimizer, steps=2))

  def test_graph_is_freed(self):
    tf = tf_compat.v1
    graph = tf.Graph()
    with graph.as_default():
      x = tf.get_variable("x", initializer=1., use_resource=True)
      optimizers.minimize("adam", 2. * x, [x])
    freed = weakref.ref(graph)
    del graph, x
    gc.collect()
    self.assertIsNone(freed())

  def test_slots_are_in_the_scope(self):
    tf = tf_compat.v1
    for optimizer in ("Adam", tf_compat.keras.optimizers.Adam):
      with tf.Graph().as_default():
        with tf.variable_scope("scope"):
          x = tf.get_variable("x", initializer=1., use_resource=True)
          optimizers.minimize(optimizer, 2. * x, [x])
        names = [v.op.name for v in tf.global_variables()]
        self.assertGreater(len(names), 2)
        self.assertEqual(
            names, [name for name in names if name.startswith("scope/")])

  @unittest.skipIf(tf_compat.IS_TENSORFLOW_1,
                   "Its optimizers of Keras step in ops of the graph.")
  def test_keras_computes_a_step_where_the_variable_is(self):
    # From elsewhere it would read the table and its momenta from a parameter
    # server, and send them back.
    tf = tf_compat.v1
    device = "/job:ps/task:1"
    with tf.Graph().as_default() as graph:
      with tf.device(device):
        table = tf.get_variable("table", [9, 2], use_resource=True)
      loss = tf.reduce_sum(tf.gather(table, [1, 1, 3]))
      # Those of v1 are older ones, also in TensorFlow 2.15.
      optimizer = tf_compat.v2.keras.optimizers.SGD(.1, momentum=.9)
      optimizers.minimize(optimizer, loss, [table])
      functions = graph.as_graph_def().library.function
    self.assertEqual({device}, {
        node.device for function in functions for node in function.node_def
        if node.op in ("Mul", "Sub", "Neg")})
    self.assertNotIn("update_step", vars(optimizer))

  @parameterized.parameters("Momentum", "Optimizer", "LossScaleOptimizer", "")
  def test_unknown_name(self, name):
    for use in (optimizers.for_any_graph, self._minimize):
      with self.assertRaisesRegex(
          ValueError, f"^optimizer='{name}': .*Adam, .*RMSprop, SGD.*, an"):
        use(name)

  @parameterized.parameters(.05, _NoOptimizer())
  def test_no_optimizer(self, optimizer):
    with self.assertRaisesRegex(TypeError, "^optimizer=.*tf_compat.keras"):
      self._minimize(optimizers.for_any_graph(optimizer))


if __name__ == "__main__":
  absltest.main()
