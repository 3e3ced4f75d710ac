# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays of a user as `Model.fit` takes them: checked, and made tensors.

What `Model.predict` would refuse is refused here, because `search.model` has to
take the same data: text in NumPy's own types, or frames of several types.
"""

from collections.abc import Mapping
import hashlib
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_EXPECTED = ("expected an array, a dict or a list of arrays, a data frame, a "
             "tf.data.Dataset, a keras.utils.PyDataset, or a function that "
             "returns a dataset")
_NO_TEXT = ("Make classes of it, for example with np.unique(y, "
            "return_inverse=True)[1].")
_FLOATS = ("float16", "float32", "float64", "bfloat16")
# Of a larger array, some bytes stand for all.
_MAX_DIGEST_BYTES = 256 << 20
_DIGEST_ROWS = 4096


def check_rows(name: str, found: dict[str, Any]) -> None:
  """Checks that all arrays have as many rows, and at least one.

  Raises:
    ValueError: the arrays have different numbers of rows, or none.
  """
  if not found:
    raise ValueError(f"{name} has no arrays: {_EXPECTED}.")
  (first, rows), *rest = (
      (key, int(array.shape[0])) for key, array in found.items())
  for key, count in rest:
    if count != rows:
      raise ValueError(f"{first} has {rows} rows and {key} has {count}: "
                       "expected as many.")
  if not rows:
    raise ValueError(f"{first} has no rows.")


def rows_of(structure: Any) -> int:
  """Returns how many rows the arrays of a structure have."""
  return int(next(iter(named("", structure).values())).shape[0])


def named(name: str, structure: Any) -> dict[str, Any]:
  """Returns the arrays of a structure by their names in messages."""
  if structure is None:
    return {}
  if isinstance(structure, Mapping):
    parts = {f"{name}[{key!r}]": one for key, one in structure.items()}
  elif isinstance(structure, (list, tuple)):
    parts = {f"{name}[{i}]": one for i, one in enumerate(structure)}
  else:
    return {name: structure}
  found: dict[str, Any] = {}
  for key, one in parts.items():
    found.update(named(key, one))
  return found


def read(name: str, value: Any) -> Any:
  """Returns the arrays that a user gives, in the same structure.

  Args:
    name: str, the argument, for messages.
    value: an array, or a nested structure of arrays.

  Raises:
    TypeError: there is something else than arrays.
    ValueError: Keras would not take an array.
  """
  if value is None:
    return None
  if isinstance(value, Mapping):
    return {key: read(f"{name}[{key!r}]", one) for key, one in value.items()}
  if isinstance(value, (list, tuple)):
    # Model.fit gives a model tuples for lists, too.
    return tuple(read(f"{name}[{i}]", one) for i, one in enumerate(value))
  if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
    return value
  if hasattr(value, "tocoo"):
    return _of_scipy(value)
  if isinstance(value, (str, bytes, int, float)) and name.endswith("]"):
    raise TypeError(f"{name} is {words.described(value)}: expected an array in "
                    "its place. Keras takes no lists of numbers or text: give "
                    "numpy.asarray(...) of the list.")
  if not hasattr(value, "__array__"):
    raise TypeError(f"{name} is {words.described(value)}: {_EXPECTED}.")
  if isinstance(value, tf.Tensor):
    return _with_floatx(value)
  return _array(name, value)


def _of_scipy(value):
  """Returns a sparse matrix of SciPy as TensorFlow's."""
  value = value.tocsr().tocoo()
  return tf.SparseTensor(
      np.stack([value.row, value.col], 1).astype(np.int64),
      _with_floatx(value.data), value.shape)


def _with_floatx(array):
  """Returns an array with the type of floats that Keras has."""
  floatx = keras.config.floatx()
  name = getattr(array.dtype, "name", "")
  if name == floatx or name not in _FLOATS:
    return array
  return (tf.cast(array, floatx) if isinstance(array, tf.Tensor) else
          array.astype(floatx))


