# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays of a user as `Model.fit` takes them: checked, and made tensors.

What `Model.predict` would refuse is refused here, because `search.model` has to
take the same data, such as text in NumPy's own types. But a frame with text is
a dict of its columns, as `adanet.columns` makes the dict for `Model.predict`.
"""

from collections.abc import Iterator, Mapping
import hashlib
from typing import Any, NamedTuple
import zlib

from adanet import checks
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import frames as frames_lib
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_EXPECTED = ("expected an array, a dict or a list of arrays, a data frame, a "
             "tf.data.Dataset, a keras.utils.PyDataset, or a function that "
             "returns a dataset")
_FLOATS = ("float16", "float32", "float64", "bfloat16")
_ARGUMENTS = ("x", "y", "sample_weight")
# A larger array is digested by some of its rows.
_MAX_DIGEST_BYTES, _DIGEST_ROWS = 256 << 20, 4096


def name_arrays(name: str, structure: Any) -> dict[str, Any]:
  """Returns the arrays of a structure by their names in messages."""
  if structure is None:
    return {}
  if not isinstance(structure, (Mapping, list, tuple)):
    return {name: structure}
  items = (structure.items() if isinstance(structure, Mapping) else
           enumerate(structure))
  return {key: array for part, inner in items
          for key, array in name_arrays(f"{name}[{part!r}]", inner).items()}


def read_batch(name: str, batch: Any) -> tuple:
  """Returns `(x, y)` or `(x, y, weights)` of arrays, checked.

  Args:
    name: str, the argument that has all parts; "" for three arguments.
    batch: tuple or list of one to three structures of arrays.
  """
  if not isinstance(batch, (tuple, list)) or not 1 <= len(batch) <= 3:
    raise ValueError(
        f"{name} is {messages.describe(batch)}: expected a tuple (x, y) or "
        "(x, y, sample_weight).")
  names = [f"{name}[{i}]" for i in range(3)] if name else list(_ARGUMENTS)
  parts = [read(*pair) for pair in zip(names, batch)]
  while parts and parts[-1] is None:
    parts.pop()
  if len(parts) == 3:
    for key, array in name_arrays(names[2], parts[2]).items():
      weights = np.asarray(tensor(array))
      for value in (weights.min(), weights.max()):
        if not 0 <= value < np.inf:
          raise ValueError(f"{key} has {value}: expected finite weights of at "
                           "least 0.")
    if not keras.tree.is_nested(parts[2]):  # Weights for all outputs.
      parts[2] = keras.tree.map_structure(lambda _: parts[2], parts[1])
  counts = {key: int(array.shape[0]) for name, part in zip(names, parts)
            for key, array in name_arrays(name, part).items()}
  if not counts:
    raise ValueError(f"{names[0]} has no arrays: {_EXPECTED}.")
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
  if not hasattr(value, "__array__"):
    advice = frames_lib.advise_polars(name, value) or (
        "Keras takes no lists of numbers or text: give numpy.asarray(...)." if
        name.endswith("]") else "")
    raise TypeError(f"{name} is {messages.describe(value)}: {_EXPECTED}. "
                    f"{advice}".rstrip())
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


def is_series(value: Any) -> bool:
  """Returns whether an argument is a Series of pandas."""
  return hasattr(value, "iloc") and not hasattr(value, "columns")


def _read_array(name, value):
  """Returns an array of NumPy, a memmap or a tensor of text."""
  if np.ma.is_masked(value):
    raise ValueError(f"{name} has masked values: give them a value, for "
                     "example with numpy.ma.filled.")
  array = value if isinstance(value, np.ndarray) else np.asarray(value)
  if not array.ndim:
    raise ValueError(f"{name} is a single value: expected a row for each "
                     "example.")
  if is_series(value):
    array = array[:, None]  # As Keras does.
  if array.dtype.kind == "O" and not _is_label(name) and all(
      isinstance(text, str) for text in array):
    return tf.constant(array, tf.string)
  if array.dtype.kind in "fiubc" or array.dtype.name == "bfloat16":
    # A memmap is read as it is needed.
    return array if is_large(array) else _with_floatx(array)
  if array.dtype.kind == "O":
    _check_missing(name, value, array)
  if hasattr(value, "columns"):
    kind = "columns that are no numbers"
    advice = "Give a frame of numbers" + (
        f", such as {name}.astype(\"float32\")." if frames_lib.is_frame(value)
        else ".")
  elif array.dtype.kind in "SU" or isinstance(
      array.flat[0] if array.size else "", (str, bytes)):
    kind = "text"
    advice = ("Make classes of it, for example with np.unique(y, "
              "return_inverse=True)[1]." if _is_label(name) else
              "Give adanet.columns(frame) of its frame." if
              hasattr(value, "iloc") else "Give tf.constant(...) of it.")
  else:
    kind = f"the type {array.dtype}"
    advice = "Give numbers, for example astype(\"float32\")."
  if not _is_label(name):
    advice = frames_lib.advise_polars(name, value) or advice
  raise TypeError(f"{name} has {kind}, which Keras does not take: {advice}")


def _check_missing(name, value, array):
  """Raises a ValueError if an array of objects has missing values."""
  of_pandas = hasattr(value, "isna")
  missing = np.reshape(value.isna() if of_pandas else [
      part is None or isinstance(part, float) and part != part
      for part in array.flat], array.shape)
  advice = "Fill these values, or leave out these rows."
  if _is_label(name):
    advice = "Leave out these rows of x and y."
  elif of_pandas and not frames_lib.is_frame(value):
    advice = frames_lib.advise_filling(name, value.dtype, array[~missing])
  frames_lib.check_missing(name, missing, advice)


def is_large(array: Any) -> bool:
  """Returns whether an array stays in its file."""
  return isinstance(array, np.memmap) and array.nbytes > 1 << 30


def tensor(array: Any) -> Any:
  """Returns an array as a tensor of the type that a network takes."""
  if isinstance(array, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
    return array
  # Outside of a graph, which has at most 2 GB of constants.
  return tf.convert_to_tensor(_with_floatx(np.asarray(array)))


def check_frames(x: Any, y: Any, sample_weight: Any, held_out: Any) -> None:
  """Checks the names of rows and columns, where data have such names.

  Raises:
    ValueError: the columns of `held_out`, the `validation_data`, have another
      order or other types than the columns of `x` or `y`, or frames and series
      that belong together have another order of rows.
  """
  held_out_names = tuple(f"validation_data[{i}]" for i in range(3))
  frames = _find_frames((x, y, sample_weight))
  held_out_frames = _find_frames(
      held_out if isinstance(held_out, (list, tuple)) else ())
  for (i, key), frame in held_out_frames.items():
    other = frames.get((i, key))
    expected, columns = (list(getattr(part, "columns", ()))
                         for part in (other, frame))
    name, held_out_name = f"{_ARGUMENTS[i]}{key}", f"{held_out_names[i]}{key}"
    # A single column, such as of labels, may have any name.
    if len(expected) > 1 and columns and columns != expected:
      raise ValueError(
          f"{held_out_name} has the columns {', '.join(map(str, columns))}, "
          f"and {name} {', '.join(map(str, expected))}: expected the same "
          "columns in the same order, such as those of "
          f"frame[{name}.columns].")
    for column, *types in zip(
        columns, other.dtypes, frame.dtypes) if columns and expected else ():
      if len(set(map(frames_lib.is_number, types))) > 1:
        raise ValueError(
            f"{held_out_name}[{column!r}] has the type {types[1]}, and "
            f"{name}[{column!r}] {types[0]}: expected the same. Give "
            f"{held_out_name}.astype({name}.dtypes).")
  _check_index(_ARGUMENTS, frames)
  _check_index(held_out_names, held_out_frames)


def _find_frames(parts):
  """Returns frames and series by the number of the part and the key."""
  return {(i, key): array for i, part in enumerate(parts)
          for key, array in name_arrays("", part).items()
          if hasattr(array, "iloc")}


def _check_index(names, frames):
  """Raises a ValueError if an index contradicts the first index.

  An index without a common label says nothing, and neither does the numbering
  from 0 that a frame has by default.
  """
  first = None
  for (i, key), frame in frames.items():
    if first is None:
      first = names[i] + key, frame.index, list(frame.index)
    if frame.index is first[1]:
      continue
    name, index = names[i] + key, list(frame.index)
    if index == first[2] or len(index) != len(first[2]):
      continue
    common = len({*index} & {*first[2]})
    numbers = list(range(len(index)))
    if 0 < common < len({*index}) and numbers not in (index, first[2]):
      raise ValueError(
          f"{name} and {first[0]} have {common} of {len(index)} labels of their "
          "index in common: expected the same rows. Select the same rows of "
          "both, or reset_index(drop=True) of both if rows belong together by "
          "position.")
    if {*index} == {*first[2]}:
      raise ValueError(
          f"{name} has the index of {first[0]} in another order: expected the "
          f"same order. Give {name}.loc[{first[0]}.index], or "
          "reset_index(drop=True) of both if rows belong together by position.")


def check_inputs(owner: str, model: Any, x: Any) -> None:
  """Checks that a model with several inputs takes x by the right names.

  Keras gives a model with a dict of inputs the arrays of another dict in the
  order of the sorted names, also if the names differ.

  Raises:
    ValueError: `x`, a structure of specs, is a single array, has more names
      than the model, or has text where the model takes numbers, or the other
      way round.
  """
  first = model.layers[:1] if isinstance(model, keras.Sequential) else []
  if any(isinstance(layer.input_spec, keras.InputSpec) for layer in first) and (
      len(keras.tree.flatten(x)) > 1):
    raise ValueError(
        f"{owner} returns a Sequential, which has one input, and x has "
        f"{len(keras.tree.flatten(x))} arrays or columns: expected one array, or "
        "a keras.Model with an input for each.")
  try:
    inputs = model.input
  except (AttributeError, ValueError):  # The model is not built.
    return
  if not keras.tree.is_nested(x) and len(keras.tree.flatten(inputs)) > 1:
    names = messages.list_names(
        tensor.name for tensor in keras.tree.flatten(inputs))
    raise ValueError(
        f"{owner} has the inputs {names}, and x is one array: expected an "
        "array for each input. Give adanet.columns(x) if x is a data frame with "
        "these columns.")
  if not isinstance(inputs, Mapping) or not isinstance(x, Mapping):
    return
  others = sorted(set(x) - set(inputs))
  if others:
    raise ValueError(
        f"{owner} has no input for {messages.list_names(others)} of x, and "
        "Keras would give the other inputs wrong arrays: expected an input for "
        "each name. For a model of some columns, give keras.Model a list of "
        "inputs, which Keras finds by their names: list(inputs.values()).")
  for name, spec in x.items():
    is_text, takes_text = (
        getattr(tensor, "dtype", None) in ("string", tf.string)
        for tensor in (spec, inputs[name]))
    if is_text != takes_text:
      kinds = [("numbers", "text")[kind] for kind in (is_text, takes_text)]
      raise ValueError(
          f"x[{name!r}] has {kinds[0]}, and the input {name!r} of {owner} "
          f"takes {kinds[1]}: expected the same. An input of text is "
          "keras.Input([1], dtype=\"string\").")


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
  if not isinstance(class_weight, Mapping):
    raise TypeError(
        f"class_weight is {messages.describe(class_weight)}: expected a dict "
        "from class to weight, such as {0: 1., 1: 5.}.")
  for label, weight in class_weight.items():
    if isinstance(label, bool) or not isinstance(label, (int, np.integer)):
      raise ValueError(f"class_weight has the class {label!r}: expected an "
                       "int.")
    checks.check_number(
        f"class_weight[{label}]", weight, lambda v: 0 <= v < float("inf"),
        "a finite number of at least 0")
  if isinstance(y, (Mapping, list, tuple)) or y is None:
    raise ValueError("class_weight: expected None for models with several "
                     "outputs, or labels y of one. Give sample_weight.")
  labels = classes(y)
  if labels is None:
    raise ValueError(
        f"class_weight: y has the shape {[None, *y.shape[1:]]}, expected a "
        "class in each row, or one-hot rows. Give sample_weight for anything "
        "else.")
  return np.array([class_weight.get(label, 1.) for label in labels.tolist()],
                  keras.config.floatx())


class NotFinite(NamedTuple):
  """NaN or infinity in an array.

  Attributes:
    argument: "x", "y" or "sample_weight".
    text: str, such as "x['age'] has NaN".
    columns: str, the columns of a matrix, such as ", in column 3", or "".
    rows: array of int32, the numbers of the rows.
  """
  argument: str
  text: str
  columns: str
  rows: np.ndarray


def find_not_finite(batch: tuple) -> Iterator[NotFinite]:
  """Yields a `NotFinite` for each array with NaN or infinity."""
  for argument, structure in zip(_ARGUMENTS, batch):
    for name, array in name_arrays(argument, structure).items():
      if is_large(array):
        continue
      values, owners = _values_of_rows(array)
      if values.dtype.kind != "f" or np.isfinite(values).all():
        continue
      wrong = ~np.isfinite(values.reshape(len(values), -1))
      kind = "NaN" if np.isnan(values).any() else "infinity"
      columns = ""
      if values.ndim == 2 and values.shape[1] > 1:
        numbers = np.flatnonzero(wrong.any(0))
        columns = (f", in column{'s' * (len(numbers) > 1)} "
                   f"{messages.list_names(numbers)}")
      yield NotFinite(argument, f"{name} has {kind}", columns, np.unique(
          owners[wrong.any(1)]).astype(np.int32))


def _values_of_rows(array):
  """Returns the values of an array or a tensor, and the row of each."""
  if isinstance(array, tf.SparseTensor):
    return array.values.numpy(), array.indices[:, 0].numpy()
  owners = np.arange(array.shape[0])
  if not isinstance(array, tf.RaggedTensor):
    return np.asarray(array), owners
  ends = np.append(owners, len(owners))
  for splits in array.nested_row_splits:
    ends = splits.numpy()[ends]
  return array.flat_values.numpy(), np.repeat(owners, np.diff(ends))


def extreme_labels(y: Any, numbers: np.ndarray) -> list[list[tuple]]:
  """Returns for each array the least and the greatest label, each with a row.

  Arrays with labels that are no whole numbers are left out. `numbers` has the
  rows to look at.
  """
  extremes = []
  for array in name_arrays("y", y).values():
    if isinstance(array, (tf.RaggedTensor, tf.SparseTensor)) or is_large(array):
      continue
    labels = np.asarray(array).reshape(array.shape[0], -1)
    if labels.dtype.kind not in "iuf" or not labels.size or (
        labels.dtype.kind == "f" and (
            labels.nbytes > _MAX_DIGEST_BYTES or (labels % 1).any())):
      continue
    least, greatest = labels.min(1)[numbers], labels.max(1)[numbers]
    extremes.append([(least.min(), numbers[least.argmin()]),
                     (greatest.max(), numbers[greatest.argmax()])])
  return extremes


def digest(structure: Any) -> str:
  """Returns the shapes of the arrays of a structure, and a digest."""
  named = name_arrays("", structure)
  result = hashlib.sha256()
  for name, array in sorted(named.items()):
    result.update(f"{name}/{array.dtype}/{array.shape}".encode())
    for part in tf.nest.flatten(array, expand_composites=True):
      part = np.asarray(part)
      if part.dtype.kind == "O":
        for text in part.flat:
          result.update(b"%d:" % len(text) + text)
        continue
      if part.nbytes > _MAX_DIGEST_BYTES:
        part = part[::max(1, len(part) // _DIGEST_ROWS)]
      result.update(np.ascontiguousarray(part).view(np.uint8).data)
  shapes = messages.list_names(list(array.shape) for array in named.values())
  return f"{shapes} {result.hexdigest()[:20]}"


def count_bytes(flat: list) -> int:
  """Returns the bytes of tensors; text counts little."""
  return sum(part.shape.num_elements() * part.dtype.size
             for part in tf.nest.flatten(flat, expand_composites=True))


def add_checksum(flat: list, checksum: int) -> int:
  """Returns a checksum of tensors and of the tensors before, by `checksum`."""
  for part in tf.nest.flatten(flat, expand_composites=True):
    checksum = zlib.crc32(
        tf.io.serialize_tensor(part).numpy() if part.dtype == tf.string else
        np.ascontiguousarray(part.numpy()).view(np.uint8).reshape(-1), checksum)
  return checksum
