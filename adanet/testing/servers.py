# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow servers on this machine, each in a process of its own."""

from adanet import tf_compat
from adanet.testing import processes


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
  tf_compat.v1.ConfigProto()  # Loads TensorFlow once for all processes.
  return [
      processes.Process(_serve, cluster, job, index)
      for index in range(len(cluster[job]))
  ]
