# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tf.distribute inside the scope of a subnetwork.

In a graph, the parameter servers are real ones in other processes. Eagerly
there are none, so that a variable which is sent to one ends the test.
"""

import collections
import contextlib
import functools

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import local_servers
from adanet.distributed import regression
import numpy as np

PsConfig = collections.namedtuple("PsConfig", "num_ps_replicas")

v1, v2 = tf_compat.v1, tf_compat.v2

_NUM_PS = 3
_NUM_STEPS = 5
_CPUS = ["/cpu:0", "/cpu:1"]
_cluster = {}
_servers = []


def setUpModule():
  addresses = local_servers.free_addresses(1 + _NUM_PS)
  _cluster.update(worker=addresses[:1], ps=addresses[1:])
  local_servers.start(_cluster, "ps")
  v1.enable_v2_behavior()
  cpu, = v2.config.experimental.list_physical_devices("CPU")
  v2.config.experimental.set_virtual_device_configuration(
      cpu, [v2.config.experimental.VirtualDeviceConfiguration()] * 2)
  _servers.append(
      v1.distribute.Server(
          _cluster, "worker", 0,
          config=v1.ConfigProto(device_count={"CPU": 2})))


@contextlib.contextmanager
def _outside():
  yield


def _inside():
  """The scope of a subnetwork that owns the last ps alone."""
  strategy = distributed.RoundRobinStrategy()
  strategy.config = PsConfig(_NUM_PS)
  return strategy.subnetwork_devices(2, 1)


@contextlib.contextmanager
def _mode(mode):
  if mode == "graph":
    with v1.Graph().as_default():
      yield
  else:
    yield


def _resolver():
  return v1.distribute.cluster_resolver.SimpleClusterResolver(
      v1.train.ClusterSpec(_cluster), task_type="worker", task_id=0,
      num_accelerators={"GPU": 0})


def _mirrored_by_one_device(v):
  # The default reduces eagerly as well, but after a function that did so in the
  # same process TensorFlow, with or without this scope, mixes the two up.
  return v.distribute.MirroredStrategy(
      _CPUS, cross_device_ops=v.distribute.ReductionToOneDevice())


_STRATEGIES = {
    "MirroredStrategy": lambda v: v.distribute.MirroredStrategy(_CPUS),
    "MirroredStrategy by one device": _mirrored_by_one_device,
    "OneDeviceStrategy": lambda v: v.distribute.OneDeviceStrategy(_CPUS[1]),
    "CentralStorageStrategy":
        lambda v: v.distribute.experimental.CentralStorageStrategy(
            _CPUS, _CPUS[0]),
    "ParameterServerStrategy":
        lambda v: v.distribute.experimental.ParameterServerStrategy(
            _resolver()),
}

_ROWS = [
    (name, v, mode)
    for name, versions, modes in (
        ("MirroredStrategy", ("v1", "v2"), ("graph", "function")),
        ("MirroredStrategy by one device", ("v1", "v2"), ("eager",)),
        ("OneDeviceStrategy", ("v1", "v2"), ("graph", "eager", "function")),
        ("CentralStorageStrategy", ("v1", "v2"), ("graph", "eager",
                                                  "function")),
        # That of TensorFlow 2 is in worker_groups_test.
        ("ParameterServerStrategy", ("v1",), ("graph",)))
    for v in versions
    for mode in modes
]


def _train(make_strategy, mode, order):
  """Returns the losses and the variables' devices.

  Args:
    make_strategy: a function that returns a `tf.distribute.Strategy`.
    mode: "graph", "eager" or "function".
    order: "outside" all subnetworks, or which of the two scopes is the outer
      one: "subnetwork" or "strategy".
  """
  with _mode(mode):
    with _inside() if order == "subnetwork" else _outside():
      strategy = make_strategy()
      with strategy.scope():
        with _inside() if order == "strategy" else _outside():
          training = regression.Training(strategy, mode, server=_servers[0])
          losses = [training.step() for _ in range(_NUM_STEPS)]
          return losses, training.devices()


class TrainingTest(parameterized.TestCase):

  @parameterized.parameters(
      row + (order,) for row in _ROWS for order in ("subnetwork", "strategy"))
  def test_loss_and_devices_are_those_outside(self, name, v, mode, order):
    make = functools.partial(_STRATEGIES[name], getattr(tf_compat, v))
    losses, devices = _train(make, mode, order)
    losses_outside, devices_outside = _train(make, mode, "outside")
    np.testing.assert_allclose(
        regression.expected_losses(_NUM_STEPS), losses, rtol=1e-4)
    self.assertEqual(losses_outside, losses)
    self.assertEqual(devices_outside, devices)
    self.assertNotIn("/job:ps/task:2", devices)

  def test_without_a_strategy(self):
    losses, devices = _train(v1.distribute.get_strategy, "graph", "subnetwork")
    np.testing.assert_allclose(
        regression.expected_losses(_NUM_STEPS), losses, rtol=1e-4)
    self.assertEqual({"/job:ps/task:2"}, set(devices))

  @parameterized.parameters("MirroredStrategy", "OneDeviceStrategy")
  def test_keras_fit(self, name):
    losses = []
    for scope in (_inside, _outside):
      with scope():
        with _STRATEGIES[name](v2).scope():
          model = v2.keras.Sequential(
              [v2.keras.layers.Dense(1, kernel_initializer="zeros")])
          model.compile(v2.keras.optimizers.SGD(.05, momentum=.9), "mse")
        history = model.fit(
            regression.INPUTS, regression.LABELS, epochs=_NUM_STEPS,
            batch_size=len(regression.INPUTS), shuffle=False, verbose=0)
        losses.append(history.history["loss"])
    self.assertEqual(losses[1], losses[0])
    np.testing.assert_allclose(
        regression.expected_losses(_NUM_STEPS), losses[0], rtol=1e-4)


# What follows asks each name of tf.compat.v1.distribute for something whose
# answer is known.


def _value(tensor):
  if v1.executing_eagerly():
    return tensor.numpy()
  with v1.Session(_servers[0].target) as session:
    session.run(v1.global_variables_initializer())
    return session.run(tensor)


def _two_replicas():
  return _mirrored_by_one_device(v1)


def _losses(strategy):
  mode = "eager" if v1.executing_eagerly() else "graph"
  training = regression.Training(strategy, mode, server=_servers[0])
  return [round(training.step(), 3) for _ in range(_NUM_STEPS)]


def _losses_with(cross_device_ops):
  return _losses(v1.distribute.MirroredStrategy(
      _CPUS, cross_device_ops=cross_device_ops))


def _weights_of_replicas(strategy):
  """Returns the products of a variable, 3, and 1 for each replica, 2, ..."""
  with strategy.scope():
    weight = v2.Variable(3., name="weight")

    def multiply():
      context = v1.distribute.get_replica_context()
      return weight * v2.cast(context.replica_id_in_sync_group + 1, v1.float32)

    return strategy.extended.call_for_each_replica(multiply)


def _in_three_contexts(ask):
  """Returns what `ask` returns in no strategy, in one, and in its replicas."""
  strategy = _two_replicas()
  answers = [ask()]
  with strategy.scope():
    answers.append(ask())
    in_replicas = []
    strategy.extended.call_for_each_replica(
        lambda: in_replicas.append(ask()))
  return answers + in_replicas


def _cross_device_ops():
  calls = []

  class ByOneDevice(v1.distribute.CrossDeviceOps):

    def reduce_implementation(self, *args, **kwargs):
      calls.append("reduce")
      return v1.distribute.ReductionToOneDevice().reduce_implementation(
          *args, **kwargs)

    def batch_reduce_implementation(self, *args, **kwargs):
      calls.append("batch_reduce")
      return v1.distribute.ReductionToOneDevice().batch_reduce_implementation(
          *args, **kwargs)

  return _losses_with(ByOneDevice()), "batch_reduce" in calls


def _input_of_replicas(replication_mode):
  """Returns the contexts that an input function got, and the input's sum."""
  contexts = []

  def make_dataset(context):
    contexts.append((context.num_input_pipelines, context.input_pipeline_id,
                     context.num_replicas_in_sync))
    return v1.data.Dataset.from_tensor_slices([1., 2.])

  strategy = _two_replicas()
  with strategy.scope():
    iterator = strategy.make_input_fn_iterator(make_dataset, replication_mode)
    if not v1.executing_eagerly():
      initialize = iterator.initialize()
    total = strategy.reduce(
        v1.distribute.ReduceOp.SUM,
        strategy.extended.call_for_each_replica(
            lambda x: 2. * x, (iterator.get_next(),)), axis=None)
  if v1.executing_eagerly():
    return contexts, total.numpy()
  # A dataset's iterator is on the devices of this process.
  with v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
    session.run(initialize)
    return contexts, session.run(total)


