# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How tables, pictures, warnings and errors name tasks: as TF_CONFIG does.

To a strategy and a plan the chief is worker 0, and worker 1 is "worker:0".
"""

from typing import Any, List, Sequence, Union


def worker_names(num_workers: int, chief: str = "chief") -> List[str]:
  """Returns the names of a plan's workers: "chief:0", "worker:0", "worker:1"...

  Args:
    num_workers: int, with the chief.
    chief: str, the job of the chief: "chief" or "master".
  """
  return [chief + ":0"] + [f"worker:{w}" for w in range(num_workers - 1)]


def ps_name(index: int) -> str:
  """Returns the name of a parameter server of a plan."""
  return f"ps:{index}"


def workers_text(workers: Any, names: Sequence[str]) -> str:
  """Returns `Indices` as text; ranges of workers begin after the chief."""
  name = names.__getitem__
  if 0 not in workers or len(workers) == 1:
    return workers.to_text(name)
  rest = type(workers)(workers[1:])
  return f"{name(0)}, {rest.to_text(name)}"


def count(number: Union[int, str], noun: str) -> str:
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
