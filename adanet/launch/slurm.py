# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The place of a process in a job, from the variables that Slurm sets.

  srun --nodes=3 --ntasks=6 adanet-launch --ps=2 train.py

Each process that srun starts is a task, and all processes agree on the whole
job without messages:

- Rank 0 is the chief.
- The parameter servers go from the last node to the first, one per node and
  then again, always on the last free rank of a node. A parameter server's
  network link limits a job first, so parameter servers share as few links as
  possible. With `srun --distribution=cyclic`, the last ranks are the parameter
  servers.
- The evaluator is the last remaining rank.
- All other ranks are workers, in the order of the ranks.

The hosts are the names of the nodes, which must resolve on each node. The ports
are the ports that Slurm has reserved for the step (`MpiParams=ports=...` in
slurm.conf). Without reserved ports, a port is the rank plus a base, computed
from the ids of the job and the step: tasks never share a port, even if nodes
share a machine, and jobs with similar ids use ports far from each other.

If a task of a step fails, Slurm lets the other tasks run: use `srun
--kill-on-bad-exit`. A job that Slurm starts again (`sbatch --requeue`) resumes
from the last checkpoint. For AdaNet, the restarted job is a different job: all
tasks are new, and must not believe an earlier message of the chief.
"""

import itertools
import re
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from adanet.launch import job as job_lib
from adanet import messages

# Below the ports that Linux gives to clients (from 32768), and above most
# services.
_FIRST_PORT = 10000
_NUM_PORTS = 32768 - _FIRST_PORT

_NODE_LIST_ITEM = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_TASKS_OF_NODES = re.compile(r"(\d+)(?:\(x(\d+)\))?")


NEEDS_SRUN = (
    "SLURM_STEP_ID: not set, expected the step of a task; start each task with "
    "srun, as in: srun adanet-launch --ps=2 train.py (or add --scheduler=local "
    "to run all tasks on this node).")


class LayoutError(ValueError):
  """Slurm runs different tasks on this node than other nodes believe."""


def in_step(environ: Mapping[str, str]) -> bool:
  """Returns whether srun has started this process or an ancestor."""
  # A batch script has a SLURM_PROCID too.
  return "SLURM_STEP_ID" in environ and "SLURM_PROCID" in environ


def lacks_srun(environ: Mapping[str, str]) -> bool:
  """Returns whether srun must start several tasks in the job of Slurm.

  Args:
    environ: the environment of a batch script, of the shell of salloc, or of
      any other process.
  """
  return "SLURM_JOB_ID" in environ and not in_step(environ) and any(
      environ.get(name, "1") != "1"
      for name in ("SLURM_NTASKS", "SLURM_JOB_NUM_NODES"))


def is_first(environ: Mapping[str, str]) -> bool:
  """Returns whether this process of srun has rank 0."""
  return environ.get("SLURM_PROCID") == "0"


def is_alone(environ: Mapping[str, str]) -> bool:
  """Returns whether srun has started this process only."""
  return environ.get("SLURM_STEP_NUM_TASKS",
                     environ.get("SLURM_NTASKS", "")) == "1"


def place(environ: Mapping[str, str], num_ps: int,
          has_evaluator: bool,
          num_workers: Optional[int] = None) -> job_lib.Place:
  """Returns the task of the process, and the job.

  Args:
    num_workers: how many workers beside the chief the user expects; None for
      all other processes.

  Raises:
    ValueError: the step has too few tasks, was not started by srun, or has a
      distribution that the variables do not explain.
    LayoutError: the variables contradict each other.
  """
  if not in_step(environ):
    raise ValueError(NEEDS_SRUN)
  for name in ("SLURM_HET_SIZE", "SLURM_PACK_SIZE"):
    if name in environ:
      raise ValueError(f"{name}: {environ[name]}, expected a job that is not "
                       "heterogeneous; use srun without ':'.")
  nodes_of_ranks = _nodes_of_ranks(environ)
  _check_own_node(environ, nodes_of_ranks)
  tasks = assign_tasks(nodes_of_ranks, num_ps, has_evaluator)

  names = expand_nodes(_get(environ, "SLURM_STEP_NODELIST"))
  ports = _ports(environ, nodes_of_ranks)
  if len(names) != max(nodes_of_ranks) + 1:
    raise ValueError(
        f"SLURM_STEP_NODELIST: {environ['SLURM_STEP_NODELIST']}, expected "
        f"{max(nodes_of_ranks) + 1} nodes, as many as "
        "SLURM_STEP_TASKS_PER_NODE has.")
  addresses = {
      task: f"{names[node]}:{port}"
      for task, node, port in zip(tasks, nodes_of_ranks, ports)
  }
  count = sum(task.job == job_lib.WORKER for task in tasks)
  if num_workers not in (None, count):
    raise ValueError(
        f"--workers: {num_workers}, expected {count} beside the chief, because "
        f"srun has started {len(tasks)} tasks; leave --workers out.")
  if count and not num_ps:
    raise ValueError(
        f"--ps: 0, expected at least 1 with --workers={count}, to hold the "
        "variables that the tasks share; use --ps=1.")
  job = job_lib.make_job(count, num_ps, has_evaluator, [
      addresses[task] for task in job_lib.make_tasks(count, num_ps, False)
  ])
  return job_lib.Place(
      job, tasks[_number(environ, "SLURM_PROCID")], job_id(environ))


def job_id(environ: Mapping[str, str]) -> str:
  """Returns the `ADANET_JOB_ID` of a step, different for each start."""
  return "slurm-{}.{}-{}".format(
      _get(environ, "SLURM_JOB_ID"), _get(environ, "SLURM_STEP_ID"),
      environ.get("SLURM_RESTART_COUNT", "0"))


def assign_tasks(nodes_of_ranks: Sequence[int], num_ps: int,
                 has_evaluator: bool) -> List[job_lib.Task]:
  """Returns the task of each rank.

  Args:
    nodes_of_ranks: the index of the node of each rank.
  """
  num_ranks = len(nodes_of_ranks)
  num_others = num_ps + bool(has_evaluator)
  if num_ranks < 1 + num_others:
    raise ValueError(
        f"srun: {messages.count(num_ranks, 'task')}, expected at least "
        f"{1 + num_others} (a chief, {num_ps} "
        f"ps{', an evaluator' if has_evaluator else ''}); use srun "
        f"--ntasks={1 + num_others} or more.")
  ps = set(_spread(nodes_of_ranks, num_ps))
  free = [rank for rank in range(1, num_ranks) if rank not in ps]
  evaluator = free.pop() if has_evaluator else None

  tasks = []
  indices = {job_lib.WORKER: 0, job_lib.PS: 0}
  for rank in range(num_ranks):
    if rank == 0:
      tasks.append(job_lib.Task(job_lib.CHIEF, 0))
    elif rank == evaluator:
      tasks.append(job_lib.Task(job_lib.EVALUATOR, 0))
    else:
      kind = job_lib.PS if rank in ps else job_lib.WORKER
      tasks.append(job_lib.Task(kind, indices[kind]))
      indices[kind] += 1
  return tasks


def _spread(nodes_of_ranks: Sequence[int], count: int) -> List[int]:
  """Returns `count` ranks except 0 on as many nodes as there are."""
  seen: Dict[int, int] = {}
  places = []
  for rank in reversed(range(1, len(nodes_of_ranks))):
    node = nodes_of_ranks[rank]
    seen[node] = seen.get(node, 0) + 1
    # All last ranks of nodes come before all last but one.
    places.append((seen[node], -node, rank))
  return [rank for _, _, rank in sorted(places)[:count]]


def expand_nodes(node_list: str) -> List[str]:
  """Returns the names in a list of nodes, as `scontrol show hostnames` does.

  Args:
    node_list: for example "n[1-3,07],gpu-a01".
  """
  names: List[str] = []
  items = _NODE_LIST_ITEM.findall(node_list)
  if ",".join(items) != node_list or not items:
    raise _bad_list("SLURM_STEP_NODELIST", node_list, "n[1-3,7],gpu1")
  for item in items:
    parts = _BRACKETS.split(item)
    # Every second part was in brackets.
    choices = [
        _expand_ranges(part, node_list) if index % 2 else [part]
        for index, part in enumerate(parts)
    ]
    names += ["".join(chosen) for chosen in itertools.product(*choices)]
  return names


def _expand_ranges(ranges: str, node_list: str) -> List[str]:
  """Returns the numbers in "1-3,07", with their zeros."""
  parsed = _ranges(ranges)
  if parsed is None:
    raise _bad_list("SLURM_STEP_NODELIST", node_list, "n[1-3,7],gpu1")
  return [str(number).zfill(width)
          for numbers, width in parsed for number in numbers]


def _ranges(text: str) -> Optional[List[Tuple[range, int]]]:
  """Returns each range of "1-3,07", and the digits of the first number."""
  matches = [_RANGE.fullmatch(item) for item in text.split(",")]
  if None in matches:
    return None
  return [(range(int(first), int(last or first) + 1), len(first))
          for first, last in (match.groups() for match in matches)]


def expand_tasks_per_node(tasks_per_node: str) -> List[int]:
  """Returns the number of tasks of each node.

  Args:
    tasks_per_node: for example "2(x3),1".
  """
  counts: List[int] = []
  for item in tasks_per_node.split(","):
    match = _TASKS_OF_NODES.fullmatch(item)
    if not match:
      raise _bad_list("SLURM_STEP_TASKS_PER_NODE", tasks_per_node, "2(x3),1")
    counts += [int(match.group(1))] * int(match.group(2) or 1)
  return counts


def distribute(counts: Sequence[int], distribution: str,
               plane_size: int = 1) -> List[int]:
  """Returns the index of the node of each rank.

  Args:
    counts: the number of tasks of each node.
    distribution: the value of SLURM_DISTRIBUTION, "" for no value.
  """
  # The part behind the first colon or comma is about sockets and cores.
  among_nodes = re.split("[:,]", distribution)[0]
  if among_nodes in ("", "*", "block"):
    at_once = max(counts)
  elif among_nodes == "cyclic":
    at_once = 1
  elif among_nodes == "plane":
    at_once = plane_size
  else:
    raise ValueError(
        f"SLURM_DISTRIBUTION: {distribution}, expected block, cyclic or plane; "
        "use srun --distribution=block.")
  nodes: List[int] = []
  left = list(counts)
  while any(left):
    for node in range(len(left)):
      num_tasks = min(at_once, left[node])
      nodes += [node] * num_tasks
      left[node] -= num_tasks
  return nodes


def _nodes_of_ranks(environ: Mapping[str, str]) -> List[int]:
  name = "SLURM_STEP_TASKS_PER_NODE"
  if name not in environ:
    name = "SLURM_TASKS_PER_NODE"
  return distribute(
      expand_tasks_per_node(_get(environ, name)),
      environ.get("SLURM_DISTRIBUTION", ""),
      max(1, _number(environ, "SLURM_DIST_PLANESIZE", 1)))


def _check_own_node(environ: Mapping[str, str],
                    nodes_of_ranks: Sequence[int]) -> None:
  """Raises LayoutError if Slurm describes this node differently."""
  node = _number(environ, "SLURM_NODEID")
  ranks = [rank for rank, of in enumerate(nodes_of_ranks) if of == node]
  said = environ.get("SLURM_GTIDS", "")
  if said and said != ",".join(map(str, ranks)):
    raise LayoutError(
        f"SLURM_GTIDS: {said}, expected {','.join(map(str, ranks))} on node "
        f"{node} with the distribution "
        f"{environ.get('SLURM_DISTRIBUTION', 'block')!r}; use srun "
        "--distribution=block.")
  rank = _number(environ, "SLURM_PROCID")
  if rank not in ranks:
    raise LayoutError(
        f"SLURM_PROCID: {rank}, expected one of {ranks} on node {node}; use "
        "srun --distribution=block.")


def _ports(environ: Mapping[str, str],
           nodes_of_ranks: Sequence[int]) -> List[int]:
  """Returns a port for each rank: different ports on each node."""
  num_ranks = len(nodes_of_ranks)
  reserved = _reserved_ports(environ)
  if len(reserved) >= num_ranks:
    return reserved[:num_ranks]
  seen: Dict[int, int] = {}
  local_ids = []
  for node in nodes_of_ranks:
    local_ids.append(seen.get(node, 0))
    seen[node] = local_ids[-1] + 1
  # Slurm reserves as many as the node with the most tasks needs, on each node.
  if len(reserved) > max(local_ids):
    return [reserved[local_id] for local_id in local_ids]
  base = first_port(_number(environ, "SLURM_JOB_ID"),
                    _number(environ, "SLURM_STEP_ID"))
  offsets = range(num_ranks) if num_ranks <= _NUM_PORTS else local_ids
  return [
      _FIRST_PORT + (base - _FIRST_PORT + offset) % _NUM_PORTS
      for offset in offsets
  ]


def first_port(slurm_job_id: int, step_id: int) -> int:
  """Returns the port of rank 0 of a step, if Slurm has not reserved any."""
  # Multiples of the golden ratio, modulo 1, are far apart if the factors are
  # near each other. Knuth, The Art of Computer Programming 3, section 6.4.
  fraction = (slurm_job_id * 2654435769 + step_id * 1779033703) % 2**32
  return _FIRST_PORT + (fraction * _NUM_PORTS >> 32)


def _reserved_ports(environ: Mapping[str, str]) -> List[int]:
  """Returns the ports that Slurm has reserved for the step on each node."""
  ranges = environ.get("SLURM_STEP_RESV_PORTS", "").strip("[]")
  if not ranges or ranges == "(null)":
    return []
  parsed = _ranges(ranges)
  if parsed is None:
    raise _bad_list("SLURM_STEP_RESV_PORTS", ranges, "12000-12003,12005")
  return [port for ports, _ in parsed for port in ports]


def _get(environ: Mapping[str, str], name: str) -> str:
  if not environ.get(name):
    raise ValueError(f"{name}: not set, expected the value that Slurm gives "
                     "each task; start it with srun.")
  return environ[name]


def _number(environ: Mapping[str, str], name: str,
            default: Optional[int] = None) -> int:
  if default is not None and name not in environ:
    return default
  value = _get(environ, name)
  if not value.isdigit():
    raise ValueError(f"{name}: {value}, expected a number; start it with srun.")
  return int(value)


def _bad_list(name: str, value: str, example: str) -> ValueError:
  return ValueError(f"{name}: {value!r}, expected a list such as {example}.")
