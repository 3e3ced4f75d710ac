# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is read of candidates, with checkpoints that are dicts."""

import math
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import evaluator as evaluator_lib
from adanet.training import candidates


def _variable(name):
  return types.SimpleNamespace(op=types.SimpleNamespace(name=name))


def _ensemble(name):
  return types.SimpleNamespace(
      name=name, step=_variable(name + "/step"), variables=[name + "/w"],
      average=types.SimpleNamespace(value=_variable(name + "/average")))


def _iteration(previous=None):
  """Returns an iteration with two new ensembles, e and f, and a fitted one."""
  new = (_ensemble("e"), _ensemble("f"))
  before = _ensemble(previous) if previous else None
  return types.SimpleNamespace(
      number=2, architectures={"e": "of e", "f": "of f", "g": "of g"},
      candidates=((before,) if before else ()) + new, new_candidates=new,
      previous=before, has_previous=before is not None,
      fitted=(types.SimpleNamespace(name="g"),),
      subnetworks=(types.SimpleNamespace(name="t2_a", variables=["a/w"]),))


class _Own(evaluator_lib.ReportMaterializer):

  def materialize_subnetwork_reports(self, *args):
    return []


class _Objective(evaluator_lib.Evaluator):
  objective_fn = max


class NeedsAllTest(parameterized.TestCase):

  @parameterized.parameters(
      (None, False), (evaluator_lib.Evaluator(len), False),
      (evaluator_lib.ReportMaterializer(len), False), (_Objective(len), False),
      (_Own(len), True), (object(), True))
  def test_needs_all(self, asked, expected):
    self.assertEqual(expected, candidates.needs_all(asked))


class OfIterationTest(parameterized.TestCase):

  def _read(self, iteration, steps, not_finite=()):
    """Returns the candidates at a checkpoint.

    Args:
      iteration: `Iteration`.
      steps: dict from a new ensemble's name to its step.
      not_finite: the names of variables with NaN.
    """
    values = {"e/average": .25, "f/average": .5, "p/average": .75,
              **{name + "/step": step for name, step in steps.items()}}

    def first_not_finite(checkpoint, names):
      self.assertEqual("model.ckpt-8", checkpoint)
      return next((name for name in names if name in not_finite), None)

    with mock.patch.multiple(
        candidates.checkpoints, not_finite=first_not_finite,
        values=lambda checkpoint, names: {n: values[n] for n in names}):
      return candidates.of_iteration(iteration, "model.ckpt-8")

  @parameterized.parameters(
      (None, {"e": 3, "f": 1}, {"e": .25, "f": .5}),
      (None, {"e": 3, "f": 0}, {"e": .25, "f": math.inf}),
      # What won before has trained, although it has no step here.
      ("p", {"e": 0, "f": 1}, {"p": .75, "e": math.inf, "f": .5}))
  def test_averages(self, previous, steps, expected):
    actual = self._read(_iteration(previous), steps)
    self.assertEqual(expected, actual.averages)
    self.assertEqual(list(expected), list(actual.averages))
    self.assertEqual((2, previous, ("g",)),
                     (actual.number, actual.previous, actual.fitted))
    self.assertEqual(["e", "f", "g"], list(actual.architectures))

  @parameterized.parameters(
      ([], {}),
      (["a/w", "f/w"], {"t2_a": "a/w", "f": "f/w"}),
      # Of an earlier iteration, which does not change any more.
      (["p/w"], {}))
  def test_not_finite(self, names, expected):
    self.assertEqual(expected, self._read(
        _iteration("p"), {"e": 1, "f": 1}, names).not_finite)

  def test_initial_values(self):
    actual = candidates.of_iteration(_iteration("p"), None)
    self.assertEqual({"p": 0., "e": 0., "f": 0.}, actual.averages)
    self.assertEmpty(actual.not_finite)


class ReportsTest(parameterized.TestCase):

  @parameterized.parameters(
      ([], ""),
      ([[("b", 1)], [("a", 2)]], "a2 b1"),
      # What several parts have is that of the first one.
      ([[("b", 1), ("previous_ensemble", 3)],
        [("a", 2), ("previous_ensemble", 4)]], "previous_ensemble3 a2 b1"),
      # A builder of another iteration is left out.
      ([[("c", 1), ("a", 2)]], "a2"))
  def test_merged(self, parts, expected):
    reports = candidates.merged_reports(
        [[types.SimpleNamespace(name=name, value=value) for name, value in part]
         for part in parts], ["a", "b"])
    self.assertEqual(expected, " ".join(
        f"{report.name}{report.value}" for report in reports))


class ValuesTest(parameterized.TestCase):

  def test_what_an_evaluator_returns_is_checked(self):
    evaluator = mock.MagicMock()
    evaluator.evaluate.return_value = [1., 2., 3.]
    setup = mock.MagicMock()
    setup.rules.evaluator = evaluator
    setup.search.ensemblers = [object()]
    setup.session().__enter__.return_value = None, None
    setup.graph().__enter__.return_value.iteration.candidates = [
        types.SimpleNamespace(name=name, metrics={}, adanet_loss_metric=str)
        for name in "ef"]
    with self.assertRaisesRegex(
        ValueError, r"returned \[1.0, 2.0, 3.0\]: expected one value for each "
        "of the 2 candidates"):
      candidates.values(setup, 0, None)
    evaluator.evaluate.return_value = [1, 2]
    self.assertEqual({"e": 1., "f": 2.}, candidates.values(setup, 0, None))

  @parameterized.parameters(
      (("loss", .5), ("loss", .50001), True), (("loss", .5), ("auc", .5), False),
      (("loss", .5), ("loss", .51), False), (("loss", 0.), ("loss", 0.), True),
      (("loss", math.nan), ("loss", math.nan), True),
      (("loss", math.nan), ("loss", 1.), False),
      (("loss", .5), ("", None), True))
  def test_may_be_compared(self, first, second, expected):
    of_first, of_second = (
        candidates.Comparison({}, *arguments) for arguments in (first, second))
    self.assertEqual(expected, of_first.may_be_compared_with(of_second))


if __name__ == "__main__":
  absltest.main()
