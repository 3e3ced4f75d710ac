# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the part of the rows that a worker reads for all that it trains."""

import fractions
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import input_parts
from adanet.distributed import placement
from adanet.distributed import plan
from adanet.distributed import weights
from adanet.testing import answers as answers_lib
from adanet.testing import level
from adanet.testing import strategies
import hypothesis

_ROUND_ROBIN = distributed.RoundRobinStrategy()


def _parts(strategy, num_workers, num_subnetworks):
  """Returns `(num_input_pipelines, input_pipeline_id)` of each worker."""
  parts = []
  for w in range(num_workers):
    strategy.config = strategies.Config(num_workers, 2, w)
    context = strategy.worker_input_context(num_subnetworks)
    parts.append((context.num_input_pipelines, context.input_pipeline_id))
  return parts


class InputPartsTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(20, 60))
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes)
  def test_no_subnetwork_misses_a_row(self, strategy, shape):
    m, _, k = shape
    answers = answers_lib.Answers(strategy, m, 2, k)
    parts = _parts(strategy, m, k)
    num_rows = weights.common_denominator(
        fractions.Fraction(1, number) for number, _ in parts)
    hypothesis.assume(num_rows <= 10**4)
    rows = [range(index, num_rows, number) for number, index in parts]
    trains_ensembles = [
        answers.ensemble[w] and not (
            answers.fractions[w] and not answers.ensemble_fractions[w])
        for w in range(m)]
    for trainers in filter(None, answers.trainers):
      self.assertLen(set().union(*(rows[w] for w in trainers)), num_rows)
      # All that they train, whose trainers are the same.
      groups = [answers.trainers[i] for w in trainers
                for i in answers.trained[w]]
      if any(trains_ensembles[w] for w in trainers):
        groups.append([w for w in range(m) if trains_ensembles[w]])
      if all(group == trainers for group in groups):
        self.assertEqual(num_rows, sum(len(rows[w]) for w in trainers))
    self.assertEqual([float(bool(trainers)) for trainers in answers.trainers],
                     plan.PlacementPlan(
                         strategy, m, 2, k).rows_per_subnetwork().tolist())
    for w in range(m):
      if len(answers.trained[w]) == 1 and not trains_ensembles[w]:
        trainers = answers.trainers[answers.trained[w][0]]
        self.assertEqual((len(trainers), trainers.index(w)), parts[w])
      if not answers.trained[w]:
        self.assertEqual((1, 0), parts[w])

  @parameterized.named_parameters(
      # The chief trains the ensemble. A subnetwork has one worker, or two.
      ("a_whole_round", _ROUND_ROBIN, 4, 3, [(1, 0)] * 4),
      ("two_rounds", _ROUND_ROBIN, 8, 3,
       [(1, 0)] + [(2, 0)] * 3 + [(1, 0)] + [(2, 1)] * 3),
      # The last one trains all three, each with another worker.
      ("a_partial_round", _ROUND_ROBIN, 6, 3,
       [(1, 0)] + [(2, 0)] * 3 + [(1, 0), (2, 1)]),
      ("no_whole_round", _ROUND_ROBIN, 3, 5, [(1, 0)] * 3),
      ("one_subnetwork", _ROUND_ROBIN, 3, 1, [(3, 0), (3, 1), (3, 2)]),
      ("replication", distributed.ReplicationStrategy(), 3, 2,
       [(3, 0), (3, 1), (3, 2)]),
      # The chief has a part of subnetwork 0 beside the ensembles.
      ("balanced", distributed.BalancedStrategy(), 2, 1, [(1, 0), (2, 1)]),
      ("balanced_and_fitted", distributed.BalancedStrategy(ensemble_cost=0), 2,
       1, [(2, 0), (2, 1)]))
  def test_part(self, strategy, num_workers, num_subnetworks, expected):
    self.assertEqual(expected, _parts(strategy, num_workers, num_subnetworks))

  def test_parts_that_do_not_fit_each_other(self):
    # Subnetwork 0 has the workers 0, 1, 2 and subnetwork 1 the workers 2, 3:
    # half of the rows, which 1 needs of worker 2, would not be the third of 0.
    trains = {0: (0, 1, 2), 1: (2, 3)}
    strategy = strategies.Custom(
        lambda config: False,
        lambda config, i: config.global_id_in_cluster in trains[i],
        lambda config: True)
    self.assertEqual([(3, 0), (3, 1), (1, 0), (2, 1)], _parts(strategy, 4, 2))

  def test_rows_that_nobody_reads_are_not_counted(self):
    shares = [placement.Share(False, (0,), True), placement.Share(
        False, (0,), True)]
    self.assertEqual([1., 0.], input_parts.rows_read(shares, 2))
    with mock.patch.object(
        input_parts, "of_workers",
        return_value=[input_parts.InputPart(2, 0)] * 2):
      self.assertEqual([.5, 0.], input_parts.rows_read(shares, 2))

  def test_an_evaluator_reads_everything(self):
    for strategy in (_ROUND_ROBIN, distributed.ReplicationStrategy()):
      strategy.config = strategies.Config(5, 2, None)
      context = strategy.worker_input_context(3)
      self.assertEqual(
          (1, 0), (context.num_input_pipelines, context.input_pipeline_id))


if __name__ == "__main__":
  absltest.main()
