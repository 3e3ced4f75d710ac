# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keras 3 as the program has loaded it, and its calls at the moment.

Nothing is imported here unless the program has imported it. Keras keeps its
numbers in a module that is not public, and only the calls that have not
returned yet tell the purpose of a variable or an assignment.
"""

import inspect
import itertools
import pickle
import re
import sys
import traceback
from typing import Any, Dict, Iterator, List, Tuple

# Keras has it for a whole thread, and here each scope has its own.
_STATE = ("object_name_uids", "global_seed_generator", "name_scope_stack")

_OLDEST = (3, 7)

# Between a Keras variable and the maker of its TensorFlow variable are fewer.
_MOST_CALLS = 24

# Functions of layers and metrics that run in each step, and functions that run
# once in eager execution. A model or a file gives the values to some of them.
EACH_STEP = ("call", "update_state")
_LOADING = ("load_own_variables", "load_weights", "set_weights")
ONCE = ("__init__", "build") + _LOADING

_OTHER_GRAPH = (
    "a layer, model or metric of Keras was made before, eagerly or in another "
    "graph: make it anew each time that the network is built.")
# From the text of an error to its meaning here.
_REASONS = {
    "Attempting to capture an EagerTensor without building a function":
        _OTHER_GRAPH,
    "must be from the same graph as Tensor": _OTHER_GRAPH,
    "Encountered an Eager-defined Tensor during graph construction":
        "a MutableHashTable or the like was made outside of the function, and "
        "a graph can only copy a tf.lookup.StaticHashTable: make one with its "
        "entries.",
    "numpy() is only available when eager execution is enabled":
        "get_weights or numpy asks for a value, and variables have none while "
        "the graph is built: call it before, eagerly.",
    "Do not use tf.reset_default_graph()":
        "keras.utils.clear_session cannot be called while the graph is built: "
        "leave it out. The names of layers begin anew in any case.",
    "tf.data.Dataset` only supports Python-style iteration":
        "fit, evaluate and predict of Keras need eager execution: call them "
        "before. What is built here is trained by the Estimator.",
}
_CLONES = (
    "clone_model copies what a model is compiled with, and the optimizer has "
    "no values while the graph is built: expected a model that is not "
    "compiled. Use type(model).from_config(model.get_config()), and compile "
    "the copy.")
_ADAPTS = (
    "adapt reads a tf.data.Dataset that was made while the graph is built: "
    "give it an array, or adapt the layer outside of the function.")
# Texts of errors where Python asks for the value of a tensor of a graph.
_WITHOUT_VALUE = re.compile(
    r"symbolic `tf\.Tensor` (as a Python `bool` )?is not allowed|symbolic "
    r"tf\.Tensor .*numpy|len is not well defined for a symbolic|not "
    r"'?SymbolicTensor\b|'SymbolicTensor' object (cannot be interpreted as an "
    r"integer|has no attribute '(numpy|item|tolist)')|numpy\(\) is only "
    r"available when eager")
# The text that Keras puts around the message of an error.
_AROUND = re.compile(
    r"Exception encountered when calling (?P<call>.*?)\.\n\n(?P<text>.*?)"
    r"(\n\nArguments received by .*)?\Z", re.DOTALL)
# Its additions for a terminal, and whole configurations.
_NOISE = re.compile(
    r"\x1b\[[0-9;]*m|^config=\{.*\}$|Full object config: \{.*\}$", re.MULTILINE)


def loaded() -> Any:
  """Returns the package Keras 3, if the program has imported it; or None."""
  keras = sys.modules.get("keras")
  return keras if hasattr(keras, "StatelessScope") else None


def is_variable(value: Any) -> bool:
  """Whether a value is a `keras.Variable` of Keras 3."""
  keras = loaded()
  return keras is not None and isinstance(value, keras.src.backend.Variable)


def has_mask(tensor: Any) -> bool:
  """Whether Keras 3 masks parts of a tensor, such as padded timesteps."""
  return getattr(tensor, "_keras_mask", None) is not None


def in_graph(variable: Any) -> Any:
  """Returns TensorFlow's variable of a `keras.Variable`; else the value."""
  return variable.value if is_variable(variable) else variable


def of_keras(variable: Any) -> Any:
  """Returns the `keras.Variable` of a variable; else the value.

  It knows its constraint and its path, which optimizers of Keras 3 need.
  """
  return getattr(variable, "keras_variable", variable)


def layers_of(model: Any) -> List[Any]:
  """Returns all layers of a model, and those that they have."""
  # pylint: disable-next=protected-access
  return list(model._flatten_layers(include_self=False))


def copied(model: Any) -> Any:
  """Returns a model with the values of one, that shares nothing with it."""
  classes = {type(one).__name__: type(one)
             for one in [model] + layers_of(model)}
  with loaded().saving.custom_object_scope(classes):
    return pickle.loads(pickle.dumps(model))


