# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the first programs of a page in the kernel of a notebook."""

import base64
import json
import os
import re
import sys
from unittest import mock

from absl.testing import absltest
from docs import pages
import nbclient
import nbformat

_CELL_SECS = 300
_SETUP = """
import os
import signal
from adanet.tf_compat import v1 as tf

os.chdir({!r})


class Stop(tf.train.SessionRunHook):
  steps = 0

  def after_run(self, context, values):
    self.steps += 1
    if self.steps == 5:  # As the button of a notebook does.
      os.kill(os.getpid(), signal.SIGINT)
"""
_STOPPED = "search.train(data, validation_input_fn=validation, hooks=[Stop()])"
_GOES_ON = """
search.train(data, validation_input_fn=validation)
print(search.history().end.reason)
"""
_STOPPED_FIT = """
class StopFit(keras.callbacks.Callback):

  def on_epoch_end(self, epoch, logs=None):
    os.kill(os.getpid(), signal.SIGINT)


search.fit(x, y, iterations=9, callbacks=lambda: [StopFit()])
"""
_FAILS = """
def fail():
  raise ValueError("text of a function")


search.fit(x, y, epochs=0)
"""
_MISTAKES = (
    "%tb",
    "adanet.EnsembleSearch({}, 'mse')",
    "search.fit(x, y[:-1])",
    "adanet.EnsembleSearch({'fail': fail}, 'mse').fit(x, y)",
)
_WARNS = """
from adanet import log

log.warning("%s", "text of a warning")
search.fit(x, y, epochs=5, verbose=2)
"""
_SIZE = re.compile(rb"IHDR(.{4})(.{4})", re.DOTALL)  # Of a PNG.


class NotebookTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    folder = self.create_tempdir().full_path
    kernel = os.path.join(folder, "kernels", "python3")
    os.makedirs(kernel)
    with open(os.path.join(kernel, "kernel.json"), "w", encoding="utf-8") as f:
      json.dump({"display_name": "Python", "language": "python", "argv": [
          sys.executable, "-m", "ipykernel_launcher", "-f",
          "{connection_file}"]}, f)
    self.enter_context(mock.patch.dict(
        os.environ, JUPYTER_PATH=folder, JUPYTER_RUNTIME_DIR=folder,
        IPYTHONDIR=folder))
    self._folder = folder

  def _run(self, *sources):
    """Runs cells; returns the outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_code_cell(source)
        for source in (_SETUP.format(self._folder),) + sources])
    nbclient.NotebookClient(
        notebook, timeout=_CELL_SECS, kernel_name="python3",
        allow_error_names=["Interrupted", "ValueError"]).execute()
    return [cell.outputs for cell in notebook.cells[1:]]

  def _html(self, outputs):
    return "".join(output.data.get("text/html", "") for output in outputs
                   if output.output_type in ("display_data", "execute_result"))

  def _text(self, outputs, name):
    return "".join(output.text for output in outputs
                   if output.output_type == "stream" and output.name == name)

  def test_estimator(self):
    program, expected = pages.programs("docs/stopping.rst")[0]
    trained, history, board, text = self._run(
        program, "history", "board", "print(history)")
    self.assertContainsSubset(
        expected.splitlines(), self._text(trained, "stdout").splitlines())
    # One output of each iteration, which is drawn again, not one of each step.
    drawn = re.findall(r"Iteration (\d) \(", self._html(trained))
    self.assertEqual(["0", "1"], drawn)
    for name in ("t0_deep", "t1_wide", "200/200"):
      self.assertIn(name, self._html(trained))
    self.assertIn("<svg", self._html(history))
    self.assertLen(history, 1)
    self.assertIn('class="dataframe"', self._html(board))
    self.assertLen(text, 1)
    self.assertIn("Iteration 0", self._text(text, "stdout"))

  def test_search(self):
    program, _ = pages.programs("docs/leaderboard.rst")[0]
    shows = ("search.plot()", "search", "board", "print(history)")
    _, plot, search, board, text, _, inline, stopped, resumed = self._run(
        program, *shows, "%matplotlib inline", "search.plot()", _STOPPED_FIT,
        "search.fit(x, y, epochs=5, iterations=2, verbose=0)")
    self.assertLen(text, 1)
    cells = [line.split() for line in self._text(text, "stdout").splitlines()]
    for outputs in plot, inline:
      self.assertLen(outputs, 1)
      png = base64.b64decode(outputs[0].data["image/png"])
      width, height = _SIZE.search(png).groups()
      # In the size of the page, which is drawn at 1.5 times as many pixels.
      self.assertAlmostEqual(
          int.from_bytes(width, "big") / 1.5,
          outputs[0].metadata["image/png"]["width"], delta=1)
      self.assertGreater(int.from_bytes(height, "big"), 500)
    self.assertEqual(plot[0].data["image/png"], inline[0].data["image/png"])
    self.assertLen(search, 1)
    for name in ("<svg", "best epoch"):
      self.assertEqual(1, self._html(search).count(name))
    shown = [re.findall("<td>(.*?)</td>", row)
             for row in self._html(board).split("</tr>")]
    self.assertEqual(cells[1:], [
        " ".join(row).split() for row in shown if row] + [[]])
    self.assertEqual(
        ["KeyboardInterrupt: Stopped. All training so far is saved: call fit "
         "again to resume."], stopped[-1].traceback)
    self.assertIn("<svg", self._html(resumed))

  def test_lines_of_a_search_and_wrong_arguments(self):
    program, _ = pages.programs("docs/leaderboard.rst")[0]
    trained, warned, wrong, again, no_models, data, function = self._run(
        program, _WARNS, _FAILS, *_MISTAKES)
    for outputs, text in (
        (trained, "ensemble of"), (warned, "adanet: text of a warning\n"),
        (warned, "models, ")):
      self.assertIn(text, self._text(outputs, "stdout"))
      # TensorFlow may have lines there.
      for word in ("adanet", "val_loss", "models"):
        self.assertNotIn(word, self._text(outputs, "stderr"))
    for outputs, start in (
        (wrong, "ValueError: epochs=0: "), (no_models, "ValueError: models"),
        (data, "ValueError: x has 1797 rows")):
      self.assertLen(outputs[-1].traceback, 1)
      self.assertStartsWith(outputs[-1].traceback[0], start)
    for outputs, text in (
        (again, "ensemble_search.py"), (function, "text of a function")):
      self.assertIn(text, "\n".join(outputs[-1].traceback))
      self.assertGreater(len(outputs[-1].traceback), 2)

  def test_stop_and_go_on(self):
    program, _ = pages.programs("docs/stopping.rst")[0]
    program = program[:program.index("search.train(")]
    _, stopped, after = self._run(program, _STOPPED, _GOES_ON)
    self.assertLen(stopped[-1].traceback, 1)
    self.assertIn("Stopped: step 5 of iteration 0 is saved",
                  self._text(stopped, "stdout"))
    self.assertIn("Resumed from step 5 of iteration 0",
                  self._text(after, "stdout"))
    self.assertIn("patience=1", self._text(after, "stdout"))


if __name__ == "__main__":
  absltest.main()
