# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A cluster of processes on this machine. If one fails, all are stopped."""

import collections
import contextlib
import json
import os
import queue
import socket
import subprocess
import threading
import time

_NUM_LAST_LINES = 10


class TaskError(Exception):
  """A task failed. The message says which, and what it printed last."""


def _free_ports(count):
  """Returns different ports on which no program listens."""
  with contextlib.ExitStack() as stack:
    sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
    for s in sockets:
      s.bind(("", 0))
    return [s.getsockname()[1] for s in sockets]


class LocalCluster(object):
  """Runs a program once for each task, with the `TF_CONFIG` of that task.

  Tasks report events: each line that a task prints to its standard output and
  that is JSON. As a context manager, the cluster starts all processes and kills
  them at the end. They also die if this program is killed.

  Attributes:
    cluster: dict from job to the addresses of its tasks, as in `TF_CONFIG`.
    pids: dict from the name of a task ("worker:0") to its process id.
  """

  def __init__(self, command, num_tasks):
    """Chooses the addresses, and starts nothing yet.

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
    except OSError as e:
      self._stop()
      raise TaskError("cannot start a task: {} (setpriv is in the Debian "
                      "package util-linux)".format(e)) from e
    except BaseException:
      self._stop()
      raise
    return self

  def __exit__(self, *exception):
    self._stop()

  def _start(self, job, index):
    """Starts a task, and a thread that reads what it prints."""
    task = "{}:{}".format(job, index)
    process = subprocess.Popen(
        # The kernel kills the task when this program ends, however it ends.
        ["setpriv", "--pdeathsig", "KILL", "--"] + self._command,
        env=dict(
            os.environ,
            TF_CONFIG=json.dumps({
                "cluster": self.cluster,
                "task": {"type": job, "index": index},
            }),
            # The memory of one GPU is too small for all tasks.
            CUDA_VISIBLE_DEVICES="-1"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        errors="replace",
        # Only this program receives Ctrl-C. It then stops all tasks.
        start_new_session=True)
    self._processes[task] = process
    threading.Thread(
        target=self._read, args=(task, process), daemon=True).start()

  def _read(self, task, process):
    """Queues the events of a task, and None when it has ended."""
    last_lines = self._last_lines[task]
    log = threading.Thread(
        target=last_lines.extend, args=(process.stderr,), daemon=True)
    log.start()
    with process:
      for line in process.stdout:
        try:
          self._events.put((task, json.loads(line)))
        except ValueError:
          last_lines.append(line)
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
    """Yields the events of the tasks until all tasks except the ps have ended.

    Args:
      silence_secs: float, seconds that a task may go without an event.

    Yields:
      The events, each a dict.

    Raises:
      TaskError: a task failed, a ps ended, or a task was silent for too long.
    """
    last_event = {
        task: time.monotonic()
        for task in self._processes
        if not task.startswith("ps:")
    }
    while last_event:
      try:
        task, event = self._events.get(timeout=1)
      except queue.Empty:
        pass
      else:
        if event is None:
          code = self._processes[task].returncode
          if code != 0 or last_event.pop(task, None) is None:
            raise self._error(
                task, "was killed by signal {}".format(-code)
                if code < 0 else "ended with exit code {}".format(code))
        else:
          if task in last_event:
            last_event[task] = time.monotonic()
          yield event
      for task, event_time in last_event.items():
        if time.monotonic() - event_time > silence_secs:
          raise self._error(
              task, "has not reported for {:.0f} s. It hangs, or a task that "
              "it waits for does".format(silence_secs))
