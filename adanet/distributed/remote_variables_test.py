# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of variables made eagerly, on parameter servers in other processes."""

import collections
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import local_servers
import numpy as np

PsConfig = collections.namedtuple("PsConfig", "num_ps_replicas")

_NUM_PS = 3
_MEGABYTE = 2**20

v1, v2 = tf_compat.v1, tf_compat.v2
_processes = []


def setUpModule():
  addresses = local_servers.free_addresses(1 + _NUM_PS)
  cluster = {"chief": addresses[:1], "ps": addresses[1:]}
  _processes.extend(local_servers.start(cluster, "ps"))
  v1.enable_v2_behavior()
  v2.config.experimental_connect_to_cluster(
      v1.train.ClusterSpec(cluster), job_name="chief", task_index=0)


def _resident_bytes():
  """Returns how much memory each ps process has in use."""
  page = os.sysconf("SC_PAGE_SIZE")
  pages = []
  for process in _processes:
    with open("/proc/{}/statm".format(process.pid)) as f:
      pages.append(int(f.read().split()[1]))
  return [p * page for p in pages]


def _scope(num_subnetworks=1, subnetwork_index=0):
  strategy = distributed.RoundRobinStrategy()
  strategy.config = PsConfig(_NUM_PS)
  return strategy.subnetwork_devices(num_subnetworks, subnetwork_index)


def _graph_device(name, *subnetwork):
  """Returns the device of a graph's op of a name, in the same scope."""
  with v1.Graph().as_default(), _scope(*subnetwork):
    return v1.raw_ops.VarHandleOp(dtype="float", shape=[], name=name).op.device


def _task(variable):
  """Returns `(job, task)` of a variable of TensorFlow's or of Keras 3's."""
  inner = getattr(variable, "_value", None)
  device = inner.device if hasattr(inner, "device") else variable.device
  spec = v2.DeviceSpec.from_string(device)
  return spec.job, spec.task


