# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of weights laid end to end, and of equal parts."""

import fractions
import itertools

from absl.testing import absltest
from adanet.distributed import wrap_around
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_Fraction = fractions.Fraction
_WEIGHTS = st.lists(
    st.one_of(st.integers(1, 10**6), st.floats(1e-3, 1e3),
              st.fractions(_Fraction(1, 50), 10**3, max_denominator=50)),
    min_size=1, max_size=12)
_NUM_PARTS = st.integers(1, 30)


class WrapAroundTest(absltest.TestCase):

  @hypothesis.given(weights=_WEIGHTS, num_parts=_NUM_PARTS)
  def test_intervals_and_parts_are_two_views_of_the_same(
      self, weights, num_parts):
    intervals = wrap_around.Intervals(weights)
    ends = list(itertools.accumulate(map(_Fraction, weights)))
    width = ends[-1] / num_parts
    covered = {}  # {(interval, part): weight}, from the definition.
    for i, (start, end) in enumerate(zip([0] + ends, ends)):
      for part in range(num_parts):
        weight = min(end, (part + 1) * width) - max(start, part * width)
        if weight > 0:
          covered[i, part] = weight
    each = [intervals.interval(i, num_parts) for i in range(len(weights))]
    self.assertEqual(
        covered.keys(),
        {(i, part) for i, s in enumerate(each) for part in s.parts})
    for index in range(num_parts):
      self.assertEqual((0, tuple(
          (i, weight / width) for (i, part), weight in covered.items()
          if part == index)), intervals.part(index, num_parts))
    for (i, index), weight in covered.items():
      self.assertEqual(
          weight / _Fraction(weights[i]),
          _Fraction(each[i].overlap(index),
                    each[i].weight * num_parts))

  @hypothesis.given(weights=_WEIGHTS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_head_is_an_interval_ahead_of_the_rest(
      self, weights, num_parts, data):
    head = data.draw(st.sampled_from([weights[0] / 3, 1, .1, 10**7]))
    intervals = wrap_around.Intervals(weights, head)
    whole = wrap_around.Intervals([head] + weights)
    for index in range(num_parts):
      expected = dict(whole.part(index, num_parts)[1])
      of_head = expected.pop(0, 0)
      self.assertEqual((of_head, tuple(
          (i - 1, fraction / (1 - of_head))
          for i, fraction in expected.items())),
                       intervals.part(index, num_parts))

  @hypothesis.given(weights=_WEIGHTS, scale=st.fractions(
      _Fraction(1, 100), 100))
  def test_only_ratios_count(self, weights, scale):
    scaled = [_Fraction(weight) * scale for weight in weights]
    self.assertEqual(wrap_around.Intervals(weights).starts,
                     wrap_around.Intervals(scaled).starts)

  @hypothesis.given(weights=_WEIGHTS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_hash_picks_a_point_of_the_interval(self, weights, num_parts, data):
    i = data.draw(st.integers(0, len(weights) - 1))
    interval = wrap_around.Intervals(weights).interval(i, num_parts)
    largest = 2**wrap_around.HASH_BITS - 1
    self.assertEqual(interval.parts[0], interval.part_of_hash(0))
    name_hash = data.draw(st.integers(0, largest))
    self.assertIn(interval.part_of_hash(name_hash), interval.parts)
    point = _Fraction(name_hash, largest + 1) * interval.weight
    self.assertEqual((interval.start + point) // _Fraction(
        interval.total, num_parts), interval.part_of_hash(name_hash))
    # Unless the end is on a cut by less than a step of the hash.
    if num_parts * interval.total < 2**200:
      self.assertEqual(interval.parts[-1], interval.part_of_hash(largest))


if __name__ == "__main__":
  absltest.main()
