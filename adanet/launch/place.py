# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The place of one process in a job that a scheduler has started."""

from typing import Dict, NamedTuple, Optional

from adanet.launch import job as job_lib


class Place(NamedTuple):
  """Which task of which job a process is.

  Attributes:
    job: the whole job.
    task: the task that this process runs.
    job_id: the value of `ADANET_JOB_ID`: the same for all tasks of the job.
  """
  job: job_lib.Job
  task: job_lib.Task
  job_id: str

  def environment(self, model_dir: Optional[str] = None) -> Dict[str, str]:
    """Returns the variables that the task's program needs.

    Args:
      model_dir: the folder of the job, or None if the program names it.
    """
    variables = {
        "ADANET_EVALUATOR": str(int(self.job.has_evaluator)),
        "ADANET_JOB_ID": self.job_id,
        "TF_CONFIG": self.job.tf_config(self.task, model_dir),
    }
    if self.task.job == job_lib.PS:
      # It only stores variables. A TensorFlow that sees a GPU takes its memory.
      variables["CUDA_VISIBLE_DEVICES"] = "-1"
    return variables