def _array(name, value):
  """Returns an array of NumPy, a memmap or a tensor of text."""
  if np.ma.is_masked(value):
    raise ValueError(f"{name} has masked values: give them a value, for "
                     "example with numpy.ma.filled.")
  array = value if isinstance(value, np.ndarray) else np.asarray(value)
  if not array.ndim:
    raise ValueError(f"{name} is a single value: expected a row for each "
                     "example.")
  if hasattr(value, "iloc") and not hasattr(value, "columns"):
    array = array[:, None]  # As Keras does with a Series.
  if array.dtype.kind == "O" and all(isinstance(one, str) for one in array):
    return tf.constant(array, tf.string)
  if array.dtype.kind not in "fiubc" and array.dtype.name != "bfloat16":
    kind = ("text" if array.dtype.kind in "SU" or isinstance(
        array.flat[0] if array.size else "", (str, bytes)) else
            f"the type {array.dtype}")
    advice = ("tf.constant(...) of it" if kind == "text" else
              "numbers, for example astype(\"float32\")")
    if hasattr(value, "columns"):
      kind, advice = ("columns of several types", "a frame of numbers, such as "
                      f"{name}.astype(\"float32\"), or dict({name}) for models "
                      "with an input for each column")
    raise TypeError(f"{name} has {kind}, which Keras does not take: " + (
        _NO_TEXT if kind == "text" and name.startswith(
            ("y", "validation_data[1]")) else f"give {advice}."))
  # A memmap is read as it is needed.
  return array if is_large(array) else _with_floatx(array)


def is_large(array: Any) -> bool:
  """Returns whether an array stays in its file."""
  return isinstance(array, np.memmap) and array.nbytes > 1 << 30


