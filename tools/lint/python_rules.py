# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that Python rules come from //tools/build_defs:python.bzl alone.

A newer Bazel has no Python rules of its own, so a BUILD file that uses one
without loading it works today and not then. Run at the root of the project;
given no file, checks every BUILD and .bzl file that git knows or would add, but
for those of tools/consumer_test, which is a project of its own.
"""

import ast
import collections
import re
import subprocess
import sys

_THE_ONE_FILE = "tools/build_defs/python.bzl"
_ELSEWHERE = re.compile(r"@rules_python\b|@bazel_tools//tools/python\b")
_PYTHON_NAME = re.compile(r"py_|Py[A-Z]")
_LOAD_IT = "load it from //{}.".format(
    ":".join(_THE_ONE_FILE.rsplit("/", 1)))

Finding = collections.namedtuple("Finding", "line message")


def _is_load(node):
  return (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
          and node.func.id == "load")


def _loaded(load):
  """Returns the names that a load statement gives to the file."""
  return (set(map(ast.literal_eval, load.args[1:]))
          | {keyword.arg for keyword in load.keywords})


def check(text):
  """Returns a file's uses of Python rules that are not from the one file.

  Args:
    text: str, the BUILD or .bzl file. Its syntax is a part of Python's.

  Returns:
    List of `Finding`.
  """
  nodes = list(ast.walk(ast.parse(text)))
  loads = [node for node in nodes if _is_load(node)]
  known = set().union(*map(_loaded, loads))
  known.update(node.name for node in nodes if isinstance(node, ast.FunctionDef))
  known.update(node.arg for node in nodes if isinstance(node, ast.arg))
  known.update(node.id for node in nodes
               if isinstance(node, ast.Name)
               and isinstance(node.ctx, ast.Store))

  findings = []
  for load in loads:
    file = ast.literal_eval(load.args[0])
    if _ELSEWHERE.match(file):
      findings.append(Finding(
          load.lineno, "loads from {}: {}".format(file, _LOAD_IT)))
  for node in nodes:
    if (isinstance(node, ast.Attribute) and _PYTHON_NAME.match(node.attr)
        and isinstance(node.value, ast.Name) and node.value.id == "native"):
      findings.append(Finding(
          node.lineno, "native.{}: {}".format(node.attr, _LOAD_IT)))
    elif (isinstance(node, ast.Name) and _PYTHON_NAME.match(node.id)
          and node.id not in known):
      findings.append(Finding(
          node.lineno, "{} is not loaded: {}".format(node.id, _LOAD_IT)))
  return sorted(findings)


def _files():
  return subprocess.check_output(
      ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--",
       "*BUILD", "*.bzl", ":!" + _THE_ONE_FILE, ":!tools/consumer_test"],
      universal_newlines=True).splitlines()


def main(paths):
  passed = True
  paths = paths or _files()
  for path in paths:
    with open(path, encoding="utf-8") as f:
      for finding in check(f.read()):
        print("{}:{}: {}".format(path, finding.line, finding.message))
        passed = False
  if passed:
    print("Python rules: all {} BUILD and .bzl files load them from one."
          .format(len(paths)))
  return 0 if passed else 1


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
