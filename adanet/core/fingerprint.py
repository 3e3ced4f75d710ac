# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Is it the same search? The rule of the Estimator, for each of its engines.

`EnsembleSearch` compares live models instead: `ensemble_search.identity`.

The fingerprint of a search has the texts of the arguments, such as the head,
the names of the builders, and a graph of each subnetwork: the types of ops, the
constants and the shapes of the variables between the input and the output, each
with a count. So another activation under the same names is noticed. Names, and
ops that change only the shape, are left out, because names and shapes depend on
the input. A subnetwork has a graph for training, and a frozen one to answer.
Graphs are compared only if the same versions of the packages built them. Code
that changes neither the arguments nor a graph is not noticed.

The process that leads a search compares the search with `search.json` in the
model_dir, warns of differences and writes the file. A worker of a cluster
compares with the chief. On an executor the driver compares the graphs that the
workers build.
"""

import collections
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from adanet import log as logging
from adanet import tf_compat
from adanet import version
from adanet import waiting
from adanet.core import scopes
from adanet.tf_compat import files
from adanet.tf_compat import runtime

Graph = Dict[str, int]

_PLUMBING = frozenset([
    "BroadcastTo", "Cast", "CheckNumerics", "Const", "ExpandDims", "Fill",
    "Identity", "IdentityN", "OnesLike", "Placeholder",
    "PlaceholderWithDefault", "PreventGradient", "ReadVariableOp", "Reshape",
    "Shape", "Squeeze", "StopGradient", "Tile", "Transpose", "ZerosLike"])
_VARIABLES = frozenset(["VarHandleOp", "Variable", "VariableV2"])

_FROZEN = " frozen"  # In keys; no builder's name has a space.
_SUBNETWORKS = "subnetworks"  # The argument of one iteration.


def key(name: str, training: bool) -> str:
  """Returns the key of a subnetwork's graph in `SearchFingerprint.graphs`.

  Args:
    name: str, the subnetwork's: "t0_linear".
    training: whether the subnetwork is built as for training.
  """
  return name if training else name + _FROZEN


def _iteration(name):
  return int(name[1:name.index("_")])


def argument_differences(before: Mapping[str, str], now: Mapping[str, str],
                         there: str = "before",
                         here: str = "now") -> List[str]:
  """Returns how arguments differ that both searches have.

  Args:
    before: dict from the name of an argument to the text of its value.
    now: dict of the other search.
    there: str, where the first search is.
    here: str, where the other search is.
  """
  return [f"{name}: {text} {there}, {now[name]} {here}"
          for name, text in before.items() if now.get(name, text) != text]


class SearchFingerprint(NamedTuple):
  """The fingerprint of a search; the content of `search.json`.

  Attributes:
    arguments: dict from the name of an argument to the text of its value.
    versions: dict from each package that builds graphs to its version.
    graphs: dict from the key of a subnetwork to its graph.
  """
  arguments: Dict[str, str]
  versions: Dict[str, str] = {}
  graphs: Dict[str, Graph] = {}

  def at(self, number: int, resumes: bool) -> "SearchFingerprint":
    """Returns the part that holds when iteration `number` trains.

    Args:
      resumes: whether the iteration has begun before.
    """
    arguments = dict(self.arguments)
    if not (resumes and arguments.get(_SUBNETWORKS, "").startswith(
        f"t{number}_")):
      arguments.pop(_SUBNETWORKS, None)
    return self._replace(arguments=arguments, graphs={
        name: graph for name, graph in self.graphs.items()
        if _iteration(name) < number + int(resumes)})

  def merged(self, now: "SearchFingerprint") -> "SearchFingerprint":
    """Returns `now`, with graphs of this one that it does not have yet.

    Graphs for training of earlier iterations are not needed any more.
    """
    if not self.is_of_same_versions(now):
      return now
    trained = now.arguments.get(_SUBNETWORKS, "").split(", ")
    kept = {name: graph for name, graph in self.graphs.items()
            if _FROZEN in name or name in trained}
    return now._replace(graphs={**kept, **now.graphs})

  def is_of_same_versions(self, other: "SearchFingerprint") -> bool:
    """Returns whether the graphs of both can be compared."""
    return all(self.versions[name] == other.versions[name]
               for name in self.versions.keys() & other.versions.keys())

  def graph_differences(self, now: "SearchFingerprint", there: str = "before",
                        here: str = "now") -> List[str]:
    """Returns the differences of the graphs that both have."""
    if not self.is_of_same_versions(now):
      return []
    names: Dict[str, List[str]] = {}
    for name in sorted(self.graphs.keys() & now.graphs.keys()):
      before, after = self.graphs[name], now.graphs[name]
      if before != after:
        names.setdefault(
            f"{_only(before, after)} {there}, {_only(after, before)} {here}",
            []).append(name.partition(_FROZEN)[0])
    return [f"graph of {', '.join(dict.fromkeys(graphs))}: {text}"
            for text, graphs in names.items()]


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


def of(search: Any, iteration: Any = None) -> SearchFingerprint:
  """Returns the fingerprint of a search.

  Args:
    search: `Search`.
    iteration: `Iteration`, for the builders' names and the graphs; or None.
  """
  arguments = dict(
      head=_described(search.head),
      ensemblers=", ".join(sorted(map(_described, search.ensemblers))),
      ensemble_strategies=", ".join(sorted(map(_described, search.strategies))),
      max_iteration_steps=str(search.max_iteration_steps))
  if iteration is not None:
    arguments[_SUBNETWORKS] = ", ".join(sorted(
        f"t{iteration.number}_{name}" for name in iteration.builder_names))
  return SearchFingerprint(
      arguments, dict(runtime.loaded_versions(), adanet=version.VERSION),
      dict(iteration.graphs) if iteration is not None else {})


# The file.


def _path(model_dir):
  return os.path.join(model_dir, "search.json")


def read(model_dir: str) -> Optional[SearchFingerprint]:
  """Returns the fingerprint of the search that trained; None if not known."""
  return files.read_json(
      _path(model_dir), SearchFingerprint, skips_unknown=True)


def write(model_dir: str, fingerprint: SearchFingerprint) -> None:
  files.write_json(_path(model_dir), SearchFingerprint, fingerprint)


def write_answers(model_dir: str, search: Any, number: int,
                  graphs: Mapping[str, Graph]) -> None:
  """Adds the graphs of an iteration's networks that answer."""
  before = read(model_dir)
  if before is not None and before.is_of_same_versions(of(search)):
    write(model_dir, before._replace(graphs={**before.graphs, **{
        name: graph for name, graph in graphs.items()
        if _iteration(name) == number}}))


