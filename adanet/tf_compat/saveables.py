# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensors that a checkpoint has, without a variable for each."""

import functools
from typing import Any, Sequence

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import tensorflow_internals


@functools.lru_cache(maxsize=None)
def _kinds():
  """Returns two classes, made when TensorFlow is needed."""
  saveable_object, save_spec = tensorflow_internals.saveable_classes()

  class Tensors(saveable_object):
    """The data that a `Saver` saves; it is never restored."""

    def restore(self, restored_tensors, restored_shapes):
      return _tensorflow.v1.no_op()

  return Tensors, save_spec


def add(names: Sequence[str], tensors: Sequence[Any]) -> None:
  """Lets each later `Saver` of the default graph save some tensors.

  Args:
    names: the names of the tensors in the checkpoint, at least one.
    tensors: the tensors, which are computed when the checkpoint is saved.
  """
  v1 = _tensorflow.v1
  kind, spec = _kinds()
  v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, kind(
      tensors[0], [spec(tensor, "", name)
                   for name, tensor in zip(names, tensors)], names[0]))
