# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds modules that import each other in a circle, and folders that do.

Imports within functions count too, but not those that only types need.
"""

import ast


def _is_for_types(node):
  return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _imported(source, modules):
  """Yields the names, among those of modules, that a text imports."""
  left = [ast.parse(source)]
  for node in left:
    left += [child for child in ast.iter_child_nodes(node)
             if not _is_for_types(child)]
    if isinstance(node, ast.Import):
      names = [(alias.name,) for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
      names = [(f"{node.module}.{alias.name}", node.module)
               for alias in node.names]
    else:
      continue
    for candidates in names:
      yield from [name for name in candidates if name in modules][:1]


def graph(sources):
  """Returns which modules each module imports.

  Args:
    sources: dict from path, such as "adanet/a/__init__.py", to text.

  Returns:
    dict from a dotted name to a set of those.
  """
  modules = {path[:-len(".py")].replace("/", ".").replace(".__init__", ""): text
             for path, text in sources.items()}
  return {name: set(_imported(text, modules)) - {name}
          for name, text in modules.items()}


def _below(edges, start):
  """Returns all that can be reached from a node, by the way to it."""
  ways = {node: (start, node) for node in sorted(edges[start])}
  left = list(ways)
  for node in left:
    for further in sorted(edges[node] - set(ways)):
      ways[further] = ways[node] + (further,)
      left.append(further)
  return ways


def circles(edges):
  """Returns a shortest circle through each node that is in one.

  Args:
    edges: dict from str to set of str.

  Returns:
    Sorted list of tuples, one of those that have the same nodes. The first and
    the last str are the same.
  """
  ways = {}
  for start in sorted(edges):
    way = _below(edges, start).get(start)
    if way:
      ways.setdefault(frozenset(way), way)
  return sorted(ways.values())


def arrows(edges, start, end, allowed=()):
  """Returns the imports from one package to another.

  Args:
    edges: as `graph` returns it.
    start: str, the package whose modules import, such as "adanet.search".
    end: str, the package whose modules are imported.
    allowed: names of modules that may be imported.

  Returns:
    Sorted list of messages.
  """
  return [f"{module} imports {imported}" for module in sorted(edges)
          if f"{module}.".startswith(f"{start}.")
          for imported in sorted(edges[module])
          if f"{imported}.".startswith(f"{end}.") and imported not in allowed]


def mutual_folders(edges):
  """Returns the pairs of folders below the first that import each other.

  Args:
    edges: as `graph` returns it.

  Returns:
    Sorted list of messages, each with an import in both directions.
  """
  between = {}
  for module in sorted(edges):
    for imported in sorted(edges[module]):
      pair = tuple(name.split(".")[1:2] for name in (module, imported))
      if all(pair) and pair[0] != pair[1]:
        key = pair[0][0], pair[1][0]
        between.setdefault(key, f"{module} imports {imported}")
  return [f"{between[a, b]}, and {between[b, a]}"
          for a, b in sorted(between) if a < b and (b, a) in between]
