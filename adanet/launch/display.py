# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The display of a job: lines and events of the tasks, and failures.

Lines are shown with the name of the task, and kept in files. The events of all
tasks are shown as a single search.
"""

import collections
import contextlib
import os
import re
import shutil
import sys
from typing import (
    Any, BinaryIO, Callable, Dict, List, Mapping, Optional, Sequence)

from adanet.core import events
from adanet.launch import job as job_lib
from adanet.progress import cluster
from adanet.progress import reporter

_NUM_LAST_LINES = 20
# A longer line is shown in pieces.
_MAX_LINE_BYTES = 1 << 16

_COLUMNS = 80
_MIN_COLUMNS = 40

# Of a terminal: green, yellow, blue, magenta, cyan, and the same ones bright.
_COLORS = (32, 33, 34, 35, 36, 92, 93, 94, 95, 96)

STDOUT = "stdout"
STDERR = "stderr"

# TensorFlow 2.21 prints it while it is loaded, before it knows how quiet its
# environment asks it to be: "I0000 00:00:1795336624.687 ...".
_NOTICES = re.compile(
    rb"I0000 00:00:|WARNING: All log messages before absl::Init")

# Errors of programs that try to reach the Internet and cannot.
_NO_NETWORK = (
    "Name or service not known", "Temporary failure in name resolution",
    "Network is unreachable", "Could not resolve host",
    "Couldn't resolve host")


class LineBuffer:
  """Divides a stream of bytes into lines."""

  def __init__(self) -> None:
    self._rest = b""

  def add(self, data: bytes) -> List[bytes]:
    """Returns the complete lines, each with the line end."""
    parts = (self._rest + data).split(b"\n")
    self._rest = parts.pop()
    lines = [part + b"\n" for part in parts]
    while len(self._rest) >= _MAX_LINE_BYTES:
      lines.append(self._rest[:_MAX_LINE_BYTES])
      self._rest = self._rest[_MAX_LINE_BYTES:]
    return lines

  def end(self) -> List[bytes]:
    """Returns the last line, if incomplete."""
    rest, self._rest = self._rest, b""
    return [rest] if rest else []


def shown_text(line: bytes) -> str:
  """Returns the last state of a line on a terminal.

  Args:
    line: bytes of a program. A carriage return, which progress bars write,
      starts the line again.
  """
  text = line.decode("utf-8", "replace").rstrip("\r\n")
  return text.rpartition("\r")[2]


def prefix(task: job_lib.Task) -> str:
  """Returns the prefix of each line of a task."""
  return f"[{task.name}] "


def columns(task: job_lib.Task) -> int:
  """Returns how many columns a line of a task has, without the prefix."""
  width = shutil.get_terminal_size((_COLUMNS, 24)).columns
  return max(width - len(prefix(task)), _MIN_COLUMNS)


def has_color(is_terminal: bool, environment: Mapping[str, str]) -> bool:
  """Says whether to color the text for a stream."""
  return (is_terminal and not environment.get("NO_COLOR") and
          environment.get("TERM") != "dumb")


class Output:
  """Shows the lines of all tasks, and keeps them.

  A context manager, which closes the files.
  """

  def __init__(self, tasks: Sequence[job_lib.Task], log_dir: Optional[str],
               warn: Callable[[str], None]):
    """Opens the files.

    Args:
      log_dir: an existing folder, for a file of each task; None for no files.

    Raises:
      OSError: a file cannot be opened.
    """
    self._warn = warn
    self._last_lines: Dict[job_lib.Task, collections.deque] = {
        task: collections.deque(maxlen=_NUM_LAST_LINES) for task in tasks
    }
    self._prefixes: Dict[job_lib.Task, Sequence[str]] = {}
    for index, task in enumerate(tasks):
      plain = prefix(task)
      self._prefixes[task] = (plain, "\033[{}m{}\033[0m".format(
          _COLORS[index % len(_COLORS)], plain))
    self._is_colored = {
        name: has_color(stream is not None and stream.isatty(), os.environ)
        for name, stream in ((STDOUT, sys.stdout), (STDERR, sys.stderr))
    }
    self._paths: Dict[job_lib.Task, str] = {}
    self._files: Dict[job_lib.Task, BinaryIO] = {}
    if log_dir is not None:
      for task in tasks:
        path = os.path.join(log_dir, task.name.replace(":", "-") + ".log")
        self._paths[task] = path
        self._files[task] = open(path, "ab", buffering=0)

  def __enter__(self) -> "Output":
    return self

  def __exit__(self, *exc_info: object) -> None:
    for log_file in self._files.values():
      log_file.close()

  def log_path(self, task: job_lib.Task) -> Optional[str]:
    """Returns where all lines of a task are; None for nowhere."""
    return self._paths.get(task)

  def last_lines(self, task: job_lib.Task) -> List[str]:
    """Returns the last lines of a task."""
    return list(self._last_lines[task])

  def add(self, task: job_lib.Task, name: str, line: bytes) -> None:
    """Takes a line.

    Args:
      name: `STDOUT` or `STDERR`.
      line: with the line end, if complete. TensorFlow's notices are only kept
        in the file.
    """
    if task in self._files:
      try:
        self._files[task].write(line)
      except OSError as e:
        self._files.pop(task).close()
        self._warn(f"{self._paths[task]}: {e.strerror}. What {task.name} "
                   "prints is not kept any more.")
    if name == STDERR and _NOTICES.match(line) and (
        os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "0"):
      return
    text = shown_text(line)
    self._last_lines[task].append(text)
    self._show(name, self._prefixes[task][self._is_colored[name]] + text)

  def _show(self, name, text):
    # A live display replaces these streams, to show lines above itself.
    stream = sys.stdout if name == STDOUT else sys.stderr
    if stream is None:
      return
    try:
      stream.write(text + "\n")
      stream.flush()
    except UnicodeEncodeError:
      stream.write(text.encode("ascii", "backslashreplace").decode() + "\n")
    except OSError:  # The reader has gone. The job goes on.
      pass


class Display:
  """A context manager: shows events on a terminal, or some of them as lines."""

  def __init__(self, tasks: Sequence[job_lib.Task],
               on_joined: Callable[[job_lib.Task, str, int], None],
               on_working: Callable[[job_lib.Task], None],
               warn: Callable[[str], None]):
    """Shows nothing yet.

    Args:
      on_joined: called with a task that takes part, the model_dir, and the
        number of the training.
      on_working: called with a task that has begun to work.
    """
    self._progress = cluster.ClusterProgress(
        job_lib.Task(job_lib.CHIEF, 0).name,
        [task.name for task in tasks if task.job in job_lib.TRAINS])
    self._on_joined = on_joined
    self._on_working = on_working
    self._warn = warn
    self._has_warned = False
    self._exits = contextlib.ExitStack()

  def __enter__(self) -> "Display":
    self._report = self._exits.enter_context(reporter.reporter(
        sys.stderr, say=lambda _, line: self._warn(line)))
    return self

  def __exit__(self, *exc_info: Any) -> None:
    self._exits.close()

  def add(self, task: job_lib.Task, line: str) -> None:
    """Takes an event of a task."""
    try:
      event = reporter.from_json_line(line)
    except ValueError as e:
      # A killed task may leave half a line.
      if not self._has_warned:
        self._warn(f"{task.name}: bad event: {e}")
        self._has_warned = True
      return
    if isinstance(event, events.Joined):
      self._on_joined(task, event.model_dir, event.job_number)
    if isinstance(event, events.Working):
      self._on_working(task)
    for shown in self._progress.add(task.name, event):
      self._report(shown)

  def lose(self, task: job_lib.Task) -> None:
    """Shows the loss of a task that starts again."""
    for shown in self._progress.lose(task.name):
      self._report(shown)

  def lost(self) -> str:
    """Returns a line about the loss of work if no chief saves any more."""
    return self._progress.lost()


def failure_message(ended: job_lib.Supervision, output: Output,
            is_network_private: bool) -> Optional[str]:
  """Returns why a job failed: the problem, or the task that failed first.

  Returns:
    The problem; or the first failed task and the last lines of the task; None
    if the job did not fail.
  """
  failures = ended.failures
  if ended.problem or not failures:
    return ended.problem
  first = failures[0]
  parts = [f"{first.task.name} failed first: {first.message()}."]
  path = output.log_path(first.task)
  lines = output.last_lines(first.task)
  if lines:
    parts[0] += " The last lines that it printed:"
    parts.extend("  " + line for line in lines)
    if path:
      parts.append(f"All lines are in {path}.")
  else:
    parts[0] += " It printed nothing."
  if len(failures) > 1:
    parts.append("After it failed: {}.".format("; ".join(
        f"{failure.task.name}: {failure.message()}"
        for failure in failures[1:])))
  if is_network_private and any(
      sign in line for line in lines for sign in _NO_NETWORK):
    parts.append("The tasks have a private network, without a way to the "
                 "Internet. --noprivate_network opens it.")
  return "\n".join(parts)
