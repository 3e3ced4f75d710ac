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
from adanet.ensemble_search import files
from adanet.ensemble_search import history
from adanet.history import main
from matplotlib import figure as figure_lib
from matplotlib import image
import numpy as np

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


def _drawn(mode, ensemble, *curves):
  """Returns the axes, and the texts, of the picture of curves."""
  best = np.nanargmin if mode == "min" else np.nanargmax
  networks = tuple(history.NetworkHistory(
      str(i), str(i), "make", 0, None, tuple(
          {"val_a": value} for value in values), 1 + int(best(values)),
      files.PATIENCE, 1., 9, .1, None, {}) for i, values in enumerate(curves))
  figure = history.SearchHistory(
      "", networks, (), {"val_a": ensemble, "val_loss": 0.}, "val_a",
      mode).plot()
  return figure.axes[0], [text.get_text() for text in figure.texts]


def _curve(first, last, epochs):
  return list(last + (first - last) * np.exp(-np.arange(epochs) / 2))


_A, _B = _curve(9., .1, 30), _curve(8., .09, 20)
_C, _D = _curve(.2, .97, 20), _curve(.1, .96, 20)


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

  @parameterized.named_parameters(
      ("losses", "min", .08, (_A, _B)),
      ("failed", "min", .08, (_A, _B, [5., 1e9, math.inf, 1e12], [9.] * 6)),
      ("worse", "min", .08, (_A, _B, _curve(9., .3, 20))),
      ("negative", "min", -3.1, ([a - 3 for a in _A], [b - 3.1 for b in _B])),
      ("accuracies", "max", .98, (_C, _D)),
      ("at_random", "max", .98, (_C, _D, [.1] * 6)))
  def test_curves_can_be_read(self, mode, ensemble, curves):
    axes, texts = _drawn(mode, ensemble, *curves)
    outside = "above" if mode == "min" else "below"
    self.assertTrue(any(
        text.endswith(f"; values {outside} the frame are not shown")
        for text in texts), texts)
    shown = axes.transData + axes.transAxes.inverted()
    best = min if mode == "min" else max
    heights = [shown.transform((1, value))[1]
               for value in (best(curves[0]), best(curves[1]), ensemble)]
    for height in heights:
      self.assertBetween(height, .02, .98)
    self.assertGreater(abs(heights[0] - heights[1]), .02)
    # A curve without any value in the frame is named.
    hidden = [curve for curve in curves if not 0 < shown.transform(
        (1, best(filter(np.isfinite, curve))))[1] < 1]
    self.assertLen(hidden, texts.count(f"{outside} the frame"))

  @parameterized.parameters(
      ([1.],), ([1.] * 9,), ([math.nan, 1.],), ([.5, .7, .9],))
  def test_short_curves_are_shown_as_a_whole(self, values):
    axes, texts = _drawn("max", 1., values)
    self.assertIn("epoch; a dot is the best one", texts)
    lowest, highest = axes.get_ylim()
    self.assertBetween(np.nanmin(values), lowest, highest)

  def test_tight_bounding_box(self):
    figure = history.read(self._path).plot()
    self.assertIsInstance(figure, figure_lib.Figure)
    sizes = []
    for arguments in {}, {"bbox_inches": "tight"}:
      file = io.BytesIO()
      figure.savefig(file, format="png", **arguments)
      file.seek(0)
      ink = np.nonzero(image.imread(file)[..., :3].min(-1) < .5)
      sizes.append(np.ptp(ink, axis=1))
    # Nothing is cut off, or moves: the rest is the edges of letters.
    np.testing.assert_allclose(*sizes, atol=4)

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
