# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search on a cluster of processes of this machine, timed.

A chief, two workers and two parameter servers train three candidates, each on
one worker. Whole jobs are timed beside AdaNet 0.8.0's, the steps of each task
beside bare ones, and `adanet-launch` beside tasks that are started by hand.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from adanet import tf_compat
from adanet.testing import processes
from benchmarks import cluster_steps
from benchmarks import cluster_task
from benchmarks import program
from benchmarks import search

SHAPE = (("chief", 1), ("worker", 2), ("ps", 2))
TRAINERS = ("chief:0", "worker:0", "worker:1")

# Of ratios of times, but for the seconds that adanet-launch adds.
LIMITS = {
    "job, AdaNet": 1 / 2,
    "job, AdaNet without delays": 1 / 2,
    "cluster step": 1 / .9,
    "first step": 2.,
}
ADDED_SECS_LIMIT = 1.

_ADANET = "AdaNet 0.8.0"
# What an idle machine needs is a tenth of it.
_TIMEOUT_SECS = 400.
_POLL_SECS = .01
_NUM_TASKS = sum(count for _, count in SHAPE)

# The workers beside the chief, and the ps, of what adanet-launch starts.
_LARGE = (2, 2)
_SMALL = (1, 1)

_STARTED = """
import os, time
with open(os.path.join({!r}, str(os.getpid())), "w") as f:
  f.write(repr(time.monotonic()))
if "ADANET_EVENTS_FD" in os.environ:  # A task of adanet-launch takes part.
  os.write(int(os.environ["ADANET_EVENTS_FD"]),
           b'{{"event": "Joined", "model_dir": "/"}}\\n')
"""

_TAKES_A_STEP = """
import time
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
x = tf.constant(np.ones([64, 64], np.float32))
layer = tf.nn.relu(tf.matmul(x, tf.get_variable("hidden", [64, 130])))
logits = tf.matmul(layer, tf.get_variable("logits", [130, 10]))
loss = tf.losses.sparse_softmax_cross_entropy([0] * 64, logits)
train_op = tf.train.MomentumOptimizer(.01, .9).minimize(loss)
session = tf.Session()
session.run(tf.global_variables_initializer())
session.run(train_op)
print(repr(time.monotonic()))
"""


class Tasks:
  """A context manager: the tasks of a job, all of which end with it."""

  def __init__(self, command, env, shape=SHAPE):
    """Starts a process for each task.

    Args:
      command: list of str.
      env: dict, the environment; each task has a TF_CONFIG beside it.
      shape: pairs of a job's name and how many tasks it has.
    """
    cluster = processes.free_cluster(**dict(shape))
    self._programs = {}
    try:
      for job, count in shape:
        for i in range(count):
          self._programs[f"{job}:{i}"] = processes.Program(
              command, dict(env, TF_CONFIG=json.dumps({
                  "cluster": cluster, "task": {"type": job, "index": i}})))
    except BaseException:
      self.__exit__()
      raise

  def __enter__(self):
    return self

  def __exit__(self, *_):
    for task in self._programs.values():
      task.close()

  def wait(self, names, must_end=True):
    """Waits until these tasks have ended well.

    Args:
      names: list of str.
      must_end: whether it is an error if they do not end.
    """
    end = time.monotonic() + _TIMEOUT_SECS
    left = list(names)
    while left:
      left = [n for n in left if self._programs[n].status is None]
      for name, task in self._programs.items():
        program.check(not task.status,
                      f"{name} ended with {task.status}: {task.log}")
      if left and time.monotonic() > end:
        program.check(not must_end, f"{left[0]} does not end")
        return
      time.sleep(_POLL_SECS)

  def read(self, name):
    """Returns the next line of a task."""
    try:
      return self._programs[name].read(_TIMEOUT_SECS)
    except (EOFError, TimeoutError) as e:
      raise program.CheckError(f"{name}: {e}") from e

  def write(self, name, line):
    """Sends a line to a task."""
    self._programs[name].write(line)

  @property
  def names(self):
    return list(self._programs)


@contextlib.contextmanager
def _folder():
  """Yields a new folder."""
  path = tempfile.mkdtemp()
  try:
    yield path
  finally:
    shutil.rmtree(path)


# Whole jobs.


