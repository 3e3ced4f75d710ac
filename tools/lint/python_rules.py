# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds Python rules that do not come from //tools/build_defs:python.bzl.

Later versions of Bazel have no Python rules of their own, so a BUILD file that
uses one without loading it works with Bazel 4 and not with those.
"""

import ast
import re

_ELSEWHERE = re.compile(r"@rules_python\b|@bazel_tools//tools/python\b")
_PYTHON_NAME = re.compile(r"py_|Py[A-Z]")
_MESSAGE = "{}: load it from //tools/build_defs:python.bzl"


def _is_load(node):
  return (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
          and node.func.id == "load")


def _defined(node):
  """Returns the names that a node defines."""
  if _is_load(node):
    return ([ast.literal_eval(name) for name in node.args[1:]]
            + [keyword.arg for keyword in node.keywords])
  if isinstance(node, ast.FunctionDef):
    return [node.name]
  if isinstance(node, ast.arg):
    return [node.arg]
  if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
    return [node.id]
  return []


def check(source):
  """Checks the text of a BUILD or .bzl file, whose syntax is part of Python's.

  Args:
    source: str.

  Returns:
    A sorted list of `(line number, message)`.
  """
  nodes = list(ast.walk(ast.parse(source)))
  defined = {name for node in nodes for name in _defined(node)}
  problems = []
  for node in nodes:
    wrong = ""
    if _is_load(node):
      file = ast.literal_eval(node.args[0])
      wrong = file if _ELSEWHERE.match(file) else ""
    elif isinstance(node, ast.Attribute):
      base = getattr(node.value, "id", "")
      if base == "native" and _PYTHON_NAME.match(node.attr):
        wrong = "native." + node.attr
    elif isinstance(node, ast.Name):
      if _PYTHON_NAME.match(node.id) and node.id not in defined:
        wrong = node.id
    if wrong:
      problems.append((node.lineno, _MESSAGE.format(wrong)))
  return sorted(problems)
