# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records of candidates: what is kept, and in which order they are read."""

import math
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from adanet import log
from adanet.ensemble_search import candidates
from adanet.ensemble_search import files

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



if __name__ == "__main__":
  absltest.main()
