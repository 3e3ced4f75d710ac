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

_SILENCE_SECS = 120

# Each program knows its job and its name.
_PREAMBLE = """
import json, os, sys, time
tf_config = json.loads(os.environ["TF_CONFIG"])
job = tf_config["task"]["type"]
name = "{}:{}".format(job, tf_config["task"]["index"])
def hang(): time.sleep(600)
"""


def _cluster(program, **num_tasks):
  return local_cluster.LocalCluster(
      [sys.executable, "-S", "-c", _PREAMBLE + program], num_tasks)


def _is_running(pid):
  try:
    os.kill(pid, 0)
  except ProcessLookupError:
    return False
  return True


class LocalClusterTest(parameterized.TestCase):

  def test_each_task_has_its_tf_config(self):
    program = "print(json.dumps(tf_config)) if job != 'ps' else hang()"
    with _cluster(program, chief=1, worker=2, ps=2, evaluator=0) as cluster:
      events = list(cluster.events(_SILENCE_SECS))
      pids = cluster.pids
      self.assertTrue(_is_running(pids["ps:0"]))
    self.assertFalse(any(map(_is_running, pids.values())))
    self.assertCountEqual(
        [("chief", 0), ("worker", 0), ("worker", 1)],
        [(e["task"]["type"], e["task"]["index"]) for e in events])
    self.assertEqual([cluster.cluster] * 3, [e["cluster"] for e in events])
    self.assertCountEqual(["chief", "worker", "ps"], cluster.cluster)
    self.assertLen(set(sum(cluster.cluster.values(), [])), 5)

  def test_leaves_no_process_when_the_second_does_not_start(self):
    first = subprocess.Popen(
        ["sleep", "600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with mock.patch.object(
        subprocess, "Popen", side_effect=[first, OSError("no more")]):
      with self.assertRaisesRegex(local_cluster.TaskError, "no more"):
        with _cluster("", chief=1, ps=1):
          pass
    self.assertFalse(_is_running(first.pid))

  @parameterized.parameters(
      ("worker:1", "sys.exit('out of luck')", "exit code 1.*out of luck"),
      ("worker:0", "print('not json', flush=True); os.kill(os.getpid(), 9)",
       "killed by signal 9.*not json"),
      ("chief:0", "print(*range(99), sep='\\n', file=sys.stderr); sys.exit(4)",
       "exit code 4. The last lines it printed:\n  89\n.*\n  98$"),
      # A ps that ends takes its variables with it, whatever its exit code.
      ("ps:0", "sys.exit(0)", "exit code 0"))
  def test_one_task_fails(self, failing, fail, error):
    program = "if name == '{}': {}\nelse: hang()".format(failing, fail)
    with self.assertRaisesRegex(local_cluster.TaskError,
                                "(?s){} .*{}".format(failing, error)):
      with _cluster(program, chief=1, worker=2, ps=1) as cluster:
        list(cluster.events(_SILENCE_SECS))

  def test_silence_ends_it(self):
    program = "hang() if job == 'worker' else print({})"
    with self.assertRaisesRegex(local_cluster.TaskError,
                                "worker:0 has not reported for 1 s"):
      with _cluster(program, worker=1) as cluster:
        list(cluster.events(silence_secs=1))


if __name__ == "__main__":
  absltest.main()
