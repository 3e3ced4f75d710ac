# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether a function builds the same model in a worker as in the program.

A worker imports modules anew. What the program has changed in a module since,
such as a layer that was adapted, is missing there, and no pickle can tell. So a
worker compares the signature of the model that it builds with the program's:
configs, what does not train, and the loss for some held-out rows, which tells
the constants of the user's code.
"""

import dataclasses
import hashlib
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import identity
from adanet.ensemble_search import models
from adanet.ensemble_search import steps
import numpy as np

keras: Any = tf_compat.keras_3
_MAX_VALUES = 20  # Of a variable.


@dataclasses.dataclass(frozen=True)
class SignedPart:
  """A part of a model.

  Attributes:
    problem: str, what a message says of parts that differ.
    digest: str, equal in equal parts.
    numbers: tuple of floats that are about equal in equal parts, because kinds
      of processors differ.
  """
  problem: str
  digest: str
  numbers: tuple[float, ...] = ()

  def equals(self, other: "SignedPart") -> bool:
    return self.digest == other.digest and np.allclose(
        self.numbers, other.numbers, rtol=1e-3, atol=1e-5, equal_nan=True)


# The parts of a model, in order; None for a part that no seed fixes.
Signature = list[Any]


def sign(model: Any, batch: tuple) -> Signature:
  """Returns the signature of a new model, which is built and stays as new.

  Args:
    model: `keras.Model`, compiled.
    batch: `(x, y, weights)` or the beginning, of held-out rows.
  """
  if not model.built:
    model(batch[0])
  layers = list(models.list_layers(model))
  owners = [(f"layer {layer.name!r}", layer) for layer in layers]
  owners += [("model", model), ("optimizer", model.optimizer)]
  signature = [SignedPart(f"the {name} has another config", _digest(
      identity.text_of(owner).encode())) for name, owner in owners]
  trainable = set(map(id, model.trainable_variables))
  for variable in model.variables:
    owner = variable.path.split("/")[-2:][0]
    signature.append(
        SignedPart(f"the layer {owner!r} has other shapes", str(variable.shape))
        if id(variable) in trainable else
        _sign_array(owner, keras.ops.convert_to_numpy(variable)))
  signature += [_sign_array(layer.name, np.array(layer.get_vocabulary(), str))
                for layer in layers if hasattr(layer, "get_vocabulary")]
  return [*signature, _sign_loss(model, batch)]


def _sign_array(name, array):
  problem = f"the layer {name!r} has other values"
  if array.dtype.kind not in "fV":  # bfloat16 is "V".
    return SignedPart(problem, _digest(repr(array.shape).encode() +
                                       np.ascontiguousarray(array).tobytes()))
  values = array.astype(np.float64).reshape(-1)
  places = np.linspace(0, values.size - 1, min(_MAX_VALUES, values.size))
  return SignedPart(problem, str(array.shape), (
      float(np.linalg.norm(values)), *values[places.astype(int)].tolist()))


def _sign_loss(model, batch):
  try:
    with models.kept_states(model):
      logs = steps.flat_logs(model.test_step(batch))
  except Exception:  # Some steps need a graph.  # pylint: disable=broad-except
    logs = {}
  return SignedPart("the loss of held-out rows has another value",
                    str(len(logs)), tuple(map(float, logs.values())))


def _digest(content):
  return hashlib.sha256(content).hexdigest()[:8]


def common_signature(signature: Signature, other: Signature) -> Signature:
  """Returns what two new models of a function under one seed have in common.

  A function may draw values that no seed fixes.
  """
  return [part if part.equals(other_part) else None
          for part, other_part in zip(signature, other)]


def difference(expected: Signature, signature: Signature) -> str:
  """Returns in words what differs from the model of the program, or ""."""
  for part, other in zip(expected, signature):
    if part is not None and not part.equals(other):
      return part.problem
  return "" if len(expected) == len(signature) else (
      "it has another number of layers or variables")
