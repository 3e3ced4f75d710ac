# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of lengths laid end to end, and of equal parts."""

import fractions
import itertools

from absl.testing import absltest
from adanet.distributed import line as line_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_Fraction = fractions.Fraction
_LENGTHS = st.lists(
    st.one_of(st.integers(1, 10**6), st.floats(1e-3, 1e3),
              st.fractions(_Fraction(1, 50), 10**3, max_denominator=50)),
    min_size=1, max_size=12)
_NUM_PARTS = st.integers(1, 30)


class LineTest(absltest.TestCase):

  @hypothesis.given(lengths=_LENGTHS, num_parts=_NUM_PARTS)
  def test_segments_and_parts_are_two_views_of_the_same(
      self, lengths, num_parts):
    line = line_lib.Line(lengths)
    ends = list(itertools.accumulate(map(_Fraction, lengths)))
    width = ends[-1] / num_parts
    covered = {}  # {(segment, part): length}, from the definition.
    for i, (start, end) in enumerate(zip([0] + ends, ends)):
      for part in range(num_parts):
        length = min(end, (part + 1) * width) - max(start, part * width)
        if length > 0:
          covered[i, part] = length
    segments = [line.segment(i, num_parts) for i in range(len(lengths))]
    self.assertEqual(
        covered.keys(),
        {(i, part) for i, s in enumerate(segments) for part in s.parts})
    for index in range(num_parts):
      self.assertEqual((0, tuple(
          (i, length / width) for (i, part), length in covered.items()
          if part == index)), line.part(index, num_parts))
    for (i, index), length in covered.items():
      self.assertEqual(
          length / _Fraction(lengths[i]),
          _Fraction(segments[i].overlap(index),
                    segments[i].length * num_parts))

  @hypothesis.given(lengths=_LENGTHS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_head_is_a_segment_ahead_of_the_others(
      self, lengths, num_parts, data):
    head = data.draw(st.sampled_from([lengths[0] / 3, 1, .1, 10**7]))
    line = line_lib.Line(lengths, head)
    whole = line_lib.Line([head] + lengths)
    for index in range(num_parts):
      expected = dict(whole.part(index, num_parts)[1])
      of_head = expected.pop(0, 0)
      self.assertEqual((of_head, tuple(
          (i - 1, fraction / (1 - of_head))
          for i, fraction in expected.items())), line.part(index, num_parts))

  @hypothesis.given(lengths=_LENGTHS, scale=st.fractions(
      _Fraction(1, 100), 100))
  def test_only_ratios_count(self, lengths, scale):
    scaled = [_Fraction(length) * scale for length in lengths]
    self.assertEqual(line_lib.Line(lengths).starts,
                     line_lib.Line(scaled).starts)

  @hypothesis.given(lengths=_LENGTHS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_hash_picks_a_point_of_the_segment(self, lengths, num_parts, data):
    i = data.draw(st.integers(0, len(lengths) - 1))
    segment = line_lib.Line(lengths).segment(i, num_parts)
    largest = 2**line_lib.HASH_BITS - 1
    self.assertEqual(segment.parts[0], segment.part_of_hash(0))
    name_hash = data.draw(st.integers(0, largest))
    self.assertIn(segment.part_of_hash(name_hash), segment.parts)
    point = _Fraction(name_hash, largest + 1) * segment.length
    self.assertEqual((segment.start + point) // _Fraction(
        segment.total, num_parts), segment.part_of_hash(name_hash))
    # Unless the end is on a cut by less than a step of the hash.
    if num_parts * segment.total < 2**200:
      self.assertEqual(segment.parts[-1], segment.part_of_hash(largest))


if __name__ == "__main__":
  absltest.main()
