# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values of variables in checkpoints, as dicts by the variables' names."""

from typing import Any, Dict

from adanet import tf_compat
from adanet.tf_compat import checkpoint_file
import numpy as np


def latest(model_dir: str) -> Dict[str, Any]:
  """Returns the values of all variables of the last checkpoint."""
  reader = checkpoint_file.reader(
      checkpoint_file.latest(model_dir) or model_dir)
  return {name: reader.get_tensor(name)
          for name in reader.get_variable_to_shape_map()}


def save(prefix: str, values: Dict[str, Any], **arguments: Any) -> str:
  """Writes a checkpoint of these values alone.

  Args:
    prefix: str, of its path.
    values: dict from name to array.
    **arguments: more arguments of `Saver.save`.

  Returns:
    str, its path, with the step if there is one.
  """
  v1 = tf_compat.v1
  with v1.Graph().as_default(), v1.Session() as session:
    for name, value in values.items():
      v1.get_variable(name, initializer=value)
    session.run(v1.global_variables_initializer())
    return v1.train.Saver().save(
        session, prefix, write_meta_graph=False, **arguments)


def assert_equal(expected: Dict[str, Any], actual: Dict[str, Any]) -> None:
  """Asserts that there are the same variables, with exactly these values."""
  different = set(expected) ^ set(actual)
  if different:
    raise AssertionError(f"not in both: {sorted(different)}")
  for name, value in expected.items():
    np.testing.assert_array_equal(value, actual[name], name)
