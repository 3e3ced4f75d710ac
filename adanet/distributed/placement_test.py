# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the strategies decide, and of how workers divide the input."""

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
from adanet import messages
from adanet import tf_compat
from adanet.distributed.testdata import golden
from adanet.testing import answers as answers_lib
from adanet.testing import level
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st
import numpy as np


def _built(strategy, num_subnetworks):
  return [
      i for i in range(num_subnetworks)
      if strategy.should_build_subnetwork(num_subnetworks, i)
  ]


_TAKING_INDEX = ("should_build_subnetwork", "subnetwork_devices",
                 "input_context")
_METHODS = ("should_build_ensemble", "should_train_subnetworks",
            "training_fractions") + _TAKING_INDEX
_MAKERS = (distributed.ReplicationStrategy, distributed.RoundRobinStrategy,
           distributed.BalancedStrategy)
_STRATEGIES = (distributed.ReplicationStrategy(),
               strategies.round_robin(tf_compat.RunConfig()),
               strategies.balanced(tf_compat.RunConfig()))


def _ask(strategy, method, num_subnetworks, subnetwork_index=0):
  arguments = (subnetwork_index,) if method in _TAKING_INDEX else ()
  return getattr(strategy, method)(num_subnetworks, *arguments)


# What no number of subnetworks and no index may be.
_BAD_INTEGERS = ((-1, ValueError), (2.0, TypeError))


def _bits(decisions):
  return "".join("1" if d else "0" for d in decisions)


class ReplicationStrategyTest(absltest.TestCase):

  def test_every_worker_does_everything(self):
    strategy = distributed.ReplicationStrategy()
    for num_subnetworks in 1, np.int32(3):
      self.assertIs(strategy.should_build_ensemble(num_subnetworks), True)
      self.assertIs(strategy.should_train_subnetworks(num_subnetworks), True)
      self.assertLen(_built(strategy, num_subnetworks), num_subnetworks)


class RoundRobinWorkersTest(parameterized.TestCase):

  @parameterized.parameters(golden.load("round_robin_workers"))
  def test_equals_reference(self, num_workers, num_subnetworks, drop_remainder,
                            ensemble, train, build):
    workers = [strategies.worker(num_workers, w, drop_remainder)
               for w in range(num_workers)]
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

  def test_follows_a_config_that_changes_in_place(self):
    config = mock.Mock(num_worker_replicas=4, num_ps_replicas=3)
    strategy = strategies.round_robin(config)
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
            functools.partial(distributed.RoundRobinStrategy, True, False),
            functools.partial(distributed.BalancedStrategy, [1, 2, 4])),
      copy_of=(copy.copy, copy.deepcopy,
               lambda strategy: pickle.loads(pickle.dumps(strategy, 2)),
               lambda strategy: strategy.with_config(strategy.config)))
  def test_copies_decide_alike(self, make, copy_of):
    strategy = make()
    strategy.config = strategies.WorkerConfig(4, 1)
    copied = copy_of(strategy)
    self.assertIsNot(strategy, copied)
    self.assertEqual(strategy.config, copied.config)
    self.assertEqual(repr(strategy), repr(copied))
    self.assertEqual(_built(strategy, 3), _built(copied, 3))

  @parameterized.parameters(level.first(list(_MAKERS[::-1])))
  def test_decides_inside_a_function(self, make):
    # Whose Python AutoGraph converts, and ours with it.
    strategy = make()
    strategy.config = strategies.Config(4, 6, 1)
    answers = []

    def ask():
      for _ in range(2):
        with strategy.subnetwork_devices(3, 0):
          answers.append([
              strategy.should_build_ensemble(3),
              strategy.should_train_subnetworks(3),
              strategy.should_build_subnetwork(3, 0),
              strategy.should_build_subnetwork(3, np.int64(1)),
          ])
      return tf_compat.v1.constant(0)

    with tf_compat.v1.Graph().as_default():
      tf_compat.v2.function(ask)()
    expected = ([False, True, True, False]
                if make is not distributed.ReplicationStrategy else [True] * 4)
    self.assertEqual([expected] * 2, answers)

  @parameterized.parameters(
      # The id of an evaluator is None; it counts no workers.
      (strategies.WorkerConfig(0, None), False),
      (strategies.WorkerConfig(1, None), True),
      (strategies.WorkerConfig(5, None), False))
  def test_outside_the_cluster(self, config, trains):
    for strategy in (
        strategies.round_robin(config), strategies.balanced(config)):
      self.assertTrue(strategy.should_build_ensemble(3))
      self.assertEqual([0, 1, 2], _built(strategy, 3))
      self.assertEqual(trains, strategy.should_train_subnetworks(3))

  def test_accepts_numpy_integers(self):
    strategy = strategies.worker(np.int64(3), np.int32(1))
    self.assertEqual([0, 2], _built(strategy, np.int8(3)))
    self.assertIs(strategy.should_build_subnetwork(3, np.uint8(2)), True)
    # 127 is the largest int8, and a round is one more.
    self.assertTrue(strategies.worker(128, 127).should_build_subnetwork(
        np.int8(127), np.int8(126)))


