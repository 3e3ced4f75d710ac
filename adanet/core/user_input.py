# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks a user's input_fn, and explains errors that the data cause.

The explanation is the first line of the message. The text of TensorFlow is
below, unless the first line says all.
"""

import collections.abc
import contextlib
import functools
import re
from typing import Any, Dict, Iterator, List, Optional, Type

from adanet import messages
from adanet import tf_compat
from adanet.core import selection
from adanet.tf_compat import keras_internals


def is_read_by_python(value: Any) -> bool:
  """Whether a value gives batches to Python: a generator, a Keras Sequence."""
  return hasattr(value, "__next__") or (
      hasattr(value, "__getitem__") and not hasattr(value, "dtype") and
      not isinstance(value, (str, collections.abc.Mapping, list, tuple)) and
      not hasattr(value, "columns"))


def _instead(value):
  """Returns the text to write instead of a value that is no input_fn, or ""."""
  if hasattr(value, "element_spec"):
    return ": make the Dataset in a function, because each graph needs one"
  name = None
  if hasattr(value, "columns"):
    name = "pandas_input_fn"
  elif hasattr(value, "__array__") or isinstance(value, (dict, list, tuple)):
    name = "numpy_input_fn"
  if name:
    return (f": use adanet.inputs.{name}(x, y, shuffle=True) to train, and "
            "shuffle=False to evaluate and to predict")
  return from_generator() if is_read_by_python(value) else ""


def from_generator() -> str:
  """Returns how a value that Python reads becomes an input, for a message."""
  return (": return tf.data.Dataset.from_generator(...) of its batches from a "
          "function")


def check_input_fn(input_fn: Any, error: Type[Exception] = ValueError) -> None:
  """Raises an error unless there is a function."""
  if not callable(input_fn):
    raise error(
        "input_fn must be a function that returns (features, labels) or a "
        f"tf.data.Dataset, got {messages.describe(input_fn)}{_instead(input_fn)}")


class EmptyInputError(ValueError):
  """The input has no batch to train on or to evaluate.

  For example::

      try:
        estimator.evaluate(input_fn)
      except adanet.EmptyInputError as error:
        print(error)
  """


def empty_input_error(what: str) -> EmptyInputError:
  """Returns the error of an input without a batch."""
  return EmptyInputError(
      f"{what}: the input has no batch. Check what input_fn reads: missing "
      "files, a filter that keeps nothing, drop_remainder with fewer examples "
      "than a batch, or a generator that was read before")


# The text of a head's assertion, and the values that it shows.
_ASSERTION = re.compile(
    r"assertion failed: \[(?P<text>(?:labels|logits|weight_column|loss_fn)\b"
    r".*?)\] (?P<values>\[[^\n]*)")
# The ops of an input, and TensorFlow's words for a file that it cannot read.
_INPUT = re.compile("IteratorGetNext|list_files")
_FILE = re.compile(
    r"^(?:.*?assertion failed: \[)?(?P<text>\S[^\n]*; (?:No such file or "
    r"directory|Is a directory|Permission denied)|No files matched pattern: "
    r"[^\]\n]+)", re.MULTILINE)
_SHAPES = re.compile(
    r"\[Condition .*?= \] (?P<got>\[.*?\]) .*?= \] (?P<expected>\[.*?\])")
# TensorFlow's and Keras's words for a type that an op or a layer cannot take.
_STRINGS = re.compile(
    r"DataType string not in|dtype='string' is not a valid|<dtype: 'string'>|"
    r"Invalid dtype tf\.string|Expected string, got|"
    r"has type string that|match type string\b|"
    r"types \[[^\]]*\bstring\b[^\]]*\] that don't all match")
_NUMBERS = (
    "make numbers of them, by tf.strings.to_number in input_fn or by a layer "
    "such as keras.layers.StringLookup")
# The same, where an input of Keras would make numbers of them before the layer.
_AFTER_INPUT = " after keras.Input(shape, dtype=\"string\"), or leave it out"
_EAGER = re.compile(r"EagerTensor|Eager-defined Tensor")
_RANKS = re.compile(r"\b(rank|ndim|min_ndim|dimensions?)\b")
_BUILDER = re.compile(r"\biteration_(\d+)/subnetwork_t\d+_([^/]+)/")


def _tensors(name: str, structure: Any) -> Dict[str, Any]:
  """Returns the tensors of features or labels, by the user's names for them."""
  if isinstance(structure, dict):
    return {repr(key): value for key, value in structure.items()}
  return {name: structure}


def _strings(features):
  """Returns which of the features are strings: a text, which may be ""."""
  names = sorted(name for name, tensor in _tensors("features", features).items()
                 if getattr(tensor, "dtype", None) == tf_compat.v1.string)
  return ", ".join(names)


def _of_other_types(features, message):
  """Returns the features with a type that a message names: a text."""
  described = []
  for name, tensor in sorted(_tensors("features", features).items()):
    dtype = getattr(tensor, "dtype", None)
    if dtype not in (None, tf_compat.v1.float32, tf_compat.v1.string) and (
        re.search(" match|non-floating", message) and
        re.search(rf"\b{dtype.name}\b", message)):
      described.append(f"{name}, which is {dtype.name}")
  return ", ".join(described)


def _shape(tensor: Any) -> Optional[List[Optional[int]]]:
  shape: Any = getattr(tensor, "shape", None)
  if getattr(shape, "ndims", None) is None:
    return None
  return shape.as_list()


