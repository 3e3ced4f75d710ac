# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A small program of a cluster: chief and workers count together on each ps.

  count_on_ps.py FOLDER [TASK]

Each task writes FOLDER/TASK, such as FOLDER/worker-0, when it is done: the sums
on the ps that it saw last, as JSON. The task that is named second fails.
"""

import json
import os
import sys
import time

from adanet import tf_compat

_TIMEOUT_SECS = 120.
_FAILED = 3


def _wait_for(function):
  end = time.monotonic() + _TIMEOUT_SECS
  while not function():
    if time.monotonic() > end:
      sys.exit("count_on_ps: the time is over.")
    time.sleep(.1)


class _Sums:
  """A number on each ps, and a session that sees only them."""

  def __init__(self, cluster, job, index):
    v1 = tf_compat.v1
    config = v1.ConfigProto(
        device_filters=["/job:ps", "/job:{}/task:{}".format(job, index)])
    server = v1.train.Server(
        v1.train.ClusterSpec(cluster), job_name=job, task_index=index,
        config=config)
    with v1.Graph().as_default():
      variables = []
      for ps in range(len(cluster["ps"])):
        with v1.device("/job:ps/task:{}/cpu:0".format(ps)):
          variables.append(v1.get_variable(
              "sum{}".format(ps), initializer=0, use_resource=True))
      self._read = [variable.read_value() for variable in variables]
      self._add = [variable.assign_add(1).op for variable in variables]
      self._initialize = [variable.initializer for variable in variables]
      self._session = v1.Session(server.target, config=config)

  def initialize(self):
    self._session.run(self._initialize)

  def values(self):
    """Returns the sums as ints, or None if nobody has initialized them."""
    try:
      return [int(value) for value in self._session.run(self._read)]
    except (tf_compat.v1.errors.FailedPreconditionError,
            tf_compat.v1.errors.NotFoundError):
      return None

  def add(self):
    _wait_for(self.values)
    self._session.run(self._add)


def main(folder, failing=None):
  tf_config = json.loads(os.environ["TF_CONFIG"])
  job, index = tf_config["task"]["type"], tf_config["task"]["index"]
  cluster = tf_config["cluster"]
  name = "{}-{}".format(job, index)
  if name == failing:
    sys.exit(_FAILED)
  trainers = ["chief-0"] + [
      "worker-{}".format(i) for i in range(len(cluster.get("worker", ())))]
  values = None
  if job != "evaluator":
    sums = _Sums(cluster, job, index)
    if job == "chief":
      sums.initialize()
    if name in trainers:
      sums.add()
      _wait_for(lambda: min(sums.values()) >= len(trainers))
      values = sums.values()
  if name not in trainers:
    _wait_for(lambda: all(
        os.path.exists(os.path.join(folder, trainer)) for trainer in trainers))
  with open(os.path.join(folder, name), "w") as f:
    f.write(json.dumps(
        {"job_id": os.environ["ADANET_JOB_ID"], "sums": values}) + "\n")
  # A server does not end by itself.
  os._exit(0)


if __name__ == "__main__":
  main(*sys.argv[1:])