def _reduce_op():
  strategy = _two_replicas()
  weights = _weights_of_replicas(strategy)
  with strategy.scope():
    return [
        _value(strategy.reduce(op, weights, axis=None))
        for op in (v1.distribute.ReduceOp.SUM, v1.distribute.ReduceOp.MEAN)
    ]


def _nccl_all_reduce():
  # Without a GPU it has no kernel, and sums on one device if that is enough.
  strategy = v1.distribute.MirroredStrategy(
      _CPUS, cross_device_ops=v1.distribute.NcclAllReduce())
  weights = _weights_of_replicas(strategy)
  with strategy.scope():
    return _value(
        strategy.reduce(v1.distribute.ReduceOp.SUM, weights, axis=None))


def _replica_context():
  strategy = _two_replicas()
  with strategy.scope():

    def reduce_over_all():
      context = v1.distribute.get_replica_context()
      return context.all_reduce(v1.distribute.ReduceOp.SUM, v2.constant(2.))

    sums = strategy.extended.call_for_each_replica(reduce_over_all)
    total = strategy.reduce(v1.distribute.ReduceOp.MEAN, sums, axis=None)
    context = v1.distribute.ReplicaContext(strategy, 0)
    with context:
      is_entered = v1.distribute.get_replica_context() is context
    return _value(total), is_entered


