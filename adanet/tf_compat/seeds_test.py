# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the seeds that a program does not give, on every TensorFlow.

`building_test` has what follows for a search.
"""

import random
import threading
import unittest

from absl.testing import absltest
from adanet import tf_compat
from adanet.tf_compat import seeds
import numpy as np

v1 = tf_compat.v1


def _draw():
  """Returns what an op, Python, NumPy and Keras draw."""
  found = [v1.get_seed(None), random.random(), np.random.uniform()]
  value = tf_compat.keras.initializers.get("glorot_uniform")([2, 3])
  with v1.Session() as session:
    return found + [session.run(value).tolist()]


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
    found = []
    for name in names:
      with seeds.seed_scope(graph, name):
        found.append(_draw())
    return found

  def test_a_scope_depends_on_its_name_and_the_seed_alone(self):
    a, b = self._all_draw("ab")
    for one, other in zip(a, b):
      self.assertNotEqual(one, other)
    self.assertEqual([b, a], self._all_draw("ba"))
    for one, other in zip(a, self._all_draw("a", seed=2)[0]):
      self.assertNotEqual(one, other)

  def test_a_scope_goes_on(self):
    first, _, then = self._all_draw("aba")
    for one, other in zip(first, then):
      self.assertNotEqual(one, other)
    self.assertEqual([first, then], self._all_draw("aa"))

  def test_seeds_that_are_given_stay(self):
    graph = self._graph()
    given = v1.get_seed(5)
    with seeds.seed_scope(graph, "a"):
      self.assertEqual(given, v1.get_seed(5))

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
      found = []
      for name in names:
        with seeds.seed_scope(graph, name):
          found.append(_draw())
          self.assertEqual((None, None), found[-1][0])
      return [one[1:] for one in found], random.getstate()

    _seed_all(3)
    state = random.getstate()
    found = []
    for _ in range(2):
      values, after = draw("aba")
      self.assertEqual(state, after)
      found += values
    for values in zip(*found):  # None is drawn twice.
      self.assertLen({str(value) for value in values}, len(found))

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_other_threads_draw_nothing_from_keras_3(self):
    make = tf_compat.keras_3.initializers.GlorotUniform  # Now it is loaded.

    def value():
      made = make()([2, 3])
      with v1.Session() as session:
        return session.run(made).tolist()

    def draw(disturb):
      graph = self._graph()
      found = []
      for _ in range(2):
        with seeds.seed_scope(graph, "a"):
          if disturb:
            thread = threading.Thread(target=random.random)
            thread.start()
            thread.join()
          found.append(value())
      return found

    undisturbed = draw(False)
    self.assertNotEqual(*undisturbed)
    self.assertEqual(undisturbed, draw(True))
    # After the scope it draws from `random` again.
    outside = []
    for _ in range(2):
      random.seed(1)
      outside.append(value())
    self.assertEqual(*outside)


if __name__ == "__main__":
  absltest.main()
