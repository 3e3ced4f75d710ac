# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the graph of an iteration has."""

import fractions
import json
import os
import random
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet.testing import level
from adanet import tf_compat
from adanet.core import ensembles
from adanet.core import building
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.distributed import placement
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_CLUSTER = {
    "chief": ["localhost:1"],
    "worker": [f"localhost:{2 + i}" for i in range(4)],
    "ps": ["localhost:8", "localhost:9"],
}


class _Scoped(builders.Dense):
  """Notes what it sees of the graph while it builds."""

  def build_subnetwork(self, *args, **kwargs):
    self.calls.append((
        "begins with", [v.op.name for v in tf_compat.v1.trainable_variables()]))
    made = super().build_subnetwork(*args, **kwargs)
    self.calls.append(
        ("step", tf_compat.v1.train.get_or_create_global_step().op.name))
    return made

  def build_subnetwork_train_op(self, *args, **kwargs):
    self.calls.append(
        ("trains", [v.op.name for v in tf_compat.v1.trainable_variables()]))
    self.calls.append(("step", tf_compat.v1.train.get_global_step().op.name))
    return super().build_subnetwork_train_op(*args, **kwargs)


class _Keras(builders.Dense):
  """A network of Keras layers that nobody named."""

  def build_subnetwork(self, features, logits_dimension, *args, **kwargs):
    del args, kwargs
    layers = tf_compat.keras.layers
    hidden = layers.Dense(2)(features["x"])
    return adanet.Subnetwork(
        last_layer=hidden, logits=layers.Dense(logits_dimension)(hidden),
        complexity=1.)


class _Unseeded(builders.Dense):
  """A network that gives no seed to what it draws."""

  def build_subnetwork(self, features, logits_dimension, training, *args,
                       **kwargs):
    del args, kwargs
    hidden = self._hidden(features["x"], training)
    return adanet.Subnetwork(
        last_layer=hidden, logits=self._logits(hidden, logits_dimension),
        complexity=1.)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, *args,
                                **kwargs):
    del args, kwargs
    v1 = tf_compat.v1
    # For variables of the optimizer that only a name scope names.
    noisy = loss * v1.random.uniform([], .5, 1.)
    return v1.train.AdamOptimizer(.1).minimize(noisy, var_list=var_list)


class _UnseededOps(_Unseeded):
  """A network of variables and ops."""

  def _hidden(self, inputs, training):
    v1 = tf_compat.v1
    hidden = v1.matmul(inputs, v1.get_variable("hidden", [3, 8]))
    return v1.nn.dropout(hidden, rate=.5) if training else hidden

  def _logits(self, hidden, dimension):
    v1 = tf_compat.v1
    return v1.matmul(hidden, v1.Variable(v1.random.normal([8, dimension])))


class _UnseededLayers(_Unseeded):
  """A network of Keras layers."""

  def _hidden(self, inputs, training):
    layers = tf_compat.keras.layers
    hidden = layers.GaussianNoise(.1)(
        layers.Dense(8)(inputs), training=training)
    return layers.Dropout(.5)(hidden, training=training)

  def _logits(self, hidden, dimension):
    return tf_compat.keras.layers.Dense(dimension)(hidden)


class _UnseededNumbers(_Unseeded):
  """A network of what Python and NumPy draw."""

  def _hidden(self, inputs, training):
    v1 = tf_compat.v1
    weights = v1.get_variable(
        "hidden", initializer=np.random.uniform(-1, 1, [3, 8]).astype("f"))
    return v1.matmul(inputs, weights)

  def _logits(self, hidden, dimension):
    v1 = tf_compat.v1
    bias = v1.get_variable("bias", initializer=random.random())
    return bias + v1.reduce_sum(hidden, axis=1, keepdims=True)


class _NoisyEnsembler(adanet.ensemble.ComplexityRegularizedEnsembler):
  """Has layers of its own."""

  def build_ensemble(self, subnetworks, *args, **kwargs):
    made = super().build_ensemble(subnetworks, *args, **kwargs)
    layers = tf_compat.keras.layers
    return made._replace(logits=layers.Dropout(.5)(
        layers.Dense(1)(made.logits), training=True))


def _search(made):
  return searches.make(made, max_iteration_steps=1)._replace(
      enable_ensemble_summaries=True, enable_subnetwork_summaries=True,
      exports=ensembles.ExportOptions(
          subnetwork_logits=False, subnetwork_last_layer=True))


