# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The graphs of networks that read handwritten digits, and of their ensemble.

The data are in scikit-learn: 1,797 images of 8x8 pixels, each a digit from 0 to
9. Source: UCI, "Optical Recognition of Handwritten Digits".
"""

import collections

from adanet.tf_compat import v1 as tf
import numpy as np

_NUM_CLASSES = 10
_BATCH_SIZE = 64
_LEARNING_RATE = 3e-3

Images = collections.namedtuple("Images", "pixels labels")
"""Images as arrays.

Attributes:
  pixels: float32 [num_images, 64], in [0, 1].
  labels: int64 [num_images], in [0, 10).
"""

Network = collections.namedtuple("Network", "name logits loss step train_op")
"""A subnetwork or the ensemble in a graph.

Attributes:
  name: str, the scope of its variables.
  logits: float32 [batch_size, 10].
  loss: float32 [], the cross entropy of `logits`, averaged over the batch.
  step: int64 [], the number of training steps so far, of all workers.
  train_op: int64 [], takes one step, and returns the new `step`.
"""


def load_images():
  """Returns `(training, held_out)`, the same split in every process."""
  # scikit-learn takes a second to import, and a ps does not need it.
  from sklearn import datasets  # pylint: disable=g-import-not-at-top
  from sklearn import model_selection  # pylint: disable=g-import-not-at-top
  digits = datasets.load_digits()
  pixels = (digits.data / digits.data.max()).astype(np.float32)
  labels = digits.target.astype(np.int64)
  train_pixels, test_pixels, train_labels, test_labels = (
      model_selection.train_test_split(
          pixels, labels, test_size=.3, random_state=0, stratify=labels))
  return Images(train_pixels, train_labels), Images(test_pixels, test_labels)


def next_batch(images, share):
  """Returns tensors of the next training batch: pixels and labels.

  Args:
    images: `Images`, as arrays.
    share: a `tf.distribute.InputContext`, which part of the images to use.
  """
  dataset = tf.data.Dataset.from_tensor_slices(images)
  dataset = dataset.shard(share.num_input_pipelines, share.input_pipeline_id)
  dataset = dataset.shuffle(
      len(images.labels), seed=share.input_pipeline_id).repeat()
  batches = tf.data.make_one_shot_iterator(dataset.batch(_BATCH_SIZE))
  return Images(*batches.get_next())


def _dense(inputs, units, name):
  with tf.variable_scope(name):
    kernel = tf.get_variable("kernel", shape=[inputs.shape[1], units])
    bias = tf.get_variable(
        "bias", shape=[units], initializer=tf.zeros_initializer())
  return tf.matmul(inputs, kernel) + bias


def _trained(logits, labels, step):
  """Returns the `Network` with these logits, in the current variable scope.

  The variables of the optimizer are in this scope too. The name of a variable
  determines its parameter server, so it must not depend on the rest of the
  graph.
  """
  scope = tf.get_variable_scope().name
  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  minimize = tf.train.AdamOptimizer(_LEARNING_RATE).minimize(
      loss,
      global_step=step,
      var_list=tf.trainable_variables(scope + "/"))
  with tf.control_dependencies([minimize]):
    train_op = step.read_value()
  return Network(scope, logits, loss, step, train_op)


def build_subnetwork(name, hidden_units, batch):
  """Builds a subnetwork.

  Args:
    name: str, the scope of its variables.
    hidden_units: sequence of int, the widths of its hidden layers.
    batch: the `Images` to train on, as tensors.

  Returns:
    The `Network`.
  """
  with tf.variable_scope(name, use_resource=True):
    hidden = batch.pixels
    for i, units in enumerate(hidden_units):
      hidden = tf.nn.relu(_dense(hidden, units, "hidden_{}".format(i)))
    logits = _dense(hidden, _NUM_CLASSES, "logits")
    step = tf.get_variable(
        "step",
        dtype=tf.int64,
        initializer=tf.constant(0, tf.int64),
        trainable=False)
    return _trained(logits, batch.labels, step)


def build_ensemble(subnetworks, batch):
  """Builds a weighted sum of subnetworks. It trains only the weights.

  Args:
    subnetworks: list of `Network`.
    batch: the `Images` to train on, as tensors, the same as theirs.

  Returns:
    The `Network`.
  """
  with tf.variable_scope("ensemble", use_resource=True):
    weights = tf.get_variable(
        "mixture_weights",
        initializer=tf.fill([len(subnetworks)], 1. / len(subnetworks)))
    logits = tf.stop_gradient(tf.stack([s.logits for s in subnetworks], -1))
    step = tf.train.get_or_create_global_step()
    return _trained(
        tf.reduce_sum(logits * weights, -1), batch.labels, step)
