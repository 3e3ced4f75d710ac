# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs and commands of the README and the pages.

Each must print what the page says: a program, the next block of text; a command
`$ adanet-launch`, `$ adanet-plan` or `$ adanet-report`, the rest of its block. A
last line `...` stands for more. A program goes on after the ones before it on
its page, and may begin with some that print nothing. Those of the README are
one file, which prints what all of them do. The reports are those of
`adanet.testing.histories`.
"""

import contextlib
import io
import os
import re
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.distributed.plan import main as plan_main
from adanet.history import main as report_main
from adanet.launch import main as launch_main
from adanet.testing import histories
from adanet.testing import level
from adanet.testing import processes
from docs import pages
from docs import pictures
import matplotlib

_PAGES = ("README.md", "docs/callbacks.rst", "docs/columns.rst",
          "docs/estimator.rst", "docs/executor.rst", "docs/export.rst",
          "docs/getting_started.rst", "docs/hyperparameters.rst",
          "docs/keras.rst", "docs/keras_executors.rst", "docs/kubernetes.rst",
          "docs/launch.rst", "docs/leaderboard.rst", "docs/more_compute.rst",
          "docs/placement_steps.rst", "docs/plan.rst", "docs/report.rst",
          "docs/scikit_learn.rst", "docs/serving.rst", "docs/stopping.rst",
          "docs/strategies.rst", "docs/train_and_evaluate.rst",
          "docs/uncertainty.rst")
_FILE_PAGE = "README.md"
_PROGRAM_SECS = 600.


def _commands():
  """Yields (page, command, output)."""
  for page in _PAGES:
    for kind, block in pages.blocks(page):
      if kind == "console":
        command, _, output = block.replace("\\\n", " ").partition("\n")
        yield page, command, output


def _without_figures(text):
  """Returns a text with 0 for each of its numbers."""
  return re.sub(r"\d[\d.,]*", "0", text)


class ExamplesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.dict(os.environ))
    self._use_folder_of_a_search()
    self._output = self.enter_context(
        contextlib.redirect_stdout(io.StringIO()))

  def _use_folder_of_a_search(self):
    """Makes the current folder one with the model_dir "digits"."""
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.create_tempdir().full_path)
    with open("train.py", "w", encoding="utf-8"):
      pass
    histories.write(histories.search(), "digits")

  @parameterized.parameters(*(
      page for page in _PAGES
      if page not in (_FILE_PAGE, *pages.LONG) and pages.programs(page)))
  @level.gate
  def test_programs(self, page):
    if page in pages.KERAS_3 and hasattr(tf_compat.v1, "estimator"):
      self.skipTest("Keras 3 needs TensorFlow 2.16 or later.")
    for expected, printed in pages.run(page):
      self.assertEqual(expected, printed)

  @level.gate
  def test_programs_of_a_file(self):
    programs, outputs = zip(*pages.programs(_FILE_PAGE))
    with open("search.py", "w", encoding="utf-8") as f:
      f.write("\n".join(programs))
    with processes.Program([sys.executable, "search.py"]) as program:
      output, _ = program.process.communicate(timeout=_PROGRAM_SECS)
      self.assertEqual(0, program.status, program.log)
      # The page has what is shown while it trains, too, whose figures vary.
      printed, shown = output.splitlines(), "".join(outputs).splitlines()
      self.assertEqual(printed, [line for line in shown if line in printed])
      self.assertContainsSubset(
          [_without_figures(line) for line in shown if line not in printed],
          _without_figures(program.log).splitlines())
      self.assertNotIn("error in the future", program.log)  # TensorFlow's.

  @parameterized.parameters(level.first(list(_commands()), 3))
  def test_command(self, page, command, expected):
    prompt, program, *flags = command.split()
    self.assertEqual("$", prompt, page)
    main = {"adanet-launch": launch_main.main,
            "adanet-plan": plan_main.main,
            "adanet-report": report_main.main}[program]
    with mock.patch.object(self._output, "reconfigure", create=True):
      self.assertEqual(0, main([program] + flags))
    output = self._output.getvalue()
    if expected.endswith("\n...\n"):
      expected = expected[:-len("...\n")]
      output = output[:len(expected)]
    self.assertEqual(expected, output)

  def test_picture_of_the_readme(self):
    if matplotlib.__version_info__ < (3, 11):
      self.skipTest("an older Matplotlib writes the same picture otherwise")
    pictures.draw_all(".")
    with open("digits.svg", encoding="utf-8") as f:
      self.assertEqual(
          pages.text("docs/digits.svg"), f.read(),
          "docs/digits.svg: expected the picture that adanet.history draws. "
          "Run `tools/bazelw build //docs` and copy "
          "bazel-bin/docs/docs_html/_images/digits.svg there.")

  def test_finds_the_examples(self):
    self.assertLen([output for page in _PAGES
                    for _, output in pages.programs(page) if output], 60)
    self.assertLen(list(_commands()), 10)


if __name__ == "__main__":
  absltest.main()
