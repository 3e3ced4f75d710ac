# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds names that say nothing of what they name.

    found = [one for one in given if not one.trainable]     # Of what?
    frozen = [layer for layer in layers if not layer.trainable]

Only names that a file binds count. A name that a file imports, reads or passes
as a keyword may belong to another package.
"""

import ast

_EMPTY = frozenset(["one", "some", "found", "given", "made", "taken"])
_MESSAGE = ("{!r} says nothing: name a value after the thing, such as 'layer', "
            "and a function by a verb, such as 'build_model'")


def _bound(node):
  """Returns a list of the names that a node binds, which may have None."""
  if isinstance(node, ast.arg):
    return [node.arg]
  if isinstance(node, (ast.Name, ast.Attribute)):
    name = node.id if isinstance(node, ast.Name) else node.attr
    return [name] if isinstance(node.ctx, ast.Store) else []
  if isinstance(node, (ast.Import, ast.ImportFrom)):
    return [alias.asname for alias in node.names]
  if isinstance(node, ast.alias):
    return []  # The statement has it, with a line in each Python.
  # A function, a class, `except`, or a pattern: only `{**rest}` has `rest`.
  return [getattr(node, "name", None), getattr(node, "rest", None)]


def check(source):
  """Checks the text of a Python file.

  Args:
    source: str.

  Returns:
    A sorted list of `(line number, message)`.
  """
  return sorted(
      (node.lineno, _MESSAGE.format(name))
      for node in ast.walk(ast.parse(source)) for name in _bound(node)
      if isinstance(name, str) and name.strip("_").lower() in _EMPTY)
