# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions that return an input_fn of data in memory.

They have the arguments of `tf.estimator.inputs`, on every TensorFlow. Each
input_fn returns a `tf.data.Dataset`. The data is not in the graph, and an
input_fn can be pickled. In a cluster, workers that train the same subnetworks
divide rows that end. With `num_epochs=None` each worker reads all rows, each
one from another row on.
"""

from typing import Any, Callable, Optional

from adanet.core import user_input
from adanet.training import arrays
import numpy as np

__all__ = ["numpy_input_fn", "pandas_input_fn"]

_InputFn = Callable[..., Any]


def numpy_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: Optional[int] = 1,
    shuffle: Optional[bool] = None, queue_capacity: int = 1000,
    num_threads: int = 1, seed: Optional[int] = None) -> _InputFn:
  """Returns an input_fn of arrays.

  A batch goes on in the next epoch. The last one of all may be smaller.

  Args:
    x: the features: array, or dict from name to array. Dimension 0 of each is
      that of the examples.
    y: the labels: the same, or None. With two dicts, no name may be in both.
    batch_size: int, how many examples a batch has.
    num_epochs: int, how often all examples are read; None for no end.
    shuffle: bool, must be given: whether each epoch has the examples in another
      order. True to train, False to evaluate and to predict.
    queue_capacity: without effect; accepted for compatibility.
    num_threads: without effect; accepted for compatibility.
    seed: int, shuffles in the same way again. None for the `tf_random_seed` of
      the config, or without that for another way each time; on a cluster and
      without an end, for a way that follows from the `model_dir`.

  Returns:
    A function that may take `config` and `input_context`, and returns a
    `tf.data.Dataset` of `(features, labels)`, or without `y` of features.

  Raises:
    TypeError: `x` or `y` is not as described.
    ValueError: an argument is not as described, or the arrays do not have the
      same number of rows.
  """
  del queue_capacity, num_threads
  if hasattr(x, "columns"):
    raise TypeError(f"x is {user_input.described(x)}: use pandas_input_fn, or "
                    "give a dict from name to array.")
  features = arrays.checked("x", x)
  labels = None if y is None else arrays.checked("y", y)
  if isinstance(features, dict) and isinstance(labels, dict):
    for name in features:
      if name in labels:
        raise ValueError(f"x and y both have the name {name!r}: rename one.")
  return arrays.ArrayInput(
      features, labels, batch_size, num_epochs, shuffle, seed)


def pandas_input_fn(x: Any, y: Any = None, batch_size: int = 128,
                    num_epochs: Optional[int] = 1,
                    shuffle: Optional[bool] = None, queue_capacity: int = 1000,
                    num_threads: int = 1, target_column: str = "target",
                    seed: Optional[int] = None) -> _InputFn:
  """Returns an input_fn of a data frame of pandas.

  The features are a dict from a column to a tensor of shape [batch_size].

  Args:
    x: `DataFrame`, the features. It is copied.
    y: `Series`, the labels, or a `DataFrame` for a dict of labels; or None. Its
      index is that of `x`.
    batch_size: see `numpy_input_fn`.
    num_epochs: see `numpy_input_fn`.
    shuffle: see `numpy_input_fn`.
    queue_capacity: without effect; accepted for compatibility.
    num_threads: without effect; accepted for compatibility.
    target_column: str, a name that no column of `x` may have where `y` is a
      `Series`.
    seed: see `numpy_input_fn`.

  Returns:
    See `numpy_input_fn`.

  Raises:
    TypeError: `x` or `y` is not as described.
    ValueError: an argument is not as described, or the index of `y` is not that
      of `x`.
  """
  del queue_capacity, num_threads
  if not hasattr(x, "columns"):
    raise TypeError(f"x is {user_input.described(x)}: expected a DataFrame of "
                    "pandas. For arrays, use numpy_input_fn.")
  if not isinstance(target_column, str):
    raise TypeError(f"target_column is {user_input.described(target_column)}: "
                    "expected a str.")
  if y is not None:
    if not hasattr(y, "index") or not hasattr(y, "iloc"):
      raise TypeError(
          f"y is {user_input.described(y)}: expected a Series or a DataFrame "
          "of pandas, such as pandas.Series(y, index=x.index).")
    if not np.array_equal(np.asarray(x.index), np.asarray(y.index)):
      raise ValueError(
          "y does not have the index of x: expected the same labels in the "
          "same order: try y.reindex(x.index).")
    if not hasattr(y, "columns") and target_column in x.columns:
      raise ValueError(
          f"target_column={target_column!r}: x has a column of this name. "
          "Leave it out of the features, or choose another name.")
  return arrays.ArrayInput(
      arrays.checked("x", x.copy()),
      None if y is None else arrays.checked("y", y.copy()),
      batch_size, num_epochs, shuffle, seed)
