# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that the outputs of subnetworks fit together.

Without these checks, TensorFlow silently broadcasts tensors of different
shapes.
"""

from typing import Any, Iterable, Sequence


def check_same_heads(subnetworks: Iterable[Any]) -> None:
  """Checks that all subnetworks have the same heads, or none.

  Raises:
    ValueError: the heads differ.
  """
  heads = [sorted(subnetwork.logits, key=str)
           if isinstance(subnetwork.logits, dict) else None
           for subnetwork in subnetworks]
  for index, other in enumerate(heads):
    if other != heads[0]:
      raise ValueError(
          f"subnetworks[{index}].logits has the heads {other}, and "
          f"subnetworks[0].logits has {heads[0]}: expected the same heads in "
          "all of an ensemble.")


def check_compatible(name: str, tensors: Sequence[Any]) -> None:
  """Checks that the known static shapes of tensors are equal.

  Args:
    name: str, the name of the tensor in each subnetwork, for the error.
    tensors: list with a tensor of each subnetwork.

  Raises:
    ValueError: two shapes differ.
  """
  for index, tensor in enumerate(tensors):
    if not tensors[0].shape.is_compatible_with(tensor.shape):
      raise ValueError(
          f"subnetworks[{index}].{name} has the shape {tensor.shape}, and "
          f"subnetworks[0].{name} has {tensors[0].shape}: expected the same "
          "shape in all of an ensemble.")
