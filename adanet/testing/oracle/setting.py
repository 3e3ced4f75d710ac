# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A setting: a search, and the calls of its Estimator."""

import collections

import adanet
from adanet.testing.oracle import builders
from adanet.testing.oracle import generators
from adanet.testing.oracle import library

Action = collections.namedtuple("Action", ["name", "arguments"])

# The arguments of `estimator`: `model_dir` is a str, and `record(name,
# tensor)` returns a hook that notes the tensor's value at each step. `notes` is
# a dict from such a name to the list of values. `saver_hook(name)` returns a
# `CheckpointSaverHook` with a listener that notes its calls.
Context = collections.namedtuple(
    "Context", ["model_dir", "record", "notes", "saver_hook"])

Setting = collections.namedtuple(
    "Setting", ["name", "task", "estimator", "actions", "needs"])

MATRIX = adanet.ensemble.MixtureWeightType.MATRIX
SCALAR = adanet.ensemble.MixtureWeightType.SCALAR
VECTOR = adanet.ensemble.MixtureWeightType.VECTOR

_HEADS = {
    "regression": ("RegressionHead", []),
    "regression_3": ("RegressionHead", [3]),
    "binary": ("BinaryClassHead", []),
    "classes": ("MultiClassHead", [3]),
    "many_labels": ("MultiLabelHead", [3]),
}


def train(**arguments):
  return Action("train", arguments)


def evaluate(**arguments):
  return Action("evaluate", arguments)


def predict(**arguments):
  return Action("predict", arguments)


def export(receiver):
  return Action("export", {"receiver": receiver})


RESTART = Action("restart", {})


def new(name, estimator=lambda context: {}, task="regression",
        actions=(train(max_steps=7),), then=(),
        needs=None):
  """Returns a `Setting`.

  Args:
    name: str.
    estimator: function of a `Context` that returns arguments of
      `adanet.Estimator`; `defaults` has the rest.
    task: str, an argument of `data.labels`.
    actions: list of `Action`.
    then: list of `Action`, the last ones.
    needs: "tf.estimator", if our package needs it for this setting.
  """
  return Setting(name, task, estimator, list(actions) + list(then), needs)


def defaults(context, task):
  """Returns the arguments of `adanet.Estimator` that a setting may replace."""
  arguments = dict(
      subnetwork_generator=one_builder(),
      max_iteration_steps=5,
      enable_ensemble_summaries=False,
      enable_subnetwork_summaries=False,
      config=library.run_config(model_dir=context.model_dir))
  if task in _HEADS:
    name, positional = _HEADS[task]
    arguments["head"] = library.head(name, *positional)
  return arguments


def per_iteration(*makers):
  """Returns a generator that calls each maker with the iteration's number."""
  return generators.PerIteration(lambda t: [make(t) for make in makers])


def two_builders():
  return per_iteration(
      lambda t: builders.Linear("linear", t),
      lambda t: builders.Dense("dense", t, 2 + t, complexity=1.5 + t))


def one_builder(make=builders.Dense, **kwargs):
  return per_iteration(lambda t: make("one", t, **kwargs))


def two_heads(**kwargs):
  return library.head("MultiHead", [
      library.head("RegressionHead", name="price"),
      library.head("BinaryClassHead", name="sold")], **kwargs)


def complexity(*args, **kwargs):
  return adanet.ensemble.ComplexityRegularizedEnsembler(*args, **kwargs)


def three_builders():
  return per_iteration(
      *[lambda t, i=i: builders.Dense("dnn%d" % i, (t, i), 1 + i)
        for i in range(3)])


def two_alike():
  return per_iteration(
      *[lambda t, i=i: builders.Dense("dnn%d" % i, (t, i)) for i in range(2)])
