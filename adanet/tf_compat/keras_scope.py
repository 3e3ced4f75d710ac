# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Variables and assignments of layers and optimizers of Keras 3 in a graph.

Keras 3 is made for eager execution. In a graph of TensorFlow 1 its variables
work, but two things do not: the numbers in names, such as `dense_2`, go on
through the whole process, and assignments of a layer, such as moving averages
and the state of a random generator, are ops that never run.

In a scope of this module the names of variables are `<scope>/<Keras's path>`,
with numbers that begin again. An assignment waits: a later read in the scope
gets the new value, as in eager execution, and the graph assigns nothing before
its `updates` run. So the outputs of a layer can be computed without changing
the layer, as often as wanted.

Layers, models, optimizers and metrics are made in the scope. State that was
made, adapted or loaded elsewhere cannot be in a graph: an error names
`adanet.EnsembleSearch`, which takes models with such state.

Where the program has not imported Keras 3, all of this does nothing.
"""

import contextlib
import functools
import threading
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import keras_internals

_READS = frozenset(["ReadVariableOp", "ResourceGather", "ResourceGatherNd"])

# The state of a generator of seeds, as Keras names it.
_SEED = "seed_generator_state"

# Where each thread has its scopes, the innermost last.
_ENTERED = threading.local()


def _scopes() -> List["KerasScope"]:
  return _ENTERED.__dict__.setdefault("scopes", [])


@functools.lru_cache(maxsize=None)
def _waiting_class(base):
  """Returns the class of the variables that Keras makes in a scope."""

  class Waiting(base):
    """A variable with assignments that wait for the updates of its scope.

    Attributes:
      scope: the `KerasScope` that it was made in.
    """

    def assign(self, value, use_locking=None, name=None, read_value=True):
      if self.scope.takes(self, value):
        return self
      return super().assign(value, use_locking, name, read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
      if self.scope.waits(self):
        return self.assign(self.value() + _as(self, delta))
      return super().assign_add(delta, use_locking, name, read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
      if self.scope.waits(self):
        return self.assign(self.value() - _as(self, delta))
      return super().assign_sub(delta, use_locking, name, read_value)

    def value(self):
      assigned = self.scope.assigned_to(self)
      if assigned is None:
        return super().value()
      # As in eager execution, gradients end here, at the variable.
      assigned = _tensorflow.v1.stop_gradient(assigned)
      if self.trainable and self.dtype.is_floating:
        read = super().value()
        assigned += read - _tensorflow.v1.stop_gradient(read)
      return assigned

    def read_value(self):
      if self.scope.assigned_to(self) is None:
        return super().read_value()
      return self.value()

    def sparse_read(self, indices, name=None):
      if self.scope.assigned_to(self) is None:
        return super().sparse_read(indices, name)
      return _tensorflow.v1.gather(self.value(), indices)

  Waiting.__name__ = base.__name__
  return Waiting


def _as(variable, value):
  return _tensorflow.v1.convert_to_tensor(value, variable.dtype)


def _in_function_of(graph):
  """Whether the default graph is a branch, loop or function of a graph's."""
  inner = _tensorflow.v1.get_default_graph()
  if inner is graph:
    return False
  while inner is not None and inner is not graph:
    inner = getattr(inner, "outer_graph", None)
  return inner is graph


def in_graph(variable: Any) -> Any:
  """Returns TensorFlow's variable of a `keras.Variable`; else the value."""
  return variable.value if keras_internals.is_variable(variable) else variable


def of_keras(variable: Any) -> Any:
  """Returns the `keras.Variable` of a variable; else the value.

  Optimizers of Keras 3 need its constraint and its path.
  """
  scope = getattr(variable, "scope", None)
  return (scope.of_keras(variable) if isinstance(scope, KerasScope)
          else variable)


def _free_name(first):
  """Returns a name that no op has yet: `first`, with a number if need be."""
  graph = _tensorflow.v1.get_default_graph()
  name, number = first, 0
  while True:
    try:
      graph.get_operation_by_name(name)
    except KeyError:
      return name
    number += 1
    name = f"{first}_{number}"


def _gather(variable):
  """Returns the function with which `tf.gather` reads rows of a variable.

  Without one, `tf.gather` reads the whole variable: the table of an
  `Embedding`, in each step, over the network from a parameter server.
  """
  if not _scopes() or _tensorflow.v2.executing_eagerly():
    raise AttributeError("sparse_read")
  return variable.value.sparse_read  # A tensor, as of an autocast, has none.


