# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What messages say of values, errors, names, counts and times, in one line."""

import re
from typing import Any, Iterable, Union

_MAX_VALUE, _MAX_ERROR = 60, 2000


def shorten(text: str, most: int = 200) -> str:
  """Returns a text, or the beginning of a long text and three dots."""
  return text if len(text) <= most else text[:most] + "..."


def describe(value: Any) -> str:
  """Returns a short description of a value of the user's."""
  if isinstance(value, type):
    return f"the class {value.__name__}"
  text = repr(value)
  if isinstance(value, (str, int, float, bool, type(None))):
    return shorten(text, _MAX_VALUE)
  # NumPy leaves out values of an array: "...".
  is_long = len(text) > _MAX_VALUE or text.startswith("<") or (
      "\n" in text or "..." in text)
  return f"a value of type {type(value).__name__}" if is_long else text


def one_line(error: BaseException) -> str:
  """Returns the text of an error in one line, without where it was raised."""
  text = str(error.args[0] if isinstance(error, KeyError) and error.args
             else error)
  if "Detected at node" in text:
    # TensorFlow's reason comes last, after a line for each function.
    text = text.split("\n\n")[-1]
  text = re.split(r"\[\[\{\{node| \[Op:", text)[0]
  text = re.sub(r"\x1b\[\d*m|\{\{function_node [^}]*\}\}", "", text)
  text = " ".join(text.split())
  # Keras's reason stands between the layer and the arguments of the call.
  text = re.sub(r"^Exception encountered when calling (.+?)\. (.*?) ?"
                r"Arguments received by \1:.*", r"\2 (in \1)", text)
  text = re.sub("^Could not automatically infer .* Error encountered: ", "", text)
  return shorten(text or type(error).__name__, _MAX_ERROR)


def with_type(error: BaseException) -> str:
  """Returns the class of an error, and its text in one line if it has a text.
  """
  name, text = type(error).__name__, one_line(error)
  return name if text == name else f"{name}: {text}"


def list_names(names: Iterable[Any], most: int = 3) -> str:
  """Returns the first names: "a, b, c and 4 more"."""
  texts = list(map(str, names))
  return ", ".join(texts[:most]) + (
      f" and {len(texts) - most} more" if len(texts) > most else "")


def count(number: Union[int, str], noun: str) -> str:
  """Returns for example "1 worker" or "2 workers"."""
  return f"{number} {noun}{'' if str(number) == '1' else 's'}"


def duration(seconds: float) -> str:
  """Returns a time in seconds as h:mm:ss, or m:ss."""
  minutes, secs = divmod(int(seconds + .5), 60)
  hours, minutes = divmod(minutes, 60)
  if hours:
    return f"{hours}:{minutes:02}:{secs:02}"
  return f"{minutes}:{secs:02}"


def short_duration(seconds: float) -> str:
  """Returns less than a minute as "5.25 s", and more as `duration` does."""
  return f"{seconds:.3g} s" if seconds < 60 else duration(seconds)