class DroppedSubnetworksTest(parameterized.TestCase):

  # A shape is warned of once in a process, so no other test has these.
  @parameterized.parameters(
      (41, 41, "[40]"), (40, 42, "[39, 40, 41]"), (2, 43, "[1 to 42]"),
      (3, 400, "[2 to 399]"), (1, 6, None), (7, 6, None), (8, 6, None),
      (6, 1, None), (3, 6, None, False))
  def test_warns_once(
      self, num_workers, num_subnetworks, indices, drop_remainder=True):
    with self.assertLogs("absl", "WARNING") as logs:
      # assertLogs has no opposite before Python 3.10.
      distributed.placement.logging.warning("the only one")
      for w in range(num_workers):
        strategy = strategies.worker(num_workers, w, drop_remainder)
        strategy.should_build_ensemble(num_subnetworks)
        strategy.should_build_subnetwork(num_subnetworks, 0)
        strategy.should_train_subnetworks(num_subnetworks)
    self.assertLen(logs.output, 1 if indices is None else 2)
    if indices is not None:
      self.assertIn(f"subnetworks {indices}. Use at least {num_subnetworks} "
                    "workers beside the chief", logs.output[1])
      self.assertIn(f"with the chief and {num_workers - 1} worker",
                    logs.output[1])


def _share(strategy, num_subnetworks, subnetwork_index):
  """Returns `(num_input_pipelines, input_pipeline_id)`."""
  context = strategy.input_context(num_subnetworks, subnetwork_index)
  assert isinstance(context, tf_compat.v1.distribute.InputContext)
  return context.num_input_pipelines, context.input_pipeline_id


class InputContextTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(50, 200))
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes, st.data())
  def test_ids_are_all_below_their_number(self, strategy, shape, data):
    m, n, k = shape
    index = data.draw(st.integers(0, k - 1))
    answers = answers_lib.Answers(strategy, m, n, k)
    ids = collections.defaultdict(list)
    numbers = collections.defaultdict(set)
    for w in range(m):
      strategy.config = strategies.Config(m, n, w)
      trains = strategy.should_train_subnetworks(k)
      reads_for = None
      if index in answers.trained[w]:
        reads_for = "subnetwork"
      elif answers.ensemble[w] and (index in answers.built[w] or not trains):
        reads_for = "ensemble"
      if reads_for:
        number, id_ = _share(strategy, k, index)
        numbers[reads_for].add(number)
        ids[reads_for].append(id_)
        continue
      task = f"worker:{w - 1}" if w else "chief:0"
      with self.assertRaisesRegex(
          ValueError, f"subnetwork_index={index}: .* {task} trains"):
        strategy.input_context(k, index)
    for reads_for, indices in ids.items():
      self.assertEqual({len(indices)}, numbers[reads_for])
      self.assertEqual(list(range(len(indices))), indices)

  @parameterized.parameters(*_MAKERS)
  def test_an_evaluator_reads_everything(self, make):
    strategy = make()
    for num_workers in (0, 1, 5):
      strategy.config = strategies.WorkerConfig(num_workers, None)
      self.assertEqual((1, 0), _share(strategy, 3, 2))
      self.assertEqual((1, 0), _share(strategy, 1, 0))

  def test_a_strategy_is_asked_with_what_describes_a_worker(self):
    seen = []

    def trains(config):
      seen.append((config.is_chief, config.num_ps_replicas))
      return len(seen) == 1 or config.model_dir

    strategy = strategies.Custom(bool, lambda config, i: True, trains)
    strategy.config = tf_compat.RunConfig()
    self.assertEqual((1, 0), _share(strategy, 2, 1))
    self.assertEqual([(True, 0)], seen)
    with self.assertRaisesRegex(AttributeError, "config.model_dir: .*is_chief"):
      strategy.input_context(2, 1)

  def test_a_subclass_that_changes_what_it_reads_of_its_config(self):
    # The last worker gets the ensemble.
    strategy = strategies.viewing(
        distributed.RoundRobinStrategy, lambda config: strategies.WorkerConfig(
            config.num_worker_replicas,
            config.num_worker_replicas - 1 - config.global_id_in_cluster))()
    for w, share in ((1, (2, 0)), (5, (2, 1))):
      strategy.config = strategies.WorkerConfig(7, w)
      self.assertEqual(share, _share(strategy, 3, 0))

  def test_a_config_that_cannot_be_copied(self):
    strategy = strategies.Custom(bool, lambda config, i: True, bool)
    strategy.config = tf_compat.RunConfig(device_fn=lambda op: "")
    strategy.config.lock = threading.Lock()
    self.assertEqual((1, 0), _share(strategy, 2, 1))
    strategy.lock = threading.Lock()
    with self.assertRaisesRegex(TypeError, "strategy=.*deepcopy"):
      strategy.input_context(2, 1)


