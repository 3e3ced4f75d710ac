# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A job: its tasks, their addresses and their `TF_CONFIG`. It runs nothing."""

import dataclasses
import json
from typing import Dict, List, NamedTuple, Optional

CHIEF = "chief"
WORKER = "worker"
PS = "ps"
EVALUATOR = "evaluator"


@dataclasses.dataclass(frozen=True)
class Task:
  """A process of a job.

  Attributes:
    job: "chief", "worker", "ps" or "evaluator".
    index: which of the tasks with this `job`, from 0.
  """
  job: str
  index: int

  @property
  def name(self) -> str:
    """For example "worker:1"."""
    return f"{self.job}:{self.index}"


def make_tasks(num_workers: int, num_ps: int,
               has_evaluator: bool) -> List[Task]:
  """Returns the tasks of a job: chief, workers, parameter servers, evaluator.

  Args:
    num_workers: the number of workers beside the chief.
    num_ps: the number of parameter servers.
    has_evaluator: whether the job has an evaluator.
  """
  return ([Task(CHIEF, 0)] +
          [Task(WORKER, index) for index in range(num_workers)] +
          [Task(PS, index) for index in range(num_ps)] +
          [Task(EVALUATOR, 0)] * has_evaluator)


class Job(NamedTuple):
  """All tasks that run one program together.

  Attributes:
    addresses: "host:port" of each task by `Task.job`, in the order of
      `Task.index`. A kind without tasks is absent. The evaluator has no
      address: no task sends it anything.
    has_evaluator: whether the job has an evaluator.
  """
  addresses: Dict[str, List[str]]
  has_evaluator: bool = False

  def tasks(self) -> List[Task]:
    """Returns the tasks: chief, workers, parameter servers, evaluator."""
    return make_tasks(
        len(self.addresses.get(WORKER, ())), len(self.addresses.get(PS, ())),
        self.has_evaluator)

  def tf_config(self, task: Task, model_dir: Optional[str] = None) -> str:
    """Returns the value of the environment variable `TF_CONFIG` of a task.

    Args:
      task: a task of this job.
      model_dir: the folder of the job, which `RunConfig` takes if the program
        names none. None for no such entry.
    """
    config: Dict[str, object] = {
        "cluster": self.addresses,
        "task": {
            "type": task.job,
            "index": task.index
        },
    }
    if model_dir is not None:
      config["model_dir"] = model_dir
    return json.dumps(config, sort_keys=True)


def make_job(num_workers: int, num_ps: int, has_evaluator: bool,
             addresses: List[str]) -> Job:
  """Gives each task of a job its address.

  Args:
    num_workers: the number of workers beside the chief.
    num_ps: the number of parameter servers.
    has_evaluator: whether the job has an evaluator.
    addresses: an address for each task but the evaluator, in the order of
      `make_tasks`.

  Raises:
    ValueError: `addresses` has another length.
  """
  tasks = make_tasks(num_workers, num_ps, False)
  if len(addresses) != len(tasks):
    raise ValueError(f"addresses: expected {len(tasks)}, got {len(addresses)}.")
  by_job: Dict[str, List[str]] = {}
  for task, address in zip(tasks, addresses):
    by_job.setdefault(task.job, []).append(address)
  return Job(by_job, has_evaluator)
