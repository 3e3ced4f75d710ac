# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether a model, a function or an argument is the same as before.

Texts and digests are equal in another process and in another program, whatever
the program has made before.
"""

import base64
from collections.abc import Iterator
import contextlib
import hashlib
import json
import marshal
import re
import types
from typing import Any
import warnings

from adanet import tf_compat
from adanet.ensemble_search import arrays
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_SIMPLE = (str, int, float, bool, type(None))
#: Packages whose functions and classes are known by their names.
LIBRARIES = ("keras", "numpy", "tensorflow")
# Objects of Keras that have more than a config and variables: code, or tables
# and constants of `adapt`.
_WITH_MORE = ("Lambda", "TFSMLayer", "JaxLayer", "FlaxLayer",
              "TorchModuleWrapper", "Discretization", "IntegerLookup",
              "Normalization", "StringLookup", "TextVectorization")


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
  """Leaves out Keras's warnings of lambdas, which are about model files."""
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    yield


def to_config(value: Any) -> Any:
  """Returns a value of Keras as JSON has it."""
  # Keras cannot read tuples again, and leaves schedules of learning rates as
  # objects.
  with without_warnings():
    return json.loads(json.dumps(
        keras.saving.serialize_keras_object(to_lists(value)),
        default=keras.saving.serialize_keras_object))


def to_lists(value: Any) -> Any:
  """Returns a value with lists in place of tuples."""
  if isinstance(value, dict):
    return {key: to_lists(part) for key, part in value.items()}
  return list(map(to_lists, value)) if isinstance(
      value, (list, tuple)) else value


def text_of(value: Any, name_of: Any = lambda value: getattr(
    value, "__qualname__", type(value).__qualname__)) -> str:
  """Returns a text of an argument of `Model.compile` with all options.

  `name_of` names a user's function or object. By default, the text is the same
  in another program.
  """
  of = lambda part: text_of(part, name_of)
  if isinstance(value, _SIMPLE):
    return repr(value)
  if isinstance(value, dict):
    return "{%s}" % ", ".join(f"{of(key)}: {of(value[key])}"
                              for key in sorted(value, key=str))
  if isinstance(value, (list, tuple)):
    return "[%s]" % ", ".join(map(of, value))
  if isinstance(value, (types.FunctionType, type)):
    return (f"{value.__module__}.{value.__qualname__}" if
            value.__module__.split(".")[0] in LIBRARIES else name_of(value))
  if isinstance(value, (np.ndarray, np.generic, tf.Tensor, tf.Variable,
                        keras.Variable)):
    return arrays.digest(np.asarray(value))
  kind = type(value).__qualname__
  try:
    if not isinstance(value, keras.losses.Loss):
      return f"{kind}({config_text(to_config(value))})"
    # Losses of Keras leave options out of their configs. An automatic name
    # counts the losses of the program.
    options = {key: option for key, option in vars(value).items()
               if key != "name"}
    return f"{kind}({of(options)})"
  except Exception:  # pylint: disable=broad-except
    return name_of(value)


def digest_argument(value: Any) -> str:
  """Returns the name and a digest of an argument of `Model.compile`."""
  if isinstance(value, _SIMPLE):
    return repr(value)
  name = getattr(value, "__name__", type(value).__name__)
  digest = hashlib.sha256(text_of(value).encode()).hexdigest()[:16]
  return f"{name} {digest}"


def digest_model(model: Any) -> str:
  """Returns a digest of the architecture of a new model, built or not."""
  places = {}
  try:
    with without_warnings():
      content = json.loads(model.to_json()).get("config")
    config, places = config_text(content), _places_of_layers(content)
  except Exception:  # A class without a config.  # pylint: disable=broad-except
    config = ""
  compiled = text_of([_by_place(getattr(model, "loss", None), places),
                      model.optimizer])
  return hashlib.sha256(
      f"{type(model).__name__} {config} {compiled}".encode()
  ).hexdigest()[:16]