class ErrorsTest(parameterized.TestCase):

  def assert_says(self, error, text, call, *args):
    with self.assertRaises(error) as raised:
      call(*args)
    self.assertStartsWith(str(raised.exception), text)
    self.assertIn("expected ", str(raised.exception))
    self.assertNotIn("\n", str(raised.exception))

  @parameterized.product(method=_METHODS, strategy=_STRATEGIES)
  def test_num_subnetworks(self, method, strategy):
    for value, error in _BAD_INTEGERS + ((0, ValueError),):
      self.assert_says(error, f"num_subnetworks={value!r}: ", _ask,
                       strategy, method, value)

  @parameterized.product(method=_TAKING_INDEX, strategy=_STRATEGIES)
  def test_subnetwork_index(self, method, strategy):
    for value, error in _BAD_INTEGERS + ((3, ValueError),):
      self.assert_says(error, f"subnetwork_index={value!r}: ", _ask,
                       strategy, method, 3, value)

  @parameterized.product(method=_METHODS, num_subnetworks=[1, 2], make=_MAKERS)
  def test_no_config(self, method, num_subnetworks, make):
    if make is distributed.ReplicationStrategy and method != "input_context":
      _ask(make(), method, num_subnetworks)  # Needs none.
      return
    self.assert_says(RuntimeError, "config=None: ", _ask,
                     make(), method, num_subnetworks)

  @parameterized.parameters(
      ("should_build_ensemble", strategies.PsConfig(2)),
      ("should_build_subnetwork", object()),
      ("should_train_subnetworks",
       collections.namedtuple("C", "num_worker_replicas")(4)),
      ("input_context", strategies.PsConfig(2)),
      ("subnetwork_devices", strategies.WorkerConfig(4, 1), "num_ps_replicas"))
  def test_incomplete_config(
      self, method, config,
      attributes="num_worker_replicas and global_id_in_cluster"):
    for make in (strategies.round_robin, strategies.balanced):
      self.assert_says(
          TypeError, f"config={messages.describe(config)}: expected an object with "
          f"{attributes}",
          _ask, make(config), method, 3)

  @parameterized.parameters(
      ((0, 0), ValueError, "num_worker_replicas=0: "),
      ((-1, None), ValueError, "num_worker_replicas=-1: "),
      ((2.5, 0), TypeError, "num_worker_replicas=2.5: "),
      ((4, 4), ValueError,
       "global_id_in_cluster=4: expected an integer in [0, 4)"),
      ((4, -1), ValueError, "global_id_in_cluster=-1: "),
      ((4, "1"), TypeError, "global_id_in_cluster='1': "))
  def test_workers(self, arguments, error, text):
    for make in (strategies.round_robin, strategies.balanced):
      for method in _METHODS:
        if method != "subnetwork_devices":
          self.assert_says(error, "config." + text, _ask,
                           make(strategies.WorkerConfig(*arguments)), method, 3)

  @parameterized.parameters((-1, ValueError), (None, TypeError))
  def test_num_ps(self, value, error):
    self.assert_says(error, f"config.num_ps_replicas={value!r}: ", _ask,
                     strategies.round_robin(strategies.PsConfig(value)),
                     "subnetwork_devices", 3)

  def test_abstract(self):
    with self.assertRaisesRegex(TypeError, "abstract"):
      distributed.PlacementStrategy()


class ImportTest(absltest.TestCase):

  def test_no_tensorflow(self):
    program = """if True:
        import sys
        import adanet.ensemble, adanet.heads, adanet.subnetwork
        from adanet import distributed as d, tf_compat
        from adanet.distributed import plan
        for s in d.RoundRobinStrategy(), d.BalancedStrategy([1, 2, 4]):
          s.config = tf_compat.RunConfig()
          assert s.should_build_subnetwork(3, 1)
          assert s.training_fractions(3)
        print([m for m in ("tensorflow", "keras", "tf_keras", "numpy")
               if m in sys.modules])
        """
    self.assertEqual("[]\n", subprocess.check_output(
        [sys.executable, "-c", program], text=True))


if __name__ == "__main__":
  absltest.main()
