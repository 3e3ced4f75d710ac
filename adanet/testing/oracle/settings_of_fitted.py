# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""More settings, of ensembles that are fitted when all networks have trained.

They are like `settings`, but AdaNet 0.8.0 has no such ensembles.
"""

import adanet
from adanet.testing.oracle import builders
from adanet.testing.oracle import data
from adanet.testing.oracle import generators
from adanet.testing.oracle import setting
from adanet.testing.oracle import settings_of_parts
from adanet.tf_compat import v1 as tf

_evaluate, _predict, _train = setting.evaluate, setting.predict, setting.train
_greedy = adanet.ensemble.GreedyEnsembler
_grow, _all, _solo = (
    adanet.ensemble.GrowStrategy, adanet.ensemble.AllStrategy,
    adanet.ensemble.SoloStrategy)
_THIRD = [_train(max_steps=12)]  # Within the third iteration.
_RESTARTED = [_train(max_steps=3), setting.RESTART, _train(max_steps=12)]


class _Equal(adanet.ensemble.FittedEnsembler):
  """Gives all members one weight, as a user's own class."""

  name = "equal"

  def fit(self, members, loss):
    assert loss(members[0].logits) >= 0
    return [1. / len(members)] * len(members)


def _fitted(name, arguments=lambda c: {}, task="regression", then=(_predict(),),
            actions=_THIRD, **evaluator):
  """Returns a setting of three builders with an evaluator."""
  return setting.new(name, lambda c: {**dict(
      subnetwork_generator=setting.three(), ensemblers=[_greedy()],
      evaluator=adanet.Evaluator(
          data.dataset(task, num_epochs=1, batch_size=5), **evaluator)),
                                      **arguments(c)},
                     task=task, actions=actions,
                     then=[_evaluate(), *then])


def _metrics(labels, predictions, features):
  """Returns a metric that needs features."""
  return {"weighted": tf.metrics.mean_squared_error(
      labels, predictions["predictions"], tf.abs(features["x"][:, :1]))}


def table():
  """Returns all settings in a list."""
  weighted = lambda: setting.complexity(generators.Ordered(.1), use_bias=True)
  return [
      _fitted("fitted"),
      _fitted("fitted_of_two_members", lambda c: dict(ensemblers=[_greedy(
          max_selections=7, max_members=2, adanet_lambda=.01,
          adanet_beta=.001)]), task="classes", actions=_RESTARTED),
      _fitted("fitted_beside_trained", lambda c: dict(
          ensemblers=[weighted(), _greedy()],
          ensemble_strategies=[_grow(), _all()])),
      _fitted("fitted_of_each_alone", lambda c: dict(
          ensemblers=[_Equal(), _greedy()],
          ensemble_strategies=[_solo(), _grow()], force_grow=True)),
      _fitted("fitted_for_two_heads", lambda c: dict(
          head=setting.two_heads(head_weights=[.3, 2.]),
          subnetwork_generator=setting.two_alike()), task="two_heads"),
      _fitted("fitted_by_a_metric", lambda c: dict(metric_fn=_metrics),
              metric_name="weighted", steps=3, actions=_RESTARTED),
      _fitted("fitted_without_nan", lambda c: dict(
          subnetwork_generator=settings_of_parts.diverging()),
              objective=adanet.Evaluator.Objective.MINIMIZE),
      _fitted("fitted_replay", lambda c: dict(
          ensemblers=[adanet.ensemble.MeanEnsembler(), _greedy()],
          ensemble_strategies=[_all()],
          replay_config=adanet.replay.Config([1, 2, 1]))),
      _fitted("fitted_with_reports", lambda c: dict(
          report_materializer=adanet.ReportMaterializer(
              data.dataset("regression"), steps=2),
          subnetwork_generator=setting.per_iteration(*[
              lambda t, i=i: builders.Reporting(f"of{i}", (t, i), 1 + i)
              for i in range(3)]))),
  ]
