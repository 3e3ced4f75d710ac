# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the digits job: real processes, a real cluster, real data."""

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from absl.testing import absltest
from absl.testing import parameterized
import runfiles

_DIGITS = runfiles.Create().Rlocation("adanet/adanet/examples/digits/digits")
_RUN_SECS = 180
_END_SECS = 10
_SUBNETWORKS = ["linear", "one_hidden_layer", "two_hidden_layers"]
_ALL = _SUBNETWORKS + ["ensemble"]


def _processes_that_name(text):
  """Returns the command lines of all processes that have a text in them."""
  found = []
  for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
      with open("/proc/{}/cmdline".format(pid), "rb") as f:
        command = f.read().decode("utf-8", "replace").replace("\0", " ")
    except OSError:
      continue  # It has just ended.
    if text in command:
      found.append(command)
  return found


class DigitsTestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.model_dir = tempfile.mkdtemp(dir=absltest.TEST_TMPDIR.value)
    self.addCleanup(self.assert_no_process_left)

  def assert_no_process_left(self):
    deadline = time.monotonic() + _END_SECS
    while _processes_that_name(self.model_dir):
      if time.monotonic() > deadline:
        self.fail("left behind: {}".format(
            _processes_that_name(self.model_dir)))
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

  def run_job(self, *flags, **environment):
    """Returns the exit code, standard output and standard error of a job."""
    process = self.start(*flags, **environment)
    output, errors = process.communicate(timeout=_RUN_SECS)
    return process.returncode, output, errors

  def read_record(self, task):
    name = task.replace(":", "-") + ".json"
    with open(os.path.join(self.model_dir, "records", name)) as f:
      return json.load(f)


class JobTest(DigitsTestCase):

  def assert_record(self, task, builds, trains):
    record = self.read_record(task)
    self.assertEqual(builds, record["builds"])
    self.assertEqual(trains, record["trains"])
    # What a worker did not build has no variable in its graph.
    self.assertCountEqual(
        builds, {name.split("/")[0] for name in record["variables"]})

  def test_round_robin(self):
    flags = ("--num_workers=2", "--num_ps=1", "--max_steps=500")
    code, output, errors = self.run_job(*flags)
    self.assertEqual(0, code, errors)
    self.assert_record("chief:0", _ALL, ["ensemble"])
    self.assert_record("worker:0", ["linear", "two_hidden_layers"],
                       ["linear", "two_hidden_layers"])
    self.assert_record("worker:1", ["one_hidden_layer"], ["one_hidden_layer"])
    # One worker trains each subnetwork, so none takes a step too many.
    steps = self.read_record("chief:0")["steps"]
    self.assertGreaterEqual(steps.pop("ensemble"), 500)
    self.assertEqual({name: 500 for name in _SUBNETWORKS}, steps)
    accuracy = self.read_record("chief:0")["accuracy"]
    self.assertCountEqual(_ALL, accuracy)
    self.assertGreater(accuracy["ensemble"], .95)
    self.assertGreaterEqual(accuracy["ensemble"],
                            max(accuracy.values()) - .01)
    for network, share in accuracy.items():
      self.assertRegex(output, r"{} .* {:.1%} ".format(network, share))
    self.assertIn("/job:ps/task:0", output)
    self.assertNotIn("WARNING", errors)

    # The same folder again: all steps are taken, so nothing changes.
    code, _, errors = self.run_job(*flags)
    self.assertEqual(0, code, errors)
    self.assertEqual(accuracy, self.read_record("chief:0")["accuracy"])

  def test_replication(self):
    code, _, errors = self.run_job("--num_workers=1", "--num_ps=2",
                                   "--max_steps=60", "--strategy=replication")
    self.assertEqual(0, code, errors)
    records = [self.read_record(task) for task in ("chief:0", "worker:0")]
    for record in records:
      self.assert_record(record["task"], _ALL, _ALL)
    self.assertEqual(records[0]["variables"], records[1]["variables"])
    for name in ("linear/logits/kernel", "linear/logits/bias",
                 "two_hidden_layers/hidden_0/kernel",
                 "one_hidden_layer/step", "ensemble/mixture_weights"):
      digest = hashlib.sha256(name.encode()).hexdigest()
      self.assertEqual("/job:ps/task:{}".format(int(digest, 16) % 2),
                       records[0]["variables"][name]["device"])

  def test_folder_of_earlier_runs(self):
    # Brackets and blanks mean something to shells, globs and rich.
    self.model_dir = os.path.join(self.model_dir, "a [red]b[1]")
    records = os.path.join(self.model_dir, "records")
    os.makedirs(records)
    for name in ("worker-7.json", "thesis.json"):
      with open(os.path.join(records, name), "w") as f:
        f.write("{}")
    code, _, errors = self.run_job("--num_workers=0", "--num_ps=1",
                                   "--max_steps=20")
    self.assertEqual(0, code, errors)
    self.assertIn(self.model_dir, errors)
    self.assertCountEqual(["chief-0.json", "thesis.json"], os.listdir(records))

  def test_without_a_folder(self):
    temporary = self.create_tempdir().full_path
    finished = subprocess.run(
        [_DIGITS, "--num_workers=0", "--num_ps=1", "--max_steps=20"],
        env=dict(os.environ, TMPDIR=temporary),
        timeout=_RUN_SECS,
        check=False)
    self.assertEqual(0, finished.returncode)
    self.assertEmpty(os.listdir(temporary))

  def test_relative_folder_under_bazel_run(self):
    parent, name = os.path.split(self.model_dir)
    finished = subprocess.run(
        [_DIGITS, "--model_dir=" + name, "--num_workers=0", "--num_ps=1",
         "--max_steps=20"],
        env=dict(os.environ, BUILD_WORKING_DIRECTORY=parent),
        timeout=_RUN_SECS,
        check=False)
    self.assertEqual(0, finished.returncode)
    self.assertIsNotNone(self.read_record("chief:0")["accuracy"])

  def test_chief_alone(self):
    code, _, errors = self.run_job("--num_workers=0", "--num_ps=1",
                                   "--max_steps=20")
    self.assertEqual(0, code, errors)
    self.assert_record("chief:0", _ALL, _ALL)

  def test_kernel_that_refuses_a_private_network(self):
    # A mock of the kernel's answer: an `unshare` that never succeeds.
    bin_dir = self.create_tempdir().full_path
    os.symlink("/bin/false", os.path.join(bin_dir, "unshare"))
    code, _, errors = self.run_job(
        "--num_workers=1", "--num_ps=1", "--max_steps=20",
        PATH=bin_dir + os.pathsep + os.environ["PATH"])
    self.assertEqual(0, code, errors)
    warnings = [l for l in errors.splitlines() if "refuses a private" in l]
    self.assertLen(warnings, 1)
    self.assertLen(re.findall(r"127\.0\.0\.1:\d+", warnings[0]), 3)


