# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The names of Keras that adanet uses in graphs, and Keras does not publish.

Keras is made for eager execution. In a graph of TensorFlow 1, adanet needs the
counters in the names of layers, the source of seeds, and some methods of
optimizers. All of these names stand here, with the releases of Keras in which
they were seen. A release of Keras without one of the names gets one line at the
first use. Of them `adanet.EnsembleSearch` uses the source of seeds alone, and
does without where it is missing.

Nothing is imported here unless the program has imported it.
"""

import contextlib
import os
import re
import sys
import textwrap
import traceback
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set

from adanet.tf_compat import _tensorflow


#: The releases in which the names were seen.
KERAS_3 = "Keras 3.7 to 3.15"
KERAS_2 = "TensorFlow 1.15 to 2.15, or tf-keras 2.16 to 2.21"
_OLDEST = (3, 7)

# Keras has these once for a thread, and here each scope has its own: the
# numbers in names, the generator of seeds, the open name scopes, and the
# variables that a model's first call has left to be initialized after it.
_STATE = ("object_name_uids", "global_seed_generator", "name_scope_stack",
          "uninitialized_variables")
_STATE_MODULE = "keras.src.backend.common.global_state"
# The Python module `random`, from which Keras 3 draws seeds.
_SEED_MODULE = "keras.src.random.seed_generator"

# Texts of errors about what a graph does not have.
_NOT_IN_A_GRAPH = re.compile(
    r"EagerTensor|Eager-defined Tensor|must be from the same graph as|"
    r"symbolic `?tf\.Tensor|SymbolicTensor|not well defined for a symbolic|"
    r"only available when eager|Python-style iteration|reset_default_graph|"
    r"is out of scope and cannot be used|Table not initialized")
# What Keras adds to the text of an error.
_ADDED = re.compile(r"\x1b\[[0-9;]*m|Arguments received by .*", re.DOTALL)
_MAX_TEXT = 300  # Keras may add a whole configuration.
# What an error says of a `FeatureSpace` that was not adapted.
_NOT_ADAPTED = re.compile(r"call `\.adapt\(")

# TensorFlow's words where a size has to be known, and only a run knows it.
_SIZE_OF_A_RUN = re.compile(
    r"'depth' of 'OneHot' Op has type int64|Dimension value must be integer|"
    r"Found invalid dimension")
# Keras's words, and the module, of layers that have a vocabulary.
_LOOKUP = re.compile(
    r"calling (StringLookup|IntegerLookup|TextVectorization)\.call\(\)")
_LOOKUP_MODULE = "index_lookup"


def loaded() -> Any:
  """Returns the package Keras 3, if the program has imported it; or None."""
  keras = sys.modules.get("keras")
  return keras if hasattr(keras, "StatelessScope") else None


def check_keras() -> None:
  """Checks that Keras 3, if it is loaded, is one that adanet can train.

  Raises:
    ValueError: Keras is too old, or does not compute with TensorFlow.
  """
  keras = loaded()
  if keras is None:
    return
  if tuple(map(int, keras.__version__.split(".")[:2])) < _OLDEST:
    raise ValueError(
        f"Keras is {keras.__version__}: expected 3.7 or later, because the "
        "optimizers of earlier releases lose values in a graph. Run "
        "pip install --upgrade keras.")
  if keras.backend.backend() != "tensorflow":
    raise ValueError(
        f"Keras has the backend {keras.backend.backend()!r}: expected "
        "'tensorflow', the only one that adanet can train. Set "
        "KERAS_BACKEND=tensorflow before the program imports keras.")


def _named(owner: Any, name: str, purpose: str, seen: str = KERAS_3) -> Any:
  """Returns an attribute of Keras's inside, which adanet needs for a purpose.
  """
  attribute = getattr(owner, name, None)
  if attribute is None:
    release = getattr(loaded(), "__version__", "2")
    raise RuntimeError(
        f"Keras {release} has no {name}, which adanet needs for {purpose} in a "
        f"graph: install {seen}, or use adanet.EnsembleSearch, which needs "
        "public names of Keras alone.")
  return attribute


def exchange_state(state: Dict[str, Any]) -> Dict[str, Any]:
  """Makes some state of Keras 3 the current one, and returns the one before.

  The numbers in names, such as `dense_2`, go on through the whole process, and
  a random generator that was made in one graph is of no use in another.
  """
  if loaded() is None:
    return {}
  purpose = "the numbers in the names of layers"
  module = sys.modules.get(_STATE_MODULE)
  get = _named(module, "get_global_attribute", purpose)
  exchange = _named(module, "set_global_attribute", purpose)
  before = {name: get(name) for name in _STATE}
  for name in _STATE:
    exchange(name, state.get(name))
  return before


class NewVariable(NamedTuple):
  """A variable of Keras that is being made.

  Attributes:
    path: str, its path.
    owner: layer, optimizer, metric or generator of seeds that has the variable;
      None for none.
    variable: `keras.Variable`, where it is known already, or None.
  """
  path: str
  owner: Any
  variable: Any = None


def variable_in_the_making(name: str) -> Optional[NewVariable]:
  """Returns Keras's variable that is being made; None outside of Keras 3.

  Only Keras's stack of name scopes tells the path of a variable before
  TensorFlow's variable exists. `name` is Keras's name of the variable.
  """
  if loaded() is None:
    return None
  purpose = "the paths of variables"
  get = _named(sys.modules.get(_STATE_MODULE), "get_global_attribute", purpose)
  stack = get("name_scope_stack")
  if not stack:
    return None
  owner = next((scope.caller for scope in reversed(stack)
                if getattr(scope, "caller", None) is not None), None)
  for variable in get("uninitialized_variables") or ():
    if getattr(variable, "_value", None) is None:
      return NewVariable(variable.path, owner, variable)
  parts: List[str] = []
  for scope in stack:
    parent = getattr(scope, "override_parent", None)
    if parent is not None:
      parts = [part for part in parent.split("/") if part]
    parts.append(_named(scope, "name", purpose))
  return NewVariable("/".join([*parts, name]), owner)


def has_mask(tensor: Any) -> bool:
  """Whether Keras 3 masks parts of a tensor, such as padded timesteps."""
  return getattr(tensor, "_keras_mask", None) is not None


def is_variable(value: Any) -> bool:
  """Whether a value is a `keras.Variable` of Keras 3."""
  keras = loaded()
  return keras is not None and isinstance(value, keras.Variable)


def exclude_by_path(optimizer: Any, variables: List[Any]) -> None:
  """Lets Keras 3 search the names without weight decay in its own paths.

  Keras searches in the names in the graph, which begin with the builder's name.
  """
  pattern = getattr(optimizer, "_exclude_from_weight_decay_pattern", None)
  if pattern is None:
    return
  excluded_keys = getattr(optimizer, "_exclude_from_weight_decay", ())
  key = _named(optimizer, "_var_key", "exclude_from_weight_decay")
  optimizer.exclude_from_weight_decay(var_list=[
      variable for variable in variables if key(variable) in excluded_keys or
      pattern.search(getattr(variable, "path", variable.name))])


def excluded_names(optimizer: Any) -> List[str]:
  """Returns the names of variables that weight decay leaves out.

  Raises:
    ValueError: weight decay leaves out variables, which are of one graph.
  """
  if getattr(optimizer, "_exclude_from_weight_decay", None):
    raise ValueError(
        "exclude_from_weight_decay got var_list, and only var_names are the "
        "same in each graph.")
  pattern = getattr(optimizer, "_exclude_from_weight_decay_pattern", None)
  return [pattern.pattern] if pattern else list(
      getattr(optimizer, "_exclude_from_weight_decay_names", None) or ())


def sum_over_one_replica(optimizer: Any) -> None:
  """Lets an optimizer of Keras take the gradients as they are.

  Keras adds up the gradients of all replicas. Where there is one, the sum
  changes nothing, but TensorFlow registers a gradient of the sum, which keeps
  the whole graph in memory until the process ends.
  """
  if _tensorflow.v2.distribute.has_strategy():
    return
  for part in (optimizer, getattr(optimizer, "inner_optimizer", None)):
    for name in ("_all_reduce_sum_gradients",  # Keras 3.
                 "aggregate_gradients"):  # Keras 2.
      package = getattr(
          getattr(type(part), name, None), "__module__", "").split(".")[0]
      if package in ("keras", "tf_keras"):  # Not a method of the user's.
        setattr(part, name, list)


def seeds_of_keras_2() -> Any:
  """Returns what holds Keras 2's generator of seeds; None if not loaded."""
  for module in ("tf_keras.src.backend", "keras.src.backend"):
    holder = getattr(sys.modules.get(module), "_SEED_GENERATOR", None)
    if holder is not None:
      return holder
  return None


