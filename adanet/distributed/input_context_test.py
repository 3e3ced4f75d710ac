# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how the workers divide the input."""

import collections
import threading

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st


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
  if subnetwork_index in strategy.training_fractions(num_subnetworks):
    return "subnetwork"
  builds = strategy.should_build_subnetwork(num_subnetworks, subnetwork_index)
  return "ensemble" if builds else "nothing"


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
      strategy = strategies.worker(m, w, drop_remainder)
      for i in range(k):
        if shares[w][i] is None:
          with self.assertRaises(ValueError):
            strategy.input_context(k, i)
        else:
          self.assertEqual(shares[w][i], _share(strategy, k, i))

  @parameterized.parameters(
      # Costs 1, 2 and 4: the chief has the ensemble, and four workers train.
      dict(e=1, shares=[[(1, 0)] * 3, [(1, 0), (2, 0), None],
                        [None, (2, 1), (3, 0)], [None, None, (3, 1)],
                        [None, None, (3, 2)]]),
      dict(e=3, shares=[[(3, 0)] * 3, [(3, 1)] * 3, [(3, 2)] * 3,
                        [(1, 0), (1, 0), (2, 0)], [None, None, (2, 1)]]),
      # The chief trains 0 and 1, and runs 2 for its ensemble.
      dict(e=0, shares=[[(1, 0), (3, 0), (1, 0)], [None, (3, 1), None],
                        [None, (3, 2), (3, 0)], [None, None, (3, 1)],
                        [None, None, (3, 2)]]))
  def test_balanced(self, e, shares):
    for w in range(5):
      strategy = strategies.balanced(
          strategies.WorkerConfig(5, w), costs=[1, 2, 4],
          num_ensemble_workers=e)
      for i in range(3):
        if shares[w][i] is None:
          with self.assertRaises(ValueError):
            strategy.input_context(3, i)
        else:
          self.assertEqual(shares[w][i], _share(strategy, 3, i))

  @hypothesis.given(
      make=st.sampled_from([
          distributed.ReplicationStrategy,
          distributed.RoundRobinStrategy,
          lambda: distributed.RoundRobinStrategy(drop_remainder=True),
          distributed.BalancedStrategy,
          lambda: distributed.BalancedStrategy(
              lambda k: range(1, k + 1), num_ensemble_workers=2),
          lambda: distributed.BalancedStrategy(num_ensemble_workers=0),
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
      strategy.config = strategies.WorkerConfig(num_workers, w)
      reads_for = _reads_for(strategy, num_subnetworks, index)
      if reads_for == "nothing":
        task = f"worker:{w - 1}" if w else "chief:0"
        with self.assertRaisesRegex(
            ValueError, f"subnetwork_index={index}: .* {task} trains"):
          strategy.input_context(num_subnetworks, index)
      else:
        number, id_ = _share(strategy, num_subnetworks, index)
        numbers[reads_for].add(number)
        ids[reads_for].append(id_)
    for reads_for, found in ids.items():
      self.assertEqual({len(found)}, numbers[reads_for])
      self.assertEqual(list(range(len(found))), found)

  @parameterized.parameters(
      (distributed.ReplicationStrategy,), (distributed.RoundRobinStrategy,),
      (distributed.BalancedStrategy,))
  def test_an_evaluator_reads_everything(self, make):
    strategy = make()
    for num_workers in (0, 1, 5):
      strategy.config = strategies.WorkerConfig(num_workers, None)
      self.assertEqual((1, 0), _share(strategy, 3, 2))
      self.assertEqual((1, 0), _share(strategy, 1, 0))

  def test_a_subclass_that_decides_otherwise(self):

    class Late(distributed.RoundRobinStrategy):

      def should_train_subnetworks(self, num_subnetworks):
        return self.config.global_id_in_cluster >= 2

    strategy = Late()
    strategy.config = strategies.WorkerConfig(4, 3)
    # Workers 2 and 3 train; 0 and 1 build something and train nothing.
    self.assertEqual((1, 0), _share(strategy, 3, 2))
    strategy.config = strategies.WorkerConfig(4, 1)
    with self.assertRaisesRegex(ValueError, "that worker:0 trains"):
      strategy.input_context(3, 0)

  def test_a_strategy_is_asked_with_what_describes_a_worker(self):

    class Chief(_Halves):

      def should_train_subnetworks(self, num_subnetworks):
        return self.config.is_chief and self.config.model_dir is None

    strategy = Chief()
    strategy.config = tf_compat.RunConfig()
    with self.assertRaisesRegex(AttributeError, "config.model_dir: .*is_chief"):
      strategy.input_context(2, 1)

  def test_a_subclass_that_changes_what_it_reads_of_its_config(self):
    # The last worker gets the ensemble.
    strategy = strategies.viewing(
        distributed.RoundRobinStrategy, lambda config: strategies.WorkerConfig(
            config.num_worker_replicas,
            config.num_worker_replicas - 1 - config.global_id_in_cluster))()
    strategy.config = strategies.WorkerConfig(7, 1)
    self.assertTrue(strategy.should_build_subnetwork(3, 0))
    self.assertEqual((2, 0), _share(strategy, 3, 0))
    strategy.config = strategies.WorkerConfig(7, 5)
    self.assertEqual((2, 1), _share(strategy, 3, 0))

  def test_a_config_that_cannot_be_set(self):

    class ReadOnly(distributed.RoundRobinStrategy):
      config = strategies.WorkerConfig(3, 1)

      def __setattr__(self, name, value):
        if name == "config":
          raise AttributeError("read-only")
        super().__setattr__(name, value)

    with self.assertRaisesRegex(TypeError, "whose config can be set"):
      ReadOnly().input_context(3, 0)

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
      context = strategies.worker(6, w).input_context(2, 0)
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


if __name__ == "__main__":
  absltest.main()
