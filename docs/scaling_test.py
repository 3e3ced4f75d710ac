# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the simulation, and that the page has what it prints."""

import textwrap

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import distributed
from adanet.distributed import plan as plan_lib
from docs import scaling
import runfiles

_MACHINES = scaling.Machines(.1, 10e6, 1.25e9)


@level.gate
class ScalingTest(parameterized.TestCase):

  def test_page(self):
    path = runfiles.Create().Rlocation("adanet/docs/scaling.rst")
    with open(path, encoding="utf-8") as f:
      page = f.read()
    for table in scaling.tables(_MACHINES).split("\n\n"):
      self.assertIn(textwrap.indent(table.rstrip("\n"), "   "), page)

  @parameterized.parameters((4, 1, 3), (8, 1, 3), (40, 1, 3), (40, 6, 3),
                            (400, 2, 3), (7, 2, 3))
  def test_paper_bounds_the_simulation(self, *size):
    plan = plan_lib.PlacementPlan(distributed.RoundRobinStrategy(), *size)
    by_workers, by_ps = scaling.on_paper(plan, _MACHINES)
    paper = scaling.Speeds(*map(min, by_workers, by_ps))
    simulated = scaling.simulate(plan, _MACHINES, 30 / min(paper))
    self.assertGreater(simulated.ensemble, .8 * paper.ensemble)
    self.assertLess(simulated.ensemble, 1.1 * by_workers.ensemble)
    # With 7 workers some train one subnetwork, and are faster.
    self.assertGreater(simulated.trainer, .8 * paper.trainer)


if __name__ == "__main__":
  absltest.main()
