# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How fast is a search on an executor, and how even is its work?

The executor is a `ProcessPoolExecutor` whose processes have TensorFlow already.
The compute of a network is delays in its graph, see `executor_task`, so workers
overlap although there are few processors. An iteration is timed as a user
sees it: from the call of `train` to its return, with the graphs, checkpoints
and the join. The clusters with parameter servers, which are timed beside it,
are timed from their first step to their last one: this project's, and AdaNet
0.8.0's, see `adanet_cluster`. The latter is measured by this program on
TensorFlow 1.15.
"""

import contextlib
import json
import os
import pickle
import statistics
import sys
import tempfile
import time
from typing import NamedTuple, Tuple

import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.distributed import plan as plan_lib
from adanet.testing import engines
from adanet.testing import processes
from benchmarks import adanet_cluster
from benchmarks import balance
from benchmarks import balance_task
from benchmarks import executor_task
from benchmarks import program
from benchmarks import search

CASES = ("what", "against")
CELL = "{ratio:.3f}; {figure}"
FIGURES = ("ratio",)
SIDES = (("", "ours"),)

_SHORT_TURNS = 5  # With fewer turns, everything is small.
_DELAYS = executor_task.FORWARD + executor_task.BACKWARD  # Of a step.
_NUM_PS = 2
_ADANET_TIMEOUT_SECS = 400.  # What an idle machine needs is a quarter of it.
_MAX_SECS, _MAX_SECS_OF_CANDIDATE = 2., .05  # Of a driver, between iterations.
_MAX_BYTES = 100e3
_LEAST_SPEED = .95
_LEAST_SPEEDUP = .85
_MAX_SHARE = 1.25


class Size(NamedTuple):
  """How large a run is.

  Attributes:
    turns: int, how often a part and one process take turns.
    bare_steps: int, of such a turn.
    workers: on how many workers an iteration is trained, increasing.
    num_candidates: int, of this iteration.
    num_steps: int, of this iteration.
    delay_secs: float.
    even_candidates: how many candidates are trained on the most workers, to
      count the passes of each.
    even_steps: int, of each of these.
    evaluation_steps: int, of each of these.
  """
  turns: int
  bare_steps: int
  workers: Tuple[int, ...]
  num_candidates: int
  num_steps: int
  delay_secs: float
  even_candidates: Tuple[int, ...]
  even_steps: int
  evaluation_steps: int


_FULL = Size(5, 1000, (8, 4, 2, 1), 8, 100, .06, (8, 15, 23), 30, 10)
_SHORT = Size(1, 50, (2, 1), 2, 5, .02, (2,), 5, 2)


class Recorder:
  """An executor that notes what is given to another one, and when.

  Attributes:
    began, ended: lists of float, the times of all that was submitted, and of
      all that has ended.
    num_bytes: list of int, of what was sent.
  """

  def __init__(self, pool):
    self._pool = pool
    self.began = []
    self.ended = []
    self.num_bytes = []

  def submit(self, function, *args):
    self.began.append(time.monotonic())
    self.num_bytes.append(len(pickle.dumps((function, args))))
    future = self._pool.submit(function, *args)
    future.add_done_callback(
        lambda unused_future: self.ended.append(time.monotonic()))
    return future


class _Scales:
  """Weighs what it is given, and takes nothing."""

  num_bytes = 0

  def submit(self, *call):
    self.num_bytes = len(pickle.dumps(call))
    raise RuntimeError("weighed")


@contextlib.contextmanager
def _pool(num_workers):
  """Yields an executor whose processes have all started."""
  with engines.process_pool(num_workers) as pool, \
      tempfile.TemporaryDirectory() as folder:
    for future in [pool.submit(executor_task.start, folder, num_workers)
                   for _ in range(num_workers)]:
      future.result()
    yield pool


def _step_secs(pool, num_steps, on_executor):
  """Returns the seconds of a step, of each training in a turn."""
  with tempfile.TemporaryDirectory() as folder:
    model_dir = os.path.join(folder, "model")
    if on_executor:
      executor_task.estimator(
          model_dir, 2, num_steps, executor_task.Delays(folder, 0.)).train(
              search.input_fn, [executor_task.StepTimes(folder, num_steps)],
              steps=num_steps, executor=pool)
    else:
      pool.submit(
          executor_task.train_alone, model_dir, num_steps, folder).result()
    with open(os.path.join(folder, "secs"), encoding="utf-8") as f:
      secs = list(map(float, f))
  program.check(len(secs) == (2 if on_executor else 1),
                f"{len(secs)} trainings were timed")
  return secs


def row_of_steps(turns):
  """Returns the row of how fast a part trains.

  Args:
    turns: list of pairs of the seconds of a step, in a part and alone.
  """
  ratio = statistics.median(ours / alone for ours, alone in turns)
  return {
      "kind": "steps", "what": "a step of a part",
      "against": "one process that trains this candidate alone",
      "ratio": ratio, "turns": turns,
      "figure": f"{1 / ratio:.3f} of the steps a second",
      "limits": {"ratio": 1 / _LEAST_SPEED}}


def _measure_steps(pool, size):
  turns = []
  for turn in range(size.turns):
    # The second of the two finds another state of the machine.
    secs = {on_executor: _step_secs(pool, size.bare_steps, on_executor)
            for on_executor in ((True, False) if turn % 2 else (False, True))}
    # The first part is that with the same network.
    turns.append((secs[True][0], secs[False][0]))
  return row_of_steps(turns)


def _measure_evenness(pool, num_workers, size):
  rows = []
  for num_candidates in size.even_candidates:
    _, counts, recorder = _trained(
        pool, size, num_candidates, size.even_steps, 2, size.evaluation_steps)
    rows += [row_of_passes(num_candidates, num_workers, counts),
             row_of_driver(num_candidates, recorder)]
  return rows


def _trained(pool, size, num_candidates, num_steps, num_iterations,
             evaluation_steps=0):
  """Trains; returns the seconds, the delays by process, and the `Recorder`."""
  recorder = Recorder(pool)
  with tempfile.TemporaryDirectory() as folder, \
      tempfile.TemporaryDirectory() as notes:
    delays = executor_task.Delays(notes, size.delay_secs)
    began = time.monotonic()
    executor_task.estimator(
        os.path.join(folder, "model"), num_candidates, num_steps, delays,
        evaluation_steps).train(
            search.input_fn, max_steps=num_iterations * num_steps,
            executor=recorder)
    secs = time.monotonic() - began
    counts = delays.counts()
  program.check(len(recorder.ended) == num_candidates * num_iterations,
                f"{len(recorder.ended)} parts were trained")
  least = num_candidates * num_iterations * num_steps * _DELAYS
  program.check(sum(counts.values()) >= least,
                f"{sum(counts.values())} delays, expected at least {least}")
  return secs, counts, recorder


def row_of_iteration(num_candidates, num_workers, secs, secs_of_one):
  """Returns the row of an iteration on some workers."""
  speedup = secs_of_one / secs
  return {
      "kind": "iteration",
      "what": f"iteration of {num_candidates} candidates, "
              f"{num_workers} workers",
      "against": "that on 1 worker, divided by the workers",
      "ratio": num_workers / speedup, "secs": secs,
      "figure": f"{speedup:.2f}x as fast as 1 worker, {secs:.1f} s",
      "limits": {"ratio": 1 / _LEAST_SPEEDUP}}


def row_of_passes(num_candidates, num_workers, counts):
  """Returns the row of how even the work is.

  Args:
    num_candidates: int.
    num_workers: int.
    counts: dict from a process to its delays.
  """
  part = sum(counts.values()) / num_workers
  most = max(counts.values())
  return {
      "kind": "passes",
      "what": f"passes of the busiest worker, {num_candidates} candidates on "
              f"{num_workers} workers",
      "against": "its part of all passes", "ratio": most / part,
      "figure": f"{most:,} of {sum(counts.values()):,} delays",
      "limits": {"ratio": _MAX_SHARE}}


def row_of_driver(num_candidates, recorder):
  """Returns the row of what the driver does between two iterations."""
  secs = recorder.began[num_candidates] - sorted(
      recorder.ended)[num_candidates - 1]
  limit = _MAX_SECS + _MAX_SECS_OF_CANDIDATE * num_candidates
  return {
      "kind": "driver",
      "what": f"driver between two iterations, {num_candidates} candidates",
      "against": f"{limit:.2f} s", "ratio": secs / limit, "secs": secs,
      "figure": f"{secs:.2f} s", "limits": {"ratio": 1.}}


def row_of_bytes(num_bytes):
  """Returns the row of what is sent for a part."""
  return {
      "kind": "bytes", "what": "sent for a part, digits",
      "against": f"{_MAX_BYTES / 1e3:.0f} kB", "ratio": num_bytes / _MAX_BYTES,
      "figure": f"{num_bytes:,} bytes", "limits": {"ratio": 1.}}


def _measure_bytes():
  scales = _Scales()
  with tempfile.TemporaryDirectory() as folder, \
      contextlib.suppress(adanet.ExecutorError):
    executor_task.estimator(
        folder, 3, 100, executor_task.Delays(folder, 0.)).train(
            executor_task.digits_input, executor=scales)
  program.check(scales.num_bytes, "nothing was sent")
  return row_of_bytes(scales.num_bytes)


def _measure_cluster(size):
  """Returns the seconds of an iteration on as many tasks, with servers."""
  strategy = distributed.RoundRobinStrategy()
  plan = plan_lib.PlacementPlan(
      strategy, size.workers[0], _NUM_PS, size.num_candidates)
  with balance.Tasks(size.workers[0] + _NUM_PS) as tasks, \
      tempfile.TemporaryDirectory() as model_dir:
    return tasks.time(balance_task.Job(
        strategy, {}, model_dir, *(
            [delays * size.delay_secs] * size.num_candidates
            for delays in (executor_task.FORWARD, executor_task.BACKWARD)),
        size.num_steps), plan).secs


def _measure_adanet(size):
  """Returns the row of AdaNet's cluster, for the program that asks for it."""
  return adanet_cluster.measure(
      size.workers[0], _NUM_PS, num_candidates=size.num_candidates,
      forward_secs=executor_task.FORWARD * size.delay_secs,
      backward_secs=executor_task.BACKWARD * size.delay_secs,
      num_steps=size.num_steps)._asdict()


