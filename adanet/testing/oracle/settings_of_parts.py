# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""More settings, which may differ where an iteration is divided into parts.

They are like `settings`, but AdaNet 0.8.0 has not run them.
"""

import adanet
from adanet.testing.oracle import builders
from adanet.testing.oracle import data
from adanet.testing.oracle import generators
from adanet.testing.oracle import hooks
from adanet.testing.oracle import library
from adanet.testing.oracle import setting
from adanet.tf_compat import v1 as tf

_evaluate, _predict, _train = setting.evaluate, setting.predict, setting.train
_setting = setting.new
_SECOND = [_train(max_steps=8)]  # Within the second iteration.


class _Diverging(builders.Dense):
  """Has logits of NaN from its third step on."""

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    made = super().build_subnetwork(
        features, logits_dimension, training, iteration_step, summary,
        previous_ensemble)
    return made._replace(logits=made.logits + tf.where(
        iteration_step < 2, tf.zeros_like(made.logits),
        tf.fill(tf.shape(made.logits), float("nan"))))


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


def _stops_after(*counts):
  """Returns a generator of builders that stop early."""
  return generators.PerIteration(lambda t: [
      builders.Hooked(f"stop{count}", (t, count),
                      hooks=lambda count=count: [hooks.StopAfter(count)])
      for count in counts])


def diverging():
  """Returns a generator of two builders, one of which diverges."""
  return setting.per_iteration(
      lambda t: builders.Dense("good", t), lambda t: _Diverging("bad", t))


def table():
  """Returns all settings in a list."""
  judge = lambda: adanet.Evaluator(
      data.dataset("regression", num_epochs=1, batch_size=16))
  once = {"num_epochs": 1}
  return [
      _setting("auto_ensemble", lambda c: dict(make=_auto_ensemble),
               actions=_SECOND, then=[_predict()]),
      _setting("exactly_the_input", lambda c: dict(
          subnetwork_generator=setting.two(), max_iteration_steps=4),
               actions=[_train(batches=once, max_steps=9)]),
      _setting("input_ends_after_one_stopped", lambda c: dict(
          subnetwork_generator=_stops_after(2, 100)),
               actions=[_train(batches=once)]),
      _setting("mean_of_steps", lambda c: dict(
          subnetwork_generator=_stops_after(2, 100, 200),
          max_iteration_steps=9), actions=[_train(max_steps=4)]),
      _setting("more_builders_each_iteration", lambda c: dict(
          subnetwork_generator=generators.PerIteration(lambda t: [
              builders.Dense(f"dense{i}", (t, i)) for i in range(t + 1)])),
               actions=_SECOND),
      _setting("nan_of_one", lambda c: dict(subnetwork_generator=diverging()),
               actions=_SECOND, then=[_evaluate()]),
      _setting("nan_of_one_with_evaluator", lambda c: dict(
          subnetwork_generator=diverging(), evaluator=judge()), actions=_SECOND),
      _setting("no_end_of_an_iteration", lambda c: dict(
          subnetwork_generator=setting.two(), max_iteration_steps=None),
               actions=[_train(steps=3), _train(steps=2)]),
      _setting("reports_of_three", lambda c: dict(
          evaluator=judge(),
          report_materializer=adanet.ReportMaterializer(
              data.dataset("regression"), steps=2),
          subnetwork_generator=setting.per_iteration(*[
              lambda t, i=i: builders.Reporting(f"of{i}", (t, i), 1 + i)
              for i in range(3)])), actions=_SECOND),
      _setting("strategies_times_ensemblers", lambda c: dict(
          subnetwork_generator=setting.three(),
          ensemblers=[
              setting.complexity(
                  generators.Ordered(.1), use_bias=True, name="weighted"),
              adanet.ensemble.MeanEnsembler()],
          ensemble_strategies=[
              adanet.ensemble.GrowStrategy(), adanet.ensemble.SoloStrategy()]),
               actions=[_train(max_steps=3), setting.RESTART,
                        _train(max_steps=8)]),
      _setting("unseeded", lambda c: dict(
          subnetwork_generator=setting.per_iteration(*[
              lambda t, i=i: _Unseeded(f"unseeded{i}", (t, i))
              for i in range(3)])), actions=_SECOND),
  ]


def differing():
  """Returns settings with other results on an executor.

  Returns:
    Dict from the reason to a `Setting`.
  """
  return {
      # In one process, ensembles train until the last subnetwork stops.
      "all builders stop before max_iteration_steps": _setting(
          "all_stop_early", lambda c: dict(
              subnetwork_generator=_stops_after(2, 3), max_iteration_steps=9),
          actions=[_train(max_steps=3)]),
      # Where an ensemble without an optimizer counts the batch that is not
      # there, as in AdaNet, it may be done before the subnetworks, and its
      # part is. In one process its average goes on.
      "the iteration goes on after its input ended": _setting(
          "goes_on_after_its_input_ended", lambda c: dict(
              subnetwork_generator=_stops_after(2, 100)),
          actions=[_train(batches={"num_epochs": 1})] * 2),
      # Each part gets a copy of it, as it was when `train` was called.
      "a hook counts over two iterations": _setting(
          "hook_counts_on", actions=[_train(stop_after=7, max_steps=9)]),
  }
