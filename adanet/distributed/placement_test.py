# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the placement strategies, over many shapes of cluster."""

import collections
import copy
import functools
import pickle
import subprocess
import sys
import threading
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import devices
from adanet.distributed.testdata import golden
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np

Op = collections.namedtuple("Op", "name")
WorkerConfig = collections.namedtuple(
    "WorkerConfig", "num_worker_replicas global_id_in_cluster")
PsConfig = collections.namedtuple("PsConfig", "num_ps_replicas")

_PS_GOLDEN = golden.load("parameter_server_tasks")


def _round_robin(config, **kwargs):
  strategy = distributed.RoundRobinStrategy(**kwargs)
  strategy.config = config
  return strategy


def _worker(num_workers, worker_index, drop_remainder=False):
  return _round_robin(
      WorkerConfig(num_workers, worker_index), drop_remainder=drop_remainder)


def _built(strategy, num_subnetworks):
  return [
      i for i in range(num_subnetworks)
      if strategy.should_build_subnetwork(num_subnetworks, i)
  ]


_TAKING_INDEX = ("should_build_subnetwork", "subnetwork_devices",
                 "input_context")
_METHODS = ("should_build_ensemble", "should_train_subnetworks") + _TAKING_INDEX
_DECISIONS = ("should_build_ensemble", "should_build_subnetwork",
              "should_train_subnetworks")

def _ask(strategy, method, num_subnetworks, subnetwork_index=0):
  arguments = (subnetwork_index,) if method in _TAKING_INDEX else ()
  return getattr(strategy, method)(num_subnetworks, *arguments)


def _bits(decisions):
  return "".join("1" if d else "0" for d in decisions)


class ReplicationStrategyTest(parameterized.TestCase):

  @parameterized.parameters(1, 2, 7, np.int32(3))
  def test_every_worker_does_everything(self, num_subnetworks):
    strategy = distributed.ReplicationStrategy()
    self.assertIs(strategy.should_build_ensemble(num_subnetworks), True)
    self.assertIs(strategy.should_train_subnetworks(num_subnetworks), True)
    self.assertLen(_built(strategy, num_subnetworks), num_subnetworks)

  def test_default_devices(self):
    with tf_compat.v1.Graph().as_default():
      with distributed.ReplicationStrategy().subnetwork_devices(3, 1):
        self.assertEqual("", tf_compat.v1.get_variable("a", shape=[]).device)


