# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that a change to a file re-runs the tests that use it, and no others.

Bazel re-runs the tests that depend on the file by the BUILD files. A test uses
it that imports it by the sources, through whatever other modules, or that has
it, or a program of it, as data. Run at the root of the project; the files to
check are the arguments, as in:

  python3 tools/lint/affected_tests.py adanet/distributed/placement.py
"""

import ast
import os
import subprocess
import sys
from xml.etree import ElementTree


def _bazel_query(expression, *options):
  """Returns what `bazel query` prints."""
  query = subprocess.run(
      ["tools/bazelw", "query", expression] + list(options),
      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      universal_newlines=True)
  if query.returncode != 0:
    sys.exit("bazel query '{}':\n{}".format(expression, query.stderr))
  return query.stdout


def _query(expression):
  return set(_bazel_query(expression).split())


def _label(path):
  """Returns the label of a source file in the package of its folder."""
  return "//{}:{}".format(*os.path.split(path))


def _tests():
  """Returns the label of every test -> the paths of its sources."""
  rules = ElementTree.fromstring(
      _bazel_query("tests(//...)", "--output=xml")).iter("rule")
  return {
      rule.get("name"): [
          label.get("value").lstrip("/").replace(":", "/")
          for label in rule.iterfind("list[@name='srcs']/label")
      ] for rule in rules
  }


def _module_path(root, module):
  """Returns the path of a module of the project, or None."""
  path = module.replace(".", "/")
  for path in (path + ".py", path + "/__init__.py"):
    if os.path.exists(os.path.join(root, path)):
      return path
  return None


def _direct_imports(root, path):
  """Returns the paths of the project's modules that one of them imports."""
  with open(os.path.join(root, path), encoding="utf-8") as f:
    nodes = ast.walk(ast.parse(f.read()))
  modules = []
  for node in nodes:
    if isinstance(node, ast.Import):
      modules += [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
      for alias in node.names:
        submodule = "{}.{}".format(node.module, alias.name)
        modules.append(
            submodule if _module_path(root, submodule) else node.module)
  if path == "adanet/__init__.py":
    # It imports each of its subpackages at the first use of that.
    modules += ["adanet." + name
                for name in os.listdir(os.path.join(root, "adanet"))]
  return {_module_path(root, module) for module in modules} - {None}


def imports(root, path):
  """Returns the paths of all of the project's modules that a file imports.

  A package's `__init__.py` is among them only where the package is imported
  itself: a target that depends on a module of it does not bring it.

  Args:
    root: the project's folder.
    path: the file's path below it.
  """
  found = set()
  pending = [path]
  while pending:
    for module in _direct_imports(root, pending.pop()) - found:
      found.add(module)
      pending.append(module)
  return found


def _check(path, tests):
  """Returns whether Bazel re-runs the right ones of the tests, and says so."""
  rerun = _query("tests(rdeps(//..., {}))".format(_label(path)))
  importing = {
      test for test, sources in tests.items()
      if any(path in imports(".", source) for source in sources)
  }
  having = {
      t for t in rerun - importing
      if _query("labels(data, deps({})) intersect rdeps(//..., {})".format(
          t, _label(path)))
  }
  for test in sorted(importing - rerun):
    print("{}: imports {}, and a change to that does not re-run it: see its "
          "deps.".format(test, path))
  needless = rerun - importing - having
  for test in sorted(needless):
    print("{}: a change to {} re-runs it, and it does not import that: see its "
          "deps and theirs.".format(test, path))
  print("{}: a change re-runs {} of {} tests; {} import it, {} have it, or a "
        "program of it, as data.".format(
            path, len(rerun), len(tests), len(importing), len(having)))
  return bool(importing) and importing <= rerun and not needless


def main(paths):
  tests = _tests()
  return 0 if all([_check(path, tests) for path in paths]) else 1


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
