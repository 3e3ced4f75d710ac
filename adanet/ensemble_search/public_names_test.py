# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The room uses public names of Keras and TensorFlow, and replaces none."""

import ast
import glob
import os

from absl.testing import absltest
from absl.testing import parameterized

# Name -> why there is no other way, and since which version.
_EXCEPTIONS: dict[str, str] = {}
# Those of NamedTuples are public in spite of their underscore.
_OF_TUPLES = ("_replace", "_asdict", "_fields", "_repr_html_")
_ROOMS = ("core", "heads", "training", "engines", "search", "estimator")


def _root(node):
  while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
    node = node.func if isinstance(node, ast.Call) else node.value
  return node.id if isinstance(node, ast.Name) else ""


def _is_private(name):
  return name.startswith("_") and not name.startswith("__") and (
      name not in _OF_TUPLES and name not in _EXCEPTIONS)


def problems(source: str) -> list[str]:
  """Returns what is wrong with the text of a module."""
  found = []
  for node in ast.walk(ast.parse(source)):
    if isinstance(node, ast.Attribute):
      owner = node.value.id if isinstance(node.value, ast.Name) else ""
      if _is_private(node.attr) and owner not in ("self", "cls"):
        found.append(f"{node.lineno}: {node.attr} is private")
      if isinstance(node.ctx, ast.Store) and _root(node) in (
          "keras", "tf", "tf_compat"):
        found.append(f"{node.lineno}: replaces {node.attr}")
    elif isinstance(node, ast.Call) and _root(node) in (
        "getattr", "setattr", "hasattr") and len(node.args) > 1:
      name = node.args[1]
      if isinstance(name, ast.Constant) and _is_private(str(name.value)):
        found.append(f"{node.lineno}: {name.value} is private")
      if _root(node) == "setattr":
        found.append(f"{node.lineno}: setattr")
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
      module = getattr(node, "module", None) or ""
      names = [f"{module}.{one.name}".lstrip(".") for one in node.names]
      for name in names:
        parts = name.split(".")
        if parts[:1] == ["adanet"] and parts[1] in _ROOMS:
          found.append(f"{node.lineno}: imports {name}")
        if parts[0] in ("keras", "tensorflow") or "src" in parts or (
            "python" in parts):
          found.append(f"{node.lineno}: imports {name}")
  return found


class PublicNamesTest(parameterized.TestCase):

  def test_room(self):
    paths = [path for path in glob.glob(
        os.path.join(os.path.dirname(__file__), "*.py"))
             if not path.endswith("_test.py")]
    self.assertGreater(len(paths), 8)
    for path in paths:
      with open(path) as file, self.subTest(os.path.basename(path)):
        self.assertEmpty(problems(file.read()))

  @parameterized.parameters(
      "model._compile_loss", "keras.Model.train_step = f",
      "getattr(x, '_keras_mask')", "from keras" + ".src import backend",
      "import tensor" + "flow.python", "setattr(model, 'a', 1)",
      "from adanet.core import events", "tf.Variable.assign = None")
  def test_what_is_found(self, source):
    self.assertLen(problems(source), 1, source)

  def test_what_is_not(self):
    self.assertEmpty(problems("self._a = key._replace(a=1)\nmodel.name = 'a'"))


if __name__ == "__main__":
  absltest.main()
