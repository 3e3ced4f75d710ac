# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow servers in processes of their own, on this machine, for tests."""

import json
import socket
import subprocess
import sys

_SERVE = """
import json, sys
from adanet import tf_compat
cluster, job, index = sys.argv[1:]
tf_compat.v1.train.Server(json.loads(cluster), job, int(index)).join()
"""


def free_addresses(count):
  """Returns as many addresses, as str, that nothing listens on."""
  sockets = [socket.socket() for _ in range(count)]
  for s in sockets:
    s.bind(("127.0.0.1", 0))
  addresses = ["127.0.0.1:{}".format(s.getsockname()[1]) for s in sockets]
  for s in sockets:
    s.close()
  return addresses


def start(cluster, job):
  """Starts a server for each task of a job.

  They are killed with this process and not before: TensorFlow 1.15 waits at its
  own end for the servers that its variables are on.

  Args:
    cluster: dict from job to list of addresses.
    job: str, one of its jobs.

  Returns:
    list of `subprocess.Popen`.
  """
  return [
      subprocess.Popen(
          ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, "-c", _SERVE,
           json.dumps(cluster), job, str(index)],
          stderr=subprocess.DEVNULL)
      for index in range(len(cluster[job]))
  ]
