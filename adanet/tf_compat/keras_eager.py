# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""State that layers of Keras 3 have outside of a graph, in a graph.

Layers such as `StringLookup` keep a table, which Keras can fill, read and count
only in eager execution. So in a scope of this module they are made and adapted
eagerly, also where a graph is built. Where the graph then uses an eager tensor,
made inside of the scope or before, it gets a copy:

- a value becomes a constant;
- a table becomes a table with the same entries, which can only be read;
- a variable becomes one of the graph, which is saved and does not train.

What would need more than a copy is an error: a variable that trains, and one
that is assigned in each step.
"""

import contextlib
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import keras_loaded

# Methods of variables and tables that change them.
_CHANGING = ("assign", "scatter", "batch_scatter", "insert", "remove", "erase")

# Where each thread has its scopes, the innermost last.
_ENTERED = threading.local()


def _scopes() -> List["EagerState"]:
  return _ENTERED.__dict__.setdefault("scopes", [])


def _is_resource(tensor):
  return tensor.dtype == _tensorflow.v1.resource


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
  """Lets TensorFlow execute eagerly, and keep nothing in the graph."""
  with _tensorflow.v1.Graph().as_default(), _tensorflow.eager_mode():
    yield


class _Use:
  """Where a graph uses a variable or a table that is not of the graph.

  Attributes:
    layer: layer of Keras, or None.
    variable: variable of TensorFlow, or None.
    table: table of `tf.lookup`, or None.
    changes: bool, whether it is changed there.
  """

  def __init__(self, handle: Any) -> None:
    """Looks at the calls that have not returned yet.

    Args:
      handle: eager tensor.
    """
    keras = keras_loaded.loaded()
    self.layer: Any = None
    self.variable: Any = None
    self.table: Any = None
    self.changes = False
    for this, function in keras_loaded.calls():
      if isinstance(this, _tensorflow.v2.Variable):
        if not keras_loaded.is_variable(this) and this.handle is handle:
          self.variable = this
          self.changes |= function.startswith(_CHANGING)
      elif getattr(this, "resource_handle", None) is handle:
        self.table = this
        self.changes |= function.startswith(_CHANGING)
      elif keras is not None and isinstance(this, keras.layers.Layer):
        self.layer = this
        break

  @property
  def owner(self) -> str:
    """The layer, for messages."""
    return f"layer {self.layer.name!r}" if self.layer is not None else (
        "the network")

  def keras_variable(self) -> Any:
    """Returns Keras's variable of the layer; None if it is not Keras's."""
    for variable in getattr(self.layer, "variables", ()):
      # Its `value` is a copy in a graph that has one.
      if variable._value is self.variable:  # pylint: disable=protected-access
        return variable
    return None

  @property
  def trains(self) -> bool:
    """Whether the variable is one that Keras would train."""
    variable = self.keras_variable()
    if variable is None:
      return self.variable.trainable
    return self.layer.trainable and variable.trainable

  @property
  def path(self) -> str:
    """The name of the variable."""
    variable = self.keras_variable()
    return self.variable.name.partition(":")[0] if variable is None else (
        variable.path)


def _entries(table):
  """Returns the keys and values of a table; None if it has not got any yet."""
  v2 = _tensorflow.v2
  try:
    keys, values = v2.raw_ops.LookupTableExportV2(
        table_handle=table.resource_handle, Tkeys=table.key_dtype,
        Tvalues=table.value_dtype)
  except (v2.errors.AbortedError, v2.errors.FailedPreconditionError):
    return None
  return keys.numpy(), values.numpy()


class EagerState:
  """The copies of eager state that the graph of one builder has.

  `entered` can be entered again and goes on where it ended.
  """

  def __init__(self, name: str) -> None:
    """Copies nothing yet.

    Args:
      name: str, with which the names of variables begin.
    """
    self._name = name
    self._graph: Any = None
    # From an eager tensor's id to it, and its copy.
    self._copies: Dict[int, Tuple[Any, Any]] = {}
    # From a handle's id to it, and the first use in a function of the graph.
    self._uses: Dict[int, Tuple[Any, _Use]] = {}
    # From a handle's id to the graph's variable.
    self._variables: Dict[int, Any] = {}
    # Keras's variable, and its layer, while the graph's is made; else None.
    self.copying: Optional[Tuple[Any, Any]] = None
    self._reason = ""

  @contextlib.contextmanager
  def entered(self) -> Iterator[None]:
    """Lets the default graph use eager state."""
    self._graph = _tensorflow.v1.get_default_graph()
    _scopes().append(self)
    try:
      yield
    finally:
      _scopes().pop()

  def reason(self, error: BaseException) -> str:
    """Returns the line of an error of this state; "" for another error.

    Keras and TensorFlow put texts around it.

    Args:
      error: the error.
    """
    return self._reason if self._reason and self._reason in str(error) else ""

  def _error(self, reason):
    self._reason = reason
    return ValueError(reason)

  def copy_here(self, variable: Any) -> Any:
    """Returns what `variable_of` does; None in another graph or a function."""
    if _tensorflow.v1.get_default_graph() is not self._graph:
      return None
    return self.variable_of(variable)

  def variable_of(self, variable: Any) -> Any:
    """Returns the graph's copy of an eager variable; None for none."""
    return self._variables.get(id(variable.handle))

  def tensor(self, eager: Any, original: Callable[..., Any], dtype: Any,
             name: Optional[str]) -> Any:
    """Returns the tensor of the default graph for an eager one.

    Args:
      eager: eager tensor.
      original: TensorFlow's own function, for what is not this scope's.
      dtype: the type that is asked for, or None.
      name: str or None.

    Raises:
      ValueError: the graph cannot have a copy of it.
    """
    graph = _tensorflow.v1.get_default_graph()
    if graph is not self._graph:
      if _is_resource(eager) and graph.building_function:
        self._use(eager)  # A copy follows, at the call of the function.
      return original(eager, dtype, name)
    if id(eager) not in self._copies:
      with _tensorflow.v1.init_scope():
        copy = (self._resource(eager) if _is_resource(eager)
                else _tensorflow.v1.constant(eager.numpy(), eager.dtype))
      self._copies[id(eager)] = eager, copy
    elif _is_resource(eager):
      self._use(eager)
    copy = self._copies[id(eager)][1]
    return copy if dtype is None else copy.__tf_tensor__(dtype, name)

  def _use(self, handle):
    """Returns the `_Use` of a variable or a table.

    Raises:
      ValueError: it is changed, which no op of the graph would do.
    """
    use = _Use(handle)
    if use.changes:
      what = "a table" if use.variable is None else use.path
      raise self._error(
          f"{use.owner} changes {what} in each step, and was made outside of "
          "the function: call it with training=False, or make it inside.")
    if use.variable is None and use.table is None and id(handle) in self._uses:
      return self._uses[id(handle)][1]
    self._uses[id(handle)] = handle, use
    return use

  def _resource(self, handle):
    """Returns the handle of the graph's variable or table for an eager one."""
    use = self._use(handle)
    if use.variable is not None:
      return self._variable(use).handle
    if use.table is None:
      raise self._error(
          f"{use.owner} uses state that was made outside of the function and "
          "that a graph cannot copy: expected tensors, variables and tables of "
          "tf.lookup. Make it inside.")
    return self._table(use)

  def _table(self, use):
    """Returns the handle of a table with the entries of an eager one."""
    with eagerly():
      entries = _entries(use.table)
    if entries is None or not entries[0].size:
      raise self._error(
          f"{use.owner} has a table without entries: call adapt or "
          "set_vocabulary before the layer is used.")
    lookup = _tensorflow.v2.lookup
    value_dtype = use.table.value_dtype
    # Layers look up with a default value of their own.
    return lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer(
            *entries, use.table.key_dtype, value_dtype),
        "" if value_dtype == _tensorflow.v1.string else
        value_dtype.as_numpy_dtype()).resource_handle

  def _variable(self, use):
    """Returns a variable of the graph with the value of an eager one."""
    handle = use.variable.handle
    if id(handle) in self._variables:
      return self._variables[id(handle)]
    if use.trains:
      raise self._error(
          f"{use.owner} uses the variable {use.path}, which was made outside "
          "of the function and would train: make its layer inside, a new one "
          "at each call, or freeze it: layer.trainable = False.")
    with eagerly():
      value = use.variable.numpy()
    self.copying = use.keras_variable(), use.layer
    try:
      with _tensorflow.v1.init_scope():
        # With the slash, no scope of ops gives it a number.
        made = _tensorflow.v1.Variable(
            value, trainable=False, use_resource=True, dtype=use.variable.dtype,
            name=free_name(f"{self._name}/{use.path}") + "/")
    finally:
      self.copying = None
    self._copies[id(handle)] = handle, made.handle
    self._variables[id(handle)] = made
    return made

  def assigns(self, variable: Any, value: Any) -> bool:
    """Assigns to the graph's copy of an eager variable of Keras.

    Args:
      variable: `keras.Variable`.
      value: tensor.

    Returns:
      Whether it did: the graph is the scope's, and a layer uses it.
    """
    use = self._use_of(variable)
    if use is None:
      return False
    v1 = _tensorflow.v1
    self._variable(use).assign(v1.cast(value, use.variable.dtype))
    return True

  def _use_of(self, variable):
    """Returns the `_Use` of an eager variable of Keras; None for no copy."""
    eager = variable._value  # pylint: disable=protected-access
    if _tensorflow.v1.get_default_graph() is not self._graph or not (
        isinstance(eager, _tensorflow.v2.Variable) and is_eager(eager)):
      return None
    use = _Use(eager.handle)
    use.variable = eager
    return None if use.keras_variable() is None else use


def free_name(first: str) -> str:
  """Returns a name of a variable, which no op of the default graph has yet.

  Args:
    first: str, the name if it is free; else it gets a number.
  """
  graph = _tensorflow.v1.get_default_graph()
  name = first
  number = 0
  while True:
    try:
      graph.get_operation_by_name(name)
    except KeyError:
      return name
    number += 1
    name = f"{first}_{number}"


def is_eager(variable: Any) -> bool:
  """Whether a variable of TensorFlow is of no graph."""
  return getattr(variable, "graph", None) is None


def in_graph(variable: Any, state: Optional[EagerState]) -> Any:
  """Returns the variable of the graph, or the value where there is none.

  Args:
    variable: variable of TensorFlow, of a graph or eager.
    state: the copies of the graph, or None.
  """
  if not is_eager(variable):
    return variable
  copy = None if state is None else state.variable_of(variable)
  if copy is not None:
    return copy
  import numpy as np  # pylint: disable=g-import-not-at-top
  with eagerly():
    return np.asarray(variable.numpy())


def current() -> Optional[EagerState]:
  """Returns the innermost scope of this thread; None outside of all."""
  scopes = _scopes()
  return scopes[-1] if scopes else None
