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


def check(source):
  """Checks the text of a Python file.

  Args:
    source: str.

  Returns:
    A sorted list of `(line number, message)`.
  """
  tree = gast.parse(source)
  chains = _Chains()
  chains.visit(tree)
  definitions = beniget.UseDefChains(chains).chains
  constants = _constants(tree)
  found = set()
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
          found.add((loop.lineno, _MESSAGE.format(target.id, use.node.lineno)))
  return sorted(found)
