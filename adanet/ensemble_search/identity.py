# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether a model, a function or an argument is the same as before.

Texts and digests are equal in another process and in another program, whatever
the program has made before.
"""

import base64
from collections.abc import Callable, Iterator
import contextlib
import hashlib
import json
import marshal
import types
from typing import Any
import warnings

from adanet import code_text
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import arrays
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_SIMPLE = (str, int, float, bool, type(None))
_ARRAYS = (np.ndarray, np.generic, tf.Tensor, tf.Variable, keras.Variable)
# Objects of Keras that have more than a config and variables: code, or tables
# and constants of `adapt`.
_WITH_MORE = ("Lambda", "TFSMLayer", "JaxLayer", "FlaxLayer",
              "TorchModuleWrapper", "Discretization", "IntegerLookup",
              "Normalization", "StringLookup", "TextVectorization")

# Keys of the config of a model, which `_describe_layers` describes, or which
# are known after the first call.
_OF_MODELS = ("layers", "input_layers", "output_layers", "build_input_shape")
_LONG = 300  # Characters of a list of values that is described by a digest.


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
  """Leaves out Keras's warnings of lambdas, which are about model files."""
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    yield


def to_config(value: Any) -> Any:
  """Returns a value of Keras as JSON has it."""
  # Keras leaves schedules of learning rates as objects.
  with without_warnings():
    return json.loads(json.dumps(
        keras.saving.serialize_keras_object(_to_lists(value)),
        default=keras.saving.serialize_keras_object))


def _to_lists(value):
  """Returns a value with lists in place of tuples, which Keras cannot read."""
  if isinstance(value, dict):
    return {key: _to_lists(part) for key, part in value.items()}
  return list(map(_to_lists, value)) if isinstance(
      value, (list, tuple)) else value


def _name_of(value):
  """Returns the name of a function or class, wherever it is defined."""
  return getattr(value, "__name__", type(value).__name__)


def describe(value: Any, name_of: Callable[[Any], str] = _name_of) -> Any:
  """Returns an argument of `Model.compile`, or another value, as JSON.

  `name_of` names a user's function or object. By default, the description is
  the same in another program.
  """
  if isinstance(value, _SIMPLE):
    return value
  if isinstance(value, dict):
    return {str(key): describe(part, name_of) for key, part in value.items()}
  if isinstance(value, (list, tuple)):
    return [describe(part, name_of) for part in value]
  if isinstance(value, _ARRAYS):
    return arrays.digest(np.asarray(value))
  if isinstance(value, keras.losses.Loss):
    # Losses of Keras leave options out of their configs. An automatic name
    # counts the losses of the program.
    options = {key: part for key, part in vars(value).items() if key != "name"}
    options.update(options.pop("_fn_kwargs", {}))
    return {"class_name": type(value).__name__, **describe(options, name_of)}
  if isinstance(value, (types.FunctionType, type)):
    return name_of(value)
  try:
    return _describe_config(to_config(value), {})
  except Exception:  # Of a user's object.  # pylint: disable=broad-except
    return name_of(value)


def text_of(value: Any, name_of: Callable[[Any], str] = _name_of) -> str:
  """Returns the text of a description; see `describe`."""
  return json.dumps(describe(value, name_of), sort_keys=True)


def digest_argument(value: Any) -> str:
  """Returns the name and a digest of an argument of `Model.compile`."""
  if isinstance(value, _SIMPLE):
    return repr(value)
  # The directory has lists for tuples.
  name = "list" if isinstance(value, tuple) else _name_of(value)
  return f"{name} {_digest(text_of(value), 16)}"


def describe_model(model: Any) -> dict[str, Any]:
  """Returns the architecture, and what a model is compiled with, as JSON.

  The description of a new model is the same in another program, built or not.
  Names of layers and outputs do not count. Weights and metrics are left out, as
  is everything inside a user's class without a config.
  """
  config = _config_of(model)
  places = _places_of_layers(config.get("config"))
  try:
    weights = to_config(model.get_compile_config().get("loss_weights"))
  except Exception:  # Of a user's object.  # pylint: disable=broad-except
    weights = None
  return {"model": _describe_config(config, {}), "compile": {
      "loss": _describe_loss(_by_place(getattr(model, "loss", None), places)),
      "loss_weights": describe(_by_place(weights, places)),
      "optimizer": describe(model.optimizer)}}


def find_difference(before: dict[str, Any], now: dict[str, Any]) -> str:
  """Returns the first difference of two models in words; "" if they are equal.

  `before` and `now` are results of `describe_model`.
  """
  differences = list(_differences(before["model"], now["model"]))
  if not differences:
    return compile_difference(before, now)
  policies = [texts for path, *texts in differences if path[-1:] == ("dtype",)]
  path, *texts = differences[0]
  # The policy of a program changes all layers.
  if path[-1:] == ("dtype",) and len(policies) > 1 and all(
      others == texts for others in policies):
    path = ("dtype",)
  return _difference_text(path, *texts)


