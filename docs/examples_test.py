# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs and commands of the README and the pages.

Each must print what the page says: a program, the next block of text; a command
`$ adanet-launch`, `$ adanet-plan` or `$ adanet-report`, the rest of its block. A
last line `...` stands for more. A program goes on after the ones before it on
its page, and may begin with some that print nothing. The reports are those of
`adanet.history.example`.
"""

import contextlib
import io
import os
import re
import textwrap
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.distributed.plan import main as plan_main
from adanet.history import example
from adanet.history import main as report_main
from adanet.launch import main as launch_main
import runfiles

_PAGES = ("README.md", "docs/auto_ensemble.rst", "docs/estimator.rst",
          "docs/getting_started.rst", "docs/kubernetes.rst", "docs/launch.rst",
          "docs/placement_steps.rst", "docs/plan.rst", "docs/report.rst",
          "docs/strategies.rst", "docs/tf_distribute.rst",
          "docs/train_and_evaluate.rst")
# The kind of a block and its lines, in Markdown and in reStructuredText.
_MARKDOWN = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RST = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:   .*\n|\n)+)",
                  re.MULTILINE)


def _blocks(page):
  """Returns list of (kind, text) of a page's blocks of code."""
  with open(runfiles.Create().Rlocation("adanet/" + page),
            encoding="utf-8") as f:
    text = f.read() + "\n"
  pattern = _MARKDOWN if page.endswith(".md") else _RST
  return [(kind or "text", textwrap.dedent(block).strip("\n") + "\n")
          for kind, block in pattern.findall(text)]


def _programs(page):
  """Returns list of (program, output) of a page; the last one shows its output.
  """
  programs = []
  blocks = _blocks(page)
  for (kind, program), (next_kind, output) in zip(
      blocks, blocks[1:] + [("", "")]):
    if kind == "python":
      programs.append((program, output if next_kind == "text" else ""))
  while programs and not programs[-1][1]:
    programs.pop()
  return programs


def _commands():
  """Yields (page, command, output)."""
  for page in _PAGES:
    for kind, block in _blocks(page):
      if kind == "console":
        command, _, output = block.replace("\\\n", " ").partition("\n")
        yield page, command, output


class ExamplesTest(parameterized.TestCase):

  def setUp(self):
    super(ExamplesTest, self).setUp()
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
    example.write(example.search(), "digits")

  @parameterized.parameters(*filter(_programs, _PAGES))
  def test_programs(self, page):
    variables = {}
    for program, expected in _programs(page):
      with mock.patch.dict(os.environ):
        exec(compile(program, page, "exec"), variables)  # pylint: disable=exec-used
      self.assertEqual(expected, self._output.getvalue())
      self._output.seek(0)
      self._output.truncate()

  @parameterized.parameters(*_commands())
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

  def test_finds_the_examples(self):
    self.assertLen([output for page in _PAGES
                    for _, output in _programs(page) if output], 13)
    self.assertLen(list(_commands()), 9)


if __name__ == "__main__":
  absltest.main()
