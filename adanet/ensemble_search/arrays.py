# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays of a user as `Model.fit` takes them: checked, and made tensors.

What `Model.predict` would refuse is refused here, because `search.model` has to
take the same data, such as text in NumPy's own types. But a frame with text is
a dict of its columns, as `adanet.columns` makes the dict for `Model.predict`.
"""

from collections.abc import Iterator, Mapping
import hashlib
from typing import Any
import zlib

from adanet import checks
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import frames as frames_lib
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_EXPECTED = ("expected an array, such as numpy.asarray(...), a dict or a list "
             "of arrays, a data frame, a tf.data.Dataset, a "
             "keras.utils.PyDataset, or a function that returns a dataset")
_FLOATS = ("float16", "float32", "float64", "bfloat16")
_ARGUMENTS = ("x", "y", "sample_weight")
# A larger array is digested by some of its rows.
_MAX_DIGEST_BYTES, _DIGEST_ROWS = 256 << 20, 4096


def read_batch(name: str, batch: Any) -> tuple:
  """Returns `(x, y)` or `(x, y, weights)` of arrays, checked.

  Args:
    name: str, the argument that has all parts; "" for three arguments.
    batch: tuple or list of one to three structures of arrays.
  """
  if not isinstance(batch, (tuple, list)) or not 1 <= len(batch) <= 3:
    raise ValueError(
        f"{name} is {messages.describe(batch)}: expected a tuple (x, y) or "
        "(x, y, sample_weight), or a dataset.")
  names = [f"{name}[{i}]" for i in range(3)] if name else list(_ARGUMENTS)
  parts = [read(*pair) for pair in zip(names, batch)]
  if not frames_lib.name_arrays(names[0], parts[0]):
    raise ValueError(f"{names[0]} has no arrays: {_EXPECTED}.")
  while parts[-1] is None:
    parts.pop()
  if len(parts) == 3:
    for key, array in frames_lib.name_arrays(names[2], parts[2]).items():
      weights = np.asarray(tensor(array))
      wrong = weights[~((weights >= 0) & (weights < np.inf))]
      if wrong.size:
        raise ValueError(f"{key} has {wrong[0]}: expected finite weights of at "
                         "least 0.")
    if not keras.tree.is_nested(parts[2]):  # Weights for all outputs.
      parts[2] = keras.tree.map_structure(lambda _: parts[2], parts[1])
  counts = {key: int(array.shape[0]) for name, part in zip(names, parts)
            for key, array in frames_lib.name_arrays(name, part).items()}
  checks.check_rows(counts)
  return tuple(parts)


def read(name: str, value: Any) -> Any:
  """Returns the arrays of a user, in the same structure.

  Raises:
    TypeError: there is anything but arrays.
    ValueError: Keras would not take an array.
  """
  if value is None or isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
    return value
  if isinstance(value, Mapping):
    return {key: read(f"{name}[{key!r}]", part) for key, part in value.items()}
  if isinstance(value, (list, tuple)):
    # Model.fit gives a model tuples for lists, too.
    return tuple(read(f"{name}[{i}]", part) for i, part in enumerate(value))
  if frames_lib.is_frame(value):
    if all(map(frames_lib.is_number, value.dtypes)):
      value = frames_lib.read_matrix(name, value)
    elif name.startswith(("x", "validation_data[0]")):
      return read(name, frames_lib.read_columns(name, value))
  if hasattr(value, "tocoo"):  # A sparse matrix of SciPy.
    value = value.tocsr().tocoo()
    return tf.SparseTensor(
        np.stack([value.row, value.col], 1).astype(np.int64),
        _with_floatx(value.data), value.shape)
  if not hasattr(value, "__array__") or not np.ndim(value):
    raise TypeError(f"{name} is {messages.describe(value)}: {_EXPECTED}.")
  if isinstance(value, tf.Tensor) and not (
      value.dtype == tf.string and _is_label(name)):
    return _with_floatx(value)
  return _read_array(name, value)


def _is_label(name):
  return name.startswith(("y", "validation_data[1]"))


def _with_floatx(array):
  """Returns an array with Keras's type of floats."""
  if array.dtype.name not in _FLOATS:
    return array
  floatx = keras.config.floatx()
  return (tf.cast(array, floatx) if isinstance(array, tf.Tensor) else
          array.astype(floatx, copy=False))


def _read_array(name, value):
  """Returns an array of NumPy, a memmap or a tensor of text."""
  if np.ma.is_masked(value):
    raise ValueError(f"{name} has masked values: give them a value, for "
                     "example with numpy.ma.filled.")
  array = np.asanyarray(value)
  if frames_lib.is_series(value):
    array = array[:, None]  # As Keras does.
  if array.dtype.kind == "O" and not _is_label(name) and all(
      isinstance(text, str) for text in array):
    return tf.constant(array, tf.string)
  if array.dtype.kind in "fiubc" or array.dtype.name == "bfloat16":
    # A memmap is read as it is needed.
    return array if is_large(array) else _with_floatx(array)
  if array.dtype.kind == "O":
    frames_lib.check_missing(name, value, array)
  is_text = array.dtype.kind in "SU" or any(
      isinstance(text, (str, bytes)) for text in array.flat[:1])
  advice = frames_lib.advise_polars(name, value) or (
      "Give numbers, for example astype(\"float32\"), or classes of text: "
      "np.unique(y, return_inverse=True)[1]." if _is_label(name) else
      "Give numbers, for example astype(\"float32\"), or text as "
      "tf.constant(...) or in adanet.columns(frame).")
  raise TypeError(
      f"{name} has {'text' if is_text else f'the type {array.dtype}'}, which "
      f"Keras does not take: {advice}")


