# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plan, against the strategies' answers and a simulation."""

import collections
import fractions
import json
import math
import random
import subprocess
import sys
import threading

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import plan as plan_lib
import hypothesis
from hypothesis import strategies as st
import numpy as np

Config = collections.namedtuple(
    "Config", "num_worker_replicas num_ps_replicas global_id_in_cluster")

hypothesis.settings.register_profile(
    "hermetic", database=None, deadline=None, derandomize=True)
hypothesis.settings.load_profile("hermetic")


class Any(distributed.PlacementStrategy):
  """A user's strategy: any decisions at all, by the config alone."""

  def __init__(self, seed, says_ps=False):
    self._seed = seed
    self._says_ps = says_ps

  def _random(self, *key):
    config = self.config
    return random.Random(
        repr((self._seed, config.num_worker_replicas, config.num_ps_replicas) +
             key))

  def should_build_ensemble(self, num_subnetworks):
    w = self.config.global_id_in_cluster
    return self._random("ensemble", w).random() < .3

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    w = self.config.global_id_in_cluster % 5
    return self._random("build", w, subnetwork_index).random() < .4

  def should_train_subnetworks(self, num_subnetworks):
    w = self.config.global_id_in_cluster
    return np.bool_(self._random("train", w).random() < .7)

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    if not self._says_ps:
      return None
    draw = self._random("ps", subnetwork_index % 4)
    return [p for p in range(self.config.num_ps_replicas) if draw.random() < .5]


class Delegate(distributed.PlacementStrategy):
  """A user's strategy that asks another, which it passes its config on to."""

  def __init__(self, other):
    self.other = other

  @property
  def config(self):
    return self.other.config

  @config.setter
  def config(self, config):
    self.other.config = config

  def should_build_ensemble(self, num_subnetworks):
    return self.other.should_build_ensemble(num_subnetworks)

  def should_build_subnetwork(self, *args):
    return self.other.should_build_subnetwork(*args)

  def should_train_subnetworks(self, num_subnetworks):
    return self.other.should_train_subnetworks(num_subnetworks)

  def subnetwork_devices(self, *args):
    return self.other.subnetwork_devices(*args)

  def subnetwork_parameter_servers(self, *args):
    return self.other.subnetwork_parameter_servers(*args)

  def __repr__(self):
    return repr(self.other)


class HalfTrains(distributed.RoundRobinStrategy):
  """A user's strategy that overrides one decision of one of ours."""

  def should_train_subnetworks(self, num_subnetworks):
    return self.config.global_id_in_cluster % 2 == 1


