# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the placement by op name, and of it in a subnetwork's scope."""

import fractions
import hashlib

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import devices
from adanet.distributed import weights
from adanet.distributed.testdata import golden
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st
import numpy as np

_GOLDEN = golden.load("parameter_server_tasks")


class OpNameHashStrategyTest(parameterized.TestCase):

  @parameterized.parameters(sorted(_GOLDEN["op_name_hash"].items()))
  def test_equals_reference(self, name, task_by_num_tasks):
    tasks = {
        num_tasks: devices.OpNameHashStrategy(int(num_tasks))(
            strategies.Op(name))
        for num_tasks in task_by_num_tasks
    }
    self.assertEqual(task_by_num_tasks, tasks)

  def test_keeps_the_name_of_the_reference(self):
    self.assertIs(devices.OpNameHashStrategy, devices._OpNameHashStrategy)

  @parameterized.parameters(
      (0, ValueError), (True, TypeError))
  def test_rejects(self, num_tasks, error):
    with self.assertRaises(error) as raised:
      devices.OpNameHashStrategy(num_tasks)
    self.assertStartsWith(
        str(raised.exception), f"num_tasks={num_tasks!r}: expected ")


def _place_by_setter(names, num_ps, **kwargs):
  """Returns name -> device of variables made below a replica_device_setter."""
  with tf_compat.v1.Graph().as_default():
    setter = tf_compat.v1.train.replica_device_setter(ps_tasks=num_ps, **kwargs)
    with tf_compat.v1.device(setter):
      return {
          name: tf_compat.v1.get_variable(name, shape=[]).device
          for name in names
      }


def _by_hash(names, num_ps):
  strategy = devices.OpNameHashStrategy(num_ps)
  return {n: f"/job:ps/task:{strategy(strategies.Op(n))}" for n in names}


_NAMES = ["foo", "bar", "baz", "dense/kernel", "dense/bias"]


class ReplicaDeviceSetterTest(parameterized.TestCase):

  @parameterized.product(
      num_ps=[1, 3, 17], names=[_NAMES, _NAMES[:0:-1]])
  def test_as_ps_strategy(self, num_ps, names):
    placed = _place_by_setter(
        names, num_ps, ps_strategy=devices.OpNameHashStrategy(num_ps))
    self.assertEqual(_by_hash(names, num_ps), placed)

  def assert_patched(self):
    self.assertEqual(_by_hash(_NAMES, 3), _place_by_setter(_NAMES, 3))

  def assert_not_patched(self):
    by_creation = {n: f"/job:ps/task:{i % 3}" for i, n in enumerate(_NAMES)}
    self.assertNotEqual(_by_hash(_NAMES, 3), by_creation)  # So that it shows.
    self.assertEqual(by_creation, _place_by_setter(_NAMES, 3))

  def test_only_inside_and_until_an_exception(self):
    self.assert_not_patched()
    with self.assertRaisesRegex(KeyError, "mine"):
      with devices.monkey_patch_default_variable_placement_strategy():
        with devices.monkey_patch_default_variable_placement_strategy():
          self.assert_patched()
        self.assert_patched()
        raise KeyError("mine")
    self.assert_not_patched()

  def test_a_given_strategy_wins(self):
    with devices.monkey_patch_default_variable_placement_strategy():
      placed = _place_by_setter(_NAMES, 3, ps_strategy=lambda op: 2)
    self.assertEqual({n: "/job:ps/task:2" for n in _NAMES}, placed)


_MAKERS = (strategies.round_robin, strategies.balanced)


def _place_in(make_scope, names):
  """Returns the devices of variable ops made in a scope."""
  with tf_compat.v1.Graph().as_default(), make_scope():
    return [
        tf_compat.v1.raw_ops.VarHandleOp(dtype="float", shape=[],
                                         name=name).op.device
        for name in names
    ]


def _place(strategy, num_subnetworks, subnetwork_index, names):
  """Returns the devices of variable ops made in a subnetwork's scope."""
  return _place_in(
      lambda: strategy.subnetwork_devices(num_subnetworks, subnetwork_index),
      names)


def _task(device):
  return tf_compat.v1.DeviceSpec.from_string(device).task


def _task_of_point(num_ps, sizes, subnetwork_index, name):
  """Returns the ps of a variable under BalancedStrategy, by the definition."""
  sizes = [fractions.Fraction(size) for size in sizes]
  name_hash = fractions.Fraction(
      int(hashlib.sha256(name.encode("utf-8")).hexdigest(), 16), 2**256)
  point = (sum(sizes[:subnetwork_index]) + name_hash * sizes[subnetwork_index])
  return int(point * num_ps / sum(sizes))


