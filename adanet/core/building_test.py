# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the graph of an iteration has."""

import json
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet.testing import level
from adanet import tf_compat
from adanet.core import building
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.testing import builders
from adanet.testing import searches

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
    subnetwork = super().build_subnetwork(*args, **kwargs)
    self.calls.append(
        ("step", tf_compat.v1.train.get_or_create_global_step().op.name))
    return subnetwork

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


def _build(builder_list, strategy=None, job="chief", index=0, mode="train",
           **kwargs):
  """Returns the first iteration of these builders, and its graph."""
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
        searches.make(builder_list, max_iteration_steps=1)._replace(**kwargs),
        [], 0, task, config, strategy,
        lambda names: strategy.worker_share(len(names)),
        lambda number: ([], [])), graph


def _variables(graph):
  with graph.as_default():
    return {v.op.name for v in tf_compat.v1.global_variables()}


class BuildingTest(parameterized.TestCase):

  def test_builder_sees_its_own_variables_and_step(self):
    builder_list = [_Scoped("a"), _Scoped("b")]
    _, graph = _build(builder_list)
    for builder in builder_list:
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
  def test_workers_give_variables_the_names_of_the_chief(self):
    def make_builders():
      return [_Keras(name) for name in "abc"]

    strategy = distributed.RoundRobinStrategy()
    chief = _variables(_build(make_builders(), strategy)[1])
    whole = _variables(_build(make_builders())[1])
    self.assertEqual(whole, chief)
    worker_variables = set()
    for i in range(4):
      worker = _variables(_build(make_builders(), strategy, "worker", i)[1])
      self.assertContainsSubset(worker, chief)
      worker_variables |= worker
    self.assertEqual({v for v in chief if "/subnetwork_" in v},
                     {v for v in worker_variables if "/subnetwork_" in v})

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
