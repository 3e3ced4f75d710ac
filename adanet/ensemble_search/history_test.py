# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A directory is shown without TensorFlow, by adanet-report as well."""

import contextlib
import io
import json
import math
import os
import sys

from absl.testing import absltest
from adanet.ensemble_search import files
from adanet.ensemble_search import history
from adanet.history import main

_KEYS = [files.NetworkKey(0, 0, "deep"), files.NetworkKey(0, 0, "wide"),
         files.NetworkKey(1, 0, "deep")]
_VALUES = [{"val_loss": .5, "val_accuracy": .67},
           {"val_loss": math.nan, "val_accuracy": 0.}]


def _epochs(*losses):
  return [{"loss": loss / 2, "val_loss": loss, "val_accuracy": 1 / (1 + loss)}
          for loss in losses]


def written(path: str) -> None:
  """Writes the files of a search with a diverged network, and one that trains.
  """
  directory = files.Directory(path)
  directory.write({"models": []})
  for key, losses, best, ended in zip(
      _KEYS, ((.9, .5, .6, .7), (2., math.nan), (.8, .4)), (2, 1, 2),
      (files.PATIENCE, files.EPOCHS, "")):
    folder = directory.folder(key)
    folder.path.mkdir(parents=True)
    folder.write_record(files.NetworkRecord(
        _epochs(*losses), best, ended, 1.5, 1234, .0056))
  directory.write({"values": _VALUES[0], "members": [
      {"weight": weight, "values": values, "networks": [
          {"network": key, "values": values}]}
      for key, weight, values in zip(_KEYS, (1., 0.), _VALUES)]},
                  files.ENSEMBLE)


class HistoryTest(absltest.TestCase):

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
    self.assertNotIn("tensorflow", sys.modules)

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

  def test_nothing_has_trained(self):
    directory = self.create_tempdir().full_path
    files.Directory(directory).write({"models": []})
    os.mkdir(os.path.join(directory, "networks"))
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
      self.assertEqual(2, main.main(["adanet-report", directory]))
    self.assertIn("expected a search of which a network has trained",
                  error.getvalue())


if __name__ == "__main__":
  absltest.main()
