# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a user's mistake gets one clear line, and that nothing is written.
"""

import json
import os
import traceback
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_Dense = builders.Dense


def _returns(kind, method, value, *arguments):
  """Makes an object of a class, of which a method returns what it is told."""
  return type("Returns", (kind,), {
      method: lambda self, *args, **kwargs: value})(*arguments)


def _builder(method, value):
  return _returns(_Dense, method, value, "a")


def _generator(candidates):
  return _returns(
      adanet.subnetwork.Generator, "generate_candidates", candidates)


def _strategy(candidates):
  return _returns(
      adanet.ensemble.Strategy, "generate_ensemble_candidates", candidates)


class _Wide(_Dense):

  def build_subnetwork(self, features, logits_dimension, *args, **kwargs):
    return super().build_subnetwork(features, 4, *args, **kwargs)


class _Nameless:
  name = "a"


class _Of(_Dense):
  """A builder that computes with one feature."""

  def __init__(self, name, feature):
    super().__init__(name)
    self._feature = feature

  def build_subnetwork(self, features, *args, **kwargs):
    return super().build_subnetwork(
        {"x": features[self._feature]}, *args, **kwargs)


class _Changing(adanet.subnetwork.Generator):
  """Makes another builder in each iteration, and at each call."""

  def __init__(self):
    self.prefix = "a"

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    return [_Dense(f"{self.prefix}{iteration_number}")]


def _without_labels():
  return {"x": tf_compat.v1.constant(builders.data()[0])}


def _with_labels(labels):
  def call():
    return _without_labels(), tf_compat.v1.constant(labels)
  return call


class BadInputTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")

  def _estimator(self, *builder_list, **kwargs):
    return searches.estimator(self._model_dir, *builder_list, **{
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
      ("no_subnetwork", [_Dense("good"), _builder("build_subnetwork", 3)],
       ["'a' of iteration 0", "adanet.subnetwork.Subnetwork"]),
      ("no_train_op", [_builder("build_subnetwork_train_op", None)],
       ["'a' of iteration 0", "None"]),
      ("logits", [_Wide("wide")], ["'wide' of iteration 0", "logits", "4"]),
      ("no_tensor", [_Dense("a", logits=(3,))],
       ["'a' of iteration 0", "logits", "(3,)"]),
      ("class", [_Dense], ["iteration 0", "the class Dense", "call it"]),
      ("train_op", [_builder("build_subnetwork_train_op", 3)],
       ["'a' of iteration 0", "op", "3"]),
      ("no_builder_at_all", [_Nameless()], ["iteration 0", "build_subnetwork"]),
      ("no_labels", [_Dense("a")], ["input_fn", "labels"], _without_labels),
      ("text_labels", [_Dense("a")], ["'a' of iteration 0"],
       _with_labels([["a"]] * 32)),
      ("label_dimension", [_Dense("a")], ["'a' of iteration 0", "2"],
       _with_labels([[1., 2.]] * 32)),
  )
  def test_builders_and_input(
      self, builder_list, parts, input_fn=builders.input_fn()):
    estimator = self._estimator(*builder_list)
    with self.assertRaises(ValueError) as caught:
      estimator.train(input_fn, max_steps=3)
    self._assert_one_line(caught.exception, *parts)
    self.assertFalse(os.path.exists(self._model_dir))

  @parameterized.named_parameters(
      ("strings", "s", [["a"] * 3] * 32, "'s' has them"),
      ("type", "d", np.zeros([32, 3]), "'d', which is float64: cast"),
      ("missing", "z", [1.], "asks for the feature 'z', and input_fn gives 'o',"
       " 'x'"),
      ("single", "e", np.zeros([3], np.float32), r"'e' \[3\]"))
  def test_features(self, name, value, message):
    def input_fn():
      features, labels = builders.data()
      if name == "e":  # What batch() would have made of an image, say.
        features = np.zeros([3], np.float32)
      value_name = "o" if name == "z" else name
      return {"x": tf_compat.v1.constant(features),
              value_name: tf_compat.v1.constant(value)}, (
                  tf_compat.v1.constant(labels))

    estimator = self._estimator(_Of("a", name))
    with self.assertRaisesRegex(ValueError, message) as caught:
      estimator.train(input_fn, max_steps=3)
    first, below = str(caught.exception).split("\n", 1)
    self.assertIn("builder 'a' of iteration 0", first)
    self.assertIn(str(caught.exception.__cause__), below)
    self.assertFalse(os.path.exists(self._model_dir))

  @level.gate
  def test_labels_that_only_a_run_knows(self):
    self._estimator(_Dense("a"), head=adanet.heads.BinaryClassHead()).train(
        _with_labels([[1]] * 32), max_steps=1)
    estimator = self._estimator(
        _Dense("a"), head=adanet.heads.BinaryClassHead())
    for call in [lambda input_fn: estimator.train(input_fn, steps=1),
                 lambda input_fn: estimator.evaluate(input_fn, steps=1)]:
      with self.assertRaises(
          tf_compat.v1.errors.InvalidArgumentError) as caught:
        call(_with_labels([[5]] * 32))
      self._assert_one_line(
          caught.exception, "labels: BinaryClassHead expects values from 0 to "
          "1, or of label_vocabulary", "[5]")
      self.assertEqual(1, "".join(traceback.format_exception(
          None, caught.exception, None)).count("expects values"))

  @parameterized.named_parameters(
      ("generator_class",
       dict(subnetwork_generator=adanet.subnetwork.SimpleGenerator),
       ["subnetwork_generator", "the class SimpleGenerator: call it"]),
      ("head_class", dict(head=adanet.heads.RegressionHead),
       ["head", "the class RegressionHead: call it"]),
      ("materializer", dict(report_materializer=builders.input_fn()),
       ["report_materializer", "function"]),
      ("placement", dict(placement_strategy="round_robin"),
       ["placement_strategy", "'round_robin'"]),
      ("replay", dict(replay_config=[0]), ["replay_config", "[0]"]),
      ("combiner", dict(global_step_combiner_fn=3),
       ["global_step_combiner_fn", "3"]),
      ("config", dict(config={"model_dir": "x"}), ["config", "RunConfig"]),
      ("half_a_step", dict(max_iteration_steps=10.5),
       ["max_iteration_steps=10.5: expected an integer "], TypeError),
      ("metrics", dict(metric_fn={"a": 1}), ["metric_fn", "function"]),
      ("lambda", dict(adanet_lambda="x"), ["adanet_lambda='x'"]),
      ("no_generator", dict(subnetwork_generator=None),
       ["subnetwork_generator", "None"]),
      ("no_head", dict(head=None), ["head", "None"]),
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
      ("patience", dict(patience=0),
       ["patience=0: expected an integer of at least 1, or None."]),
      ("min_delta", dict(min_delta=-1),
       ["min_delta=-1: expected a number of at least 0."]),
      ("empty_model_dir", dict(model_dir=""),
       ["model_dir='': expected the path of a folder, or None. Is a "]),
      ("remote_model_dir", dict(model_dir="gs://a/lr[0.1]"),
       ["model_dir='gs://a/lr[0.1]': ", " without [ and "]),
      ("ensembler", dict(ensemblers=adanet.ensemble.MeanEnsembler()),
       ["ensemblers must be a sequence", "MeanEnsembler"], TypeError),
      ("ensembler_class", dict(ensemblers=[adanet.ensemble.MeanEnsembler]),
       ["ensemblers", "the class MeanEnsembler: call it"], TypeError),
      ("strategies", dict(ensemble_strategies=["all"]),
       ["ensemble_strategies", "'all'"], TypeError),
      ("text_steps", dict(max_iteration_steps="10"),
       ["max_iteration_steps", "'10'"], TypeError),
      ("model_dir", dict(model_dir=3), ["model_dir", "3"], TypeError),
      ("unknown", dict(lambda_=3), ["lambda_"], TypeError),
  )
  def test_arguments(self, arguments, parts, error=ValueError):
    with self.assertRaises(error) as caught:
      adanet.Estimator(**{
          "head": adanet.heads.RegressionHead(), "max_iteration_steps": 3,
          "subnetwork_generator": builders.generator(_Dense("a")),
          "model_dir": self._model_dir, **arguments})
    self._assert_one_line(caught.exception, *parts)

  def test_directory_of_an_ensemble_search(self):
    os.makedirs(os.path.join(self._model_dir, "networks", "0-0-deep"))
    with self.assertRaisesRegex(ValueError, "EnsembleSearch") as caught:
      self._estimator(_Dense("a"))
    self._assert_one_line(caught.exception, repr(self._model_dir))

  @parameterized.parameters(
      (lambda: adanet.Evaluator(3), "input_fn must be a function"),
      (lambda: adanet.ReportMaterializer(None), "input_fn must be a function"),
      (lambda: adanet.Evaluator(builders.input_fn(), steps=0), "steps=0: exp"),
      (lambda: adanet.replay.Config([-1]), r"best_ensemble_indices\[0\]=-1: "))
  def test_what_estimators_take(self, call, message):
    with self.assertRaisesRegex(ValueError, message) as caught:
      call()
    self._assert_one_line(caught.exception)

  @parameterized.parameters(
      (lambda e: e.train(builders.input_fn(), hooks=[
          tf_compat.v1.train.SessionRunHook]), TypeError, "the class Sess"),
      (lambda e: e.train(builders.input_fn(), steps=1e3), TypeError, "1000.0"),
      (lambda e: e.train(builders.input_fn(), steps=1, max_steps=1), ValueError,
       "steps and max_steps"),
      (lambda e: e.evaluate(builders.input_fn(1), name=3), TypeError,
       "name must be .*, got 3"),
      (lambda e: e.train(builders.input_fn(), max_steps=1).export_saved_model(
          "/tmp", None), ValueError,
       "serving_input_receiver_fn must be .*, got None"),
      (lambda e: e.train(builders.input_fn(), max_steps=1).export_saved_model(
          "", lambda: None), ValueError, "export_dir_base='': expected the pa"))
  @level.gate
  def test_calls(self, call, error, message):
    with self.assertRaisesRegex(error, message) as caught:
      call(self._estimator(_Dense("a")))
    self._assert_one_line(caught.exception)

  @parameterized.named_parameters(
      ("combiner", dict(global_step_combiner_fn=lambda steps: steps),
       "global_step_combiner_fn must .*1"),
      ("generator", dict(subnetwork_generator=_generator(_Dense("a"))),
       "generate_candidates must return a list of builders, got"),
      ("strategy", dict(ensemble_strategies=[_strategy(None)]),
       "generate_ensemble_candidates of .* got None"),
      ("candidates", dict(ensemble_strategies=[_strategy([3])]),
       "ensemble_strategies must make an adanet.ensemble.Candidate each, got 3"
      ),
      ("report", dict(
          report_materializer=adanet.ReportMaterializer(builders.input_fn(1)),
          subnetwork_generator=_generator([
              _builder("build_subnetwork_report", {"a": 1})])),
       "builder 'a': build_subnetwork_report must return .*got {'a': 1}"))
  @level.gate
  def test_what_functions_return(self, arguments, message):
    estimator = self._estimator(_Dense("a"), **arguments)
    with self.assertRaisesRegex(ValueError, message) as caught:
      estimator.train(builders.input_fn(), max_steps=4)
    self._assert_one_line(caught.exception)

  def test_model_dir_that_parameter_servers_cannot_read(self):
    tf_config = {"cluster": {"chief": ["x:1"], "ps": ["x:2"]},
                 "task": {"type": "chief", "index": 0}}
    with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(tf_config)):
      config = tf_compat.RunConfig(model_dir="/m/lr[0.1]")
    with self.assertRaisesRegex(
        ValueError, r"^model_dir='/m/lr\[0.1\]': .* without \[ and \\ on a clu"
    ) as caught:
      adanet.Estimator(adanet.heads.RegressionHead(),
                       builders.generator(_Dense("a")), 1, config=config)
    self._assert_one_line(caught.exception)

  def test_model_dir_that_cannot_be_made(self):
    file = self.create_tempfile().full_path
    for self._model_dir in file, os.path.join(file, "model"):
      with self.assertRaisesRegex(
          OSError, f"model_dir '{self._model_dir}' cannot be made") as caught:
        self._estimator(_Dense("a")).train(builders.input_fn(), max_steps=1)
      self._assert_one_line(caught.exception)

  @level.gate
  def test_metrics(self):
    self._estimator(_Dense("a")).train(builders.input_fn(), max_steps=1)
    for metric_fn, parts in (
        (lambda: 3, ["metric_fn", "3", "dict"]),
        (lambda: {"m": tf_compat.v1.constant(3.)},
         ["metric_fn", "'m'", "pair"]),
        (lambda: {"m": adanet.Evaluator}, ["metric_fn", "Evaluator"])):
      estimator = self._estimator(_Dense("a"), metric_fn=metric_fn)
      with self.subTest(parts), self.assertRaises(ValueError) as caught:
        estimator.evaluate(builders.input_fn(1))
      self._assert_one_line(caught.exception, *parts)

  def _files(self):
    return {
        os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime
        for folder, _, names in os.walk(self._model_dir) for name in names
        if "tfevents" not in name and name != "lock"}

  @level.gate
  def test_model_dir_of_another_search(self):
    """All that opens the model_dir fails, and changes nothing."""
    generator = _Changing()
    self._estimator(subnetwork_generator=generator).train(
        builders.input_fn(), max_steps=4)  # Into the second iteration.
    files = self._files()
    for generator.prefix, ensembler, parts in (
        ("a", adanet.ensemble.MeanEnsembler(), ["'complexity_regularized'"]),
        ("b", adanet.ensemble.ComplexityRegularizedEnsembler(), [
            "'a0'", self._model_dir])):
      estimator = self._estimator(
          subnetwork_generator=generator, ensemblers=[ensembler])
      for call in [
          lambda: estimator.train(builders.input_fn(), max_steps=9),
          lambda: estimator.evaluate(builders.input_fn(1)),
          lambda: next(estimator.predict(builders.input_fn(1)))]:
        with self.assertRaises(ValueError) as caught:
          call()
        self._assert_one_line(caught.exception, "iteration 0", *parts)
    self.assertEqual(files, self._files())


if __name__ == "__main__":
  absltest.main()
