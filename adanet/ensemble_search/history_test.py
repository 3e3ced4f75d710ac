# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A directory is shown without TensorFlow, by adanet-report as well."""

import builtins
import contextlib
import io
import json
import math
import os
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.ensemble_search import candidates
from adanet.ensemble_search import files
from adanet.ensemble_search import history
from adanet.ensemble_search import records
from adanet.history import main

_KEYS = [records.NetworkKey(0, 0, "deep"), records.NetworkKey(0, 0, "wide"),
         records.NetworkKey(1, 0, "deep")]
_VALUES = [{"val_loss": .5, "val_accuracy": .67},
           {"val_loss": math.nan, "val_accuracy": 0.}]


def _epochs(*losses):
  return [{"loss": loss / 2, "val_loss": loss, "val_accuracy": 1 / (1 + loss)}
          for loss in losses]


def written(path: str) -> None:
  """Writes the files of a search with a diverged network, and one that trains.
  """
  directory = files.Directory(path)
  directory.write({"models": ["deep", "wide"], "labels": [], "finalists": None,
                   "monitor": ["val_loss", "min"]})
  for key, losses, best, ended in zip(
      _KEYS, ((.9, .5, .6, .7), (2., math.nan), (.8, .4)), (2, 1, 2),
      (records.PATIENCE, records.EPOCHS, "")):
    folder = directory.folder(key)
    folder.path.mkdir(parents=True)
    folder.write_record(records.NetworkRecord(
        _epochs(*losses), best, ended, 1.5, 1234, .0056))
  store = candidates.CandidateStore(directory)
  for key, values in zip(_KEYS, (*_VALUES, {})):
    store.write(candidates.SearchCandidate(
        key.function, key.iteration, all_values=values,
        values={0: values} if values else {}))
  directory.write({"values": _VALUES[0], "folds": 1,
                   "weights": {"deep": 1., "wide": 0.}}, files.ENSEMBLE)


class HistoryTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._path = self.create_tempdir().full_path
    written(self._path)

  def _report(self, *flags):
    output = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(output):
      self.assertEqual(0, main.main(["adanet-report", self._path, *flags]))
    output.seek(0)
    return output.read()

  def test_read(self):
    search_history = history.read(self._path)
    self.assertEqual(["deep", "wide", "deep (2)"],
                     [network.name for network in search_history.networks])
    self.assertEqual(
        [(1., .5), (0., 2.), (None, .4)],
        [(network.weight, network.own_val_loss)
         for network in search_history.networks])
    self.assertEqual(["ensemble", "deep", "wide"],
                     [row["name"] for row in search_history.rows()])
    self.assertNotIn("folds", search_history.rows()[0])
    self.assertNotIn("tensorflow", sys.modules)

  def test_summary(self):
    self.assertEqual(
        "3 networks (1 unfinished), ensemble of 1: val_loss 0.5",
        history.read(self._path).summary())
    folder = files.Directory(self._path).folder(_KEYS[1])
    record = folder.read_record()
    record.fail("NaN")
    folder.write_record(record)
    self.assertIn(
        " (1 failed, 1 unfinished), ", history.describe(self._path))

  def test_report(self):
    lines = self._report().splitlines()
    self.assertRegex(lines[0], "^name +val_loss +weight +val_accuracy")
    self.assertRegex(lines[2], "^deep +0.5 +1.00 +0.67 +2 +4 +1,234 +5.6 ms +1.5")
    report = json.loads(self._report("--format=json"))
    self.assertEqual("NaN", report["networks"][1]["epochs"][1]["val_loss"])

  def test_pictures(self):
    path = os.path.join(self._path, "a.png")
    self.assertIn("<svg", self._report("--format=html", f"--picture={path}"))
    with open(path, "rb") as file:
      self.assertEqual(b"\x89PNG", file.read(4))

  def test_notebook(self):
    html = history.read(self._path)._repr_html_()
    self.assertEqual(1, html.count("<svg"))
    self.assertIn("white-space:pre;", html)  # Jupyter would wrap wide tables.
    self.assertEqual(1, html.count("val_accuracy"))  # Of one table.
    for name in ("ensemble", "deep", "wide", "1,234", "5.6 ms"):
      self.assertIn(name, html)

  def test_text_in_a_notebook(self):
    search_history = history.read(self._path)
    text = str(search_history)
    shell = type("ZMQInteractiveShell", (), {})()
    with mock.patch.object(
        builtins, "get_ipython", lambda: shell, create=True), \
         mock.patch.dict(os.environ, FORCE_COLOR="1"):
      self.assertEqual(text, str(search_history))

  def test_nothing_has_trained(self):
    directory = self.create_tempdir().full_path
    files.Directory(directory).write({"models": [], "labels": []})
    os.mkdir(os.path.join(directory, "networks"))
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
      self.assertEqual(2, main.main(["adanet-report", directory]))
    self.assertIn("expected a search of which a network has trained",
                  error.getvalue())


if __name__ == "__main__":
  absltest.main()