def check_keras() -> None:
  """Checks that Keras 3, if it is loaded, is one that adanet can train.

  Raises:
    ValueError: it is too old, or does not compute with TensorFlow.
  """
  keras = loaded()
  if keras is None:
    return
  if tuple(map(int, keras.__version__.split(".")[:2])) < _OLDEST:
    raise ValueError(
        f"Keras is {keras.__version__}: expected 3.7 or later, because the "
        "optimizers of earlier ones lose values in a graph. Run "
        "pip install --upgrade keras.")
  if keras.backend.backend() != "tensorflow":
    raise ValueError(
        f"Keras has the backend {keras.backend.backend()!r}: expected "
        "'tensorflow', the only one that adanet can train. Set "
        "KERAS_BACKEND=tensorflow before the program imports keras.")


def has_raised(error: BaseException, innermost: bool = False) -> bool:
  """Whether an error was raised while code of Keras 3 ran.

  Args:
    error: the error.
    innermost: whether that code itself must have raised it.
  """
  frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
  return any(frame.f_globals.get("__name__", "").startswith("keras.")
             for frame in (frames[-1:] if innermost else frames))


def _failed_calls(error):
  """Returns the `self`, and the function's name, of all calls that failed.

  Keras leaves calls out of an error that it raises for another one.
  """
  found = []
  while error is not None:
    found += [(frame.f_locals.get("self"), frame.f_code.co_name)
              for frame, _ in traceback.walk_tb(error.__traceback__)]
    error = error.__cause__ or error.__context__
  return found


def _untraceable(error):
  """Returns one line about a layer that asks for a value; "" for another one.
  """
  if not _WITHOUT_VALUE.search(str(error)):
    return ""
  layers = [this for this, function in _failed_calls(error)
            if function == "call" and isinstance(this, loaded().layers.Layer)]
  if not layers:
    return ""
  return (f"layer {layers[-1].name!r} ({type(layers[-1]).__name__}) asks for "
          "the value of a tensor in call, and there is none while the graph is "
          "built: call must be traceable, as under jit_compile. Use functions "
          "of keras.ops, such as where and cond, instead of if, bool, int, "
          "float, numpy and loops over tensors.")


def reason(error: BaseException) -> str:
  """Returns one line about an error of Keras's; "" for another error."""
  if not has_raised(error):
    return ""
  text = str(error)
  functions = {frame.f_code.co_name
               for frame, _ in traceback.walk_tb(error.__traceback__)}
  if functions.issuperset(["clone_model", "get_compile_config"]):
    return _CLONES
  if "adapt" in functions and "is out of scope and cannot be used" in text:
    return _ADAPTS
  untraceable = _untraceable(error)
  if untraceable:
    return untraceable
  for part, meaning in _REASONS.items():
    if part in text:
      return meaning
  match = _AROUND.match(text)
  if match:
    text = f"{match.group('call')}: {match.group('text')}"
  elif not has_raised(error, innermost=True):
    return ""
  return " ".join(_NOISE.sub("", text).split())


def exchange_state(state: Dict[str, Any]) -> Dict[str, Any]:
  """Makes some state of Keras the current one, and returns the one before."""
  if loaded() is None:
    return {}
  module = sys.modules["keras.src.backend.common.global_state"]
  before = {name: module.get_global_attribute(name) for name in _STATE}
  for name in _STATE:
    module.set_global_attribute(name, state.get(name))
  return before


def calls() -> Iterator[Tuple[Any, str]]:
  """Yields the `self`, or None, and the function of all calls, inner first.

  A frame whose locals were read has a copy of them: one that names the frame
  itself would be garbage that keeps the callers, and what they hold.
  """
  frame = inspect.currentframe()
  while frame is not None and frame.f_back is not None:
    frame = frame.f_back
    yield frame.f_locals.get("self"), frame.f_code.co_name


def variable_in_the_making() -> Tuple[Any, Any]:
  """Returns the `keras.Variable` that is being made, and its owner.

  The owner is the layer or the optimizer; None for none. Both are None outside
  of Keras.
  """
  keras = loaded()
  variable = None
  for this, _ in itertools.islice(calls(), _MOST_CALLS):
    if variable is None and isinstance(this, keras.src.backend.Variable):
      variable = this
    elif variable is not None and isinstance(
        this, (keras.layers.Layer, keras.optimizers.Optimizer)):
      return variable, this
  return variable, None


def assigning_function() -> str:
  """Returns which of `EACH_STEP` and `ONCE` assigns; "" for none."""
  keras = loaded()
  for this, name in calls():
    if name in EACH_STEP or name in ONCE:
      if isinstance(this, (keras.layers.Layer, keras.metrics.Metric)) or (
          # An optimizer has it, too.
          name in _LOADING and hasattr(this, "load_own_variables")):
        return name
  return ""
