# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A few numbers by which a worker knows that it builds the program's model.

A worker imports modules anew. What the program has changed in a module since,
such as a layer that was adapted, is missing there, and no pickle can tell.
"""

import json
from typing import Any, NamedTuple
import warnings
import zlib

from adanet import tf_compat
from adanet.ensemble_search import digests
from adanet.ensemble_search import models
import numpy as np

keras: Any = tf_compat.keras_3
# Kinds of processors differ by less.
_RELATIVE, _ABSOLUTE = 1e-3, 1e-5
_FREQUENCY = 1.618  # Of a wave that tells one order of numbers from another.


class Part(NamedTuple):
  """A variable, a table, a log or an output.

  Attributes:
    name: str, the path of a variable, or another name.
    exact: list of what is equal in equal parts.
    numbers: list of what is about equal; empty where `exact` tells all.
  """
  name: str
  exact: list
  numbers: list[float]

  def equals(self, other: "Part") -> bool:
    return self.exact == other.exact and np.allclose(
        self.numbers, other.numbers, _RELATIVE, _ABSOLUTE, equal_nan=True)


class Signature(NamedTuple):
  """What is known of a new model, whose variables follow from a seed.

  Attributes:
    configs: list with the `Part` of the config of each layer, of the model and
      of the optimizer; None for what has no config.
    values: list with the `Part` of each variable and each lookup table; None
      for what each new model has differently.
    results: dict from the name of a log or an output to its `Part`, of some
      held-out rows.
  """
  configs: list[Part | None]
  values: list[Part | None]
  results: dict[str, Part]


def sign(model: Any, batch: tuple) -> Signature:
  """Returns the signature of a new model; the model is built, and stays as new.

  Args:
    model: `keras.Model`, compiled.
    batch: `(x, y, weights)` or its beginning, of held-out rows.
  """
  if not model.built:
    model(batch[0])
  trainable = set(map(id, model.trainable_variables))
  values: list[Part | None] = [_part(
      variable.path, keras.ops.convert_to_numpy(variable),
      id(variable) in trainable) for variable in model.variables]
  values += [_part(layer.name, np.array(layer.get_vocabulary(), str))
             for layer in models.layers(model)
             if hasattr(layer, "get_vocabulary")]
  results: dict[str, Any] = {}
  try:
    with models.kept_states(model):
      for i, output in enumerate(keras.tree.flatten(
          keras.Model.predict_step(model, batch[:1]))):
        results[f"output {i + 1}"] = output
      model.reset_metrics()
      results |= model.test_step(batch)
  except Exception:  # Some steps need a graph.  # pylint: disable=broad-except
    pass
  configs = [_config(repr(layer.name), layer) for layer in models.layers(model)]
  return Signature([
      *configs, _config("model", model), _config("optimizer", model.optimizer)
  ], values, {name: _part(name, np.asarray(value))
              for name, value in results.items()
              if not isinstance(value, dict)})


def _config(name, owner):
  """Returns the `Part` of a config, or None for an object without."""
  try:
    with warnings.catch_warnings():
      warnings.simplefilter("ignore")
      text = digests.number_anew(json.loads(json.dumps(
          owner and owner.get_config(),
          default=keras.saving.serialize_keras_object)))
  except Exception:  # Of a user's class.  # pylint: disable=broad-except
    return None
  return Part(name, [zlib.crc32(text.encode())], [])


def _part(name, array, *exact):
  exact = [*exact, list(array.shape)]
  if array.dtype.kind not in "fV":  # bfloat16 is "V".
    return Part(name, [*exact, zlib.crc32(np.ascontiguousarray(
        array).tobytes())], [])
  values = array.astype(np.float64).reshape(-1)
  scale = 1 / max(1, values.size) ** .5
  return Part(name, exact, [
      float(values @ np.cos(_FREQUENCY * np.arange(values.size))) * scale,
      float(np.linalg.norm(values)) * scale])


def common(signature: Signature, other: Signature) -> Signature:
  """Returns what two new models of a function under one seed have in common.

  A function may draw values that no seed fixes.
  """
  return Signature(
      _common(signature.configs, other.configs),
      _common(signature.values, other.values),
      {name: part for name, part in signature.results.items()
       if name in other.results and part.equals(other.results[name])})


def _common(parts, others):
  return [part if part is not None and other is not None and (
      part.equals(other)) else None for part, other in zip(parts, others)]


def difference(expected: Signature, signature: Signature) -> str:
  """Returns in words what differs from the model of the program, or ""."""
  for part, own in zip(expected.configs, signature.configs):
    if part is not None and own is not None and not part.equals(own):
      kind = "" if part.name in ("model", "optimizer") else "layer "
      return f"the {kind}{part.name} has another config"
  if len(expected.values) != len(signature.values):
    return (f"it has {len(signature.values)} variables, and "
            f"{len(expected.values)} in the program")
  for part, own in zip(expected.values, signature.values):
    if part is not None and not part.equals(own):
      return f"the layer {part.name.split('/')[-2:][0]!r} has other values"
  for name, part in expected.results.items():
    own = signature.results.get(name)
    if own is not None and not part.equals(own):
      return f"{name} of held-out rows has other values" + "".join(
          f": {number:.4g}, and {other:.4g} in the program"
          for number, other in zip(own.numbers[:1], part.numbers))
  return ""
