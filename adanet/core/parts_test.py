# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the parts of an iteration."""

import itertools

from absl.testing import absltest
from adanet.core import iteration
from adanet.core import parts
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_NAMES = tuple("abcdefgh")


@st.composite
def _iterations(draw):
  """Draws the names of builders, and the planned ensembles of some of them."""
  names = _NAMES[:draw(st.integers(1, len(_NAMES)))]
  members = draw(st.lists(st.lists(
      st.sampled_from(names), unique=True, max_size=3), max_size=6))
  return names, [iteration.Planned(str(i), tuple(group), None)
                 for i, group in enumerate(members)]


def _connected(names, planned, name):
  """Returns the builders that ensembles join to `name`, found by walking."""
  connected = {name}
  for _ in names:
    for ensemble in planned:
      if connected & set(ensemble.builder_names):
        connected |= set(ensemble.builder_names)
  return connected


class PartsTest(absltest.TestCase):

  @hypothesis.given(_iterations())
  def test_divides_as_far_as_ensembles_allow(self, drawn):
    names, planned = drawn
    division = parts.divide(names, planned)
    self.assertCountEqual(names, itertools.chain(*division))
    for part in division:
      self.assertEqual(tuple(n for n in names if n in part), part)
      self.assertEqual(_connected(names, planned, part[0]), set(part))
    self.assertEqual([part[0] for part in division],
                     sorted(part[0] for part in division))

  @hypothesis.given(_iterations(), st.randoms())
  def test_order_of_ensembles_does_not_matter(self, drawn, random):
    names, planned = drawn
    expected = parts.divide(names, planned)
    random.shuffle(planned)
    self.assertEqual(expected, parts.divide(names, planned))

  @hypothesis.given(
      _iterations(), st.dictionaries(st.sampled_from(_NAMES), st.floats(0, 9)),
      st.lists(st.none() | st.floats(0, 9), min_size=len(_NAMES),
               max_size=len(_NAMES)))
  def test_longest_first(self, drawn, seconds, costs):
    names, planned = drawn
    division = parts.divide(names, planned)
    costs = dict(zip(_NAMES, costs))
    sorted_parts = parts.longest_first(division, seconds, costs)
    self.assertCountEqual(division, sorted_parts)
    known = seconds if set(names) <= set(seconds) else costs
    durations = [sum(known[n] or 0. for n in part) for part in sorted_parts]
    self.assertEqual(sorted(durations, reverse=True), durations)
    # Parts of equal duration stay as in the iteration.
    for part, other in zip(sorted_parts, sorted_parts[1:]):
      if (sum(known[n] or 0. for n in part) ==
          sum(known[n] or 0. for n in other)):
        self.assertLess(division.index(part), division.index(other))

  @hypothesis.given(
      _iterations(), st.lists(st.none() | st.integers(0, 9),
                              min_size=len(_NAMES), max_size=len(_NAMES)),
      st.integers(1, 4))
  def test_deal(self, drawn, costs, num_tasks):
    names, planned = drawn
    division = parts.divide(names, planned)
    costs = dict(zip(names, costs))
    tasks = list(range(num_tasks))
    shares = parts.assign_longest_first(division, costs, tasks)
    self.assertCountEqual(names, itertools.chain(*shares.values()))
    self.assertLen(shares, min(num_tasks, len(division)))
    self.assertIn(0, shares)
    for part in division:
      self.assertLen([s for s in shares.values() if set(s) & set(part)], 1)
    for share in shares.values():
      order = [name for part in division for name in part if name in share]
      self.assertEqual(tuple(order), share)
    if None in costs.values():
      costs = dict.fromkeys(costs, 1)
    loads = [sum(costs[name] for name in share) for share in shares.values()]
    longest = max(sum(costs[name] for name in part) for part in division)
    self.assertLessEqual(max(loads) - min(loads), longest)


if __name__ == "__main__":
  absltest.main()
