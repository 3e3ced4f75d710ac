# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The message of adanet-launch at the end of a job that failed."""

from typing import Optional

from adanet.launch import output as output_lib
from adanet.launch import supervision

# Errors of programs that try to reach the Internet and cannot.
_NO_NETWORK = (
    "Name or service not known", "Temporary failure in name resolution",
    "Network is unreachable", "Could not resolve host",
    "Couldn't resolve host")


def message(ended: supervision.Supervision, output: output_lib.Output,
            is_network_private: bool) -> Optional[str]:
  """Says why a job failed: its problem, or the task that failed first.

  Args:
    ended: the `Supervision` of the job, which has ended.
    output: has the output of the tasks.
    is_network_private: whether the tasks could not reach the Internet.

  Returns:
    The problem; or the task and the last lines that it printed; None if the job
    did not fail.
  """
  failures = ended.failures
  if ended.problem or not failures:
    return ended.problem
  first = failures[0]
  parts = [f"{first.task.name} failed first: {first.message()}."]
  path = output.log_path(first.task)
  lines = output.last_lines(first.task)
  if lines:
    parts[0] += " The last lines that it printed:"
    parts.extend("  " + line for line in lines)
    if path:
      parts.append(f"All lines are in {path}.")
  else:
    parts[0] += " It printed nothing."
  if len(failures) > 1:
    parts.append("After it failed: {}.".format("; ".join(
        f"{failure.task.name}: {failure.message()}"
        for failure in failures[1:])))
  if is_network_private and any(
      sign in line for line in lines for sign in _NO_NETWORK):
    parts.append("The tasks have a private network, without a way to the "
                 "Internet. --noprivate_network opens it.")
  return "\n".join(parts)
