# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the heads, against what `tf.estimator`'s heads give."""

import functools
import json
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.heads.testdata import head_cases
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np
import runfiles

_GOLDEN = "adanet/adanet/heads/testdata/estimator_heads.json"
_CASES = [(case.name, case) for case in head_cases.CASES]

v1 = tf_compat.v1


def _estimator():
  """Returns `tf.estimator`, or None where TensorFlow has none."""
  return getattr(v1, "estimator", None)


@functools.lru_cache(maxsize=None)
def _golden():
  with open(runfiles.Create().Rlocation(_GOLDEN), encoding="utf-8") as golden:
    return json.load(golden)


def _has_classes():
  """Returns whether `tf.estimator`'s MultiLabelHead predicts `classes`."""
  with v1.Graph().as_default():
    head = _estimator().MultiLabelHead(2)
    return "classes" in head.predictions(v1.zeros([1, 2]))


class HeadsTest(parameterized.TestCase):

  def assert_equal(self, expected, actual, path=""):
    """Compares values of JSON; floats to 1e-5."""
    if isinstance(expected, dict) and isinstance(actual, dict):
      self.assertCountEqual(expected, actual, path)
      for key, value in expected.items():
        self.assert_equal(value, actual[key], "{}[{!r}]".format(path, key))
    elif isinstance(expected, list) and isinstance(actual, list):
      self.assertLen(actual, len(expected), path)
      for i, (e, a) in enumerate(zip(expected, actual)):
        self.assert_equal(e, a, "{}[{}]".format(path, i))
    elif isinstance(expected, float) and isinstance(actual, float):
      np.testing.assert_allclose(
          actual, expected, rtol=1e-5, atol=1e-5, err_msg=path)
    else:
      self.assertEqual(expected, actual, path)

  @parameterized.named_parameters(_CASES)
  def test_golden(self, case):
    self.assert_equal(
        _golden()[case.name], head_cases.outcome(heads, case))

  @parameterized.named_parameters(_CASES)
  def test_golden_is_of_estimator(self, case):
    if _estimator() is None:
      self.skipTest("this TensorFlow has no tf.estimator")
    if "multi_hot" in str(case.tasks) or "sparse" in str(case.tasks):
      if not _has_classes():
        self.skipTest("this tf.estimator predicts no classes of labels")
    self.assert_equal(
        _golden()[case.name], head_cases.outcome(_estimator(), case))

  @parameterized.named_parameters(_CASES)
  def test_any_batches(self, case):
    if _estimator() is None:
      self.skipTest("this TensorFlow has no tf.estimator")
    with v1.Graph().as_default():
      inputs = head_cases.Inputs(case)
      ours, theirs = [
          head_cases.spec_of(case.make(module), inputs, "eval")
          for module in (heads, _estimator())
      ]
      session = v1.Session()
      self.addCleanup(session.close)
      session.run(v1.tables_initializer())
      initializer = v1.local_variables_initializer()
      fetches = [
          {"loss": spec.loss,
           "update": [update for _, update in spec.eval_metric_ops.values()],
           "predictions": {
               key: spec.predictions[key] for key in theirs.predictions}}
          for spec in (ours, theirs)
      ]
      values = [{key: value for key, (value, _) in spec.eval_metric_ops.items()}
                for spec in (ours, theirs)]

    batches = st.lists(
        st.builds(
            inputs.batch,
            seed=st.integers(0, 10**6),
            labels=st.sampled_from(["any", "any", "lowest", "highest"]),
            weights=st.sampled_from(["any", "any", "zero"]),
            scale=st.sampled_from([.01, 1., 3., 20.])),
        min_size=1, max_size=3)

    @hypothesis.settings(max_examples=15)
    @hypothesis.given(batches)
    def check(batches):
      session.run(initializer)
      for batch in batches:
        actual, expected = session.run(fetches, batch)
        np.testing.assert_allclose(
            actual["loss"], expected["loss"], rtol=1e-5, atol=1e-5)
        for key, value in expected["predictions"].items():
          np.testing.assert_array_equal(actual["predictions"][key], value, key)
      actual, expected = session.run(values)
      self.assertCountEqual(expected, actual)
      for key, value in expected.items():
        np.testing.assert_allclose(
            actual[key], value, rtol=1e-5, atol=1e-5, err_msg=key)

    check()

  def test_update_op_is_the_value_after_the_batch(self):
    with v1.Graph().as_default(), v1.Session() as session:
      values = v1.placeholder(v1.float32, [None, 1])
      spec = heads.RegressionHead().create_estimator_spec(
          {}, "eval", values, v1.zeros_like(values))
      session.run(v1.local_variables_initializer())
      value, update = spec.eval_metric_ops["prediction/mean"]
      self.assertEqual(2., session.run(update, {values: [[1.], [3.]]}))
      self.assertEqual(3., session.run(update, {values: [[5.]]}))
      self.assertEqual(3., session.run(value))

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
    labels = v1.losses.mean_squared_error
    with v1.Graph().as_default(), v1.Session() as session:
      weights = np.array([[0.], [1.], [0.], [5.]], np.float32)
      logits = np.array([[7.], [0.], [9.], [2.]], np.float32)
      targets = np.array([[0.], [0.], [0.], [2. - 2.**.5]], np.float32)
      spec = heads.RegressionHead(
          weight_column="w",
          loss_reduction=loss_reduction).create_estimator_spec(
              {"w": weights}, "train", logits, targets,
              train_op_fn=lambda _: v1.no_op())
      theirs = labels(targets, logits, weights, reduction=loss_reduction)
      loss, their_loss = session.run([spec.loss, theirs])
    self.assertAlmostEqual(expected, loss, places=5)
    self.assertAlmostEqual(their_loss, loss, places=5)

  def test_diverged_model_is_measured(self):
    """NaN logits must not stop the evaluation of the other candidates."""
    with v1.Graph().as_default(), v1.Session() as session:
      spec = heads.BinaryClassHead().create_estimator_spec(
          {}, "eval", v1.constant([[np.nan], [1.]]), v1.constant([1, 1]))
      session.run(v1.local_variables_initializer())
      metrics = session.run(
          {key: update for key, (_, update) in spec.eval_metric_ops.items()})
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

    class Optimizer(object):

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

  @parameterized.parameters("int8", "uint8", "int32", "int64")
  def test_label_dtypes(self, dtype):
    with v1.Graph().as_default(), v1.Session() as session:
      spec = heads.MultiClassHead(300).create_estimator_spec(
          {}, "eval", v1.one_hot([3, 7], 300),
          v1.constant([3, 7], dtype=dtype))
      session.run(v1.local_variables_initializer())
      self.assertEqual(
          1., session.run(spec.eval_metric_ops["accuracy"][1]))

  def test_bool_labels(self):
    for head, dimension in ((heads.BinaryClassHead(), 1),
                            (heads.MultiLabelHead(2), 2)):
      with v1.Graph().as_default(), v1.Session() as session:
        labels = np.array([[True], [False]]).repeat(dimension, 1)
        losses = [
            head.create_estimator_spec(
                {}, "eval", v1.ones([2, dimension]), values).loss
            for values in (labels, labels.astype(np.int64))
        ]
        loss, expected = session.run(losses)
        self.assertEqual(expected, loss)

  def test_estimators_heads_in_multi_head(self):
    if _estimator() is None:
      self.skipTest("this TensorFlow has no tf.estimator")
    with v1.Graph().as_default(), v1.Session() as session:
      head = heads.MultiHead([
          _estimator().RegressionHead(name="a"), heads.RegressionHead(name="b")
      ])
      spec = head.create_estimator_spec(
          {}, "eval", v1.ones([2, 2]),
          {"a": v1.zeros([2, 1]), "b": v1.zeros([2, 1])})
      session.run(v1.local_variables_initializer())
      self.assertEqual(2., session.run(spec.loss))
      session.run([update for _, update in spec.eval_metric_ops.values()])
      for key in ("average_loss/a", "average_loss/b", "loss/a", "loss/b"):
        self.assertEqual(1., session.run(spec.eval_metric_ops[key][0]), key)

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

  def test_import_is_light(self):
    """Neither TensorFlow nor Keras is loaded before they are needed."""
    code = ("import sys; import adanet.heads; "
            "print([m for m in sys.modules if m in ("
            "'tensorflow', 'keras', 'tf_keras', 'numpy')])")
    output = subprocess.check_output(
        [sys.executable, "-c", "import sys; sys.path[:] = {!r}; {}".format(
            sys.path, code)])
    self.assertEqual(b"[]", output.strip())


if __name__ == "__main__":
  absltest.main()