def _shapes_of_one_example(features, labels):
  """Returns the shapes of features that may be one example's, or None."""
  shapes = {name: _shape(tensor)
            for name, tensor in _tensors("features", features).items()}
  rows = {shape[0] for shape in map(_shape, _tensors("", labels).values())
          if shape and shape[0] is not None}
  if None in shapes.values() or not all(
      len(shape) < 2 or rows and shape[0] is not None and shape[0] not in rows
      for shape in shapes.values()):
    return None
  return ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items()))


def _of_lookup(error):
  """Returns what to do about a layer that lacks the size of its vocabulary."""
  layer = keras_internals.lookup_of_unknown_size(error)
  return layer and (
      f"keras.layers.{layer} with this output_mode, because in a graph the "
      "layer does not know the size of its vocabulary: give it max_tokens, "
      "such as len(vocabulary) + 1, and pad_to_max_tokens=True")


@contextlib.contextmanager
def explained_in_input_fn() -> Iterator[None]:
  """Explains an error of an input_fn that uses what it cannot."""
  try:
    yield
  except Exception as error:  # pylint: disable=broad-except
    line = _of_lookup(error)
    if line:
      line = f"input_fn cannot use {line}"
    elif _EAGER.search(str(error)):
      line = (
          "input_fn uses a layer, a table or a tensor that was made before: "
          "make it in the function, because each graph needs one. A layer that "
          "was adapted may be called on arrays before, or give a new layer its "
          "vocabulary=adapted.get_vocabulary(include_special_tokens=False)")
    else:
      raise
    raise ValueError(f"{line}\n{error}") from error


@contextlib.contextmanager
def explained_in_builder(owner: str, features: Any,
                         labels: Any) -> Iterator[None]:
  """Explains an error of a builder that cannot take its input."""
  try:
    yield
  except Exception as error:  # pylint: disable=broad-except
    message, line = str(error), None
    lookup = _of_lookup(error)
    strings = _strings(features)
    shapes = _shapes_of_one_example(features, labels)
    names = _of_other_types(features, message)
    key = error.args[0] if error.args else None
    if isinstance(key, str):  # A template of TensorFlow adds where it was made.
      key = key.partition("\n\noriginally defined at:")[0]
    if (isinstance(error, KeyError) and isinstance(features, dict) and
        error.args and key not in features):
      line = (f"{owner} asks for the feature {key!r}, and input_fn gives "
              f"{', '.join(map(repr, sorted(features, key=str)))}")
      message = "KeyError: " + message
    elif lookup:
      line = f"{owner} cannot use {lookup}"
    elif strings and _STRINGS.search(message):
      line = (f"{owner} cannot take strings, and the feature {strings} has "
              f"them: {_NUMBERS}, or leave it out")
    elif shapes and _RANKS.search(message):
      line = (f"{owner} cannot take features of the shape {shapes}: if this is "
              "one example, call batch() on the dataset")
    elif names:
      line = (f"{owner} cannot take the type of the feature {names}: cast it "
              "to float32 in input_fn")
    if line is None:
      raise
    raise ValueError(f"{line}\n{message}") from error


def _whole_line(message):
  """Returns a full explanation of an error of a run, or None."""
  assertion = _ASSERTION.search(message)
  if assertion:
    text, values = assertion.group("text"), assertion.group("values").strip()
    shapes = _SHAPES.match(values)
    if shapes:
      return (f"{text}, here {shapes.group('expected')}, but the shape is "
              f"{shapes.group('got')}")
    return f"{text.rstrip(': ')}: {values}"
  file = _FILE.search(message) if _INPUT.search(message) else None
  return file and f"input_fn cannot read a file: {file.group('text')}"


def _first_line(message, features):
  """Returns the meaning of an error of a run, or None."""
  builder = _BUILDER.search(message)
  owner = "The network" if builder is None else (
      f"builder {builder.group(2)!r} of iteration {builder.group(1)}")
  strings = _strings(features)
  if strings and re.search("Cast string to", message, re.IGNORECASE):
    return (f"{owner} casts strings to numbers, and the feature {strings} has "
            f"strings: {_NUMBERS}{_AFTER_INPUT}")
  if strings and re.search("string to (float|number|int)|StringToNumber",
                           message, re.IGNORECASE):
    return (f"{owner} makes numbers of the feature {strings}, whose strings "
            "are none: give each string a number, in input_fn or by a layer "
            f"such as keras.layers.StringLookup{_AFTER_INPUT}")
  numbers = re.search(r"Cast (\w+) to string", message)
  if numbers:
    return (f"{owner} casts {numbers.group(1)} to strings: take a layer such "
            "as keras.layers.IntegerLookup, or tf.strings.as_string in "
            "input_fn")
  if "Table not initialized" in message:
    return (f"{owner} looks up in a table without values: give the layer its "
            "vocabulary, as in keras.layers.StringLookup(vocabulary=[...])")
  return None


@contextlib.contextmanager
def explained_in_run(features: Any = None) -> Iterator[None]:
  """Explains an error of a session that the data causes.

  Raises:
    tf.errors.OpError: of the same class as the error.
  """
  try:
    yield
  except tf_compat.v1.errors.OpError as error:
    line = _whole_line(error.message)
    if line is not None:
      # Of an op that is not the user's, nothing else is of use.
      raise type(error)(None, None, line) from None
    line = _first_line(error.message, features)
    if line is None:
      raise
    raise type(error)(error.node_def, error.op,
                      f"{line}\n{error.message}") from error


@functools.lru_cache(maxsize=None)
def _error_in_training():
  """Returns the class of `raised_in_training`, made when it is needed.

  `selection` imports no TensorFlow, so `AllNaNError` is not TensorFlow's error.
  """

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
    raise _error_in_training()(*error.args).with_traceback(
        error.__traceback__) from None
