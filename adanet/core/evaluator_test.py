# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation of ensembles and reports."""

import itertools
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import evaluator as evaluator_lib
from adanet.core import user_input
from adanet.subnetwork import report as report_lib
import numpy as np

_BATCHES = [1., 2., 6.]


def _input_fn():
  tf = tf_compat.v1
  dataset = tf.data.Dataset.from_tensor_slices(_BATCHES)
  return tf.data.make_one_shot_iterator(dataset).get_next()


class EvaluatorTest(parameterized.TestCase):

  def _evaluate(self, evaluator, make_metrics):
    tf = tf_compat.v1
    with tf.Graph().as_default(), tf.Session() as session:
      metrics = make_metrics(evaluator.input_fn())
      session.run(tf.global_variables_initializer())
      return evaluator.evaluate(session, metrics)

  @parameterized.parameters((None, 3.), (2, 1.5), (5, 3.))
  def test_mean_over_batches(self, steps, expected):
    evaluator = evaluator_lib.Evaluator(_input_fn, steps=steps)
    np.testing.assert_allclose(
        [expected, 2 * expected],
        self._evaluate(evaluator, lambda batch: [
            {"adanet_loss": tf_compat.v1.metrics.mean(factor * batch)}
            for factor in (1., 2.)]))

  def test_named_metric(self):
    evaluator = evaluator_lib.Evaluator(_input_fn, "square")
    tf = tf_compat.v1
    np.testing.assert_allclose(
        [41 / 3.],
        self._evaluate(evaluator, lambda batch: [{
            "adanet_loss": tf.metrics.mean(batch),
            "square": tf.metrics.mean(tf.square(batch))}]))

  @parameterized.parameters(
      (0, user_input.EmptyInputError, "the input has no batch"),
      (evaluator_lib.ENDLESS, ValueError,
       "steps=None, and the input has no end"),
      (2**41, ValueError, "steps=None, and the input has no end: say how many"))
  def test_bad_input(self, cardinality, error, message):
    tf = tf_compat.v1

    def metrics():
      tf.add_to_collection(
          evaluator_lib.INPUT_CARDINALITY, tf.constant(cardinality, tf.int64))
      batch = tf.data.make_one_shot_iterator(
          tf.data.Dataset.range(0)).get_next()
      return {"adanet_loss": tf.metrics.mean(batch)}

    with self.assertRaisesRegex(
        error, f"^Evaluation of the ensembles: {message}"):
      self._evaluate(evaluator_lib.Evaluator(_input_fn), lambda _: [metrics()])
    with tf.Graph().as_default(), tf.Session() as session, \
         self.assertRaisesRegex(
             error, f"^Evaluation of the reports: {message}"):
      reports = {"a": report_lib.Report({}, {}, metrics())}
      session.run(tf.local_variables_initializer())
      evaluator_lib.ReportMaterializer(
          _input_fn).materialize_subnetwork_reports(session, 0, reports, [])

  def test_second_evaluation_starts_anew(self):
    tf = tf_compat.v1
    evaluator = evaluator_lib.Evaluator(_input_fn, steps=1)
    with tf.Graph().as_default(), tf.Session() as session:
      metrics = [{"adanet_loss": tf.metrics.mean(evaluator.input_fn())}]
      # TensorFlow warns of ops that are added behind those that it has run.
      session.graph.finalize()
      self.assertEqual([1.], evaluator.evaluate(session, metrics))
      self.assertEqual([2.], evaluator.evaluate(session, metrics))

  def test_log_says_how_far_it_is(self):
    with self.assertLogs(level="INFO") as logs:
      self._evaluate(
          evaluator_lib.Evaluator(lambda: tf_compat.v1.constant(0.), steps=40),
          lambda batch: [{"adanet_loss": (batch, batch)}])
    self.assertEqual(
        [f"Evaluation of the ensembles: {4 * i} of 40 batches."
         for i in range(1, 11)],
        [record.getMessage() for record in logs.records])

  def test_says_that_an_input_may_have_no_end(self):
    tf = tf_compat.v1
    clock = self.enter_context(mock.patch.object(evaluator_lib, "time"))
    clock.monotonic.side_effect = itertools.count(0, 20).__next__
    with self.assertLogs(level="WARNING") as logs:
      self._evaluate(
          evaluator_lib.Evaluator(lambda: tf.data.make_one_shot_iterator(
              tf.data.Dataset.range(13)).get_next()),
          lambda batch: [{"adanet_loss": (tf.constant(0.), batch)}])
    self.assertEqual(
        [f"Evaluation of the ensembles: {done} batches in {20 * done} s, and "
         "the input goes on. If it has no end, say how many to read by steps."
         for done in (2, 3, 6, 12)],
        [record.getMessage() for record in logs.records])

  @parameterized.parameters(
      (evaluator_lib.Evaluator.Objective.MINIMIZE, 2),
      (evaluator_lib.Evaluator.Objective.MAXIMIZE, 1))
  def test_objective(self, objective, best):
    evaluator = evaluator_lib.Evaluator(_input_fn, objective=objective)
    self.assertEqual(objective, evaluator.objective)
    self.assertEqual(best, evaluator.objective_fn([float("nan"), 3., 1., 2.]))

  @parameterized.parameters(ValueError, KeyError)
  def test_unknown_metric(self, error):
    with self.assertRaisesRegex(
        error, "^metric_name='auc': expected a metric that every ensemble "
        "has: accuracy, adanet_loss.$"):
      self._evaluate(
          evaluator_lib.Evaluator(_input_fn, "auc"),
          lambda batch: [{"adanet_loss": (batch, batch),
                          "accuracy": (batch, batch)}])

  @parameterized.parameters(
      ({"objective": "least"}, "^objective='least': expected Evaluator.Obj"),
      ({"steps": 0}, "^steps=0: expected an integer of at "),
      ({"steps": -1}, "^steps=-1: expected an integer of at "))
  def test_bad_arguments(self, arguments, message):
    with self.assertRaisesRegex(ValueError, message):
      evaluator_lib.Evaluator(_input_fn, **arguments)
    if "steps" in arguments:
      with self.assertRaisesRegex(ValueError, message):
        evaluator_lib.ReportMaterializer(_input_fn, **arguments)