def seeds_of_keras_3() -> Any:
  """Returns the module that has Keras 3's `random`; None if not loaded."""
  module = sys.modules.get(_SEED_MODULE)
  if loaded() is not None:
    _named(module, "python_random", "seeds that are the same in each run")
  return module


def is_eager_keras_2(model: Any) -> bool:
  """Whether a model of Keras 2 was made in eager execution."""
  return not hasattr(model, "get_updates_for") or (
      hasattr(model, "_assert_built_as_v1") and
      not hasattr(model, "_originally_built_as_v1"))


def numbers_of_keras_2(graph: Any, state: Dict[str, Any]) -> Dict[str, Any]:
  """Exchanges the numbers in the names of Keras 2's layers, such as dense_2.

  Returns the state before. With the state {} the numbers of the graph's layers
  begin anew.
  """
  package = ("tf_keras" if _tensorflow.HAS_KERAS_3 else
             "tensorflow" if _tensorflow.IS_TENSORFLOW_1 else "keras")
  if package not in sys.modules:
    return {}
  # The module of a public function.
  backend = sys.modules[_tensorflow.keras.backend.reset_uids.__module__]
  numbers = _named(backend, "PER_GRAPH_OBJECT_NAME_UIDS",
                   "the numbers in the names of layers", KERAS_2)
  # Names that a program has given. TensorFlow 1.15 does not keep them.
  given_names: Set[str] = getattr(backend, "OBSERVED_NAMES", set())
  before = {"numbers": numbers.pop(graph, None), "given": set(given_names)}
  if state.get("numbers") is not None:
    numbers[graph] = state["numbers"]
  given_names.clear()
  given_names.update(state.get("given", ()))
  return before


