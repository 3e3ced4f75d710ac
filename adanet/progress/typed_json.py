# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values of annotated types as JSON, and back.

A type is str, int, float, bool, Optional[T], Tuple[T, ...], Dict[str, T], or a
NamedTuple or dataclass with such fields. JSON has no NaN and no infinities:
they are the strings "NaN", "Infinity" and "-Infinity".
"""

import dataclasses
import math
import typing
from typing import Any, Dict, Type, TypeVar

_T = TypeVar("_T")

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _fields(kind: Any) -> Dict[str, Any]:
  """Returns dict from the fields of a class to their types; {} if it has none.
  """
  if hasattr(kind, "_fields") or dataclasses.is_dataclass(kind):
    return typing.get_type_hints(kind)
  return {}


def _required(kind: Any) -> typing.Set[str]:
  """Returns the names of the fields without a default."""
  if dataclasses.is_dataclass(kind):
    return {f.name for f in dataclasses.fields(kind)
            if f.default is dataclasses.MISSING}
  return set(kind._fields) - set(getattr(kind, "_field_defaults", ()))


def to_json(kind: Any, value: Any) -> Any:
  """Returns a value as what `json.dumps` takes.

  Args:
    kind: the type of the value, see the module.
    value: the value. Its numbers may be NumPy's.
  """
  origin = getattr(kind, "__origin__", None)
  if origin is typing.Union:
    return None if value is None else to_json(kind.__args__[0], value)
  if origin is tuple:
    return [to_json(kind.__args__[0], item) for item in value]
  if origin is dict:
    return {str(key): to_json(kind.__args__[1], item)
            for key, item in value.items()}
  fields = _fields(kind)
  if fields:
    return {name: to_json(field, getattr(value, name))
            for name, field in fields.items()}
  if kind is float and not math.isfinite(value):
    if math.isnan(value):
      return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
  return kind(value)


def _error(kind, content, place):
  text = repr(content)
  return ValueError("{}{}: expected {}".format(
      place + ": " if place else "",
      text if len(text) <= 80 else text[:77] + "...",
      getattr(kind, "__name__", str(kind).replace("typing.", ""))))


def _class_from_json(kind, fields, content, place):
  if not isinstance(content, dict):
    raise _error(kind, content, place)
  missing = sorted(_required(kind) - set(content))
  if missing:
    raise ValueError(f"{place or '{...}'}: expected the fields "
                     f"{', '.join(missing)} of {kind.__name__} too")
  unknown = sorted(set(content) - set(fields))
  if unknown:
    raise ValueError(f"{place or '{...}'}: expected no fields "
                     f"{', '.join(unknown)} in {kind.__name__}")
  return kind(**{
      name: from_json(
          fields[name], item, f"{place}.{name}".lstrip("."))
      for name, item in content.items()})


def from_json(kind: Type[_T], content: Any, place: str = "") -> _T:
  """Returns the value that `to_json` made JSON of.

  Args:
    kind: the type of the value.
    content: what `json.loads` returned.
    place: str, where the content is, for error messages.

  Raises:
    ValueError: the content is not of this type.
  """
  any_kind: Any = kind
  origin = getattr(any_kind, "__origin__", None)
  if origin is typing.Union:
    return typing.cast(Any, None if content is None else from_json(
        any_kind.__args__[0], content, place))
  if origin is tuple:
    if not isinstance(content, list):
      raise _error(kind, content, place)
    return typing.cast(Any, tuple(
        from_json(any_kind.__args__[0], item, f"{place}[{i}]")
        for i, item in enumerate(content)))
  if origin is dict:
    if not isinstance(content, dict):
      raise _error(kind, content, place)
    return typing.cast(Any, {
        key: from_json(
            any_kind.__args__[1], item, f"{place}[{key!r}]")
        for key, item in content.items()})
  fields = _fields(kind)
  if fields:
    return _class_from_json(kind, fields, content, place)
  if any_kind is float:
    if isinstance(content, str) and content in _NOT_FINITE:
      return typing.cast(Any, _NOT_FINITE[content])
    if isinstance(content, int) and not isinstance(content, bool):
      content = float(content)
  if type(content) is not kind:  # A bool is no int.
    raise _error(kind, content, place)
  return content
