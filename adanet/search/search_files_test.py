# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a search reads and writes of its model_dir."""

import json
import os
import sys

from absl.testing import absltest
from adanet.core import architecture as architecture_lib
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.core import selection
from adanet.history import records
from adanet.search import search_files
from adanet.search import winner as winner_lib
from adanet.testing import hand_written

_name = hand_written.name


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

  def test_undecided_and_end(self):
    files = hand_written.SearchFilesInMemory()
    files.write_undecided(events.IterationUndecided(
        1, 12, selection.Choice(1, _name(1, "b"), 1., "next"), "loss"))
    self.assertEqual(records.UndecidedRecord(
        1, 12, "loss", _name(1, "b"), 1., "next"), files.undecided())
    files.write_end(20, "it is tired")
    self.assertEqual((20, "it is tired"), files.end()[:2])

  def test_reads_a_folder(self):
    folder = self.create_tempdir()
    files = search_files.SearchFiles(
        model_dir_lib.ModelDir(folder.full_path))
    self.assertIsNone(files.iteration(0))
    self.assertIsNone(files.end())
    folder.create_file(
        os.path.join("history", "end.json"),
        json.dumps(dict(version=4, global_step=3, reason="tired")))
    self.assertEqual((3, "tired"), files.end()[:2])
    self.assertNotIn("tensorflow", sys.modules)


if __name__ == "__main__":
  absltest.main()
