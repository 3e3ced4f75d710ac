# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the networks: what a worker builds is the same on every worker."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
from adanet.examples.digits import candidates
from adanet.examples.digits import networks
from adanet.tf_compat import v1 as tf
import numpy as np


def _build(indices, with_ensemble=False):
  """Returns the networks of a new graph."""
  training, _ = networks.load_images()
  with tf.Graph().as_default():
    batch = networks.next_batch(training, tf.distribute.InputContext())
    built = [
        networks.build_subnetwork(candidates.CANDIDATES[i], batch)
        for i in indices
    ]
    if with_ensemble:
      built.append(networks.build_ensemble(built, batch))
  return built


def _variables(network):
  return {(v.op.name, str(v.shape))
          for v in network.loss.graph.get_collection(
              tf.GraphKeys.GLOBAL_VARIABLES, network.name + "/")}


class ImagesTest(absltest.TestCase):

  def test_split(self):
    training, held_out = networks.load_images()
    self.assertEqual(1797, len(training.labels) + len(held_out.labels))
    for images in (training, held_out):
      self.assertEqual((len(images.labels), 64), images.pixels.shape)
      self.assertEqual((0., 1.), (images.pixels.min(), images.pixels.max()))
      self.assertEqual(set(range(10)), set(images.labels))
    # No image is in both.
    self.assertEmpty(
        set(map(bytes, training.pixels)) & set(map(bytes, held_out.pixels)))

  def test_same_split_everywhere(self):
    for first, second in zip(networks.load_images(), networks.load_images()):
      np.testing.assert_array_equal(first.pixels, second.pixels)
      np.testing.assert_array_equal(first.labels, second.labels)


class NextBatchTest(absltest.TestCase):

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


class NetworksTest(parameterized.TestCase):

  @parameterized.parameters(itertools.permutations(range(3), 2))
  def test_names_do_not_depend_on_what_else_is_built(self, first, second):
    alone, = _build([second])
    _, beside = _build([first, second])
    self.assertNotEmpty(_variables(alone))
    self.assertEqual(_variables(alone), _variables(beside))
    # All variables lie in the network's own scope.
    graph = alone.loss.graph
    self.assertLen(
        graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES),
        len(_variables(alone)))

  @parameterized.parameters(0, 1, 2, 3)
  def test_a_step_trains_this_network_alone(self, index):
    built = _build(range(3), with_ensemble=True)
    weights = {
        n.name: n.loss.graph.get_collection(
            tf.GraphKeys.TRAINABLE_VARIABLES, n.name + "/") for n in built
    }
    with built[0].loss.graph.as_default(), tf.Session() as session:
      session.run(tf.global_variables_initializer())
      before = session.run(weights)
      session.run(built[index].train_op)
      after, steps = session.run((weights, [n.step for n in built]))
    changed = {
        name for name in weights if any(
            (b != a).any() for b, a in zip(before[name], after[name]))
    }
    self.assertEqual({built[index].name}, changed)
    self.assertEqual([int(i == index) for i in range(4)], steps)


if __name__ == "__main__":
  absltest.main()
