# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a job with TensorFlow's server in each task."""

import os
import re
import socket

from absl.testing import absltest
from adanet.testing import launches

# The chief and the worker add to a variable of the ps. The ps serves until the
# sum is there.
_BODY = """
from adanet import tf_compat
v1 = tf_compat.v1
cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
print("cluster", cluster["ps"][0])
# A restarted task listens at the port that it had.
server = v1.train.Server(cluster, job_name=_task["type"],
                         task_index=_task["index"])
with v1.Graph().as_default():
  with v1.device("/job:ps/task:0"):
    total = v1.get_variable("total", shape=[], dtype=v1.int32,
                            initializer=v1.zeros_initializer())
    add = v1.assign_add(total, 1)
  config = v1.ConfigProto(
      device_filters=["/job:ps", "/job:{type}/task:{index}".format(**_task)])
  with v1.Session(server.target, config=config) as session:
    if me == "ps:0":
      session.run(total.initializer)
      works()
      if not runs():
        os.kill(os.getpid(), signal.SIGKILL)
      touch("ready")
    wait_for("ready")
    if me != "ps:0":
      works()
      session.run(add)
    while session.run(total) < 2:
      time.sleep(.05)
    print("total", session.run(total))
    touch(me)
    wait_for("chief:0")
    wait_for("worker:0")
    sys.stdout.flush()
    os._exit(0)
"""


class ServersTest(absltest.TestCase):

  def test_servers(self):
    folder = self.create_tempdir().full_path
    program = self.create_tempfile(
        os.path.join(folder, "train.py"), launches.PREAMBLE + _BODY).full_path
    launch = self.enter_context(launches.Launch(
        "--workers=1", "--ps=1", "--noprivate_network", program))
    status, output, errors = launch.finish()
    self.assertEmpty(launch.left())
    self.assertEqual(0, status, errors)
    self.assertLen(re.findall("total 2", output), 3)
    self.assertIn("ps:0 failed: killed by signal 9 (SIGKILL).", errors)
    ports = set(re.findall(r"cluster 127\.0\.0\.1:(\d+)", output))
    self.assertLen(ports, 1)
    with self.assertRaises(ConnectionRefusedError):
      socket.create_connection(("127.0.0.1", int(ports.pop())))


if __name__ == "__main__":
  absltest.main()
