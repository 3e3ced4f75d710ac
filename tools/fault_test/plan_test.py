# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the fault test breaks."""

from absl.testing import absltest
from absl.testing import parameterized
from tools.fault_test import plan


class PlanTest(parameterized.TestCase):

  @parameterized.parameters(1, 2, 3, 7, 30)
  def test_has_as_many_faults_as_asked_for(self, injections):
    jobs = plan.jobs(injections, 1)
    self.assertEqual(injections, sum(len(job.faults) for job in jobs))
    self.assertEqual(jobs, plan.jobs(injections, 1))
    self.assertNotEqual(jobs, plan.jobs(injections, 2))

  @parameterized.parameters(range(5))
  def test_has_all_kinds_and_moments(self, seed):
    faults = [f for job in plan.jobs(30, seed) for f in job.faults]
    self.assertCountEqual(
        plan.KINDS, {(f.kind, f.target) for f in faults})
    self.assertLen({f.moment for f in faults}, 6)

  def test_one_start_and_one_end_for_each_job(self):
    for job in plan.jobs(30, 1):
      moments = [f.moment for f in job.faults]
      self.assertEqual(plan.START, moments[0])
      self.assertEqual(plan.LAST, moments[-1])
      self.assertNotIn(plan.START, moments[1:])
      self.assertNotIn(plan.LAST, moments[:-1])

  def test_without_a_disk_that_can_be_full(self):
    faults = [f for job in plan.jobs(30, 1, False) for f in job.faults]
    self.assertLen(faults, 30)
    self.assertNotIn(plan.FULL_DISK, [f.kind for f in faults])

  def test_only_kills(self):
    faults = [f for job in plan.jobs(10, 1, only_kills=True)
              for f in job.faults]
    self.assertLen(faults, 10)
    self.assertEqual({plan.KILL}, {f.kind for f in faults})


if __name__ == "__main__":
  absltest.main()
