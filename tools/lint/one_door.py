# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds what goes past adanet.tf_compat, the one door to TensorFlow.

Outside it nothing imports TensorFlow or Keras, guarded by a `try` or not, and
nothing asks for a version. To ask whether TensorFlow has an attribute is fine.
The programs that a file holds as text count as part of it.
"""

import ast
import textwrap

_TENSORFLOW = frozenset([
    "keras", "tensorflow", "tensorflow_core", "tensorflow_cpu",
    "tensorflow_estimator", "tf_keras"
])
_VERSION_TOOLS = frozenset(
    ["LooseVersion", "StrictVersion", "parse_version", "distutils"])
_VERSIONS = frozenset(
    ["COMPILER_VERSION", "GIT_VERSION", "VERSION", "__version__"])
_OWN_VERSION = frozenset(["adanet", "adanet.version"])

_IMPORT = "imports {}: adanet.tf_compat hands out what there is of TensorFlow"
_PRIVATE = "imports {}, which is adanet.tf_compat's own"
_VERSION = "asks for a version with {}: only adanet.tf_compat does"


def _is_tensorflow(name):
  return name.split(".")[0].replace("-", "_") in _TENSORFLOW


def _text(node):
  """Returns the str that a node is, or None."""
  value = getattr(node, "value", getattr(node, "s", None))  # Python 3.7: `s`.
  is_constant = type(node).__name__ in ("Constant", "Str")
  return value if is_constant and isinstance(value, str) else None


def _imported(node):
  """Returns the dotted names that an import statement may load."""
  if isinstance(node, ast.Import):
    return [alias.name for alias in node.names]
  module = "." * node.level + (node.module or "")
  return ["{}.{}".format(module, alias.name) for alias in node.names]


def _bindings(tree):
  """Returns a dict from a name to the dotted name that an import gives it."""
  bindings = {}
  for node in ast.walk(tree):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
      for alias, name in zip(node.names, _imported(node)):
        if alias.asname or isinstance(node, ast.ImportFrom):
          bindings[alias.asname or alias.name] = name
        else:  # `import a.b` binds `a`.
          bindings[name.split(".")[0]] = name.split(".")[0]
  return bindings


def _dotted(node, bindings):
  """Returns the dotted name of an expression, or None if it has none."""
  if isinstance(node, ast.Name):
    return bindings.get(node.id, node.id)
  if isinstance(node, ast.Attribute):
    base = _dotted(node.value, bindings)
    return base and "{}.{}".format(base, node.attr)
  return None


def _check_import(name):
  """Returns what is wrong with importing a dotted name, or None."""
  parts = name.split(".")
  if _is_tensorflow(name):
    return _IMPORT.format(parts[0])
  if name.startswith("adanet.tf_compat._"):
    return _PRIVATE.format(".".join(parts[:3]))
  if _VERSION_TOOLS.intersection(parts) or name.startswith("packaging.version"):
    return _VERSION.format(name)
  if _VERSIONS.intersection(parts) and ".".join(parts[:-1]) not in _OWN_VERSION:
    return _VERSION.format(name)
  return None


def _check_attribute(base, attribute):
  """Returns what is wrong with an attribute of a dotted name, or None."""
  if base and base.endswith("tf_compat") and attribute.startswith("_"):
    return _PRIVATE.format("{}.{}".format(base, attribute))
  if attribute in _VERSION_TOOLS:
    return _VERSION.format(attribute)
  if attribute in _VERSIONS and base not in _OWN_VERSION:
    return _VERSION.format(attribute)
  return None


def _check_call(node, bindings):
  """Returns what is wrong with a call whose argument is text, or None."""
  function = (_dotted(node.func, bindings) or "").split(".")[-1]
  texts = list(map(_text, node.args))
  if function in ("import_module", "__import__") and texts and texts[0]:
    return _check_import(texts[0])
  if (function in ("version", "distribution", "get_distribution", "require")
      and texts and texts[0] and _is_tensorflow(texts[0])):
    return _VERSION.format("{}({!r})".format(function, texts[0]))
  if function == "getattr" and len(texts) > 1 and texts[1]:
    return _check_attribute(_dotted(node.args[0], bindings), texts[1])
  return None


def _check_node(node, bindings):
  """Yields what is wrong with one node."""
  if isinstance(node, (ast.Import, ast.ImportFrom)):
    for name in _imported(node):
      yield _check_import(name)
  elif isinstance(node, ast.Attribute):
    yield _check_attribute(_dotted(node.value, bindings), node.attr)
  elif isinstance(node, ast.Call):
    yield _check_call(node, bindings)


def find(source):
  """Finds what goes past the one door.

  Args:
    source: str, the text of a Python file.

  Returns:
    A list of (int, str): line numbers, and what is wrong there. For a program
    in a text, the number is that of the text's first line, or of its last one
    before Python 3.8.

  Raises:
    SyntaxError: `source` is no Python.
  """
  tree = ast.parse(source)
  bindings = _bindings(tree)
  found = []
  for node in ast.walk(tree):
    found += [(node.lineno, wrong)
              for wrong in _check_node(node, bindings) if wrong]
    text = _text(node)
    if text and "import" in text:
      try:
        inner = find(textwrap.dedent(text))
      except (SyntaxError, ValueError):  # Not a program.
        continue
      found += [(node.lineno, wrong) for _, wrong in inner]
  return sorted(set(found))