def tensor(array: Any) -> Any:
  """Returns an array as a tensor of the type that a network is given."""
  if isinstance(array, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
    return array
  # Outside of a graph: a constant of one has at most 2 GB.
  return tf.convert_to_tensor(_with_floatx(np.asarray(array)))


def parts(array: Any) -> list[np.ndarray]:
  """Returns the arrays of numbers that a tensor or an array consists of."""
  if isinstance(array, tf.RaggedTensor):
    return [*parts(array.flat_values), *(
        one.numpy() for one in array.nested_row_splits)]
  if isinstance(array, tf.SparseTensor):
    return [*parts(array.values), array.indices.numpy(),
            array.dense_shape.numpy()]
  found = np.asarray(array)
  if found.dtype != object:
    return [found]
  return [np.frombuffer(b"".join(found.flat), np.uint8), np.array(
      list(map(len, found.flat)), np.int64).reshape(found.shape)]


def of_parts(spec: Any, found: list[np.ndarray]) -> Any:
  """Returns the tensor of a `TypeSpec` that `parts` has divided."""
  values, *rest = found
  if spec.dtype == tf.string:
    lengths, *rest = rest
    ends = np.cumsum(lengths)
    values = np.array([
        values[end - size:end].tobytes() for end, size in zip(
            ends, lengths.flat)], object).reshape(lengths.shape)
  values = tf.constant(values, spec.dtype)
  if isinstance(spec, tf.RaggedTensorSpec):
    return tf.RaggedTensor.from_nested_row_splits(values, rest)
  return (tf.SparseTensor(rest[0], values, rest[1]) if isinstance(
      spec, tf.SparseTensorSpec) else values)


def check_frames(x: Any, y: Any, sample_weight: Any, held_out: Any) -> None:
  """Checks the names of rows and columns, where data have some.

  Args:
    x, y, sample_weight: as a user gives them.
    held_out: `validation_data`, or None.

  Raises:
    ValueError: held-out columns have another order than those of `x`, or the
      index of `y` or `sample_weight` has another order than that of `x`.
  """
  columns = getattr(x, "columns", None)
  if columns is not None and isinstance(held_out, (list, tuple)) and held_out:
    others = getattr(held_out[0], "columns", None)
    if others is not None and list(columns) != list(others):
      raise ValueError(
          f"validation_data[0] has the columns {', '.join(map(str, others))}, "
          f"and x {', '.join(map(str, columns))}: expected the same ones in "
          "the same order, such as those of frame[x.columns].")
  pairs = [("y", x, y), ("sample_weight", x, sample_weight)]
  if isinstance(held_out, (list, tuple)) and len(held_out) > 1:
    pairs.append(("validation_data[1]", *held_out[:2]))
  for name, one, other in pairs:
    index, second = (list(part.index) if hasattr(part, "iloc") and hasattr(
        part, "index") else None for part in (one, other))
    if index is not None and second is not None and index != second and (
        len(index) == len(second) and set(index) == set(second)):
      raise ValueError(
          f"{name} has the index of x in another order: expected the same "
          "order. Give y.loc[x.index], or reset_index(drop=True) of both if "
          "rows belong together by position.")


def check_labels(name: str, y: Any) -> None:
  """Checks that labels are numbers.

  Raises:
    ValueError: some are text.
  """
  for key, array in named(name, y).items():
    if array.dtype == tf.string:
      raise ValueError(
          f"{key} has text: expected numbers. {_NO_TEXT}")


def classes(y: Any) -> np.ndarray | None:
  """Returns the class of each row as int32; None where labels are no classes.

  Args:
    y: the labels: classes of shape [n] or [n, 1], or rows of probabilities.
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


def weights_of_classes(y: Any, class_weight: Any) -> np.ndarray:
  """Returns the weight of each row, as `Model.fit` computes it.

  Args:
    y: the labels: classes of shape [n] or [n, 1], or rows of probabilities.
    class_weight: dict from class to weight; a class that is missing weighs 1.

  Raises:
    TypeError: `class_weight` is no dict.
    ValueError: a class is no int, a weight no number of at least 0, or `y` has
      other labels.
  """
  if not isinstance(class_weight, Mapping):
    raise TypeError(
        f"class_weight is {words.described(class_weight)}: expected a dict "
        "from class to weight, such as {0: 1., 1: 5.}.")
  for label, weight in class_weight.items():
    if isinstance(label, bool) or not isinstance(label, (int, np.integer)):
      raise ValueError(f"class_weight has the class {label!r}: expected an "
                       "int.")
    if isinstance(weight, bool) or not isinstance(
        weight, (int, float, np.number)) or not 0 <= weight < float("inf"):
      raise ValueError(f"class_weight[{label}]={weight!r}: expected a finite "
                       "number of at least 0.")
  if isinstance(y, (Mapping, list, tuple)) or y is None:
    raise ValueError("class_weight: expected None for models with several "
                     "outputs, or labels y of one. Give sample_weight.")
  labels = classes(y)
  if labels is None:
    raise ValueError(
        f"class_weight: y has the shape {[None, *y.shape[1:]]}, expected a "
        "class in each row, or one-hot rows. Give sample_weight for anything "
        "else.")
  known, inverse = np.unique(labels, return_inverse=True)
  return np.array([class_weight.get(int(one), 1.) for one in known],
                  keras.config.floatx())[inverse.reshape(-1)]


def not_finite(batch: Any) -> list[str]:
  """Returns words about arrays of `(x, y, weights)` that have NaN."""
  found = []
  for argument, structure in zip(("x", "y", "sample_weight"), batch):
    for name, array in named(argument, structure).items():
      array = getattr(array, "values", array) if isinstance(
          array, (tf.RaggedTensor, tf.SparseTensor)) else array
      array = np.asarray(array) if not is_large(array) else array[:1]
      if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = ~np.isfinite(array.reshape(len(array), -1))
        what = "NaN" if np.isnan(array).any() else "infinity"
        found.append(f"{name} has {what} in {int(bad.any(1).sum())} of "
                     f"{len(array)} rows")
  return found


def digest(structure: Any) -> str:
  """Returns a digest of all arrays of a structure, with their shapes."""
  result = hashlib.sha256()
  for name, array in sorted(named("", structure).items()):
    result.update(f"{name}/{array.dtype}/{array.shape}".encode())
    parts = [array]
    if isinstance(array, tf.RaggedTensor):
      parts = [array.flat_values, *array.nested_row_splits]
    elif isinstance(array, tf.SparseTensor):
      parts = [array.indices, array.values]
    for part in parts:
      part = part if isinstance(part, np.ndarray) else part.numpy()
      if part.dtype.kind == "O":
        for one in part.flat:
          result.update(b"%d:" % len(one) + one)
        continue
      if part.nbytes > _MAX_DIGEST_BYTES:
        part = part[::max(1, len(part) // _DIGEST_ROWS)]
      result.update(np.ascontiguousarray(part).view(np.uint8).data)
  return result.hexdigest()[:20]


def shapes(structure: Any) -> str:
  """Returns the shapes of a structure in words: "[1437, 64]"."""
  parts = [str(list(array.shape)) for array in named("", structure).values()]
  return ", ".join(parts[:3]) + (
      f" and {len(parts) - 3} more" if len(parts) > 3 else "")
