# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a search on an executor gives the figures of one process.

All figures are equal to the last digit: variables, architectures, reports and
history.
"""

import contextlib
import glob
import itertools
import json
import os
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import engines
from adanet.testing.oracle import actions
from adanet.testing.oracle import builders
from adanet.testing.oracle import data
from adanet.testing.oracle import figures
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


def _table():
  """Returns settings that may differ where an iteration is divided into parts.

  They are like `settings`, but AdaNet 0.8.0 has not run them. They are new at
  each call: an optimizer cannot be sent once it has trained.

  Returns:
    A dict from the name of each setting to the setting.
  """
  make = setting.per_iteration
  table = [
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
  return {setting.name: setting for setting in table}


def _without_times(value):
  """Returns what a record has, without when it was and how long it took."""
  if isinstance(value, dict):
    return {key: _without_times(item) for key, item in value.items()
            if "seconds" not in key and key != "time"}
  if isinstance(value, list):
    return [_without_times(item) for item in value]
  return value


def _history(model_dir):
  """Returns the records of the iterations by their names."""
  records = {}
  for path in glob.glob(os.path.join(model_dir, "history", "*.json")):
    with open(path, encoding="utf-8") as f:
      records[os.path.basename(path)] = _without_times(json.load(f))
  return records


class ExecutorTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._exits = contextlib.ExitStack()
    cls._executor = cls._exits.enter_context(engines.process_pool(2))

  @classmethod
  def tearDownClass(cls):
    cls._exits.close()
    super().tearDownClass()

  def _figures(self, what, executor):
    """Returns the figures of a setting, and of the history of its search."""
    model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    results = actions.perform(what, model_dir, itertools.repeat(
        {"executor": executor} if executor else {}))
    for result in filter(None, results):
      self.assertNotIn("exception", result)
      if "variables" in result:  # Hooks note in copies of lists.
        result.pop("steps")
        result.pop("notes", None)
    results.append(_history(model_dir))
    shutil.rmtree(model_dir)
    return results

  @parameterized.parameters(*_table())
  def test_same_as_one_process(self, name):
    expected = self._figures(_table()[name], None)
    actual = self._figures(_table()[name], self._executor)
    lines = figures.differences(expected, actual, 0.)
    self.assertEmpty(lines, "\n" + "\n".join(lines[:40]))
    # -0. is not 0.
    self.assertEqual(json.dumps(expected, sort_keys=True),
                     json.dumps(actual, sort_keys=True))


if __name__ == "__main__":
  absltest.main()
