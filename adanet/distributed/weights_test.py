# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of costs and sizes, and of their places on a line of equal parts."""

import copy
import fractions
import itertools
import pickle
import re

from absl.testing import absltest
from absl.testing import parameterized
from adanet.distributed import weights as weights_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np


def _squares(num_subnetworks):
  return [i * i for i in range(1, num_subnetworks + 1)]


def _work(costs=None, ensemble_cost=None):
  return weights_lib.Work(costs, ensemble_cost)


class WeightsTest(parameterized.TestCase):

  def assert_says(self, error, text, call, *args, **kwargs):
    with self.assertRaises(error) as raised:
      call(*args, **kwargs)
    self.assertStartsWith(str(raised.exception), text)
    self.assertNotIn("\n", str(raised.exception))

  @parameterized.parameters(
      (None, (1, 1, 1)),
      ("measured", (1, 1, 1)),
      ([1, 2, 4], (1, 2, 4)),
      ((1, .5, fractions.Fraction(1, 3)), (1, .5, fractions.Fraction(1, 3))),
      (np.array([1, 2, 4], np.int8), (1, 2, 4)),
      (np.array([.1, .2, .4], np.float32),
       (float(np.float32(.1)), float(np.float32(.2)), float(np.float32(.4)))),
      ((np.float16(.5), np.float64(.1), np.longdouble(2)), (.5, .1, 2.)),
      ((c for c in (3, 2, 1)), (3, 2, 1)),
      (_squares, (1, 4, 9)))
  def test_numbers(self, costs, expected):
    numbers = weights_lib.Weights("costs", costs).numbers(3)
    self.assertEqual(expected, numbers)
    for number in numbers:
      self.assertIn(type(number), (int, float, fractions.Fraction))
    self.assertLen(
        weights_lib.Weights("costs", expected).intervals(3).starts, 4)

  @parameterized.parameters(
      (None,), ("measured",), ([1, 2.5, fractions.Fraction(1, 3)],),
      (_squares,))
  def test_pickles(self, costs):
    for weights in (weights_lib.Weights("costs", costs), _work(costs)):
      weights = weights.with_measured([1, 2, 3])
      weights.intervals(3)
      copied = pickle.loads(pickle.dumps(weights, 2))
      self.assertEqual(weights.numbers(3), copied.numbers(3))
      self.assertEqual(repr(weights), repr(copied))

  @parameterized.parameters(
      (3, TypeError, "costs=3: expected None, a sequence of "),
      ("fast", TypeError, "costs='fast': expected None, a sequence of "),
      (b"12", TypeError, "costs=b'12': "),
      ({1: 2}, TypeError, "costs={1: 2}: "),
      ([], ValueError, "costs=[]: expected None, a sequence of "),
      ([1, 0], ValueError, "costs[1]=0: expected a finite number "
       "greater than 0."),
      ([-1., 1], ValueError, "costs[0]=-1.0: "),
      ([1, float("inf")], ValueError, "costs[1]=inf: expected a finite number "
       "greater than 0."),
      (["1"], TypeError, "costs[0]='1': "),
      ([[1]], TypeError, "costs[0]=[1]: "),
      (-1., ValueError, "ensemble_cost=-1.0: expected None, a finite number "
       "of at least 0"),
      (float("inf"), ValueError, "ensemble_cost=inf: expected None, a finite "),
      ("measured", TypeError, "ensemble_cost='measured': "),
      ([1], TypeError, "ensemble_cost=[1]: "))
  def test_errors(self, weights, error, text):
    argument = re.match("[a-z_]+", text).group()
    self.assert_says(error, text, _work, **{argument: weights})
    if weights != "fast":
      text = text.replace(argument, argument + "(2)").replace("None, a", "a")
      work = _work(**{argument: lambda k: weights})
      self.assert_says(error, text, work.intervals_behind_ensembles, 2)

  @parameterized.parameters(
      ([1, 2, 4], "costs=(1, 2, 4): "), (_squares, None),
      (lambda k: [1, 2, 4], "costs(2)=(1, 2, 4): "))
  def test_other_numbers_of_subnetworks(self, costs, text):
    weights = weights_lib.Weights("costs", costs)
    weights.numbers(3)
    if text is None:
      self.assertLen(weights.numbers(2), 2)
      return
    for ask in (weights.numbers, weights.intervals):
      self.assert_says(
          ValueError, text + "expected num_subnetworks=2 numbers, one for each "
          "subnetwork, not 3.", ask, 2)


