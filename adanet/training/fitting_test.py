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
from adanet import heads
from adanet import tf_compat
from adanet.core import architecture
from adanet.training import fitting
from adanet.training import recorded_logits
from adanet.training import trained
import numpy as np

v1 = tf_compat.v1
_LABELS = np.float32([[1.], [3.]])
_TARGETS = np.float32([[1.], [2.], [4.]])
_LOGITS = np.float32([[1.], [4.], [1.]])  # Squared errors: 0, 4 and 9.
_WEIGHTS = np.float32([[1.], [.5], [2.]])
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
            {head: _logits(number) for head, number in value.items()}
            if isinstance(value, dict) else _logits(value), 1.)
        for name, value in values.items()}
    candidates = trained.Candidates(
        1, None, {name: architecture.Architecture(
            name, ensembler.name, tuple(members), (0, 2)) for name in names},
        fitted=tuple(names), not_finite=dict.fromkeys(not_finite, "w"))
    setup = mock.Mock(search=types.SimpleNamespace(ensemblers=[ensembler]))
    setup.not_finite_of_evaluator.return_value = " The input has NaN."
    loss = mock.Mock(side_effect=_loss)
    with mock.patch.object(fitting, "HeadLoss", return_value=loss):
      return fitting.fit(setup, candidates, recorded_logits.RecordedLogits(
          {**recorded, **members}, {}, ()))

  def test_one_with_the_weight_0_is_no_member(self):
    fixed = _Fixed([.5, 0., .25])
    fitted = self._fit(fixed, {"p": 1., "a": 2.5, "b": 4.}, previous=["p"])
    self.assertEqual(["all"], list(fitted))
    fitted_all = fitted["all"]
    self.assertEqual(((0, "p"), (1, "b")), fitted_all.architecture.subnetworks)
    self.assertEqual(("all", "fixed", (0, 2)), (
        fitted_all.architecture.ensemble_candidate_name,
        fitted_all.architecture.ensembler_name,
        fitted_all.architecture.replay_indices))
    self.assertEqual({"t0_p": .5, "t1_b": .25}, fitted_all.fit.members)
    self.assertEqual((.5, .25), fitted_all.weights)
    # The logits are .5 * 1 + .25 * 4.
    self.assertAlmostEqual(_loss(_logits(1.5)), fitted_all.fit.loss, places=6)
    self.assertEqual((3, "t1_a", _loss(_logits(2.5))), (
        fitted_all.fit.num_networks, fitted_all.fit.best_network,
        fitted_all.fit.best_loss))
    self.assertEqual(
        {"t0_p": _loss(_logits(1.)), "t1_a": _loss(_logits(2.5)),
         "t1_b": _loss(_logits(4.))}, fitted_all.network_losses)
    self.assertLen(fixed.members, 3)

  def test_heads(self):
    fitted_all = self._fit(_Fixed([.5, .5]), {
        "a": {"x": 0., "y": 1.}, "b": {"x": 2., "y": 5.}})["all"]
    self.assertAlmostEqual(
        _loss({"x": _logits(1.), "y": _logits(3.)}), fitted_all.fit.loss,
        places=6)

  @parameterized.named_parameters(
      ("logits", {"a": math.nan, "b": 2.}, []),
      ("loss", {"a": _NO_LOSS, "b": 2.}, []),
      ("variables", {"a": 2., "b": 3.}, ["t1_a"]),
      ("one_head", {"a": {"x": 1., "y": math.inf}, "b": {"x": 1., "y": 1.}},
       []))
  def test_network_that_is_not_finite(self, values, not_finite):
    with self.assertLogs(level="WARNING") as logs:
      fitted_all = self._fit(_Fixed([1.]), values, not_finite=not_finite)["all"]
    self.assertEqual({"t1_b": 1.}, fitted_all.fit.members)
    self.assertEqual(2, fitted_all.fit.num_networks)
    self.assertIn(
        "Iteration 1: fitted ensembles cannot have t1_a: variables, logits or "
        "the loss are not finite. The input has NaN.", logs.output[0])

  def test_previous_ensemble_is_no_network(self):
    with mock.patch.object(fitting.logging, "warning") as warning:
      fitted_all = self._fit(_Fixed([1.]), {"b": 2.}, recorded={
          recorded_logits.PREVIOUS_ENSEMBLE: ensemble.Member(
              _logits(math.nan), 0.)})["all"]
    warning.assert_not_called()
    self.assertEqual(["t1_b"], list(fitted_all.network_losses))

  def test_no_network_is_left(self):
    self.assertEmpty(self._fit(_Fixed([1.]), {"a": math.nan}))

  @parameterized.parameters(
      ([1., 2.],), ([1., 2., math.nan],), ([0., 0., 0.],), (None,))
  def test_weights(self, weights):
    with self.assertRaisesRegex(
        ValueError, "ensemble 'all': fit of the ensembler 'fixed' returned .*: "
        "expected a finite number for each of the 3 members, not all of them 0"
    ) as raised:
      self._fit(_Fixed(weights), {"a": 1., "b": 2., "c": 3.})
    self.assertNotIn("\n", str(raised.exception))


