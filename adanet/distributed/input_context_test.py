# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how the workers divide the input."""

import collections
import threading

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.testing import answers as answers_lib
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st


def _share(strategy, num_subnetworks, subnetwork_index):
  """Returns `(num_input_pipelines, input_pipeline_id)`."""
  context = strategy.input_context(num_subnetworks, subnetwork_index)
  assert isinstance(context, tf_compat.v1.distribute.InputContext)
  return context.num_input_pipelines, context.input_pipeline_id


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

    def trains(config):
      seen.append((config.is_chief, config.num_ps_replicas))
      return len(seen) == 1 or config.model_dir

    strategy = strategies.Custom(bool, lambda config, i: True, trains)
    strategy.config = tf_compat.RunConfig()
    self.assertEqual((1, 0), _share(strategy, 2, 1))
    self.assertEqual([(True, 0)], seen)
    with self.assertRaisesRegex(AttributeError, "config.model_dir: .*is_chief"):
      strategy.input_context(2, 1)

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
    strategy = strategies.Custom(bool, lambda config, i: True, bool)
    strategy.config = tf_compat.RunConfig(device_fn=lambda op: "")
    strategy.config.lock = threading.Lock()
    self.assertEqual((1, 0), _share(strategy, 2, 1))
    strategy.lock = threading.Lock()
    with self.assertRaisesRegex(TypeError, "strategy=.*deepcopy"):
      strategy.input_context(2, 1)


if __name__ == "__main__":
  absltest.main()
