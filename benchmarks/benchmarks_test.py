# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the benchmarks refuse to measure something wrong.

.ci/run runs the benchmarks themselves. No test times anything.
"""

import collections
import contextlib
import os
import subprocess
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from adanet.testing import level
from adanet.testing import processes
from benchmarks import adanet_cluster
from benchmarks import balance
from benchmarks import claims
from benchmarks import cluster
from benchmarks import executor
from benchmarks import program
from benchmarks import scope
from benchmarks import timing
from benchmarks import value_phases
import numpy as np


class _Nowhere(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return contextlib.suppress()


class _OthersServers(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return super().subnetwork_devices(
        num_subnetworks, (subnetwork_index + 1) % num_subnetworks)


# It fails when it reads a line, and does not end otherwise.
_FAILS = """
import os, sys
print(os.getpid(), flush=True)
sys.stdin.readline()
sys.stderr.write("wrong")
sys.stderr.flush()
os._exit(7)
"""

# It takes time of a processor, in a child too, and ends when it reads a line.
_BURNS = """
import subprocess, sys, time
if sys.argv[1:]:
  child = subprocess.Popen([sys.executable, "-c", sys.argv[1]],
                           stdin=sys.stdin)
while time.process_time() < .3:
  pass
if sys.argv[1:]:
  child.wait()
else:
  sys.stdin.readline()
