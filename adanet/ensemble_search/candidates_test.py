# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records of candidates: kept, put in order, and selected from by hundreds."""

import math
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log
from adanet.ensemble_search import candidates
from adanet.ensemble_search import files
from adanet.ensemble_search import history
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import models
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
import numpy as np

_TRIAL = candidates.SearchCandidate(
    "space", 1, trial=7, folds=2, proposed=4, hyperparameters={"n": (1, 2)},
    attributes={"a": [1]}, enqueued={"n": (1, 2)}, code="12ab",
    architecture=[{"class": "Dense"}], judged_by="mse", judged={0: 5, 1: 6},
    values={0: {"val_loss": .5}, 1: {"val_loss": math.inf}},
    all_values={"val_loss": .25})


class CandidateTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.directory = files.Directory(self.create_tempdir().full_path)
    self.directory.write({"models": ["wide", "space", "deep"], "labels": []})

  def _store(self):
    return candidates.CandidateStore(self.directory)

  def test_what_is_written_is_read(self):
    self._store().write(_TRIAL)
    candidate, = self._store()
    self.assertEqual(_TRIAL, candidate)
    self.assertEqual("space #7", candidate.name)
    self.assertEqual(
        ["space #7, fold 1 of 2", "space #7, fold 2 of 2"],
        [key.name for key in candidate.keys()])
    self.assertEqual({"val_loss": .25}, candidate.best_known)
    candidate.forget_values()
    self.assertEqual({}, candidate.best_known)
    candidate.values = {0: {"val_loss": .5}}
    self.assertEqual({"val_loss": .5}, candidate.best_known)
    candidate.is_pruned = True
    self.assertEmpty(candidate.keys())

  def test_order(self):
    """By iteration, then as `models` has the functions; others come last."""
    store = self._store()
    for function, iteration, trial in (
        ("deep", 1, 0), ("gone", 0, 0), ("space", 0, 10), ("wide", 1, 0),
        ("space", 0, 9), ("deep", 0, 0), ("wide", 0, 0)):
      store.write(candidates.SearchCandidate(function, iteration, trial))
    for each in (store, self._store()):
      self.assertEqual(
          ["wide", "space #9", "space #10", "deep", "gone", "wide (2)",
           "deep (2)"], [candidate.name for candidate in each])
    store.remove(store.get("space #10"))
    self.assertNotIn("space #10", store)
    self.assertNotIn("space #10", self._store())

  def test_damaged_records(self):
    self._store().write(_TRIAL)
    self._store().write(candidates.SearchCandidate("wide", 0))
    path, = pathlib.Path(self.directory.path).glob("candidates/0-wide*")
    os.truncate(path, 30)
    self.assertEqual(["space #7"], [each.name for each in self._store()])
    self.assertTrue(path.exists())
    with self.assertRaisesRegex(files.DamagedFileError, "record of 'wide'"):
      self._store().members({"weights": {"wide": 1.}, "folds": 1})
    with mock.patch.object(log, "warning") as warning:
      candidates.CandidateStore(self.directory, repairs=True)
    self.assertIn("It is made again", warning.mock_calls[0].args[0])
    self.assertFalse(path.exists())

  def test_members(self):
    store = self._store()
    store.write(_TRIAL)
    for folds in (1, 2):
      (weight, keys), = store.members(
          {"weights": {"space #7": .5}, "folds": folds})
      self.assertEqual(.5, weight)
      self.assertEqual(_TRIAL.keys()[:folds], keys)


class HundredsTest(parameterized.TestCase):
  """Three hundred trials that have ended, and predictions of 8 rows each."""

  COUNT = 300

  def setUp(self):
    super().setUp()
    self.directory = files.Directory(self.create_tempdir().full_path)
    self.directory.write({
        "models": ["space"], "labels": [], "finalists": None,
        "monitor": ["val_loss", "min"]})
    self.labels = (np.zeros([8, 1], "float32"),) * 2
    # Trial 200 is the best, and no other one is as good with it as trial 150.
    self.outputs = {
        number: np.full([8, 1], 2 + number / 100, "float32")
        for number in range(1, self.COUNT + 1)}
    self.outputs[200] = np.float32([[1.], [-1.]] * 4)
    self.outputs[150] = -1.1 * self.outputs[200]
    store = candidates.CandidateStore(self.directory)
    for number, output in self.outputs.items():
      value = {"val_loss": float(np.mean(output**2))}
      if number == 100:
        value = {"val_loss": math.nan}
      candidate = candidates.SearchCandidate(
          "space", (number - 1) // 100, number, hyperparameters={"n": number},
          judged_by="mse", judged={0: number}, values={0: value},
          all_values=value)
      store.write(candidate)
      folder = self.directory.folder(candidate.key())
      folder.path.mkdir(parents=True)
      folder.write_record(records.NetworkRecord(
          [{"loss": 1., **value}], 1, records.EPOCHS, 1., 1234, .0056))
    self.store = candidates.CandidateStore(self.directory)

  def _shortlist(self, **limits):
    return judge_lib.make_shortlist(
        self.store, ["space"], records.Monitor(), judge_lib.Limits(**limits))

  def test_order(self):
    names = [f"space #{number}" for number in self.outputs]
    self.assertEqual(names, [candidate.name for candidate in self.store])
    self.assertEqual(names, [
        candidate.name for candidate in self._shortlist().candidates])
    self.assertEqual(["space #200", "space #150", "space #1", "space #2"], [
        candidate.name for candidate in self._shortlist(finalists=4).finalists])

  def test_selection(self):
    judge = judge_lib.Judge(
        models.CompileArguments(loss="mse"), [rows_lib.Rows(
            self.labels, np.arange(8, dtype="int32")).labels()],
        self._predictions(1), None)
    read = []

    def predictions(folder):
      number = int(folder.path.name.rpartition("#")[2])
      read.append(number)
      return self._predictions(number)

    with mock.patch.object(files.Folder, "predictions", predictions):
      judge_lib.select_ensemble(self.directory, judge, self._shortlist())
    # Of these alone are predictions read; NaN is not among them.
    self.assertLen(read, 64)
    self.assertSameElements([*range(1, 63), 150, 200], read)
    weights = self.directory.read_ensemble()["weights"]
    self.assertLen(weights, self.COUNT)
    self.assertEqual({"space #150", "space #200"}, {
        name for name, weight in weights.items() if weight})
    search_history = history.read(str(self.directory.path))
    self.assertLen(search_history.networks, self.COUNT)
    rows = [row["name"] for row in search_history.rows()]
    self.assertEqual(["ensemble", "space #200", "space #150", "space #1"],
                     rows[:4])
    self.assertEqual("space #100", rows[-1])
    self.assertStartsWith(
        search_history.summary(), "300 networks, ensemble of 2: val_loss ")

  def _predictions(self, number):
    return records.HeldOutPredictions(0, [self.outputs[number]], [None])


if __name__ == "__main__":
  absltest.main()
