# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts of functions and objects: whether code is the same in another process.
"""

import functools
import hashlib
import types
from typing import Any

import numpy as np


def text_of_value(value: Any) -> str:
  """Returns a text of a value, equal in another process that runs equal code.

  A code object counts without the names of local variables, a function with
  its code, defaults and closure, and an object with its attributes and the
  methods of its class.

  Raises:
    Exception: the value cannot be described.
  """
  if value is None or isinstance(value, (str, bytes, int, float, type)):
    return repr(value)
  if isinstance(value, np.ndarray):
    # A view, because the array may be a file that is larger than the memory.
    data = (repr(value.tolist()).encode() if value.dtype.hasobject
            else np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    return f"{value.dtype}{value.shape}{hashlib.sha256(data).hexdigest()}"
  parts = value
  if isinstance(value, types.CodeType):
    parts = (value.co_code, value.co_names, value.co_freevars,
             value.co_consts)
  elif isinstance(value, types.FunctionType):
    parts = (value.__qualname__, value.__code__, value.__defaults__,
             value.__kwdefaults__,
             [cell.cell_contents for cell in value.__closure__ or ()])
  elif isinstance(value, types.MethodType):
    parts = value.__func__, value.__self__
  elif isinstance(value, functools.partial):
    parts = value.func, value.args, value.keywords
  elif isinstance(value, dict):
    parts = list(value.items())
  elif isinstance(value, (set, frozenset)):
    return f"{{{', '.join(sorted(map(text_of_value, value)))}}}"
  elif not isinstance(value, (list, tuple)):
    text = repr(value)  # May have an address, or leave out elements.
    is_whole = " at 0x" not in text and "..." not in text
    parts = [type(value), text if is_whole else vars(value), [
        method for method in vars(type(value)).values()
        if isinstance(method, types.FunctionType)]]
  return f"({', '.join(map(text_of_value, parts))})"
