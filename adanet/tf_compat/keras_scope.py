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
it, as often as wanted. A constant that is assigned outside of a layer's `call`,
as where weights are loaded from a file, is where the variable starts.

Where the program has not imported Keras 3, all of this does nothing.
"""

import contextlib
import functools
import threading
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import keras_2_names
from adanet.tf_compat import keras_2_weights
from adanet.tf_compat import keras_eager
from adanet.tf_compat import keras_loaded
from adanet.tf_compat import keras_replaced

_READS = frozenset(["ReadVariableOp", "ResourceGather", "ResourceGatherNd"])
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")


# Where each thread has its scopes, the innermost last.
_ENTERED = threading.local()


def _is_constant(tensor):
  """Whether a tensor is the same whenever it is computed."""
  seen = set()
  waiting = [tensor.op]
  while waiting:
    op = waiting.pop()
    if op.name in seen:
      continue
    seen.add(op.name)
    if op.control_inputs or op.op_def.is_stateful or op.type in _PLACEHOLDERS:
      return False
    waiting += [tensor.op for tensor in op.inputs]
  return True


def _as_constant(tensor):
  """Returns a tensor that waits for nothing; None if the value may change."""
  if _is_constant(tensor):
    return tensor
  value = _tensorflow.v2.get_static_value(tensor)
  if value is None:
    return None
  with _tensorflow.v1.init_scope():
    return _tensorflow.v1.constant(value, tensor.dtype)


@functools.lru_cache(maxsize=None)
def _waiting_class(base):
  """Returns the class of the variables that Keras makes in a scope."""

  class Waiting(base):
    """A variable with assignments that wait for the updates of its scope.

    Attributes:
      keras_variable: the `keras.Variable`.
      scope: the `KerasScope` that it was made in.
    """

    @property
    def initializer(self):
      started = self.scope.start_of(self)
      return started[1] if started else super().initializer

    @property
    def initial_value(self):
      started = self.scope.start_of(self)
      return started[0] if started else super().initial_value

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


def _is_optimizer(owner):
  return isinstance(owner, keras_loaded.loaded().optimizers.Optimizer)


def _global_variables():
  """Returns the list that the default graph saves and initializes."""
  return _tensorflow.v1.get_collection_ref(
      _tensorflow.v1.GraphKeys.GLOBAL_VARIABLES)


def use(optimizer: Any) -> None:
  """Lets the default graph save and initialize an optimizer's variables."""
  known = {id(variable) for variable in _global_variables()}
  _global_variables().extend(
      variable for variable in map(keras_loaded.in_graph, optimizer.variables)
      if id(variable) not in known)


@contextlib.contextmanager
def numbered_anew() -> Iterator[None]:
  """Lets the names of layers that are made eagerly begin anew, as in a scope.
  """
  outer = keras_loaded.exchange_state({})
  try:
    yield
  finally:
    keras_loaded.exchange_state(outer)


