# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds loops that overwrite a name of their function which is used after them.

    def begin(name, files):
      for name in files:  # Here it becomes another one.
        remove(name)
      return name         # Meant is the argument.

It is found where a value reaches a use after the loop both from the loop and
from before it. A constant before the loop is what the name means if the loop
has no round, so that is not found.
"""

import ast

import beniget
import gast

_MESSAGE = ("the loop overwrites {!r}, which line {} uses after it: give the "
            "loop a name of its own")


class _Chains(beniget.DefUseChains):
  """Which definitions reach which uses. It prints nothing about the rest."""

  def warn(self, msg, node):
    pass


def _constants(tree):
  """Returns the targets of assignments of constants."""
  return {target for node in gast.walk(tree)
          if isinstance(node, gast.Assign) and
          isinstance(node.value, gast.Constant) for target in node.targets}


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _in_scope(scope):
  """Yields the nodes of a function or a module, without inner functions'."""
  nodes = [scope]
  while nodes:
    node = nodes.pop()
    yield node
    if node is scope or not isinstance(node, _SCOPES):
      nodes.extend(ast.iter_child_nodes(node))


def _names(nodes, context):
  """Returns the nodes of names in a context, such as `ast.Load`."""
  return {name for node in nodes for name in ast.walk(node)
          if isinstance(name, ast.Name) and isinstance(name.ctx, context)}


def _may_overwrite(source):
  """Whether a name of a loop is used outside of all loops with that name.

  Most files have no such name, and this takes little time.
  """
  tree = ast.parse(source)
  for scope in ast.walk(tree):
    if scope is not tree and not isinstance(scope, _SCOPES):
      continue
    inside = {}  # From each name of a loop to the nodes in loops with it.
    for loop in _in_scope(scope):
      if isinstance(loop, (ast.For, ast.AsyncFor)):
        used = _names(loop.body, ast.Load)
        for target in _names([loop.target], ast.Store):
          inside.setdefault(target.id, set()).update(used)
    for node in ast.walk(scope) if inside else ():
      if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        used = _names([node.elt], ast.Load)
        for target in _names(
            [generator.target for generator in node.generators], ast.Store):
          if target.id in inside:
            inside[target.id].update(used)
    if inside and any(name.id in inside and name not in inside[name.id]
                      for name in _names([scope], ast.Load)):
      return True
  return False


def check(source):
  """Checks the text of a Python file.

  Args:
    source: str.

  Returns:
    A sorted list of `(line number, message)`.
  """
  if not _may_overwrite(source):
    return []
  tree = gast.parse(source)
  chains = _Chains()
  chains.visit(tree)
  definitions = beniget.UseDefChains(chains).chains
  constants = _constants(tree)
  problems = set()
  for loop in gast.walk(tree):
    if not isinstance(loop, (gast.For, gast.AsyncFor)):
      continue
    inside = set(gast.walk(loop))
    for target in gast.walk(loop.target):
      if not isinstance(target, gast.Name) or target not in chains.chains:
        continue
      for use in chains.chains[target].users():
        others = {d.node for d in definitions.get(use.node, ())} - inside
        if use.node not in inside and others - constants:
          problems.add(
              (loop.lineno, _MESSAGE.format(target.id, use.node.lineno)))
  return sorted(problems)
