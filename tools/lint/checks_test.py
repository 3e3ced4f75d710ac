# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of `tree_test`, on sources with and without a fault."""

import sys

from absl.testing import absltest
from absl.testing import parameterized
from tools.lint import class_names
from tools.lint import empty_names
from tools.lint import import_graph
from tools.lint import python_rules
from tools.lint import tensorflow_imports
from tools.lint import typing_style

if sys.version_info >= (3, 10):  # Its packages are for the default Python.
  from tools.lint import loop_names


class ClassNamesTest(absltest.TestCase):

  def test_finds(self):
    self.assertEqual(
        ["Task: a.py:1, b.py:3, c.py:2"], class_names.check({
            "a.py": "class Task:\n  pass\n",
            "b.py": "class Job:\n  pass\nclass _Task(Job):\n  pass\n",
            "c.py": "def f():\n  class Task:\n    pass\n"}))

  def test_finds_nothing(self):
    self.assertEqual([], class_names.check({
        "a.py": "class Task:\n  pass\n",
        "b.py": "from a import Task\nclass TaskOfJob(Task):\n  pass\n"}))


class EmptyNamesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("function", "def _found():\n  pass\n", "_found"),
      ("async function", "async def made():\n  pass\n", "made"),
      ("class", "class Given:\n  pass\n", "Given"),
      ("argument", "def f(some):\n  pass\n", "some"),
      ("keyword-only argument", "def f(*, some=1):\n  pass\n", "some"),
      ("arguments", "def f(*taken):\n  pass\n", "taken"),
      ("keyword arguments", "def f(**given):\n  pass\n", "given"),
      ("argument of a lambda", "f = lambda one: 1\n", "one"),
      ("variable", "found = 1\n", "found"),
      ("constant", "_FOUND = 1\n", "_FOUND"),
      ("annotated variable", "found: int = 1\n", "found"),
      ("changed variable", "taken += 1\n", "taken"),
      ("part of a tuple", "a, (*some, b) = c\n", "some"),
      ("attribute", "a.b.made_ = 1\n", "made_"),
      ("loop", "for one in a:\n  pass\n", "one"),
      ("comprehension", "a = {b: one for b, one in c}\n", "one"),
      ("with", "with a as given:\n  pass\n", "given"),
      ("exception", "try:\n  a()\nexcept E as made:\n  pass\n", "made", 3),
      ("import", "import a as one\n", "one"),
      ("import of a name", "from a import b as some\n", "some"))
  def test_finds(self, source, name, line=1):
    self.assertEqual(
        [(line, f"'{name}' says nothing: name a value after the thing, such as "
          "'layer', and a function by a verb, such as 'build_model'")],
        empty_names.check(source))

  @absltest.skipIf(sys.version_info < (3, 10), "match needs Python 3.10")
  def test_finds_patterns(self):
    lines = [line for line, _ in empty_names.check(
        "match a:\n  case [*some]:\n    pass\n  case {1: b, **made}:\n"
        "    pass\n  case C() as one if (given := one):\n    pass\n")]
    self.assertEqual([2, 4, 6, 6], lines)

  @parameterized.named_parameters(
      ("imported", "from hypothesis import given\n"),
      ("read", "print(one, a.given, 'found')\n"),
      ("passed as a keyword", "f(made=1)\n"),
      ("a part of a name", "rows_found = made_here = someone = 1\n"))
  def test_finds_nothing(self, source):
    self.assertEqual([], empty_names.check(source))


class ImportGraphTest(absltest.TestCase):

  def test_graph(self):
    edges = import_graph.graph({
        "adanet/__init__.py": "import typing\nif typing.TYPE_CHECKING:\n"
                              "  from adanet.a import b\n",
        "adanet/a/__init__.py": "",
        "adanet/a/b.py": "from adanet import a, c as d\nimport numpy.a\n",
        "adanet/c.py": "def f():\n  from adanet.a.b import g\n"})
    self.assertEqual(
        {"adanet": set(), "adanet.a": set(), "adanet.a.b": {
            "adanet.a", "adanet.c"}, "adanet.c": {"adanet.a.b"}}, edges)
    self.assertEqual([("adanet.a.b", "adanet.c", "adanet.a.b")],
                     import_graph.circles(edges))

  def test_circles(self):
    edges = dict(a="b", b="cd", c="a", d="e", e="", f="ab", g="h", h="g")
    self.assertEqual(
        [tuple("abca"), tuple("ghg")],
        import_graph.circles({key: set(to) for key, to in edges.items()}))

  def test_mutual_folders(self):
    edges = {"adanet.a.x": {"adanet.b.y", "adanet.c.z", "adanet"},
             "adanet.a.w": {"adanet.a.x"}, "adanet.b.y": set(),
             "adanet.b.v": {"adanet.a.w"}, "adanet.c.z": set(),
             "adanet": {"adanet.a.x"}}
    self.assertEqual(
        ["adanet.a.x imports adanet.b.y, and adanet.b.v imports adanet.a.w"],
        import_graph.mutual_folders(edges))

  def test_arrows(self):
    edges = {"adanet.a.x": {"adanet.b.y", "adanet.b.inside.z", "adanet.bc"},
             "adanet.ab.w": {"adanet.b.y"}, "adanet.b.y": {"adanet.a.x"}}
    self.assertEqual(
        ["adanet.a.x imports adanet.b.inside.z"],
        import_graph.arrows(edges, "adanet.a", "adanet.b", ["adanet.b.y"]))


