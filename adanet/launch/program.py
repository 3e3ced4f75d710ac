# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The program of a user: the command that runs it as a task."""

import json
import os
import sys
from typing import List, Optional, Sequence

from adanet import typed_json


class ProgramError(Exception):
  """The program or its TF_CONFIG is bad. The message is one line."""


def command(program: Sequence[str], is_module: bool) -> List[str]:
  """Returns the command of a task.

  Args:
    program: the name of a Python file, another file that can be executed, or a
      module; and its arguments.
    is_module: whether it is a module.

  Raises:
    ProgramError: there is no such file, or it cannot be executed.
  """
  name = program[0]
  if is_module:
    return [sys.executable, "-m"] + list(program)
  if not os.path.isfile(name):
    raise ProgramError("{}: expected a file, such as train.py{}.".format(
        name, "" if os.sep in name or "." in name
        else " (-m is for Python modules)"))
  if not name.endswith(".py"):
    if not os.access(name, os.X_OK):
      raise ProgramError(f"{name}: expected *.py, or a file that can be "
                         "executed (chmod +x).")
    return [os.path.abspath(name)] + list(program[1:])
  return [sys.executable] + list(program)


def with_model_dir(tf_config: str, model_dir: Optional[str]) -> str:
  """Returns a `TF_CONFIG` with the folder of the job.

  Args:
    tf_config: as in the environment.
    model_dir: the folder; None to leave it as it is.

  Raises:
    ProgramError: it is not JSON of an object.
  """
  try:
    value = typed_json.loads(tf_config)
  except ValueError as e:
    raise ProgramError(f"TF_CONFIG: expected a JSON object: {e}.") from e
  if model_dir is None:
    return tf_config
  return json.dumps(dict(value, model_dir=model_dir), sort_keys=True)