def _ask_adanet(num_turns):
  """Returns the row of `_measure_adanet` on TensorFlow 1.15."""
  path, _ = os.path.splitext(os.path.abspath(__file__))
  # A program of its own, with its own packages.
  env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
  with processes.Program(
      [path + "_tf1_15", "--side=ours", f"--num_turns={num_turns}"],
      env) as other:
    try:
      measured = json.loads(other.read(_ADANET_TIMEOUT_SECS))
    except (EOFError, TimeoutError) as e:
      raise program.CheckError(f"AdaNet's cluster: {e}") from e
  return measured["rows"][0]


def rows_of_clusters(size, secs, adanet, secs_of_one):
  """Returns the rows of an iteration on clusters with parameter servers.

  Args:
    size: `Size`.
    secs: float, of this project's.
    adanet: dict, the fields of `adanet_cluster.MeasuredIteration`.
    secs_of_one: float, of one worker of an executor.
  """
  rows = []
  for whose, secs_of_cluster, more in (
      ("", secs, ""),
      (f", {adanet_cluster.NAME} on TensorFlow 1.15", adanet["secs"],
       f", ensembles {adanet['ensemble_steps']} of {size.num_steps} steps")):
    row = row_of_iteration(
        size.num_candidates, size.workers[0], secs_of_cluster, secs_of_one)
    rows.append(dict(
        row, kind="cluster", limits={},
        what=row["what"].replace("workers", "tasks") +
        f" and {_NUM_PS} ps, RoundRobinStrategy{whose}",
        against=row["against"] + ", on an executor",
        figure=row["figure"] + more))
  return rows


