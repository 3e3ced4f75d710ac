# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the heads."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.testing import level
import numpy as np

v1 = tf_compat.v1


def _metrics(session, spec):
  """Returns the values of the metrics of a spec after a batch."""
  session.run(v1.local_variables_initializer())
  session.run([update for _, update in spec.eval_metric_ops.values()])
  return session.run({
      key: value for key, (value, _) in spec.eval_metric_ops.items()})


class HeadsTest(parameterized.TestCase):

  def test_end_of_input_adds_nothing(self):
    with v1.Graph().as_default(), v1.Session() as session:
      values = v1.data.make_one_shot_iterator(
          v1.data.Dataset.from_tensor_slices([[2.], [4.]]).batch(1)).get_next()
      head = heads.MultiHead([heads.RegressionHead(name="a")])
      metrics = head.create_estimator_spec(
          {}, "eval", {"a": values}, {"a": v1.zeros_like(values)}
      ).eval_metric_ops
      session.run(v1.local_variables_initializer())
      with self.assertRaises(v1.errors.OutOfRangeError):
        while True:
          session.run([update for _, update in metrics.values()])
      for name in "loss/a", "average_loss/a":
        self.assertEqual(10., session.run(metrics[name][0]), name)

  def test_metrics_have_local_variables_only(self):
    with v1.Graph().as_default():
      heads.BinaryClassHead(thresholds=[.5]).create_estimator_spec(
          {}, "eval", v1.zeros([3, 1]), v1.zeros([3, 1]))
      self.assertEmpty(v1.global_variables())
      self.assertEmpty(v1.trainable_variables())
      self.assertNotEmpty(v1.local_variables())
      self.assertCountEqual(
          [v.name for v in v1.local_variables()],
          [v.name for v in v1.get_collection(v1.GraphKeys.METRIC_VARIABLES)])

  @parameterized.parameters(
      ("weighted_sum", 10.), ("weighted_sum_over_batch_size", 2.5),
      ("weighted_mean", 10. / 6.), ("weighted_sum_by_nonzero_weights", 5.))
  def test_reductions_of_version_1(self, loss_reduction, expected):
    with v1.Graph().as_default(), v1.Session() as session:
      weights = np.array([[0.], [1.], [0.], [5.]], np.float32)
      logits = np.array([[7.], [0.], [9.], [2.]], np.float32)
      targets = np.array([[0.], [0.], [0.], [2. - 2.**.5]], np.float32)
      spec = heads.RegressionHead(
          weight_column="w",
          loss_reduction=loss_reduction).create_estimator_spec(
              {"w": weights}, "train", logits, targets,
              train_op_fn=lambda _: v1.no_op())
      theirs = v1.losses.mean_squared_error(
          targets, logits, weights, reduction=loss_reduction)
      loss, their_loss = session.run([spec.loss, theirs])
    self.assertAlmostEqual(expected, loss, places=5)
    self.assertAlmostEqual(their_loss, loss, places=5)

  def test_diverged_model_is_measured(self):
    """NaN logits must not stop the evaluation of the other candidates."""
    with v1.Graph().as_default(), v1.Session() as session:
      spec = heads.BinaryClassHead().create_estimator_spec(
          {}, "eval", v1.constant([[np.nan], [1.]]), v1.constant([1, 1]))
      metrics = _metrics(session, spec)
    self.assertTrue(np.isnan(metrics["average_loss"]))
    self.assertEqual(.5, metrics["accuracy"])
    self.assertEqual(.5, metrics["recall"])

  def test_loss_fn_gets_a_reduction_it_must_have(self):
    reductions = []

    def loss_fn(labels, logits, loss_reduction):
      reductions.append(loss_reduction)
      return v1.abs(labels - logits)

    with v1.Graph().as_default():
      heads.RegressionHead(
          loss_reduction="sum", loss_fn=loss_fn).create_estimator_spec(
              {}, "eval", v1.zeros([2, 1]), v1.zeros([2, 1]))
    self.assertEqual(["sum"], reductions)

  def test_optimizer_and_update_ops(self):

    class Optimizer:

      def get_updates(self, loss, variables):
        del loss
        return [v.assign_add(1.) for v in variables]

    with v1.Graph().as_default(), v1.Session() as session:
      variable = v1.get_variable("v", [], initializer=v1.zeros_initializer())
      updated = v1.get_variable("u", [], initializer=v1.zeros_initializer())
      spec = heads.RegressionHead().create_estimator_spec(
          {}, "train", v1.fill([2, 1], variable), v1.zeros([2]),
          optimizer=Optimizer(), trainable_variables=[variable],
          update_ops=[updated.assign_add(2.)])
      session.run(v1.global_variables_initializer())
      session.run(spec.train_op)
      self.assertEqual([1., 2.], session.run([variable, updated]))

  @parameterized.parameters(level.first(["int8", "uint8", "int32", "int64"]))
  def test_label_dtypes(self, dtype):
    with v1.Graph().as_default(), v1.Session() as session:
      spec = heads.MultiClassHead(300).create_estimator_spec(
          {}, "eval", v1.one_hot([3, 100], 300),
          v1.constant([3, 100], dtype=dtype))
      metrics = _metrics(session, spec)
      self.assertEqual(1., metrics["accuracy"])

  def test_two_classes(self):
    with v1.Graph().as_default(), v1.Session() as session:
      logits, labels = [[.5, 1.], [3., -1.], [0., 2.]], [1, 1, 0]
      labels = v1.constant(labels)
      specs = [head.create_estimator_spec(
          {}, "train", values, labels, train_op_fn=lambda _: v1.no_op())
               for head, values in (
                   (heads.MultiClassHead(2), v1.constant(logits)),
                   (heads.BinaryClassHead(), v1.constant(
                       [[b - a] for a, b in logits])))]
      two, binary = session.run([
          (spec.loss, spec.predictions["class_ids"],
           spec.predictions["probabilities"]) for spec in specs])
      for value, expected in zip(two, binary):
        np.testing.assert_allclose(value, expected, rtol=1e-6)

  def test_bool_labels(self):
    for head, dimension in ((heads.BinaryClassHead(), 1),
                            (heads.MultiLabelHead(2), 2)):
      with v1.Graph().as_default(), v1.Session() as session:
        labels = np.array([[True], [False]]).repeat(dimension, 1)
        losses = [
            head.create_estimator_spec(
                {}, "train", v1.ones([2, dimension]), values,
                train_op_fn=lambda _: v1.no_op()).loss
            for values in (labels, labels.astype(np.int64))
        ]
        loss, expected = session.run(losses)
        self.assertEqual(expected, loss)

  def test_logits_of_unknown_shape(self):
    with v1.Graph().as_default(), v1.Session() as session:
      logits = v1.placeholder(v1.float32)
      spec = heads.RegressionHead(2).create_estimator_spec({}, "infer", logits)
      predictions = spec.predictions["predictions"]
      session.run(predictions, {logits: [[1., 2.]]})
      for value in ([1., 2.], [[1.]]):
        with self.assertRaisesRegex(v1.errors.InvalidArgumentError,
                                    r"RegressionHead expects the shape"):
          session.run(predictions, {logits: value})


if __name__ == "__main__":
  absltest.main()
