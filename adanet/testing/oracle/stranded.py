# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Searches that AdaNet 0.8.0 began, and that go on from their model_dirs."""

import adanet
from adanet.testing.oracle import builders
from adanet.testing.oracle import data
from adanet.testing.oracle import generators
from adanet.testing.oracle import library
from adanet.testing.oracle import setting

_ONCE = dict(num_epochs=1, batch_size=16)


def _regression(context):
  """Two iterations are done; the third has begun."""
  del context
  return dict(
      subnetwork_generator=setting.two_builders(),
      ensemblers=[setting.complexity(
          generators.Ordered(.1), adanet_lambda=.01, use_bias=True)])


def _binary(context):
  """Three candidates, judged by accuracy, with reports."""
  del context
  return dict(
      head=library.head("BinaryClassHead"),
      subnetwork_generator=setting.three_builders(),
      evaluator=adanet.Evaluator(
          data.dataset("binary", **_ONCE), metric_name="accuracy",
          objective=adanet.Evaluator.Objective.MAXIMIZE),
      report_materializer=adanet.ReportMaterializer(
          data.dataset("binary", **_ONCE)))


def _multi_head(context):
  """Two heads, and mixture weights that go on where they were."""
  return dict(
      head=library.head("MultiHead", [
          library.head("RegressionHead", name="price"),
          library.head("BinaryClassHead", name="sold"),
      ]),
      subnetwork_generator=setting.one_builder(
          builders.Dense, optimizer=builders.adam),
      ensemblers=[setting.complexity(
          generators.Ordered(.1),
          mixture_weight_type=setting.VECTOR,
          warm_start_mixture_weights=True,
          model_dir=context.model_dir)])


# (name, task, the arguments of the Estimator, steps begun, steps in the end)
_TABLE = [
    ("regression", "regression", _regression, 12, 18),
    ("binary", "binary", _binary, 7, 12),
    ("multi_head", "two_heads", _multi_head, 8, 12),
]


def begun():
  """Returns the settings that have model_dirs as test data."""
  return [
      setting.Setting(name, task, arguments,
                       [setting.train(max_steps=steps)], None)
      for name, task, arguments, steps, _ in _TABLE
  ]


def goes_on():
  """Returns the settings of the actions on these model_dirs."""
  return [
      setting.Setting(name, task, arguments, [
          setting.evaluate(),
          setting.predict(),
          setting.export("parsed"),
          setting.train(max_steps=steps),
          setting.evaluate(),
      ], None) for name, task, arguments, _, steps in _TABLE
  ]
