# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tf.distribute inside the scope of a subnetwork.

In a graph, the parameter servers are real ones in other processes. Eagerly
there are none, so a variable on one is an error.
"""

import contextlib
import functools

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.testing import regression
from adanet.testing import processes
from adanet.testing import servers
from adanet.testing import strategies
import numpy as np

v1, v2 = tf_compat.v1, tf_compat.v2

_NUM_PS = 3
_NUM_STEPS = 3
_CPUS = ["/cpu:0", "/cpu:1"]
_cluster = {}
_servers = []


def setUpModule():
  _cluster.update(processes.free_cluster(worker=1, ps=_NUM_PS))
  servers.start(_cluster, "ps")
  v1.enable_v2_behavior()
  cpu, = v2.config.experimental.list_physical_devices("CPU")
  v2.config.experimental.set_virtual_device_configuration(
      cpu, [v2.config.experimental.VirtualDeviceConfiguration()] * 2)
  _servers.append(
      v1.distribute.Server(
          _cluster, "worker", 0,
          config=v1.ConfigProto(device_count={"CPU": 2})))


_outside = contextlib.nullcontext
_MAKERS = {
    "round_robin": strategies.round_robin,
    "balanced": functools.partial(strategies.balanced, sizes=[2, 1]),
}


def _inside(placement="round_robin"):
  """The scope of a subnetwork that has the last ps alone."""
  strategy = _MAKERS[placement](strategies.PsConfig(_NUM_PS))
  return strategy.subnetwork_devices(2, 1)


def _mode(mode):
  return v1.Graph().as_default() if mode == "graph" else _outside()


def _mirrored(cross_device_ops, v=v1):
  return v.distribute.MirroredStrategy(_CPUS, cross_device_ops=cross_device_ops)


def _two_replicas(v=v1):
  # The default reduces eagerly as well, but TensorFlow confuses that, with or
  # without this scope, with a function that did so earlier in the process.
  return _mirrored(v.distribute.ReductionToOneDevice(), v)


# Name -> a function that makes a strategy with it, from a version of TensorFlow,
# and the versions and modes to train in.
_STRATEGIES = {
    "MirroredStrategy": (
        lambda v: v.distribute.MirroredStrategy(_CPUS),
        ["v1_graph", "v2_function"]),
    "HierarchicalCopyAllReduce": (
        lambda v: _mirrored(v.distribute.HierarchicalCopyAllReduce(), v),
        ["v1_eager"]),
    "OneDeviceStrategy": (
        lambda v: v.distribute.OneDeviceStrategy(_CPUS[1]),
        ["v1_graph", "v2_eager"]),
    "ReductionToOneDevice": (_two_replicas, ["v1_graph", "v2_eager"]),
    "experimental.CentralStorageStrategy": (
        lambda v: v.distribute.experimental.CentralStorageStrategy(
            _CPUS, _CPUS[0]),
        ["v1_graph", "v2_eager"]),
    # That of TensorFlow 2 is in worker_groups_test.
    "experimental.ParameterServerStrategy": (
        lambda v: v.distribute.experimental.ParameterServerStrategy(
            v.distribute.cluster_resolver.SimpleClusterResolver(
                v.train.ClusterSpec(_cluster), task_type="worker", task_id=0,
                num_accelerators={"GPU": 0})),
        ["v1_graph"]),
}


def _train(make_strategy, mode, order, placement="round_robin"):
  """Returns the losses and the variables' devices.

  Args:
    make_strategy: a function that returns a `tf.distribute.Strategy`.
    mode: "graph", "eager" or "function".
    order: "outside" all subnetworks, or the outer one of the two scopes:
      "subnetwork" or "strategy".
    placement: "round_robin" or "balanced", whose subnetwork it is.
  """
  with _mode(mode):
    with _inside(placement) if order == "subnetwork" else _outside():
      strategy = make_strategy()
      with strategy.scope():
        with _inside(placement) if order == "strategy" else _outside():
          training = regression.Training(strategy, mode, server=_servers[0])
          losses = [training.step() for _ in range(_NUM_STEPS)]
          return losses, training.devices()


class TrainingTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("_".join([name, version_and_mode]), make) + tuple(
          version_and_mode.split("_"))
      for name, (make, versions_and_modes) in _STRATEGIES.items()
      for version_and_mode in versions_and_modes)
  def test_loss_and_devices_are_those_outside(self, make, version, mode):
    make = functools.partial(make, getattr(tf_compat, version))
    losses, devices = _train(make, mode, "outside")
    np.testing.assert_allclose(
        regression.expected_losses(_NUM_STEPS), losses, rtol=1e-4)
    self.assertNotIn("/job:ps/task:2", devices)
    # One balanced subnetwork is enough: the picks differ, not the scopes.
    for scopes in (("subnetwork", "round_robin"), ("strategy", "round_robin"),
                   ("subnetwork", "balanced")):
      self.assertEqual((losses, devices), _train(make, mode, *scopes), scopes)

  @parameterized.parameters(*_MAKERS)
  def test_without_a_strategy(self, placement):
    losses, devices = _train(
        v1.distribute.get_strategy, "graph", "subnetwork", placement)
    np.testing.assert_allclose(
        regression.expected_losses(_NUM_STEPS), losses, rtol=1e-4)
    self.assertEqual({"/job:ps/task:2"}, set(devices))

  @parameterized.parameters(
      ("MirroredStrategy", "balanced"), ("OneDeviceStrategy", "round_robin"))
  def test_keras_fit(self, name, placement):
    make_strategy, _ = _STRATEGIES[name]
    with _inside(placement):
      with make_strategy(v2).scope():
        model = v2.keras.Sequential(
            [v2.keras.layers.Dense(1, kernel_initializer="zeros")])
        model.compile(v2.keras.optimizers.SGD(.05, momentum=.9), "mse")
      history = model.fit(
          regression.INPUTS, regression.LABELS, epochs=_NUM_STEPS,
          batch_size=len(regression.INPUTS), shuffle=False, verbose=0)
    np.testing.assert_allclose(
        regression.expected_losses(_NUM_STEPS), history.history["loss"],
        rtol=1e-4)


# Each of these functions uses names of tf.compat.v1.distribute and returns
# something that is known.


def _value(tensor):
  if v1.executing_eagerly():
    return tensor.numpy()
  with v1.Session(_servers[0].target) as session:
    session.run(v1.global_variables_initializer())
    return session.run(tensor)


def _nccl_all_reduce():
  # Without a GPU it has no kernel, and sums on one device if that is enough.
  all_reduce = v1.distribute.NcclAllReduce()
  assert isinstance(all_reduce, v1.distribute.CrossDeviceOps)
  strategy = _mirrored(all_reduce)
  with strategy.scope():
    weight = v2.Variable(3., name="weight")
    copies = strategy.extended.call_for_each_replica(lambda: weight * 2.)
    return _value(
        strategy.reduce(v1.distribute.ReduceOp.SUM, copies, axis=None))


def _input_context():
  """Returns the contexts that an input function got, and twice the input."""
  contexts = []

  def make_dataset(context):
    contexts.append((context.num_input_pipelines, context.input_pipeline_id,
                     context.num_replicas_in_sync))
    return v1.data.Dataset.from_tensor_slices([1., 2.])

  strategy = _two_replicas()
  with strategy.scope():
    iterator = strategy.make_input_fn_iterator(
        make_dataset, v1.distribute.InputReplicationMode.PER_WORKER)
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


def _set_strategy():
  strategy = _two_replicas()
  assert isinstance(strategy, v1.distribute.Strategy)
  assert isinstance(strategy.extended, v1.distribute.StrategyExtended)
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


def _contexts():
  """Returns the answers without a strategy, in one and in its two replicas."""

  def ask():
    return (v1.distribute.get_loss_reduction().name,
            v1.distribute.get_replica_context() is None,
            v1.distribute.get_strategy().num_replicas_in_sync,
            v1.distribute.has_strategy(),
            v1.distribute.in_cross_replica_context())

  answers = [ask()]
  strategy = _two_replicas()
  with strategy.scope():
    answers.append(ask())
    in_replicas = []
    strategy.extended.call_for_each_replica(lambda: in_replicas.append(ask()))
  return answers + in_replicas


# Names, a function that uses them, and what it returns.
_USES = [
    ("get_loss_reduction get_replica_context get_strategy has_strategy "
     "in_cross_replica_context", _contexts,
     [("SUM", False, 1, False, False), ("SUM", True, 2, True, True)] +
     [("SUM", False, 2, True, False)] * 2),
    ("InputContext InputReplicationMode", _input_context, ([(1, 0, 2)], 6.)),
    ("CrossDeviceOps NcclAllReduce", _nccl_all_reduce, 12.),
    ("ReduceOp ReplicaContext", _replica_context, (4., True)),
    ("RunOptions", _run_options, 4.),
    ("Strategy StrategyExtended experimental_set_strategy", _set_strategy,
     (2, False)),
]


class NamesTest(parameterized.TestCase):

  def test_every_name_is_used(self):
    names = {n for n in dir(v1.distribute) if not n.startswith("_")}
    used = {"Server", "cluster_resolver"}  # The strategies in a graph use both.
    used.update(name.split(".")[0] for name in _STRATEGIES)
    for more, _, _ in _USES:
      used.update(more.split())
    self.assertEmpty(names - used)

  def test_an_inner_device_wins_eagerly(self):
    with _inside(), v2.device(_CPUS[1]):
      self.assertEndsWith(v2.Variable(1., name="plain").device, "CPU:1")

  @parameterized.product(
      row=_USES, mode=["graph", "eager"], placement=list(_MAKERS))
  def test_keeps_its_meaning(self, row, mode, placement):
    names, use, expected = row
    if names == "RunOptions" and not hasattr(v1.distribute, names):
      self.skipTest("this TensorFlow has no tf.distribute.RunOptions")
    with _mode(mode):
      self.assertEqual(expected, use())
    with _mode(mode), _inside(placement):
      self.assertEqual(expected, use())
      # The scope is still in force. Eagerly no ps is connected.
      if mode == "graph":
        handle = v1.raw_ops.VarHandleOp(dtype="float", shape=[], name="plain")
        self.assertEqual("/job:ps/task:2", handle.device)
      else:
        with self.assertRaisesRegex(Exception, "/job:ps/.*task:2"):
          v2.Variable(1., name="plain")


if __name__ == "__main__":
  absltest.main()
