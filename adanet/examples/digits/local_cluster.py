# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A cluster on this machine: one process a task, all or none of them alive."""

import collections
import json
import os
import queue
import socket
import subprocess
import threading
import time

_NUM_LAST_LINES = 10


class TaskError(Exception):
  """A task that ended the whole job, in words for a person."""


def _free_ports(count):
  """Returns ports that nobody listens on, all different."""
  sockets = [socket.socket() for _ in range(count)]
  try:
    for s in sockets:
      s.bind(("", 0))
    return [s.getsockname()[1] for s in sockets]
  finally:
    for s in sockets:
      s.close()


class LocalCluster(object):
  """Runs a program once a task, each with its own `TF_CONFIG`.

  A context manager: no process outlives it, nor this program if that is killed.
  What a task prints to its standard output are events, a JSON object a line.

  Attributes:
    cluster: dict from job to its tasks' addresses, as in `TF_CONFIG`.
    pids: dict from a task's name ("worker:0") to its process.
  """

  def __init__(self, command, num_tasks):
    """Describes the cluster; entering it starts it.

    Args:
      command: list of str, the program and its arguments.
      num_tasks: dict from job ("chief", "worker", "ps") to its number of tasks.
    """
    ports = _free_ports(sum(num_tasks.values()))
    addresses = ("127.0.0.1:{}".format(port) for port in ports)
    self.cluster = {
        job: [next(addresses) for _ in range(count)]
        for job, count in num_tasks.items()
        if count
    }
    self._command = command
    self._processes = {}
    self._last_lines = collections.defaultdict(
        lambda: collections.deque(maxlen=_NUM_LAST_LINES))
    self._events = queue.Queue()

  @property
  def pids(self):
    return {task: process.pid for task, process in self._processes.items()}

  def __enter__(self):
    try:
      for job, addresses in self.cluster.items():
        for index in range(len(addresses)):
          self._start(job, index)
    except BaseException:
      self._stop()
      raise
    return self

  def __exit__(self, *exception):
    self._stop()

  def _start(self, job, index):
    task = "{}:{}".format(job, index)
    tf_config = {
        "cluster": self.cluster,
        "task": {
            "type": job,
            "index": index
        }
    }
    process = self._popen(
        # A task must not outlive this program, however it ends.
        ["setpriv", "--pdeathsig", "KILL", "--"] + self._command,
        env=dict(
            os.environ,
            TF_CONFIG=json.dumps(tf_config),
            # One GPU does not hold all tasks of a machine.
            CUDA_VISIBLE_DEVICES="-1"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        errors="replace",
        # Ctrl-C reaches this program alone, which then ends them all.
        start_new_session=True)
    self._processes[task] = process
    log = threading.Thread(
        target=self._last_lines[task].extend,
        args=(process.stderr,),
        daemon=True)
    log.start()
    threading.Thread(
        target=self._read_events, args=(task, process, log),
        daemon=True).start()

  def _popen(self, command, **kwargs):
    try:
      return subprocess.Popen(command, **kwargs)
    except OSError as e:
      raise TaskError("cannot start a task: {} (setpriv is in Debian's package "
                      "util-linux)".format(e)) from e

  def _read_events(self, task, process, log):
    for line in process.stdout:
      try:
        self._events.put((task, json.loads(line)))
      except ValueError:
        self._last_lines[task].append(line)
    process.wait()
    log.join()
    self._events.put((task, None))

  def _stop(self):
    for process in self._processes.values():
      process.kill()
    for process in self._processes.values():
      process.wait()

  def _error(self, task, what):
    return TaskError("\n".join(
        ["{} {}. The last lines it printed:".format(task, what)] +
        ["  " + line.rstrip("\n") for line in self._last_lines[task]]))

  def events(self, silence_secs):
    """Yields what the tasks report, until all but the ps have ended well.

    Args:
      silence_secs: float, how long a task may go without a report.

    Yields:
      The events, each a dict.

    Raises:
      TaskError: a task failed, or was silent for too long.
    """
    last_heard = {
        task: time.monotonic()
        for task in self._processes
        if not task.startswith("ps:")
    }
    while last_heard:
      try:
        task, event = self._events.get(timeout=1)
      except queue.Empty:
        task, event = None, None
      if event is not None:
        last_heard[task] = time.monotonic()
        yield event
      elif task is not None:
        code = self._processes[task].returncode
        if code != 0 or last_heard.pop(task, None) is None:
          raise self._error(
              task, "was killed by signal {}".format(-code)
              if code < 0 else "ended with exit code {}".format(code))
      for silent, heard in last_heard.items():
        if time.monotonic() - heard > silence_secs:
          raise self._error(
              silent, "has not reported for {:.0f} s; it or a task that it "
              "waits for hangs".format(silence_secs))
