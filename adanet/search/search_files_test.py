# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a search's files, and of which ensemble answers at a checkpoint."""

import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import replay
from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.core import selection
from adanet.history import records
from adanet.search import search_files
from adanet.search import winner as winner_lib
from adanet.testing import hand_written
import numpy as np

_Engine = hand_written.HandWrittenEngine
_Rater = hand_written.Rater
_name = hand_written.name
_trained = hand_written.trained
_NAN = float("nan")


class SearchFilesTest(absltest.TestCase):

  def test_iteration(self):
    trained = hand_written.trained(1, {"a": 2., "b": 1., "c": 3.}, before="a")
    trained = trained._replace(generation=7, costs={"t1_b": {"seconds": 4.}})
    choice = selection.Choice(1, _name(1, "b"), 1., "next", .5, 3)
    fit = selection.Fit({"t1_b": .5}, 1., 2, "t1_b", 1.)
    files = hand_written.SearchFilesInMemory()
    files.write_iteration(
        events.IterationEnded(1, choice, 9., "loss", fit),
        winner_lib.Winner(
            choice, trained.candidates.architectures,
            trained.candidates.averages, network_losses={"t1_b": .125}),
        trained, "folder/model.ckpt-20.1",
        # Weights that do not match the networks are left out.
        {_name(1, "b"): [.25, .5], _name(1, "c"): [.5]})
    record = files.iteration(1)
    self.assertEqual(records.IterationRecord(
        1, (records.CandidateRecord(_name(0, "a"), 2., ("t0_a",), (None,)),
            records.CandidateRecord(
                _name(1, "b"), 1., ("t0_a", "t1_b"), (.25, .5)),
            records.CandidateRecord(
                _name(1, "c"), 3., ("t0_a", "t1_c"), (None, None))),
        _name(1, "b"), "loss", .5, "", {
            "t1_b": records.SubnetworkRecord(
                10, .5, held_out_loss=.125, seconds=4.),
            "t1_c": records.SubnetworkRecord(10, .5)},
        20, 9., 7, "model.ckpt-20.1", record.architecture, fit), record)
    self.assertEqual(
        trained.candidates.architectures[_name(1, "b")]._replace(
            global_step=20),
        architecture_lib.Architecture.from_json(record.architecture, "it"))

  def test_reads_a_folder(self):
    folder = self.create_tempdir()
    files = search_files.SearchFiles(
        model_dir_lib.ModelDir(folder.full_path))
    self.assertIsNone(files.iteration(0))
    self.assertIsNone(files.end())
    folder.create_file(
        os.path.join("history", "end.json"),
        records.dumps(records.EndRecord(3, "tired")))
    self.assertEqual((3, "tired"), files.end()[:2])


class RecordedTest(parameterized.TestCase):
  """What the record of an iteration says."""

  def _searched(self, previous=0., value=1., **rules):
    """Returns the engine of a search of two iterations."""
    engine = _Engine([
        _trained(0, {"a": 2., "b": 1.}),
        _trained(1, {"b": previous, "c": value, "d": 9.}, before="b")], **rules)
    engine.values_of = {
        0: {_name(0, "a"): 2., _name(0, "b"): 1.},
        1: {_name(0, "b"): previous, _name(1, "c"): value, _name(1, "d"): 9.}}
    engine.search(max_iterations=2)
    return engine

  def _recorded(self, engine, number=1, checkpoint="elsewhere/model.ckpt-20",
                **rules):
    """Returns who answers, by other rules than training had."""
    return engine.files.winner(
        engine.setup.rules._replace(**rules), number, checkpoint)

  def test_winner(self):
    won = self._recorded(self._searched(previous=3.))
    self.assertEqual((_name(1, "c"), 1.), (won.name, won.choice.value))
    self.assertEqual(((0, "b"), (1, "c")), won.architecture.subnetworks)
    self.assertEqual(20, won.architecture.global_step)

  @parameterized.parameters(
      (1, "model/model.ckpt-19"), (1, "model/model.ckpt-20.1"), (1, None),
      (2, "model/model.ckpt-20"), (0, "model/model.ckpt-20"))
  def test_nothing_is_recorded(self, number, checkpoint):
    self.assertIsNone(self._recorded(self._searched(), number, checkpoint))

  @parameterized.named_parameters(
      ("another_evaluator", {}, dict(evaluator=_Rater()), False),
      ("another_metric", dict(evaluator=_Rater()), dict(
          evaluator=_Rater(metric_name="area")), False),
      ("none_takes_what_was_decided", dict(evaluator=_Rater()),
       dict(evaluator=None), True),
      ("replay", {}, dict(replay_config=replay.Config([0, 0])), True),
      ("another_replay", {}, dict(replay_config=replay.Config([0, 1])), False),
      ("replay_of_none", {}, dict(replay_config=replay.Config([0, 9])), False),
      ("replay_of_before", {}, dict(replay_config=replay.Config([0])), True))
  def test_rules(self, trained, asked, is_recorded):
    engine = self._searched(**trained)
    self.assertEqual(
        is_recorded, self._recorded(engine, **asked) is not None)

  @parameterized.named_parameters(
      ("previous_is_better", 0., {}, {}, "b"),
      ("previous_is_as_good", 1., {}, {}, "b"),
      ("previous_is_worse", 2., {}, {}, "c"),
      ("evaluator", 0., dict(evaluator=_Rater()), {}, "c"),
      ("evaluator_of_training_only", 0., dict(evaluator=_Rater()),
       dict(evaluator=None), "c"),
      ("asked_without", 0., {}, dict(force_grow=False), "c"))
  def test_force_grow_is_of_training(self, previous, trained, asked, winner):
    engine = self._searched(previous, force_grow=True, **trained)
    self.assertEqual(_name(1, "c"), engine.files.iteration(1).winner)
    won = self._recorded(engine, **asked)
    self.assertEqual(_name(int(winner == "c"), winner), won.name)
    self.assertEqual(
        ((0, "b"), (1, "c"))[:1 + (winner == "c")],
        won.architecture.subnetworks)

  def test_first_iteration_has_no_previous_one(self):
    engine = self._searched(force_grow=True)
    self.assertEqual(_name(0, "b"), self._recorded(
        engine, 0, "model/model.ckpt-10").name)

  def test_not_known_what_the_previous_one_is_worth(self):
    engine = self._searched(_NAN, force_grow=True)
    self.assertEqual(_name(1, "c"), self._recorded(engine).name)
    engine.files.model_dir.architectures.clear()
    self.assertIsNone(self._recorded(engine))

  @parameterized.parameters((None,), ({_name(0, "a"): 0.},))
  def test_winner_without_a_value(self, values):
    trained = _trained(1, {"a": 0., "b": 1.}, before="a")
    engine = _Engine(force_grow=True)
    choice = selection.Choice(1, _name(1, "b"))
    engine.files.write_iteration(
        events.IterationEnded(1, choice, 1.),
        winner_lib.Winner(choice, trained.candidates.architectures, values),
        trained, trained.candidates.checkpoint, {})
    engine.files.model_dir.write_architecture(
        0, trained.candidates.architectures[_name(0, "a")])
    self.assertIsNone(self._recorded(engine))
    self.assertEqual(_name(1, "b"), self._recorded(
        engine, force_grow=False).name)


