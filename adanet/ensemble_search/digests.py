# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search was given, as text that another program can compare.

Functions of models are compared by the architectures that they make, objects of
Keras by their configs, and a user's functions by their code and the values that
this code refers to, as far as that goes.
"""

import functools
import hashlib
import json
import re
import types
from typing import Any
import warnings

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_MAX_DEPTH = 9
# What these do is not the program's.
_LIBRARIES = ("keras", "numpy", "tensorflow")
# These have variables beside their config.
_WITH_CONFIG = (keras.optimizers.Optimizer, keras.metrics.Metric, keras.Model,
                keras.Layer)
_SIMPLE = (str, int, float, bool, type(None))
# Objects of Keras that have more than a config and variables: code, or tables.
_WITH_MORE = ("Lambda", "TFSMLayer", "JaxLayer", "FlaxLayer",
              "TorchModuleWrapper", "IntegerLookup", "StringLookup",
              "TextVectorization")


class Digest:
  """Makes digests.

  Attributes:
    unknown: list with words for what cannot be compared.
  """

  def __init__(self):
    self.unknown = []

  def text(self, value: Any) -> str:
    """Returns a short text that is another one for another value."""
    if isinstance(value, _SIMPLE):
      return repr(value)
    name = getattr(value, "__name__", type(value).__name__)
    return f"{name} {_hash(self._of(value, 0))}"

  def of_model(self, model: Any, function: Any) -> str:
    """Returns a digest of the architecture of a model.

    Args:
      model: `keras.Model` that is built.
      function: makes it.
    """
    shapes = [(tuple(one.shape), one.dtype) for one in model.variables]
    try:
      with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of lambdas: nobody loads this.
        text = model.to_json()
      found = number_anew(json.loads(text).get("config"))
    except Exception:  # pylint: disable=broad-except
      found = self._of(function, 0)  # A class of a user without a config.
    compiled = self._of([getattr(model, "loss", None), model.optimizer], 0)
    return _hash(f"{type(model).__name__} {found} {shapes} {compiled}")

  def _of(self, value, depth):
    """Returns a text of a value, and of what it refers to."""
    of = lambda one: self._of(one, depth + 1)
    if isinstance(value, (*_SIMPLE, bytes, complex, np.generic)):
      return repr(value)
    if isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType)):
      return getattr(value, "__qualname__", value.__name__)
    if depth > _MAX_DEPTH:
      return self._skipped(value)
    if isinstance(value, dict):
      return of([*value, *value.values()])
    if isinstance(value, (list, tuple)):
      return "[%s]" % ", ".join(map(of, value))
    if isinstance(value, (set, frozenset)):
      return of(sorted(map(of, value)))
    if isinstance(value, functools.partial):
      return of([value.func, value.args, value.keywords])
    if isinstance(value, types.MethodType):
      return of([value.__self__, value.__func__])
    if isinstance(value, types.FunctionType):
      if value.__module__.split(".")[0] in _LIBRARIES:
        return f"{value.__module__}.{value.__qualname__}"
      names = {name: value.__globals__[name] for name in _names(value.__code__)
               if name in value.__globals__}
      return value.__qualname__ + of([
          value.__code__, list(map(_content, value.__closure__ or ())), names,
          value.__defaults__, value.__kwdefaults__])
    if isinstance(value, types.CodeType):
      return f"{value.co_code.hex()} {value.co_names} {of(value.co_consts)}"
    if isinstance(value, (np.ndarray, tf.Tensor, tf.Variable, keras.Variable)):
      array = np.asarray(value)
      return (of(array.tolist()) if array.dtype.kind == "O" else
              arrays.digest(array))
    return self._of_object(value, of)

  def _of_object(self, value, of):
    """Returns a text of an object: its config, or its own attributes."""
    name = type(value).__qualname__
    # Those of a user may have Keras's empty config, and losses of Keras leave
    # options out.
    if isinstance(value, _WITH_CONFIG) or (
        type(value).__module__.startswith("keras.") and
        hasattr(value, "get_config") and
        not isinstance(value, keras.losses.Loss)):
      try:
        return f"{name}({_unnumbered(value.get_config(), of)})"
      except Exception:  # pylint: disable=broad-except
        return self._skipped(value)
    try:
      return f"{name}({of(vars(value))})"
    except TypeError:
      return self._skipped(value)

  def _skipped(self, value):
    self.unknown.append(words.described(value))
    return type(value).__qualname__


def config_of_keras(model: Any) -> str | None:
  """Returns the config of a model that is its config and its variables.

  Returns None for a model with anything of the user's: a class, a function, a
  `Lambda`, or a state that Keras counts among no variables.

  Args:
    model: `keras.Model` that is compiled; loss, metrics and optimizer count.
  """
  try:
    with warnings.catch_warnings():
      warnings.simplefilter("ignore")
      config = json.loads(json.dumps(
          keras.saving.serialize_keras_object(model),
          default=keras.saving.serialize_keras_object))
  except Exception:  # Of a user's object.  # pylint: disable=broad-except
    return None
  return number_anew(config) if _is_of_keras(config) else None


def _is_of_keras(config):
  """Returns whether a part of a config names nothing that is the user's."""
  if isinstance(config, list):
    return all(map(_is_of_keras, config))
  if not isinstance(config, dict):
    return True
  name = config.get("class_name")
  if name is not None and not name.startswith("__keras_tensor") and (
      name in _WITH_MORE or
      not str(config.get("module")).startswith("keras")):
    return False
  # A function stands in a config as {"value": [its code, ...]}.
  return not (isinstance(config.get("value"), list) or
              config.get("stateful") or config.get("run_eagerly")) and all(
                  map(_is_of_keras, config.values()))


def number_anew(config: Any) -> str:
  """Returns the text of a config whose names are numbered in their order.

  Keras numbers automatic names by what the program has built before.
  """
  text = json.dumps(config, sort_keys=True)
  names: dict[str, str] = {}
  for name in re.findall(r'"name": "([^"]*)"', text):
    stem = re.sub(r"_\d+$", "", name)
    names.setdefault(name, f"{stem} {len(names)}")
  return re.sub(r'"([^"]*)"', lambda match: (
      f'"{names.get(match[1], match[1])}"'), text)


def _content(cell):
  try:
    return cell.cell_contents
  except ValueError:  # It is empty.
    return ""


def _names(code):
  """Returns the global names in some code, and in the functions inside."""
  return sorted({*code.co_names, *(
      name for one in code.co_consts if isinstance(one, types.CodeType)
      for name in _names(one))})


def _unnumbered(config, default=None):
  """Returns a text of a config without the numbers of automatic names.

  They depend on what was made before.
  """
  return re.sub(r'_\d+"', '"', json.dumps(
      config, sort_keys=True, default=default))


def _hash(text):
  return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
  """Returns what differs, in words.

  Args:
    before: dict from an argument to its text, with a digest behind it.
    now: the same.
  """
  found = []
  for name in sorted({*before, *now}, key=lambda one: (one not in now, one)):
    one, other = before.get(name), now.get(name)
    if one == other:
      continue
    if name.startswith("models[") and one and other:
      found.append(f"{name} makes another model")
      continue
    # Without the digests.
    shown = ["none" if text is None else re.sub(
        r"(^| )[0-9a-f]{16,20}$", "", text) or "given" for text in (one, other)]
    found.append(f"{name} has other values" if shown[0] == shown[1] else
                 f"{name}: {shown[0]} before, {shown[1]} now")
  return found
