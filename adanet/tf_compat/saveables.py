# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors that a checkpoint has, without a variable for each."""

from typing import Any, Sequence

from adanet.tf_compat import _tensorflow
# pylint: disable=g-direct-tensorflow-import
from tensorflow.python.training.saving import saveable_object


class _Tensors(saveable_object.SaveableObject):
  """What a `Saver` saves; it is never restored."""

  def restore(self, restored_tensors, restored_shapes):
    return _tensorflow.v1.no_op()


def add(names: Sequence[str], tensors: Sequence[Any]) -> None:
  """Lets each later `Saver` of the default graph save some tensors.

  Args:
    names: those of the tensors in the checkpoint, at least one.
    tensors: the tensors, which are computed when the checkpoint is saved.
  """
  v1 = _tensorflow.v1
  v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, _Tensors(
      tensors[0], [
          saveable_object.SaveSpec(tensor, "", name)
          for name, tensor in zip(names, tensors)], names[0]))
