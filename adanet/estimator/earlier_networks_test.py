# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches whose builders do not ask for the previous ensemble.

Their ensembles are fitted, so no network of an earlier iteration is built, and
none runs again. All figures are those of a search that builds them.
"""

import functools
import logging
import os
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.history import store
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_NAMES = ("a", "b")


def _held_out():
  """Is the input_fn of the evaluator."""
  features, labels = builders.data()
  return tf_compat.v1.data.Dataset.from_tensor_slices(
      ({"x": features}, labels)).batch(7)


class _Most(adanet.ensemble.FittedEnsembler):
  """Leaves out the second network."""

  name = "most"

  def fit(self, members, loss):
    weights = [1. / (2 + i) for i in range(len(members))]
    weights[1:2] = [0.] * len(members[1:2])
    return weights


class _Remembering(adanet.subnetwork.Generator):
  """Makes the same builders in each iteration, and notes the reports.

  Attributes:
    seen: dict from iteration to the names and metrics of all reports before.
  """

  def __init__(self, builder_list):
    self._builders = builder_list
    self.seen = {}

  def generate_candidates(self, iteration_number, previous_ensemble_reports,
                          all_reports):
    self.seen[iteration_number] = [
        (report.name, report.metrics) for report in all_reports]
    return self._builders


def _make_builders(kind=builders.Alone):
  return [kind(name, 1 + i) for i, name in enumerate(_NAMES)]


def _estimator(model_dir, builder_list=None, **arguments):
  """Returns a search of three iterations, the winners of which grow."""
  builder_list = builder_list or _make_builders()
  arguments = {
      "evaluator": adanet.Evaluator(_held_out),
      "ensemblers": [_Most()],
      "subnetwork_generator": adanet.subnetwork.SimpleGenerator(builder_list),
      "max_iterations": 3, "force_grow": True,
      "enable_ensemble_summaries": False, "enable_subnetwork_summaries": False,
      **arguments}
  return searches.estimator(model_dir, *builder_list, **arguments)


def _folder():
  return tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())


@functools.lru_cache(maxsize=None)
def _searches(kind):
  """Returns a search of builders of a class, and one that is not complete.

  They have all checkpoints. Nothing may change them.

  Returns:
    An estimator that has trained, the model_dir after two iterations, and the
    reports that the third one has seen.
  """
  model_dir, two = _folder(), os.path.join(_folder(), "two")
  for iterations in (2, 3):
    generator = _Remembering(_make_builders(kind))
    estimator = _estimator(
        model_dir, subnetwork_generator=generator, max_iterations=iterations,
        config=tf_compat.RunConfig(keep_checkpoint_max=None),
        report_materializer=adanet.ReportMaterializer(_held_out))
    estimator.train(builders.input_fn())
    if iterations == 2:
      shutil.copytree(model_dir, two)
  return estimator, two, generator.seen[2]


def _expected():
  """Returns a trained search of builders that ask."""
  return _searches(builders.Dense)[0]


def _predictions(estimator):
  return np.array([
      prediction["predictions"]
      for prediction in estimator.predict(builders.input_fn(1))])


class EarlierNetworksTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = _folder()

  def _after_two_iterations(self, kind=builders.Alone):
    """Returns the model_dir of a search that is not complete."""
    return shutil.copytree(
        _searches(kind)[1], os.path.join(_folder(), "copy"))

  def _trained(self, builder_list=None, model_dir=None, **arguments):
    estimator = _estimator(
        model_dir or self._model_dir, builder_list, **arguments)
    estimator.train(builders.input_fn())
    return estimator

  def _figures(self, model_dir, iterations):
    """Returns what the iterations of a search decided, and by what."""
    records = [store.Store(model_dir).iteration(t) for t in range(iterations)]
    return [(record.winner, record.winning.value, record.winning.weights,
             record.winning.subnetworks, record.fit) for record in records]

  def _assert_same(self, expected, actual, iterations=3):
    """Asserts that two searches have decided and saved the same."""
    self.assertEqual(self._figures(expected.model_dir, iterations),
                     self._figures(actual.model_dir, iterations))
    np.testing.assert_array_equal(_predictions(expected), _predictions(actual))
    for name in expected.get_variable_names():
      np.testing.assert_array_equal(
          expected.get_variable_value(name), actual.get_variable_value(name),
          name)

  def _lines(self, train):
    """Returns the lines that say that the evaluator's data are others."""
    with self.assertLogs(level="INFO") as lines:
      logging.info("begun")
      train()
    return [line for line in lines.output if "gives other data" in line]

  def test_same_as_with_them(self):
    with_them, without = _expected(), _searches(builders.Alone)[0]
    self._assert_same(with_them, without)
    self.assertEqual(with_them.evaluate(_held_out),
                     without.evaluate(_held_out))
    more = set(without.get_variable_names()) - set(
        with_them.get_variable_names())
    # No slot of an optimizer of an earlier iteration is kept.
    self.assertEmpty([name for name in more if "candidate_" not in name])

  def test_resumed(self):
    results = []
    for kind in (builders.Dense, builders.Alone):
      arguments = {"model_dir": self._after_two_iterations(kind),
                   "config": tf_compat.RunConfig(keep_checkpoint_max=1)}
      _estimator(builder_list=_make_builders(kind), **arguments).train(
          builders.input_fn(), max_steps=10)
      # Nothing is decided: it is fitted to what there is.
      middle = _estimator(
          builder_list=_make_builders(kind), **arguments).evaluate(_held_out)
      results.append((middle, self._trained(_make_builders(kind), **arguments)))
    (expected, with_them), (middle, without) = results
    self.assertEqual(expected, middle)
    self._assert_same(with_them, without)

  def test_reports_have_the_previous_ensemble(self):
    reports = _searches(builders.Alone)[2]
    self.assertEqual(_searches(builders.Dense)[2], reports)
    self.assertIn("previous_ensemble", [name for name, _ in reports])

  @parameterized.parameters(
      (builders.Alone, builders.Alone), (builders.Alone, builders.Dense),
      (builders.Dense, builders.Alone))
  def test_goes_on(self, before, after):
    """A search may ask later on: all that it needs is saved."""
    builder_list = _make_builders(after)
    model_dir = self._after_two_iterations(before)
    estimators = []
    lines = self._lines(lambda: estimators.append(
        self._trained(builder_list, model_dir)))
    if before is after:  # Logits that were recorded are not recorded again.
      self.assertEmpty(lines)
      # To train, and to record.
      self.assertEqual([["build", "train", "build"]] * len(_NAMES),
                       [builder.calls for builder in builder_list])
      # An evaluation builds all members.
      for builder in builder_list:
        builder.calls.clear()
      estimators[0].evaluate(_held_out)
      members = store.Store(model_dir).iteration(2).winning.subnetworks
      self.assertIn("t0", [name[:2] for name in members])
      self.assertEqual(["build"] * len(members), sum(
          [builder.calls for builder in builder_list], []))
    self._assert_same(_expected(), estimators[0])


if __name__ == "__main__":
  absltest.main()
