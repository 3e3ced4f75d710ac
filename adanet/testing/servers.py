# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow servers on this machine, each in a process of its own."""

import socket

from adanet import tf_compat
from adanet.testing import processes


def free_addresses(count):
  """Returns `count` addresses, as str, that nothing listens on."""
  sockets = [socket.socket() for _ in range(count)]
  for s in sockets:
    s.bind(("127.0.0.1", 0))
  addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
  for s in sockets:
    s.close()
  return addresses


def free_cluster(**num_tasks):
  """Returns a cluster on free addresses.

  Args:
    **num_tasks: for each job how many tasks it has.

  Returns:
    dict from job to list of addresses.
  """
  addresses = iter(free_addresses(sum(num_tasks.values())))
  return {
      job: [next(addresses) for _ in range(count)]
      for job, count in num_tasks.items()
  }


def _serve(unused_connection, cluster, job, index):
  tf_compat.v1.train.Server(cluster, job, index).join()


def start(cluster, job):
  """Starts a server for each task of a job.

  Do not kill one that has variables: TensorFlow 1.15 waits for it when this
  process ends. The kernel kills it afterwards.

  Args:
    cluster: dict from job to list of addresses.
    job: str, one of its jobs.

  Returns:
    list of `processes.Process`.
  """
  return [
      processes.Process(_serve, cluster, job, index)
      for index in range(len(cluster[job]))
  ]
