# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that each held-out example counts once, however batches are cut."""

import re

from absl.testing import absltest
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

v1 = tf_compat.v1

_ROWS = 129
# One network is right on all examples but the last one, the other never knows.
_BOLD, _CALM = 5., 0.
_LOSS = {"bold": np.mean(np.log1p(np.exp(-5. * np.array(
    [1.] * (_ROWS - 1) + [-1.])))), "calm": np.log(2.)}


def _input_fn(size, order=slice(None)):
  """Returns an input_fn of all examples once, in batches of a size."""
  x = np.float32([[1.]] * (_ROWS - 1) + [[-1.]])[order]
  return adanet.inputs.numpy_input_fn(
      {"x": x}, np.ones([_ROWS, 1], np.float32), batch_size=size, num_epochs=1,
      shuffle=False)


class _Fixed(builders.Dense):
  """A network whose logits are the feature times a number."""

  def __init__(self, name, factor):
    super().__init__(name)
    self._factor = factor

  def build_subnetwork(self, features, *args, **kwargs):
    factor = v1.get_variable("factor", initializer=self._factor)
    logits = features["x"] * factor
    return super().build_subnetwork(features, *args, **kwargs)._replace(
        logits=logits, last_layer=logits)

  def build_subnetwork_train_op(self, *args, **kwargs):
    return v1.no_op()

  def build_subnetwork_report(self):
    return adanet.subnetwork.Report(hparams={}, attributes={}, metrics={})


class _Telling(adanet.subnetwork.Generator):
  """Makes the same builders in each iteration, and notes the reports.

  Attributes:
    reports: dict from the iteration and a builder's name to its metrics.
  """

  def __init__(self, *made):
    self._made = made
    self.reports = {}

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    self.reports = {(report.iteration_number, report.name): report.metrics
                    for report in all_reports}
    return list(self._made)


@level.gate
class HeldOutTest(absltest.TestCase):

  def _search(self, size, order=slice(None), **kwargs):
    """Returns an estimator that has searched, and its log."""
    arguments = dict(
        head=adanet.heads.BinaryClassHead(), max_iterations=1,
        max_iteration_steps=1,
        evaluator=adanet.Evaluator(_input_fn(size, order)))
    arguments.update(kwargs)
    estimator = searches.estimator(
        self.create_tempdir().full_path, _Fixed("calm", _CALM),
        _Fixed("bold", _BOLD), **arguments)
    with self.assertLogs(level="INFO") as logged:
      estimator.train(_input_fn(_ROWS))
    return estimator, "\n".join(logged.output)

  def test_winner_and_figures(self):
    estimator, log = self._search(128, ensemblers=[
        adanet.ensemble.ComplexityRegularizedEnsembler(),
        adanet.ensemble.GreedyEnsembler(max_members=1)])
    (iteration,) = adanet.report(estimator.model_dir).iterations
    self.assertStartsWith(iteration.winner, "t0_bold_grow")
    values = {c.name: c.value for c in iteration.candidates}
    for name, loss in _LOSS.items():
      for ensembler in "complexity_regularized", "greedy":
        self.assertAlmostEqual(
            loss, values[f"t0_{name}_grow_{ensembler}"], places=5)
    # What is said at the end, and what is evaluated on the same data, agree.
    said = float(re.search(r" won with adanet_loss ([\d.]+\d)", log).group(1))
    metrics = estimator.evaluate(_input_fn(128))
    for loss in said, metrics["loss"], metrics["average_loss"]:
      self.assertAlmostEqual(_LOSS["bold"], loss, places=5)

  def test_evaluations_reports_and_order(self):
    generator = _Telling(_Fixed("calm", _CALM), _Fixed("bold", _BOLD))
    backwards = slice(None, None, -1)
    estimator, _ = self._search(
        64, order=backwards, subnetwork_generator=generator, max_iterations=2,
        ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
            adanet_lambda=.1)],
        report_materializer=adanet.ReportMaterializer(_input_fn(128)))
    for t, iteration in enumerate(
        adanet.report(estimator.model_dir).iterations):
      for name, loss in _LOSS.items():
        metrics = generator.reports[0, name]
        self.assertAlmostEqual(loss, metrics["loss"], places=5)
        # Its complexity counts once: .1 for its weight of 1, times 2.
        self.assertAlmostEqual(loss + .2, metrics["adanet_loss"], places=5)
        if not t:
          values = {c.name: c.value for c in iteration.candidates}
          self.assertAlmostEqual(
              loss + .2, values[f"t0_{name}_grow_complexity_regularized"],
              places=5)
    figures = [estimator.evaluate(_input_fn(size, order))
               for size, order in (
                   (129, slice(None)), (128, backwards), (1, slice(None)))]
    for found in figures:
      for key, value in figures[0].items():
        if isinstance(value, np.floating):
          self.assertAlmostEqual(value, found[key], places=5, msg=key)


if __name__ == "__main__":
  absltest.main()