class ReportMaterializerTest(parameterized.TestCase):

  def _materialize(self, materializer, make_reports, included=()):
    tf = tf_compat.v1
    with tf.Graph().as_default(), tf.Session() as session:
      reports = make_reports(materializer.input_fn())
      session.run([tf.global_variables_initializer(),
                   tf.local_variables_initializer()])
      return materializer.materialize_subnetwork_reports(
          session, 4, reports, included)

  @parameterized.parameters((None, 3.), (2, 1.5))
  def test_reports(self, steps, mean):
    tf = tf_compat.v1

    def make_reports(batch):
      return {
          "wide": report_lib.Report(
              {"units": 64}, {"norm": tf.constant(.5),
                              "kind": tf.constant("dense")},
              {"mean": tf.metrics.mean(batch)}),
          "deep": report_lib.Report(
              {}, {"is_deep": tf.constant(True)},
              {"mean": tf.metrics.mean(2. * batch),
               "count": tf.metrics.mean(tf.constant(1.))}),
      }

    reports = self._materialize(
        evaluator_lib.ReportMaterializer(_input_fn, steps),
        make_reports, ["deep"])
    self.assertEqual([
        report_lib.MaterializedReport(
            4, "wide", {"units": 64}, {"norm": .5, "kind": b"dense"},
            {"mean": mean}, False),
        report_lib.MaterializedReport(
            4, "deep", {}, {"is_deep": True},
            {"mean": 2 * mean, "count": 1.}, True),
    ], reports)
    # The file of reports takes Python's values only.
    for report in reports:
      for value in list(report.attributes.values()) + list(
          report.metrics.values()):
        self.assertIn(type(value), (float, bool, bytes))

  def test_without_metrics_an_endless_input_is_not_read(self):
    report, = self._materialize(
        evaluator_lib.ReportMaterializer(lambda: None),
        lambda _: {"a": report_lib.Report({"x": 1}, {}, {})})
    self.assertEqual({"x": 1}, report.hparams)


if __name__ == "__main__":
  absltest.main()