def _build(made, strategy=None, job="chief", index=0, mode="train", share=None,
           history=(), **kwargs):
  """Returns the iteration of these builders after a history, and its graph."""
  config = tf_compat.RunConfig(model_dir="/unused")
  if strategy:
    tf_config = json.dumps(
        {"cluster": _CLUSTER, "task": {"type": job, "index": index}})
    with mock.patch.dict(os.environ, TF_CONFIG=tf_config):
      config = tf_compat.RunConfig(model_dir="/unused")
  strategy = (strategy or distributed.ReplicationStrategy()).with_config(config)
  with scopes.new_graph(1).as_default() as graph:
    tf_compat.v1.train.create_global_step(graph)
    features, labels = builders.data()
    task = subnetworks.LearningTask(
        adanet.heads.RegressionHead(), None,
        {"x": tf_compat.v1.constant(features)},
        tf_compat.v1.constant(labels), mode)
    return building.build(
        _search(made)._replace(**kwargs), history, len(history), task, config,
        strategy,
        lambda names: share or strategy.worker_share(len(names)),
        lambda number: ([], [])), graph


def _values(built, graph):
  """Returns the values of all variables at first, and after three steps."""
  v1 = tf_compat.v1
  steps = [[spec.train_op.train_op for spec in specs] for specs in (
      built.subnetworks, [c for c in built.new_candidates])]
  with graph.as_default(), v1.Session() as session:
    variables = {v.op.name: v for v in v1.global_variables()}
    session.run(v1.global_variables_initializer())
    found = [session.run(variables)]
    for _ in range(3):
      for step in steps:
        session.run(step)
    return found + [session.run(variables)]


def _variables(graph):
  with graph.as_default():
    return {v.op.name for v in tf_compat.v1.global_variables()}


