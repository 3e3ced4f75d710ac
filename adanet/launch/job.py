# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A job: its tasks, their addresses, TF_CONFIG and program. Starts nothing."""

import dataclasses
import json
import os
import sys
from typing import Dict, List, NamedTuple, Optional, Sequence

from adanet import typed_json

CHIEF = "chief"
WORKER = "worker"
PS = "ps"
EVALUATOR = "evaluator"
TRAINS = (CHIEF, WORKER)


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
        "task": {"type": task.job, "index": task.index},
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
  """
  by_job: Dict[str, List[str]] = {}
  for task, address in zip(make_tasks(num_workers, num_ps, False), addresses):
    by_job.setdefault(task.job, []).append(address)
  return Job(by_job, has_evaluator)


class Place(NamedTuple):
  """Which task of which job a process is.

  Attributes:
    job: the whole job.
    task: the task that this process runs.
    job_id: the value of `ADANET_JOB_ID`: the same for all tasks of the job.
  """
  job: Job
  task: Task
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
    if self.task.job == PS:
      # It only stores variables. A TensorFlow that sees a GPU takes its memory.
      variables["CUDA_VISIBLE_DEVICES"] = "-1"
    return variables


def command(program: Sequence[str], is_module: bool) -> List[str]:
  """Returns the command of a task.

  Args:
    program: the name of a Python file, another file that can be executed, or a
      module; and its arguments.
    is_module: whether it is a module.

  Raises:
    ValueError: there is no such file, or it cannot be executed.
  """
  name = program[0]
  if is_module:
    return [sys.executable, "-m"] + list(program)
  if not os.path.isfile(name):
    raise ValueError("{}: expected a file, such as train.py{}.".format(
        name, "" if os.sep in name or "." in name
        else " (-m is for Python modules)"))
  if not name.endswith(".py"):
    if not os.access(name, os.X_OK):
      raise ValueError(f"{name}: expected *.py, or a file that can be "
                       "executed (chmod +x).")
    return [os.path.abspath(name)] + list(program[1:])
  return [sys.executable] + list(program)


def with_model_dir(tf_config: str, model_dir: Optional[str]) -> str:
  """Returns a `TF_CONFIG` with the folder of the job.

  Args:
    tf_config: as in the environment.
    model_dir: the folder; None to leave it as it is.

  Raises:
    ValueError: it is not JSON of an object.
  """
  try:
    value = typed_json.loads(tf_config)
  except ValueError as e:
    raise ValueError(f"TF_CONFIG: expected a JSON object: {e}.") from e
  if model_dir is None:
    return tf_config
  return json.dumps(dict(value, model_dir=model_dir), sort_keys=True)