def reason(error: BaseException) -> str:
  """Returns one line about an error that Keras has raised; "" for another."""
  modules = [frame.f_globals.get("__name__", "").split(".")[0]
             for frame, _ in traceback.walk_tb(error.__traceback__)]
  if "keras" not in modules:
    return ""
  text = _ADDED.sub("", str(error))
  needs_eager = _NOT_IN_A_GRAPH.search(text)
  text = textwrap.shorten(text, _MAX_TEXT)
  if needs_eager or (
      isinstance(error, TypeError) and modules[-1] == "tensorflow"):
    return (
        "Keras needs eager execution for this model: make all of its layers in "
        "the builder, without adapt and with a call that can be traced, or "
        f"train the model with adanet.EnsembleSearch ({text})")
  if not isinstance(error, ValueError):
    return ""
  if _NOT_ADAPTED.search(text):
    return (f"{text.rstrip('.')}. A graph cannot adapt: take features such as "
            "string_hashed, or train the model with adanet.EnsembleSearch")
  return text


def lookup_of_unknown_size(error: BaseException) -> str:
  """Returns the class of a layer that lacks the size of its vocabulary, or "".

  In a graph, layers such as `StringLookup` ask their table for the size, which
  only a run does. An output with a column for each token needs the size before.
  """
  if not _SIZE_OF_A_RUN.search(str(error)):
    return ""
  match = _LOOKUP.search(str(error))
  if match:
    return match.group(1)
  # Keras 2 does not name the layer, nor does Keras 3 without its filter.
  return next((
      type(frame.f_locals["self"]).__name__
      for frame, _ in traceback.walk_tb(error.__traceback__)
      if frame.f_globals.get("__name__", "").endswith(_LOOKUP_MODULE) and
      "self" in frame.f_locals), "")


# Functions that assign weights for Keras 2, and their callers in Keras 2.
_ASSIGNING = frozenset(["batch_set_value", "load_own_variables", "restore"])
_LOADING = ("load_model", "load_weights", "set_weights")

# In the names of its files, where Keras 3 has functions with the same names.
_PACKAGE = os.path.join("tf_keras", "src")


def _loading_function(ops):
  """Returns the function that loads weights by one of some ops, or ""."""
  for op in ops:
    if not op.type.startswith("Assign"):
      continue
    frames = list(op.traceback)
    if _tensorflow.HAS_KERAS_3 and not any(
        _PACKAGE in frame[0] for frame in frames):
      continue
    names = [frame[2] for frame in frames]
    if not _ASSIGNING.isdisjoint(names):
      for function in _LOADING:
        if function in names:
          return function
  return ""


@contextlib.contextmanager
def no_weights_loaded(owner: str) -> Iterator[None]:
  """Raises a ValueError if Keras 2 loads weights into the default graph.

  In a graph, Keras 2 either gives the weights to a session of its own, or makes
  ops that never run. Training would then start from random weights.
  """
  graph = _tensorflow.v1.get_default_graph()
  num_ops = len(graph.get_operations())

  def check(cause=None):
    function = _loading_function(graph.get_operations()[num_ops:])
    if function:
      raise ValueError(
          f"{owner}: {function} of Keras 2 has no effect in this graph: "
          "training would start from random weights. Use Keras 3 on TensorFlow "
          "2.16 or later, or give each layer an initializer, such as "
          "tf_compat.v1.constant_initializer(array).") from cause

  try:
    yield
  except Exception as error:
    check(error)
    raise
  check()