def _server():
  address, = local_servers.free_addresses(1)
  server = v1.distribute.Server({"local": [address]}, "local", 0)
  with v1.Graph().as_default(), v1.device("/job:local/task:0"):
    product = v1.constant(2.) * 3.
    with v1.Session(server.target) as session:
      return session.run(product)


def _strategy():
  strategy = _two_replicas()
  assert isinstance(strategy, v1.distribute.Strategy)
  return strategy.num_replicas_in_sync


def _strategy_extended():
  strategy = _two_replicas()
  assert isinstance(strategy.extended, v1.distribute.StrategyExtended)
  with strategy.scope():
    weight = v2.Variable(3., name="weight")
    update = strategy.extended.update(weight, lambda w, x: w.assign(x), (5.,))
    with v1.control_dependencies([update] if update is not None else []):
      value = strategy.extended.read_var(weight)
    return len(strategy.extended.worker_devices), _value(value)


def _cluster_resolver():
  config = tf_compat.RunConfig.from_cluster_resolver(_resolver())
  strategy = distributed.RoundRobinStrategy()
  strategy.config = config
  return (config.num_ps_replicas, strategy.should_build_ensemble(3),
          strategy.should_train_subnetworks(3))


def _experimental():
  return _losses(
      v1.distribute.experimental.CentralStorageStrategy(_CPUS, _CPUS[0]))


def _set_strategy():
  strategy = _two_replicas()
  v1.distribute.experimental_set_strategy(strategy)
  try:
    assert v1.distribute.get_strategy() is strategy
    copies = v2.Variable(3., name="weight").values
  finally:
    v1.distribute.experimental_set_strategy(None)
  return len(copies), v1.distribute.has_strategy()


def _run_options():
  strategy = _two_replicas()
  with strategy.scope():
    twos = strategy.run(
        lambda x: x + 1., (v2.constant(1.),),
        options=v1.distribute.RunOptions(
            experimental_enable_dynamic_batch_size=True))
    return _value(strategy.reduce(v1.distribute.ReduceOp.SUM, twos, axis=None))