def _warn(model_dir, differences, what="training goes on",
          remedy=", or another model_dir"):
  if differences:
    logging.warning(
        "Another search trained the weights in model_dir %r, with which %s: "
        "%s. If you did not mean this, use the earlier search again%s.",
        model_dir, what, "; ".join(differences), remedy)


def warn_of_answer(model_dir: str, search: Any, iteration: Any) -> None:
  """Warns if networks do not answer as they did when they were trained."""
  before = read(model_dir)
  if before is not None:
    _warn(model_dir, before.graph_differences(of(search, iteration)),
          "this search answers", remedy="")


class FingerprintCheck:
  """The search of an iteration, compared with the search before it."""

  def __init__(self, model_dir: str, now: SearchFingerprint, number: int,
               max_iterations: Optional[int], has_weights: bool = True,
               resumes: bool = True):
    """Warns if the search before was another one. Writes nothing yet.

    Args:
      number: int, the iteration's.
      has_weights: whether training begins with weights of the search before.
      resumes: whether these are of this iteration, too.
    """
    self._model_dir = model_dir
    self._now = now
    before = read(model_dir) if has_weights else None
    self._before = (before or now).at(number, resumes)
    differences = argument_differences(self._before.arguments, now.arguments)
    if before and max_iterations is not None and number >= max_iterations:
      differences.append(
          f"max_iterations: {max_iterations} now, and iteration {number} has "
          "begun")
    _warn(model_dir, differences + self._before.graph_differences(now))

  def write(self, timeout_secs: float,
            graphs: Mapping[str, Graph] = {}) -> None:
    """Writes the fingerprint, when the weights are restored.

    Args:
      timeout_secs: float, how long to wait for space on the disk.
      graphs: further graphs, of other processes. Differences are warned of.
    """
    new = {name: graph for name, graph in graphs.items()
           if name not in self._now.graphs}
    _warn(self._model_dir, self._before.graph_differences(
        self._now._replace(graphs=new)))
    self._now = self._now._replace(graphs={**self._now.graphs, **new})
    merged = self._before.merged(self._now)
    if merged != read(self._model_dir):
      waiting.wait_until_space(
          lambda: write(self._model_dir, merged),
          waiting.Wait(timeout_secs, "free some space"), self._model_dir)


# The graph of a subnetwork.


def num_ops() -> int:
  """Returns how many ops the default graph has."""
  return len(tf_compat.v1.get_default_graph().get_operations())


def ops(outputs: Any, first: int) -> Graph:
  """Counts the types of ops, and variables, on the way to some tensors.

  Args:
    outputs: nested structure of tensors.
    first: int, the value of `num_ops` before they were built. Older ops are
      their input.
  """
  graph = tf_compat.v1.get_default_graph()
  new = {op.name for op in graph.get_operations()[first:]}

  def find_ops(tensors):
    # A variable may be shared with an earlier subnetwork.
    return [tensor.op for tensor in tensors
            if tensor.op.type in _VARIABLES or
            tensor.op.name in new and _is_float(tensor.dtype)]

  ancestors = scopes.ancestors(
      [tensor.op for tensor in tf_compat.v1.nest.flatten(outputs)
       if isinstance(tensor, tf_compat.v1.Tensor) and tensor.op.name in new],
      lambda op: find_ops(op.inputs))
  kinds = [_kind(op.node_def) for op in ancestors]
  calls = [op.node_def for op in ancestors if any(
      argument.type == "func" for argument in op.op_def.attr)]
  if calls:
    within = scopes.nodes_within(graph)
    kinds += [_kind(node) for call in calls for node, _ in within(call)
              if node is not call and _computes_floats(node)]
  counts = collections.Counter(kinds)
  return {kind: counts[kind] for kind in sorted(counts.keys() - _PLUMBING)}


def _kind(node):
  """Returns the key of a node in a `Graph`.

  The shape of a constant may be that of the batch, so a constant of equal
  numbers is known by the number.
  """
  if node.op in _VARIABLES:
    shape = node.attr["shape"].shape
    return f"variable {[dimension.size for dimension in shape.dim]}"
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
