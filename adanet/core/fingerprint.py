# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a search, in the model_dir, to recognize another search.

Of each subnetwork it has how often each type of op and each constant is between
its input and its output. It leaves out all that depends on the input or on the
builder: names, variables and their initial values, constants that are no
floats, such as numbers of the shape, and ops that change the shape alone. The
graph for training and the frozen one, in a later iteration, are two entries;
where fitted ensembles do without the latter, the graph that answers is one.
Other versions of the packages may build other ops, so graphs are compared only
if they are of the same versions.
"""

import hashlib
import re
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional
from typing import Tuple

from adanet import tf_compat
from adanet import version
from adanet.tf_compat import versions
import numpy as np

Graph = Dict[str, int]

_PLUMBING = frozenset([
    "BroadcastTo", "Cast", "CheckNumerics", "Const", "ExpandDims", "Fill",
    "Identity", "IdentityN", "OnesLike", "Placeholder",
    "PlaceholderWithDefault", "PreventGradient", "ReadVariableOp", "Reshape",
    "Shape", "Squeeze", "StopGradient", "Tile", "Transpose", "Variable",
    "VariableV2", "ZerosLike"])

# Their keys in `SearchFingerprint.graphs`; no builder's name has a space.
_FROZEN = " frozen"


def answering_key(name: str) -> str:
  """Returns the key of a subnetwork's graph that answers.

  Args:
    name: str, the subnetwork's: "t0_linear".
  """
  return name + _FROZEN + " to answer"


def key(name: str, frozen: bool, training: bool) -> str:
  """Returns the key of a subnetwork's graph in `SearchFingerprint.graphs`.

  Args:
    name: str, the subnetwork's: "t0_linear".
    frozen: whether it is part of an earlier winner.
    training: whether it is built as for training.
  """
  return name + _FROZEN * frozen + " in training" * (frozen and training)


def _is_of_iteration(name, number):
  return name.startswith(f"t{number}_") and _FROZEN not in name


def _is_frozen_before(name, number):
  iteration = re.match(r"t(\d+)_.* ", name)
  return iteration is not None and int(iteration.group(1)) < number


class SearchFingerprint(NamedTuple):
  """The fingerprint of a search: it tells one search from another.

  Attributes:
    head: str.
    ensemblers: tuple of str.
    ensemble_strategies: tuple of str.
    max_iteration_steps: int or None.
    max_iterations: int or None.
    versions: dict from each package that builds graphs to its version.
    graphs: dict from the key of a subnetwork to its ops; empty for one that is
      known by name alone.
  """
  head: str
  ensemblers: Tuple[str, ...]
  ensemble_strategies: Tuple[str, ...]
  max_iteration_steps: Optional[int]
  max_iterations: Optional[int] = None
  versions: Dict[str, str] = {}
  graphs: Dict[str, Graph] = {}

  def at(self, number: int, resumes: bool) -> "SearchFingerprint":
    """Returns the part of it that holds when an iteration trains.

    Args:
      number: int, the iteration's.
      resumes: whether the iteration has begun before.
    """
    return self._replace(graphs={
        name: graph for name, graph in self.graphs.items()
        if _is_frozen_before(name, number) or
        resumes and _is_of_iteration(name, number)})

  def merged(self, now: "SearchFingerprint") -> "SearchFingerprint":
    """Returns `now`, with graphs of this one that it does not have yet."""
    if not self._is_of_same_versions(now):
      return now
    known = {name: graph for name, graph in self.graphs.items()
             if _FROZEN in name or name in now.graphs}
    known.update({name: graph for name, graph in now.graphs.items()
                  if graph or name not in known})
    return now._replace(graphs=known)

  def with_graphs(self, now: "SearchFingerprint") -> "SearchFingerprint":
    """Returns this one with the graphs of `now`, if these can be compared."""
    if not self._is_of_same_versions(now):
      return self
    return self._replace(graphs=dict(self.graphs, **now.graphs))

  def _is_of_same_versions(self, other):
    return all(self.versions[name] == other.versions[name]
               for name in self.versions.keys() & other.versions.keys())

  def differences(self, now: "SearchFingerprint", number: int) -> List[str]:
    """Returns the differences between another search and this one, in words.

    Args:
      now: `SearchFingerprint`.
      number: int, the iteration that it trains.
    """
    texts = []
    for name in ("head", "ensemblers", "ensemble_strategies",
                 "max_iteration_steps"):
      before, after = (_text(getattr(one, name)) for one in (self, now))
      if before != after:
        texts.append(f"{name}: {before} before, {after} now")
    if now.max_iterations is not None and number >= now.max_iterations and (
        self.max_iterations is None or
        self.max_iterations > now.max_iterations):
      texts.append(f"max_iterations: {self.max_iterations} before, "
                   f"{now.max_iterations} now, and iteration {number} has "
                   "begun")
    before, after = (
        sorted(name for name in one.graphs if _is_of_iteration(name, number))
        for one in (self, now))
    if before and after and before != after:
      texts.append("subnetworks: {} before, {} now".format(
          ", ".join(before), ", ".join(after)))
    return texts + self.graph_differences(now)

  def graph_differences(self, now: "SearchFingerprint") -> List[str]:
    """Returns the differences of the graphs that both have."""
    names: Dict[str, List[str]] = {}
    for name in sorted(self.graphs.keys() & now.graphs.keys()):
      before, after = self.graphs[name], now.graphs[name]
      if before and after and before != after and (
          self._is_of_same_versions(now)):
        names.setdefault(
            f"{_only(before, after)} before, {_only(after, before)} now",
            []).append(name.partition(_FROZEN)[0])
    return [f"graph of {', '.join(graphs)}: {text}"
            for text, graphs in names.items()]


def _text(value):
  return ", ".join(value) if isinstance(value, tuple) else str(value)


def _only(graph, other):
  """Returns the ops that a graph has and another has not, as text."""
  return ", ".join(
      f"{graph[op] - other.get(op, 0)} {op}" for op in sorted(graph)
      if graph[op] > other.get(op, 0)) or "none of these"


def _described(value):
  """Returns a head, an ensembler or a strategy as text."""
  given = [f"name={value.name!r}"] if getattr(value, "name", None) else []
  if hasattr(value, "logits_dimension"):
    given.append(f"logits_dimension={value.logits_dimension}")
  heads = getattr(value, "heads", None)
  if isinstance(heads, (list, tuple)):
    given = [_described(head) for head in heads]
  return f"{type(value).__name__}({', '.join(given)})"


def of(search: Any, max_iterations: Optional[int],
       graphs: Mapping[str, Graph] = {}) -> SearchFingerprint:
  """Returns the fingerprint of a search.

  Args:
    search: `Search`.
    max_iterations: int or None.
    graphs: see `SearchFingerprint`.
  """
  return SearchFingerprint(
      head=_described(search.head),
      ensemblers=tuple(sorted(map(_described, search.ensemblers))),
      ensemble_strategies=tuple(sorted(map(_described, search.strategies))),
      max_iteration_steps=search.max_iteration_steps,
      max_iterations=max_iterations,
      versions=dict(versions.loaded(), adanet=version.VERSION),
      graphs=dict(graphs))


# The graph of a subnetwork.


def num_ops() -> int:
  """Returns how many ops the default graph has."""
  return len(tf_compat.v1.get_default_graph().get_operations())


def ops(outputs: Any, first: int) -> Graph:
  """Returns how often each type of op is on the way to some tensors.

  Args:
    outputs: nested structure of tensors.
    first: int, the value of `num_ops` before they were built. Older ops are
      their input.
  """
  graph = tf_compat.v1.get_default_graph()
  new = {op.name for op in graph.get_operations()[first:]}
  todo = [tensor.op for tensor in tf_compat.v1.nest.flatten(outputs)
          if isinstance(tensor, tf_compat.v1.Tensor)]
  ops_by_name: Dict[str, Any] = {}
  while todo:
    op = todo.pop()
    if op.name in new and op.name not in ops_by_name:
      ops_by_name[op.name] = op
      todo += [tensor.op for tensor in op.inputs if _is_float(tensor.dtype)]
  types = [op.type for op in ops_by_name.values()]
  types += [_constant(op.node_def) for op in ops_by_name.values()
            if op.type == "Const"]
  called = _called(op.node_def for op in ops_by_name.values() if any(
      argument.type == "func" for argument in op.op_def.attr))
  if called:
    types += _types_in_functions(graph, called)
  return {kind: types.count(kind) for kind in sorted(set(types) - _PLUMBING)}


def _constant(node):
  """Returns the key of a node of type "Const" in a `Graph`.

  Its shape may be that of the batch, so a constant of equal numbers is known by
  the number alone.
  """
  value = tf_compat.v1.make_ndarray(node.attr["value"].tensor)
  if value.size and (value == value.flat[0]).all():
    return f"constant {value.flat[0]!s}"
  digest = hashlib.sha1(np.ascontiguousarray(value).tobytes()).hexdigest()
  return f"constant {digest[:8]}"


def _is_float(dtype):
  return dtype.base_dtype.is_floating or dtype.base_dtype.is_complex


def _computes_floats(node, attribute):
  """Whether a type of a node's, in its attribute of that name, is a float."""
  number = node.attr[attribute].type
  return bool(number) and _is_float(tf_compat.v1.as_dtype(number))


def _called(nodes: Iterable[Any]) -> List[str]:
  """Returns the names of the functions that nodes call."""
  return [value.func.name for node in nodes for value in node.attr.values()
          if value.WhichOneof("value") == "func"]


def _types_in_functions(graph, names):
  """Returns the types of the ops on floats in functions that a graph calls."""
  library = {function.signature.name: function
             for function in graph.as_graph_def().library.function}
  types = []
  seen = set()
  todo = list(names)
  while todo:
    name = todo.pop()
    if name in library and name not in seen:
      seen.add(name)
      nodes = library[name].node_def
      types += [node.op for node in nodes if _computes_floats(node, "T")]
      types += [_constant(node) for node in nodes
                if node.op == "Const" and _computes_floats(node, "dtype")]
      todo += _called(nodes)
  return types
