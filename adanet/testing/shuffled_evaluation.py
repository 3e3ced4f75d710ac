# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A search with candidates judged on an input that is shuffled each time."""

from typing import Any, List, Optional

import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.testing import builders
from adanet.testing import searches
from adanet.training import model as model_lib


def candidates() -> List[builders.Dense]:
  """Returns the builders "a", "b" and "c". The last two are the same."""
  return [builders.Dense(name, width=width)
          for name, width in (("a", 2), ("b", 3), ("c", 3))]


def input_fn() -> Any:
  """Returns the data in an order that no seed of its own says."""
  features, labels = builders.data()
  return tf_compat.v1.data.Dataset.from_tensor_slices(
      ({"x": features}, labels)).shuffle(len(labels)).batch(4)


def model(model_dir: str, steps: Optional[int] = None) -> model_lib.Model:
  """Returns the model of a search of these candidates.

  Args:
    model_dir: str.
    steps: int, how many batches judge and report; None for all.
  """
  return model_lib.Model(
      searches.make(candidates()), model_dir_lib.ModelDir(model_dir),
      tf_compat.RunConfig(model_dir=model_dir),
      distributed.RoundRobinStrategy(),
      model_lib.Rules(adanet.Evaluator(input_fn, steps=steps)),
      adanet.ReportMaterializer(input_fn, steps=steps))