class IsFiniteTest(parameterized.TestCase):

  @parameterized.parameters(
      ([[1.], [-2.]], True), ([[1.], [np.nan]], False), ([[-np.inf]], False),
      ({"a": [[1.]], "b": [[2.]]}, True),
      ({"a": [[1.]], "b": [[2., np.inf]]}, False),
      ({"a": [[np.nan]], "b": [[2.]]}, False))
  def test_is_finite(self, logits, expected):
    logits = ({head: np.float32(array) for head, array in logits.items()}
              if isinstance(logits, dict) else np.float32(logits))
    self.assertEqual(expected, fitting.is_finite(logits))


class HeadLossTest(parameterized.TestCase):

  def _loss(self, head, like, inputs):
    loss = fitting.HeadLoss(
        types.SimpleNamespace(
            search=types.SimpleNamespace(head=head),
            config=types.SimpleNamespace(session_config=None)), like, inputs)
    self.addCleanup(loss.close)
    return loss

  def test_of_all_examples(self):
    loss = self._loss(
        heads.RegressionHead(), _LOGITS, {("labels",): _TARGETS})
    self.assertAlmostEqual(13. / 3., loss(_LOGITS), places=6)
    self.assertIs(float, type(loss(_LOGITS)))
    # The same function for other logits, and for those again.
    self.assertEqual(0., loss(_TARGETS))
    self.assertAlmostEqual(13. / 3., loss(_LOGITS), places=6)

  def test_of_several_heads(self):
    head = heads.MultiHead([
        heads.RegressionHead(name="a", weight_column="w"),
        heads.RegressionHead(label_dimension=2, name="b")],
                           head_weights=[1., 10.])
    like = {"b": np.float32([[0., 0.]]), "a": np.float32([[0.]])}
    loss = self._loss(head, like, {
        ("labels", "a"): _TARGETS,
        ("labels", "b"): np.zeros([3, 2], np.float32),
        ("features", "w"): _WEIGHTS})
    # Six values of b; their squares sum up to 3. Each is taken by its name.
    b = np.float32([[1., 0.], [0., 1.], [-1., 0.]])
    self.assertAlmostEqual(
        20. / 3. + 10. * 3. / 6., loss({"a": _LOGITS, "b": b}), places=5)
    self.assertAlmostEqual(
        20. / 3. + 10. * 3. / 6., loss({"b": b, "a": _LOGITS}), places=5)

  def test_features_in_dicts(self):
    def create_estimator_spec(features, logits, labels, **unused):
      self.assertIsNone(labels)
      return types.SimpleNamespace(loss=v1.reduce_sum(
          logits * features["a"]["b"] + features["a"]["c"]))

    loss = self._loss(
        types.SimpleNamespace(logits_dimension=1,
                              create_estimator_spec=create_estimator_spec),
        _LOGITS, {("features", "a", "b"): _TARGETS,
                  ("features", "a", "c"): _WEIGHTS})
    self.assertAlmostEqual(1. + 8. + 4. + 3.5, loss(_LOGITS), places=5)

  def test_features_that_are_one_tensor(self):
    def create_estimator_spec(features, logits, labels, **unused):
      return types.SimpleNamespace(
          loss=v1.reduce_sum(logits * features + labels))

    loss = self._loss(
        types.SimpleNamespace(logits_dimension=1,
                              create_estimator_spec=create_estimator_spec),
        _LOGITS, {("features",): _WEIGHTS, ("labels",): _TARGETS})
    self.assertAlmostEqual(1. + 2. + 2. + 7., loss(_LOGITS), places=5)


if __name__ == "__main__":
  absltest.main()
