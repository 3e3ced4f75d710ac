# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What adanet-launch says at the end of a job that failed."""

from typing import Sequence

from adanet.launch import output as output_lib
from adanet.launch import supervision


def message(failures: Sequence[supervision.Failure],
            output: output_lib.Output) -> str:
  """Names the task that failed first, and shows the last lines it printed.

  Args:
    failures: those that ended the job, the first one first; not empty.
    output: has what the tasks printed.
  """
  first = failures[0]
  parts = ["{} failed first: {}.".format(first.task.name, first.message())]
  path = output.log_path(first.task)
  where = " All are in {}.".format(path) if path else ""
  lines = output.last_lines(first.task)
  if lines:
    parts[0] += " The last lines that it printed:"
    parts.extend("  " + line for line in lines)
    if where:
      parts.append(where.strip())
  else:
    parts[0] += " It printed nothing."
  if len(failures) > 1:
    parts.append("After it failed: {}.".format("; ".join(
        "{}: {}".format(failure.task.name, failure.message())
        for failure in failures[1:])))
  return "\n".join(parts)
