# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a loss of NaN ends neither a search nor what is asked of it."""

import glob
import os

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.estimator import export
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import searches
import numpy as np


class _Diverging(builders.Dense):
  """A network whose logits are NaN from its third step on, and shown."""

  def build_subnetwork(self, *, iteration_step, summary, **kwargs):
    v1 = tf_compat.v1
    made = super().build_subnetwork(
        iteration_step=iteration_step, summary=summary, **kwargs)
    logits = made.logits + v1.where(
        iteration_step < 2, v1.zeros_like(made.logits),
        v1.fill(v1.shape(made.logits), float("nan")))
    summary.histogram("shown", logits)
    summary.histogram("steps", [iteration_step])
    v1.summary.merge([v1.summary.histogram(
        "logarithm", v1.log(v1.cast(iteration_step, v1.float32)))])
    return made._replace(logits=logits)

  def build_subnetwork_report(self):
    return adanet.subnetwork.Report(
        hparams={}, attributes={"nan": tf_compat.v1.constant(float("nan"))},
        metrics={})


class _HidingNan(builders.Dense):
  """Has a NaN in a variable, which neither its logits nor its loss show."""

  def build_subnetwork(self, *args, **kwargs):
    v1 = tf_compat.v1
    made = super().build_subnetwork(*args, **kwargs)
    self._variable = v1.get_variable("hides", [2], initializer=(
        v1.zeros_initializer()))
    hidden = v1.where([True, True], v1.zeros([2]), self._variable)
    return made._replace(logits=made.logits + v1.reduce_sum(hidden))

  def build_subnetwork_train_op(self, *args, **kwargs):
    v1 = tf_compat.v1
    return v1.group(super().build_subnetwork_train_op(*args, **kwargs),
                    v1.assign(self._variable, [0., float("nan")]))


class _Slots(builders.Dense):
  """A network whose optimizer, made with it, has a slot with infinity."""

  def build_subnetwork(self, *args, **kwargs):
    v1 = tf_compat.v1
    made = super().build_subnetwork(*args, **kwargs)
    variable = v1.trainable_variables()[-1]
    slot = v1.get_variable(variable.op.name.split("/")[-1] + "/Slot", [],
                           initializer=v1.constant_initializer(np.inf))
    return made._replace(
        logits=made.logits + v1.where(True, 0., slot))


class _Ensembler(adanet.ensemble.ComplexityRegularizedEnsembler):
  """Learns the weights, and shows the logits."""

  def build_ensemble(self, *args, **kwargs):
    made = super().build_ensemble(*args, **kwargs)
    tf_compat.v1.summary.histogram("logits", made.logits)
    return made


def _area(labels, predictions):
  return {"area": tf_compat.v1.metrics.auc(
      labels > 0., tf_compat.v1.sigmoid(predictions["predictions"]))}


def _input_fn(labels, repeat=None):
  """Returns an input_fn with some function of the labels of a line."""
  def call():
    features, line = builders.data()
    return tf_compat.v1.data.Dataset.from_tensor_slices(
        ({"x": features}, labels(line))).repeat(repeat).batch(8)

  return call


def _events(folder):
  """Returns the tags of summaries and the sorted steps that have them."""
  found = {}
  # Files of one second are in no order.
  for path in glob.glob(os.path.join(folder, "events.*")):
    for event in tf_compat.v1.train.summary_iterator(path):
      for value in event.summary.value:
        found.setdefault(value.tag, []).append(event.step)
  return {tag: sorted(steps) for tag, steps in found.items()}


class NanTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _estimator(self, *made, **kwargs):
    return searches.estimator(
        self._model_dir, *made,
        config=tf_compat.RunConfig(save_summary_steps=1), **kwargs)

  @level.gate
  def test_nan_that_is_saved(self):
    saved = (r" The last checkpoint has NaN already \(.*/model.ckpt-1\), so "
             "train anew in another model_dir.")
    for executor, ending in (
        (engines.Here(), ""),  # The checkpoints of its parts are gone.
        (None, saved), (None, saved)):
      with self.assertRaisesRegex(
          adanet.AllNaNError, f"or check the data for NaN.{ending}$"):
        searches.estimator(
            self._model_dir, builders.Dense("a", learning_rate=np.inf),
            config=tf_compat.RunConfig(save_checkpoints_steps=1)).train(
                builders.input_fn(), executor=executor)

  def _check_answers(self, estimator):
    """Checks that the best ensemble answers all that it is asked."""
    metrics = estimator.evaluate(builders.input_fn(1))
    self.assertTrue(np.isfinite(metrics["loss"]), metrics)
    predictions = next(estimator.predict(builders.input_fn(1)))
    self.assertTrue(np.isfinite(predictions["predictions"]), predictions)
    estimator.export_saved_model(
        self.create_tempdir().full_path,
        export.build_raw_serving_input_receiver_fn(
            {"x": np.zeros([1, 3], np.float32)}))

  @level.gate
  def test_nan_stops_nobody_else(self):
    estimator = self._estimator(
        _Diverging("bad"), builders.Dense("good"),
        ensemblers=[_Ensembler(
            "SGD", adanet.ensemble.MixtureWeightType.MATRIX, use_bias=True)],
        report_materializer=adanet.ReportMaterializer(builders.input_fn(1)),
        metric_fn=_area, max_iterations=1)
    with self.assertLogs(level="WARNING") as logged:
      estimator.train(builders.input_fn(), max_steps=3)
    self._check_answers(estimator)
    estimator.train(builders.input_fn())
    self.assertIn("t0_bad", "\n".join(logged.output))
    self.assertIn("NaN", "\n".join(logged.output))
    report = adanet.report(self._model_dir)
    iteration, = report.iterations
    self.assertStartsWith(iteration.winner, "t0_good_grow")
    nan = [c.name for c in iteration.candidates if np.isnan(c.value)]
    self.assertEqual(["t0_bad_grow_complexity_regularized"], nan)
    self.assertRegex(str(report), r"t0_bad\.\. +nan ")
    # What has NaN is not written.
    tags = _events(os.path.join(self._model_dir, "subnetwork", "t0_bad"))
    self.assertEqual([0, 1], tags["shown"])
    self.assertEqual([1, 2, 3], tags["logarithm"])  # 0 has none.
    self.assertEqual([0, 1, 2, 3], tags["steps"])
    tags = _events(os.path.join(
        self._model_dir, "ensemble", "t0_bad_grow_complexity_regularized"))
    # They are of the last layer, so a step must give the weights NaN first.
    self.assertEqual([0, 1, 2], tags["logits"])

  def test_head_of_tensorflow_evaluates(self):
    if not hasattr(tf_compat.v2, "estimator"):
      self.skipTest("This TensorFlow has no tf.estimator.")

    def signs(line):
      return np.concatenate([line > 0, line < 0], axis=1).astype(np.int64)

    estimator = self._estimator(
        _Diverging("bad"), builders.Dense("good"), max_iterations=1,
        head=tf_compat.v2.estimator.MultiLabelHead(2))
    estimator.train(_input_fn(signs))
    self.assertTrue(np.isfinite(
        estimator.evaluate(_input_fn(signs, 1))["loss"]))

  @level.gate
  def test_nan_that_the_loss_does_not_show_does_not_win(self):
    estimator = self._estimator(
        _HidingNan("best", 9), builders.Dense("good"),
        _Slots("slots", 1), max_iterations=1)
    with self.assertLogs(level="WARNING") as logged:
      estimator.train(builders.input_fn(), executor=engines.Here())
    warning, = [line for line in logged.output if "counts as NaN" in line]
    self.assertRegex(
        warning, "Iteration 0: t0_best_grow_complexity_regularized counts as "
        "NaN.*'adanet/iteration_0/subnetwork_t0_best/hides'")
    iteration, = adanet.report(self._model_dir).iterations
    nan, = [c.name for c in iteration.candidates if np.isnan(c.value)]
    self.assertIn("_best_grow", nan)
    # The winner is found again.
    self.assertNotIn(b"best", estimator.evaluate(builders.input_fn(1))[
        "architecture/adanet/ensembles"])

  def test_nan_in_one_row_of_training_is_named(self):
    features, line = builders.data()
    line[20] = float("nan")
    estimator = self._estimator(builders.Dense("a"), builders.Dense("b"))
    with self.assertLogs(level="WARNING") as logged, self.assertRaisesRegex(
        adanet.AllNaNError, "NaN or infinity in the labels") as caught:
      estimator.train(adanet.inputs.numpy_input_fn(
          {"x": features}, line, batch_size=8, num_epochs=None, shuffle=False))
    self.assertIsInstance(
        caught.exception, tf_compat.v1.train.NanLossDuringTrainingError)
    self.assertIn("NaN after 3 steps. The input has NaN or infinity in the "
                  "labels.", "\n".join(logged.output))

  def test_evaluation_that_is_nan_names_the_data(self):
    estimator = self._estimator(builders.Dense("a"), max_iterations=1)
    estimator.train(builders.input_fn())
    with self.assertLogs(level="WARNING") as logged:
      estimator.evaluate(_input_fn(lambda line: line + float("inf"), 1))
    self.assertIn("the loss is inf. The input has NaN or infinity in the labels",
                  "\n".join(logged.output))


if __name__ == "__main__":
  absltest.main()
