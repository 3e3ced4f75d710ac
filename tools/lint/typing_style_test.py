# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the check of types, on lines in either style."""

from absl.testing import absltest
from absl.testing import parameterized
from tools.lint import typing_style


class TypingStyleTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("module", "import os\nimport typing\n", "use `from typing import ...`"),
      ("module with another name", "\nimport typing as t\n",
       "use `from typing import ...`"),
      ("comment", "a = 1\nb = []  # type: List[int]\n",
       "use an annotation in place of a comment"),
      ("ignored", "a = 1\nb = a()  # type: ignore\n",
       "use an annotation in place of a comment"))
  def test_finds(self, source, message):
    self.assertEqual([(2, message)], typing_style.check(source))

  def test_finds_nothing(self):
    self.assertEqual([], typing_style.check(
        "from typing import List\na: List[int] = []  # The type: a list.\n"
        "b = '# type: int'\n"))


if __name__ == "__main__":
  absltest.main()