class RoundRobinWorkersTest(parameterized.TestCase):

  @parameterized.parameters(golden.load("round_robin_workers"))
  def test_equals_reference(self, num_workers, num_subnetworks, drop_remainder,
                            ensemble, train, build):
    workers = [
        _worker(num_workers, w, drop_remainder) for w in range(num_workers)
    ]
    self.assertEqual(
        ensemble,
        _bits(w.should_build_ensemble(num_subnetworks) for w in workers))
    self.assertEqual(
        train,
        _bits(w.should_train_subnetworks(num_subnetworks) for w in workers))
    self.assertEqual(build, [
        _bits(
            w.should_build_subnetwork(num_subnetworks, i)
            for i in range(num_subnetworks))
        for w in workers
    ])

  @hypothesis.given(
      num_workers=st.integers(1, 120),
      num_subnetworks=st.integers(1, 40),
      drop_remainder=st.booleans())
  def test_shares_of_a_cluster(self, num_workers, num_subnetworks,
                               drop_remainder):
    trained = set()
    for w in range(num_workers):
      strategy = _worker(num_workers, w, drop_remainder)
      built = _built(strategy, num_subnetworks)
      self.assertNotEmpty(built)
      trains = strategy.should_train_subnetworks(num_subnetworks)
      if trains:
        trained.update(built)
      if not strategy.should_build_ensemble(num_subnetworks):
        self.assertTrue(trains)
        self.assertNotEqual(0, w)
      else:
        self.assertLen(built, num_subnetworks)
    is_dropping = drop_remainder and 1 < num_workers <= num_subnetworks
    dropped = range(num_workers - 1, num_subnetworks) if is_dropping else ()
    self.assertEqual(set(range(num_subnetworks)) - set(dropped), trained)

  @hypothesis.given(
      num_rounds=st.integers(1, 10**9),
      num_subnetworks=st.integers(2, 10**9),
      task=st.integers(1, 10**9),
      drop_remainder=st.booleans())
  def test_one_subnetwork_each_in_whole_rounds(self, num_rounds,
                                               num_subnetworks, task,
                                               drop_remainder):
    round_size = num_subnetworks + 1
    task = 1 + task % num_subnetworks
    strategy = _worker(num_rounds * round_size,
                       (num_rounds - 1) * round_size + task, drop_remainder)
    self.assertFalse(strategy.should_build_ensemble(num_subnetworks))
    self.assertTrue(strategy.should_train_subnetworks(num_subnetworks))
    for i in {0, task - 2, task - 1, task, num_subnetworks - 1}:
      if 0 <= i < num_subnetworks:
        self.assertEqual(
            i == task - 1, strategy.should_build_subnetwork(num_subnetworks, i))

  def test_follows_a_config_that_changes_in_place(self):
    config = mock.Mock(num_worker_replicas=4, num_ps_replicas=3)
    strategy = _round_robin(config)
    for w in range(4):
      config.global_id_in_cluster = w
      self.assertEqual(w == 0, strategy.should_build_ensemble(3))
      self.assertEqual([0, 1, 2] if w == 0 else [w - 1], _built(strategy, 3))
      self.assertEqual(w > 0, strategy.should_train_subnetworks(3))
    for num_ps in (3, 6):
      config.num_ps_replicas = num_ps
      self.assertLen(strategy.subnetwork_parameter_servers(3, 0), num_ps // 3)

  @parameterized.product(
      make=(distributed.ReplicationStrategy,
            functools.partial(distributed.RoundRobinStrategy, True, False)),
      copy_of=(copy.copy, copy.deepcopy,
               lambda strategy: pickle.loads(pickle.dumps(strategy, 2)),
               lambda strategy: strategy.with_config(WorkerConfig(4, 1))))
  def test_copies_decide_alike(self, make, copy_of):
    strategy = make()
    strategy.config = WorkerConfig(4, 1)
    copied = copy_of(strategy)
    self.assertIsNot(strategy, copied)
    self.assertEqual(strategy.config, copied.config)
    self.assertEqual(repr(strategy), repr(copied))
    self.assertEqual(_built(strategy, 3), _built(copied, 3))

  @parameterized.parameters(
      distributed.ReplicationStrategy, distributed.RoundRobinStrategy)
  def test_decides_inside_a_function(self, make):
    # Whose Python AutoGraph converts, and ours with it.
    strategy = make()
    answers = []

    def ask():
      for _ in range(2):
        answers.append([
            strategy.should_build_ensemble(3),
            strategy.should_train_subnetworks(3),
            strategy.should_build_subnetwork(3, 0),
            strategy.should_build_subnetwork(3, np.int64(1)),
        ])
        with strategy.subnetwork_devices(3, 0):
          answers.append(tf_compat.v1.get_variable_scope().reuse)
      return tf_compat.v1.constant(0)

    strategy.config = mock.Mock(
        num_worker_replicas=4, global_id_in_cluster=1, num_ps_replicas=6)
    with tf_compat.v1.Graph().as_default():
      tf_compat.v2.function(ask)()
    expected = ([False, True, True, False]
                if make is distributed.RoundRobinStrategy else [True] * 4)
    self.assertEqual([expected, False] * 2, answers)

  @parameterized.parameters(
      # The id of an evaluator is None; it counts no workers.
      (WorkerConfig(0, None), False),
      (WorkerConfig(1, None), True),
      (WorkerConfig(5, None), False))
  def test_outside_the_cluster(self, config, trains):
    strategy = _round_robin(config)
    self.assertTrue(strategy.should_build_ensemble(3))
    self.assertEqual([0, 1, 2], _built(strategy, 3))
    self.assertEqual(trains, strategy.should_train_subnetworks(3))

  def test_accepts_numpy_integers(self):
    strategy = _worker(np.int64(3), np.int32(1))
    self.assertEqual([0, 2], _built(strategy, np.int8(3)))
    self.assertIs(strategy.should_build_subnetwork(3, np.uint8(2)), True)
    # 127 is the largest int8, and a round is one more.
    self.assertTrue(_worker(128, 127).should_build_subnetwork(
        np.int8(127), np.int8(126)))


class _Halves(distributed.PlacementStrategy):
  """A strategy of a user's: even workers train, odd ones do the ensemble."""

  def _is_even(self):
    return self.config.global_id_in_cluster % 2 == 0

  def should_build_ensemble(self, num_subnetworks):
    return not self._is_even()

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    return subnetwork_index > 0 or not self._is_even()

  def should_train_subnetworks(self, num_subnetworks):
    return self._is_even()

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError


def _share(strategy, num_subnetworks, subnetwork_index):
  """Returns `(num_input_pipelines, input_pipeline_id)`."""
  context = strategy.input_context(num_subnetworks, subnetwork_index)
  assert isinstance(context, tf_compat.v1.distribute.InputContext)
  return context.num_input_pipelines, context.input_pipeline_id


def _reads_for(strategy, num_subnetworks, subnetwork_index):
  """Returns "subnetwork", "ensemble" or "nothing"."""
  if not strategy.should_train_subnetworks(num_subnetworks):
    return "ensemble"
  builds = strategy.should_build_subnetwork(num_subnetworks, subnetwork_index)
  return "subnetwork" if builds else "nothing"


class InputContextTest(parameterized.TestCase):

  @parameterized.parameters(
      # One whole round of an ensemble worker and two trainers.
      dict(m=3, k=2, shares=[[(1, 0), (1, 0)], [(1, 0), None],
                             [None, (1, 0)]]),
      # Two rounds, and a tail of an ensemble worker and one for both.
      dict(m=8, k=2, shares=[
          [(3, 0), (3, 0)], [(3, 0), None], [None, (3, 0)],
          [(3, 1), (3, 1)], [(3, 1), None], [None, (3, 1)],
          [(3, 2), (3, 2)], [(3, 2), (3, 2)]]),
      # The same, but the tail leaves the second subnetwork to the rounds.
      dict(m=8, k=2, drop_remainder=True, shares=[
          [(3, 0), (3, 0)], [(3, 0), None], [None, (2, 0)],
          [(3, 1), (3, 1)], [(3, 1), None], [None, (2, 1)],
          [(3, 2), (3, 2)], [(3, 2), None]]),
      dict(m=1, k=3, shares=[[(1, 0)] * 3]),
      dict(m=3, k=1, shares=[[(3, 0)], [(3, 1)], [(3, 2)]]),
  )
  def test_round_robin(self, m, k, shares, drop_remainder=False):
    for w in range(m):
      strategy = _worker(m, w, drop_remainder)
      for i in range(k):
        if shares[w][i] is None:
          with self.assertRaises(ValueError):
            strategy.input_context(k, i)
        else:
          self.assertEqual(shares[w][i], _share(strategy, k, i))

  @hypothesis.given(
      make=st.sampled_from([
          distributed.ReplicationStrategy,
          distributed.RoundRobinStrategy,
          lambda: distributed.RoundRobinStrategy(drop_remainder=True),
          _Halves,
      ]),
      num_workers=st.integers(1, 40),
      num_subnetworks=st.integers(1, 12),
      data=st.data())
  def test_ids_are_all_below_their_number(self, make, num_workers,
                                          num_subnetworks, data):
    index = data.draw(st.integers(0, num_subnetworks - 1))
    ids = collections.defaultdict(list)
    numbers = collections.defaultdict(set)
    for w in range(num_workers):
      strategy = make()
      strategy.config = WorkerConfig(num_workers, w)
      reads_for = _reads_for(strategy, num_subnetworks, index)
      if reads_for == "nothing":
        with self.assertRaisesRegex(
            ValueError, "subnetwork_index={}: .* worker {} of {} trains"
            .format(index, w, num_workers)):
          strategy.input_context(num_subnetworks, index)
      else:
        number, id_ = _share(strategy, num_subnetworks, index)
        numbers[reads_for].add(number)
        ids[reads_for].append(id_)
    for reads_for, found in ids.items():
      self.assertEqual({len(found)}, numbers[reads_for])
      self.assertEqual(list(range(len(found))), found)

  @hypothesis.given(
      num_rounds=st.integers(1, 10**6),
      num_subnetworks=st.integers(2, 10**6),
      data=st.data())
  def test_large_clusters(self, num_rounds, num_subnetworks, data):
    tail = data.draw(st.integers(0, num_subnetworks))
    this_round = data.draw(st.integers(0, num_rounds - 1))
    task = data.draw(st.integers(0, num_subnetworks))
    num_workers = num_rounds * (num_subnetworks + 1) + tail
    strategy = _worker(num_workers, this_round * (num_subnetworks + 1) + task)
    has_one_in_tail = tail > (1 if task else 0)
    self.assertEqual((num_rounds + has_one_in_tail, this_round),
                     _share(strategy, num_subnetworks, max(0, task - 1)))

  @parameterized.parameters(
      (distributed.ReplicationStrategy,), (distributed.RoundRobinStrategy,))
  def test_an_evaluator_reads_everything(self, make):
    strategy = make()
    for num_workers in (0, 1, 5):
      strategy.config = WorkerConfig(num_workers, None)
      self.assertEqual((1, 0), _share(strategy, 3, 2))
      self.assertEqual((1, 0), _share(strategy, 1, 0))

  def test_a_subclass_that_decides_otherwise(self):

    class Late(distributed.RoundRobinStrategy):

      def should_train_subnetworks(self, num_subnetworks):
        return self.config.global_id_in_cluster >= 2

    strategy = Late()
    strategy.config = WorkerConfig(4, 3)
    # Workers 2 and 3 train; 0 and 1 build something and train nothing.
    self.assertEqual((1, 0), _share(strategy, 3, 2))
    strategy.config = WorkerConfig(4, 1)
    with self.assertRaisesRegex(ValueError, "worker 1 of 4 trains"):
      strategy.input_context(3, 0)

  def test_a_strategy_is_asked_with_what_describes_a_worker(self):

    class Chief(_Halves):

      def should_train_subnetworks(self, num_subnetworks):
        return self.config.is_chief and self.config.model_dir is None

    strategy = Chief()
    strategy.config = tf_compat.RunConfig()
    with self.assertRaisesRegex(AttributeError, "config.model_dir: .*is_chief"):
      strategy.input_context(2, 1)

  def test_a_config_that_cannot_be_copied(self):
    strategy = _Halves()
    strategy.config = tf_compat.RunConfig(device_fn=lambda op: "")
    strategy.config.lock = threading.Lock()
    self.assertEqual((1, 0), _share(strategy, 2, 1))
    strategy.lock = threading.Lock()
    with self.assertRaisesRegex(TypeError, "strategy=.*deepcopy"):
      strategy.input_context(2, 1)

  def test_shares_of_a_data_set(self):
    seen = []
    for w in (1, 4):  # Both train subnetwork 0 of 2.
      context = _worker(6, w).input_context(2, 0)
      with tf_compat.v1.Graph().as_default(), tf_compat.v1.Session() as session:
        shard = tf_compat.v1.data.Dataset.range(10).shard(
            context.num_input_pipelines, context.input_pipeline_id)
        batch = tf_compat.v1.data.make_one_shot_iterator(
            shard.batch(10)).get_next()
        seen.extend(session.run(batch))
    self.assertEqual(list(range(10)), sorted(seen))

  def test_another_strategy_sees_the_ps_of_its_config(self):
    seen = set()

    class Strategy(_Halves):

      def should_train_subnetworks(self, num_subnetworks):
        seen.add(self.config.num_ps_replicas)
        return True

    strategy = Strategy()
    strategy.config = tf_compat.RunConfig()
    self.assertEqual((1, 0), _share(strategy, 2, 1))
    self.assertEqual({0}, seen)


class DroppedSubnetworksTest(parameterized.TestCase):

  # A shape is warned of once in a process, so no other test has these.
  @parameterized.parameters(
      (41, 41, "[40]"), (40, 42, "[39, 40, 41]"), (2, 43, "[1 to 42]"),
      (3, 400, "[2 to 399]"))
  def test_warns_once(self, num_workers, num_subnetworks, indices):
    with self.assertLogs("absl", "WARNING") as logs:
      for w in range(num_workers):
        strategy = _worker(num_workers, w, drop_remainder=True)
        strategy.should_build_ensemble(num_subnetworks)
        strategy.should_build_subnetwork(num_subnetworks, 0)
        strategy.should_train_subnetworks(num_subnetworks)
    self.assertLen(logs.output, 1)
    self.assertIn("subnetworks {}.".format(indices), logs.output[0])

  def test_warns_once_of_each_of_two_shapes(self):
    with self.assertLogs("absl", "WARNING") as logs:
      for _ in range(3):
        for num_subnetworks in (51, 52):
          _worker(50, 7, drop_remainder=True).should_build_ensemble(
              num_subnetworks)
    self.assertLen(logs.output, 2)

  @parameterized.parameters(
      (1, 6, True), (7, 6, True), (8, 6, True), (6, 1, True), (3, 6, False))
  def test_nothing_dropped(self, num_workers, num_subnetworks, drop_remainder):
    with self.assertLogs("absl", "WARNING") as logs:
      # assertLogs has no opposite before Python 3.10.
      distributed.placement.logging.warning("the only one")
      for w in range(num_workers):
        _worker(num_workers, w,
                drop_remainder).should_build_ensemble(num_subnetworks)
    self.assertLen(logs.output, 1)


def _place(num_ps, num_subnetworks, subnetwork_index, names, **kwargs):
  """Returns the devices of variable ops made in a subnetwork's scope."""
  strategy = _round_robin(PsConfig(num_ps), **kwargs)
  with tf_compat.v1.Graph().as_default():
    with strategy.subnetwork_devices(num_subnetworks, subnetwork_index):
      return [
          tf_compat.v1.raw_ops.VarHandleOp(dtype="float", shape=[],
                                           name=name).op.device
          for name in names
      ]


def _task(device):
  return tf_compat.v1.DeviceSpec.from_string(device).task


class RoundRobinDevicesTest(parameterized.TestCase):

  @parameterized.parameters(_PS_GOLDEN["subnetwork_devices"])
  def test_equals_reference(self, num_ps, num_subnetworks, task):
    placed = [
        _place(num_ps, num_subnetworks, i, _PS_GOLDEN["op_names"])
        for i in range(num_subnetworks)
    ]
    self.assertEqual([[
        "" if t is None else "/job:ps/task:{}".format(t) for t in tasks
    ] for tasks in task], placed)

  @hypothesis.settings(max_examples=20)
  @hypothesis.given(st.data())
  def test_groups_are_disjoint_and_cover_all_ps(self, data):
    num_ps = data.draw(st.integers(1, 12))
    num_subnetworks = data.draw(st.integers(1, num_ps))
    names = ["v{}".format(v) for v in range(200)]
    used = [
        _task(device)
        for i in range(num_subnetworks)
        for device in set(_place(num_ps, num_subnetworks, i, names))
    ]
    self.assertCountEqual(range(num_ps), used)

  @hypothesis.given(
      num_ps=st.integers(1, 10**9),
      num_subnetworks=st.integers(1, 10**9),
      index=st.integers(0, 10**9))
  def test_groups_of_large_clusters(self, num_ps, num_subnetworks, index):
    index %= num_subnetworks
    names = ["v{}".format(v) for v in range(5)]
    tasks = [_task(d) for d in _place(num_ps, num_subnetworks, index, names)]
    if num_subnetworks > num_ps:
      self.assertEqual({index % num_ps}, set(tasks))
    else:
      # The groups are in the order of the subnetworks, and of nearly one size.
      size, larger = divmod(num_ps, num_subnetworks)
      first = index * size + min(index, larger)
      size += index < larger
      strategy = devices.OpNameHashStrategy(size)
      self.assertEqual([first + strategy(Op(n)) for n in names], tasks)

  @parameterized.parameters(
      dict(num_ps=0), dict(num_ps=5, dedicate_parameter_servers=False))
  def test_changes_nothing(self, num_ps, **kwargs):
    self.assertEqual([""] * 3, _place(num_ps, 2, 1, ["a", "b", "c"], **kwargs))

  def test_follows_its_config(self):
    strategy = distributed.RoundRobinStrategy()
    for num_ps, device in ((2, "/job:ps/task:1"), (1, "/job:ps/task:0"),
                           (0, ""), (3, "/job:ps/task:2")):
      strategy.config = PsConfig(num_ps)
      for _ in range(2):
        with tf_compat.v1.Graph().as_default():
          with strategy.subnetwork_devices(2, 1):
            self.assertEqual(
                device, tf_compat.v1.get_variable("w", shape=[]).device)

  @parameterized.parameters(
      distributed.ReplicationStrategy(), _round_robin(PsConfig(0)),
      _round_robin(PsConfig(3)))
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

  def test_follows_the_parameter_servers_of_a_subclass(self):

    class Choosing(distributed.RoundRobinStrategy):
      tasks = None

      def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
        return self.tasks

    strategy = Choosing()
    strategy.config = PsConfig(9)
    for tasks in ([4], (2,), {8}, range(5, 6), [], None, [7, 1]):
      strategy.tasks = tasks
      devices = {"/job:ps/task:%d" % task for task in tasks or ()} or {""}
      with tf_compat.v1.Graph().as_default():
        with strategy.subnetwork_devices(2, 1):
          self.assertEqual(
              devices,
              {tf_compat.v1.get_variable("w%d" % i, shape=[]).device
               for i in range(20)})

  def test_leaves_each_scope_that_was_entered(self):
    scope = _round_robin(PsConfig(2)).subnetwork_devices(2, 1)
    with tf_compat.v1.Graph().as_default():
      devices = []
      with scope:
        with scope:
          devices.append(tf_compat.v1.get_variable("a", shape=[]).device)
        devices.append(tf_compat.v1.get_variable("b", shape=[]).device)
      devices.append(tf_compat.v1.get_variable("c", shape=[]).device)
    self.assertEqual(["/job:ps/task:1", "/job:ps/task:1", ""], devices)

  def test_needs_no_config_where_it_changes_nothing(self):
    strategy = distributed.RoundRobinStrategy(dedicate_parameter_servers=False)
    with strategy.subnetwork_devices(2, 1):
      pass

  @parameterized.product(use_resource=[True, False])
  def test_only_variables_move(self, use_resource):
    strategy = _round_robin(PsConfig(4))
    with tf_compat.v1.Graph().as_default() as graph:
      with strategy.subnetwork_devices(2, 1):
        tf_compat.v1.get_variable("w", shape=[2], use_resource=use_resource)
        tf_compat.v1.constant(1., name="constant")
        table = tf_compat.v1.raw_ops.MutableHashTableV2(
            key_dtype="string", value_dtype="int64", name="w")
    variable = graph.get_operation_by_name("w")
    self.assertIn(variable.type, tf_compat.STANDARD_PS_OPS)
    task = 2 + devices.OpNameHashStrategy(2)(Op("w"))
    self.assertEqual("/job:ps/task:{}".format(task), variable.device)
    self.assertStartsWith(table.device, "/job:ps/task:")
    self.assertEqual("", graph.get_operation_by_name("constant").device)

  @parameterized.parameters(
      ("/job:worker/task:3", "/job:worker/task:3"),
      ("/job:ps/task:7", "/job:ps/task:7"),
      ("/job:localhost/device:CPU:0", "/job:localhost/device:CPU:0"),
      ("/task:1", "/task:1"),
      ("/replica:0/task:0/device:CPU:0", "/replica:0/task:0/device:CPU:0"),
      ("/device:CPU:0", "/job:ps/task:2/device:CPU:0"),
      ("", "/job:ps/task:2"))
  def test_an_explicit_device_wins(self, explicit, placed):
    # The group of subnetwork 2 is the ps 2 alone.
    strategy = _round_robin(PsConfig(3))
    with tf_compat.v1.Graph().as_default():
      with strategy.subnetwork_devices(3, 2), tf_compat.v1.device(explicit):
        variable = tf_compat.v1.get_variable("w", shape=[])
    self.assertEqual(
        tf_compat.v1.DeviceSpec.from_string(placed),
        tf_compat.v1.DeviceSpec.from_string(variable.device))

  def test_inside_replica_device_setter(self):
    strategy = _round_robin(PsConfig(6))
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

  def test_slots_live_with_their_variable(self):
    strategy = _round_robin(PsConfig(8))
    with tf_compat.v1.Graph().as_default():
      with strategy.subnetwork_devices(1, 0):
        variables = [
            tf_compat.v1.get_variable("w{}".format(i), shape=[2])
            for i in range(8)
        ]
        optimizer = tf_compat.v1.train.AdamOptimizer()
        optimizer.minimize(sum(map(tf_compat.v1.reduce_sum, variables)))
      self.assertGreater(len({v.device for v in variables}), 1)
      for variable in variables:
        for slot in optimizer.get_slot_names():
          self.assertEqual(variable.device,
                           optimizer.get_slot(variable, slot).device)

  def test_every_worker_agrees(self):
    names = ["a", "b", "c", "d"]
    all_ = _place(7, 2, 1, names)
    for name, device in zip(names, all_):
      self.assertEqual([device], _place(7, 2, 1, [name]))
    self.assertEqual(all_[::-1], _place(7, 2, 1, names[::-1]))

  def test_nests_and_closes(self):
    strategy = _round_robin(PsConfig(2))
    with tf_compat.v1.Graph().as_default():
      with self.assertRaisesRegex(KeyError, "mine"):
        with strategy.subnetwork_devices(2, 0):
          with strategy.subnetwork_devices(2, 1):
            inner = tf_compat.v1.get_variable("inner", shape=[])
          outer = tf_compat.v1.get_variable("outer", shape=[])
          raise KeyError("mine")
      after = tf_compat.v1.get_variable("after", shape=[])
    self.assertEqual(["/job:ps/task:1", "/job:ps/task:0", ""],
                     [inner.device, outer.device, after.device])


class ErrorsTest(parameterized.TestCase):

  def assert_says(self, error, text, call, *args):
    with self.assertRaises(error) as raised:
      call(*args)
    self.assertStartsWith(str(raised.exception), text)
    self.assertIn("expected ", str(raised.exception))
    self.assertNotIn("\n", str(raised.exception))

  @parameterized.product(
      [
          dict(value=0, error=ValueError),
          dict(value=-1, error=ValueError),
          dict(value=np.int64(0), error=ValueError),
          dict(value=2.0, error=TypeError),
          dict(value="3", error=TypeError),
          dict(value=True, error=TypeError),
          dict(value=np.bool_(True), error=TypeError),
          dict(value=None, error=TypeError),
      ],
      method=_METHODS,
      strategy=[
          distributed.ReplicationStrategy(),
          _round_robin(tf_compat.RunConfig())
      ])
  def test_num_subnetworks(self, value, error, method, strategy):
    self.assert_says(error, "num_subnetworks={!r}: ".format(value), _ask,
                     strategy, method, value)

  @parameterized.product(
      [
          dict(value=3, error=ValueError),
          dict(value=-1, error=ValueError),
          dict(value=np.int64(3), error=ValueError),
          dict(value=1.0, error=TypeError),
          dict(value="1", error=TypeError),
          dict(value=False, error=TypeError),
          dict(value=None, error=TypeError),
      ],
      method=_TAKING_INDEX,
      strategy=[
          distributed.ReplicationStrategy(),
          _round_robin(tf_compat.RunConfig())
      ])
  def test_subnetwork_index(self, value, error, method, strategy):
    self.assert_says(error, "subnetwork_index={!r}: ".format(value), _ask,
                     strategy, method, 3, value)

  @parameterized.product(method=_METHODS, num_subnetworks=[1, 2])
  def test_no_config(self, method, num_subnetworks):
    self.assert_says(RuntimeError, "config=None: ", _ask,
                     distributed.RoundRobinStrategy(), method, num_subnetworks)

  @parameterized.parameters(
      ("should_build_ensemble", PsConfig(2), "num_worker_replicas"),
      ("should_build_subnetwork", object(), "num_worker_replicas"),
      ("should_train_subnetworks",
       collections.namedtuple("C", "num_worker_replicas")(4),
       "global_id_in_cluster"),
      ("input_context", PsConfig(2), "num_worker_replicas"),
      ("subnetwork_devices", WorkerConfig(4, 1), "num_ps_replicas"))
  def test_incomplete_config(self, method, config, attribute):
    self.assert_says(TypeError, "config={!r}: ".format(config), _ask,
                     _round_robin(config), method, 3)
    with self.assertRaisesRegex(TypeError, attribute):
      _ask(_round_robin(config), method, 3)

  @parameterized.parameters(1, 3)
  def test_replication_without_a_config(self, num_subnetworks):
    self.assert_says(RuntimeError, "config=None: ", _ask,
                     distributed.ReplicationStrategy(), "input_context",
                     num_subnetworks)

  @parameterized.product(
      [
          dict(
              config=WorkerConfig(0, 0),
              error=ValueError,
              text="num_worker_replicas=0: "),
          dict(
              config=WorkerConfig(-1, None),
              error=ValueError,
              text="num_worker_replicas=-1: "),
          dict(
              config=WorkerConfig(2.5, 0),
              error=TypeError,
              text="num_worker_replicas=2.5: "),
          dict(
              config=WorkerConfig(4, 4),
              error=ValueError,
              text="global_id_in_cluster=4: expected an integer in [0, 4)"),
          dict(
              config=WorkerConfig(4, -1),
              error=ValueError,
              text="global_id_in_cluster=-1: "),
          dict(
              config=WorkerConfig(4, "1"),
              error=TypeError,
              text="global_id_in_cluster='1': "),
      ],
      method=[m for m in _METHODS if m != "subnetwork_devices"])
  def test_workers(self, config, error, text, method):
    self.assert_says(error, "config." + text, _ask, _round_robin(config),
                     method, 3)

  @parameterized.parameters((-1, ValueError), (1.5, TypeError),
                            (None, TypeError), (True, TypeError))
  def test_num_ps(self, value, error):
    self.assert_says(error, "config.num_ps_replicas={!r}: ".format(value), _ask,
                     _round_robin(PsConfig(value)), "subnetwork_devices", 3)

  def test_long_values_are_cut(self):
    with self.assertRaises(TypeError) as raised:
      distributed.ReplicationStrategy().should_build_ensemble(
          np.zeros([50, 50]))
    self.assertLess(len(str(raised.exception)), 300)
    self.assertNotIn("\n", str(raised.exception))

  def test_abstract(self):
    with self.assertRaisesRegex(TypeError, "abstract"):
      distributed.PlacementStrategy()


class ImportTest(parameterized.TestCase):

  @parameterized.parameters(
      "import adanet.distributed",
      "import adanet; adanet.distributed.RoundRobinStrategy()",
      "from adanet import tf_compat; tf_compat.RunConfig()",
      "from adanet import distributed as d, tf_compat; "
      "s = d.RoundRobinStrategy(); s.config = tf_compat.RunConfig(); "
      "assert s.should_build_subnetwork(3, 1)")
  def test_no_tensorflow(self, statement):
    program = "import sys; {}; sys.exit('tensorflow' in sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program.format(statement)],
        check=False,
        timeout=60)
    self.assertEqual(0, finished.returncode)


if __name__ == "__main__":
  absltest.main()
