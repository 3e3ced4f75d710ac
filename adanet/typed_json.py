# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values of annotated types as JSON, and back: the text of a file, checked.

A type is Any, str, int, float, bool, an Enum of them, Optional[T], Union[int,
float], Tuple[T, ...], Dict[str, T], or a NamedTuple or dataclass with such
fields. JSON has no NaN and no infinities: as a float they are the strings
"NaN", "Infinity" and "-Infinity".
"""

import dataclasses
import enum
import json
import math
from typing import Any, Dict, Set, Type, TypeVar, Union, get_type_hints

from adanet import messages

_T = TypeVar("_T")

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NULL = type(None)
_WORDS = {bool: "true or false", float: "a number", int: "an integer",
          str: "a string", _NULL: "null"}


def _origin(kind):
  """Returns `Union`, tuple or dict for a type of `typing`, or None."""
  return getattr(kind, "__origin__", None)


def _is_enum(kind):
  return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _fields(kind: Any) -> Dict[str, Any]:
  """Returns dict from the fields of a class to their types; {} if it has none.
  """
  if hasattr(kind, "_fields") or dataclasses.is_dataclass(kind):
    return get_type_hints(kind)
  return {}


def _required(kind: Any) -> Set[str]:
  """Returns the names of the fields without a default."""
  if dataclasses.is_dataclass(kind):
    return {f.name for f in dataclasses.fields(kind)
            if f.default is dataclasses.MISSING}
  return set(kind._fields) - set(getattr(kind, "_field_defaults", ()))


def to_json(kind: Any, value: Any) -> Any:
  """Returns a value for `json.dumps`.

  Args:
    value: the value. Its numbers may be NumPy's.
  """
  if kind is Any:
    return value
  if _origin(kind) is Union:
    kinds = [k for k in kind.__args__ if k is not _NULL]
    return None if value is None else to_json(
        next((k for k in kinds[:-1] if type(value) is k), kinds[-1]), value)
  if _origin(kind) is tuple:
    return [to_json(kind.__args__[0], item) for item in value]
  if _origin(kind) is dict:
    return {str(key): to_json(kind.__args__[1], item)
            for key, item in value.items()}
  fields = _fields(kind)
  if fields:
    return {name: to_json(field, getattr(value, name))
            for name, field in fields.items()}
  if _is_enum(kind):
    return value.value
  if kind is float and not math.isfinite(value):
    if math.isnan(value):
      return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
  return kind(value)


def _expected(kind):
  """Returns the words for a type in JSON."""
  if _origin(kind) is Union:
    return " or ".join(map(_expected, kind.__args__))
  if _origin(kind) is tuple:
    return "a list"
  if kind in _WORDS:
    return _WORDS[kind]
  if _is_enum(kind):
    return f"one of {', '.join(repr(member.value) for member in kind)}"
  return "an object"


def _error(kind, content, place):
  text = messages.shorten(repr(content), 80)
  return ValueError(f"{place or 'it'} is {text}, not {_expected(kind)}")


def _read_class(kind, content, place, skips_unknown):
  fields = _fields(kind)
  unknown = () if skips_unknown else set(content) - set(fields)
  for names, problem in ((_required(kind) - set(content), "lacks"),
                         (unknown, "has the unknown")):
    if names:
      raise ValueError(f"{place or 'it'} {problem} {', '.join(sorted(names))}")
  return kind(**{
      name: _read(field, content[name], f"{place}.{name}".lstrip("."),
                  skips_unknown)
      for name, field in fields.items() if name in content})


def _read_one_of(kind, content, place, skips_unknown):
  kinds = [k for k in kind.__args__ if k is not _NULL]
  if content is None and _NULL in kind.__args__:
    return None
  if type(content) in kinds:
    return content
  try:
    return _read(kinds[-1], content, place, skips_unknown)
  except ValueError:
    if kinds[-1] not in _WORDS:
      raise
    raise _error(kind, content, place) from None


def _read(kind, content, place, skips_unknown):
  """Returns a value of a type; `place` is where its content is."""
  if kind is Any:
    return content
  origin = _origin(kind)
  if origin is Union:
    return _read_one_of(kind, content, place, skips_unknown)
  if origin is tuple and isinstance(content, list):
    return tuple(_read(kind.__args__[0], item, f"{place}[{i}]", skips_unknown)
                 for i, item in enumerate(content))
  if origin is dict and isinstance(content, dict):
    return {key: _read(kind.__args__[1], item, f"{place}[{key!r}]",
                       skips_unknown) for key, item in content.items()}
  if _fields(kind) and isinstance(content, dict):
    return _read_class(kind, content, place, skips_unknown)
  try:
    if kind is float and isinstance(content, str):
      return _NOT_FINITE[content]
    if kind is float and type(content) is int:  # A bool is no int.
      return float(content)
    if _is_enum(kind):
      return kind(content)
  except (KeyError, OverflowError, ValueError):
    raise _error(kind, content, place) from None
  if type(content) is not kind:
    raise _error(kind, content, place)
  return content


def from_json(kind: Type[_T], content: Any,
              skips_unknown: bool = False) -> _T:
  """Returns the value that `to_json` made JSON of.

  Args:
    skips_unknown: whether objects may have fields that their class does not
      have, as a newer version may write them.

  Raises:
    ValueError: the content is not of this type.
  """
  return _read(kind, content, "", skips_unknown)


def loads(text: str) -> Dict[str, Any]:
  """Returns the object that a text has.

  Raises:
    ValueError: it is not JSON, or something else than an object.
  """
  try:
    content = json.loads(text)
  except ValueError as error:
    raise ValueError(f"not JSON: {error}") from error
  except RecursionError as error:
    raise ValueError("it is nested too deep") from error
  return _read(dict, content, "", False)
