# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the check of loops, on functions with and without a fault."""

import sys

from absl.testing import absltest
from absl.testing import parameterized

if sys.version_info >= (3, 10):  # The packages are for the default Python.
  from tools.lint import loop_names


@absltest.skipIf(sys.version_info < (3, 10), "beniget needs a later Python")
class LoopNamesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("argument", "def f(name, xs):\n  for name in xs:\n    print(name)\n"
                   "  return name\n", 2, 4),
      ("variable", "def f(xs):\n  name = xs.name\n  if xs:\n    for name in xs:"
                   "\n      pass\n  return name\n", 4, 6),
      ("in a tuple", "def f(name, xs):\n  for a, (name, b) in xs:\n    a += b\n"
                     "  return name\n", 2, 4),
      ("of an outer round", "def f(name, xs):\n  for x in xs:\n"
                            "    print(name)\n    for name in x:\n      pass\n", 4, 3),
      ("of a module", "name = len([])\nfor name in range(3):\n  pass\n"
                      "print(name)\n", 2, 4))
  def test_finds(self, source, loop, use):
    self.assertEqual(
        [(loop, f"the loop overwrites 'name', which line {use} uses after it: "
          "give the loop a name of its own")], loop_names.check(source))

  @parameterized.named_parameters(
      ("used in the loop alone", "def f(name, xs):\n  for name in xs:\n"
                                 "    print(name)\n"),
      ("given another value", "def f(name, xs):\n  for name in xs:\n    pass\n"
                              "  name = 3\n  return name\n"),
      ("left in the loop", "def f(xs):\n  for name in xs:\n    pass\n"
                           "  for name in xs:\n    print(name)\n"),
      ("constant for no round", "def f(xs):\n  name = None\n  for name in xs:\n"
                                "    break\n  return name\n"),
      ("of a comprehension", "def f(name, xs):\n"
                             "  print([name for name in xs])\n  return name\n"))
  def test_finds_nothing(self, source):
    self.assertEqual([], loop_names.check(source))


if __name__ == "__main__":
  absltest.main()
