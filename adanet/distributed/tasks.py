# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How tables, pictures, warnings and errors name tasks: as TF_CONFIG does.

To a strategy and a plan the chief is worker 0, and worker 1 is the task "worker:0".
"""

import typing

from adanet.distributed import indices as indices_lib

Indices = indices_lib.Indices


class WorkerNames(typing.Sequence[str]):
  """The name of each worker of a plan: "chief:0", "worker:0", "worker:1", ..."""

  def __init__(self, num_workers: int, chief: str = "chief"):
    """Makes the names, in constant time.

    Args:
      num_workers: int, with the chief.
      chief: str, the job of the chief: "chief" or "master".
    """
    self._num_workers = num_workers
    self._chief = chief

  def __len__(self):
    return self._num_workers

  def __getitem__(self, index):
    return f"worker:{index - 1}" if index else self._chief + ":0"


def ps_name(index: int) -> str:
  """Returns the name of a parameter server of a plan."""
  return f"ps:{index}"


def workers_text(workers: Indices, names: typing.Sequence[str],
                 num_more: int = 0) -> str:
  """Returns the names of workers; ranges begin after the chief.

  Args:
    workers: `Indices` of workers.
    names: the name of each worker of the plan.
    num_more: as for `Indices.to_text`.
  """
  name = names.__getitem__
  if 0 not in workers or len(workers) == 1:
    return workers.to_text(name, num_more)
  return f"{name(0)}, {Indices(workers[1:]).to_text(name, num_more)}"


def count(number: typing.Union[int, str], noun: str) -> str:
  """Returns for example "1 worker" or "2 workers"."""
  return f"{number} {noun}{'' if str(number) == '1' else 's'}"


def trainers_text(num_workers: int) -> str:
  """Returns for example "chief and 3 workers" for `num_workers=4`."""
  if num_workers == 1:
    return "chief"
  return "chief and " + count(f"{num_workers - 1:,}", "worker")


def cluster_text(num_workers: int, num_ps: int, num_subnetworks: int) -> str:
  """Returns the shape of a plan in words: "a chief and 3 workers, ..."."""
  return ", ".join(["a " + trainers_text(num_workers),
                    count(f"{num_ps:,}", "parameter server"),
                    count(f"{num_subnetworks:,}", "subnetwork")])