def measure(unused_placement, num_turns):
  """Measures one side; see `program`."""
  size = _SHORT if num_turns < _SHORT_TURNS else _FULL
  if tf_compat.IS_TENSORFLOW_1:  # This is the program of `_ask_adanet`.
    return [_measure_adanet(size)]
  # It forks, so before TensorFlow has threads here.
  cluster_secs = _measure_cluster(size)
  adanet_found = _ask_adanet(num_turns)
  rows = [_measure_bytes()]
  secs = {}
  for num_workers in size.workers:
    with _pool(num_workers) as pool:
      secs[num_workers], _, _ = _trained(
          pool, size, size.num_candidates, size.num_steps, 1)
      if num_workers == size.workers[0]:
        rows += _measure_evenness(pool, num_workers, size)
      if num_workers == 1:
        rows.append(_measure_steps(pool, size))
  for num_workers in sorted(secs):
    if num_workers > 1:
      rows.append(row_of_iteration(
          size.num_candidates, num_workers, secs[num_workers], secs[1]))
  return rows + rows_of_clusters(size, cluster_secs, adanet_found, secs[1])


def bars(rows):
  """Returns list of `program.Bar`."""
  return [program.Bar(f"{row['what']}, in {row['against']}", row["ratio"],
                      row["limits"]["ratio"])
          for row in rows if row["limits"]]


if __name__ == "__main__":
  program.run(sys.modules[__name__])
