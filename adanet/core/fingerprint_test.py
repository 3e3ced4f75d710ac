# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that another search on the same weights is told from the same one."""

import contextlib
import shutil
import tempfile
import types
from unittest import mock

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import ensemble
from adanet import heads
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import fingerprint
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import level
from adanet.testing import searches

_RELU = {"MatMul": 2, "Relu": 1}
_TANH = {"MatMul": 2, "Tanh": 1}
_BEFORE = fingerprint.SearchFingerprint(
    {"head": "Head()", "ensemblers": "Mean()", "subnetworks": "t1_a, t1_b"},
    {"tensorflow": "2", "k": "3"},
    {"t0_a": _RELU, "t0_a frozen": _RELU, "t1_a": _RELU, "t1_b": _RELU})


def _arguments(**changed):
  return dict(arguments=dict(_BEFORE.arguments, **changed))


class SearchFingerprintTest(parameterized.TestCase):

  @parameterized.parameters(
      (0, False, []), (0, True, ["t0_a", "t0_a frozen"]),
      (1, False, ["t0_a", "t0_a frozen"]),
      (1, True, ["t0_a", "t0_a frozen", "t1_a", "t1_b"]),
      (11, True, ["t0_a", "t0_a frozen", "t1_a", "t1_b"]))
  def test_what_holds_in_an_iteration(self, number, resumes, expected):
    before = _BEFORE.at(number, resumes)
    self.assertCountEqual(expected, before.graphs)
    self.assertEqual((number, resumes) == (1, True),
                     "subnetworks" in before.arguments)

  @parameterized.parameters(
      ({}, []),
      (_arguments(head="Other()"), ["head: Head() before, Other() now"]),
      (_arguments(subnetworks="t1_a"),
       ["subnetworks: t1_a, t1_b before, t1_a now"]),
      (dict(arguments={"later": "1"}), []),
      (dict(graphs={"t1_b": _TANH, "t0_a frozen": _TANH}),
       ["graph of t0_a, t1_b: 1 Relu before, 1 Tanh now"]),
      (dict(graphs={"t0_a": _TANH, "t0_a frozen": _TANH}),
       ["graph of t0_a: 1 Relu before, 1 Tanh now"]),
      (dict(graphs={"t0_a frozen": dict(_RELU, Relu=3)}),
       ["graph of t0_a: none of these before, 2 Relu now"]),
      (dict(graphs={"t0_a frozen": _TANH}, versions={"tensorflow": "1"}), []),
      # A package that only one of them has loaded.
      (dict(graphs={"t0_a frozen": _TANH}, versions={"other": "1"}),
       ["graph of t0_a: 1 Relu before, 1 Tanh now"]))
  def test_differences(self, changed, expected):
    now = _BEFORE._replace(**changed)
    self.assertEqual(expected, fingerprint.argument_differences(
        _BEFORE.arguments, now.arguments) + _BEFORE.graph_differences(now))

  def test_differences_of_two_tasks(self):
    self.assertEqual(
        ["head: A() on the chief, B() on worker:1"],
        fingerprint.argument_differences(
            {"head": "A()"}, {"head": "B()"}, "on the chief", "on worker:1"))

  def test_merged(self):
    now = _BEFORE._replace(arguments={"subnetworks": "t1_a, t1_c"},
                           graphs={"t1_c": _TANH})
    self.assertEqual(
        now._replace(graphs={
            "t0_a frozen": _RELU, "t1_a": _RELU, "t1_c": _TANH}),
        _BEFORE.merged(now))
    newer = now._replace(versions={"tensorflow": "3"})
    self.assertEqual(newer, _BEFORE.merged(newer))

  @parameterized.parameters(4, None)
  def test_ops(self, batch_size):
    v1 = tf_compat.v1
    with v1.Graph().as_default():
      x = v1.nn.elu(v1.placeholder(v1.float32, [batch_size, 2]))
      first = fingerprint.num_ops()
      weights = v1.get_variable(
          "w", initializer=v1.random.uniform([2, 2]), use_resource=True)
      y = v1.matmul(x, weights)
      y = v1.reshape(y, [v1.shape(y)[0] * 2])
      v1.summary.scalar("norm", v1.norm(y))
      y = tf_compat.v2.function(v1.sin)(tf_compat.v2.function(
          lambda y: v1.cos(y) * -2.)(y))
      y *= v1.reduce_sum(v1.constant([.5, 1.5]))  # Is not compared.
      # How many equal numbers there are may be the size of the batch.
      y += v1.constant(.1, shape=[2 * (batch_size or 1)])
      counts = fingerprint.ops(
          {"logits": v1.tanh(y), "ids": v1.argmax(y)}, first)
      # What follows changes nothing.
      v1.gradients(y, [weights])
    for op in "ArgMax", "Cos", "MatMul", "Sin", "Tanh":
      self.assertEqual(1, counts[op], op)
    self.assertEqual(
        {"constant -2.0": 1, "constant 0.1": 1, "variable [2, 2]": 1},
        {op: count for op, count in counts.items() if " " in op})


