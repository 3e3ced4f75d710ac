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

_LENGTHS = st.lists(
    st.one_of(st.integers(1, 10**6), st.floats(1e-3, 1e3),
              st.fractions(fractions.Fraction(1, 50), 10**3,
                           max_denominator=50)), min_size=1, max_size=12)
_NUM_PARTS = st.integers(1, 30)


def _covered(lengths, num_parts):
  """Returns {(segment, part): length}, from the definition."""
  ends = list(itertools.accumulate(map(fractions.Fraction, lengths)))
  starts = [0] + ends[:-1]
  width = ends[-1] / num_parts
  covered = {}
  for i, (start, end) in enumerate(zip(starts, ends)):
    for part in range(num_parts):
      length = min(end, (part + 1) * width) - max(start, part * width)
      if length > 0:
        covered[i, part] = length
  return covered


class LineTest(absltest.TestCase):

  @hypothesis.given(lengths=_LENGTHS, num_parts=_NUM_PARTS)
  def test_segments_and_parts_are_two_views_of_the_same(
      self, lengths, num_parts):
    line = line_lib.Line(lengths)
    covered = _covered(lengths, num_parts)
    segments = [line.segment(i, num_parts) for i in range(len(lengths))]
    self.assertEqual(
        covered.keys(),
        {(i, part) for i, s in enumerate(segments) for part in s.parts})
    parts = [line.part(index, num_parts) for index in range(num_parts)]
    self.assertEqual(
        covered.keys(),
        {(i, index) for index, part in enumerate(parts) for i in part.segments})
    width = sum(map(fractions.Fraction, lengths)) / num_parts
    for (i, index), length in covered.items():
      self.assertEqual(length / width, dict(parts[index])[i])
      self.assertEqual(
          length / fractions.Fraction(lengths[i]),
          fractions.Fraction(segments[i].overlap(index),
                             segments[i].length * num_parts))

  @hypothesis.given(lengths=_LENGTHS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_head_is_a_segment_ahead_of_the_others(
      self, lengths, num_parts, data):
    head = data.draw(st.sampled_from([lengths[0] / 3, 1, .1, 10**7]))
    line = line_lib.Line(lengths, head)
    whole = line_lib.Line([head] + lengths)
    self.assertEqual(whole.segment(0, num_parts).parts,
                     range(line.parts_of_head(num_parts)))
    for index in range(num_parts):
      expected = dict(whole.part(index, num_parts))
      of_head = expected.pop(0, 0)
      self.assertEqual(of_head, line.head_of_part(index, num_parts))
      part = line.part(index, num_parts)
      self.assertEqual({i - 1: fraction / (1 - of_head)
                        for i, fraction in expected.items()}, dict(part))
      self.assertEqual([i - 1 for i in expected], list(part.segments))

  def test_no_head(self):
    line = line_lib.Line([1, 2])
    self.assertEqual(0, line.starts[0])
    self.assertEqual(0, line.parts_of_head(5))
    self.assertEqual(0, line.head_of_part(0, 5))

  @hypothesis.given(lengths=_LENGTHS, scale=st.fractions(
      fractions.Fraction(1, 100), 100))
  def test_only_ratios_count(self, lengths, scale):
    scaled = [fractions.Fraction(length) * scale for length in lengths]
    self.assertEqual(line_lib.Line(lengths).starts,
                     line_lib.Line(scaled).starts)

  @hypothesis.given(num_segments=st.integers(1, 50), num_parts=_NUM_PARTS,
                    data=st.data())
  def test_equal_lengths(self, num_segments, num_parts, data):
    head = data.draw(st.sampled_from([0, 1, 7, fractions.Fraction(5, 3)]))
    of_equal = line_lib.Line.of_equal(num_segments, head)
    line = line_lib.Line([2.5] * num_segments, head * fractions.Fraction(5, 2))
    index = data.draw(st.integers(0, num_parts - 1))
    self.assertEqual(line.part(index, num_parts),
                     of_equal.part(index, num_parts))
    self.assertEqual(line.head_of_part(index, num_parts),
                     of_equal.head_of_part(index, num_parts))
    i = data.draw(st.integers(0, num_segments - 1))
    self.assertEqual(line.segment(i, num_parts).parts,
                     of_equal.segment(i, num_parts).parts)

  @hypothesis.given(lengths=_LENGTHS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_hash_picks_a_point_of_the_segment(self, lengths, num_parts, data):
    line = line_lib.Line(lengths)
    i = data.draw(st.integers(0, len(lengths) - 1))
    segment = line.segment(i, num_parts)
    largest = 2**line_lib.HASH_BITS - 1
    self.assertEqual(segment.parts[0], segment.part_of_hash(0))
    name_hash = data.draw(st.integers(0, largest))
    self.assertIn(segment.part_of_hash(name_hash), segment.parts)
    point = fractions.Fraction(name_hash, largest + 1) * segment.length
    width = fractions.Fraction(segment.total, num_parts)
    self.assertEqual((segment.start + point) // width,
                     segment.part_of_hash(name_hash))
    # Unless the end is on a cut by less than a step of the hash.
    if num_parts * segment.total < 2**200:
      self.assertEqual(segment.parts[-1], segment.part_of_hash(largest))

  def test_a_part_is_like_a_tuple(self):
    part = line_lib.Line([1, 2, 4]).part(0, 2)
    pairs = ((0, fractions.Fraction(2, 7)), (1, fractions.Fraction(4, 7)),
             (2, fractions.Fraction(1, 7)))
    self.assertEqual(pairs, part)
    self.assertEqual(part, pairs)
    self.assertEqual({pairs: 1}, {part: 1})
    self.assertEqual(repr(pairs), repr(part))
    self.assertEqual(pairs[1:], part[1:])
    self.assertEqual(pairs[-1], part[-1])
    self.assertLen(part, 3)
    self.assertNotEqual(part, pairs[:2])
    self.assertNotEqual(part, [1])


if __name__ == "__main__":
  absltest.main()