class DryRunTest(DigitsTestCase):

  def run_dry(self, *flags, **environment):
    """Returns what a dry run prints, which does nothing else."""
    code, output, errors = self.run_job("--dry_run", *flags, **environment)
    self.assertEqual((0, ""), (code, errors))
    self.assertEmpty(os.listdir(self.model_dir))
    return output

  def test_round_robin(self):
    lines = self.run_dry("--num_workers=2", "--num_ps=1").splitlines()
    self.assertEqual(
        "RoundRobinStrategy(): 3 workers, 1 parameter server, 3 subnetworks",
        lines[0])
    self.assertEqual(
        [["worker", "builds", "trains"],
         ["chief:0", ", ".join(_ALL), "ensemble"],
         ["worker:0"] + ["linear, two_hidden_layers"] * 2,
         ["worker:1"] + ["one_hidden_layer"] * 2],
        [re.split("  +", line) for line in lines[2:6]])

  def test_replication(self):
    lines = self.run_dry("--strategy=replication").splitlines()
    self.assertEqual(
        ["chief:0, worker:0, worker:1, worker:2"] + [", ".join(_ALL)] * 2,
        re.split("  +", lines[3]))

  @parameterized.parameters("master", "evaluator")
  def test_cluster_of_tf_config(self, task_type):
    tf_config = {
        "cluster": {
            "master": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1", "e:1"]},
        "task": {"type": task_type, "index": 0}}
    output = self.run_dry(TF_CONFIG=json.dumps(tf_config))
    self.assertIn(": 3 workers, 2 parameter servers,", output)
    self.assertRegex(output, r"(?m)^master:0 .*\n^worker:0 .*\n^worker:1 ")

  def test_starts_nothing(self):
    # No program that the job would start is there.
    self.assertIn("worker:2", self.run_dry(
        PATH=os.pathsep.join([self.create_tempdir().full_path,
                              os.path.dirname(sys.executable)])))


class EndingTest(DigitsTestCase):
  """Whatever ends the job ends all of it, soon."""

  def run_until_training(self):
    """Returns a job in mid-training, and the process ids of its tasks."""
    process = self.start("--num_workers=1", "--num_ps=1",
                         "--max_steps=1000000000")
    first_line = process.stderr.readline()
    pids = {
        task: int(pid)
        for task, pid in re.findall(r"(\w+:\d+) \(pid (\d+)\)", first_line)
    }
    self.assertCountEqual(["chief:0", "worker:0", "ps:0"], pids)
    deadline = time.monotonic() + _RUN_SECS
    while "/" not in process.stderr.readline():  # As in "linear 3/100".
      self.assertLess(time.monotonic(), deadline)
    return process, pids

  def assert_ends(self, process, code):
    _, errors = process.communicate(timeout=_END_SECS)
    self.assertEqual(code, process.returncode, errors)
    self.assertNotIn("Traceback", errors)
    self.assert_no_process_left()
    return errors

  @parameterized.parameters("chief:0", "worker:0", "ps:0")
  def test_a_task_dies(self, task):
    process, pids = self.run_until_training()
    os.kill(pids[task], signal.SIGKILL)
    errors = self.assert_ends(process, 1)
    self.assertIn("digits: {} was killed by signal 9".format(task), errors)

  @parameterized.parameters(
      (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129),
      (signal.SIGKILL, -9))
  def test_the_job_is_told_to_end(self, number, code):
    process, _ = self.run_until_training()
    process.send_signal(number)
    self.assert_ends(process, code)

  def test_a_shell_had_ctrl_c_ignored(self):
    # As it does for what it puts in the background.
    self.addCleanup(signal.signal, signal.SIGINT,
                    signal.signal(signal.SIGINT, signal.SIG_IGN))
    process, _ = self.run_until_training()
    process.send_signal(signal.SIGINT)
    self.assert_ends(process, 130)


def _tf_config(port, task_type="chief"):
  return json.dumps({
      "cluster": {
          "chief": ["127.0.0.1:{}".format(port)],
          "ps": ["127.0.0.1:1"],
      },
      "task": {
          "type": task_type,
          "index": 0,
      },
  })


class BadInputTest(DigitsTestCase):

  def assert_one_line(self, texts, code, errors):
    self.assertNotEqual(0, code)
    lines = errors.strip().splitlines()
    self.assertLen(lines, 1, errors)
    self.assertStartsWith(lines[0], "digits: ")
    for text in texts:
      self.assertIn(text, lines[0])

  @parameterized.parameters(
      ("--num_workers=-1", "[0, 32]"), ("--num_workers=1.5", "1.5"),
      ("--num_ps=0", "[1, 32]"), ("--max_steps=0", "--max_steps=0"),
      ("--max_steps=many", "many"), ("--strategy=both", "round_robin"),
      ("--steps=3", "steps"), ("three", "three"),
      ("--model_dir=/proc/nowhere", "--model_dir=/proc/nowhere"),
      ("--model_dir=/bin/sh", "--model_dir=/bin/sh"))
  def test_flags(self, flag, text):
    code, _, errors = self.run_job(flag)
    self.assert_one_line([text], code, errors)

  @parameterized.parameters(
      ("{", "TF_CONFIG"), ("{}", "TF_CONFIG={}"),
      (_tf_config(5000, "worker"), "TF_CONFIG['task']['type']"),
      ('{\n"cluster": {"chief": ["a:1"]},\n"task": {"type": "chief", '
       '"index": 0}}', "at least one ps"),
      (_tf_config(99999), "127.0.0.1:99999"), (_tf_config("p"), "127.0.0.1:p"))
  def test_tf_config(self, tf_config, text):
    code, _, errors = self.run_job(TF_CONFIG=tf_config)
    self.assert_one_line([text], code, errors)

  @parameterized.parameters(
      ("{", "TF_CONFIG={"), ("[]", "TF_CONFIG must be a JSON object"),
      ("{}", "TF_CONFIG['cluster']"),
      ('{"cluster": {"chief": ["a:1"]}}', "at least one ps"),
      ('{\n"cluster": {\n"chief": ["a:1"]}}', "at least one ps"),
      ('{"cluster": {"ps": ["a:1"]}}', "must have one 'chief'"))
  def test_tf_config_of_a_dry_run(self, tf_config, text):
    code, _, errors = self.run_job("--dry_run", TF_CONFIG=tf_config)
    self.assertEqual(2, code)
    self.assert_one_line([text], code, errors)

  def test_busy_port(self):
    with socket.socket() as busy:
      busy.bind(("127.0.0.1", 0))
      busy.listen(1)
      port = busy.getsockname()[1]
      code, _, errors = self.run_job(TF_CONFIG=_tf_config(port))
    self.assert_one_line(["127.0.0.1:{}".format(port), "port"], code, errors)

  def test_full_disk(self):
    # A namespace in which model_dir is a disk of 64 KiB; a checkpoint is more.
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--"]
    if subprocess.run(unshare + ["true"], check=False).returncode:
      # As root in a chroot, whose mounts cannot be made private.
      unshare = ["unshare", "--mount", "--propagation=unchanged", "--"]
    script = """
        mount -t tmpfs -o size=64k disk {model_dir} || exit 32
        {digits} --num_workers=1 --num_ps=1 --model_dir={model_dir}
        code=$?
        umount {model_dir}
        exit $code
        """.format(digits=_DIGITS, model_dir=self.model_dir)
    finished = subprocess.run(
        unshare + ["sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=_RUN_SECS,
        check=False)
    if "unshare failed" in finished.stderr or finished.returncode == 32:
      self.skipTest("the kernel grants no mount of its own: " + finished.stderr)
    self.assertEqual(1, finished.returncode, finished.stderr)
    self.assertIn(
        "--model_dir={}: No space left on device".format(self.model_dir),
        finished.stderr)
    self.assertNotIn("Traceback", finished.stderr)


if __name__ == "__main__":
  absltest.main()