def compile_difference(before: dict[str, Any], now: dict[str, Any]) -> str:
  """Returns in words what two models are compiled with otherwise, or ""."""
  for difference in _differences(before["compile"], now["compile"]):
    return _difference_text(*difference)
  return ""


def _differences(before, now, path=()):
  """Yields the path, the value before and the value now of each difference.

  A path has keys of dicts, and words for each layer and input of a model.
  """
  if isinstance(before, dict) and isinstance(now, dict) and (
      before.get("class_name") == now.get("class_name")):
    for key in dict.fromkeys([*before, *now]):
      yield from _differences(before.get(key), now.get(key), (*path, key))
  elif path[-1:] in (("layers",), ("inputs",)) and (
      isinstance(before, list) and isinstance(now, list) and
      len(before) == len(now)):
    for i, (old, new) in enumerate(zip(before, now)):
      part, kind = f"{path[-1][:-1]} {i + 1}", old["class_name"]
      if path[-1] == "layers" and kind == new["class_name"]:
        part += f" ({kind})"
      yield from _differences(old, new, (*path[:-1], part))
  elif json.dumps(before) != json.dumps(now):  # NaN does not equal NaN.
    yield path, before, now


def _difference_text(path, before, now):
  """Returns a difference in words."""
  *places, last = path or ("model",)
  texts = [_value_text(before), _value_text(now)]
  if texts[0] == texts[1]:
    texts = [repr(before), repr(now)]
  if last == "layers":
    texts = [messages.count(len(before), "layer"), str(len(now))]
    noun = ""
  elif last == "model" or last.startswith("layer "):
    noun = f"{last} is "
  else:
    noun = "dtype policy " if last == "dtype" else f"{last} "
  where = f"{', '.join(places)}: " if places else ""
  old, new = (messages.shorten(text, 80) for text in texts)
  return f"{where}{noun}{old} before, {new} now"


def _value_text(value):
  """Returns a short text of a part of a description."""
  if isinstance(value, dict):
    return value.get("class_name") or "{%s}" % ", ".join(
        f"{key}: {_value_text(part)}" for key, part in value.items())
  if isinstance(value, list):
    return "[%s]" % ", ".join(map(_value_text, value))
  # A learning rate of .001 is .0010000000474974513 in its variable.
  return f"{value:.7g}" if isinstance(value, float) else str(value)


def _config_of(layer):
  """Returns the class of a layer or model, and its config if there is one."""
  kind = type(layer)
  config = {"class_name": kind.__name__}
  try:
    config["config"] = to_config(layer.get_config())
  except Exception:  # Of a user's class.  # pylint: disable=broad-except
    # A layer of Keras's model may have no config.
    if isinstance(layer, keras.Model) and kind.__module__.split(
        ".")[0] == "keras":
      config["config"] = {"layers": list(map(_config_of, layer.layers))}
  return config


def _describe_loss(loss):
  """Describes nested losses: "mse" is `keras.losses.MeanSquaredError()`."""
  if isinstance(loss, dict) and "class_name" not in loss:
    return {name: _describe_loss(part) for name, part in loss.items()}
  if isinstance(loss, (list, tuple)):
    return list(map(_describe_loss, loss))
  try:
    loss = keras.losses.get(loss)
  except Exception:  # Of a user's object.  # pylint: disable=broad-except
    pass
  if isinstance(loss, types.FunctionType):
    for kind in vars(keras.losses).values():
      if isinstance(kind, type) and issubclass(kind, keras.losses.Loss) and (
          getattr(kind(), "fn", None) is loss):
        return describe(kind())
  return describe(loss)


