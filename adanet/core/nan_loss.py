# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets programs of `tf.estimator` catch an `AllNaNError` as they are used to.

`selection` does not import TensorFlow, so its own error is not of TensorFlow's
class.
"""

import contextlib
import functools
from typing import Iterator

from adanet import tf_compat
from adanet.core import selection


@functools.lru_cache(maxsize=None)
def _error_class():
  """Returns the class of `raised_in_training`, made when it is needed."""

  class InTraining(selection.AllNaNError,
                   tf_compat.v1.train.NanLossDuringTrainingError):
    """A `selection.AllNaNError` that is TensorFlow's error of a NaN, too."""

    # The name in a traceback: users search for it.
    __module__ = "adanet"
    __qualname__ = "AllNaNError"

    def __str__(self):  # TensorFlow's leaves the message out.
      return "".join(map(str, self.args))

  return InTraining


@contextlib.contextmanager
def raised_in_training() -> Iterator[None]:
  """Lets `except tf.train.NanLossDuringTrainingError` catch an `AllNaNError`.
  """
  try:
    yield
  except selection.AllNaNError as error:
    raise _error_class()(*error.args).with_traceback(
        error.__traceback__) from None