def config_of_keras(model: Any) -> str | None:
  """Returns the config of a compiled model that is only config and variables.

  Returns None for a model with anything of the user's: a class, a function, a
  `Lambda`, or a state that Keras counts among no variables. Loss, metrics and
  optimizer count.
  """
  try:
    config = to_config(model)
  except Exception:  # Of a user's object.  # pylint: disable=broad-except
    return None
  return config_text(config) if _is_of_keras(config) else None


def _is_of_keras(config):
  """Returns whether a part of a config names only objects of Keras."""
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


def config_text(config: Any) -> str:
  """Returns a text of a config that is the same in another program.

  Keras numbers automatic names by all layers that the program has built. So
  names lose their numbers, and where a config refers to a layer by name, the
  text has the place of the layer. Built shapes, and the lines of a lambda, are
  left out.
  """
  return json.dumps(_describe_config(config, {}, True), sort_keys=True)


def _describe_config(part, places, is_object):
  """Returns a part of a config, as described in `config_text`.

  Args:
    part: value of the config.
    places: dict from the name of a layer of the enclosing model to its place.
    is_object: bool, whether the part is the config of an object, so that its
      `name` is the object's.
  """
  if isinstance(part, list):
    return [_describe_config(value, places, False) for value in part]
  if not isinstance(part, dict):
    return part
  kind = part.get("class_name")
  if kind == "__lambda__":
    code, *others = part["config"].get("value") or part["config"].values()
    return [_code_text(marshal.loads(base64.b64decode(code))), others]
  if kind == "__keras_tensor__":
    return _describe_references(part["config"], places)
  places = _places_of_layers(part) or places
  outputs = _places_of_layers(part.get("config"))
  described = {}
  for key, value in part.items():
    if key == "name" and (is_object or kind) and isinstance(value, str):
      described[key] = re.sub(r"_\d+$", "", value)
    elif key in ("input_layers", "output_layers"):
      described[key] = _describe_references(value, places)
    elif key == "compile_config" and isinstance(value, dict):
      described[key] = {
          name: _describe_config(_by_place(argument, outputs), places, False)
          for name, argument in value.items()}
    elif key != "build_config":
      described[key] = _describe_config(
          value, places, key == "config" and kind is not None)
  return described


def _describe_references(part, places):
  """Returns nested references [name, node, tensor] with places for names."""
  if isinstance(part, dict):
    return {key: _describe_references(value, places)
            for key, value in part.items()}
  if not isinstance(part, list):
    return part
  if len(part) == 3 and isinstance(part[0], str):
    return [places.get(part[0], part[0]), *part[1:]]
  return [_describe_references(value, places) for value in part]


def _places_of_layers(config):
  """Returns the place of each layer of a model in words, by the layer's name.

  Returns {} for the config of anything else.
  """
  layers = config.get("layers") if isinstance(config, dict) else None
  if not isinstance(layers, list) or not all(
      isinstance(layer, dict) and isinstance(layer.get("config"), dict)
      for layer in layers):
    return {}
  return {layer["config"].get("name"): f"layer {i}"
          for i, layer in enumerate(layers)}


def _by_place(argument, places):
  """Returns an argument of `compile` with places for the names of outputs."""
  if not isinstance(argument, dict) or "class_name" in argument:
    return argument
  return {places.get(name, name): part for name, part in argument.items()}


def _code_text(code):
  """Returns the text of a function's code; marshalled bytes differ by use."""
  constants = [_code_text(value) if isinstance(value, types.CodeType) else (
      sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value))
               for value in code.co_consts]
  return repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars,
               constants))


def digest_code(function: Any) -> str:
  """Returns a digest of the code of a function; "" for other callables."""
  code = getattr(function, "__code__", None)
  return "" if code is None else hashlib.sha256(
      _code_text(code).encode()).hexdigest()[:16]