class AnsweringWinnerTest(parameterized.TestCase):
  """What is asked of an engine, and how often."""

  def setUp(self):
    super().setUp()
    self._engine = _Engine()
    self._answering = search_files.AnsweringWinner()
    self._digest = "1"
    self.enter_context(mock.patch.object(
        checkpoints, "digest", lambda _: self._digest))
    self.enter_context(mock.patch.object(
        search_files, "SearchFiles", lambda _: self._engine.files))

  def _best(self, candidates):
    return self._answering.best(
        self._engine, candidates.checkpoint, lambda: candidates)

  @parameterized.parameters(
      ({}, "b"), (dict(force_grow=True), "b"),
      (dict(force_grow=True, evaluator=_Rater()), "c"),
      (dict(evaluator=_Rater()), "b"),
      (dict(evaluator=_Rater(np.nanargmax)), "d"))
  def test_best(self, rules, winner):
    self._engine = _Engine(**rules)
    candidates = hand_written.candidates(
        1, {"b": 0., "c": 1., "d": 2.}, before="b")
    self._engine.values_of[1] = candidates.averages
    self.assertEqual(_name(int(winner != "b"), winner),
                     self._best(candidates))

  def test_none_is_the_best(self):
    with self.assertRaises(selection.AllNaNError):
      self._best(hand_written.candidates(0, {"a": _NAN, "b": _NAN}))

  def test_best_is_kept_for_a_checkpoint_and_rules(self):
    self._engine = _Engine(evaluator=_Rater())
    candidates = hand_written.candidates(0, {"a": 1., "b": 2.})

    def best(values, of=candidates):
      self._engine.values_of[0] = dict(zip(of.architectures, values))
      return self._best(of)[3]

    self.assertEqual("a", best([1., 2.]))
    self.assertEqual("a", best([2., 1.]))
    self._digest = "2"  # The checkpoint was written again.
    self.assertEqual("b", best([2., 1.]))
    self.assertEqual("a", best([1., 2.], candidates._replace(
        checkpoint="model/model.ckpt-11")))
    self._engine.setup = self._engine.setup._replace(
        rules=self._engine.setup.rules._replace(evaluator=_Rater(np.nanargmax)))
    self.assertEqual("b", best([1., 2.], candidates._replace(
        checkpoint="model/model.ckpt-11")))
    initial = candidates._replace(checkpoint=None)
    self.assertEqual("ab", best([2., 1.], initial) + best([1., 2.], initial))

  def test_without_fitted_ones_nothing_is_asked(self):
    self.assertIsNone(
        self._answering.decided(self._engine, 0, "model/model.ckpt-10"))
    self.assertEmpty(self._engine.calls)

  def _fitted(self, **rules):
    """Prepares a search with two fitted candidates."""
    self._engine = _Engine(
        [_trained(0, {}, fitted="ab")], [hand_written.NeverFitted()], **rules)
    candidates = self._engine.iterations[0].candidates
    self._engine.fits_of[0] = hand_written.fits(
        candidates, {_name(0, "a"): 2., _name(0, "b"): 1.})
    return candidates.checkpoint

  def test_fitted_ones_are_decided_once(self):
    checkpoint = self._fitted(evaluator=_Rater())
    for _ in range(2):
      won = self._answering.decided(self._engine, 0, checkpoint)
      self.assertEqual(_name(0, "b"), won.name)
    self.assertEqual([("fits_at", 0, checkpoint)], self._engine.calls)

  def test_what_is_recorded_is_not_decided_again(self):
    checkpoint = self._fitted(evaluator=_Rater())
    self._engine.search(max_iterations=1)
    self._engine.calls.clear()
    won = self._answering.decided(self._engine, 0, checkpoint + ".1")
    self.assertEqual(_name(0, "b"), won.name)
    self.assertEmpty(self._engine.calls)

  def test_fitted_ones_need_data(self):
    checkpoint = self._fitted()
    with self.assertRaisesRegex(ValueError, "^evaluator=None: expected an "):
      self._answering.decided(self._engine, 0, checkpoint)
    self.assertEmpty(self._engine.calls)


if __name__ == "__main__":
  absltest.main()