def _time_job(env, num_iterations, delays, is_ours):
  """Returns the seconds until the chief and the workers of a job have ended.

  Args:
    env: dict.
    num_iterations: int.
    delays: whether AdaNet's delays are as by default.
    is_ours: whether the job must end, with its parameter servers. AdaNet's may
      not; then it took `_TIMEOUT_SECS` at least.
  """
  with _folder() as folder:
    model_dir = os.path.join(folder, "model")
    command = [sys.executable, cluster_task.__file__, model_dir,
               str(num_iterations), "delays" if delays else "no_delays"]
    started = time.monotonic()
    with Tasks(command, env) as tasks:
      tasks.wait(TRAINERS, must_end=is_ours)
      secs = time.monotonic() - started
      if is_ours:
        tasks.wait(tasks.names)
    if secs >= _TIMEOUT_SECS:
      return secs
    step = tf_compat.v1.train.load_variable(model_dir, "global_step")
    expected = num_iterations * search.ITERATION_STEPS
    program.check(step == expected, f"expected step {expected}, got {step}")
    return secs


def measure_jobs(env, adanet_env, num_turns):
  """Returns the rows of whole jobs.

  Args:
    env: dict, the environment of a task.
    adanet_env: the same with AdaNet 0.8.0.
    num_turns: int; few make the jobs short.
  """
  num_iterations = 3 if num_turns >= 5 else 1
  turns = [[_time_job(env, num_iterations, False, True)] + [
      _time_job(adanet_env, num_iterations, delays, False)
      for delays in (True, False)] for _ in range(max(1, num_turns // 5))]
  rows = []
  for i, kind in enumerate(("job, AdaNet", "job, AdaNet without delays"), 1):
    rows.append({
        "kind": kind,
        "what": f"{num_iterations} x {search.ITERATION_STEPS} steps on a "
                "cluster",
        "against": kind.replace("job, AdaNet", _ADANET),
        "ratio": statistics.median(turn[0] / turn[i] for turn in turns),
        "figure": "{:.1f} s, not {}{:.1f} s".format(
            statistics.median(turn[0] for turn in turns),
            "more than " * any(turn[i] >= _TIMEOUT_SECS for turn in turns),
            statistics.median(turn[i] for turn in turns)),
        "limits": {"ratio": LIMITS[kind]}})
  return rows


# Steps.


def _take_turns(env, num_turns):
  """Returns dict from a task to its answer; see `cluster_steps`."""
  with _folder() as folder:
    command = [sys.executable, cluster_steps.__file__,
               os.path.join(folder, "model"), str(num_turns)]
    with Tasks(command, env) as tasks:
      for name in TRAINERS:
        line = tasks.read(name)
        program.check(line == "works\n", f"{name}: {line}")
      begin = time.monotonic() + .5
      for name in TRAINERS:
        tasks.write(name, repr(begin))
      return {name: json.loads(tasks.read(name)) for name in TRAINERS}


def rows_of_steps(answers):
  """Returns the rows of steps.

  The chief trains the ensembles. It takes a step for each one of the slowest
  subnetwork, so no more than the slowest bare task would.

  Args:
    answers: dict from a task to its answer; see `cluster_steps`.
  """
  counts = [answers[name]["num_ops"] for name in TRAINERS]
  program.check(
      counts[0] == sum(counts[1:]) == search.NUM_CANDIDATES and all(counts),
      f"the bare steps have {counts} train ops")
  for name in TRAINERS:
    for i, (ours, bare) in enumerate(answers[name]["turns"]):
      program.check(ours and bare, f"{name} took no step in turn {i}")
  rows = []
  for name, count in zip(TRAINERS, counts):
    turns = []
    for i, (ours, bare) in enumerate(answers[name]["turns"]):
      if name == TRAINERS[0]:
        bare = max(answers[n]["turns"][i][1] for n in TRAINERS)
      turns.append((ours, bare))
    secs = statistics.median(ours for ours, _ in turns)
    rows.append({
        "kind": "cluster step",
        "what": "step of {}, {} {}{}".format(
            name, count, "ensemble" if name == TRAINERS[0] else "subnetwork",
            "s" * (count > 1)),
        "against": "the slowest bare step" if name == TRAINERS[0] else (
            "bare step"),
        "ratio": statistics.median(ours / bare for ours, bare in turns),
        "figure": f"{1 / secs:,.0f} steps/s",
        "limits": {"ratio": LIMITS["cluster step"]}})
  return rows


# adanet-launch.


def _launch(shape):
  """Returns the command that launches a job with so many workers and ps."""
  return (sys.executable, "-m", "adanet.launch", "--workers={}".format(
      shape[0]), f"--ps={shape[1]}")


def _run(command, env):
  """Runs a command to its end; returns its output."""
  try:
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
        timeout=_TIMEOUT_SECS)
  except subprocess.TimeoutExpired as e:
    raise program.CheckError(f"{command} does not end") from e
  program.check(done.returncode == 0, f"{command} ended with "
                                      f"{done.returncode}: "
                                      f"{done.stderr[-3000:]}")
  return done.stdout


def _read_times(folder):
  times = []
  for name in os.listdir(folder):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
      times.extend(map(float, f))
  return times


def _start_secs(env, launches):
  """Returns the seconds until the last task of a job has started."""
  with _folder() as folder:
    path = os.path.join(folder, "started.py")
    times = os.path.join(folder, "times")
    os.mkdir(times)
    with open(path, "w", encoding="utf-8") as f:
      f.write(_STARTED.format(times))
    started = time.monotonic()
    _run(_launch(_LARGE) + (path,) if launches else (
        "sh", "-c", 'for i in $(seq {}); do "$@" & done; wait'.format(
            _NUM_TASKS), "sh", sys.executable, path), env)
    start_times = _read_times(times)
    program.check(len(start_times) == _NUM_TASKS,
                  f"{len(start_times)} tasks have started")
    return max(start_times) - started


def _first_step_secs(env, shape):
  """Returns the seconds until a task of adanet-launch takes its first step."""
  with _folder() as folder:
    times = os.path.join(folder, "times")
    os.mkdir(times)
    started = time.monotonic()
    _run(_launch(shape) + (
        cluster_task.__file__, os.path.join(folder, "model"), "1", "no_delays",
        times), env)
    step_times = _read_times(times)
    program.check(len(step_times) == 1 + shape[0],
                  f"{len(step_times)} tasks have taken a step")
    return min(step_times) - started


def _alone_secs(env):
  """Returns the seconds that one process needs to take a step."""
  started = time.monotonic()
  return float(_run((sys.executable, "-c", _TAKES_A_STEP), env)) - started


def _row_of_start(env, num_turns):
  """Returns the row of how long it takes to start tasks."""
  turns = [(_start_secs(env, True), _start_secs(env, False))
           for _ in range(num_turns)]
  added = statistics.median(ours - by_hand for ours, by_hand in turns)
  return {
      "kind": "launch",
      "what": f"adanet-launch, {_NUM_TASKS} tasks started",
      "against": "by hand",
      "ratio": statistics.median(ours / by_hand for ours, by_hand in turns),
      "added": added, "figure": f"{added:.2f} s more", "limits": {}}


def measure_launch(env, num_turns):
  """Returns the rows of `adanet-launch`.

  Args:
    env: dict, the environment of a task.
    num_turns: int; few leave out the large job.
  """
  rows = [_row_of_start(env, num_turns)]
  for shape in (_SMALL, _LARGE) if num_turns >= 5 else (_SMALL,):
    turns = [(_first_step_secs(env, shape), _alone_secs(env))
             for _ in range(max(1, num_turns // 5))]
    rows.append({
        "kind": "first step",
        "what": f"adanet-launch, first step of {1 + sum(shape)} tasks",
        "against": "one process without adanet",
        "ratio": statistics.median(ours / alone for ours, alone in turns),
        "figure": f"{statistics.median((ours for ours, _ in turns)):.1f} s",
        "limits": {"ratio": LIMITS["first step"]}})
  return rows


def bars(rows):
  """Returns list of `program.Bar`."""
  return [
      program.Bar(f"{row['what']}, in those of {row['against']}",
                  row["ratio"], LIMITS[row["kind"]])
      for row in rows if row["kind"] in LIMITS
  ] + [
      program.Bar("seconds that adanet-launch adds", row["added"],
                  ADDED_SECS_LIMIT)
      for row in rows if row["kind"] == "launch"
  ]


def measure(env, adanet_env, num_turns):
  """Returns the rows of a cluster.

  Args:
    env: dict, the environment of a task.
    adanet_env: the same with AdaNet 0.8.0; None where that is not there.
    num_turns: int.
  """
  rows = measure_launch(env, num_turns)
  # A short run measures the rest only where it measures all.
  if adanet_env or num_turns >= 5:
    rows += rows_of_steps(_take_turns(env, num_turns))
  if adanet_env:
    rows += measure_jobs(env, adanet_env, num_turns)
  return rows
