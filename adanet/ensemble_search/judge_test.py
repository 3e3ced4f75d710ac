# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which ensemble the judge selects, and from which candidates."""

import math
from unittest import mock

from absl.testing import absltest
from adanet.ensemble_search import candidates
from adanet.ensemble_search import combining
from adanet.ensemble_search import files
from adanet.ensemble_search import history
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import models
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np

_Y = np.zeros([300, 1], "float32")


def _predictions(value):
  return records.HeldOutPredictions(0, [_Y + np.float32(value)], [None])


class JudgeTest(absltest.TestCase):

  def test_selected(self):
    batch = (_Y, _Y, np.linspace(0, 2, 300).astype("float32"))
    networks = [_predictions(value) for value in (3., 1., -1., 9.)]
    judge = judge_lib.Judge(
        models.CompileArguments(loss="mse"), [rows_lib.Rows(
            batch, np.arange(300, dtype="int32")).labels()], networks[0], None)
    weights = judge.select_weights(networks)
    self.assertSequenceEqual([0., .5, .5, 0.], weights)
    self.assertEqual({"val_loss": 0.}, judge.values(
        combining.combine_predictions(None, networks, weights), [None]))
    self.assertSequenceEqual([1.], judge.select_weights(networks[:1]))
    self.assertSequenceEqual([0., 1., 0., 0.], judge.select_weights(
        networks, 1))
    self.assertSequenceEqual([0., 1., 0., 0.], judge.select_weights(
        networks, is_stopped=lambda: True))

  @hypothesis.given(st.integers(1, 700), st.integers(1, 4), st.booleans())
  @hypothesis.settings(max_examples=level.number(3, 20))
  def test_candidates_are_judged_as_each_alone(self, count, members, is_masked):
    draw = np.random.RandomState(count)
    y = draw.randint(0, 3, [count, 2])
    masks = [draw.rand(count, 2) < .7 if is_masked else None]
    networks = [records.HeldOutPredictions(0, [
        draw.dirichlet(np.ones(3), [count, 2]).astype("float32")], masks)
                for _ in range(members)]
    judge = judge_lib.Judge(models.CompileArguments(
        loss="sparse_categorical_crossentropy", metrics=["accuracy"]), [
            rows_lib.Rows((y, y), np.arange(count, dtype="int32")).labels()
        ], networks[0], None)
    values = [judge.values(*network[1:])["val_loss"] for network in networks]
    judged = []
    with mock.patch.object(
        judge_lib.selection, "select",
        lambda logits, losses, *_, **__: judged.extend(losses(iter(
            logits))) or mock.Mock()), mock.patch.object(
                judge_lib, "_MAX_CANDIDATE_BYTES", 40 * count):
      judge.select_weights([*networks, networks[0]])
    self.assertEqual([(value,) for value in [*values, values[0]]], judged)

  def test_ties_of_what_is_monitored(self):
    """The lower loss decides where accuracies are the same."""
    y = np.int32([0, 1, 1, 0])
    networks = [records.HeldOutPredictions(0, [np.float32(
        [[1 - p, p] for p in probabilities])], [None]) for probabilities in (
            [.4, .6, .6, .4], [.1, .9, .9, .1], [.55, .99, .99, .01])]
    judge = judge_lib.Judge(
        models.CompileArguments(
            loss="sparse_categorical_crossentropy", metrics=["accuracy"]),
        [rows_lib.Rows((y, y), np.arange(4, dtype="int32")).labels()],
        networks[0], None,
        records.Monitor("val_accuracy", "max"))
    self.assertSequenceEqual([0., 1., 0.], judge.select_weights(networks))
    # Less loss and less accuracy: it may only help.
    weights = judge.select_weights([networks[2], networks[0]])
    self.assertLessEqual(.55 * weights[0] + .4 * weights[1], .5)

  def test_a_sample_of_many_rows(self):
    """Judges as if there were no other rows."""
    draw = np.random.RandomState(0)
    y = draw.rand(300, 1).astype("float32")
    networks = [records.HeldOutPredictions(0, [
        y + draw.randn(300, 1).astype("float32")], [None]) for _ in range(5)]
    sample = np.sort(np.random.RandomState(0).choice(300, 40, replace=False))

    def select(rows):
      members = [network._replace(outputs=[network.outputs[0][rows]])
                 for network in networks]
      judge = judge_lib.Judge(
          models.CompileArguments(loss="mse"), [rows_lib.Rows(
              (y[rows], y[rows]), np.arange(len(rows), dtype="int32")).labels()],
          members[0], None)
      return judge.select_weights(members)

    expected = select(sample)
    self.assertNotEqual(expected, select(np.arange(300)))
    with mock.patch.object(judge_lib, "_MAX_SELECTION_ROWS", 40), (
        self.assertLogs("absl", "WARNING")) as logs:
      self.assertEqual(expected, select(np.arange(300)))
    self.assertIn("by 40 of the 300 held-out rows.", logs.output[0])


class ShortlistTest(absltest.TestCase):
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

  def test_finalists(self):
    """Those of the first fold, until a finalist has all folds."""
    for number in (1, 2, 150, 200):
      candidate = self.store.get(f"space #{number}")
      candidate.folds, all_values = 2, candidate.all_values
      candidate.all_values = all_values if number in (2, 200) else {}
    shortlist = self._shortlist(finalists=3)
    self.assertEqual(["space #200", "space #150", "space #1"], [
        candidate.name for candidate in shortlist.finalists])
    self.assertEqual(["space #200"], [
        candidate.name for candidate in shortlist.candidates])
    self.store.get("space #200").all_values = {}
    shortlist = self._shortlist(finalists=3)
    self.assertLen(shortlist.candidates, self.COUNT)
    self.assertEqual(1, shortlist.folds)

  def test_what_is_left_out(self):
    """A failed candidate, one without all values, and other functions."""
    self.store.get("space #3").error = "NaN"
    self.store.get("space #4").forget_values()
    self.assertLen(self._shortlist().candidates, self.COUNT - 2)
    others = judge_lib.make_shortlist(
        self.store, ["other"], records.Monitor(), judge_lib.Limits())
    self.assertEmpty(others.candidates)



if __name__ == "__main__":
  absltest.main()
