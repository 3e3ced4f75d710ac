# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions that return an input_fn of data in memory.

The functions have the arguments of `tf.estimator.inputs` and work on all
versions of TensorFlow. The input_fn returns a `tf.data.Dataset`, keeps the data
out of the graph, and can be pickled. In a cluster, the workers that train the
same subnetworks divide the rows. With `num_epochs=None`, each worker reads all
rows, and workers start at different rows. Interrupted training resumes at the
next batch without reading earlier batches. For example::

    train_input_fn = adanet.inputs.numpy_input_fn(
        {"pixels": images}, labels, batch_size=50, num_epochs=None,
        shuffle=True)
    estimator.train(train_input_fn, max_steps=3000)
"""

from typing import Any, Callable, Optional

from adanet import messages
from adanet.training import arrays
import numpy as np

__all__ = ["numpy_input_fn", "pandas_input_fn"]

_InputFn = Callable[..., Any]


def numpy_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: Optional[int] = 1,
    shuffle: Optional[bool] = None, queue_capacity: int = 1000,
    num_threads: int = 1, seed: Optional[int] = None) -> _InputFn:
  """Returns an input_fn of arrays.

  A batch at the end of an epoch continues with rows of the next epoch. The last
  batch may be smaller.

  For example::

      input_fn = adanet.inputs.numpy_input_fn(
          {"pixels": images}, labels, batch_size=50, shuffle=False)

  Args:
    x: the features: array, or dict from name to array. Dimension 0 of each
      array is the number of examples.
    y: the labels, in the same form, or None. No name may be in both `x` and
      `y`.
    batch_size: int, the number of examples of a batch.
    num_epochs: int, the number of passes over the examples; None to repeat
      without end.
    shuffle: bool, required: whether to shuffle the examples anew in each epoch.
      True to train, False to evaluate and to predict.
    queue_capacity, num_threads: ignored; accepted for compatibility.
    seed: int, the seed of the order of the examples. None for the
      `tf_random_seed` of the config. Without both, the order is random, except
      that on a cluster with `num_epochs=None` the order follows from the
      `model_dir`.

  Returns:
    A function that may take `config` and `input_context` and returns a
    `tf.data.Dataset` of `(features, labels)`, or of features if `y` is None.

  Raises:
    TypeError: `x` or `y` is neither an array nor a dict of arrays, or
      `batch_size`, `num_epochs` or `seed` is not an integer.
    ValueError: `shuffle` is not given, `batch_size` or `num_epochs` is less
      than 1, a name is in both `x` and `y`, or the arrays do not have the same
      number of rows.
  """
  del queue_capacity, num_threads
  if hasattr(x, "columns"):
    raise TypeError(f"x is {messages.describe(x)}: use pandas_input_fn, or "
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
  """Returns an input_fn of a pandas data frame.

  The features are a dict from column to tensor of shape [batch_size].

  For example::

      input_fn = adanet.inputs.pandas_input_fn(
          frame.drop(columns="price"), frame["price"], shuffle=True)

  Args:
    x: `DataFrame`, the features; copied.
    y: `Series` of labels, `DataFrame` for a dict of labels, or None. The index
      must be the same as in `x`.
    batch_size, num_epochs, shuffle, seed: see `numpy_input_fn`.
    queue_capacity, num_threads: ignored; accepted for compatibility.
    target_column: str, a name that no column of `x` may have where `y` is a
      `Series`.

  Returns:
    See `numpy_input_fn`.

  Raises:
    TypeError: `x` is no `DataFrame`, `y` is no `Series` or `DataFrame`,
      `target_column` is no str, or as in `numpy_input_fn`.
    ValueError: the indices of `x` and `y` differ, `x` has a column
      `target_column`, or as in `numpy_input_fn`.
  """
  del queue_capacity, num_threads
  if not hasattr(x, "columns"):
    raise TypeError(f"x is {messages.describe(x)}: expected a DataFrame of "
                    "pandas. For arrays, use numpy_input_fn.")
  if not isinstance(target_column, str):
    raise TypeError(f"target_column is {messages.describe(target_column)}: "
                    "expected a str.")
  if y is not None:
    if not hasattr(y, "index") or not hasattr(y, "iloc"):
      raise TypeError(
          f"y is {messages.describe(y)}: expected a Series or a DataFrame "
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
