# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The data of the settings: 32 rows of three features, labels of each task."""

import functools
import zlib

from adanet.testing.oracle import library
from adanet.tf_compat import v1 as tf
import numpy as np

NUM_ROWS = 32
NUM_FEATURES = 3


def values(seed, *shape):
  """Returns float32 values of a shape that follow from a seed of any type."""
  random = np.random.RandomState(zlib.crc32(repr(seed).encode()) % 2**31)
  return (.7 * random.randn(*shape)).astype(np.float32)


@functools.lru_cache(maxsize=None)
def features():
  """Returns a dict of the features "x", of weights "w" and of a step "s"."""
  return {
      "x": values("x", NUM_ROWS, NUM_FEATURES),
      "w": (1. + np.arange(NUM_ROWS) % 3).astype(np.float32).reshape(-1, 1),
  }


@functools.lru_cache(maxsize=None)
def labels(task):
  """Returns the labels of a task: an array, or a dict of arrays."""
  x = features()["x"]
  score = x.dot(np.float32([[1.], [-2.], [.5]])) + .6 * x[:, :1] * x[:, 1:2]
  wide = np.tanh(x.dot(values("wide", NUM_FEATURES, NUM_FEATURES)))
  if task == "regression":
    return score
  if task == "regression_3":
    return wide
  if task == "binary":
    return (score > 0).astype(np.int64)
  if task == "binary_words":
    return np.where(score > 0, b"yes", b"no")
  if task == "classes":
    return np.argmax(wide, axis=1).astype(np.int64).reshape(-1, 1)
  if task == "classes_words":
    words = np.array([b"blue", b"green", b"red"])
    return words[labels("classes")]
  if task == "many_labels":
    return (wide > 0).astype(np.int64)
  if task == "two_heads":
    return {"price": score, "sold": (score > .2).astype(np.int64)}
  raise ValueError("task must be one of the names above, got %r" % task)


def dataset(task, batch_size=8, num_epochs=None, rows=slice(None)):
  """Returns an input function of batches in the order of the rows.

  Args:
    task: str, an argument of `labels`.
    batch_size: int.
    num_epochs: int, or None to repeat for ever.
    rows: slice of the rows to use.
  """

  def input_fn():
    targets = labels(task)
    if isinstance(targets, dict):
      targets = {name: target[rows] for name, target in targets.items()}
    else:
      targets = targets[rows]
    used = {name: feature[rows] for name, feature in features().items()}
    batches = tf.data.Dataset.from_tensor_slices((used, targets))
    return batches.batch(batch_size).repeat(num_epochs)

  return input_fn


def tensors(task):
  """Returns an input function of all rows at each step, for ever."""

  def input_fn():
    return ({name: tf.constant(value) for name, value in features().items()},
            tf.constant(labels(task)))

  return input_fn


def receiver(kind):
  """Returns a serving input function: "raw" tensors, or "parsed" examples."""

  def raw():
    placeholders = {
        name: tf.placeholder(tf.float32, [None, value.shape[1]], name=name)
        for name, value in sorted(features().items())
    }
    return library.serving_input_receiver(placeholders, placeholders)

  def parsed():
    examples = tf.placeholder(tf.string, [None], name="examples")
    used = tf.io.parse_example(
        examples, {
            name: tf.io.FixedLenFeature([value.shape[1]], tf.float32)
            for name, value in sorted(features().items())
        })
    return library.serving_input_receiver(used, {"examples": examples})

  return {"raw": raw, "parsed": parsed}[kind]


def served_values(name, num_rows=3):
  """Returns the value to feed to a receiver's tensor, by its name."""
  if name != "examples":
    return features()[name][:num_rows]
  examples = []
  for i in range(num_rows):
    example = tf.train.Example()
    for key, value in features().items():
      example.features.feature[key].float_list.value.extend(value[i])
    examples.append(example.SerializeToString())
  return examples
