# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the phases of an iteration. They make sessions: no test forks here.

No test times anything.
"""

from absl.testing import absltest
from adanet import tf_compat
from benchmarks import value_phases
import numpy as np


class PhasesTest(absltest.TestCase):

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
      one, two = [
          v1.py_func(lambda secs=secs: self._tick(secs), [], v1.float32)
          for secs in (1., 2.)]
      with v1.Session() as session:
        mixed = {None: two, "a": []}
        for fetches in one, mixed, one, one, mixed:
          session.run(fetches)
        call = session.make_callable(one)
        for _ in range(3):
          call()
    self.assertEqual(
        {value_phases.FIRST_RUNS: 1 + 2 + 1,
         value_phases.LATER_RUNS: 1 + 1 + 2 + 1 + 1}, self._clock.secs)
    self.assertIs(run, v1.Session.run)


if __name__ == "__main__":
  absltest.main()