class FingerprintCheckTest(parameterized.TestCase):
  """What is warned of and written, of a search that is written by hand."""

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    # Packages may be loaded meanwhile.
    self.enter_context(mock.patch.object(
        fingerprint.runtime, "loaded_versions", return_value={}))

  def _check(self, head="Head", number=0, graphs=None, later=None,
             max_iterations=3, **arguments):
    """Trains an iteration; returns the warnings.

    Args:
      head: str, the name of the head's class.
      number: int, the iteration's.
      graphs: dict, those that are known at once.
      later: dict, those that are known when the weights are restored; None if
        they never are.
      max_iterations: int.
      **arguments: of `FingerprintCheck`.
    """
    search = types.SimpleNamespace(
        head=type(head, (), {})(), ensemblers=[], strategies=[],
        max_iteration_steps=4)
    iteration = types.SimpleNamespace(
        number=number, builder_names="ab", graphs=graphs or {})
    with self.assertLogs(logging.get_absl_logger(), "WARNING") as logs:
      logging.warning("assertLogs wants one.")
      check = fingerprint.FingerprintCheck(
          self._model_dir, fingerprint.of(search, iteration), number,
          max_iterations, **arguments)
      before = fingerprint.read(self._model_dir)
      if later is not None:
        check.write(1., later)
    if later is None:
      self.assertEqual(before, fingerprint.read(self._model_dir))
    return [line.partition("training goes on: ")[2].partition(". If")[0]
            for line in logs.output[1:]]

  def _graphs(self):
    return fingerprint.read(self._model_dir).graphs

  @parameterized.parameters(
      (dict(), []),
      (dict(head="Other"), ["head: Head() before, Other() now"]),
      # There is nothing to compare with.
      (dict(head="Other", has_weights=False), []),
      (dict(graphs={"t0_a": _TANH}),
       ["graph of t0_a: 1 Relu before, 1 Tanh now"]),
      (dict(later={"t0_a": _TANH}),
       ["graph of t0_a: 1 Relu before, 1 Tanh now"]),
      (dict(graphs={"t0_a": _TANH}, later={"t0_a": _TANH}),
       ["graph of t0_a: 1 Relu before, 1 Tanh now"]),
      (dict(head="Other", later={"t0_a": _TANH}),
       ["head: Head() before, Other() now",
        "graph of t0_a: 1 Relu before, 1 Tanh now"]),
      # The weights are not of this iteration.
      (dict(graphs={"t0_a": _TANH}, resumes=False), []),
      (dict(max_iterations=0),
       ["max_iterations: 0 now, and iteration 0 has begun"]),
      (dict(max_iterations=None), []),
      (dict(number=1, graphs={"t1_a": _TANH}), []))
  def test_warnings(self, arguments, expected):
    self.assertEmpty(self._check(later={"t0_a": _RELU}))
    self.assertEqual(expected, self._check(**arguments))

  def test_what_is_written(self):
    self._check(graphs={"t0_a": _RELU}, later={})
    self.assertEqual({"t0_a": _RELU}, self._graphs())
    # A part that is done keeps its graph.
    self._check(later={"t0_b": _TANH})
    self.assertEqual({"t0_a": _RELU, "t0_b": _TANH}, self._graphs())
    self._check(number=1, graphs={"t0_a frozen": _RELU}, later={})
    self.assertEqual({"t0_a frozen": _RELU}, self._graphs())

  def test_the_same_is_not_written_again(self):
    self._check(graphs={"t0_a": _RELU}, later={})
    with mock.patch.object(fingerprint, "write") as write:
      self._check(graphs={"t0_a": _RELU}, later={})
    write.assert_not_called()


