# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs adanet-launch as a process, and finds all that it leaves."""

import os
import signal
import subprocess
import sys
import uuid

from absl.testing import absltest
from adanet.testing import processes
import runfiles

_MARK = "ADANET_TEST_LAUNCH"
_PROGRAM = "adanet/adanet/launch/main.py"
_TIMEOUT_SECS = 600.

# The begin of a program for tasks that need no TensorFlow.
PREAMBLE = """
import json, os, signal, subprocess, sys, time
_task = json.loads(os.environ["TF_CONFIG"])["task"]
me = "{type}:{index}".format(**_task)
folder = os.path.dirname(os.path.abspath(__file__))

def report(event, **fields):
  line = json.dumps(dict(fields, event=event)) + "\\n"
  os.write(int(os.environ["ADANET_EVENTS_FD"]), line.encode())

def joins(model_dir="/m"):
  report("Joined", model_dir=model_dir)

def works():
  report("Working", task=me)

def touch(name):
  open(os.path.join(folder, name), "w").close()

def wait_for(name):
  while not os.path.exists(os.path.join(folder, name)):
    time.sleep(.02)

def runs():
  '''Returns how often this task has run before.'''
  path = os.path.join(folder, me + ".runs")
  with open(path, "a+") as f:
    f.write("x")
  return os.path.getsize(path) - 1
"""


# The flags of a job, and its tasks.
SHAPE = ("--scheduler=local", "--workers=2", "--ps=1")
TASKS = ("chief:0", "worker:0", "worker:1", "ps:0")

# It starts programs that do not want to end, one outside of its session.
LEAVES_MORE = """
more = [sys.executable, "-c",
        "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in "
        "(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]; print('there', "
        "flush=True); time.sleep(1000)"]
for is_far in (False, True):
  assert b"there" in subprocess.Popen(
      more, stdout=subprocess.PIPE, start_new_session=is_far).stdout.readline()
"""


class Launch(processes.Program):
  """A run of adanet-launch. A context manager: all is killed at its end."""

  def __init__(self, *args, **kwargs):
    """Starts it.

    Args:
      *args: flags, program and its arguments.
      **kwargs: "variables", a dict for the environment; the rest is for
        `subprocess.Popen`.
    """
    self._mark = uuid.uuid4().hex
    variables = dict({_MARK: self._mark}, **kwargs.pop("variables", {}))
    path = runfiles.Create().Rlocation(_PROGRAM)
    super().__init__(
        (sys.executable, path) + args,
        processes.python_environment(**variables), **dict({
            "stdin": subprocess.DEVNULL,
            "stderr": subprocess.PIPE,
            # A test may kill it, and wants to see its descendants.
            "preexec_fn": None,
        }, **kwargs))

  def close(self):
    for pid in self.left():
      os.kill(pid, signal.SIGKILL)
    super().close()

  def left(self):
    """Returns the process ids of all that live and descend from this run."""
    mark = f"{_MARK}={self._mark}".encode()
    pids = []
    for name in os.listdir("/proc"):
      if name.isdigit():
        try:
          with open(f"/proc/{name}/environ", "rb") as f:
            if mark in f.read().split(b"\0"):
              pids.append(int(name))
        except OSError:
          pass  # It has just ended.
    return pids

  def finish(self):
    """Waits for the end; returns exit status, standard output and error."""
    output, errors = self.process.communicate(timeout=_TIMEOUT_SECS)
    return self.process.returncode, output, errors


class LaunchTestCase(absltest.TestCase):
  """A test that runs programs of its own as tasks.

  Attributes:
    folder: str, the folder of the program.
    program: str, its path.
  """

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.program = os.path.join(self.folder, "train.py")

  def write(self, body):
    """Writes the program: the preamble, its part in the job, and this."""
    self.create_tempfile(self.program, PREAMBLE + "joins()\n" + body)

  def _exists(self, *names):
    return all(os.path.exists(os.path.join(self.folder, n)) for n in names)

  def wait_for(self, *names):
    """Waits for files in the folder."""
    processes.wait_until(lambda: self._exists(*names), ", ".join(names))

  def start(self, *args, **kwargs):
    """Returns a `Launch`, which ends with the test."""
    return self.enter_context(Launch(*args, **kwargs))

  def run_job(self, body, *args, **kwargs):
    """Runs a program to its end, after which nothing may be left."""
    self.write(body)
    launch = self.start(*(SHAPE + args + (self.program,)), **kwargs)
    result = launch.finish()
    self.assertEmpty(launch.left(), result)
    return result