class HalfTheCluster(distributed.RoundRobinStrategy):
  """One that sees a smaller cluster than there is."""

  @property
  def config(self):
    config = super().config
    return Config(
        (config.num_worker_replicas + 1) // 2,
        (config.num_ps_replicas + 1) // 2, config.global_id_in_cluster // 2)

  @config.setter
  def config(self, config):
    distributed.PlacementStrategy.config.fset(self, config)


class OwnDevices(distributed.RoundRobinStrategy):
  """One that puts variables elsewhere, and does not say where."""

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")


OURS = [distributed.ReplicationStrategy()] + [
    distributed.RoundRobinStrategy(drop_remainder, dedicate)
    for drop_remainder in (False, True)
    for dedicate in (False, True)
]
ALL = OURS + [HalfTrains(), HalfTheCluster(), OwnDevices()] + [
    Any(seed, says_ps) for seed in range(5) for says_ps in (False, True)
]

shapes = st.tuples(
    st.integers(1, 50), st.integers(0, 12), st.integers(1, 20))


def _plan(strategy, num_workers, num_ps, num_subnetworks):
  return plan_lib.PlacementPlan(strategy, num_workers, num_ps, num_subnetworks)


class Answers(object):
  """What a strategy answers each worker through its public methods.

  Attributes:
    ensemble: list of bool, for each worker.
    built: list of lists of int, for each worker the subnetworks it builds.
    trained: the same, of those it trains.
    ps: list of lists of int, for each subnetwork; None if not known.
  """

  def __init__(self, strategy, num_workers, num_ps, num_subnetworks):
    k = num_subnetworks
    self.ensemble, self.built, self.trained = [], [], []
    for w in range(num_workers):
      strategy.config = Config(num_workers, num_ps, w)
      self.ensemble.append(bool(strategy.should_build_ensemble(k)))
      self.built.append(
          [i for i in range(k) if strategy.should_build_subnetwork(k, i)])
      self.trained.append(
          self.built[-1] if strategy.should_train_subnetworks(k) else [])
    self.ps = [strategy.subnetwork_parameter_servers(k, i) for i in range(k)]
    if isinstance(strategy, OwnDevices) or self.ps[0] is None:
      self.ps = None if num_ps else [[]] * k

  def trainers(self, i):
    return [w for w, trained in enumerate(self.trained) if i in trained]

  def builders(self, i):
    return [w for w, built in enumerate(self.built) if i in built]


class IndicesTest(parameterized.TestCase):

  @hypothesis.given(st.lists(st.integers(-5, 40), max_size=25))
  def test_is_a_set(self, numbers):
    indices = plan_lib.Indices(numbers)
    self.assertEqual(sorted(set(numbers)), list(indices))
    self.assertLen(indices, len(set(numbers)))
    for i in range(-6, 42):
      self.assertEqual(i in numbers, i in indices)
      self.assertEqual(i in numbers, np.int64(i) in indices)
    self.assertEqual(
        list(indices),
        [i for triple in indices.to_json() for i in range(*triple)])
    self.assertEqual(indices, plan_lib.Indices(iter(numbers[::-1])))

  @hypothesis.given(
      st.lists(
          st.builds(range, st.integers(0, 30), st.integers(0, 60),
                    st.integers(1, 7)),
          max_size=6))
  def test_union_has_one_form(self, ranges):
    union = plan_lib.Indices.union(map(plan_lib.Indices, ranges))
    self.assertEqual(plan_lib.Indices(i for r in ranges for i in r), union)
    self.assertEqual(
        hash(plan_lib.Indices(i for r in ranges for i in r)), hash(union))

  @parameterized.parameters(
      ([], []),
      ([7], [[7, 8, 1]]),
      ([0, 4, 8], [[0, 9, 4]]),
      ([0, 5, 6, 7], [[0, 1, 1], [5, 8, 1]]),
      (range(3, 10**12, 7), [[3, 999999999996, 7]]),
      (range(5, 2, -1), [[3, 6, 1]]),
  )
  def test_json(self, numbers, expected):
    self.assertEqual(expected, plan_lib.Indices(numbers).to_json())

  @parameterized.parameters(
      ([], ""),
      ([2, 3, 5], "2, 3, 5"),
      (range(20), ", ".join(map(str, range(20)))),
      (range(21), "0 to 20"),
      (range(1, 100, 4), "1 to 97 by 4"),
      ([0, 1] + list(range(10, 40)), "0, 1, 10 to 39"),
      ([i * i for i in range(40)],
       "0, 1, 4, 9, 16, 25, 36, 49, 64, 81 and 30 more"))
  def test_str(self, numbers, expected):
    self.assertEqual(expected, str(plan_lib.Indices(numbers)))

  @parameterized.parameters(
      ([], 0, ""), ([1, 3], 0, "w1, w3"), ([1, 3], 7, "w1, w3 and 7 more"),
      (range(0, 90, 3), 0, "w0 to w87 by 3"),
      (range(30), 5, "w0 to w29 and 5 more"),
      ([i * i for i in range(40)], 2,
       "w0, w1, w4, w9, w16, w25, w36, w49, w64, w81 and 32 more"))
  def test_to_text(self, numbers, num_more, expected):
    self.assertEqual(expected, plan_lib.Indices(numbers).to_text(
        "w{}".format, num_more))

  @hypothesis.given(st.sets(st.integers(0, 30)))
  def test_slices(self, numbers):
    selected = np.zeros(31, bool)
    for s in plan_lib.Indices(numbers).slices():
      self.assertFalse(selected[s].any())
      selected[s] = True
    self.assertCountEqual(numbers, np.flatnonzero(selected))


class PlanEqualsStrategyTest(parameterized.TestCase):

  @parameterized.product(strategy=ALL)
  @hypothesis.settings(max_examples=25)
  @hypothesis.given(shape=shapes)
  def test_everywhere(self, strategy, shape):
    m, n, k = shape
    plan = _plan(strategy, *shape)
    answers = Answers(strategy, *shape)
    self.assertEqual((m, n, k),
                     (plan.num_workers, plan.num_ps, plan.num_subnetworks))
    for w in range(m):
      group = plan.worker(w)
      self.assertIn(w, group.workers)
      self.assertIs(group.builds_ensemble, answers.ensemble[w])
      self.assertEqual(answers.built[w], list(group.subnetworks))
      if group.subnetworks:
        self.assertEqual(answers.trained[w],
                         list(group.subnetworks) * group.trains_subnetworks)
    for i in range(k):
      subnetwork = plan.subnetwork(i)
      self.assertEqual(answers.trainers(i), list(subnetwork.trainers))
      self.assertAlmostEqual(
          float(sum(fractions.Fraction(1, len(answers.trained[w]))
                    for w in answers.trainers(i))),
          subnetwork.effective_speed)
      if answers.ps is None:
        self.assertIsNone(subnetwork.ps)
      else:
        self.assertEqual(list(answers.ps[i]), list(subnetwork.ps))
    for p in range(n):
      if answers.ps is None:
        self.assertIsNone(plan.parameter_server(p))
        continue
      group = plan.parameter_server(p)
      self.assertIn(p, group.ps)
      served = [i for i in range(k) if p in answers.ps[i]]
      self.assertEqual(served, list(group.subnetworks))
      self.assertEqual(
          sum(len(answers.builders(i)) for i in served), group.fetches)
      self.assertAlmostEqual(
          sum(len(answers.builders(i)) / len(answers.ps[i]) for i in served),
          group.load)

  @parameterized.product(strategy=ALL)
  @hypothesis.settings(max_examples=15)
  @hypothesis.given(shape=shapes)
  def test_groups_divide_the_cluster(self, strategy, shape):
    m, n, k = shape
    plan = _plan(strategy, *shape)

    def check(groups, members, number):
      in_groups = [i for g in groups for i in getattr(g, members)]
      self.assertCountEqual(range(number), in_groups)
      firsts = [list(getattr(g, members))[0] for g in groups]
      self.assertEqual(sorted(firsts), firsts)
      self.assertLen({g[1:] for g in groups}, len(groups))

    check(plan.worker_groups, "workers", m)
    check(plan.subnetwork_groups, "subnetworks", k)
    if plan.ps_groups is not None:
      check(plan.ps_groups, "ps", n)

  @parameterized.product(strategy=OURS)
  @hypothesis.settings(max_examples=25)
  @hypothesis.given(shape=shapes)
  def test_equals_plan_of_who_asks_every_worker(self, strategy, shape):
    mine = _plan(strategy, *shape)
    theirs = _plan(Delegate(strategy), *shape)
    self.assertEqual(mine, theirs)
    self.assertEqual(hash(mine), hash(theirs))
    self.assertEqual(json.dumps(mine.to_json_dict()),
                     json.dumps(theirs.to_json_dict()))

  @parameterized.product(strategy=OURS)
  @hypothesis.settings(max_examples=10)
  @hypothesis.given(data=st.data())
  def test_large_clusters(self, strategy, data):
    m = data.draw(st.integers(1, 10**6))
    n = data.draw(st.integers(0, 1000))
    k = data.draw(st.integers(1, 1000))
    plan = _plan(strategy, m, n, k)
    self.assertLessEqual(len(plan.worker_groups), 2 * k + 1)
    for w in {0, m - 1, data.draw(st.integers(0, m - 1))}:
      strategy.config = Config(m, n, w)
      group = plan.worker(w)
      self.assertEqual(strategy.should_build_ensemble(k), group.builds_ensemble)
      self.assertEqual(
          strategy.should_train_subnetworks(k), group.trains_subnetworks)
      for i in {0, k - 1, data.draw(st.integers(0, k - 1))}:
        builds = strategy.should_build_subnetwork(k, i)
        self.assertEqual(builds, i in group.subnetworks)
        self.assertEqual(builds and group.trains_subnetworks,
                         w in plan.subnetwork(i).trainers)

  @parameterized.product(strategy=OURS + [Any(0), Any(1)])
  @hypothesis.settings(max_examples=10)
  @hypothesis.given(
      num_workers=st.integers(1, 12), num_subnetworks=st.integers(1, 6))
  def test_trainers_divide_the_input(self, strategy, num_workers,
                                     num_subnetworks):
    shape = num_workers, 2, num_subnetworks
    plan = _plan(strategy, *shape)
    for i in range(num_subnetworks):
      trainers = list(plan.subnetwork(i).trainers)
      for place, w in enumerate(trainers):
        strategy.config = Config(num_workers, 2, w)
        context = strategy.input_context(num_subnetworks, i)
        self.assertEqual(
            (len(trainers), place),
            (context.num_input_pipelines, context.input_pipeline_id))

  def test_variables_are_where_it_says(self):
    strategy = distributed.RoundRobinStrategy()
    for n, k in ((5, 2), (2, 5), (6, 3)):
      plan = _plan(strategy, 4, n, k)
      strategy.config = Config(4, n, 1)
      for i in range(k):
        with tf_compat.v1.Graph().as_default():
          with strategy.subnetwork_devices(k, i):
            devices = {
                tf_compat.v1.get_variable("v{}".format(v), shape=[]).device
                for v in range(100)
            }
        self.assertEqual(
            {"/job:ps/task:{}".format(p) for p in plan.subnetwork(i).ps},
            devices)

  def test_json_does_not_grow_with_workers(self):
    for strategy in OURS:
      small, large = (
          len(json.dumps(_plan(strategy, m, 50, 20).to_json_dict()))
          for m in (10**3, 10**6))
      self.assertLess(large, 1.5 * small)

  def test_leaves_the_strategy_alone(self):
    config = Config(3, 2, 1)
    for strategy in (distributed.RoundRobinStrategy(),
                     Delegate(distributed.RoundRobinStrategy())):
      strategy.config = config
      _plan(strategy, 9, 4, 3).problems()
      self.assertIs(config, strategy.config)

  def test_does_not_log(self):
    with self.assertLogs("absl", "WARNING") as logs:
      distributed.placement.logging.warning("the only one")
      _plan(distributed.RoundRobinStrategy(drop_remainder=True), 3, 2,
            61).problems()
    self.assertLen(logs.output, 1)


class PredictionsTest(parameterized.TestCase):

  @parameterized.product(strategy=ALL)
  @hypothesis.settings(max_examples=15)
  @hypothesis.given(shape=shapes)
  def test_follow_from_answers(self, strategy, shape):
    m, n, k = shape
    plan = _plan(strategy, *shape)
    answers = Answers(strategy, *shape)
    trainers = [answers.trainers(i) for i in range(k)]
    shares = [len(trained) for trained in answers.trained]
    speeds = [sum(1. / shares[w] for w in ws) for ws in trainers]
    slowest = min(speeds)

    def check(expected, array, dtype):
      self.assertEqual(dtype, array.dtype)
      np.testing.assert_allclose(array, expected, rtol=1e-12, atol=1e-9)

    check([len(b) for b in answers.built], plan.subnetworks_per_worker(),
          np.int64)
    check(shares, plan.trained_per_worker(), np.int64)
    check([len(ws) for ws in trainers], plan.trainers_per_subnetwork(),
          np.int64)
    check(speeds, plan.effective_speeds(), np.float64)
    self.assertAlmostEqual(sum(speeds) - k * slowest, plan.wasted_training())
    self.assertEqual(max(0, sum(answers.ensemble) - 1),
                     plan.duplicated_ensembles())
    if slowest:
      self.assertAlmostEqual(60 / slowest, plan.training_time(60))
    else:
      self.assertEqual(float("inf"), plan.training_time())
    if answers.ps is None:
      self.assertIsNone(plan.fetches_per_ps())
      self.assertIsNone(plan.load_per_ps())
    else:
      check([g.fetches for g in map(plan.parameter_server, range(n))],
            plan.fetches_per_ps(), np.int64)
      check([g.load for g in map(plan.parameter_server, range(n))],
            plan.load_per_ps(), np.float64)

  @parameterized.product(strategy=ALL)
  @hypothesis.settings(max_examples=8)
  @hypothesis.given(
      num_workers=st.integers(1, 14), num_subnetworks=st.integers(1, 6))
  def test_staleness_of_a_simulation(self, strategy, num_workers,
                                     num_subnetworks):
    """Workers that read, compute for as long as their share, and write."""
    shape = num_workers, 2, num_subnetworks
    plan = _plan(strategy, *shape)
    answers = Answers(strategy, *shape)
    for i in range(num_subnetworks):
      periods = {w: len(answers.trained[w]) for w in answers.trainers(i)}
      staleness = {w: [] for w in periods}
      read_at = {}  # From a worker to the number of updates that it has seen.
      num_updates = 0
      cycle = math.factorial(num_subnetworks)  # All periods divide it.
      for time in range(1, 2 * cycle + 1):
        for w, period in periods.items():
          if (time + w) % period == 0:
            if time > cycle:
              staleness[w].append(num_updates - read_at[w])
            num_updates += 1
            read_at[w] = num_updates
      everything = [s for stale in staleness.values() for s in stale]
      slowest = max(periods, key=periods.get) if periods else None
      self.assertAlmostEqual(
          np.mean(everything) if everything else 0., plan.stale_gradients()[i])
      self.assertAlmostEqual(
          np.mean(staleness[slowest]) if everything else 0.,
          plan.max_staleness()[i])

  @parameterized.parameters(1, 2, 5, 12)
  def test_claims(self, num_rounds):
    k, n = 4, 8
    m = num_rounds * (k + 1)
    replication = _plan(OURS[0], m, n, k)
    round_robin = _plan(distributed.RoundRobinStrategy(), m, n, k)
    shared_ps = _plan(
        distributed.RoundRobinStrategy(dedicate_parameter_servers=False), m, n,
        k)
    self.assertEqual(m * n * k, replication.fetches_per_ps().sum())
    self.assertEqual(2 * num_rounds * n, round_robin.fetches_per_ps().sum())
    self.assertEqual(2 * num_rounds * n * k, shared_ps.fetches_per_ps().sum())
    self.assertEqual([m] * k, replication.trainers_per_subnetwork().tolist())
    self.assertEqual([num_rounds] * k,
                     round_robin.trainers_per_subnetwork().tolist())
    self.assertEqual([m - 1] * k, replication.stale_gradients().tolist())
    self.assertEqual([num_rounds - 1] * k,
                     round_robin.stale_gradients().tolist())
    self.assertEqual([k] * m, replication.subnetworks_per_worker().tolist())
    self.assertEqual(([k] + [1] * k) * num_rounds,
                     round_robin.subnetworks_per_worker().tolist())
    self.assertEqual(m - 1, replication.duplicated_ensembles())
    self.assertEqual(num_rounds - 1, round_robin.duplicated_ensembles())
    self.assertAlmostEqual(k / m, replication.training_time())
    self.assertAlmostEqual(1 / num_rounds, round_robin.training_time())

  @parameterized.parameters(
      # Of 3 subnetworks the first workers of a partial round train these.
      dict(num_workers=4, drop_remainder=False, slowest=1., idle=0.),
      dict(num_workers=5, drop_remainder=False, slowest=1., idle=0.),
      dict(num_workers=6, drop_remainder=False, slowest=4 / 3, idle=0.),
      dict(num_workers=7, drop_remainder=False, slowest=1.5, idle=.5),
      dict(num_workers=8, drop_remainder=False, slowest=2., idle=0.),
      dict(num_workers=6, drop_remainder=True, slowest=1., idle=1.),
      dict(num_workers=7, drop_remainder=True, slowest=1., idle=2.),
      dict(num_workers=3, drop_remainder=True, slowest=0., idle=2.))
  def test_partial_rounds(self, num_workers, drop_remainder, slowest, idle):
    plan = _plan(
        distributed.RoundRobinStrategy(drop_remainder), num_workers, 0, 3)
    self.assertAlmostEqual(slowest, plan.effective_speeds().min())
    self.assertAlmostEqual(idle, plan.wasted_training())

  def test_arrays_are_copies(self):
    plan = _plan(distributed.RoundRobinStrategy(), 7, 3, 2)
    for name in ("subnetworks_per_worker", "trained_per_worker",
                 "trainers_per_subnetwork", "effective_speeds",
                 "stale_gradients", "max_staleness", "fetches_per_ps",
                 "load_per_ps"):
      array = getattr(plan, name)()
      array += 7
      self.assertFalse((array == getattr(plan, name)()).any(), name)


class Refuses(Delegate):
  """Works in one shape of cluster only."""

  def should_build_ensemble(self, num_subnetworks):
    if self.config.num_worker_replicas != 3:
      raise KeyError("3 workers only")
    return True


class Shares(distributed.PlacementStrategy):
  """Each worker trains the first few subnetworks, and the last mixes them."""

  def __init__(self, shares):
    self._shares_of_workers = shares

  def should_build_ensemble(self, num_subnetworks):
    config = self.config
    return config.global_id_in_cluster == config.num_worker_replicas - 1

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    shares = self._shares_of_workers
    return subnetwork_index < shares[self.config.global_id_in_cluster]

  def should_train_subnetworks(self, num_subnetworks):
    return True

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")


class FirstPs(HalfTrains):
  """Puts one subnetwork on many ps, and the others on the first."""

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    used = min(self.config.num_ps_replicas, 3)
    return range(1, used) if subnetwork_index == 0 and used > 1 else [0]


class ProblemsTest(parameterized.TestCase):

  @parameterized.parameters(
      (distributed.RoundRobinStrategy(), (7, 3, 6)),
      (distributed.RoundRobinStrategy(), (1, 0, 6)),
      (distributed.RoundRobinStrategy(), (12, 3, 6), [
          "Workers 0, 7 build the ensemble, where one is enough. It would be "
          "mended with 7 workers."
      ]),
      (distributed.RoundRobinStrategy(), (9, 3, 6), [
          "Worker 8 trains more than twice as much as the median, 1 "
          "subnetwork, of the workers that train. It would be mended with 11 "
          "workers, or with ReplicationStrategy().",
          "Workers 0, 7 build the ensemble, where one is enough. It would be "
          "mended with 7 workers."
      ]),
      (distributed.RoundRobinStrategy(drop_remainder=True), (3, 3, 6), [
          "No worker trains subnetworks 2, 3, 4, 5. It would be mended with 7 "
          "workers, or with RoundRobinStrategy()."
      ]),
      (distributed.RoundRobinStrategy(drop_remainder=True), (6, 0, 6), [
          "No worker trains subnetwork 5. It would be mended with 7 workers, "
          "or with RoundRobinStrategy()."
      ]),
      (distributed.ReplicationStrategy(), (3, 3, 6), [
          "Workers 0, 1, 2 build the ensemble, where one is enough. It would "
          "be mended with 1 worker, or with RoundRobinStrategy()."
      ]),
      (distributed.ReplicationStrategy(), (100, 3, 6), [
          "Workers 0 to 99 build the ensemble, where one is enough. It would "
          "be mended with 1 worker."
      ]),
      (FirstPs(), (4, 5, 3), [
          "No worker trains subnetwork 1. It would be mended with "
          "RoundRobinStrategy().",
          "No worker uses parameter servers 3, 4. It would be mended with 3 "
          "parameter servers, or with RoundRobinStrategy().",
          "Parameter server 0 serves more than twice an even share of 1.2 "
          "subnetworks. It would be mended with 3 parameter servers, or with "
          "RoundRobinStrategy()."
      ]),
      (Refuses(distributed.ReplicationStrategy()), (3, 2, 9), [
          "Workers 0, 1, 2 build the ensemble, where one is enough. It would "
          "be mended with RoundRobinStrategy()."
      ]),
      (Refuses(distributed.RoundRobinStrategy()), (3, 0, 1), [
          "Workers 0, 1, 2 build the ensemble, where one is enough. No other "
          "size of cluster that was tried would mend it."
      ]))
  def test_sentences(self, strategy, shape, expected=()):
    plan = _plan(strategy, *shape)
    self.assertEqual(list(expected), [p.message for p in plan.problems()])
    self.assertEqual(len(expected), plan.figures()["num_problems"])

  @parameterized.parameters(
      ([1, 1, 2], []),
      ([1, 1, 3], [2]),
      ([1, 0, 0, 0, 2], []),
      ([1, 0, 0, 0, 3, 1], [4]),
      ([1, 3, 5, 1], [2]),  # The median is 2.
      ([1, 3, 4, 1], []),
      ([1, 3, 7, 3, 1], [2]),
      ([1, 3, 6, 3, 1], []))
  def test_share_over_twice_the_median(self, shares, expected):
    plan = _plan(Shares(shares), len(shares), 0, max(shares))
    found = [
        list(p.indices)
        for p in plan.problems()
        if p.kind == "overloaded_workers"
    ]
    self.assertEqual([expected] if expected else [], found)

  @parameterized.product(strategy=ALL + [FirstPs()])
  @hypothesis.settings(max_examples=15)
  @hypothesis.given(shape=shapes)
  def test_are_found_and_mended(self, strategy, shape):
    m, n, k = shape
    plan = _plan(strategy, *shape)
    problems = {p.kind: p for p in plan.problems()}
    self.assertContainsSubset(problems, plan_lib.PROBLEM_KINDS)

    answers = Answers(strategy, *shape)
    shares = [len(t) for t in answers.trained]
    median = np.median([s for s in shares if s] or [0])
    ensembles = [w for w in range(m) if answers.ensemble[w]]
    load = plan.load_per_ps()
    if load is None:
      load = np.ones(n)
    expected = {
        "untrained_subnetworks": [
            i for i in range(k) if not answers.trainers(i)
        ],
        "unused_ps": [p for p in range(n) if not load[p]],
        "overloaded_ps": [
            p for p in range(n) if load[p] > 2 * load.mean() + 1e-9
        ],
        "overloaded_workers": [w for w in range(m) if shares[w] > 2 * median],
        "duplicated_ensembles": ensembles if len(ensembles) > 1 else [],
    }
    self.assertEqual({kind: found for kind, found in expected.items() if found},
                     {kind: list(p.indices) for kind, p in problems.items()})

    for kind, problem in problems.items():
      for key, value in problem.fixes.items():
        self.assertIn(str(value), problem.message)
        if key == "strategy":
          [other] = [s for s in OURS if repr(s) == value]
          mended = _plan(other, *shape)
        else:
          sizes = dict(
              num_workers=m, num_ps=n, num_subnetworks=k, strategy=strategy)
          sizes[key] = value
          mended = plan_lib.PlacementPlan(**sizes)
        self.assertNotIn(kind, [p.kind for p in mended.problems()])

  @parameterized.product(strategy=OURS)
  @hypothesis.settings(max_examples=40)
  @hypothesis.given(shape=shapes)
  def test_ours_use_all_ps_evenly(self, strategy, shape):
    kinds = [p.kind for p in _plan(strategy, *shape).problems()]
    self.assertNotIn("unused_ps", kinds)
    if repr(strategy).count("drop_remainder") == 0:
      self.assertNotIn("overloaded_ps", kinds)
      self.assertNotIn("untrained_subnetworks", kinds)


class ValuesTest(parameterized.TestCase):

  def test_json(self):
    plan = _plan(distributed.RoundRobinStrategy(drop_remainder=True), 7, 2, 3)
    expected = {
        "version": 1,
        "strategy": "RoundRobinStrategy(drop_remainder=True)",
        "num_workers": 7,
        "num_ps": 2,
        "num_subnetworks": 3,
        "worker_groups": [{
            "workers": [[0, 5, 4]],
            "builds_ensemble": True,
            "subnetworks": [[0, 3, 1]],
            "trains_subnetworks": False,
        }, {
            "workers": [[1, 6, 4]],
            "builds_ensemble": False,
            "subnetworks": [[0, 1, 1]],
            "trains_subnetworks": True,
        }, {
            "workers": [[2, 7, 4]],
            "builds_ensemble": False,
            "subnetworks": [[1, 2, 1]],
            "trains_subnetworks": True,
        }, {
            "workers": [[3, 4, 1]],
            "builds_ensemble": False,
            "subnetworks": [[2, 3, 1]],
            "trains_subnetworks": True,
        }],
        "subnetwork_groups": [{
            "subnetworks": [[0, 2, 1]],
            "num_builders": 4,
            "num_trainers": 2,
            "effective_speed": 2.0,
            "stale_gradients": 1.0,
            "max_staleness": 1.0,
        }, {
            "subnetworks": [[2, 3, 1]],
            "num_builders": 3,
            "num_trainers": 1,
            "effective_speed": 1.0,
            "stale_gradients": 0.0,
            "max_staleness": 0.0,
        }],
        "ps_groups": [{
            "ps": [[0, 1, 1]],
            "subnetworks": [[0, 3, 2]],
            "fetches": 7,
            "load": 7.0,
        }, {
            "ps": [[1, 2, 1]],
            "subnetworks": [[1, 2, 1]],
            "fetches": 4,
            "load": 4.0,
        }],
        "figures": {
            "max_subnetworks_per_worker": 3,
            "mean_subnetworks_per_worker": 11 / 7,
            "min_trainers": 1,
            "min_effective_speed": 1.0,
            "training_time": 1.0,
            "max_stale_gradients": 1.0,
            "max_staleness": 1.0,
            "fetches": 11,
            "max_fetches_per_ps": 7,
            "max_load_per_ps": 7.0,
            "duplicated_ensembles": 1,
            "wasted_training": 2.0,
            "num_problems": 1,
        },
        "problems": [{
            "kind": "duplicated_ensembles",
            "indices": [[0, 5, 4]],
            "message":
                "Workers 0, 4 build the ensemble, where one is enough. It "
                "would be mended with 4 workers.",
            "fixes": {
                "num_workers": 4
            },
        }],
    }
    # As text, so that the order of the keys and the types count too.
    self.assertEqual(json.dumps(expected, indent=1),
                     json.dumps(plan.to_json_dict(), indent=1))

  @parameterized.product(strategy=ALL)
  @hypothesis.settings(max_examples=5)
  @hypothesis.given(shape=shapes)
  def test_json_is_strict(self, strategy, shape):
    value = _plan(strategy, *shape).to_json_dict()
    text = json.dumps(value, allow_nan=False)
    self.assertEqual(value, json.loads(text))

  def test_what_is_not_known(self):
    value = _plan(Any(0), 3, 2, 4).to_json_dict()
    self.assertIsNone(value["ps_groups"])
    self.assertIsNone(value["figures"]["fetches"])
    dropped = _plan(
        distributed.RoundRobinStrategy(drop_remainder=True), 2, 0, 4)
    self.assertIsNone(dropped.figures()["training_time"])
    self.assertEqual(0, dropped.figures()["fetches"])

  def test_figures_are_exact_in_large_clusters(self):
    # Beyond 64 bits.
    figures = _plan(
        distributed.ReplicationStrategy(), 10**12, 10**4, 10**4).figures()
    self.assertEqual(10**20, figures["fetches"])

  def test_compare(self):
    plans = [_plan(s, 5, 4, 4) for s in OURS[:1] + OURS[2:3]]
    rows = plan_lib.compare(iter(plans))
    self.assertEqual(["strategy", "num_workers", "num_ps", "num_subnetworks"] +
                     list(plans[0].figures()), list(rows))
    self.assertEqual(("ReplicationStrategy()", "RoundRobinStrategy()"),
                     rows["strategy"])
    self.assertEqual((5 * 4 * 4, 2 * 4), rows["fetches"])
    self.assertEqual((4, 0), rows["duplicated_ensembles"])
    self.assertEqual((4 / 5, 1.), rows["training_time"])

  def test_equality(self):
    plan = _plan(distributed.RoundRobinStrategy(), 7, 2, 3)
    self.assertEqual(plan, _plan(distributed.RoundRobinStrategy(), 7, 2, 3))
    for other in (_plan(distributed.RoundRobinStrategy(), 7, 2, 4),
                  _plan(distributed.RoundRobinStrategy(), 7, 3, 3),
                  _plan(distributed.RoundRobinStrategy(), 8, 2, 3),
                  _plan(distributed.RoundRobinStrategy(True), 7, 2, 3), 7):
      self.assertNotEqual(plan, other)

  @parameterized.parameters(
      (distributed.ReplicationStrategy(), "ReplicationStrategy()"),
      (distributed.RoundRobinStrategy(), "RoundRobinStrategy()"),
      (distributed.RoundRobinStrategy(True, False),
       "RoundRobinStrategy(drop_remainder=True, "
       "dedicate_parameter_servers=False)"), (HalfTrains(), "HalfTrains()"))
  def test_names(self, strategy, name):
    self.assertEqual(name, repr(strategy))
    self.assertEqual(name, _plan(strategy, 3, 2, 1).strategy)
    self.assertEqual(
        "PlacementPlan({}, num_workers=3, num_ps=2, num_subnetworks=1)".format(
            name), repr(_plan(strategy, 3, 2, 1)))


class PsOutside(FirstPs):

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    return [self.config.num_ps_replicas]


class Locked(Any):

  def __init__(self):
    super().__init__(0)
    self.lock = threading.Lock()


class Curious(Any):

  def should_build_ensemble(self, num_subnetworks):
    return self.config.model_dir is None


class ErrorsTest(parameterized.TestCase):

  def assert_says(self, error, text, call, *args):
    with self.assertRaises(error) as raised:
      call(*args)
    self.assertStartsWith(str(raised.exception), text)
    self.assertNotIn("\n", str(raised.exception))

  @parameterized.parameters(
      (TypeError, "strategy='round_robin': expected an instance", "round_robin",
       3, 2, 1),
      (TypeError, "strategy=<class ", distributed.RoundRobinStrategy, 3, 2, 1),
      (ValueError, "num_workers=0: ", OURS[0], 0, 2, 1),
      (TypeError, "num_workers=True: ", OURS[0], True, 2, 1),
      (ValueError, "num_ps=-1: ", OURS[0], 3, -1, 1),
      (TypeError, "num_ps=None: ", OURS[0], 3, None, 1),
      (ValueError, "num_subnetworks=0: ", OURS[0], 3, 2, 0),
      (TypeError, "num_subnetworks=1.5: ", OURS[0], 3, 2, 1.5),
      (TypeError, "strategy=Locked(): expected ", Locked(), 3, 2, 1),
      (AttributeError, "config.model_dir: ", Curious(0), 3, 2, 1),
      (ValueError, "PsOutside().subnetwork_parameter_servers(4, 0)=[2]: "
       "expected integers in [0, 2).", PsOutside(), 3, 2, 4))
  def test_plan(self, error, text, *args):
    self.assert_says(error, text, _plan, *args)

  @parameterized.parameters(
      ("worker", "worker_index", 5), ("subnetwork", "subnetwork_index", 3),
      ("parameter_server", "ps_index", 2))
  def test_index(self, method, name, size):
    call = getattr(_plan(distributed.RoundRobinStrategy(), 5, 2, 3), method)
    self.assert_says(ValueError, "{}={}: ".format(name, size), call, size)
    self.assert_says(ValueError, "{}=-1: ".format(name), call, -1)
    self.assert_says(TypeError, "{}='0': ".format(name), call, "0")

  def test_other_arguments(self):
    plan = _plan(distributed.RoundRobinStrategy(), 5, 2, 3)
    self.assert_says(ValueError, "num_steps=0: ", plan.training_time, 0)
    self.assert_says(ValueError, "plans=(): ", plan_lib.compare, [])
    self.assert_says(TypeError, "plans=PlacementPlan(", plan_lib.compare, plan)
    self.assert_says(TypeError, "plans=(7,): ", plan_lib.compare, [7])

  def test_ps_of_a_strategy(self):
    strategy = distributed.RoundRobinStrategy()
    for strategy in OURS:
      with self.assertRaisesRegex(ValueError, "subnetwork_index=3: "):
        strategy.subnetwork_parameter_servers(3, 3)
    with self.assertRaisesRegex(RuntimeError, "config=None: "):
      distributed.ReplicationStrategy().subnetwork_parameter_servers(3, 1)


class ImportTest(parameterized.TestCase):

  @parameterized.parameters(
      ("numpy", "import adanet.distributed"),
      ("tensorflow", "from adanet import distributed as d; "
       "p = d.plan.PlacementPlan(d.RoundRobinStrategy(), 9, 4, 3); "
       "p.to_json_dict()"))
  def test_does_not_import(self, module, statement):
    program = "import sys; {}; sys.exit('{}' in sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program.format(statement, module)],
        check=False,
        timeout=60)
    self.assertEqual(0, finished.returncode)

  def test_no_such_attribute(self):
    with self.assertRaisesRegex(AttributeError, "adanet.distributed.* 'plans'"):
      distributed.plans  # pylint: disable=pointless-statement


if __name__ == "__main__":
  absltest.main()
