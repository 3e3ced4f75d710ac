# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the pace of ensembles."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.training import pace
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st


class PaceTest(parameterized.TestCase):

  @parameterized.parameters(
      # Steps of subnetworks, an ensemble's step, and whether it may train.
      ({"a": 0, "b": 0}, 0, True), ({"a": 5, "b": 0}, 1, False),
      ({"a": 5, "b": 3}, 3, True), ({"a": 5, "b": 3}, 4, False),
      ({"a": 9, "b": 9}, 8, True), ({"a": 9, "b": 9}, 9, False),
      ({"a": 9, "b": 3}, 4, False), ({}, 0, False))
  def test_follows_the_slowest_that_is_not_done(self, steps, step, allowed):
    followed = pace.Pace(limit=9)
    followed.update(steps)
    self.assertEqual(allowed, followed.allows(step))

  def test_nobody_waits_for_one_that_stopped_or_that_nobody_trains(self):
    followed = pace.Pace(limit=9, untrained=["nobody's"])
    followed.update({"a": 7, "b": 2, "nobody's": 0})
    self.assertEqual({"a": 7, "b": 2}, followed.unfinished)
    followed.stop("b")
    self.assertEqual({"a": 7}, followed.unfinished)
    self.assertTrue(followed.allows(7))
    followed.stop("a")
    self.assertEmpty(followed.unfinished)
    self.assertTrue(followed.allows(6))
    self.assertFalse(followed.allows(7))

  @hypothesis.given(
      st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 12),
      st.randoms())
  def test_ensemble_takes_as_many_steps_as_its_subnetworks(
      self, speeds, limit, random):
    followed = pace.Pace(limit)
    names = [f"n{i}" for i in range(len(speeds))]
    steps = {name: 0 for name in names}
    followed.update(steps)
    ensemble = 0
    while followed.unfinished or followed.allows(ensemble):
      if followed.allows(ensemble):
        ensemble += 1
      self.assertLessEqual(
          ensemble, min(followed.unfinished.values(), default=limit) + 1)
      i = random.randrange(len(names))
      steps[names[i]] = min(limit, steps[names[i]] + speeds[i])
      followed.update(steps)
    self.assertEqual(limit, ensemble)


if __name__ == "__main__":
  absltest.main()
