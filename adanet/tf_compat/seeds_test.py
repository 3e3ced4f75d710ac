# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the seeds that a program does not give, on every TensorFlow.

`building_test` has what follows for a search.
"""

import random
import sys
import threading
import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.tf_compat import keras_internals
from adanet.tf_compat import seeds
import numpy as np

v1 = tf_compat.v1


def _draw():
  """Returns what an op, Python, NumPy and Keras draw."""
  draws = [v1.get_seed(None), random.random(), np.random.uniform()]
  value = tf_compat.keras.initializers.get("glorot_uniform")([2, 3])
  with v1.Session() as session:
    return draws + [session.run(value).tolist()]


def _seed_all(seed):
  """Seeds what belongs to the process, and the graph."""
  random.seed(seed)
  np.random.seed(seed)
  v1.set_random_seed(seed)
  for keras in (tf_compat.keras, tf_compat.v2.keras):
    if hasattr(keras.utils, "set_random_seed"):
      keras.utils.set_random_seed(seed)
      return


class SeedsTest(absltest.TestCase):

  def _graph(self, seed=1):
    class Graph(seeds.UnseededOps, v1.Graph):
      pass

    graph = self.enter_context(Graph().as_default())
    v1.set_random_seed(seed)
    return graph

  def _all_draw(self, names, seed=1):
    """Returns what is drawn in scopes of these names, one after the other."""
    graph = self._graph(seed)
    draws = []
    for name in names:
      with seeds.seed_scope(graph, name):
        draws.append(_draw())
    return draws

  def test_a_scope_depends_on_its_name_and_the_seed_alone(self):
    a, b = self._all_draw("ab")
    for draw, other in zip(a, b):
      self.assertNotEqual(draw, other)
    self.assertEqual([b, a], self._all_draw("ba"))
    for draw, other in zip(a, self._all_draw("a", seed=2)[0]):
      self.assertNotEqual(draw, other)

  def test_a_scope_goes_on(self):
    first, _, then = self._all_draw("aba")
    for draw, other in zip(first, then):
      self.assertNotEqual(draw, other)
    self.assertEqual([first, then], self._all_draw("aa"))

  def test_seeds_that_are_given_stay(self):
    graph = self._graph()
    op_seeds = v1.get_seed(5)
    with seeds.seed_scope(graph, "a"):
      self.assertEqual(op_seeds, v1.get_seed(5))

  def test_after_a_scope_all_is_as_before(self):

    def after(is_entered):
      graph = self._graph()
      _seed_all(3)
      v1.get_seed(None)
      if is_entered:
        with self.assertRaisesRegex(ValueError, "in the scope"):
          with seeds.seed_scope(graph, "a"):
            _seed_all(4)
            v1.get_seed(None)
            raise ValueError("in the scope")
      return _draw()

    self.assertEqual(after(False), after(True))

  def test_graphs_without_a_seed(self):

    def draw(names):
      """Returns what Python and NumPy draw in scopes, and what after them."""
      graph = self._graph(None)
      draws = []
      for name in names:
        with seeds.seed_scope(graph, name):
          draws.append(_draw())
          self.assertEqual((None, None), draws[-1][0])
      return [values[1:] for values in draws], random.getstate()

    _seed_all(3)
    state = random.getstate()
    draws = []
    for _ in range(2):
      values, after = draw("aba")
      self.assertEqual(state, after)
      draws += values
    for values in zip(*draws):  # None is drawn twice.
      self.assertLen({str(value) for value in values}, len(draws))

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_other_threads_draw_nothing_from_keras_3(self):
    make = tf_compat.keras_3.initializers.GlorotUniform  # Now it is loaded.

    def value():
      tensor = make()([2, 3])
      with v1.Session() as session:
        return session.run(tensor).tolist()

    def draw(disturb):
      graph = self._graph()
      values = []
      for _ in range(2):
        with seeds.seed_scope(graph, "a"):
          if disturb:
            thread = threading.Thread(target=random.random)
            thread.start()
            thread.join()
          values.append(value())
      return values

    undisturbed = draw(False)
    self.assertNotEqual(*undisturbed)
    self.assertEqual(undisturbed, draw(True))
    # After the scope it draws from `random` again.
    outside = []
    for _ in range(2):
      random.seed(1)
      outside.append(value())
    self.assertEqual(*outside)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class SeededThreadTest(parameterized.TestCase):
  """What a function draws that makes a model of Keras 3."""

  def _draw(self, function=lambda: None, seed=1, disturb=False):
    """Returns what a function draws, and Keras before and after it."""

    def keras_draws():
      if disturb:
        thread = threading.Thread(target=random.sample, args=(range(99), 3))
        thread.start()
        thread.join()
      make = tf_compat.keras_3.initializers.GlorotUniform
      return np.asarray(make()([2, 3])).tolist()

    with seeds.seeded_thread(seed):
      return keras_draws(), function(), keras_draws()

  def setUp(self):
    super().setUp()
    if not tf_compat.v2.executing_eagerly():
      self.skipTest("Keras 3 makes no values in a graph.")

  @parameterized.parameters(
      lambda: None, random.random, np.random.rand)
  def test_draws_follow_from_the_seed(self, function):
    first = self._draw(function)
    self.assertEqual(first, self._draw(function))
    self.assertNotEqual(first[0], first[2])
    self.assertNotEqual(first[0], self._draw(function, seed=2)[0])

  @parameterized.parameters(1, 311, 312, 313, 9999)
  def test_draws_of_a_function_change_no_seed_of_keras(self, count):
    self.assertEqual(self._draw()[::2], self._draw(
        lambda: [random.random() for _ in range(count)])[::2])

  def test_other_threads_change_nothing(self):
    self.assertEqual(self._draw(), self._draw(disturb=True))

  @parameterized.parameters(
      random.seed, lambda seed: tf_compat.keras_3.utils.set_random_seed(seed))
  def test_a_seed_of_the_function_counts(self, set_seed):
    _, _, drawn = self._draw(lambda: set_seed(5))
    self.assertEqual(drawn, self._draw(lambda: set_seed(5), seed=2)[2])
    self.assertNotEqual(drawn, self._draw(lambda: set_seed(6))[2])
    state = random.getstate()
    self.addCleanup(random.setstate, state)
    set_seed(5)  # As in a program without adanet.
    make = tf_compat.keras_3.initializers.GlorotUniform
    self.assertEqual(drawn, np.asarray(make()([2, 3])).tolist())

  def test_the_generators_go_on_as_if_nothing_was_drawn(self):
    states = random.getstate(), np.random.get_state()[1].tolist()
    self._draw(lambda: (random.random(), np.random.rand()))
    self.assertEqual(
        states, (random.getstate(), np.random.get_state()[1].tolist()))

  def test_other_threads_draw_from_python(self):
    seed_module = sys.modules["keras.src.random.seed_generator"]
    drawn = []

    def draw():
      random.seed(4)
      drawn.append(seed_module.make_default_seed())

    with seeds.seeded_thread(1):
      thread = threading.Thread(target=draw)
      thread.start()
      thread.join()
    self.assertEqual([random.Random(4).randint(1, 10**9)], drawn)

  def test_a_keras_that_draws_in_another_way(self):
    with mock.patch.object(
        keras_internals, "seeds_of_keras_3", side_effect=RuntimeError):
      self.assertEqual(self._draw(), self._draw())


if __name__ == "__main__":
  absltest.main()
