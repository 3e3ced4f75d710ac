# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that an input without a batch, and no training, are never a result."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.estimator import export
from adanet.testing import builders
from adanet.testing import searches
import numpy as np


def _empty():
  """A filter that keeps nothing."""
  return builders.input_fn(1)().filter(lambda features, labels: False)


def _linear(features):
  return tf_compat.v1.matmul(features["x"], tf_compat.v1.get_variable(
      "weights", [3, 1]))


def _once(batches):
  """Returns an input_fn whose data can be read once."""
  v1 = tf_compat.v1
  left = [builders.data(8)] * batches

  def generate():
    while left:
      features, labels = left.pop()
      yield {"x": features}, labels

  return lambda: v1.data.Dataset.from_generator(
      generate, ({"x": v1.float32}, v1.float32), ({"x": [8, 3]}, [8, 1]))


@level.gate
class EmptyInputTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")

  def _estimator(self):
    return searches.estimator(
        self._model_dir, builders.Dense("a"), builders.Dense("b", 3))

  def _assert_empty(self, message, function, *args, **kwargs):
    with self.assertRaisesRegex(
        adanet.EmptyInputError, message + ".*: the input has no b") as caught:
      function(*args, **kwargs)
    self.assertIsInstance(caught.exception, ValueError)
    self.assertNotIn("\n", str(caught.exception))

  def test_every_way(self):
    estimator = self._estimator()
    # The second iteration of this call finds nothing.
    estimator.train(_once(4))
    self.assertEqual(4, estimator.get_variable_value("global_step"))
    self._assert_empty("^train", estimator.train, _empty)
    self._assert_empty("^evaluate", estimator.evaluate, _empty)
    self.assertEmpty(list(estimator.predict(_empty)))
    self.assertFalse(os.path.exists(os.path.join(self._model_dir, "eval")))

  def test_input_of_a_pools_model(self):
    estimator = adanet.AutoEnsembleEstimator(
        head=adanet.heads.RegressionHead(), candidate_pool={
            "good": _linear,
            "bad": adanet.AutoEnsembleSubestimator(_linear, _empty)},
        max_iteration_steps=3, model_dir=self._model_dir)
    self._assert_empty("candidate_pool.'bad'", estimator.train,
                       builders.input_fn())


def _arrays():
  features, labels = builders.data()
  return adanet.inputs.numpy_input_fn(
      {"x": features}, labels, num_epochs=None, shuffle=False)


class EndlessInputTest(absltest.TestCase):

  def _trained(self, **arguments):
    estimator = searches.estimator(
        self.create_tempdir().full_path, builders.Dense("a"), **{
            "max_iterations": 1, **arguments})
    return estimator.train(builders.input_fn(), max_steps=2)

  def _assert_endless(self, message, function, *args, **kwargs):
    with self.assertRaisesRegex(
        ValueError, f"^{message}: steps=None, and the input has no end: say "
        ) as caught:
      function(*args, **kwargs)
    self.assertNotIn("\n", str(caught.exception))

  def test_nothing_waits_without_an_end(self):
    endless = builders.input_fn()
    evaluator = adanet.Evaluator(endless)
    estimator = self._trained()
    self._assert_endless("evaluate", estimator.evaluate, endless)
    with self.subTest("steps"):
      self.assertIn("loss", estimator.evaluate(_arrays(), steps=1))
    with self.subTest("hooks"), self.assertLogs(level="WARNING") as logged:
      estimator.evaluate(endless, hooks=[_StopAtOnce()])
    self.assertIn("no end", logged.output[0])
    self.assertIn("It goes on until a hook stops it.", logged.output[0])
    with self.subTest("fitted"):
      estimator = self._trained(
          ensemblers=[adanet.ensemble.GreedyEnsembler()], evaluator=evaluator)
      self._assert_endless("evaluator.input_fn", estimator.evaluate, endless)

  def test_evaluator_of_arrays_is_refused_at_once(self):
    self._assert_endless("Evaluator", adanet.Evaluator, _arrays())
    self._assert_endless(
        "Evaluator", searches.estimator(
            self.create_tempdir().full_path, builders.Dense("a")).train,
        builders.input_fn(), validation_input_fn=_arrays())
    adanet.Evaluator(_arrays(), steps=1)


class _StopAtOnce(tf_compat.v1.train.SessionRunHook):

  def after_run(self, run_context, run_values):
    run_context.request_stop()


class UntrainedTest(parameterized.TestCase):

  @parameterized.parameters("", "model", "odel")
  def test_nothing_answers(self, folder):
    parent = self.create_tempdir().full_path
    model_dir = os.path.join(parent, folder).rstrip("/")
    estimator = searches.estimator(model_dir, builders.Dense("a"))
    receiver_fn = export.build_raw_serving_input_receiver_fn(
        {"x": np.zeros([1, 3], np.float32)})
    for call in [
        lambda: estimator.evaluate(builders.input_fn(1)),
        lambda: estimator.predict(builders.input_fn(1)),
        lambda: estimator.export_saved_model(parent, receiver_fn),
        lambda: estimator.export_savedmodel(parent, receiver_fn),
        estimator.get_variable_names,
        lambda: estimator.get_variable_value("global_step")]:
      with self.assertRaisesRegex(
          ValueError, f"^model_dir '{model_dir}' has no checkpoint: train"
          ) as caught:
        call()
      self.assertNotIn("\n", str(caught.exception))
    self.assertEmpty(os.listdir(parent))

  @level.gate
  def test_a_builder_without_training_has_its_initial_weights(self):
    class Initial(builders.Dense):

      def build_subnetwork_train_op(self, *args, **kwargs):
        return tf_compat.v1.no_op()

    estimator = searches.estimator(
        self.create_tempdir().full_path, Initial("a"), max_iterations=1)
    estimator.train(builders.input_fn(), max_steps=1)
    self.assertLen(list(estimator.predict(
        builders.input_fn(1), checkpoint_path=os.path.join(
            estimator.model_dir, "model.ckpt-0"))), 32)
    name = "adanet/iteration_0/subnetwork_t0_a/hidden"
    np.testing.assert_array_equal(
        estimator.get_variable_value(name),
        tf_compat.v1.train.load_variable(
            os.path.join(estimator.model_dir, "model.ckpt-0"), name))
    self.assertLen(list(estimator.predict(builders.input_fn(1))), 32)


if __name__ == "__main__":
  absltest.main()
