# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is fitted to recorded logits, with a loss of numpy.

`adanet/estimator:fitted_test` has whole searches.
"""

import math
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet.core import architecture
from adanet.training import fitting
from adanet.training import recorded_logits
from adanet.training import trained
import numpy as np

_LABELS = np.float32([[1.], [3.]])
_NO_LOSS = -7.  # The loss of these logits is NaN.


def _loss(logits):
  """Returns a loss that does not show NaN and infinity of its logits."""
  if isinstance(logits, dict):
    return _loss(logits["x"]) + _loss(logits["y"])
  if (logits == _NO_LOSS).all():
    return math.nan
  return float(np.square(
      np.where(np.isfinite(logits), logits, 0.) - _LABELS).mean())


class _Fixed(ensemble.FittedEnsembler):
  """Returns weights that a test gives, and notes the members."""

  name = "fixed"

  def __init__(self, weights):
    self._weights = weights
    self.members = None

  def fit(self, members, loss):
    self.members = members
    return self._weights


def _logits(value):
  return np.full([2, 1], value, np.float32)


class FitTest(parameterized.TestCase):

  def _fit(self, ensembler, values, names=("all",), not_finite=(),
           previous=(), recorded=types.MappingProxyType({})):
    """Fits ensembles of networks; returns what is fitted, by name.

    Args:
      ensembler: `FittedEnsembler`.
      values: dict from a network's name to its logits; a number for all
        examples, or a dict from head to it.
      names: of the ensembles, each of all networks.
      not_finite: the names of networks whose variables have NaN.
      previous: the names of the networks of the iteration before.
      recorded: dict with what is recorded before the networks.
    """
    members = {
        (0 if name in previous else 1, name): ensemble.Member(
            {head: _logits(one) for head, one in value.items()}
            if isinstance(value, dict) else _logits(value), 1.)
        for name, value in values.items()}
    candidates = trained.Candidates(
        1, None, {name: architecture.Architecture(
            name, ensembler.name, tuple(members), (0, 2)) for name in names},
        fitted=tuple(names), not_finite=dict.fromkeys(not_finite, "w"))
    setup = mock.Mock(search=types.SimpleNamespace(ensemblers=[ensembler]))
    setup.not_finite_of_evaluator.return_value = " The input has NaN."
    loss = mock.Mock(side_effect=_loss)
    with mock.patch.object(fitting.head_loss, "HeadLoss", return_value=loss):
      return fitting.fit(setup, candidates, recorded_logits.RecordedLogits(
          {**recorded, **members}, {}, ()))

  def test_one_with_the_weight_0_is_no_member(self):
    fixed = _Fixed([.5, 0., .25])
    fitted = self._fit(fixed, {"p": 1., "a": 2.5, "b": 4.}, previous=["p"])
    self.assertEqual(["all"], list(fitted))
    one = fitted["all"]
    self.assertEqual(((0, "p"), (1, "b")), one.architecture.subnetworks)
    self.assertEqual(("all", "fixed", (0, 2)), (
        one.architecture.ensemble_candidate_name,
        one.architecture.ensembler_name, one.architecture.replay_indices))
    self.assertEqual({"t0_p": .5, "t1_b": .25}, one.fit.members)
    self.assertEqual((.5, .25), one.weights)
    # The logits are .5 * 1 + .25 * 4.
    self.assertAlmostEqual(_loss(_logits(1.5)), one.fit.loss, places=6)
    self.assertEqual((3, "t1_a", _loss(_logits(2.5))), (
        one.fit.num_networks, one.fit.best_network, one.fit.best_loss))
    self.assertEqual(
        {"t0_p": _loss(_logits(1.)), "t1_a": _loss(_logits(2.5)),
         "t1_b": _loss(_logits(4.))}, one.network_losses)
    self.assertLen(fixed.members, 3)

  def test_heads(self):
    one = self._fit(_Fixed([.5, .5]), {"a": {"x": 0., "y": 1.},
                                       "b": {"x": 2., "y": 5.}})["all"]
    self.assertAlmostEqual(
        _loss({"x": _logits(1.), "y": _logits(3.)}), one.fit.loss, places=6)

  def test_several_ensembles(self):
    self.assertEqual(["e", "f"], list(self._fit(
        ensemble.GreedyEnsembler(), {"a": 1., "b": 2.}, ["e", "f"])))

  @parameterized.named_parameters(
      ("logits", {"a": math.nan, "b": 2.}, []),
      ("loss", {"a": _NO_LOSS, "b": 2.}, []),
      ("variables", {"a": 2., "b": 3.}, ["t1_a"]),
      ("one_head", {"a": {"x": 1., "y": math.inf}, "b": {"x": 1., "y": 1.}},
       []))
  def test_network_that_is_not_finite(self, values, not_finite):
    with self.assertLogs(level="WARNING") as logs:
      one = self._fit(_Fixed([1.]), values, not_finite=not_finite)["all"]
    self.assertEqual({"t1_b": 1.}, one.fit.members)
    self.assertEqual(2, one.fit.num_networks)
    self.assertIn(
        "Iteration 1: fitted ensembles cannot have t1_a: variables, logits or "
        "the loss are not finite. The input has NaN.", logs.output[0])

  def test_previous_ensemble_is_no_network(self):
    with mock.patch.object(fitting.logging, "warning") as warning:
      one = self._fit(_Fixed([1.]), {"b": 2.}, recorded={
          recorded_logits.PREVIOUS_ENSEMBLE: ensemble.Member(
              _logits(math.nan), 0.)})["all"]
    warning.assert_not_called()
    self.assertEqual(["t1_b"], list(one.network_losses))

  def test_no_network_is_left(self):
    self.assertEmpty(self._fit(_Fixed([1.]), {"a": math.nan}))

  @parameterized.parameters(
      ([1., 2.],), ([1., 2., math.nan],), ([1., 2., math.inf],),
      ([0., 0., 0.],), (None,), (["a", "b", "c"],))
  def test_weights(self, weights):
    with self.assertRaisesRegex(
        ValueError, "ensemble 'all': fit of the ensembler 'fixed' returned .*: "
        "expected a finite number for each of the 3 members, not all of them 0"
    ) as raised:
      self._fit(_Fixed(weights), {"a": 1., "b": 2., "c": 3.})
    self.assertNotIn("\n", str(raised.exception))


if __name__ == "__main__":
  absltest.main()
