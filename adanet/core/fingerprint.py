# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a search, in the model_dir, to recognize another search.

For each subnetwork, the fingerprint counts the types of ops, and the constants,
between the input and the output. So another activation under the same names is
noticed. Names, variables, shapes and ops that change only the shape are left
out, because they depend on the input. The graph for training and the frozen
graph of a later iteration are two entries. Graphs are compared only if the same
versions of the packages built them.
"""

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from adanet import tf_compat
from adanet import version
from adanet.core import scopes
from adanet.tf_compat import runtime

Graph = Dict[str, int]

_PLUMBING = frozenset([
    "BroadcastTo", "Cast", "CheckNumerics", "Const", "ExpandDims", "Fill",
    "Identity", "IdentityN", "OnesLike", "Placeholder",
    "PlaceholderWithDefault", "PreventGradient", "ReadVariableOp", "Reshape",
    "Shape", "Squeeze", "StopGradient", "Tile", "Transpose", "Variable",
    "VariableV2", "ZerosLike"])

_FROZEN = " frozen"  # In keys; no builder's name has a space.


def key(name: str, frozen: bool, training: bool, answers: bool) -> str:
  """Returns the key of a subnetwork's graph in `SearchFingerprint.graphs`.

  Args:
    name: str, the subnetwork's: "t0_linear".
    frozen: whether the subnetwork is part of an earlier winner.
    training: whether the subnetwork is built as for training.
    answers: whether the graph evaluates or predicts.
  """
  if answers:
    return name + _FROZEN + " to answer"
  return name + _FROZEN * frozen + " in training" * (frozen and training)


def _is_of_iteration(name, number):
  return name.startswith(f"t{number}_") and _FROZEN not in name


def _is_frozen_before(name, number):
  iteration = re.match(r"t(\d+)_.* ", name)
  return iteration is not None and int(iteration.group(1)) < number


class SearchFingerprint(NamedTuple):
  """The fingerprint of a search.

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
    """Returns the part that holds when iteration `number` trains.

    Args:
      resumes: whether the iteration has begun before.
    """
    return self._replace(graphs={
        name: graph for name, graph in self.graphs.items()
        if _is_frozen_before(name, number) or
        resumes and _is_of_iteration(name, number)})

  def merged(self, now: "SearchFingerprint") -> "SearchFingerprint":
    """Returns `now`, with graphs of this one that it does not have yet."""
    if not self.is_of_same_versions(now):
      return now
    known = {name: graph for name, graph in self.graphs.items()
             if _FROZEN in name or name in now.graphs}
    known.update({name: graph for name, graph in now.graphs.items()
                  if graph or name not in known})
    return now._replace(graphs=known)

  def is_of_same_versions(self, other: "SearchFingerprint") -> bool:
    """Returns whether the graphs of both can be compared."""
    return all(self.versions[name] == other.versions[name]
               for name in self.versions.keys() & other.versions.keys())

  def differences(self, now: "SearchFingerprint", number: int) -> List[str]:
    """Returns how the search `now`, in iteration `number`, differs from this.
    """
    texts = []
    for name in ("head", "ensemblers", "ensemble_strategies",
                 "max_iteration_steps"):
      before, after = (
          _text(getattr(fingerprint, name)) for fingerprint in (self, now))
      if before != after:
        texts.append(f"{name}: {before} before, {after} now")
    if now.max_iterations is not None and number >= now.max_iterations and (
        self.max_iterations is None or
        self.max_iterations > now.max_iterations):
      texts.append(f"max_iterations: {self.max_iterations} before, "
                   f"{now.max_iterations} now, and iteration {number} has "
                   "begun")
    before, after = (
        sorted(name for name in fingerprint.graphs
               if _is_of_iteration(name, number))
        for fingerprint in (self, now))
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
          self.is_of_same_versions(now)):
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
  arguments = [f"name={value.name!r}"] if getattr(value, "name", None) else []
  if hasattr(value, "logits_dimension"):
    arguments.append(f"logits_dimension={value.logits_dimension}")
  heads = getattr(value, "heads", None)
  if isinstance(heads, (list, tuple)):
    arguments = [_described(head) for head in heads]
  return f"{type(value).__name__}({', '.join(arguments)})"


def of(search: Any, max_iterations: Optional[int],
       graphs: Mapping[str, Graph] = {}) -> SearchFingerprint:
  """Returns the fingerprint of a search."""
  return SearchFingerprint(
      head=_described(search.head),
      ensemblers=tuple(sorted(map(_described, search.ensemblers))),
      ensemble_strategies=tuple(sorted(map(_described, search.strategies))),
      max_iteration_steps=search.max_iteration_steps,
      max_iterations=max_iterations,
      versions=dict(runtime.loaded_versions(), adanet=version.VERSION),
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

  def find_new_ops(tensors):
    return [tensor.op for tensor in tensors if tensor.op.name in new]

  ancestors = scopes.ancestors(
      find_new_ops(tensor for tensor in tf_compat.v1.nest.flatten(outputs)
                   if isinstance(tensor, tf_compat.v1.Tensor)),
      lambda op: find_new_ops(t for t in op.inputs if _is_float(t.dtype)))
  kinds = [_kind(op.node_def) for op in ancestors]
  calls = [op.node_def for op in ancestors if any(
      argument.type == "func" for argument in op.op_def.attr)]
  if calls:
    within = scopes.nodes_within(graph)
    kinds += [_kind(node) for call in calls for node in within(call)
              if node is not call and _computes_floats(node)]
  return {kind: kinds.count(kind) for kind in sorted(set(kinds) - _PLUMBING)}


def _kind(node):
  """Returns the key of a node in a `Graph`.

  The shape of a constant may be that of the batch, so a constant of equal
  numbers is known by the number.
  """
  if node.op == "Const":
    value = tf_compat.v1.make_ndarray(node.attr["value"].tensor)
    if value.size and (value == value.flat[0]).all():
      return f"constant {value.flat[0]!s}"
  return node.op


def _is_float(dtype):
  return dtype.base_dtype.is_floating or dtype.base_dtype.is_complex


def _computes_floats(node):
  number = node.attr["dtype" if node.op == "Const" else "T"].type
  return bool(number) and _is_float(tf_compat.v1.as_dtype(number))
