# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The variables of published models, from the files in `models`.

Each file says where its numbers are from, and whose names the variables have.
"""

import functools
import json
import operator
from typing import Any, Dict, NamedTuple, Sequence, Tuple

import runfiles

#: What is in `models`.
NAMES = ("resnet50", "bert_base", "dlrm")

_NUM_BYTES = {"float32": 4}


class Variable(NamedTuple):
  """A variable: its name in the scope of its model, and its size."""
  name: str
  num_bytes: int


class Model(NamedTuple):
  """A model: what people call it, and its variables."""
  title: str
  variables: Tuple[Variable, ...]

  @property
  def num_bytes(self) -> int:
    """The bytes of all variables; no optimizer is among them."""
    return sum(variable.num_bytes for variable in self.variables)


def read(name: str) -> Dict[str, Any]:
  """Returns the content of a file.

  Args:
    name: str, one of `NAMES`.

  Returns:
    Dict with the keys `model`, `source`, `names`, `parameters`,
    `untrained_parameters` and `variables`; these have a name, a shape and a
    dtype.
  """
  path = runfiles.Create().Rlocation(
      f"adanet/benchmarks/models/{name}.json")
  with open(path, encoding="utf-8") as f:
    return json.load(f)


def num_elements(shape: Sequence[int]) -> int:
  """Returns the number of elements of a tensor of a shape."""
  return functools.reduce(operator.mul, shape, 1)


def load(name: str) -> Model:
  """Returns a model.

  Args:
    name: str, one of `NAMES`.
  """
  content = read(name)
  return Model(content["model"], tuple(
      Variable(v["name"], num_elements(v["shape"]) * _NUM_BYTES[v["dtype"]])
      for v in content["variables"]))