_EXPECTED_LOSSES = [25.966, 16.386, 5.305, .459, 3.44]
_PER_WORKER = v1.distribute.InputReplicationMode.PER_WORKER

# Name -> a function that uses it, and what that returns.
_NAMES = {
    "CrossDeviceOps": (
        _cross_device_ops, (_EXPECTED_LOSSES, True)),
    "HierarchicalCopyAllReduce": (
        lambda: _losses_with(v1.distribute.HierarchicalCopyAllReduce()),
        _EXPECTED_LOSSES),
    "InputContext": (
        lambda: _input_of_replicas(_PER_WORKER), ([(1, 0, 2)], 6.)),
    "InputReplicationMode": (
        lambda: (_PER_WORKER.value, _input_of_replicas(_PER_WORKER)[1]),
        ("PER_WORKER", 6.)),
    "MirroredStrategy": (
        lambda: _losses(_two_replicas()), _EXPECTED_LOSSES),
    "NcclAllReduce": (
        _nccl_all_reduce, 9.),
    "OneDeviceStrategy": (
        lambda: _losses(v1.distribute.OneDeviceStrategy(_CPUS[1])),
        _EXPECTED_LOSSES),
    "ReduceOp": (_reduce_op, [9., 4.5]),
    "ReductionToOneDevice": (
        lambda: _losses_with(v1.distribute.ReductionToOneDevice()),
        _EXPECTED_LOSSES),
    "ReplicaContext": (_replica_context, (4., True)),
    "RunOptions": (_run_options, 4.),
    "Server": (_server, 6.),
    "Strategy": (_strategy, 2),
    "StrategyExtended": (_strategy_extended, (2, 5.)),
    "cluster_resolver": (_cluster_resolver, (3, True, True)),
    "experimental": (_experimental, _EXPECTED_LOSSES),
    "experimental_set_strategy": (_set_strategy, (2, False)),
    "get_loss_reduction": (
        lambda: _in_three_contexts(
            lambda: v1.distribute.get_loss_reduction().name), ["SUM"] * 4),
    "get_replica_context": (
        lambda: _in_three_contexts(
            lambda: v1.distribute.get_replica_context() is None),
        [False, True, False, False]),
    "get_strategy": (
        lambda: _in_three_contexts(
            lambda: v1.distribute.get_strategy().num_replicas_in_sync),
        [1, 2, 2, 2]),
    "has_strategy": (
        lambda: _in_three_contexts(v1.distribute.has_strategy),
        [False, True, True, True]),
    "in_cross_replica_context": (
        lambda: _in_three_contexts(v1.distribute.in_cross_replica_context),
        [False, True, False, False]),
}


class NamesTest(parameterized.TestCase):

  def test_the_table_has_every_name(self):
    names = {n for n in dir(v1.distribute) if not n.startswith("_")}
    self.assertEmpty(names - set(_NAMES))
    # Later than the module of TensorFlow 1.15.
    self.assertContainsSubset(set(_NAMES) - names, {"RunOptions"})

  @parameterized.product(name=sorted(_NAMES), mode=["graph", "eager"])
  def test_keeps_its_meaning(self, name, mode):
    if not hasattr(v1.distribute, name):
      self.skipTest("this TensorFlow has no tf.distribute." + name)
    use, expected = _NAMES[name]
    with _mode(mode):
      self.assertEqual(expected, use())
    with _mode(mode), _inside():
      self.assertEqual(expected, use())
      self.assert_scope_is_in_force()

  def assert_scope_is_in_force(self):
    if not v1.executing_eagerly():
      handle = v1.raw_ops.VarHandleOp(dtype="float", shape=[], name="plain")
      self.assertEqual("/job:ps/task:2", handle.device)
      return
    with self.assertRaisesRegex(Exception, "/job:ps/.*task:2"):
      v2.Variable(1., name="plain")  # Eagerly no ps is connected.


if __name__ == "__main__":
  absltest.main()
