# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The output of adanet-launch --dry_run."""

import os
import shlex
import subprocess
import sys
from typing import Optional, Sequence

from adanet.launch import job as job_lib


def print_tf_config(tf_config: str) -> None:
  """Prints the TF_CONFIG of a task, as a shell takes it."""
  print("TF_CONFIG=" + shlex.quote(tf_config))


def print_job(job: job_lib.Job, model_dir: Optional[str]) -> None:
  """Prints the TF_CONFIG of each task.

  Args:
    job: the job.
    model_dir: its folder, or None if the program names it.
  """
  for task in job.tasks():
    print("# " + task.name)
    print_tf_config(job.tf_config(task, model_dir))


def print_plan(tf_config: str, subnetworks: Optional[int],
               strategy: Optional[str]) -> int:
  """Prints the plan of a cluster; returns the exit code.

  Args:
    tf_config: the TF_CONFIG of any of its tasks.
    subnetworks: how many there are in the iteration; None for no plan.
    strategy: as for adanet-plan, or None.
  """
  if subnetworks is None:
    return 0
  command = [sys.executable, "-m", "adanet.distributed.plan",
             "--tf_config=-", f"--subnetworks={subnetworks}"]
  if strategy is not None:
    command.append("--strategy=" + strategy)
  print(flush=True)
  return subprocess.run(
      command, check=False, input=tf_config.encode(), env=dict(
          os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
  ).returncode