class WorkTest(parameterized.TestCase):

  @parameterized.parameters(
      (None, None, fractions.Fraction(2, 3)),
      ([1, 3], None, fractions.Fraction(4, 3)),
      ([.1, .3], None, (fractions.Fraction(.1) + fractions.Fraction(.3)) / 3),
      ([1, 3], 5, 5), ([1, 3], np.float32(.5), .5),
      (None, lambda k: 10 * k, 20), ("measured", None, fractions.Fraction(2, 3)))
  def test_ensemble_cost(self, costs, ensemble_cost, expected):
    work = _work(costs, ensemble_cost)
    self.assertEqual(expected, work.ensemble_cost(2))
    starts = work.intervals_behind_ensembles(2).starts
    first, second = map(fractions.Fraction, work.numbers(2))
    expected = fractions.Fraction(expected)
    total = expected + first + second
    self.assertEqual(
        [expected / total, (expected + first) / total, 1],
        [fractions.Fraction(start, starts[-1]) for start in starts])

  def test_measured(self):
    work = _work("measured")
    measured = work.with_measured([4, 5], 7)
    for copied in (measured, pickle.loads(pickle.dumps(measured, 2))):
      self.assertEqual(7, copied.ensemble_cost(2))
    # An iteration of other candidates: theirs have been forgotten.
    self.assertEqual(1, measured.ensemble_cost(3))
    self.assertEqual(3, work.with_measured([4, 5], None).ensemble_cost(2))
    self.assertEqual(
        2, _work("measured", 2).with_measured([4, 5], 7).ensemble_cost(2))
    for other in (_work(), _work([1, 2])):
      self.assertIs(other, other.with_measured([4, 5], 7))

  def test_functions_are_asked_once(self):
    asked, asked_of_ensembles = [], []
    work = _work(lambda k: asked.append(k) or _squares(k),
                 lambda k: asked_of_ensembles.append(k) or k)
    for k in (3, 2, 3, 2):
      copied = copy.deepcopy(work)
      self.assertEqual(k, copied.ensemble_cost(k))
      self.assertEqual(tuple(_squares(k)), copied.numbers(k))
      work.intervals(k)
      work.intervals_behind_ensembles(k)
    self.assertEqual([3, 2], asked)
    self.assertEqual([3, 2], asked_of_ensembles)


_WEIGHTS = st.lists(
    st.one_of(st.integers(1, 10**6), st.floats(1e-3, 1e3),
              st.fractions(fractions.Fraction(1, 50), 10**3, max_denominator=50)),
    min_size=1, max_size=12)
_NUM_PARTS = st.integers(1, 30)


class WrapAroundTest(absltest.TestCase):

  @hypothesis.given(weights=_WEIGHTS, num_parts=_NUM_PARTS)
  def test_intervals_and_parts_are_two_views_of_the_same(
      self, weights, num_parts):
    intervals = weights_lib.Intervals(weights)
    ends = list(itertools.accumulate(map(fractions.Fraction, weights)))
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
          weight / fractions.Fraction(weights[i]),
          fractions.Fraction(each[i].overlap(index),
                    each[i].weight * num_parts))

  @hypothesis.given(weights=_WEIGHTS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_head_is_an_interval_ahead_of_the_rest(
      self, weights, num_parts, data):
    head = data.draw(st.sampled_from([weights[0] / 3, 1, .1, 10**7]))
    intervals = weights_lib.Intervals(weights, head)
    whole = weights_lib.Intervals([head] + weights)
    for index in range(num_parts):
      expected = dict(whole.part(index, num_parts)[1])
      of_head = expected.pop(0, 0)
      self.assertEqual((of_head, tuple(
          (i - 1, fraction / (1 - of_head))
          for i, fraction in expected.items())),
                       intervals.part(index, num_parts))

  @hypothesis.given(weights=_WEIGHTS, scale=st.fractions(
      fractions.Fraction(1, 100), 100))
  def test_only_ratios_count(self, weights, scale):
    scaled = [fractions.Fraction(weight) * scale for weight in weights]
    self.assertEqual(weights_lib.Intervals(weights).starts,
                     weights_lib.Intervals(scaled).starts)

  @hypothesis.given(weights=_WEIGHTS, num_parts=_NUM_PARTS, data=st.data())
  def test_a_hash_picks_a_point_of_the_interval(self, weights, num_parts, data):
    i = data.draw(st.integers(0, len(weights) - 1))
    interval = weights_lib.Intervals(weights).interval(i, num_parts)
    largest = 2**weights_lib.HASH_BITS - 1
    self.assertEqual(interval.parts[0], interval.part_of_hash(0))
    name_hash = data.draw(st.integers(0, largest))
    self.assertIn(interval.part_of_hash(name_hash), interval.parts)
    point = fractions.Fraction(name_hash, largest + 1) * interval.weight
    self.assertEqual((interval.start + point) // fractions.Fraction(
        interval.total, num_parts), interval.part_of_hash(name_hash))
    # Unless the end is on a cut by less than a step of the hash.
    if num_parts * interval.total < 2**200:
      self.assertEqual(interval.parts[-1], interval.part_of_hash(largest))


if __name__ == "__main__":
  absltest.main()
