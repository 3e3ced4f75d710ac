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


class _Late(distributed.RoundRobinStrategy):
  """A strategy of a user's that decides otherwise than ours: 0 and 1 idle."""

  def should_train_subnetworks(self, num_subnetworks):
    return self.config.global_id_in_cluster >= 2


# The last worker gets the ensemble.
_Reversed = strategies.viewing(
    distributed.RoundRobinStrategy, lambda config: strategies.WorkerConfig(
        config.num_worker_replicas,
        config.num_worker_replicas - 1 - config.global_id_in_cluster))


def _share(strategy, num_subnetworks, subnetwork_index):
  """Returns `(num_input_pipelines, input_pipeline_id)`."""
  context = strategy.input_context(num_subnetworks, subnetwork_index)
  assert isinstance(context, tf_compat.v1.distribute.InputContext)
  return context.num_input_pipelines, context.input_pipeline_id


def _reads_for(strategy, num_subnetworks, subnetwork_index):
  """Returns "subnetwork", "ensemble" or "nothing"."""
  if subnetwork_index in strategy.training_fractions(num_subnetworks):
    return "subnetwork"
  builds = strategy.should_build_ensemble(num_subnetworks)
  return "ensemble" if builds else "nothing"


class InputContextTest(parameterized.TestCase):

  @parameterized.parameters(
      # Two rounds of an ensemble worker and two trainers, and a tail that
      # leaves the second subnetwork to the rounds.
      (distributed.RoundRobinStrategy(drop_remainder=True),
       [[(3, 0), (3, 0)], [(3, 0), None], [None, (2, 0)],
        [(3, 1), (3, 1)], [(3, 1), None], [None, (2, 1)],
        [(3, 2), (3, 2)], [(3, 2), None]]),
      # The chief trains 0 and 1, and runs 2 for its ensemble.
      (distributed.BalancedStrategy([1, 2, 4], num_ensemble_workers=0),
       [[(1, 0), (3, 0), (1, 0)], [None, (3, 1), None],
        [None, (3, 2), (3, 0)], [None, None, (3, 1)], [None, None, (3, 2)]]))
  def test_shares(self, strategy, shares):
    for w, of_worker in enumerate(shares):
      strategy.config = strategies.WorkerConfig(len(shares), w)
      for i, share in enumerate(of_worker):
        if share is None:
          with self.assertRaises(ValueError):
            strategy.input_context(len(of_worker), i)
        else:
          self.assertEqual(share, _share(strategy, len(of_worker), i))

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
          _Late,
          _Reversed,
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

  def test_a_strategy_is_asked_with_what_describes_a_worker(self):
    seen = []

    class Chief(_Halves):

      def should_train_subnetworks(self, num_subnetworks):
        seen.append((self.config.is_chief, self.config.num_ps_replicas))
        return num_subnetworks < 3 or self.config.model_dir is None

    strategy = Chief()
    strategy.config = tf_compat.RunConfig()
    self.assertEqual((1, 0), _share(strategy, 2, 1))
    self.assertEqual({(True, 0)}, set(seen))
    with self.assertRaisesRegex(AttributeError, "config.model_dir: .*is_chief"):
      strategy.input_context(3, 1)

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


if __name__ == "__main__":
  absltest.main()
