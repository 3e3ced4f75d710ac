# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds uses of TensorFlow that do not go through adanet.tf_compat.

Only that package imports TensorFlow or Keras, and only it asks for a version.
Asking whether TensorFlow has an attribute is fine. Programs that a file holds
as text count too.
"""

import ast
import textwrap

_TENSORFLOW = frozenset([
    "keras", "tensorflow", "tensorflow_core", "tensorflow_cpu",
    "tensorflow_estimator", "tf_keras"
])
_VERSIONS = frozenset([
    "COMPILER_VERSION", "GIT_VERSION", "LooseVersion", "StrictVersion",
    "VERSION", "__version__", "distutils", "parse_version"
])
# Packages with versions of their own, whatever the TensorFlow.
_OTHER_VERSIONS = frozenset(["adanet", "adanet.version", "optuna", "version"])

# Functions whose first argument names a module, or a package with a version.
_IMPORTERS = frozenset(["import_module", "__import__"])
_VERSION_GETTERS = frozenset(
    ["distribution", "get_distribution", "require", "version"])

_IMPORT = "imports {}: use adanet.tf_compat instead"
_PRIVATE = "uses {}, which is private to adanet.tf_compat"
_VERSION = "asks for a version with {}: only adanet.tf_compat does"


def _is_tensorflow(name):
  return name.split(".")[0].replace("-", "_") in _TENSORFLOW


def _text(node):
  """Returns the str that a node is, or ""."""
  # Python 3.7 has `Str` with an `s`.
  value = getattr(node, "value", getattr(node, "s", None))
  is_constant = type(node).__name__ in ("Constant", "Str")
  return value if is_constant and isinstance(value, str) else ""


def _dotted(node):
  """Returns the dotted name of an expression; "?" stands for anything else."""
  if isinstance(node, ast.Name):
    return node.id
  if isinstance(node, ast.Attribute):
    return f"{_dotted(node.value)}.{node.attr}"
  return "?"


def _check_name(name):
  """Returns what is wrong with using a dotted name, or None."""
  base, _, last = name.rpartition(".")
  if last.startswith("_") and base.endswith("tf_compat"):
    return _PRIVATE.format(name)
  if last in _VERSIONS and base not in _OTHER_VERSIONS:
    return _VERSION.format(name)
  return None


def _check_import(name):
  """Returns what is wrong with importing a dotted name, or None."""
  if _is_tensorflow(name):
    return _IMPORT.format(name.split(".")[0])
  if name.startswith(("distutils.version", "packaging.version")):
    return _VERSION.format(name)
  return _check_name(name)


def _check_call(node):
  """Returns what is wrong with a call that has text as an argument, or None."""
  function = _dotted(node.func).split(".")[-1]
  texts = [_text(argument) for argument in node.args] + ["", ""]
  if function in _IMPORTERS:
    return _check_import(texts[0])
  if function in _VERSION_GETTERS and _is_tensorflow(texts[0]):
    return _VERSION.format(f"{function}({texts[0]!r})")
  if function == "getattr" and texts[1]:
    return _check_name(f"{_dotted(node.args[0])}.{texts[1]}")
  return None


def _check_node(node):
  """Yields what is wrong with one node."""
  if isinstance(node, ast.Import):
    for alias in node.names:
      yield _check_import(alias.name)
  elif isinstance(node, ast.ImportFrom):
    for alias in node.names:
      yield _check_import(f"{node.module}.{alias.name}")
  elif isinstance(node, ast.Attribute):
    yield _check_name(_dotted(node))
  elif isinstance(node, ast.Call):
    yield _check_call(node)
  elif "import" in _text(node):
    try:
      for _, message in check(textwrap.dedent(_text(node))):
        yield message
    except (SyntaxError, ValueError):  # Not a program.
      pass


def check(source):
  """Checks the text of a Python file.

  Args:
    source: str.

  Returns:
    A sorted list of `(line number, message)`. For a program in a string, the
    line is the first or the last of the string.

  Raises:
    SyntaxError: `source` is not Python.
  """
  return sorted({(node.lineno, message)
                 for node in ast.walk(ast.parse(source))
                 for message in _check_node(node) if message})