class RemoteVariablesTest(parameterized.TestCase):

  def assert_placed_as_in_a_graph(self, variable, name, *subnetwork):
    expected = v2.DeviceSpec.from_string(_graph_device(name, *subnetwork))
    self.assertEqual("ps", expected.job)
    self.assertEqual((expected.job, expected.task), _task(variable))

  @parameterized.parameters("foo", "bar", "baz", "dense/kernel")
  def test_eager(self, name):
    with _scope():
      variable = v2.Variable(3., name=name)
    self.assert_placed_as_in_a_graph(variable, name)
    variable.assign_add(4.)
    self.assertEqual(7., variable.numpy())

  def test_lives_in_the_process_of_its_ps(self):
    variables = []
    for name in ("foo", "bar", "baz"):
      before = _resident_bytes()
      with _scope():
        variable = v2.Variable(
            np.ones([64 * _MEGABYTE // 4], np.float32), name=name)
      self.assertEqual(1., variable[0].numpy())
      variables.append(variable)
      grown = [
          after - b > 48 * _MEGABYTE
          for b, after in zip(before, _resident_bytes())
      ]
      _, task = _task(variable)
      self.assertEqual([index == task for index in range(_NUM_PS)], grown)
    self.assertLen(set(map(_task, variables)), _NUM_PS)

  @parameterized.product(num_subnetworks=[2, 3, 4], name=["foo", "bar"])
  def test_groups(self, num_subnetworks, name):
    for index in range(num_subnetworks):
      with _scope(num_subnetworks, index):
        variable = v2.Variable(1., name=name)
      self.assert_placed_as_in_a_graph(variable, name, num_subnetworks, index)

  def test_name_scope(self):
    with _scope(), v2.name_scope("outer"), v2.name_scope("inner"):
      variable = v2.Variable(1., name="bar")
    self.assert_placed_as_in_a_graph(variable, "outer/inner/bar")

  def test_without_a_name(self):
    with _scope():
      variable = v2.Variable(1.)
    self.assert_placed_as_in_a_graph(variable, "Variable")

  @parameterized.parameters("foo", "bar", "baz")
  def test_function_called_in_the_scope(self, name):
    variables = []

    @v2.function
    def multiply(x):
      if not variables:
        variables.append(v2.Variable(3., name=name))
      return variables[0] * x

    with _scope():
      self.assertEqual(6., multiply(2.).numpy())
    self.assert_placed_as_in_a_graph(variables[0], name)

  @parameterized.parameters("foo", "bar", "baz")
  def test_scope_in_a_function(self, name):
    variables = []

    @v2.function
    def multiply(x):
      if not variables:
        with _scope():
          variables.append(v2.Variable(3., name=name))
      return variables[0] * x

    self.assertEqual(6., multiply(v2.constant(2.)).numpy())
    self.assert_placed_as_in_a_graph(variables[0], name)

  def test_keras_layer(self):
    layer = v2.keras.layers.Dense(4, name="dense")
    inputs = np.ones([2, 3], np.float32)
    with _scope():
      outputs = layer(inputs)
    kernel, bias = layer.weights
    self.assert_placed_as_in_a_graph(kernel, "dense/kernel")
    self.assert_placed_as_in_a_graph(bias, "dense/bias")
    np.testing.assert_allclose(
        inputs.dot(layer.get_weights()[0]), outputs.numpy(), rtol=1e-5)

  def test_trains(self):
    with _scope():
      weight = v2.Variable([[1.], [2.]], name="weight")
    inputs = v2.constant([[1., 0.], [0., 1.]])

    @v2.function
    def step():
      with v2.GradientTape() as tape:
        loss = v2.reduce_sum((v2.matmul(inputs, weight) - 5.)**2)
      weight.assign_sub(.1 * tape.gradient(loss, weight))
      return loss

    losses = [step().numpy() for _ in range(20)]
    self.assertEqual(25., losses[0])
    self.assertLess(losses[-1], .1)

  def test_an_explicit_device_wins(self):
    with _scope(), v2.device("/job:ps/task:1"):
      on_ps = v2.Variable(1., name="foo")
    with _scope(), v2.device("/device:CPU:0"):
      local = v2.Variable(1., name="foo")
    self.assertEqual(("ps", 1), _task(on_ps))
    self.assertEqual(("chief", 0), _task(local))

  def test_an_explicit_device_wins_in_a_function(self):
    variables = []

    @v2.function
    def make():
      if not variables:
        with _scope(), v2.device("/device:CPU:0"):
          variables.append(v2.Variable(1., name="foo"))
      return variables[0] + 1.

    self.assertEqual(2., make().numpy())
    self.assertEqual(("chief", 0), _task(variables[0]))

  def test_a_device_outside_does_not(self):
    with v2.device("/device:CPU:0"), _scope():
      variable = v2.Variable(1., name="foo")
    self.assert_placed_as_in_a_graph(variable, "foo")

  def test_a_device_outside_does_not_in_a_function(self):
    variables = []

    @v2.function
    def make():
      if not variables:
        with v2.device("/device:CPU:0"), _scope():
          variables.append(v2.Variable(1., name="foo"))
      return variables[0] + 1.

    self.assertEqual(2., make().numpy())
    self.assert_placed_as_in_a_graph(variables[0], "foo")

  def test_a_strategy_of_tf_distribute_wins(self):
    strategy = v2.distribute.OneDeviceStrategy("/job:chief/task:0/cpu:0")
    with _scope():
      with strategy.scope():
        of_strategy = v2.Variable(3., name="foo")
      on_ps = v2.Variable(2., name="foo")
    with strategy.scope(), _scope():
      inside = v2.Variable(4., name="foo")
    self.assertEqual("chief", _task(of_strategy)[0])
    self.assertEqual("chief", _task(inside)[0])
    self.assert_placed_as_in_a_graph(on_ps, "foo")
    product = strategy.extended.call_for_each_replica(
        lambda: of_strategy * on_ps * inside)
    self.assertEqual(24., product.numpy())

  def test_only_inside(self):
    with self.assertRaisesRegex(KeyError, "mine"):
      with _scope():
        raise KeyError("mine")
    self.assertEqual("chief", _task(v2.Variable(1., name="foo"))[0])

  def test_only_variables_move(self):
    with _scope():
      self.assertIn("/job:chief", (v2.constant([1.]) + 1.).device)


if __name__ == "__main__":
  absltest.main()
