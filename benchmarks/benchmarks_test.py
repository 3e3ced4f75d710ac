# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds the benchmarks against things that are not what they measure.

How fast anything is, no test says.
"""

import contextlib
import json
import os
import subprocess
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from benchmarks import claims
from benchmarks import decisions
from benchmarks import plan
from benchmarks import program
from benchmarks import scope
from benchmarks import timing


class _OthersSubnetwork(placement.RoundRobinStrategy):

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    return super(_OthersSubnetwork, self).should_build_subnetwork(
        num_subnetworks, (subnetwork_index + 1) % num_subnetworks)


class _Ensemble(placement.RoundRobinStrategy):

  def should_build_ensemble(self, num_subnetworks):
    return True


class _Nowhere(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return contextlib.suppress()


class _OthersServers(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return super(_OthersServers, self).subnetwork_devices(
        num_subnetworks, (subnetwork_index + 1) % num_subnetworks)


def _with(round_robin):
  return types.SimpleNamespace(
      RoundRobinStrategy=round_robin,
      ReplicationStrategy=placement.ReplicationStrategy)


class BenchmarksTest(parameterized.TestCase):

  @parameterized.parameters(
      (claims, _Nowhere), (decisions, _OthersSubnetwork),
      (decisions, _Ensemble),
      (scope, _Nowhere), (scope, _OthersServers))
  def test_refuses_to_time_what_is_wrong(self, benchmark, round_robin):
    with self.assertRaises(program.CheckError):
      benchmark.measure(_with(round_robin), num_turns=2)

  def test_refuses_to_time_a_plan_of_something_else(self):
    chiefs = plan_lib.PlacementPlan.worker
    with mock.patch.object(
        plan_lib.PlacementPlan, "worker", lambda self, w: chiefs(self, 0)):
      with self.assertRaises(program.CheckError):
        plan.measure(placement, num_turns=2)

  def test_refuses_to_count_what_no_plan_predicts(self):
    figures = plan_lib.PlacementPlan.figures
    with mock.patch.object(
        plan_lib.PlacementPlan, "figures",
        lambda self: dict(figures(self), min_trainers=7)):
      with self.assertRaises(program.CheckError):
        claims.measure(placement, num_turns=2)

  @parameterized.parameters(claims, decisions, plan, scope)
  def test_measures_this_project(self, benchmark):
    # In a process of its own: that of plan.py makes others by forking.
    printed = subprocess.run(
        [sys.executable, os.path.abspath(benchmark.__file__), "--side=ours",
         "--num_turns=3"],
        stdout=subprocess.PIPE, universal_newlines=True, timeout=240,
        check=True).stdout
    measured = json.loads(printed)
    self.assertEqual("ours", measured["side"])
    cases = [tuple(row[key] for key in benchmark.BENCHMARK.cases)
             for row in measured["rows"]]
    self.assertNotEmpty(cases)
    self.assertCountEqual(set(cases), cases)
    for bar in benchmark.bars(measured["rows"]):
      self.assertGreater(bar.measured, 0)

  @parameterized.parameters(
      ([(2., 1.), (6., 2.), (12., 3.)], (6., 2., 3., (2., 4.))),
      ([(1., 1.), (2., 1.), (3., 1.), (100., 1.)], (2.5, 1., 2.5, (2., 3.))))
  def test_medians(self, turns, summary):
    self.assertEqual(summary, timing.summary(turns))

  @parameterized.parameters((.9, True), (1., True), (1.1, False))
  def test_bars(self, measured, is_reached):
    self.assertEqual(is_reached, program.Bar("a", measured, 1.).is_reached)


if __name__ == "__main__":
  absltest.main()
