# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a user's mistake gets one clear line, and that nothing is written.
"""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import searches

_Dense = builders.Dense


class _Returns(_Dense):
  """A builder that returns something else than a Subnetwork."""

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    return features["x"]


class _WithoutTrainOp(_Dense):

  def build_subnetwork_train_op(self, *args, **kwargs):
    return None


class _Wide(_Dense):

  def build_subnetwork(self, features, logits_dimension, *args, **kwargs):
    return super().build_subnetwork(features, 4, *args, **kwargs)


class _Changing(adanet.subnetwork.Generator):
  """Makes another builder in each iteration, and at each call."""

  def __init__(self):
    self.prefix = "a"

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    return [_Dense(f"{self.prefix}{iteration_number}")]


def _without_labels():
  return {"x": tf_compat.v1.constant(builders.data()[0])}


def _pair_without_labels():
  return _without_labels(), None


def _three_values():
  return _without_labels(), None, None


def _with_labels(labels):
  def call():
    return _without_labels(), tf_compat.v1.constant(labels)
  return call


class BadInputTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")

  def _estimator(self, *made, **kwargs):
    return searches.estimator(self._model_dir, *made, **{
        "max_iteration_steps": 3, "max_iterations": None, **kwargs})

  def _assert_one_line(self, error, *parts):
    message = str(error)
    self.assertNotIn("\n", message)
    for part in parts:
      self.assertIn(part, message)

  @parameterized.named_parameters(
      ("no_builder", [], ["iteration 0", "generator"]),
      ("one_name", [_Dense("a"), _Dense("b"), _Dense("a")],
       ["iteration 0", "'a'"]),
      ("no_name", [_Dense("")], ["iteration 0", "''"]),
      ("space", [_Dense("a b")], ["iteration 0", "'a b'"]),
      ("accent", [_Dense("\xe9t\xe9")], ["iteration 0", "'\xe9t\xe9'"]),
      ("no_subnetwork", [_Dense("good"), _Returns("a")],
       ["'a' of iteration 0", "adanet.subnetwork.Subnetwork"]),
      ("no_train_op", [_WithoutTrainOp("a")], ["'a' of iteration 0", "None"]),
      ("logits", [_Wide("wide")], ["'wide' of iteration 0", "logits", "4"]),
      ("no_tensor", [_Dense("a", logits=(3,))],
       ["'a' of iteration 0", "logits", "(3,)"]),
  )
  def test_builders(self, made, parts):
    estimator = self._estimator(*made)
    with self.assertRaises(ValueError) as caught:
      estimator.train(builders.input_fn(), max_steps=3)
    self._assert_one_line(caught.exception, *parts)
    self.assertFalse(os.path.exists(self._model_dir))

  @parameterized.named_parameters(
      ("no_labels", _without_labels, ["input_fn", "labels"]),
      ("labels_none", _pair_without_labels, ["input_fn", "labels"]),
      ("three", _three_values, ["input_fn", "3"]),
      ("no_function", 3, ["input_fn", "3"]),
      ("text_labels", _with_labels([["a"]] * 32), ["'a' of iteration 0"]),
      ("label_dimension", _with_labels([[1., 2.]] * 32),
       ["'a' of iteration 0", "2"]),
  )
  def test_input(self, input_fn, parts):
    estimator = self._estimator(_Dense("a"))
    with self.assertRaises(ValueError) as caught:
      estimator.train(input_fn, max_steps=3)
    self._assert_one_line(caught.exception, *parts)
    self.assertFalse(os.path.exists(self._model_dir))

  @parameterized.named_parameters(
      ("no_generator", dict(subnetwork_generator=None),
       ["subnetwork_generator", "None"]),
      ("no_head", dict(head=None), ["head", "None"]),
      ("iteration_steps", dict(max_iteration_steps=0),
       ["max_iteration_steps", "0"]),
      ("iterations", dict(max_iterations=-1), ["max_iterations", "-1"]),
      ("decay", dict(adanet_loss_decay=1.5), ["adanet_loss_decay", "1.5"]),
      ("metric_fn", dict(metric_fn=lambda logits: {}), ["metric_fn", "logits"]),
      ("two_model_dirs",
       dict(config=tf_compat.RunConfig(model_dir="/other")),
       ["model_dir", "/other"]),
      ("device_fn",
       dict(config=tf_compat.RunConfig(device_fn=lambda op: "/cpu:0")),
       ["config.device_fn", "placement_strategy"]),
      ("ensembler_twice",
       dict(adanet_lambda=.1, ensemblers=[adanet.ensemble.MeanEnsembler()]),
       ["adanet_lambda", "ensemblers"]),
  )
  def test_arguments(self, arguments, parts):
    with self.assertRaises(ValueError) as caught:
      self._estimator(_Dense("a"), **arguments)
    self._assert_one_line(caught.exception, *parts)

  @parameterized.parameters(
      (lambda: 3, ["metric_fn", "3", "dict"]),
      (lambda: {"m": tf_compat.v1.constant(3.)}, ["metric_fn", "'m'", "pair"]),
      (lambda: {"m": adanet.Evaluator}, ["metric_fn", "Evaluator"]))
  def test_metrics(self, metric_fn, parts):
    self._estimator(_Dense("a")).train(builders.input_fn(), max_steps=1)
    estimator = self._estimator(_Dense("a"), metric_fn=metric_fn)
    with self.assertRaises(ValueError) as caught:
      estimator.evaluate(builders.input_fn(1))
    self._assert_one_line(caught.exception, *parts)

  def test_replay_of_a_candidate_that_is_not_there(self):
    self._estimator(_Dense("a")).train(builders.input_fn(), max_steps=2)
    self._assert_refused(
        ["index=7", "t0_a_grow"], replay_config=adanet.replay.Config([7]),
        subnetwork_generator=builders.generator(_Dense("a")), trains=False)

  def test_unknown_argument(self):
    with self.assertRaisesRegex(TypeError, "lambda_"):
      self._estimator(_Dense("a"), lambda_=3)

  def test_both_kinds_of_steps(self):
    with self.assertRaisesRegex(ValueError, "steps and max_steps"):
      self._estimator(_Dense("a")).train(
          builders.input_fn(), steps=1, max_steps=1)

  def _trained(self):
    """Trains into the second iteration, and returns the generator."""
    generator = _Changing()
    self._estimator(subnetwork_generator=generator).train(
        builders.input_fn(), max_steps=4)
    return generator

  def _files(self):
    return {
        os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime
        for folder, _, names in os.walk(self._model_dir) for name in names
        if "tfevents" not in name and name != "lock"}

  def _assert_refused(self, parts, trains=True, **kwargs):
    """Asserts that what opens the model_dir fails, and changes nothing.

    Args:
      parts: what the messages have.
      trains: whether training opens it, too.
      **kwargs: arguments of the estimator.
    """
    files = self._files()
    estimator = self._estimator(**kwargs)
    for call in [
        lambda: estimator.train(builders.input_fn(), max_steps=9)][:trains] + [
            lambda: estimator.evaluate(builders.input_fn(1)),
            lambda: next(estimator.predict(builders.input_fn(1)))]:
      with self.assertRaises(ValueError) as caught:
        call()
      self._assert_one_line(caught.exception, *parts)
    self.assertEqual(files, self._files())

  def test_model_dir_of_another_search(self):
    generator = self._trained()
    generator.prefix = "b"
    self._assert_refused(
        ["iteration 0", "'a0'", self._model_dir],
        subnetwork_generator=generator)

  def test_model_dir_of_another_ensembler(self):
    generator = self._trained()
    self._assert_refused(
        ["iteration 0", "'complexity_regularized'"],
        subnetwork_generator=generator,
        ensemblers=[adanet.ensemble.MeanEnsembler()])

  def test_model_dir_of_another_network(self):
    self._estimator(_Dense("a", width=2)).train(
        builders.input_fn(), max_steps=2)
    self._assert_refused(
        ["model.ckpt-2", "subnetwork_t0_a/hidden", "[3, 2]"],
        subnetwork_generator=builders.generator(_Dense("a", width=5)))

  @parameterized.parameters("", "{", "[]", "{}", json.dumps(
      {"ensemble_candidate_name": 1}))
  def test_corrupt_architecture(self, text):
    generator = self._trained()
    path = os.path.join(self._model_dir, "architecture-0.json")
    with open(path, "w") as f:
      f.write(text)
    self._assert_refused([path], subnetwork_generator=generator)

  @parameterized.parameters(".index", ".data-00000-of-00001")
  def test_checkpoint_cut_short(self, part):
    generator = self._trained()
    path = os.path.join(self._model_dir, "model.ckpt-4" + part)
    os.truncate(path, os.path.getsize(path) // 2)
    self._assert_refused(["model.ckpt-4"], subnetwork_generator=generator)


if __name__ == "__main__":
  absltest.main()
