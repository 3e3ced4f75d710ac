# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the folders that a user names."""

import os
from typing import Any, Optional

from adanet.core import user_input
from adanet.tf_compat import checkpoint_file


def checked(name: str, value: Any, or_none: str = ", or None") -> Any:
  """Returns the path of a folder as str, as it was given.

  Args:
    name: str, the argument.
    value: the user's argument.
    or_none: str, what else than a path the argument may be, for messages.

  Raises:
    TypeError: it is no path.
    ValueError: it is empty.
  """
  try:
    path = os.fsdecode(value)
  except TypeError:
    raise TypeError(f"{name}={user_input.described(value)}: expected a "
                    f"path{or_none}.") from None
  if not path:
    raise ValueError(
        f"{name}={value!r}: expected the path of a folder{or_none}. Is a "
        "variable of the shell not set?")
  return path


def absolute(name: str, value: Any) -> Optional[str]:
  """Returns the path of a folder of checkpoints, which holds after a `chdir`.

  Args:
    name: str, the argument.
    value: the user's argument.

  Returns:
    Str; None for None. A "~" is expanded, because a shell does not expand it in
    --model_dir=~/model.

  Raises:
    TypeError: it is no path.
    ValueError: it is empty, or TensorFlow cannot read checkpoints there.
  """
  if value is None:
    return None
  path = checked(name, value)
  if "://" not in path:
    return os.path.abspath(os.path.expanduser(path))
  if not checkpoint_file.is_readable(path):
    raise ValueError(
        f"{name}={path!r}: expected a URL without [ and \\, because TensorFlow "
        "reads the name of a checkpoint as a pattern. Use another folder.")
  return path
