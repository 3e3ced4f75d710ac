# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings that may differ where an iteration is divided into parts.

They are like `settings`, but AdaNet 0.8.0 has not run them.
"""

import adanet
from adanet.testing.oracle import builders
from adanet.testing.oracle import data
from adanet.testing.oracle import generators
from adanet.testing.oracle import library
from adanet.testing.oracle import setting
from adanet.tf_compat import v1 as tf

_SECOND = [setting.train(max_steps=8)]  # Within the second iteration.


class _Unseeded(builders.Dense):
  """Draws its variables and a dropout without a seed of its own."""

  def hidden(self, inputs, training):
    weights = tf.get_variable("w", [inputs.shape.as_list()[-1], 4])
    hidden = tf.matmul(inputs, weights)
    return tf.nn.dropout(hidden, rate=.3) if training else hidden


def _network(features):
  return tf.matmul(features["x"], builders.variable("w", "pool", 3, 1))


def _layer(features):
  return library.keras.layers.Dense(
      1, kernel_initializer=tf.constant_initializer(.2))(features["x"])


def _auto_ensemble(subnetwork_generator, **arguments):
  """Returns an `AutoEnsembleEstimator`."""
  del subnetwork_generator  # It has a pool instead.
  sub = adanet.AutoEnsembleSubestimator
  return adanet.AutoEnsembleEstimator(
      candidate_pool={
          "function": sub(_network, optimizer=builders.sgd),
          "layer": sub(_layer, optimizer=builders.adam)}, **arguments)


def table():
  """Returns all settings in a list."""
  make = setting.per_iteration
  return [
      setting.new("auto_ensemble", lambda c: dict(make=_auto_ensemble),
                  actions=_SECOND),
      # All that the parts of an iteration send, and a restart in the middle.
      setting.new("strategies_times_ensemblers", lambda c: dict(
          subnetwork_generator=make(*[
              lambda t, i=i: builders.Reporting(f"of{i}", (t, i), 1 + i)
              for i in range(2)]),
          ensemblers=[
              setting.complexity(
                  generators.Ordered(.1), use_bias=True, name="weighted"),
              adanet.ensemble.GreedyEnsembler()],
          ensemble_strategies=[
              adanet.ensemble.GrowStrategy(), adanet.ensemble.SoloStrategy()],
          evaluator=adanet.Evaluator(
              data.dataset("regression", num_epochs=1, batch_size=5)),
          report_materializer=adanet.ReportMaterializer(
              data.dataset("regression"), steps=2)),
                  actions=[setting.train(max_steps=3), setting.RESTART,
                           setting.train(max_steps=8)]),
      setting.new("unseeded", lambda c: dict(
          subnetwork_generator=make(*[
              lambda t, i=i: _Unseeded(f"unseeded{i}", (t, i))
              for i in range(2)])), actions=_SECOND),
  ]
