# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what ends a search, and of what has no end or nothing to answer.

An input without a batch, and no training, are never a result.
"""

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

_TIME_IS_UP = "its max_seconds are over"
_ALWAYS = 10**6


def _estimator(model_dir, max_iteration_steps=4, **kwargs):
  return adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(builders.Dense("a"), builders.Dense("b", width=3)),
      max_iteration_steps=max_iteration_steps, force_grow=True,
      ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
          lambda: tf_compat.v1.train.GradientDescentOptimizer(.05))],
      config=tf_compat.RunConfig(
          model_dir=model_dir, tf_random_seed=1, save_checkpoints_steps=100),
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      **kwargs)


def _held_out():
  return builders.input_fn(repeat=1)


class EndingTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")

  def _check_what_answers(self, estimator):
    """Checks that evaluation is of the step at which training has ended."""
    history = estimator.history()
    end = history.end
    self.assertEndsWith(estimator.latest_checkpoint(), f"-{end.global_step}")
    self.assertEqual(
        end.global_step,
        estimator.evaluate(_held_out())["global_step"])
    return history

  @level.gate
  def test_a_part_that_waits_until_time_is_up_takes_a_step(self):
    estimator = _estimator(self._model_dir, _ALWAYS)
    with self.assertLogs(level="WARNING") as logs:
      estimator.train(
          builders.input_fn(), max_seconds=1e-3, executor=engines.Here())
    line, = [record.getMessage() for record in logs.records
             if "a single step" in record.getMessage()]
    self.assertEqual(
        "Iteration 0: 2 of 2 parts took a single step, because "
        "max_seconds=0.001 were over when a worker began them: 'a', 'b'. Use "
        "more workers, or more seconds.", line)
    step = "adanet/iteration_0/subnetwork_t0_{}/step".format
    self.assertEqual([1, 1], [
        estimator.get_variable_value(step(name)) for name in "ab"])
    self._check_what_answers(estimator)
    history = estimator.history()
    self.assertEqual(
        history.undecided.leader, history.evaluations[-1].ensemble)
    estimator.train(builders.input_fn(), max_steps=3, executor=engines.Here())
    self.assertEqual(3, estimator.get_variable_value(step("b")))

  @level.gate
  def test_time_is_up(self):
    estimator = _estimator(self._model_dir, _ALWAYS)
    metrics, _ = adanet.train_and_evaluate(
        estimator, adanet.TrainSpec(builders.input_fn()),
        adanet.EvalSpec(_held_out(), steps=None), max_seconds=.5)
    history = self._check_what_answers(estimator)
    self.assertEqual((_TIME_IS_UP, metrics["global_step"]),
                     (history.end.reason, history.end.global_step))
    self.assertEmpty(history.iterations)
    self.assertEqual(estimator.history().evaluations[-1].ensemble,
                     history.undecided.leader)
    # It goes on from there, and its time is forgotten.
    estimator.train(builders.input_fn(), steps=3)
    last, end = history.end.global_step + 3, self._check_what_answers(
        estimator).end
    self.assertStartsWith(end.reason, "it reached the number of steps")
    self.assertEqual(last, end.global_step)

  @level.gate
  def test_validation_input_is_an_evaluator(self):
    values = []
    for evaluator in (None, adanet.Evaluator(_held_out())):
      model_dir = os.path.join(self._model_dir, str(len(values)))
      estimator = _estimator(
          model_dir, evaluator=evaluator, max_iterations=1)
      estimator.train(
          builders.input_fn(),
          validation_input_fn=None if evaluator else _held_out())
      record, = estimator.history().iterations
      values.append({c.name: c.value for c in record.candidates})
      # Who has no evaluator takes what was decided.
      self.assertEqual(
          estimator.evaluate(_held_out())["loss"],
          _estimator(model_dir).evaluate(_held_out())["loss"])
    self.assertEqual(values[0], values[1])
    self.assertLen(values[0], 2)

  def test_refused(self):
    estimator = _estimator(
        self._model_dir, evaluator=adanet.Evaluator(_held_out()))
    with self.assertRaisesRegex(
        ValueError, "^validation_input_fn=.*: expected None beside evaluator="):
      estimator.train(builders.input_fn(), validation_input_fn=_held_out())
    with self.assertRaisesRegex(
        ValueError, "^max_seconds=0: expected a number greater than 0, or "):
      estimator.train(builders.input_fn(), max_seconds=0)
    self.assertFalse(os.path.exists(self._model_dir))


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
    estimator = self._trained()
    self._assert_endless("evaluate", estimator.evaluate, endless)
    with self.subTest("hooks"), self.assertLogs(level="WARNING") as logged:
      estimator.evaluate(endless, hooks=[_StopAtOnce()])
    self.assertIn("no end", logged.output[0])
    self.assertIn("It goes on until a hook stops it.", logged.output[0])

  @level.gate
  def test_fitted_to_data_without_an_end(self):
    endless = builders.input_fn()
    estimator = self._trained(
        ensemblers=[adanet.ensemble.GreedyEnsembler()],
        evaluator=adanet.Evaluator(endless))
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