class KerasScope:
  """The variables and assignments of one builder with Keras 3.

  `entered` can be entered again and goes on where it ended.
  """

  def __init__(self, name: str) -> None:
    """Makes the scope; the names of variables begin with `name`."""
    self._name = name
    self._state: Dict[str, Any] = {}
    self._state_of_keras_2: Dict[str, Any] = {}
    self._active = False
    # From a variable's name to the variable, and to its new value.
    self._assigned: Dict[str, Tuple[Any, Any]] = {}
    self._in_functions: List[str] = []
    self._refused = ""  # Why an assignment was refused.
    # From a variable's name to what Keras tells of it.
    self._new_variables: Dict[str, keras_internals.NewVariable] = {}

  @contextlib.contextmanager
  def entered(self) -> Iterator[None]:
    """Lets Keras build in this scope in the default graph.

    Raises:
      ValueError: Keras is used, and does not compute with TensorFlow, or with
        state that is not of this graph; or Keras 2 loads weights.
    """
    with self._numbered(), keras_internals.no_weights_loaded(self._name):
      if _tensorflow.HAS_KERAS_3:
        with self._entered_keras_3():
          yield
      else:
        yield

  @contextlib.contextmanager
  def _numbered(self):
    """Lets the numbers in the names of Keras 2's layers begin anew."""
    exchange = functools.partial(
        keras_internals.numbers_of_keras_2,
        _tensorflow.v1.get_default_graph())
    outer = exchange(self._state_of_keras_2)
    try:
      yield
    finally:
      self._state_of_keras_2 = exchange(outer)

  @contextlib.contextmanager
  def _entered_keras_3(self):
    """Lets Keras 3 build in this scope."""
    outer = keras_internals.exchange_state(self._state)
    _scopes().append(self)
    self._active = True
    try:
      with _tensorflow.v1.variable_creator_scope(self._make):
        yield
    except Exception as error:
      # Keras puts its own text around the text of an error.
      reason = (self._refused if self._refused in str(error) else "") or (
          keras_internals.reason(error))
      if reason:
        keras_internals.check_keras()
        raise ValueError(f"{self._name}: {reason}") from error
      raise
    finally:
      self._active = False
      _scopes().pop()
      self._state = keras_internals.exchange_state(outer)
      if self._state.get("object_name_uids"):
        keras_internals.check_keras()

  @contextlib.contextmanager
  def in_function(self) -> Iterator[None]:
    """Lets assignments be ops, for a function that orders them itself."""
    was_active, self._active = self._active, False
    try:
      yield
    finally:
      self._active = was_active

  def _make(self, next_creator, **kwargs):
    """Makes a variable: a creator of `variable_creator_scope`."""
    new_variable = None if _tensorflow.v2.executing_eagerly() else (
        keras_internals.variable_in_the_making(kwargs.get("name")))
    if new_variable is None:
      return next_creator(**kwargs)
    keras_internals.check_keras()
    keras_variable = keras_internals.loaded().Variable
    if not hasattr(keras_variable, "sparse_read"):
      keras_variable.sparse_read = property(_gather)
    # With the slash, no scope of ops gives it a number.
    kwargs["name"] = _free_name(f"{self._name}/{new_variable.path}") + "/"
    # A constant that waits for nothing, whatever the scope of ops waits for.
    constant = _tensorflow.v2.get_static_value(kwargs["initial_value"])
    if constant is not None:
      kwargs["initial_value"] = constant
    variable = next_creator(**kwargs)
    variable.__class__ = _waiting_class(type(variable))
    variable.scope = self
    self._new_variables[variable.name] = new_variable
    return variable

  def of_keras(self, variable: Any) -> Any:
    """Returns the `keras.Variable` of a variable of this scope."""
    new_variable = self._new_variables[variable.name]
    known = new_variable.variable, *getattr(new_variable.owner, "variables", ())
    return next((keras_variable for keras_variable in known
                 if in_graph(keras_variable) is variable), variable)

  def is_frozen(self, variable: Any) -> bool:
    """Whether Keras does not train a variable, or the layer that has it."""
    return variable.name in self._new_variables and not all(
        getattr(part, "trainable", True) for part in (
            self.of_keras(variable), self._new_variables[variable.name].owner))

  def _is_fixed(self, tensor):
    """Whether neither a variable nor an input changes a tensor.

    Random numbers count as fixed: a layer that draws them to assign them draws
    initial values.
    """
    seen = set()
    waiting = [tensor.op]
    while waiting:
      op = waiting.pop()
      if op.name in seen:
        continue
      seen.add(op.name)
      draws = ("Random" in op.type or op.type == "TruncatedNormal" or
               _SEED in op.name)
      if op.type.startswith("Placeholder") or op.op_def.is_stateful and not (
          draws or op.type in _READS):
        return False
      waiting += [tensor.op for tensor in op.inputs]
    return True

  def waits(self, variable: Any) -> bool:
    """Whether an assignment to a variable now waits for `updates`."""
    return self._active and (
        _tensorflow.v1.get_default_graph() is variable.graph)

  def takes(self, variable: Any, value: Any) -> bool:
    """Takes the value assigned to a variable, if no op is to assign it now.

    The value waits for `updates`.

    Raises:
      ValueError: the variable is an optimizer's. Its branches and comparisons
        would not work as they do eagerly. Or the value is the same in each
        step, as weights of a file are.
    """
    if self.waits(variable):
      keras = keras_internals.loaded()
      owner = self._new_variables[variable.name].owner
      if isinstance(owner, keras.optimizers.Optimizer):
        raise ValueError(
            f"{owner!r} is applied in a graph: call "
            "adanet.tf_compat.optimizers.minimize(optimizer, loss, var_list) "
            "instead, which returns the train op.")
      value = _as(variable, value)
      if _SEED not in variable.name and not isinstance(
          owner, keras.metrics.Metric) and self._is_fixed(value):
        self._refused = self._refused or (
            f"{variable.op.name} is assigned {value.op.name}, which each step "
            "would assign again: give the layer an initializer in place of "
            "load_model, load_weights, set_weights or adapt, or train the "
            "model with adanet.EnsembleSearch.")
        raise ValueError(self._refused)
      self._assigned[variable.name] = variable, value
      return True
    if self._active and _in_function_of(variable.graph):
      self._in_functions.append(variable.name)
      return True
    return False

  def assigned_to(self, variable: Any) -> Any:
    """Returns the tensor that waits for a variable; None if none does."""
    if not self._active:
      return None
    return self._assigned.get(variable.name, (None, None))[1]

  def updates(self, only_trainable: bool = False) -> List[Any]:
    """Returns the ops of the waiting assignments, each after all reads so far.

    With `only_trainable`, the rest go on waiting.

    Raises:
      ValueError: a variable is assigned where that cannot wait.
    """
    return self.updates_of([
        variable for variable, _ in self._assigned.values()
        if variable.trainable or not only_trainable])

  def updates_of(self, variables: Sequence[Any]) -> List[Any]:
    """Returns the ops of the waiting assignments to some variables."""
    if self._in_functions:
      raise ValueError(
          f"{self._in_functions[0]} is assigned in a branch, a loop or a "
          "tf.function, where it cannot wait for the train op: assign it "
          "outside.")
    ops = []
    for variable in variables:
      if variable.name not in self._assigned:
        continue
      value = self._assigned.pop(variable.name)[1]
      reads = [op for op in variable.handle.consumers() if op.type in _READS]
      with _tensorflow.v1.control_dependencies(reads), self.in_function():
        ops.append(variable.assign(value, read_value=False))
    return ops

  @contextlib.contextmanager
  def apart(self) -> Iterator[List[Any]]:
    """See the function `apart`."""
    outer, self._assigned = self._assigned, {}
    ops: List[Any] = []
    yield ops
    ops += self.updates()
    self._assigned = outer


@contextlib.contextmanager
def apart() -> Iterator[List[Any]]:
  """Keeps assignments in a block out of the updates of the scope.

  Yields:
    A list. At the end of the block it has the ops of the assignments.
  """
  if not _scopes():
    yield []
    return
  with _scopes()[-1].apart() as ops:
    yield ops


def _scope_of(variable):
  scope = getattr(in_graph(variable), "scope", None)
  return scope if isinstance(scope, KerasScope) else None


def updates_of(variables: Sequence[Any]) -> List[Any]:
  """Returns the ops of the waiting assignments to `keras.Variable`s.

  For a variable that was not made in a scope there is no op.
  """
  ops = []
  for variable in variables:
    scope = _scope_of(variable)
    if scope is not None:
      ops += scope.updates_of([in_graph(variable)])
  return ops


@contextlib.contextmanager
def assigning(variables: Sequence[Any]) -> Iterator[None]:
  """Lets assignments to variables be ops, for a function of TensorFlow.

  The function puts them in their order, and its one op runs them.
  """
  with contextlib.ExitStack() as stack:
    for variable in variables:
      scope = _scope_of(variable)
      if scope is not None:
        stack.enter_context(scope.in_function())
    yield