class BuildingTest(parameterized.TestCase):

  def test_builder_sees_its_own_variables_and_step(self):
    made = [_Scoped("a"), _Scoped("b")]
    _, graph = _build(made)
    for builder in made:
      scope = "adanet/iteration_0/subnetwork_t0_" + builder.name
      own = [scope + "/hidden", scope + "/logits"]
      self.assertEqual(
          [("begins with", []), "build", ("step", scope + "/iteration_step"),
           ("trains", own), ("step", scope + "/iteration_step"), "train"],
          builder.calls)
    with graph.as_default():
      # Both end with the builders.
      self.assertEqual(
          "global_step", tf_compat.v1.train.get_global_step().op.name)
      self.assertLen(
          [v for v in tf_compat.v1.trainable_variables()
           if "/subnetwork_" in v.op.name], 4)

  @level.gate
  def test_step_of_a_builder_that_does_not_ask_is_not_made(self):
    _, graph = _build([builders.Dense("a")])
    self.assertNoCommonElements(
        ["adanet/iteration_0/subnetwork_t0_a/iteration_step"],
        _variables(graph))

  @level.gate
  def test_workers_give_variables_the_names_of_the_chief(self):
    def made():
      return [_Keras(name) for name in "abc"]

    strategy = distributed.RoundRobinStrategy()
    chief = _variables(_build(made(), strategy)[1])
    whole = _variables(_build(made())[1])
    self.assertEqual(whole, chief)
    found = set()
    for i in range(4):
      worker = _variables(_build(made(), strategy, "worker", i)[1])
      self.assertContainsSubset(worker, chief)
      found |= worker
    self.assertEqual({v for v in chief if "/subnetwork_" in v},
                     {v for v in found if "/subnetwork_" in v})

  @level.gate
  def test_graph_grows_with_what_the_worker_builds(self):
    def size(count, job, index):
      made = [builders.Dense(str(i)) for i in range(count)]
      built, graph = _build(made, distributed.RoundRobinStrategy(), job, index)
      self.assertEqual(
          [["build", "train"]] * len(built.subnetworks),
          [s.builder.calls for s in built.subnetworks])
      self.assertEqual(len(built.subnetworks), sum(bool(b.calls) for b in made))
      return len(graph.get_operations())

    # Each of four workers has one of four subnetworks, and half of eight.
    one = size(4, "worker", 0)
    self.assertEqual(one, size(3, "worker", 0))
    two = size(8, "worker", 0)
    self.assertLess(two, 2.1 * one)
    self.assertGreater(size(4, "chief", 0), 4 * one)

  def test_worker_without_ensembles_has_no_candidates(self):
    built, _ = _build([builders.Dense("a"), builders.Dense("b")],
                      distributed.RoundRobinStrategy(), "worker", 0)
    self.assertEmpty(built.candidates)
    self.assertEqual((False, True, None), (
        built.share.builds_ensemble, built.share.trains_subnetworks,
        built.share.fractions))
    self.assertEqual([0], list(built.share.subnetworks))

  def test_a_worker_divides_its_time(self):
    made = [builders.Dense("a"), builders.Dense("b")]
    strategy = distributed.BalancedStrategy([1, 5], num_ensemble_workers=1)
    third = fractions.Fraction(1, 3)
    # Four of five workers train, and each has 1.5 of the costs.
    for index, expected in ((0, ((0, 2 * third), (1, third))), (1, ((1, 1),))):
      built, _ = _build(made, strategy, "worker", index)
      self.assertEqual(expected, built.share.fractions)
      self.assertEqual([i for i, _ in expected], list(built.share.trained))

  @parameterized.parameters(*level.first([("train",), ("eval",)]))
  def test_a_part_is_some_subnetworks_and_the_ensembles_of_these_alone(
      self, mode):
    kwargs = dict(
        mode=mode, ensemblers=[
            adanet.ensemble.ComplexityRegularizedEnsembler(),
            adanet.ensemble.MeanEnsembler()],
        strategies=[adanet.ensemble.GrowStrategy(),
                    adanet.ensemble.AllStrategy()])

    def made():
      return [builders.Dense(name) for name in "abc"]

    def candidates(built):
      return {c.name: c.architecture for c in built.candidates}

    whole, graph = _build(made(), **kwargs)
    part, graph_of_part = _build(
        made(), share=placement.Share(True, [1], True), **kwargs)
    self.assertEqual("abc", "".join(part.builder_names))
    self.assertEqual(["t0_b"], [s.name for s in part.subnetworks])
    # With the index that each has among all candidates.
    self.assertEqual(
        {name: architecture for name, architecture in candidates(whole).items()
         if "_b_grow_" in name}, candidates(part))
    self.assertLen(part.candidates, 2)
    self.assertEqual(
        {v for v in _variables(graph)
         if "iteration_0/" not in v or "t0_b" in v}, _variables(graph_of_part))
    self.assertEqual(["b"] if mode == "eval" else [], list(part.reports))

  @parameterized.parameters(*level.first([
      (_UnseededOps, 0), (_UnseededNumbers, 0), (_UnseededLayers, 1)]))
  def test_a_part_has_the_values_of_the_whole(self, network, iteration_number):
    v1 = tf_compat.v1

    def build(history, **kwargs):
      return _build(
          [network(name) for name in "ab"], history=history,
          ensemblers=[_NoisyEnsembler(
              lambda: v1.train.AdamOptimizer(.1), use_bias=True,
              mixture_weight_initializer=v1.random_normal_initializer())],
          **kwargs)

    history = []
    if iteration_number:
      before, _ = build([])
      history.append((0, before.candidates[1].architecture))
    wholes = _values(*build(history))
    parts = _values(*build(history, share=placement.Share(True, (1,), True)))
    for whole, part in zip(wholes, parts):
      self.assertContainsSubset(list(part), list(whole))
      for name, value in part.items():
        np.testing.assert_array_equal(whole[name], value, name)
    first, last = wholes
    own = f"/subnetwork_t{iteration_number}_b/"
    weights = [name for name, value in first.items()
               if own in name and np.any(value) and "_power" not in name]
    self.assertNotEmpty(weights)
    for name in weights:
      self.assertFalse(np.array_equal(first[name], last[name]), name)
      other = first[name.replace("_b/", "_a/")]
      self.assertFalse(np.array_equal(first[name], other), name)

  def test_metrics_are_built_for_evaluation_alone(self):
    for mode, expected in (("train", 0), ("eval", 1), ("infer", 0)):
      built, graph = _build([builders.Dense("a")], mode=mode)
      with graph.as_default():
        self.assertEqual(
            bool(expected), bool(tf_compat.v1.local_variables()), mode)
      self.assertEqual(bool(expected), bool(built.subnetworks[0].metrics))
      self.assertEqual(bool(expected), bool(built.reports))

  def test_two_ensembles_of_one_name(self):
    with self.assertRaisesRegex(
        ValueError, "iteration 0.*t0_a_grow_complexity_regularized"):
      _build([builders.Dense("a")],
             strategies=[adanet.ensemble.GrowStrategy()] * 2)


if __name__ == "__main__":
  absltest.main()
