# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for selection, against a reference that is written plainly."""

import functools
import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.ensemble import selection
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np


@st.composite
def _problems(draw, max_networks=6):
  """Draws logits of some networks, labels of the examples, and prices."""
  rng = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
  num_examples, num_classes = draw(st.integers(1, 12)), draw(st.integers(2, 4))
  count = draw(st.integers(1, max_networks))
  labels = rng.randint(num_classes, size=num_examples)
  scale = draw(st.sampled_from([.1, 1., 10.]))
  logits = [rng.normal(size=(num_examples, num_classes), scale=scale).astype(
      np.float32) for _ in range(count)]
  prices = draw(st.sampled_from([
      [0.] * count, rng.uniform(0, .1, count).tolist()]))
  return logits, labels, prices


def _loss_of(labels):
  """Returns the mean cross entropy as a function of logits."""
  def loss(logits):
    shifted = np.asarray(logits, np.float64)
    shifted = shifted - shifted.max(axis=1, keepdims=True)
    of_label = shifted[np.arange(len(labels)), labels]
    return float((np.log(np.exp(shifted).sum(axis=1)) - of_label).mean())
  return loss


def _losses_of(labels):
  """Returns `_loss_of` for an iterator of logits."""
  return functools.partial(map, _loss_of(labels))


def _reference(logits, loss, prices, max_selections, max_members):
  """Returns the weights that the rule of the module's docstring gives."""
  def objective(bag):
    mean = sum(logits[i] for i in bag) / len(bag)
    return loss(mean) + sum(prices[i] for i in bag) / len(bag)

  bag, selections = [], []
  for _ in range(max_selections + 1):
    allowed = range(len(logits))
    if max_members is not None and len(set(bag)) == max_members:
      allowed = sorted(set(bag))
    values = [objective(bag + [i]) for i in allowed]
    bag = bag + [allowed[values.index(min(values))]]
    selections.append((min(values), len(bag), bag))
  _, size, bag = min(selections)
  return [bag.count(i) / size for i in range(len(logits))]


class SelectionTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(20, 100))
  @hypothesis.given(_problems(), st.integers(1, 10),
                    st.one_of(st.none(), st.integers(1, 4)))
  def test_is_the_reference(self, problem, max_selections, max_members):
    logits, labels, prices = problem
    loss = _loss_of(labels)
    selected = selection.select(
        logits, _losses_of(labels), prices, max_selections, max_members)
    values = sorted(pick.objective for pick in selected.picks)
    # Rounding may decide between two ways that are as good.
    hypothesis.assume(len(values) < 2 or values[1] - values[0] > 1e-6)
    self.assertEqual(
        _reference(logits, loss, prices, max_selections, max_members),
        list(selected.weights))
    # The objective is F of the weights.
    mean = sum(np.float32(w) * array
               for w, array in zip(selected.weights, logits))
    self.assertAlmostEqual(
        loss(mean) + sum(w * p for w, p in zip(selected.weights, prices)),
        selected.objective, delta=1e-4 * (1 + abs(selected.objective)))

  def test_of_equal_ones_the_first(self):
    same = np.ones([3, 2], np.float32)
    selected = selection.select(
        [same, same], _losses_of([0, 1, 1]), [0., 0.], 3)
    self.assertEqual((1., 0.), selected.weights)

  def test_trace(self):
    # The mean of both is right; each alone is wrong for one example.
    logits = [np.float32([[3, 0], [1, 0]]), np.float32([[0, 1], [0, 3]])]
    selected = selection.select(logits, _losses_of([0, 1]), [0., 0.], 3)
    self.assertEqual([0, 1, 0, 1], [pick.network for pick in selected.picks])
    self.assertEqual((.5, .5), selected.weights)
    self.assertEqual(selected.picks[1].objective, selected.objective)

  def test_stopped(self):
    logits = [np.float32([[3, 0], [1, 0]]), np.float32([[0, 1], [0, 3]])]
    for count in range(1, 4):
      answers = iter([False] * (count - 1) + [True])
      selected = selection.select(
          logits, _losses_of([0, 1]), [0., 0.],
          is_stopped=lambda: next(answers))
      self.assertLen(selected.picks, count)

  def test_heads(self):
    rng = np.random.RandomState(1)
    arrays = [rng.normal(size=(8, 3)).astype(np.float32) for _ in range(4)]
    labels = rng.randint(3, size=8)
    loss = _loss_of(labels)
    expected = selection.select(arrays, _losses_of(labels), [0.] * 4)
    actual = selection.select(
        [{"a": array, "b": 2 * array} for array in arrays],
        functools.partial(map, lambda logits: (
            loss(logits["a"]) + 0 * loss(logits["b"]))), [0.] * 4)
    self.assertEqual(expected.weights, actual.weights)

  @parameterized.parameters(math.nan, math.inf)
  def test_what_is_not_finite_is_not_selected(self, bad):
    good = np.float32([[0, 1]])
    selected = selection.select(
        [np.float32([[bad, 1]]), good], _losses_of([1]), [0., 0.], 2)
    self.assertEqual((0., 1.), selected.weights)
    with self.assertRaisesRegex(ValueError, "for at least one of the 1 netw"):
      selection.select([np.float32([[bad, bad]])], _losses_of([1]), [0.], 2)

  def test_no_network(self):
    with self.assertRaisesRegex(ValueError, r"logits=\[\]: expected"):
      selection.select([], _losses_of([1]), [])

  def test_ties(self):
    """The first network wins, or the one of the least further numbers."""
    logits = [np.zeros([2, 2], np.float32)] * 3
    for tie_breakers, expected in (((3., 1., 2.), (0., 1., 0.)),
                                   ((1., 1., 2.), (1., 0., 0.))):
      selected = selection.select(
          logits, lambda _, ties=tie_breakers: zip([.5] * 3, ties), [0.] * 3, 0)
      self.assertEqual(expected, selected.weights)
      self.assertEqual(.5, selected.objective)


if __name__ == "__main__":
  absltest.main()
