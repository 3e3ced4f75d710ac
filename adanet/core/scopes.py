# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a builder or an ensembler sees of the graph while it builds.

It sees a global step of its own and its own trainable variables. Both are in
collections of the graph, so no function of TensorFlow is replaced, and both end
with the scope.
"""

import contextlib
import functools
import typing

from adanet import tf_compat


@functools.lru_cache(maxsize=None)
def _graph_class():
  """Returns the class of `new_graph`, made when TensorFlow is needed."""

  class SearchGraph(tf_compat.v1.Graph):
    """A graph that asks the current scope for the global step.

    Attributes:
      step_of_scope: a function without arguments that returns the variable, or
        None outside of all scopes.
    """

    step_of_scope = None

    def get_collection(self, name, scope=None):
      """Returns a collection; see `tf.Graph.get_collection`."""
      if name == tf_compat.v1.GraphKeys.GLOBAL_STEP and self.step_of_scope:
        return [self.step_of_scope()]
      return super(SearchGraph, self).get_collection(name, scope)

  return SearchGraph


def new_graph(seed: typing.Optional[int]) -> typing.Any:
  """Returns an empty graph that can be searched in.

  Args:
    seed: its random seed, or None.
  """
  graph = _graph_class()()
  with graph.as_default():
    tf_compat.v1.set_random_seed(seed)
  return graph


def _step_in(variable_scope):
  """Returns the step that a builder asks for, made at the first request.

  As AdaNet's it is a variable of the builder's own. An optimizer that gets it
  increments it. It is not the `step` by which the iteration ends.
  """
  v1 = tf_compat.v1
  with v1.init_scope(), v1.get_default_graph().name_scope(None):
    with v1.variable_scope(variable_scope, reuse=v1.AUTO_REUSE):
      return v1.get_variable(
          "iteration_step", shape=[], initializer=v1.zeros_initializer(),
          trainable=False, dtype=v1.int64)


@contextlib.contextmanager
def builder_scope(
    variable_scope: typing.Any,
    trainable_variables: typing.Sequence[typing.Any] = (),
) -> typing.Iterator[typing.List[typing.Any]]:
  """Enters the scope of one builder or ensembler in the default graph.

  In it, `tf.train.get_global_step()` is the builder's own step, and
  `tf.trainable_variables()` has only `trainable_variables` and those that the
  builder makes.

  Args:
    variable_scope: the `VariableScope` that has the builder's step.
    trainable_variables: variables that the builder sees from the start.

  Yields:
    A list. At the end of the scope it has the trainable variables that were
    made in it.
  """
  v1 = tf_compat.v1
  graph = v1.get_default_graph()
  outer_step = graph.step_of_scope
  graph.step_of_scope = functools.partial(_step_in, variable_scope)
  visible = graph.get_collection_ref(v1.GraphKeys.TRAINABLE_VARIABLES)
  hidden = list(visible)
  visible[:] = trainable_variables
  made: typing.List[typing.Any] = []
  try:
    yield made
  finally:
    made.extend(visible[len(trainable_variables):])
    visible[:] = hidden + made
    graph.step_of_scope = outer_step
