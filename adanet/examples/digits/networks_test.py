# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the networks: what a worker builds is the same on every worker."""

from absl.testing import absltest
from adanet.examples.digits import networks
from adanet.tf_compat import v1 as tf
import numpy as np

_HIDDEN_UNITS = {"linear": (), "one": (16,), "two": (16, 8)}


def _build(names, with_ensemble=False):
  """Returns the networks of a new graph."""
  training, _ = networks.load_images()
  with tf.Graph().as_default():
    batch = networks.next_batch(training, tf.distribute.InputContext())
    built = [
        networks.build_subnetwork(name, _HIDDEN_UNITS[name], batch)
        for name in names
    ]
    if with_ensemble:
      built.append(networks.build_ensemble(built, batch))
  return built


def _variables(network):
  """Returns the names and shapes of the variables of a network."""
  return {(v.op.name, str(v.shape))
          for v in network.loss.graph.get_collection(
              tf.GraphKeys.GLOBAL_VARIABLES, network.name + "/")}


class NetworksTest(absltest.TestCase):

  def test_split(self):
    training, held_out = networks.load_images()
    self.assertEqual(1797, len(training.labels) + len(held_out.labels))
    for images in (training, held_out):
      self.assertEqual((len(images.labels), 64), images.pixels.shape)
      self.assertEqual((0., 1.), (images.pixels.min(), images.pixels.max()))
      self.assertEqual(set(range(10)), set(images.labels))
    self.assertEmpty(
        set(map(bytes, training.pixels)) & set(map(bytes, held_out.pixels)))

    # The split is the same in every process.
    for first, second in zip((training, held_out), networks.load_images()):
      np.testing.assert_array_equal(first.pixels, second.pixels)
      np.testing.assert_array_equal(first.labels, second.labels)

  def test_workers_draw_from_different_images(self):
    images = networks.Images(
        np.arange(30, dtype=np.float32).reshape([30, 1]), np.arange(30))
    seen = []
    for worker in range(3):
      with tf.Graph().as_default(), tf.Session() as session:
        labels = networks.next_batch(
            images, tf.distribute.InputContext(3, worker)).labels
        seen.append({i for _ in range(3) for i in session.run(labels)})
    self.assertEqual([10] * 3, list(map(len, seen)))
    self.assertEqual(set(range(30)), set.union(*seen))

  def test_names_do_not_depend_on_the_rest_of_the_graph(self):
    graphs = [
        _build(_HIDDEN_UNITS, with_ensemble=True),
        _build(reversed(list(_HIDDEN_UNITS)))
    ]
    for name in _HIDDEN_UNITS:
      alone, = _build([name])
      with alone.loss.graph.as_default():
        self.assertLen(_variables(alone), len(tf.global_variables()))
      for built in graphs:
        beside, = (n for n in built if n.name == name)
        self.assertEqual(_variables(alone), _variables(beside))

  def test_a_step_trains_this_network_alone(self):
    built = _build(_HIDDEN_UNITS, with_ensemble=True)
    with built[0].loss.graph.as_default(), tf.Session() as session:
      weights = {n.name: tf.trainable_variables(n.name + "/") for n in built}
      session.run(tf.global_variables_initializer())
      for i, network in enumerate(built):
        before = session.run(weights)
        self.assertEqual(1, session.run(network.train_op))
        after, steps = session.run((weights, [n.step for n in built]))
        changed = {
            name for name in weights if any(
                (b != a).any() for b, a in zip(before[name], after[name]))
        }
        self.assertEqual({network.name}, changed)
        self.assertEqual([1] * (i + 1) + [0] * (3 - i), steps)


if __name__ == "__main__":
  absltest.main()