@absltest.skipIf(sys.version_info < (3, 10), "beniget needs a later Python")
class LoopNamesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("argument", "def f(name, xs):\n  for name in xs:\n    print(name)\n"
                   "  return name\n", 2, 4),
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
      ("constant for no round", "def f(xs):\n  name = None\n  for name in xs:\n"
                                "    break\n  return name\n"),
      ("of a comprehension", "def f(name, xs):\n"
                             "  print([name for name in xs])\n  return name\n"))
  def test_finds_nothing(self, source):
    self.assertEqual([], loop_names.check(source))


_LOAD = 'load("//tools/build_defs:python.bzl", "py_library")\n'


class PythonRulesTest(parameterized.TestCase):

  @parameterized.parameters(
      _LOAD + 'py_library(name = "a")',
      'load("//tools/build_defs:python.bzl", lib = "py_test")\nlib(name = "a")',
      'py_wheel = rule(implementation = _impl)\n'
      'def py_macro(name, py_deps = []):\n'
      '    py_wheel(name = name, deps = py_deps)',
      'genrule(name = "py_data", cmd = "native.py_test")',
      "def _impl(ctx):\n    return [DefaultInfo()]",
  )
  def test_fine(self, source):
    self.assertEmpty(python_rules.check(source))

  @parameterized.parameters(
      ('py_library(\n    name = "a",\n)', 1, "py_library"),
      (_LOAD + 'py_test(name = "a")', 2, "py_test"),
      ("def _impl(ctx):\n    return ctx.attr.dep[PyInfo]", 2, "PyInfo"),
      ("\ntest = native.py_test", 2, "native.py_test"),
      ('load("@rules_python//python:defs.bzl", "py_test")', 1,
       "@rules_python//python:defs.bzl"),
  )
  def test_found(self, source, line, name):
    self.assertEqual(
        [(line, name + ": load it from //tools/build_defs:python.bzl")],
        python_rules.check(source))


_NESTED = """
def f():
  try:
    from tensorflow import keras
  except ImportError:
    pass
"""
_PROGRAM = '''
PROGRAM = """
    import sys
    import tensorflow as tf
    """
'''
_FORMATTED_PROGRAM = "f('import sys; {}; import tensorflow'.format(statement))"


class TensorflowImportsTest(parameterized.TestCase):

  @parameterized.parameters(
      "import os, tensorflow.compat.v1 as tf",
      "from tensorflow_estimator.python import estimator",
      "import tf_keras",
      "from keras import layers",
      "tf = importlib.import_module('tensorflow.compat.v1')",
      "tf = __import__('tensorflow')",
      _NESTED, _PROGRAM, _FORMATTED_PROGRAM)
  def test_import(self, source):
    (_, message), = tensorflow_imports.check(source)
    self.assertRegex(message, "^imports (tensorflow|tf_keras|keras)")

  @parameterized.parameters(
      "from adanet.tf_compat import _tensorflow",
      "getattr(tf_compat, '_version')")
  def test_private(self, source):
    (_, message), = tensorflow_imports.check(source)
    self.assertRegex(message, r"^uses .*tf_compat\._.* is private to ")

  @parameterized.parameters(
      "tf_compat.v1.VERSION",
      "tf_compat.v2.__version__ >= '2.16'",
      "from distutils import version",
      "pkg_resources.parse_version(x)",
      "importlib.metadata.version('tensorflow-cpu')",
      "program = 'import adanet; adanet.tf_compat.v1.VERSION'")
  def test_version(self, source):
    (_, message), = tensorflow_imports.check(source)
    self.assertStartsWith(message, "asks for a version with ")

  @parameterized.parameters(
      "",
      "hasattr(tf_compat.v1, 'estimator')",
      "from adanet.tf_compat import RunConfig",
      "from adanet.version import VERSION as __version__",
      "sys.version_info >= (3, 8)",
      "from packaging import requirements",
      "metadata.version('absl-py')",
      "'''Text on how to import tensorflow, and on tf.__version__.'''",
      "pip = 'tensorflow'",
      "import keras_of_mine")
  def test_fine(self, source):
    self.assertEmpty(tensorflow_imports.check(source))

  def test_line_numbers(self):
    source = "import keras\nassert tf.VERSION == tf.VERSION\nimport tensorflow"
    self.assertEqual(
        [1, 2, 3], [line for line, _ in tensorflow_imports.check(source)])


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