class SubnetworkDevicesTest(parameterized.TestCase):

  @hypothesis.given(
      num_ps=st.one_of(st.integers(1, 12), st.integers(1, 10**9)),
      sizes=st.lists(st.one_of(st.integers(1, 10**6), st.floats(1e-3, 1e3)),
                     min_size=1, max_size=8),
      names=st.lists(st.text("abcxyz", min_size=1, max_size=3), min_size=1,
                     max_size=5, unique=True))
  def test_a_variable_is_at_its_point(self, num_ps, sizes, names):
    k = len(sizes)
    strategy = strategies.balanced(strategies.PsConfig(num_ps), sizes=sizes)
    for i in range(k):
      tasks = [_task(d) for d in _place(strategy, k, i, names)]
      self.assertEqual(
          [_task_of_point(num_ps, sizes, i, name) for name in names], tasks)
      ps = strategy.subnetwork_parameter_servers(k, i)
      for task in tasks:
        self.assertIn(task, ps)

  def test_an_interval_is_no_tuple_of_tasks(self):
    interval = weights.Interval(start=0, weight=1, total=2, num_parts=4)
    for tasks, expected in (
        (tuple(interval), {0, 1, 2, 4}), (interval, {0, 1})):
      placed = _place_in(
          lambda tasks=tasks: devices.variables_on(tasks),
          [f"v{v}" for v in range(50)])
      self.assertEqual(expected, set(map(_task, placed)))

  @parameterized.parameters(_GOLDEN["subnetwork_devices"])
  def test_equals_reference(self, num_ps, num_subnetworks, task):
    strategy = strategies.round_robin(strategies.PsConfig(num_ps))
    placed = [
        _place(strategy, num_subnetworks, i, _GOLDEN["op_names"])
        for i in range(num_subnetworks)
    ]
    self.assertEqual([[
        "" if t is None else f"/job:ps/task:{t}" for t in tasks
    ] for tasks in task], placed)

  @parameterized.parameters(
      distributed.ReplicationStrategy(),
      distributed.RoundRobinStrategy(dedicate_parameter_servers=False),
      distributed.BalancedStrategy(dedicate_parameter_servers=False))
  def test_needs_no_config_where_it_changes_nothing(self, strategy):
    self.assertEqual([""] * 3, _place(strategy, 2, 1, ["a", "b", "c"]))

  @parameterized.parameters(
      distributed.RoundRobinStrategy(),
      distributed.BalancedStrategy(sizes=[2, 1]))
  def test_follows_its_config(self, strategy):
    for num_ps, device in ((2, "/job:ps/task:1"), (1, "/job:ps/task:0"),
                           (0, ""), (3, "/job:ps/task:2")):
      strategy.config = strategies.PsConfig(num_ps)
      for _ in range(2):
        self.assertEqual([device], _place(strategy, 2, 1, ["w"]))

  @parameterized.parameters(
      distributed.ReplicationStrategy(),
      strategies.round_robin(strategies.PsConfig(3)),
      strategies.balanced(strategies.PsConfig(0)))
  def test_decorates(self, strategy):

    @strategy.subnetwork_devices(2, 1)
    def make(names):
      variables = make(names[1:]) if names[1:] else []
      return variables + [tf_compat.v1.get_variable(names[0], shape=[])]

    for _ in range(2):
      with tf_compat.v1.Graph().as_default():
        with strategy.subnetwork_devices(2, 1):
          a_device = tf_compat.v1.get_variable("scope", shape=[]).device
        self.assertEqual([a_device] * 2, [v.device for v in make(["a", "b"])])
        outside = tf_compat.v1.get_variable("outside", shape=[])
        self.assertEqual("", outside.device)

  @parameterized.parameters(
      distributed.RoundRobinStrategy, distributed.BalancedStrategy)
  def test_follows_the_parameter_servers_of_a_subclass(self, base):

    class Choosing(base):
      tasks = None

      def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
        return self.tasks

    strategy = Choosing()
    strategy.config = strategies.PsConfig(9)
    for tasks, placed in (
        ([4], [4]), ((2,), [2]), ({8}, [8]), (range(5, 6), [5]), ([], []),
        (None, []), ([7, 1], [7, 1]), (np.array([3, 6]), [3, 6]),
        (iter([]), [])):
      strategy.tasks = tasks
      self.assertEqual(
          {f"/job:ps/task:{task}" for task in placed} or {""},
          set(_place(strategy, 2, 1, [f"w{i}" for i in range(20)])))

  @parameterized.parameters(*zip([True, False], _MAKERS))
  def test_only_variables_move(self, use_resource, make):
    strategy = make(strategies.PsConfig(4))
    with tf_compat.v1.Graph().as_default() as graph:
      with strategy.subnetwork_devices(2, 1):
        tf_compat.v1.get_variable("w", shape=[2], use_resource=use_resource)
        tf_compat.v1.constant(1., name="constant")
        table = tf_compat.v1.raw_ops.MutableHashTableV2(
            key_dtype="string", value_dtype="int64", name="w")
    variable = graph.get_operation_by_name("w")
    self.assertIn(variable.type, tf_compat.STANDARD_PS_OPS)
    task = (2 + devices.OpNameHashStrategy(2)(strategies.Op("w"))
            if make is strategies.round_robin else
            _task_of_point(4, [1, 1], 1, "w"))
    self.assertEqual(f"/job:ps/task:{task}", variable.device)
    self.assertStartsWith(table.device, "/job:ps/task:")
    self.assertEqual("", graph.get_operation_by_name("constant").device)

  @parameterized.product(
      explicit_and_placed=(
          ("/job:worker/task:3", "/job:worker/task:3"),
          ("/job:ps/task:7", "/job:ps/task:7"),
          ("/job:localhost/device:CPU:0", "/job:localhost/device:CPU:0"),
          ("/task:1", "/task:1"),
          ("/replica:0/task:0/device:CPU:0", "/replica:0/task:0/device:CPU:0"),
          ("/device:CPU:0", "/job:ps/task:2/device:CPU:0"),
          ("", "/job:ps/task:2")),
      make=_MAKERS)
  def test_an_explicit_device_wins(self, explicit_and_placed, make):
    explicit, placed = explicit_and_placed
    # Subnetwork 2 has the ps 2 alone.
    strategy = make(strategies.PsConfig(3))
    with tf_compat.v1.Graph().as_default():
      with strategy.subnetwork_devices(3, 2), tf_compat.v1.device(explicit):
        variable = tf_compat.v1.get_variable("w", shape=[])
    self.assertEqual(
        tf_compat.v1.DeviceSpec.from_string(placed),
        tf_compat.v1.DeviceSpec.from_string(variable.device))

  @parameterized.parameters(*_MAKERS)
  def test_inside_replica_device_setter(self, make):
    strategy = make(strategies.PsConfig(6))
    with tf_compat.v1.Graph().as_default():
      with tf_compat.v1.device(
          tf_compat.v1.train.replica_device_setter(
              ps_tasks=6, worker_device="/job:worker/task:1")):
        outside = tf_compat.v1.get_variable("outside", shape=[])
        with strategy.subnetwork_devices(3, 2):
          inside = tf_compat.v1.get_variable("inside", shape=[])
          product = inside * 2.
    self.assertEqual("/job:ps/task:0", outside.device)
    self.assertIn(_task(inside.device), (4, 5))
    self.assertStartsWith(product.device, "/job:worker/task:1")

  @parameterized.parameters(*_MAKERS)
  def test_slots_live_with_their_variable(self, make):
    strategy = make(strategies.PsConfig(8))
    with tf_compat.v1.Graph().as_default():
      with strategy.subnetwork_devices(1, 0):
        variables = [
            tf_compat.v1.get_variable(f"w{i}", shape=[2])
            for i in range(4)
        ]
        optimizer = tf_compat.v1.train.AdamOptimizer()
        optimizer.minimize(sum(map(tf_compat.v1.reduce_sum, variables)))
      self.assertGreater(len({v.device for v in variables}), 1)
      for variable in variables:
        for slot in optimizer.get_slot_names():
          self.assertEqual(variable.device,
                           optimizer.get_slot(variable, slot).device)

  def test_eagerly(self):
    v2 = tf_compat.v2
    if not v2.executing_eagerly():
      self.skipTest("TensorFlow 1.15 does not execute eagerly by default.")
    with strategies.round_robin(strategies.PsConfig(3)).subnetwork_devices(3, 2):
      with v2.device("/cpu:0"):
        self.assertEndsWith(v2.Variable(1., name="w").device, "CPU:0")
      with v2.distribute.OneDeviceStrategy("/cpu:0").scope():
        self.assertEndsWith(v2.Variable(1., name="w").device, "CPU:0")
      # No parameter server is connected.
      with self.assertRaisesRegex(Exception, "/job:ps/.*task:2"):
        v2.Variable(1., name="w")

  @parameterized.parameters(*_MAKERS)
  def test_nests_and_closes(self, make):
    strategy = make(strategies.PsConfig(2))
    placed = []

    def place():
      placed.append(
          tf_compat.v1.get_variable(f"v{len(placed)}", shape=[]).device)

    with tf_compat.v1.Graph().as_default():
      with self.assertRaisesRegex(KeyError, "mine"):
        with strategy.subnetwork_devices(2, 0):
          for _ in range(2):
            with strategy.subnetwork_devices(2, 1):
              place()
          place()
          raise KeyError("mine")
      place()
    self.assertEqual(["/job:ps/task:1"] * 2 + ["/job:ps/task:0", ""], placed)


if __name__ == "__main__":
  absltest.main()
