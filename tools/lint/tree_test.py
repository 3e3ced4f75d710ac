# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks every file of the source tree.

Bazel does not know these files as inputs of this test, so its target is tagged
to run each time, on this machine.
"""

import functools
import os
import sys

from absl.testing import absltest
import runfiles
from tools.lint import class_names
from tools.lint import empty_names
from tools.lint import import_graph
from tools.lint import python_rules
from tools.lint import tensorflow_imports
from tools.lint import typing_style

from adanet.testing import level

if sys.version_info >= (3, 10):  # Its packages are for the default Python.
  from tools.lint import loop_names

_OTHER_PROJECT = "tools/consumer_test"

# tf_compat itself, what reports the version that runs, and texts to find.
_MAY_USE_TENSORFLOW = (
    "adanet/tf_compat/", "benchmarks/program.py",
    "third_party/tensorflow_version_test.py",
    "tools/lint/checks_test.py")

_MAY_LOAD_PYTHON_RULES = ("tools/build_defs/python.bzl",)

# Others write through adanet.log.
_MAY_USE_ABSL_LOGGING = ("adanet/log.py", "adanet/progress/")

_MAX_LINES = 600

# They import what they like, and nothing but tests and pages imports them.
_ABOVE_ALL = ("adanet/examples/", "adanet/testing/")


def _library():
  """Returns a dict from path to text of what the library is made of."""
  return {path: text for path, text in _sources(".py").items()
          if path.startswith("adanet/") and not path.endswith("_test.py") and
          not path.startswith(_ABOVE_ALL)}


@functools.lru_cache(maxsize=None)
def _sources(*suffixes):
  """Returns a dict from path to text of the files with these suffixes."""
  # The runfile is a link into the source tree.
  workspace = os.path.realpath(runfiles.Create().Rlocation("adanet/WORKSPACE"))
  root = os.path.dirname(workspace)
  texts = {}
  for folder, folders, names in os.walk(root):
    folders[:] = [name for name in folders if not name.startswith(".")]
    if folder == os.path.join(root, _OTHER_PROJECT):
      folders.clear()
    for name in names:
      if name.endswith(suffixes):
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as f:
          texts[os.path.relpath(path, root)] = f.read()
  return texts


@functools.lru_cache(maxsize=None)
def _edges():
  return import_graph.graph(_library())


class _TestCase(absltest.TestCase):

  def assert_finds_nothing(self, check, sources, exempt=()):
    """Fails if a check finds something in one of these files."""
    self.assertGreater(len(sources), 10)
    self.assertEqual("", "\n".join(
        f"{path}:{line}: {message}" for path, text in sources.items()
        if not path.startswith(exempt) for line, message in check(text)))


class TreeTest(_TestCase):

  @level.gate
  def test_tensorflow_imports(self):
    self.assert_finds_nothing(
        tensorflow_imports.check, _sources(".py"), _MAY_USE_TENSORFLOW)

  def test_python_rules(self):
    self.assert_finds_nothing(
        python_rules.check, _sources("BUILD", ".bzl"), _MAY_LOAD_PYTHON_RULES)

  def test_classes_have_names_of_their_own(self):
    self.assertEqual([], class_names.check({
        path: text for path, text in _library().items()
        if "/testdata/" not in path}))

  @level.gate
  def test_names_are_not_empty(self):
    self.assert_finds_nothing(empty_names.check, _sources(".py"))

  def test_typing_style(self):
    self.assert_finds_nothing(typing_style.check, _sources(".py"))

  def test_modules_are_short(self):
    lengths = {path: text.count("\n") for path, text in _sources(".py").items()
               if not path.endswith("_test.py")}
    self.assertEqual({}, {path: length for path, length in lengths.items()
                          if length > _MAX_LINES})

  def test_logging(self):
    self.assertEqual([], [
        path for path, text in _library().items()
        if "\nfrom absl import logging\n" in text and
        not path.startswith(_MAY_USE_ABSL_LOGGING)])

  def test_imports_have_no_circle(self):
    edges = _edges()
    self.assertGreater(len(edges), 100)
    self.assertEqual([], import_graph.circles(edges))
    self.assertEqual([], import_graph.mutual_folders(edges))

  def test_a_search_sees_the_interface_of_engines_alone(self):
    edges = _edges()
    self.assertEqual([], import_graph.arrows(
        edges, "adanet.search", "adanet.engines",
        ["adanet.engines", "adanet.engines.engine"]))
    for engine, other_engine in (
        ("executor", "cluster"), ("cluster", "executor")):
      self.assertEqual([], import_graph.arrows(
          edges, f"adanet.engines.{engine}", f"adanet.engines.{other_engine}"))


@level.gate
@absltest.skipIf(sys.version_info < (3, 10), "beniget needs a later Python")
class LoopNamesOfTreeTest(_TestCase):

  def test_loop_names(self):
    self.assert_finds_nothing(loop_names.check, _sources(".py"))


if __name__ == "__main__":
  absltest.main()
