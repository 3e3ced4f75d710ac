# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the cluster of processes, with programs that end at once or hang."""

import os
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.examples.digits import local_cluster

# Each program knows its task, by its type and by its name.
_PREAMBLE = """
import json, os, sys, time
tf_config = json.loads(os.environ["TF_CONFIG"])
task = tf_config["task"]["type"]
name = "{}:{}".format(task, tf_config["task"]["index"])
def hang(): time.sleep(600)
"""


def _cluster(program, **num_tasks):
  return local_cluster.LocalCluster(
      [sys.executable, "-c", _PREAMBLE + program], num_tasks)


def _is_running(pid):
  try:
    os.kill(pid, 0)
  except ProcessLookupError:
    return False
  return True


class LocalClusterTest(parameterized.TestCase):

  def test_tells_each_task_its_place(self):
    program = "print(json.dumps(tf_config)) if task != 'ps' else hang()"
    with _cluster(program, chief=1, worker=2, ps=2) as cluster:
      events = list(cluster.events(silence_secs=60))
    self.assertCountEqual(
        [("chief", 0), ("worker", 0), ("worker", 1)],
        [(e["task"]["type"], e["task"]["index"]) for e in events])
    for event in events:
      self.assertEqual(cluster.cluster, event["cluster"])
    addresses = sum(cluster.cluster.values(), [])
    self.assertLen(set(addresses), 5)

  def test_a_job_without_tasks_is_not_in_the_cluster(self):
    self.assertCountEqual(["chief"],
                          _cluster("", chief=1, worker=0).cluster)

  def test_leaves_no_process(self):
    with _cluster("hang()", chief=1, ps=1) as cluster:
      pids = cluster.pids
      self.assertTrue(all(map(_is_running, pids.values())))
    self.assertFalse(any(map(_is_running, pids.values())))

  def test_leaves_no_process_when_one_does_not_start(self):
    cluster = local_cluster.LocalCluster(["/no/such/program"], {"chief": 1})
    with self.assertRaisesRegex(local_cluster.TaskError, "/no/such/program"):
      with cluster:
        list(cluster.events(silence_secs=60))

  def test_leaves_no_process_when_the_second_does_not_start(self):
    start = subprocess.Popen
    started = []

    def start_one(*args, **kwargs):
      if started:
        raise OSError("no more")
      started.append(start(*args, **kwargs))
      return started[0]

    # A mock of a machine on which no second process starts.
    with mock.patch.object(subprocess, "Popen", start_one):
      with self.assertRaisesRegex(local_cluster.TaskError, "no more"):
        with _cluster("hang()", chief=1, ps=1):
          pass
    self.assertFalse(_is_running(started[0].pid))

  @parameterized.parameters(
      ("worker:1", "sys.exit('out of luck')", "exit code 1.*out of luck"),
      ("worker:1", "print('not json'); sys.exit(3)", "exit code 3.*not json"),
      ("worker:0", "os.kill(os.getpid(), 9)", "killed by signal 9"),
      ("chief:0", "sys.exit(4)", "exit code 4"),
      ("ps:0", "sys.exit(5)", "exit code 5"),
      # A ps that ends takes its variables with it, whatever its exit code.
      ("ps:0", "sys.exit(0)", "exit code 0"))
  def test_one_task_fails(self, failing, fail, error):
    program = "if name == '{}': {}\nelse: hang()".format(failing, fail)
    with self.assertRaisesRegex(local_cluster.TaskError,
                                "(?s){} .*{}".format(failing, error)):
      with _cluster(program, chief=1, worker=2, ps=1) as cluster:
        list(cluster.events(silence_secs=60))

  def test_shows_the_last_lines_only(self):
    program = "[print(i, file=sys.stderr) for i in range(1000)]; sys.exit(1)"
    with self.assertRaises(local_cluster.TaskError) as raised:
      with _cluster(program, chief=1) as cluster:
        list(cluster.events(silence_secs=60))
    self.assertEqual([str(i) for i in range(990, 1000)],
                     str(raised.exception).split()[-10:])

  def test_silence_ends_it(self):
    program = "hang() if task == 'worker' else print({})"
    with self.assertRaisesRegex(local_cluster.TaskError,
                                "worker:0 has not reported for 1 s"):
      with _cluster(program, chief=1, worker=1) as cluster:
        list(cluster.events(silence_secs=1))


if __name__ == "__main__":
  absltest.main()
