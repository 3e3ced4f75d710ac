# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The names and seeds of networks, and what a record of training says."""

import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.ensemble_search import records


class NetworkKeyTest(parameterized.TestCase):

  @parameterized.parameters(
      ((0, 0, "deep"), "deep", "deep", "deep", "models['deep']", "0-0-deep"),
      ((1, 0, "deep"), "deep (2)", "deep (2)", "deep", "models['deep']",
       "1-0-deep"),
      ((0, 2, "deep", 5), "deep, fold 3 of 5", "deep", "deep",
       "models['deep']", "0-2of5-deep"),
      ((1, 0, "deep", 5), "deep (2), fold 1 of 5", "deep (2)", "deep",
       "models['deep']", "1-0of5-deep"),
      ((1, 0, "deep", 1, 7), "deep #7", "deep #7", "deep #7",
       "trial 7 of models['deep']", "1-0-deep #7"),
      ((0, 1, "deep", 2, 7), "deep #7, fold 2 of 2", "deep #7", "deep #7",
       "trial 7 of models['deep']", "0-1of2-deep #7"),
      ((0, 0, "50%: ä"), "50%: ä", "50%: ä", "50%: ä", "models['50%: ä']",
       "0-0-50%25%3A %C3%A4"))
  def test_names(self, fields, name, member, maker, owner, folder):
    key = records.NetworkKey(*fields)
    self.assertEqual((name, member, maker, owner, folder), (
        key.name, key.member, key.maker, key.owner, key.folder))

  def test_seeds(self):
    """Each network has another one, and the same in each call."""
    keys = [records.NetworkKey(iteration, fold, "deep", 5, trial)
            for iteration in range(3) for fold in range(5)
            for trial in range(4)]
    seeds = [key.seed(1) for key in keys]
    self.assertLen(set(seeds), len(keys))
    self.assertNoCommonElements(seeds, [key.seed(2) for key in keys])
    # Another one would give networks of earlier versions other weights.
    self.assertEqual(1895296563, records.NetworkKey(0, 0, "deep").seed(1))
    self.assertEqual(records.NetworkKey(0, 1, "deep", 2).seed(1),
                     records.NetworkKey(0, 1, "deep", 5).seed(1))


class MonitorTest(parameterized.TestCase):

  def test_the_better_value_costs_less(self):
    logs = [{"val_loss": value} for value in (math.nan, math.inf, 2., -1.)]
    costs = [records.Monitor().cost(values) for values in logs]
    self.assertEqual([math.inf, math.inf, 2., -1.], costs)
    self.assertEqual([math.inf, 0., -.5], [
        records.Monitor("val_auc", "max").cost({"val_auc": value})
        for value in (math.nan, 0., .5)])


class NetworkRecordTest(absltest.TestCase):

  def test_best_value(self):
    record = records.NetworkRecord()
    self.assertIsNone(record.best_value("val_loss"))
    record.epochs = [{"val_loss": .5}, {"val_loss": .2}, {"val_loss": .9}]
    record.best_epoch = 2
    self.assertEqual(.2, record.best_value("val_loss"))

  def test_failure(self):
    record = records.NetworkRecord(ended=records.EPOCHS)
    self.assertEqual("", record.error)
    record.fail("NaN in dense/kernel: failed: twice")
    self.assertEqual("failed: NaN in dense/kernel: failed: twice", record.ended)
    self.assertEqual("NaN in dense/kernel: failed: twice", record.error)

  def test_predictions_are_told_by_their_checksum(self):
    record = records.NetworkRecord(
        checksums={records.PREDICTIONS: [12, 345], "best.weights.h5": [1, 2]})
    self.assertEqual(345, record.predictions_id)
    record.saved = "7-1"
    self.assertEqual("7-1-last.weights.h5",
                     record.saved_file("last.weights.h5"))


if __name__ == "__main__":
  absltest.main()
