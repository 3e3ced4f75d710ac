# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes JSON values as YAML that is pleasant to read.

Manifests are for readers, who expect YAML, and to write them must not need a
package. So this is the small part of YAML that is needed: blocks, and scalars
in quotes where a reader of YAML 1.1 or 1.2 would take them for something else than
text.
"""

import re
from typing import Any, Iterable, List

# What no version of YAML takes for anything but text, except for _NOT_TEXT.
_PLAIN = re.compile(
    r"(?:--)?[A-Za-z/](?:[A-Za-z0-9_./=-]|[ :](?=[A-Za-z0-9]))*")
_NOT_TEXT = frozenset(
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_PRINTABLE = re.compile(r"[ -~]*")
_SIMPLE_IN_DOUBLE = re.compile(r'[ !#-\[\]-~]*')


def dump_all(documents: Iterable[Any]) -> str:
  """Returns documents as one stream of YAML.

  Args:
    documents: dicts, lists, str, int, bool or None, as deep as they go. Keys
      are str.
  """
  return "".join("---\n" + dump(document) for document in documents)


def dump(document: Any) -> str:
  """Returns one document.

  Args:
    document: as in `dump_all`.
  """
  return "\n".join(_lines(document)) + "\n"


def _lines(value: Any) -> List[str]:
  """Returns the lines of a value, without indent."""
  lines = []  # type: List[str]
  if isinstance(value, dict) and value:
    for key, entry in value.items():
      inner = _lines(entry)
      if _is_block(entry):
        # A list in a dict needs no indent.
        indent = "" if isinstance(entry, list) else "  "
        lines.append(_scalar(key) + ":")
        lines += [indent + line for line in inner]
      else:
        lines.append(f"{_scalar(key)}: {inner[0]}")
  elif isinstance(value, list) and value:
    for entry in value:
      inner = _lines(entry)
      lines.append("- " + inner[0])
      lines += ["  " + line for line in inner[1:]]
  else:
    lines.append(_scalar(value))
  return lines


def _is_block(value: Any) -> bool:
  return isinstance(value, (dict, list)) and bool(value)


def _scalar(value: Any) -> str:
  """Returns the text of a value that stands on one line."""
  if value is None:
    return "null"
  if isinstance(value, bool):
    return "true" if value else "false"
  if isinstance(value, int):
    return str(value)
  if isinstance(value, dict):
    return "{}"
  if isinstance(value, list):
    return "[]"
  if not isinstance(value, str):
    raise TypeError(f"{value!r}: expected str, int, bool, None, a dict or a "
                    "list.")
  if _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
    return value
  if "'" in value and _SIMPLE_IN_DOUBLE.fullmatch(value):
    return f'"{value}"'
  if _PRINTABLE.fullmatch(value):
    return "'{}'".format(value.replace("'", "''"))
  return '"{}"'.format(re.sub(
      r'[^ -~]|["\\]', lambda match: "\\U%08x" % ord(match.group()), value))
