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
  return names, [iteration.Planned(str(i), tuple(found), None)
                 for i, found in enumerate(members)]


def _connected(names, planned, one):
  """Returns the builders that ensembles join to one, found by walking."""
  found = {one}
  for _ in names:
    for ensemble in planned:
      if found & set(ensemble.builder_names):
        found |= set(ensemble.builder_names)
  return found


class PartsTest(absltest.TestCase):

  @hypothesis.given(_iterations())
  def test_divides_as_far_as_ensembles_allow(self, drawn):
    names, planned = drawn
    found = parts.divide(names, planned)
    self.assertCountEqual(names, itertools.chain(*found))
    for part in found:
      self.assertEqual(tuple(n for n in names if n in part), part)
      self.assertEqual(_connected(names, planned, part[0]), set(part))
    self.assertEqual([part[0] for part in found],
                     sorted(part[0] for part in found))

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
    given = parts.divide(names, planned)
    costs = dict(zip(_NAMES, costs))
    found = parts.longest_first(given, seconds, costs)
    self.assertCountEqual(given, found)
    known = seconds if set(names) <= set(seconds) else costs
    durations = [sum(known[n] or 0. for n in part) for part in found]
    self.assertEqual(sorted(durations, reverse=True), durations)
    for one, other in zip(found, found[1:]):  # Else as in the iteration.
      if sum(known[n] or 0. for n in one) == sum(known[n] or 0. for n in other):
        self.assertLess(given.index(one), given.index(other))

  @hypothesis.given(
      _iterations(), st.lists(st.none() | st.integers(0, 9),
                              min_size=len(_NAMES), max_size=len(_NAMES)),
      st.integers(1, 4))
  def test_deal(self, drawn, costs, num_tasks):
    names, planned = drawn
    given = parts.divide(names, planned)
    costs = dict(zip(names, costs))
    tasks = list(range(num_tasks))
    found = parts.assign_longest_first(given, costs, tasks)
    self.assertCountEqual(names, itertools.chain(*found.values()))
    self.assertLen(found, min(num_tasks, len(given)))
    self.assertIn(0, found)
    for part in given:
      self.assertLen([s for s in found.values() if set(s) & set(part)], 1)
    for share in found.values():
      order = [name for part in given for name in part if name in share]
      self.assertEqual(tuple(order), share)
    if None in costs.values():
      costs = dict.fromkeys(costs, 1)
    loads = [sum(costs[name] for name in share) for share in found.values()]
    longest = max(sum(costs[name] for name in part) for part in given)
    self.assertLessEqual(max(loads) - min(loads), longest)


if __name__ == "__main__":
  absltest.main()
