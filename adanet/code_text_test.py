# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of texts of functions and objects."""

import functools
import threading
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import code_text
import numpy as np


class CodeTextTest(parameterized.TestCase):

  @parameterized.parameters(
      ("lambda: 1", "lambda: 2"),
      ("lambda y: y.min() + 1", "lambda y: y.max() + 1"),
      ("lambda y: y in {'a', 'b'}", "lambda y: y in {'a', 'c'}"),
      ("lambda: lambda: 1", "lambda: lambda: 2"),
      ("lambda y=5: y", "lambda y=10: y"),
      ("lambda *, y=5: y", "lambda *, y=10: y"),
      ("(lambda k: lambda y: y + k)(5)", "(lambda k: lambda y: y + k)(10)"),
      ("(lambda k, j: lambda: k)(5, 5)", "(lambda k, j: lambda: j)(5, 5)"),
      ("functools.partial(max, 5)", "functools.partial(max, 10)"),
      ("functools.partial(max, 5)", "functools.partial(min, 5)"),
      ("functools.partial(max, key=lambda y: y)",
       "functools.partial(max, key=lambda y: -y)"),
      ("functools.partial(max, np.zeros(2000))",
       "functools.partial(max, np.ones(2000))"),
      ("functools.partial(max, np.array(['a', 5], 'O'))",
       "functools.partial(max, np.array(['b', 5], 'O'))"),
      ("type('A', (), {'__call__': lambda self: 1})()",
       "type('A', (), {'__call__': lambda self: 2})()"),
      ("types.SimpleNamespace(k=max)", "types.SimpleNamespace(k=min)"),
      ("types.MethodType(max, [5])", "types.MethodType(max, [10])"))
  def test_text(self, before, now):
    names = dict(functools=functools, np=np, types=types)
    texts = [
        code_text.text_of_value(eval(source, names))  # pylint: disable=eval-used
        for source in (before, before, now)]
    self.assertEqual(texts[0], texts[1])
    self.assertNotEqual(texts[0], texts[2])

  def test_what_cannot_be_described(self):
    with self.assertRaises(Exception):
      code_text.text_of_value(threading.Lock().acquire)


if __name__ == "__main__":
  absltest.main()