class _Rich(builders.Dense):
  """Has what differs in training, and what is in functions."""

  def __init__(self, name, activation="relu", scale=.7, **arguments):
    super().__init__(name, **arguments)
    self._activation = activation
    self._scale = scale

  def build_subnetwork(self, *, training, summary, previous_ensemble, **kwargs):
    v1 = tf_compat.v1
    subnetwork = super().build_subnetwork(
        training=training, summary=summary, **kwargs)
    hidden = subnetwork.last_layer
    if training:
      hidden = v1.nn.dropout(hidden, rate=.1, seed=3)
      summary.scalar("mean", v1.reduce_mean(hidden))
    if previous_ensemble:
      hidden += v1.reduce_mean(
          previous_ensemble.subnetworks[-1].last_layer, 1, keepdims=True)

    @tf_compat.v2.function
    def in_function(x):
      return getattr(v1.nn, self._activation)(x)

    hidden = in_function(hidden) * self._scale
    hidden = v1.cond(v1.reduce_sum(hidden) > 0., lambda: hidden * 2.,
                     lambda: -hidden)
    # With a known batch size, it is a constant.
    hidden = v1.reshape(hidden, [v1.shape(hidden)[0], -1])
    return subnetwork._replace(
        last_layer=hidden, logits=subnetwork.logits + v1.reduce_mean(
            hidden, 1, keepdims=True))


def _arrays():
  """Is an input_fn of one batch, whose size is known."""
  features, labels = builders.data()
  return {"x": features[:8]}, (labels[:8] > 0).astype("float32")


def _input_fn():
  return tf_compat.v1.data.Dataset.from_tensor_slices(
      _arrays()).repeat().batch(8)


_SAME = (_Rich("a"), _Rich("b", width=3))
_OF_TANH = (_Rich("a", "tanh"), _Rich("b", "tanh", width=3))
_NEGATIVE = (_Rich("a", scale=-.7), _Rich("b", scale=-.7, width=3))


def _warnings(logs):
  return [line for line in logs.output if "Another search" in line]


class AnotherSearchTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._trained = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    searches.estimator(cls._trained, *_SAME).train(_input_fn, max_steps=6)

  def setUp(self):
    super().setUp()
    # It is in the middle of the second iteration.
    self._model_dir = self.create_tempdir().full_path + "/model"
    shutil.copytree(self._trained, self._model_dir)

  def _train(self, *builder_list, steps=1, max_steps=None, on_executor=False,
             input_fn=_input_fn, raises=None, **arguments):
    """Trains; returns the warnings of another search."""
    with self.assertLogs(logging.get_absl_logger(), "WARNING") as logs:
      logging.warning("assertLogs wants one.")
      with self.assertRaises(raises) if raises else contextlib.nullcontext():
        searches.estimator(
            self._model_dir, *(builder_list or _SAME), **arguments).train(
                input_fn, steps=steps, max_steps=max_steps,
                executor=engines.Here() if on_executor else None)
    return _warnings(logs)

  def _note(self):
    return fingerprint.read(self._model_dir)

  @parameterized.parameters(*level.first([
      (_OF_TANH, r": graph of t0_a, t1_a, t1_b: 1 Relu before, 1 Tanh now\."),
      (_NEGATIVE, r": graph of t0_a, t1_a, t1_b: 1 constant 0\.7 before, "
       r"1 constant -0\.7 now\.")]))
  def test_another_one(self, builder_list, text):
    warnings = self._train(*builder_list)
    self.assertLen(warnings, 1)
    self.assertRegex(warnings[0], text)

  @level.gate
  def test_other_shapes(self):
    warnings = self._train(
        _SAME[0], _Rich("b", width=4), raises=checkpoints.CheckpointError)
    self.assertLen(warnings, 1)
    self.assertRegex(
        warnings[0], r"graph of t1_b: 1 variable \[3, 1\], 1 variable \[3, 3\]"
        r" before, 1 variable \[3, 4\], 1 variable \[4, 1\] now\.")

  @level.gate
  def test_another_one_that_has_no_weights(self):
    before = self._note()
    warnings = self._train(
        raises=checkpoints.CheckpointError, ensemblers=[
            ensemble.MeanEnsembler(), ensemble.ComplexityRegularizedEnsembler()
        ], ensemble_strategies=[
            ensemble.SoloStrategy(), ensemble.GrowStrategy()])
    self.assertLen(warnings, 1)
    self.assertRegex(
        warnings[0],
        r"ensemblers: Comp\w+\(name='complexity_regularized'\) before, "
        r"Comp\w+\(name='complexity_regularized'\), "
        r"MeanEnsembler\(name='mean'\) now; "
        r"ensemble_strategies: GrowStrategy\(\) before, "
        r"GrowStrategy\(\), SoloStrategy\(\) now")
    # It did not train here.
    self.assertEqual(before, self._note())

  @level.gate
  def test_another_one_that_has_nothing_to_train(self):
    warnings = self._train(
        steps=None, head=heads.BinaryClassHead(), max_steps=6)
    self.assertLen(warnings, 1)
    self.assertIn("head: RegressionHead", warnings[0])

  @level.gate
  def test_pool_without_the_winner(self):
    shutil.rmtree(self._model_dir)
    self.assertEmpty(self._train(
        steps=None, max_iterations=1, on_executor=True))
    self._train(_SAME[1], on_executor=True, raises=ValueError)
    # With it, the next iteration may have other candidates.
    self.assertEmpty(self._train(_SAME[0], on_executor=True))

  @level.gate
  def test_on_an_executor(self):
    warnings = self._train(
        *_OF_TANH, on_executor=True, head=heads.BinaryClassHead())
    self.assertLen(warnings, 2)  # When it begins, and when its parts do.
    self.assertRegex(warnings[0], "head: .*; graph of t0_a: 1 Relu before")
    self.assertIn(": graph of t1_a, t1_b: 1 Relu before, 1 Tanh", warnings[1])
    self.assertEmpty(self._train(*_OF_TANH, head=heads.BinaryClassHead()))

  @parameterized.parameters(
      {"on_executor": True},
      {"input_fn": _arrays, "enable_subnetwork_summaries": False,
       "enable_ensemble_summaries": False,
       "config": tf_compat.RunConfig(tf_random_seed=1)})
  @level.gate
  def test_the_same_one(self, **arguments):
    before = self._note().graphs
    self.assertLen(before, 3)
    self.assertEmpty(self._train(**arguments))
    self.assertEqual(before, self._note().graphs)
    if "on_executor" in arguments:  # In the next iteration, too.
      self.assertEmpty(self._train(steps=2, max_iterations=3, **arguments))
      self.assertEmpty(self._train(max_iterations=3))

  @parameterized.parameters(*level.first([(False,), (True,)]))
  def test_answers(self, is_fitted):
    """Where ensembles are fitted, training builds no earlier network."""
    arguments = {}
    if is_fitted:
      shutil.rmtree(self._model_dir)
      arguments = dict(
          max_iterations=1, ensemblers=[ensemble.GreedyEnsembler()],
          evaluator=adanet.Evaluator(builders.input_fn(1)))
      self._train(steps=None, **arguments)

    def answer(builder_list):
      estimator = searches.estimator(
          self._model_dir, *builder_list, **arguments)
      with self.assertLogs(logging.get_absl_logger(), "WARNING") as logs:
        logging.warning("assertLogs wants one.")
        estimator.evaluate(builders.input_fn(1, batch_size=5))
        list(estimator.predict(lambda: _arrays()[0]))
      return _warnings(logs)

    self.assertEmpty(answer(_SAME))
    before = self._note()
    warnings = answer(_OF_TANH)
    self.assertEqual(before, self._note())
    self.assertLen(warnings, 2)
    for line in warnings:
      self.assertRegex(line, "with which this search answers: graph of t0_a.*"
                       ": 1 Relu before, 1 Tanh now. If .* again.$")

  @level.gate
  def test_another_learning_rate(self):
    model_dir = self.create_tempdir().full_path

    def train(rate, steps):
      with self.assertLogs(logging.get_absl_logger(), "WARNING") as logs:
        logging.warning("assertLogs wants one.")
        adanet.AutoEnsembleEstimator(
            heads.RegressionHead(), {
                name: lambda features: tf_compat.v1.matmul(
                    features["x"], tf_compat.v1.get_variable(
                        "w", [3, 1], use_resource=True))
                for name in "ab"},
            optimizer=lambda: tf_compat.keras.optimizers.SGD(rate),
            max_iteration_steps=4, max_iterations=2, model_dir=model_dir).train(
                _input_fn, steps=steps)
      return [line for line in logs.output if "learning rate" in line]

    self.assertEmpty(train(.01, 2))
    warnings = train(.5, 1)
    self.assertLen(warnings, 1)
    self.assertRegex(warnings[0], "Iteration 0: the learning rate of t0_a"
                     ".*t0_b stays 0.01, .*: 0.5 holds from the next iteration")
    self.assertEmpty(train(.01, 1))
    self.assertEmpty(train(.5, 1))  # It is the first one of the next iteration.



if __name__ == "__main__":
  absltest.main()
