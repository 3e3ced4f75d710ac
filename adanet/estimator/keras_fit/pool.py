# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The models of an `EnsembleSearch`: functions that are tried before training.

Each makes its model once, eagerly, and answers for some rows of the data. So a
mistake gets an error of one line, before a graph is built.
"""

import hashlib
import inspect
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence

from adanet import tf_compat
from adanet.core import user_input
from adanet.estimator import auto_compiled
from adanet.estimator import auto_inputs
from adanet.estimator import auto_networks
from adanet.estimator import auto_outputs
from adanet.estimator.keras_fit import arrangement as arrangement_lib
from adanet.estimator.keras_fit import structures
from adanet.tf_compat import keras_scope

_EXPECTED = ("expected a dict from a name to a function without arguments that "
             "makes a Keras model, such as {\"wide\": make_wide}")
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.-]*\Z")

Pool = Dict[str, Callable[[], Any]]


def checked(models: Any) -> Pool:
  """Returns the functions of the argument `models` by name.

  Raises:
    TypeError: it is no dict or list.
    ValueError: it is empty, or has something else in it.
  """
  if isinstance(models, (list, tuple)):
    names = [getattr(one, "__name__", "") for one in models]
    models = {
        name if _NAME.match(name) and names.count(name) == 1 else f"model_{i}":
        one for i, (name, one) in enumerate(zip(names, models))}
  if not isinstance(models, Mapping):
    raise TypeError(f"models is {_described(models)}: {_EXPECTED}.")
  if not models:
    raise ValueError(f"models={models!r}: {_EXPECTED}.")
  for name, function in models.items():
    if not isinstance(name, str) or not _NAME.match(name):
      raise ValueError(
          f"models has the name {name!r}: expected letters, digits, "
          "underscores, points and hyphens, such as \"wide_1\".")
    _check_function(f"models[{name!r}]", function)
  return dict(models)


def _described(value):
  if hasattr(type(value), "trainable_weights"):
    return f"a Keras {'model' if hasattr(value, 'fit') else 'layer'}"
  return "a function" if callable(value) else user_input.described(value)


def _check_function(owner, function):
  """Checks that something can be called without arguments."""
  if hasattr(type(function), "trainable_weights"):
    raise ValueError(
        f"{owner} is {_described(function)}: expected a function that makes "
        "one, because each iteration trains a new one, such as lambda: "
        "keras.Sequential([...]).")
  if not callable(function):
    raise TypeError(f"{owner} is {user_input.described(function)}: expected a "
                    "function without arguments that makes a Keras model.")
  try:
    parameters = inspect.signature(function).parameters.values()
  except (TypeError, ValueError):
    return
  required = [p.name for p in parameters if p.default is p.empty and
              p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
  if required:
    raise ValueError(
        f"{owner}: the function needs the arguments {', '.join(required)}: "
        "expected one without arguments. Wrap it in a lambda, or see "
        "adanet.AutoEnsembleEstimator.")
  taken = [p.name for p in parameters
           if p.name == "config" or p.kind == p.VAR_POSITIONAL]
  if taken and not inspect.isclass(function):
    raise ValueError(
        f"{owner}: the function takes {taken[0]}: expected one without "
        "arguments. Wrap it in a lambda.")


class FirstModel(NamedTuple):
  """The inputs and outputs of the first model, and so of all.

  Attributes:
    kind: str, how it is given `x`: a data frame is an array if it has no input
      for each column.
    outputs: list with the names of several outputs; empty for one.
  """
  kind: str
  outputs: List[str]


def _made(function, owner):
  """Returns a model that a function makes, eagerly."""
  try:
    model = function()
  except Exception as error:
    raise ValueError(
        f"{owner} fails to make its model: {type(error).__name__}: "
        f"{' '.join(str(error).split())}") from error
  if not isinstance(model, tf_compat.keras_3.Model):
    raise ValueError(f"{owner} returned {user_input.described(model)}: "
                     "expected a model of Keras 3.")
  return model


def _call(owner, call):
  """Calls a model; errors of Keras become one line."""
  try:
    return call()
  except Exception as error:
    text = " ".join(str(error).split())
    if text.startswith(owner):
      raise
    raise ValueError(f"{owner} does not take x: {text}") from error


def _names_of(model):
  """Returns the names of the inputs of a functional model, or []."""
  if isinstance(model, tf_compat.keras_3.Sequential):
    return []
  return [tensor.name for tensor in getattr(model, "inputs", None) or ()]


def read_first(pool: Pool, x: Any) -> FirstModel:
  """Makes the first model, and calls it with some rows.

  Args:
    pool: the functions by name.
    x: structure of arrays, some rows.

  Raises:
    ValueError: it cannot be made, or does not take `x`.
  """
  name, function = next(iter(pool.items()))
  owner = f"models[{name!r}]"
  with keras_scope.numbered_anew():
    model = _made(function, owner)
    names = _names_of(model)
    columns = isinstance(x, structures.Columns) and bool(names) and (
        set(names) <= set(x))
    kind = arrangement_lib.kind_of(x)
    if kind == arrangement_lib.COLUMNS and not columns:
      kind = arrangement_lib.ARRAY
    features = arrangement_lib.alone(
        arrangement_lib.Arrangement(kind).features("x", x))
    inputs = auto_inputs.ModelInputs(model, owner)
    result = _call(owner, lambda: model(inputs.of(features)))
  outputs: List[str] = []
  if isinstance(result, dict) and set(result) != set(auto_outputs.PAIR):
    outputs = list(result)
  elif isinstance(result, (list, tuple)) and len(result) > 1:
    outputs = list(getattr(model, "output_names", None) or ()) or [
        f"output_{i}" for i in range(len(result))]
  return FirstModel(kind, outputs)


class Tried(NamedTuple):
  """A model, and its outputs for some rows.

  Attributes:
    owner: str, for messages.
    model: the model.
    outputs: dict from the name of an output to an array; of one that is alone
      the name is "".
    compiled: dict of the arguments that it was compiled with.
    digest: str, of its layers and variables.
  """
  owner: str
  model: Any
  outputs: Dict[str, Any]
  compiled: Dict[str, Any]
  digest: str


def tried(name: str, function: Callable[[], Any], features: Dict[str, Any],
          outputs: Sequence[str]) -> Tried:
  """Makes a model, and calls it with some rows.

  Args:
    name: str, that of the model.
    function: makes it.
    features: dict of arrays, by name.
    outputs: the names of several outputs; empty for one.

  Raises:
    ValueError: it cannot be made, does not take the features, or has other
      outputs.
  """
  owner = f"models[{name!r}]"
  network = auto_networks.KerasNetwork(
      lambda: _made(function, owner), owner, heads=outputs)
  tensors = {key: tf_compat.v1.convert_to_tensor(one)
             for key, one in features.items()}
  again = _call(owner, lambda: network.made_again(
      name, arrangement_lib.alone(tensors)))
  logits = again.logits
  found = dict(logits) if isinstance(logits, dict) else {
      structures.ALONE: logits}
  expected = list(outputs) or [structures.ALONE]
  if set(found) != set(expected):
    raise ValueError(
        f"{owner} has the outputs {sorted(found)}: expected "
        f"{sorted(expected) if outputs else 'one output'}, as the loss and the "
        "first model have.")
  return Tried(
      owner, again.model, {
          key: tf_compat.keras_3.ops.convert_to_numpy(one)
          for key, one in found.items()},
      auto_compiled.compile_arguments(again.model), _digest(again.model))


def _digest(model):
  """Returns the digest of a model: of its layers, as far as they can say it."""
  parts = [str((tuple(one.shape), one.dtype)) for one in model.variables]
  try:
    text = model.to_json()
  except Exception:  # pylint: disable=broad-except
    text = type(model).__name__  # A class without get_config.
  # An object without a config is told by where it is in memory.
  parts.append(re.sub(r"0x[0-9a-f]+", "", re.sub(
      r'"compile_config": .*\Z', "", text)))
  return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
