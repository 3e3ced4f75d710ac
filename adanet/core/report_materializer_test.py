# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation of reports."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import report_materializer
from adanet.subnetwork import report as report_lib


def _input_fn():
  tf = tf_compat.v1
  dataset = tf.data.Dataset.from_tensor_slices([1., 2., 6.])
  return tf.data.make_one_shot_iterator(dataset).get_next()


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
        report_materializer.ReportMaterializer(_input_fn, steps),
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

  def test_keras_metric(self):
    def make_reports(batch):
      metric = tf_compat.keras.metrics.Mean()
      metric.update_state(batch)
      return {"a": report_lib.Report({}, {}, {"mean": metric})}

    report, = self._materialize(
        report_materializer.ReportMaterializer(_input_fn), make_reports)
    self.assertEqual({"mean": 3.}, report.metrics)

  def test_without_metrics_an_endless_input_is_not_read(self):
    report, = self._materialize(
        report_materializer.ReportMaterializer(lambda: None),
        lambda _: {"a": report_lib.Report({"x": 1}, {}, {})})
    self.assertEqual({"x": 1}, report.hparams)

  def test_no_reports(self):
    self.assertEqual([], self._materialize(
        report_materializer.ReportMaterializer(_input_fn), lambda _: {}))

  def test_properties(self):
    materializer = report_materializer.ReportMaterializer(_input_fn, 3)
    self.assertEqual((_input_fn, 3),
                     (materializer.input_fn, materializer.steps))
    with self.assertRaisesRegex(ValueError, "^steps=0: "):
      report_materializer.ReportMaterializer(_input_fn, 0)


if __name__ == "__main__":
  absltest.main()