def is_large(array: Any) -> bool:
  """Returns whether an array stays in its file."""
  return isinstance(array, np.memmap) and array.nbytes > 1 << 30


def tensor(array: Any) -> Any:
  """Returns an array as a tensor of the type that a network takes."""
  if isinstance(array, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
    return array
  # Outside of a graph, which has at most 2 GB of constants.
  return tf.convert_to_tensor(_with_floatx(np.asarray(array)))


def check_inputs(owner: str, model: Any, x: Any) -> None:
  """Checks that a model with a dict of inputs has an input for each name of x.

  Keras gives the model the arrays of another dict in the order of the sorted
  names, without an error if x has more names. `x` is a structure of specs.
  """
  try:
    inputs = model.input
  except (AttributeError, ValueError):  # The model is not built.
    return
  if not isinstance(inputs, Mapping) or not isinstance(x, Mapping):
    return
  others = sorted(set(x) - set(inputs))
  if others:
    raise ValueError(
        f"{owner} has no input for {messages.list_names(others)} of x, and "
        "Keras would give the other inputs wrong arrays: expected an input for "
        "each name. For a model of some columns, give keras.Model a list of "
        "inputs, which Keras finds by their names: list(inputs.values()).")


def classes(y: Any) -> np.ndarray | None:
  """Returns the class of each row as int32; None where labels are no classes.

  Classes have the shape [n] or [n, 1], or are rows of probabilities.
  """
  if isinstance(y, (Mapping, list, tuple, tf.RaggedTensor,
                    tf.SparseTensor)) or y is None:
    return None
  labels = np.asarray(y)
  if labels.ndim == 2 and labels.shape[1] == 1:
    labels = labels[:, 0]
  elif labels.ndim == 2 and np.allclose(labels.sum(1), 1, atol=1e-3) and (
      labels.min() >= 0):
    labels = labels.argmax(1)
  with np.errstate(invalid="ignore"):  # NaN is of no class.
    return np.round(labels).astype("int32") if labels.ndim == 1 else None


def class_weights(y: Any, class_weight: Any) -> np.ndarray:
  """Returns the weight of each row, as `Model.fit` computes weights.

  Args:
    y: the labels, see `classes`.
    class_weight: dict from class to weight; a missing class weighs 1.
  """
  if not isinstance(class_weight, Mapping) or not all(
      isinstance(label, (int, np.integer)) for label in class_weight):
    raise TypeError(
        f"class_weight is {messages.describe(class_weight)}: expected a dict "
        "from class to weight, such as {0: 1., 1: 5.}.")
  for label, weight in class_weight.items():
    checks.check_number(
        f"class_weight[{label}]", weight, lambda v: 0 <= v < float("inf"),
        "a finite number of at least 0")
  labels = classes(y)
  if labels is None:
    raise ValueError(
        "class_weight: expected None, or labels y of a single output with a "
        "class in each row, or one-hot rows. Give sample_weight for anything "
        "else.")
  return np.array([class_weight.get(label, 1.) for label in labels.tolist()],
                  keras.config.floatx())


def find_not_finite(batch: tuple) -> Iterator[tuple[str, str, np.ndarray]]:
  """Yields arguments with NaN or infinity, with words and numbers of rows.

  Sparse and ragged tensors, and large memmaps, are left out.
  """
  for argument, structure in zip(_ARGUMENTS, batch):
    for name, array in frames_lib.name_arrays(argument, structure).items():
      if is_large(array) or isinstance(
          array, (tf.RaggedTensor, tf.SparseTensor)):
        continue
      values = np.asarray(array)
      if values.dtype.kind != "f" or np.isfinite(values).all():
        continue
      wrong = ~np.isfinite(values.reshape(len(values), -1))
      rows = np.flatnonzero(wrong.any(1)).astype(np.int32)
      kind = "NaN" if np.isnan(values).any() else "infinity"
      text = f"{name} has {kind} in {len(rows)} of {len(values)} rows"
      if values.ndim == 2 and values.shape[1] > 1:
        columns = np.flatnonzero(wrong.any(0))
        text += (f", in {'columns' if len(columns) > 1 else 'column'} "
                 f"{messages.list_names(columns)}")
      yield argument, text, rows


def digest(structure: Any) -> str:
  """Returns the shapes of the arrays of a structure, and a digest."""
  named = frames_lib.name_arrays("", structure)
  result = hashlib.sha256()
  for name, array in sorted(named.items()):
    result.update(f"{name}/{array.dtype}/{array.shape}".encode())
    for part in map(np.asarray, tf.nest.flatten(
        array, expand_composites=True)):
      step = (1 if part.nbytes <= _MAX_DIGEST_BYTES else
              max(1, len(part) // _DIGEST_ROWS))
      result.update(_content(part[::step]))
  shapes = messages.list_names(list(array.shape) for array in named.values())
  return f"{shapes} {result.hexdigest()[:20]}"


def add_checksum(flat: list, checksum: int) -> int:
  """Returns a checksum of tensors and of the tensors before, by `checksum`."""
  for part in tf.nest.flatten(flat, expand_composites=True):
    checksum = zlib.crc32(_content(part), checksum)
  return checksum


def _content(array):
  """Returns the bytes of an array or a tensor."""
  array = np.asarray(array)
  if array.dtype.kind == "O":  # Text.
    return tf.io.serialize_tensor(array).numpy()
  return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def count_bytes(flat: list) -> int:
  """Returns the bytes of tensors; text counts little."""
  return sum(part.shape.num_elements() * part.dtype.size
             for part in tf.nest.flatten(flat, expand_composites=True))