class KerasScope:
  """The variables and assignments of one builder with Keras 3.

  `entered` can be entered again and goes on where it ended.

  Attributes:
    eager: `keras_eager.EagerState`, what it uses of eager layers.
  """

  def __init__(self, name: str) -> None:
    """Makes the scope.

    Args:
      name: str, with which the names of variables begin.
    """
    self._name = name
    self._state: Dict[str, Any] = {}
    self._state_of_keras_2: Dict[str, Any] = {}
    self._active = False
    # From a variable's name to the variable, and to its new value.
    self._assigned: Dict[str, Tuple[Any, Any]] = {}
    # The names of variables with a waiting value that is not read, because it
    # was computed before they got the value that they start from.
    self._outdated: Set[str] = set()
    # From a variable's name to the value it starts from, and the initializer.
    self._starts: Dict[str, Tuple[Any, Any]] = {}
    self._in_functions: List[str] = []
    # From a variable's name to Keras's variable, and its owner.
    self._made: Dict[str, Tuple[Any, Any]] = {}
    self.eager = keras_eager.EagerState(name)

  @contextlib.contextmanager
  def entered(self) -> Iterator[None]:
    """Lets Keras build in this scope in the default graph.

    Raises:
      ValueError: Keras is used, and does not compute with TensorFlow, or with
        layers of another graph; or Keras 2 loads weights.
    """
    with keras_2_names.numbered_apart(self._state_of_keras_2), \
         keras_2_weights.not_loaded(self._name), self._entered_keras_3():
      yield

  @contextlib.contextmanager
  def _entered_keras_3(self):
    """Lets Keras 3 build in this scope."""
    if not _tensorflow.HAS_KERAS_3:
      yield
      return
    outer = keras_loaded.exchange_state(self._state)
    scopes = _ENTERED.__dict__.setdefault("scopes", [])
    scopes.append(self)
    self._active = True
    try:
      with _tensorflow.v1.variable_creator_scope(self._make), \
           self.eager.entered(), keras_replaced.replaced():
        yield
    except Exception as error:
      if keras_loaded.has_raised(error):
        keras_loaded.check_keras()
      reason = self.eager.reason(error) or keras_loaded.reason(error)
      if reason:
        raise ValueError(f"{self._name}: {reason}") from error
      raise
    finally:
      self._active = False
      scopes.pop()
      self._state = keras_loaded.exchange_state(outer)
      if self._state.get("object_name_uids"):
        keras_loaded.check_keras()

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
    if keras_loaded.loaded() is None or _tensorflow.v2.executing_eagerly():
      return next_creator(**kwargs)
    keras_variable, owner = (
        self.eager.copying or keras_loaded.variable_in_the_making())
    if keras_variable is None:
      return next_creator(**kwargs)
    keras_loaded.check_keras()
    # With the slash, no scope of ops gives it a number.
    kwargs["name"] = keras_eager.free_name(
        f"{self._name}/{keras_variable.path}") + "/"
    # A constant that waits for nothing, whatever the scope of ops waits for.
    constant = _tensorflow.v2.get_static_value(kwargs["initial_value"])
    if constant is not None:
      kwargs["initial_value"] = constant
    made = next_creator(**kwargs)
    made.__class__ = _waiting_class(type(made))
    made.scope = self
    made.keras_variable = keras_variable
    self._made[made.name] = keras_variable, owner
    if _is_optimizer(owner):
      # A compiled model has an optimizer in each graph, and uses it in one.
      variables = _global_variables()
      variables[:] = [v for v in variables if v is not made]
    return made

  def is_frozen(self, variable: Any) -> bool:
    """Whether Keras does not train a variable, or the layer that has it."""
    return not all(getattr(part, "trainable", True)
                   for part in self._made.get(variable.name, ()))

  def waits(self, variable: Any) -> bool:
    """Whether an assignment to a variable now waits for `updates`."""
    return self._active and (
        _tensorflow.v1.get_default_graph() is variable.graph)

  def takes(self, variable: Any, value: Any) -> bool:
    """Takes the value assigned to a variable, if no op is to assign it now.

    It waits for `updates`. A constant that no function assigns in each step is
    the variable's initial value.

    Raises:
      ValueError: the variable is an optimizer's. Its branches and comparisons
        would not work as they do eagerly. Or it is loaded, with no constant.
    """
    if self.waits(variable):
      value = _as(variable, value)
      function = keras_loaded.assigning_function()
      if function not in keras_loaded.EACH_STEP:
        constant = _as_constant(value)
        if constant is not None:
          self._start(variable, constant)
          return True
      owner = self._made[variable.name][1]
      if _is_optimizer(owner):
        raise ValueError(
            f"{owner!r} is applied in a graph: call "
            "adanet.tf_compat.optimizers.minimize(optimizer, loss, var_list) "
            "instead, which returns the train op.")
      if function in keras_loaded.ONCE:
        raise ValueError(
            f"{variable.op.name}: {function} assigns {value.op.name}, which "
            "variables, inputs or random numbers change: expected a constant, "
            "such as an array of numpy.")
      self._assigned[variable.name] = variable, value
      self._outdated.discard(variable.name)
      return True
    if self._active and _in_function_of(variable.graph):
      self._in_functions.append(variable.name)
      return True
    return False

  def _start(self, variable, constant):
    """Lets a variable start from a constant."""
    v1 = _tensorflow.v1
    with v1.init_scope(), v1.name_scope(None), v1.device(variable.device):
      with self.in_function():
        initializer = variable.assign(
            constant, name=variable.op.name + "/Assign", read_value=False)
    self._starts[variable.name] = constant, initializer
    self._outdated.add(variable.name)

  def start_of(self, variable: Any) -> Optional[Tuple[Any, Any]]:
    """Returns the constant that a variable starts from, and its initializer.

    None for a variable that starts as Keras says.
    """
    return self._starts.get(variable.name)

  def assigned_to(self, variable: Any) -> Any:
    """Returns the tensor that waits for a variable; None for none."""
    if not self._active or variable.name in self._outdated:
      return None
    return self._assigned.get(variable.name, (None, None))[1]

  def updates(self, only_trainable: bool = False) -> List[Any]:
    """Returns the ops of the waiting assignments, each after all reads so far.

    Args:
      only_trainable: whether the rest go on waiting.

    Raises:
      ValueError: a variable is assigned where that cannot wait.
    """
    return self.updates_of([
        variable for variable, _ in self._assigned.values()
        if variable.trainable or not only_trainable])

  def updates_of(self, variables: Sequence[Any]) -> List[Any]:
    """Returns the ops of the waiting assignments to some variables.

    Raises:
      ValueError: see `updates`.
    """
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
    A list. At the end of the block it has the ops that assign it.
  """
  scopes = getattr(_ENTERED, "scopes", [])
  if not scopes:
    yield []
    return
  with scopes[-1].apart() as ops:
    yield ops


def updates_of(variables: Sequence[Any]) -> List[Any]:
  """Returns the ops of the waiting assignments to variables of Keras 3.

  Args:
    variables: `keras.Variable`s. For one that was not made in a scope of the
      default graph there is no op.
  """
  ops = []
  for variable in variables:
    scope = getattr(keras_loaded.in_graph(variable), "scope", None)
    if isinstance(scope, KerasScope):
      ops += scope.updates_of([keras_loaded.in_graph(variable)])
  return ops


@contextlib.contextmanager
def assigning(variables: Sequence[Any]) -> Iterator[None]:
  """Lets assignments to variables be ops, for a function of TensorFlow.

  The function puts them in their order, and its one op runs them.
  """
  with contextlib.ExitStack() as stack:
    for variable in variables:
      scope = getattr(keras_loaded.in_graph(variable), "scope", None)
      if isinstance(scope, KerasScope):
        stack.enter_context(scope.in_function())
    yield
