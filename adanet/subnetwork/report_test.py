# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a report takes."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import subnetwork
from adanet import tf_compat
from adanet.testing import graphs
import numpy as np


class ReportTest(graphs.GraphTestCase):

  def test_hparams(self):
    hparams = {"a": 1, "b": 2., "c": True, "d": "text", "e": np.float64(3.)}
    self.assertEqual(hparams, subnetwork.Report(hparams, {}, {}).hparams)

  @parameterized.parameters(
      None, [[1]], b"text", np.float32(1.), np.int64(1))
  def test_bad_hparam(self, value):
    with self.assertRaisesRegex(
        ValueError, r"^hparams\['a'\]=.*: expected an int, float, bool or str"):
      subnetwork.Report({"a": value}, {}, {})

  @parameterized.parameters("bool", "int32", "float32", "float64", "string")
  def test_types_of_attributes_and_metrics(self, dtype):
    tf = tf_compat.v1
    tensor = tf.placeholder(dtype, [])
    pair = (tensor, tf.no_op())
    report = subnetwork.Report({}, {"a": tensor}, {"m": pair})
    self.assertIs(tensor, report.attributes["a"])
    self.assertEqual({"m": pair}, report.metrics)

  @parameterized.parameters("int64", "float16", "uint8")
  def test_types_that_no_file_holds(self, dtype):
    tf = tf_compat.v1
    tensor = tf.placeholder(dtype, [])
    with self.assertRaisesRegex(
        ValueError, r"^attributes\['a'\]=.*expected a tensor of type bool, in"):
      subnetwork.Report({}, {"a": tensor}, {})
    with self.assertRaisesRegex(
        ValueError, r"^metrics\['a'\]\[0\]=.*expected a tensor of type bool"):
      subnetwork.Report({}, {}, {"a": (tensor, tensor)})

  def test_attribute_of_another_rank(self):
    for shape in ([1], None):
      tensor = tf_compat.v1.placeholder("float32", shape)
      with self.assertRaisesRegex(ValueError, r"of shape \[\]\.$"):
        subnetwork.Report({}, {"a": tensor}, {})

  def test_attribute_that_is_no_tensor(self):
    with self.assertRaisesRegex(ValueError, "not int. Use tf.constant"):
      subnetwork.Report({}, {"a": 1}, {})

  def test_variables_and_tensors_as_metrics(self):
    tf = tf_compat.v1
    for use_resource in (False, True):
      variable = tf.get_variable(f"v{use_resource}", initializer=1.,
                                 use_resource=use_resource)
      for pair in ((variable, variable), (tf.constant(1.), tf.no_op()),
                   tf.metrics.mean([1., 2.])):
        report = subnetwork.Report({}, {}, {"m": pair})
        self.assertIs(pair[0], report.metrics["m"][0])

  def test_keras_metric(self):
    metric = tf_compat.keras.metrics.Mean()
    metric.update_state(tf_compat.v1.constant([2., 4.]))
    value, update_op = subnetwork.Report({}, {}, {"m": metric}).metrics["m"]
    tf = tf_compat.v1
    with tf.Session() as session:
      session.run(tf.local_variables_initializer())
      session.run(update_op)
      self.assertEqual(3., session.run(value))

  def test_metric_of_another_rank_is_left_out(self):
    tf = tf_compat.v1
    vector = tf.constant([1., 2.])
    with self.assertLogs("absl", level="WARNING") as logs:
      report = subnetwork.Report(
          {}, {}, {"v": (vector, tf.no_op()), "m": (vector[0], tf.no_op())})
    self.assertEqual(["m"], list(report.metrics))
    self.assertIn("metrics['v'] is left out", logs.output[0])

  @parameterized.parameters(
      (1., "expected a pair"),
      ((1.,), "expected a pair"),
      ((1., None), "expected a tensor or a variable, not float"))
  def test_bad_metric(self, metric, message):
    with self.assertRaisesRegex(ValueError, r"^metrics\['m'\].*" + message):
      subnetwork.Report({}, {}, {"m": metric})

  def test_metric_without_an_update_op(self):
    with self.assertRaisesRegex(ValueError, r"^metrics\['m'\]\[1\]=None: exp"):
      subnetwork.Report({}, {}, {"m": (tf_compat.v1.constant(1.), None)})


class MaterializedReportTest(absltest.TestCase):

  def test_defaults(self):
    report = subnetwork.MaterializedReport(
        iteration_number=1, name="dnn", hparams={}, attributes={}, metrics={})
    self.assertEqual((1, "dnn", {}, {}, {}, False), report)


if __name__ == "__main__":
  absltest.main()