"""


def _answers(**num_ops):
  """Returns answers of tasks with a step in 2 s, and a bare one in 1 s."""
  return {
      name: {"num_ops": num_ops.get(name.replace(":", ""), count),
             "turns": [[2., 1.] for _ in range(3)]}
      for name, count in zip(cluster.TRAINERS, (3, 2, 1))}


class BenchmarksTest(parameterized.TestCase):

  @parameterized.parameters(level.first([
      (claims, _Nowhere), (scope, _Nowhere), (scope, _OthersServers)], 2))
  def test_refuses_wrong_strategies(self, benchmark, round_robin):
    with self.assertRaises(program.CheckError):
      benchmark.measure(
          types.SimpleNamespace(RoundRobinStrategy=round_robin), num_turns=2)

  def test_refuses_wrong_plans(self):
    with mock.patch.object(
        plan_lib.PlacementPlan, "figures",
        lambda self: collections.defaultdict(int)):
      with self.assertRaises(program.CheckError):
        claims.measure(placement, num_turns=2)

  def test_rows_of_steps(self):
    answers = _answers()
    # It is the slowest in this turn.
    answers["worker:1"]["turns"][1] = [1., 4.]
    rows = cluster.rows_of_steps(answers)
    self.assertEqual([2., 2., 2.], [row["ratio"] for row in rows])
    self.assertEqual(
        ["step of chief:0, 3 ensembles", "step of worker:0, 2 subnetworks",
         "step of worker:1, 1 subnetwork"], [row["what"] for row in rows])
    answers["worker:1"]["turns"][2] = [1., 4.]
    self.assertEqual(
        [.5, 2., .25], [row["ratio"] for row in cluster.rows_of_steps(answers)])

  def test_refuses_steps_of_others_and_turns_without_a_step(self):
    with self.assertRaisesRegex(program.CheckError, "train ops"):
      cluster.rows_of_steps(_answers(worker1=2))
    answers = _answers()
    answers["worker:0"]["turns"][2][1] = None
    with self.assertRaisesRegex(program.CheckError, "no step in turn 2"):
      cluster.rows_of_steps(answers)

  def test_rows_of_a_balance(self):
    case = balance.Case(5, 2, (1, 2, 4), least=1.7)
    planned = 100 * (7 + 7 / 3) / 5 * case.unit_secs
    row = balance.row(case, 100, [
        (balance.Timed(planned * ours, [], []), balance.Timed(others, [], []))
        for ours, others in ((1.2, 400.), (1.1, 200.), (1., 100.))])
    self.assertAlmostEqual(.1, row["deviation"])
    self.assertAlmostEqual(planned * 1.1 / 200., row["ratio"])
    self.assertAlmostEqual(4 / (28 / 15), row["planned_speedup"])
    self.assertAlmostEqual(planned, row["planned_secs"])
    other_planned = 100 * 4 * case.unit_secs
    self.assertAlmostEqual(200. / other_planned - 1, row["other_deviation"])
    self.assertEqual(
        {"ratio": 1 / 1.7, "deviation": .15, "other_deviation": .15},
        row["limits"])
    self.assertEqual(
        [row["ratio"], row["deviation"], row["other_deviation"]],
        [bar.measured for bar in balance.bars([row])])

  def test_row_of_a_balance_with_an_evaluator(self):
    case = balance.Case(2, 1, (1, 2), num_eval_steps=5)
    unit = case.unit_secs
    timed = balance.Timed(9., [30 * unit, 10 * unit], [2 * unit, 4 * unit])
    row = balance.row(case, 10, [(timed, timed)])
    # Each has half of 10 steps of 4 units, or of 5 of 1 unit.
    self.assertAlmostEqual(1.5, row["training"])
    self.assertAlmostEqual(1.6, row["evaluation"])
    self.assertEqual([1.5, 1.6], [
        round(bar.measured, 6) for bar in balance.bars([row])[3:]])

  def test_rows_of_an_executor(self):
    recorder = executor.Recorder(None)
    recorder.began, recorder.ended = [0., 1., 9., 9.], [5., 3., 12., 11.]
    rows = [
        executor.row_of_steps([(1., 1.), (1.2, 1.), (4., 2.)]),
        executor.row_of_iteration(8, 4, 10., 30.),
        executor.row_of_passes(3, 2, {11: 10, 12: 20}),
        executor.row_of_driver(2, recorder),
        executor.row_of_bytes(50000),
    ]
    for expected, row, bar in zip(
        (1.2, 4 / 3, 20 / 15, 4 / 2.1, .5), rows, executor.bars(rows)):
      self.assertAlmostEqual(expected, row["ratio"])
      self.assertEqual(row["ratio"], bar.measured)
    self.assertEqual(
        [1 / .95, 1 / .85, 1.25, 1., 1.],
        [bar.limit for bar in executor.bars(rows)])

  def test_rows_of_clusters(self):
    size = executor.Size(2, 2, (8, 1), 8, 100, .06, (), 2, 2)
    ours, theirs = executor.rows_of_clusters(
        size, 50., {"secs": 40., "ensemble_steps": 75}, 160.)
    self.assertEqual([2.5, 2.], [ours["ratio"], theirs["ratio"]])
    self.assertEqual(theirs["against"], ours["against"])
    self.assertEqual(
        ours["what"] + ", AdaNet 0.8.0 on TensorFlow 1.15", theirs["what"])
    self.assertEqual(
        "4.00x as fast as 1 worker, 40.0 s, ensembles 75 of 100 steps",
        theirs["figure"])
    self.assertEmpty(executor.bars([ours, theirs]))

  @parameterized.parameters(
      ({}, (3., 4)), ({"subnetwork_t0_b": 9}, "candidates took"),
      ({"subnetwork_t0_c": 10}, "candidates took"),
      ({"ensemble_t0_c": 9}, "3 ensembles"))
  def test_iteration_of_a_chief_of_adanet(self, more, expected):
    steps = {
        "subnetwork_t0_a": 10, "subnetwork_t0_b": 10, "ensemble_t0_a": 7,
        "ensemble_t0_b": 4, **more}
    arguments = (5., 8., {
        f"adanet/iteration_0/{name}/step": count
        for name, count in steps.items()
    }, {"num_candidates": 2, "num_steps": 10})
    if isinstance(expected, tuple):
      self.assertEqual(expected, adanet_cluster.check_iteration(*arguments))
    else:
      with self.assertRaisesRegex(program.CheckError, expected):
        adanet_cluster.check_iteration(*arguments)

  def test_ends_tasks_that_fail(self):
    with self.assertRaisesRegex(program.CheckError, "ended with 7: wrong"):
      with cluster.Tasks(
          [sys.executable, "-c", _FAILS], dict(os.environ)) as tasks:
        pids = [int(tasks.read(name)) for name in tasks.names]
        tasks.write("worker:1", "")
        tasks.wait(cluster.TRAINERS)
    for pid in pids:
      with self.assertRaises(ProcessLookupError):
        os.kill(pid, 0)

  @parameterized.parameters(
      ([(2., 1.), (6., 2.), (12., 3.)], (6., 3.)),
      ([(1., 1.), (2., 1.), (3., 1.), (100., 1.)], (2.5, 2.5)))
  def test_medians(self, turns, medians):
    self.assertEqual(medians, timing.summary(turns))

  @level.gate
  def test_cpu_of_a_tree(self):
    before = timing.tree_cpu_secs()
    with subprocess.Popen([sys.executable, "-c", _BURNS, _BURNS],
                          stdin=subprocess.PIPE) as burning:
      processes.wait_until(
          lambda: timing.tree_cpu_secs() - before > .55, "both burn")
      burning.communicate(b"\n")
    self.assertGreater(timing.tree_cpu_secs() - before, .55)


class PhasesTest(absltest.TestCase):
  """The phases of an iteration. They make sessions: no test forks here."""

  def setUp(self):
    super().setUp()
    self._now = 0.
    self._clock = value_phases.PhaseClock(lambda: self._now)

  def test_a_phase_is_without_those_inside_of_it(self):
    self._now = 5.
    with self._clock.phase("a"):
      self._now += 1.
      with self._clock.phase("b"):
        self._now += 2.
        with self._clock.phase("a"):
          self._now += 4.
        self._now += 8.
      self._now += 16.
    self._now += 32.
    self.assertEqual({"a": 21., "b": 10.}, self._clock.secs)

  def _tick(self, secs):
    self._now += secs
    return np.float32(secs)

  def test_first_and_later_runs(self):
    v1 = tf_compat.v1
    run = v1.Session.run
    with v1.Graph().as_default(), value_phases.clocks(self._clock):
      short, long = [
          v1.py_func(lambda secs=secs: self._tick(secs), [], v1.float32)
          for secs in (1., 2.)]
      with v1.Session() as session:
        mixed = {None: long, "a": []}
        for fetches in short, mixed, short, short, mixed:
          session.run(fetches)
        call = session.make_callable(short)
        for _ in range(3):
          call()
    self.assertEqual(
        {value_phases.FIRST_RUNS: 1 + 2 + 1,
         value_phases.LATER_RUNS: 1 + 1 + 2 + 1 + 1}, self._clock.secs)
    self.assertIs(run, v1.Session.run)


if __name__ == "__main__":
  absltest.main()
