# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what `value` says of its searches, and of what it refuses.

No test times anything.
"""

import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.testing import level
from adanet.testing import processes
from benchmarks import program
from benchmarks import value
from benchmarks import value_data
from benchmarks import value_fit
from benchmarks import value_keras
from benchmarks import value_task
import numpy as np


def _searches(scores, secs):
  """Returns the rows of a task, of two seeds.

  Args:
    scores: dict from the name of a row to its scores; .5 for others.
    secs: dict from the name of a way to its CPU seconds; 10 for others.
  """
  rows = []
  for name, way in value_task.WAYS.items():
    of_choice = {
        choice: scores.get(", ".join(filter(None, (name, choice))), (.5, .5))
        for choice in way.choices}
    rows += [value.row_of_search(name, choice, "digits", [
        {"cpu_secs": secs.get(name, 10.), "wall_secs": 3., "networks": 9,
         "scores": {key: of_choice[key][seed] for key in of_choice}}
        for seed in range(2)]) for choice in way.choices]
  return rows


_KERAS = value_keras.KerasSize(("digits", "cancer"), 3, 2, 1)


def _keras_rows(losses, secs, steps=(4, 6, 2)):
  """Returns the rows of Keras users on two tasks, of three seeds.

  Args:
    losses: dict from a way to its losses; .5 for others.
    secs: dict from a way to its CPU seconds; 10 for others.
    steps: of the networks.
  """
  results = {}
  for job in value_keras.jobs(_KERAS, 3):
    tunes = value_keras.WAYS[job.way].package
    results[job] = {
        "cpu_secs": secs.get(job.way, (10., 10., 10.))[job.seed],
        "wall_secs": 3., "networks": 3, "scores": {"": .9},
        "losses": {choice: losses.get(
            choice or job.way, (.5, .5, .5))[job.seed]
                   for choice in value_keras.WAYS[job.way].choices},
        "steps": None if tunes else dict(enumerate(steps))}
  return value_keras.rows(_KERAS, 3, results)


def _send_epochs(connection):
  """Sends a list of the labels of each of two epochs of `Model.fit`."""
  keras = tf_compat.keras_3
  keras.utils.set_random_seed(0)
  value_keras.shuffle_each_epoch()
  seen = []

  def loss(y_true, y_pred):
    seen.append(y_true.numpy().ravel().tolist())
    return keras.ops.mean(y_pred)

  model = keras.Sequential([keras.layers.Dense(1)])
  model.compile("sgd", loss, run_eagerly=True)
  x = np.arange(20.)[:, None]
  model.fit(x, x, batch_size=20, epochs=2, verbose=0)
  connection.send(seen)


class ValueBenchmarkTest(parameterized.TestCase):

  @parameterized.parameters(level.first(sorted(value_data.TASKS)))
  def test_data_of_searches(self, task):
    data = value_data.load(task, 0)
    sizes = [len(data.labels[part]) for part in value_data.PARTS]
    np.testing.assert_allclose(
        [.6, .2, .2], np.array(sizes) / sum(sizes), atol=1 / sum(sizes))
    examples = np.concatenate(
        [data.features[part] for part in value_data.PARTS])
    self.assertLen(examples, sum(sizes))
    if value_data.TASKS[task].standardizes:
      train = data.features["train"]
      np.testing.assert_allclose(0., train.mean(axis=0), atol=1e-5)
      np.testing.assert_allclose(1., train.std(axis=0), atol=1e-5)
      self.assertGreater(np.abs(examples.mean(axis=0)).max(), 1e-3)
    value_data.load.cache_clear()
    again = value_data.load(task, 0)
    other = value_data.load(task, 1)
    for part in value_data.PARTS:
      np.testing.assert_array_equal(data.labels[part], again.labels[part])
      self.assertFalse(
          np.array_equal(data.features[part], other.features[part]))

  def test_scores_of_searches(self):
    labels = value_data.Data({}, {"test": np.array([0, 1, 1, 0])}, 2)
    logits = np.array([[9., 0.], [0., 9.], [9., 0.], [9., 0.]])
    self.assertEqual(.75, labels.score("test", logits))
    self.assertAlmostEqual(9 / 4, labels.loss("test", logits), places=3)
    values = value_data.Data(
        {}, {"test": np.array([[-1.], [1.], [-1.], [1.]])}, 0)
    self.assertEqual(1., values.score("test", values.labels["test"]))
    self.assertEqual(0., values.score("test", np.zeros([4, 1])))
    self.assertEqual(1., values.loss("test", np.zeros([4, 1])))

  def test_bars_of_searches(self):
    selection_1, selection_2 = value_task.SELECTION_1, value_task.SELECTION_2
    hand = f"{value_task.LOOP}, {value_task.BY_HAND}"
    rows = _searches(
        {selection_1: (.6, .7), hand: (.62, .7), selection_2: (.8, .8),
         value_task.ADANET_3: (.7, .7)},
        {selection_1: 6., value_task.HYPERBAND: 30., selection_2: 15.,
         value_task.ADANET_3: 12.}
    ) + [value.row_of_iteration(value.Size((), 9, 720), [(13., 6.), (15., 6.)]),
         *value.rows_of_fit([value_fit.Fit(.5, 11, 10)])]
    # Those of a task: score, CPU time, in pairs.
    expected = [(.01, .01), (.6, .5), (-.15, 0.), (.2, 1.), (-.1, 0.),
                (1.25, 1.), (2., 2.), (.5, 1.), (1.1, 1.2)]
    np.testing.assert_allclose(
        expected, [(bar.measured, bar.limit) for bar in value.bars(rows)])

  @level.gate
  def test_refuses_searches_that_fail(self):
    job = value_task.Job("nobody's way", "digits", 0, 1, 1)
    with self.assertRaisesRegex(program.CheckError, "nobody's way"):
      value.run_all([job], [tuple(os.sched_getaffinity(0))])

  @level.gate
  def test_shuffles_each_epoch(self):
    # In a process of its own, as no test that forks can follow.
    seen = processes.Process(_send_epochs).receive()
    for epoch in seen:
      self.assertCountEqual(range(20), epoch)
    self.assertLen(set(map(tuple, seen)), 2)

  def test_rows_of_keras_users(self):
    rows = _keras_rows({value_keras.LOOP: (.4, .6, .5)}, {})
    self.assertEqual(
        [(task, way) for task in _KERAS.tasks for way in value_keras.WAYS],
        [(row[value_keras.COLUMN], row["what"]) for row in rows])
    self.assertEqual("loss 0.5000 ± 0.0577; accuracy 0.9000; 10.0 CPU s",
                     rows[3]["figure"])
    # With one seed there is no error.
    self.assertEqual([3, 3, 3, 3, 3, 1],
                     [len(row["losses"]) for row in rows[:6]])
    self.assertStartsWith(rows[5]["figure"], "loss 0.5000 (1 seed);")

  def test_bars_of_keras_users(self):
    rows = _keras_rows(
        {value_keras.SEARCH: (.5, .7, .6), value_keras.LOOP: (.4, .5, .6),
         value_keras.FOLDS: (.25, .7, .6), value_keras.ITERATIONS: (.6,) * 3,
         value_keras.HYPERBAND: (.9, .8, .7), value_keras.ALL_BRACKETS: (.3,)},
        {value_keras.SEARCH: (5., 6., 8.)})
    # Differences to the loop are .1, .2 and 0; the last is of the first seed.
    of_task = [(1.55 / 1.8, 1.02), (1.55 / 1.8, 1.), (.1, .1 / 3**.5), (.6, .6),
               (-.2, 0.), (.2, 0.)]
    np.testing.assert_allclose(
        2 * of_task + [(.5**(1 / 3), .9)],
        [(bar.measured, bar.limit) for bar in value_keras.bars(rows)[:-6]])
    self.assertLen(value.bars(rows), 13 + 6)

  def test_bars_of_trials(self):
    rows = _keras_rows(
        {value_keras.TRIALS: (.2, .4, .8), value_keras.TWICE: (.4,) * 3,
         value_keras.BEST: (.8,) * 3, value_keras.BAYESIAN: (.1,) * 3},
        {value_keras.OPTUNA: (5., 10., 20.)})
    np.testing.assert_allclose(
        [(1., .85), (.5, .96), (4., .93), (1., .7), (.8, .93), (1., .7)],
        [(bar.measured, bar.limit) for bar in value_keras.bars(rows)[-6:]])

  @parameterized.parameters([(4, 6)], [(4, 0, 2)])
  def test_refuses_searches_of_keras_users_without_steps(self, steps):
    with self.assertRaisesRegex(program.CheckError, "trained its networks"):
      _keras_rows({}, {}, steps)

  def test_draws_every_search(self):
    rows = _searches({}, {})
    rows_of_others = _keras_rows({}, {}) + [
        value.row_of_iteration(value.Size((), 9, 720), [(13., 6.)])]
    picture = value.draw({
        "question": "why", "sides": {"ours": {"rows": rows + rows_of_others}}})
    above, below = picture.subfigs
    self.assertLen(above.axes, 1)
    self.assertLen(below.axes, 2)
    self.assertLen(below.legends[0].get_texts(), len(value_keras.WAYS))
    names = [text.get_text() for text in above.legends[0].get_texts()]
    self.assertEqual([row["what"] for row in rows], names)
    styles = value.styles(names)
    self.assertLen(
        {(styles[name]["color"], styles[name]["marker"]) for name in names},
        len(rows))


if __name__ == "__main__":
  absltest.main()
