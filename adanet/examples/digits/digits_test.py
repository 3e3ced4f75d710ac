# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the digits job: real processes, a real cluster, real data."""

import glob
import json
import os
import re
import signal
import socket
import subprocess
import time

from absl.testing import absltest
from absl.testing import parameterized
import runfiles

_DIGITS = runfiles.Create().Rlocation("adanet/adanet/examples/digits/digits")
# Far more than any job here takes, on a busy machine too.
_WAIT_SECS = 300
_ALL = "linear, one_hidden_layer, two_hidden_layers, ensemble"


def _processes_with(text):
  """Returns the files in /proc of the processes whose command has a text."""
  return subprocess.run(
      ["grep", "-lsF", "--", text] + glob.glob("/proc/[0-9]*/cmdline"),
      stdout=subprocess.PIPE, check=False).stdout


def _rows(output):
  """Returns the cells of each line of a table."""
  return [re.split(" *│ *|  +", line.strip("│ "))
          for line in output.splitlines()]


def _tf_config(chief="a:1", task_type="chief", chief_job="chief"):
  return json.dumps({
      "cluster": {chief_job: [chief], "worker": ["b:1", "c:1"], "ps": ["d:1"]},
      "task": {"type": task_type, "index": 0},
  }, indent=1)


class DigitsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.model_dir = self.create_tempdir("model dir").full_path
    self.addCleanup(self.assert_no_process_left)

  def assert_no_process_left(self):
    deadline = time.monotonic() + _WAIT_SECS
    while _processes_with(self.model_dir):
      self.assertLess(time.monotonic(), deadline,
                      _processes_with(self.model_dir))
      time.sleep(.1)

  def start(self, *flags, **environment):
    process = subprocess.Popen(
        [_DIGITS, "--model_dir=" + self.model_dir] + list(flags),
        env=dict(os.environ, **environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True)
    self.addCleanup(process.kill)
    return process

  def run_job(self, *flags, code=0, **environment):
    """Returns the standard output and the standard error of a job."""
    process = self.start(*flags, **environment)
    output, errors = process.communicate(timeout=_WAIT_SECS)
    self.assertEqual(code, process.returncode, errors)
    return output, errors

  def test_train_then_resume_in_another_cluster(self):
    parent, name = os.path.split(self.model_dir)
    output, errors = self.run_job(
        "--num_workers=2", "--num_ps=2", "--max_steps=200",
        "--model_dir=" + name, BUILD_WORKING_DIRECTORY=parent, COLUMNS="200")
    self.assertIn(self.model_dir, errors)
    self.assertNotIn("WARNING", errors)
    rows = _rows(output)
    # Every variable is on the ps that the hash of its name gives.
    for row in (["chief:0", _ALL, "ensemble"],
                ["worker:0"] + ["linear, two_hidden_layers"] * 2,
                ["worker:1"] + ["one_hidden_layer"] * 2,
                ["/job:ps/task:0", "36", "214,596"],
                ["/job:ps/task:1", "15", "115,336"]):
      self.assertIn(row, rows)
    accuracies = rows[-6:-2]
    self.assertEqual(_ALL, ", ".join(name for name, _ in accuracies))
    self.assertGreater(float(accuracies[-1][1].rstrip("%")), 90)

    # The checkpoint has all steps, so the accuracies stay the same. A mock of
    # `unshare` refuses a private network.
    bin_dir = self.create_tempdir().full_path
    os.symlink("/bin/false", os.path.join(bin_dir, "unshare"))
    output, errors = self.run_job(
        "--num_workers=0", "--num_ps=1", "--max_steps=200", COLUMNS="200",
        PATH=bin_dir + os.pathsep + os.environ["PATH"])
    rows = _rows(output)
    self.assertIn(["chief:0", _ALL, _ALL], rows)
    self.assertEqual(accuracies, rows[-6:-2])
    self.assertRegex(errors,
                     r"refuses a private .*: 127.0.0.1:\d+, 127.0.0.1:\d+\.\n")

  def test_replication_in_a_temporary_folder(self):
    # Brackets mean something to shells, globs and rich.
    folder = os.path.join(self.model_dir, "[red]b[1]")
    os.mkdir(folder)
    output, errors = self.run_job(
        "--num_workers=1", "--num_ps=1", "--max_steps=20", "--model_dir=",
        "--strategy=replication", TMPDIR=folder, COLUMNS="200")
    self.assertIn(["chief:0, worker:0", _ALL, _ALL], _rows(output))
    self.assertIn(folder + "/digits-", errors)
    self.assertEmpty(os.listdir(folder))

  @parameterized.parameters(
      (["--num_workers=2", "--num_ps=1"], {}, "chief"),
      # An evaluator is not in the cluster, but may ask for the plan.
      ([], {"TF_CONFIG": _tf_config("a:1", "evaluator", "master")}, "master"))
  def test_dry_run(self, flags, environment, chief):
    output, errors = self.run_job("--dry_run", *flags, **environment)
    self.assertEqual("", errors)
    self.assertEqual(
        [["RoundRobinStrategy(): 3 workers, 1 parameter server, 3 subnetworks"],
         [""],
         ["worker", "builds", "trains"],
         [chief + ":0", _ALL, "ensemble"],
         ["worker:0"] + ["linear, two_hidden_layers"] * 2,
         ["worker:1"] + ["one_hidden_layer"] * 2],
        _rows(output)[:6])
    self.assertEmpty(os.listdir(self.model_dir))

  def start_long_job(self, *flags, **environment):
    """Returns a job, and a dict of the process ids of its tasks."""
    process = self.start("--num_workers=0", "--num_ps=1",
                         "--max_steps=1000000000", *flags, **environment)
    line = process.stderr.readline()
    pids = dict(re.findall(r"(\w+:\d+) \(pid (\d+)\)", line))
    self.assertCountEqual(["chief:0", "ps:0"], pids, line)
    return process, pids

  def assert_ends(self, process, code, message=""):
    _, errors = process.communicate(timeout=_WAIT_SECS)
    self.assertEqual(code, process.returncode, errors)
    self.assertIn(message, errors)
    self.assertNotIn("Traceback", errors)
    self.assert_no_process_left()

  def test_a_task_dies(self):
    process, pids = self.start_long_job()
    deadline = time.monotonic() + _WAIT_SECS
    while not process.stderr.readline().startswith("Steps: "):
      self.assertLess(time.monotonic(), deadline)
    os.kill(int(pids["ps:0"]), signal.SIGKILL)
    self.assert_ends(process, 1, "digits: ps:0 was killed by signal 9")

  @parameterized.parameters(
      (signal.SIGINT, 130, "digits: stopped by Ctrl-C"), (signal.SIGTERM, 143),
      (signal.SIGHUP, 129), (signal.SIGKILL, -9))
  def test_signal(self, number, code, message=""):
    # Shells ignore SIGINT for the programs that they start in the background.
    self.addCleanup(signal.signal, signal.SIGINT,
                    signal.signal(signal.SIGINT, signal.SIG_IGN))
    process, _ = self.start_long_job("--model_dir=", TMPDIR=self.model_dir)
    process.send_signal(number)
    self.assert_ends(process, code, message)
    if number != signal.SIGKILL:
      self.assertEmpty(os.listdir(self.model_dir))

  @parameterized.parameters(
      ("--num_workers=-1", "[0, 32]"), ("--num_ps=0", "[1, 32]"),
      ("--max_steps=many", "many"), ("--strategy=both", "round_robin"),
      ("--steps=3", "steps"), ("three", "three"),
      ("--model_dir=/bin/sh", "--model_dir=/bin/sh: "),
      ("--dry_run", "chief:0 sees no ps", '{"cluster": {"chief": ["a:1"]}}'),
      ("--dry_run", "'chief'", _tf_config(chief_job="x")),
      ("--dry_run", "TF_CONFIG", "{"),
      ("--num_ps=1", "TF_CONFIG", "{"),
      ("--num_ps=1", "['task']['type']", _tf_config(task_type="boss")),
      ("--num_ps=1", "127.0.0.1:p: ", _tf_config("127.0.0.1:p")),
      ("--num_ps=1", "127.0.0.1:99999: ", _tf_config("127.0.0.1:99999")),
      ("--model_dir=", "--model_dir", _tf_config()))
  def test_bad_input(self, flag, text, tf_config=None):
    environment = {"TF_CONFIG": tf_config} if tf_config else {}
    _, errors = self.run_job(flag, code=2, **environment)
    self.assertRegex(errors, r"^digits: .*{}.*\n$".format(re.escape(text)))

  def test_busy_port(self):
    with socket.socket() as busy:
      busy.bind(("127.0.0.1", 0))
      busy.listen(1)
      address = "127.0.0.1:{}".format(busy.getsockname()[1])
      _, errors = self.run_job(code=2, TF_CONFIG=_tf_config(address))
    self.assertRegex(errors, r"^digits: .*{}.*\n$".format(address))

  def test_full_disk(self):
    # The checkpoint does not fit on this disk.
    script = 'mount -t tmpfs -o size=64k disk "$2" && "$1" --num_workers=0 ' \
             '--num_ps=1 --model_dir="$2"; code=$?; umount "$2"; exit $code'
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--"]
    if subprocess.run(unshare + ["true"], check=False).returncode:
      # As root in a chroot, where mounts cannot be made private.
      unshare = ["unshare", "--mount", "--propagation=unchanged", "--"]
    job = subprocess.run(
        unshare + ["sh", "-c", script, "sh", _DIGITS, self.model_dir],
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=_WAIT_SECS,
        check=False)
    if re.search("^(unshare|mount): ", job.stderr):
      self.skipTest("the kernel refuses a mount: " + job.stderr)
    self.assertEqual(1, job.returncode, job.stderr)
    self.assertIn("digits: chief:0 ended with exit code 1", job.stderr)
    self.assertIn("No space left on device: '{}'".format(self.model_dir),
                  job.stderr)
    self.assertNotIn("Traceback", job.stderr)


if __name__ == "__main__":
  absltest.main()
