# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""--workers, --ps and --evaluator: the tasks of a cluster, as TF_CONFIG counts.
"""

from absl import flags
from adanet.console import command as command_lib


class ClusterFlags:
  """The flags of a command, which mean the same in every command.

  Attributes:
    workers: the flag with the number of workers beside the chief.
    ps: the flag with the number of parameter servers.
    evaluator: the flag that says whether there is an evaluator.
  """

  def __init__(self, command: command_lib.Command, max_workers: int,
               max_ps: int):
    """Defines the flags.

    Args:
      command: gets them.
      max_workers: int, the most workers beside the chief.
      max_ps: int, the most parameter servers.
    """
    self._command = command
    self.workers = command.define_integer(
        "workers", 0, "Number of workers beside the chief.", 0, max_workers)
    self.ps = command.define_integer(
        "ps", 0, "Number of parameter servers. They hold the variables that "
        "several tasks share.", 0, max_ps)
    self.evaluator = flags.DEFINE_boolean(
        "evaluator", False, "Whether there is an evaluator.",
        flag_values=command.flags)

  @property
  def are_given(self) -> bool:
    """Whether the command line describes a cluster."""
    return self._command.is_given("workers", "ps", "evaluator")

  def check_servers(self) -> None:
    """Raises `BadInput` if there are workers but no parameter server."""
    if self.workers.value and not self.ps.value:
      raise command_lib.BadInput(
          f"--ps=0: expected at least 1 with --workers={self.workers.value}, "
          "to hold the variables that the tasks share.")
