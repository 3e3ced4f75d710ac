# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The graph that a building builder, ensembler or head sees.

A builder or an ensembler sees a private global step and only the trainable
variables of the builder or ensembler. Both are in collections of the graph.
Assertions of a head that fail for a NaN are left out. No function of TensorFlow
is replaced: the graph answers differently until the scope ends. Where the graph
has a seed, the seeds that a builder does not give follow from the scope's name,
not from the rest of the graph. The assignments of layers of Keras 3 wait for
the train op.
"""

import contextlib
import functools
from typing import Any, Callable, ContextManager, Dict, Iterable, Iterator
from typing import List, Mapping, Optional, Tuple

from adanet import tf_compat
from adanet.tf_compat import keras_scope
from adanet.tf_compat import seeds


@functools.lru_cache(maxsize=None)
def _graph_class():
  """Returns the class of `new_graph`, made when TensorFlow is needed."""

  class SearchGraph(seeds.UnseededOps, tf_compat.v1.Graph):
    """A graph with the global step of the current scope.

    Attributes:
      step_of_scope: a function without arguments that returns the variable, or
        None outside of all scopes.
      may_be_nan: frozenset of the names of ops that compute floats, whose
        assertions are left out.
    """

    step_of_scope = None
    may_be_nan = frozenset()

    def control_dependencies(self, control_inputs):
      """Makes ops wait; see `tf.Graph.control_dependencies`."""
      if self.may_be_nan and control_inputs is not None:
        control_inputs = [
            tensor for tensor in control_inputs if not _asserts_floats_of(
                getattr(tensor, "op", tensor), self.may_be_nan)]
      return super().control_dependencies(control_inputs)

    def get_collection(self, name, scope=None):
      """Returns a collection; see `tf.Graph.get_collection`."""
      if name == tf_compat.v1.GraphKeys.GLOBAL_STEP and self.step_of_scope:
        return [self.step_of_scope()]
      return super().get_collection(name, scope)

  return SearchGraph


def ancestors(ops: Iterable[Any],
              before: Callable[[Any], Iterable[Any]]) -> List[Any]:
  """Returns ops and all earlier ops.

  Args:
    before: function from an op to the relevant ops directly before the op.
  """
  by_name: Dict[str, Any] = {}
  left = list(ops)
  while left:
    op = left.pop()
    if op.name not in by_name:
      by_name[op.name] = op
      left += before(op)
  return list(by_name.values())


def nodes_within(
    graph: Any) -> Callable[[Any], Iterator[Tuple[Any, Mapping[str, Any]]]]:
  """Returns a function that yields a node and the nodes of its functions.

  With each node comes a dict from a name to a node: all nodes of the same
  function, or of the graph.
  """
  graph_def = graph.as_graph_def()
  of_graph = {node.name: node for node in graph_def.node}
  functions = {
      function.signature.name: {node.name: node for node in function.node_def}
      for function in graph_def.library.function}

  def within(node):
    seen = set()
    left = [(node, of_graph)]
    while left:
      current, siblings = left.pop()
      yield current, siblings
      for value in current.attr.values():
        for function in [value.func, *value.list.func]:
          if function.name in functions and function.name not in seen:
            seen.add(function.name)
            nodes = functions[function.name]
            left += [(inner, nodes) for inner in nodes.values()]

  return within


def _asserts_floats_of(op, names):
  """Whether an op is an assertion on floats computed by some ops."""
  if "/AssertGuard/" not in getattr(op, "name", ""):
    return False
  # A shape is no float, and says nothing about NaN.
  return not names.isdisjoint(ancestor.name for ancestor in ancestors(
      [op], lambda op: [tensor.op for tensor in op.inputs
                        if tensor.dtype.is_floating or tensor.dtype.is_bool]))


@contextlib.contextmanager
def nan_scope(tensors: Any) -> Iterator[None]:
  """Leaves out assertions on floats computed from some tensors.

  Metrics such as `tf.metrics.auc` assert predictions in [0, 1]. A NaN would
  fail the assertion and end the evaluation of all candidates.

  Args:
    tensors: logits or predictions in the default graph, which `new_graph` made:
      a tensor, or a dict of tensors.
  """
  graph = tf_compat.v1.get_default_graph()
  outer = graph.may_be_nan
  graph.may_be_nan = outer.union(
      tensor.op.name for tensor in (
          tensors.values() if isinstance(tensors, dict) else [tensors]))
  try:
    yield
  finally:
    graph.may_be_nan = outer


def new_graph(seed: Optional[int]) -> Any:
  """Returns an empty graph for a search."""
  graph = _graph_class()()
  with graph.as_default():
    tf_compat.v1.set_random_seed(seed)
  return graph


def seed_scope(name: str) -> ContextManager[None]:
  """Derives missing seeds in the default graph from a name."""
  return seeds.seed_scope(tf_compat.v1.get_default_graph(), name)


@contextlib.contextmanager
def same_seeds(name: str) -> Iterator[None]:
  """Derives missing seeds from a name, each time the same seeds."""
  graph = tf_compat.v1.get_default_graph()
  graph.sources.pop(name, None)  # Where an earlier scope ended.
  with seeds.seed_scope(graph, name):
    yield


def metrics_scope() -> ContextManager[None]:
  """Lets assignments of metrics of Keras 3 wait for `tf_compat.metric_op`."""
  return keras_scope.KerasScope("metrics").entered()


def _step_in(variable_scope):
  """Returns the builder's private step, a variable made at the first request.

  As in AdaNet, an optimizer with the step increments the step. The `step` by
  which the iteration ends is a different variable.
  """
  v1 = tf_compat.v1
  with v1.init_scope(), v1.get_default_graph().name_scope(None):
    with v1.variable_scope(variable_scope, reuse=v1.AUTO_REUSE):
      return v1.get_variable(
          "iteration_step", shape=[], initializer=v1.zeros_initializer(),
          trainable=False, dtype=v1.int64)


def _put_into_scope(scope, saveables, earlier):
  """Puts the builder's scope into the names of the builder's tables.

  In a checkpoint, a table has the name from the user, or the name of the kind
  of table. Of two tables with the same name, a Saver would save only the last.
  """
  names = {saveable.name for saveable in earlier}
  for saveable in saveables:
    old = saveable.name
    new = old if old.startswith(scope + "/") else f"{scope}/{old}"
    number = 0
    while new in names:
      number += 1
      new = f"{scope}/{old}_{number}"
    names.add(new)
    saveable.name = new
    for spec in saveable.specs:
      spec.name = (new + spec.name[len(old):] if spec.name.startswith(old)
                   else f"{new}/{spec.name}")


class ScopeContent:
  """The objects that a builder or an ensembler has made in a scope so far."""

  def __init__(self, name: str) -> None:
    self.trainable_variables: List[Any] = []
    self.keras = keras_scope.KerasScope(name)


@contextlib.contextmanager
def builder_scope(variable_scope: Any, built: Optional[ScopeContent] = None
                  ) -> Iterator[ScopeContent]:
  """Enters the scope of a builder or ensembler in the default graph.

  In the scope, `tf.train.get_global_step()` is the builder's step, and
  `tf.trainable_variables()` has only the builder's variables. Missing seeds
  follow from the name of the scope; see `seed_scope`. After the scope, tables
  have unique names in checkpoints.

  Args:
    built: the builder's content so far, to continue; None for nothing.

  Yields:
    `built`, or a new `ScopeContent`, with the scope's objects after the scope.
  """
  v1 = tf_compat.v1
  graph = v1.get_default_graph()
  outer_step = graph.step_of_scope
  graph.step_of_scope = functools.partial(_step_in, variable_scope)
  visible = graph.get_collection_ref(v1.GraphKeys.TRAINABLE_VARIABLES)
  hidden = list(visible)
  built = built or ScopeContent(variable_scope.name)
  visible[:] = before = list(built.trainable_variables)
  saveables = graph.get_collection_ref(v1.GraphKeys.SAVEABLE_OBJECTS)
  num_saveables = len(saveables)
  try:
    with seed_scope(variable_scope.name), built.keras.entered():
      yield built
    _put_into_scope(variable_scope.name, saveables[num_saveables:],
                    saveables[:num_saveables])
  finally:
    trainable = [variable for variable in visible[len(before):]
                 if not built.keras.is_frozen(variable)]
    built.trainable_variables += trainable
    visible[:] = hidden + trainable
    graph.step_of_scope = outer_step
