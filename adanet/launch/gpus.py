# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which GPUs of a machine each task, or each worker of a pool, gets."""

import glob
import multiprocessing
import os
import subprocess
from typing import Dict, List, Mapping, Optional, Sequence

from adanet.launch import job as job_lib
from adanet.launch import processes

_TIMEOUT_SECS = 10
_TRAINS = (job_lib.CHIEF, job_lib.WORKER)


def visible(environment: Mapping[str, str]) -> List[str]:
  """Returns the GPUs that this process may use, as CUDA names them.

  Args:
    environment: of this process. `CUDA_VISIBLE_DEVICES` decides, if it is set.
      Otherwise the driver is asked.
  """
  names = environment.get("CUDA_VISIBLE_DEVICES")
  if names is not None:
    # As CUDA: the first bad name ends the list.
    listed: List[str] = []
    for name in names.split(","):
      name = name.strip()
      if not name or name.startswith("-"):
        break
      listed.append(name)
    return listed
  devices = glob.glob("/dev/nvidia[0-9]*")
  if not devices:
    return []
  try:
    listing = subprocess.run(
        ["nvidia-smi", "-L"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, timeout=_TIMEOUT_SECS,
        check=True).stdout.decode("utf-8", "replace")
    count = sum(line.startswith("GPU ") for line in listing.splitlines())
  except (OSError, subprocess.SubprocessError):
    count = len(devices)
  return [str(index) for index in range(count)]


def shares(tasks: Sequence[job_lib.Task],
           gpus: Sequence[str]) -> Dict[job_lib.Task, Dict[str, str]]:
  """Divides GPUs among the chief and the workers.

  With enough GPUs each gets its own, the first ones one more if they do not
  divide. With fewer, they share, and TensorFlow must not take all the memory of
  a GPU at once. The rest get none.

  Args:
    tasks: the tasks on this machine.
    gpus: as `visible` returns them.

  Returns:
    The variables of the environment of each task.
  """
  trainers = [task for task in tasks if task.job in _TRAINS]
  result = {task: {"CUDA_VISIBLE_DEVICES": "-1"} for task in tasks}
  if not gpus or not trainers:
    return result
  is_shared = len(gpus) < len(trainers)
  first = 0
  for number, task in enumerate(trainers):
    if is_shared:
      share = [gpus[number % len(gpus)]]
    else:
      size = len(gpus) // len(trainers) + (number < len(gpus) % len(trainers))
      share = list(gpus[first:first + size])
      first += size
    result[task]["CUDA_VISIBLE_DEVICES"] = ",".join(share)
    if is_shared:
      result[task]["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
  return result


def use_one_gpu() -> None:
  """Gives a worker of a process pool a GPU of its own.

  Give it to a `ProcessPoolExecutor` as its `initializer`. It runs in each
  worker before any part, and sets `CUDA_VISIBLE_DEVICES`: the first worker gets
  the first GPU that the program may use. With more workers than GPUs they
  share, so TensorFlow takes memory as it needs it. Where there is no GPU, it
  sets nothing. The worker ends with its program, as by
  `adanet.end_with_program`: one that stays would keep its GPU.

  Raises:
    RuntimeError: this process is no worker of a pool.
  """
  # multiprocessing counts its processes from 1, and has no public name for it.
  identity = getattr(multiprocessing.current_process(), "_identity", ())
  if not identity:
    raise RuntimeError(
        "use_one_gpu: expected a worker of a process pool. Give the function to "
        "the pool, as its initializer")
  processes.end_with_program()
  gpus = visible(os.environ)
  if gpus:
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus[(identity[-1] - 1) % len(gpus)]
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")


def sharing_message(tasks: Sequence[job_lib.Task],
                    gpus: Sequence[str]) -> Optional[str]:
  """Returns a line that says that tasks share GPUs; None if they do not."""
  count = sum(task.job in _TRAINS for task in tasks)
  if not gpus or count <= len(gpus):
    return None
  return (f"The chief and the workers ({count}) share {len(gpus)} "
          f"GPU{'' if len(gpus) == 1 else 's'}, with memory growth on.")