def config_of_keras(model: Any) -> str | None:
  """Returns the config of a compiled model that is only config and variables.

  None for a model with anything of the user's: a class, a function, a `Lambda`,
  or a state that is not in variables. Loss, metrics and optimizer count.
  """
  try:
    config = to_config(model)
  except Exception:  # Of a user's object.  # pylint: disable=broad-except
    return None
  if not _is_of_keras(config):
    return None
  places = _places_of_layers(config["config"])
  compiled = {
      name: _by_place(argument, places)
      for name, argument in config.get("compile_config", {}).items()}
  return json.dumps([describe_model(model), _describe_config(compiled, {})],
                    sort_keys=True)


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

  Keras numbers automatic names by all layers that the program has built, and
  another program imports what is in `__main__` here. So names of objects and of
  modules are left out, and the place of a layer stands for its name. Built
  shapes, and the lines of a lambda, are left out.
  """
  return json.dumps(_describe_config(config, {}), sort_keys=True)


def _describe_config(part, places):
  """Returns a part of a config, as described in `config_text`.

  `places` has the place of each layer of the enclosing model by its name.
  """
  if isinstance(part, list):
    text = json.dumps(part)
    if len(text) < _LONG or "{" in text:
      return [_describe_config(value, places) for value in part]
    return f"{len(part)} values {_digest(text)}"
  if not isinstance(part, dict):
    return part
  kind, config = part.get("class_name"), part.get("config")
  if kind is None:
    return {key: _describe_config(value, places) for key, value in part.items()}
  if kind == "__keras_tensor__":
    return _describe_references(config["keras_history"], places)
  if kind == "__lambda__":
    code, *others = config.get("value") or config.values()
    return "lambda " + _digest(repr(others) + code_text.text_of_value(
        marshal.loads(base64.b64decode(code))))
  if kind == "DTypePolicy":
    return config["name"]
  if kind == "function" or config is None:
    return config or {"class_name": kind}
  if not isinstance(config, dict):
    return {"class_name": kind, "config": _describe_config(config, places)}
  described = {"class_name": kind}
  for key, value in config.items():
    if not (key == "name" and isinstance(value, str) or
            _is_model(config) and key in _OF_MODELS):
      described[key] = _describe_config(value, places)
  if _is_model(config):
    described.update(_describe_layers(config))
  return described


def _is_model(config):
  """Returns whether a config has layers."""
  layers = config.get("layers") if isinstance(config, dict) else None
  return isinstance(layers, list) and all(
      isinstance(layer, dict) and "class_name" in layer for layer in layers)


def _is_input(layer):
  return layer["class_name"] == "InputLayer"


def _describe_layers(config):
  """Describes inputs, layers and outputs, without the Input of a Sequential."""
  places, described = _places_of_layers(config), {}
  if "input_layers" in config:
    inputs = _describe_references(config["input_layers"], {
        layer["config"]["name"]: _describe_config(layer, {})
        for layer in config["layers"] if _is_input(layer)})
    described["inputs"] = [inputs] if "class_name" in inputs else inputs
  described["layers"] = []
  for layer in config["layers"]:
    if not _is_input(layer):
      described["layers"].append(_describe_config(layer, {}))
      if "inbound_nodes" in layer:
        described["layers"][-1]["takes"] = [
            _describe_call(node, places) for node in layer["inbound_nodes"]]
  if "output_layers" in config:
    described["outputs"] = _describe_references(
        config["output_layers"], places)
  return described


def _describe_call(node, places):
  """Describes the arguments of a call of a layer, most often a tensor."""
  arguments = [_describe_config(value, places) for value in node["args"]]
  options = {name: _describe_config(value, places)
             for name, value in node["kwargs"].items() if value is not None}
  if options:
    arguments.append(options)
  return arguments[0] if len(arguments) == 1 else arguments


def _describe_references(part, places):
  """Returns nested references [name, node, tensor] with places for names."""
  if isinstance(part, dict):
    return {key: _describe_references(value, places)
            for key, value in part.items()}
  if not isinstance(part, list):
    return part
  if len(part) != 3 or not isinstance(part[0], str):
    return [_describe_references(value, places) for value in part]
  name, node, tensor = part
  place = places.get(name, name)
  if isinstance(place, str) and node > 0:
    place += f" call {node + 1}"
  if isinstance(place, str) and tensor > 0:
    place += f" output {tensor + 1}"
  return place


def _places_of_layers(config):
  """Returns the place of each layer of a model in words, by its name."""
  if not _is_model(config):
    return {}
  inputs = [name for name in keras.tree.flatten(config.get("input_layers", []))
            if isinstance(name, str)]
  layers = [layer.get("config", {}).get("name") for layer in config["layers"]
            if not _is_input(layer)]
  return {name: f"{noun} {i + 1}"
          for noun, names in (("input", inputs), ("layer", layers))
          for i, name in enumerate(names)}


def _by_place(argument, places):
  """Returns an argument of `compile` with places for the names of outputs."""
  if not isinstance(argument, dict) or "class_name" in argument:
    return argument
  return {places.get(name, name): part for name, part in argument.items()}


def _digest(text, length=8):
  return hashlib.sha256(text.encode()).hexdigest()[:length]


def digest_json(value: Any) -> str:
  """Returns a digest of a value that JSON can have."""
  return _digest(json.dumps(value, sort_keys=True))


def digest_code(function: Any) -> str:
  """Returns a digest of the code of a function; "" for other callables."""
  code = getattr(function, "__code__", None)
  return "" if code is None else _digest(code_text.text_of_value(code), 16)
