# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The data of the searches that `value` compares.

It is in three parts: one to train on, one held out to choose by, and one for
the score.
"""

import functools
from typing import Any, Callable, Dict, NamedTuple, Tuple

from adanet.tf_compat import v1 as tf
import numpy as np
from sklearn import datasets

BATCH_SIZE = 64
EVALUATION_BATCH_SIZE = 1000

PARTS = ("train", "held_out", "test")
_ENDS = (.6, .8)  # Of the first two parts.


class Data(NamedTuple):
  """A task: what is to be predicted from what.

  Attributes:
    features: dict from part to float32 array [n, size].
    labels: dict from part to array: int [n], or float32 [n, 1] of mean 0 and
      variance 1 for a regression.
    num_classes: int; 0 for a regression.
  """
  features: Dict[str, np.ndarray]
  labels: Dict[str, np.ndarray]
  num_classes: int

  def dataset(self, part: str) -> Any:
    """Returns a part as a `tf.data.Dataset`: all batches, in order, once."""
    return tf.data.Dataset.from_tensor_slices(
        (self.features[part], self.labels[part])).batch(EVALUATION_BATCH_SIZE)

  def batches(self, seed: int) -> Any:
    """Returns the endless `tf.data.Dataset` to train on."""
    return tf.data.Dataset.from_tensor_slices(
        (self.features["train"], self.labels["train"])).shuffle(
            len(self.labels["train"]), seed=seed).repeat().batch(BATCH_SIZE)

  def score(self, part: str, logits: np.ndarray) -> float:
    """Returns the accuracy, or R2 of a regression."""
    labels = self.labels[part]
    if self.num_classes:
      return float(np.mean(np.argmax(logits, axis=1) == labels))
    return float(1 - np.mean((logits - labels)**2) / np.var(labels))

  def loss(self, part: str, logits: np.ndarray) -> float:
    """Returns the mean cross entropy, or the mean squared error."""
    labels = self.labels[part]
    if not self.num_classes:
      return float(np.mean((logits - labels)**2))
    shifted = logits - logits.max(axis=1, keepdims=True)
    right = shifted[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - right))


def _teacher(random):
  """Returns what a random network says, with noise."""
  features = random.randn(20000, 40)
  layer = np.tanh(features @ random.randn(40, 32) / 40**.5 * 2)
  logits = layer @ random.randn(32, 10)
  return features, np.argmax(logits + random.gumbel(size=logits.shape), 1)


def _digits(random):
  images, labels = _shuffled(datasets.load_digits, random)
  return images / 16, labels


def _friedman1(random):
  return datasets.make_friedman1(20000, noise=1., random_state=random)


def _shuffled(loader, random):
  """Returns the features and the labels of a loader in a random order."""
  features, labels = loader(return_X_y=True)
  order = random.permutation(len(labels))
  return features[order], labels[order]


class Source(NamedTuple):
  """How a task's data is made.

  Attributes:
    make: function of a `RandomState` that returns features and labels.
    num_classes: int; 0 for a regression.
    standardizes: bool, whether features get mean 0 and variance 1 in the part
      to train on. Without it they have the scale that they are made with.
  """
  make: Callable[[np.random.RandomState], Tuple[np.ndarray, np.ndarray]]
  num_classes: int
  standardizes: bool = False


TASKS = {
    "teacher": Source(_teacher, 10), "digits": Source(_digits, 10),
    "friedman1": Source(_friedman1, 0),
    "cancer": Source(functools.partial(
        _shuffled, datasets.load_breast_cancer), 2, standardizes=True),
    "diabetes": Source(functools.partial(
        _shuffled, datasets.load_diabetes), 0, standardizes=True)}


def _standardized(values, num_train):
  """Returns values whose first have mean 0 and variance 1, by column."""
  train = values[:num_train]
  return (values - train.mean(axis=0)) / train.std(axis=0)


@functools.lru_cache(maxsize=1)
def load(name: str, seed: int) -> Data:
  """Returns the `Data` of a task."""
  task = TASKS[name]
  features, labels = task.make(np.random.RandomState(seed))
  ends = [int(len(labels) * end) for end in _ENDS]
  if task.standardizes:
    features = _standardized(features, ends[0])
  if task.num_classes:
    labels = labels.astype(np.int32)
  else:
    labels = _standardized(labels, ends[0]).astype(np.float32)[:, None]
  return Data(*(
      dict(zip(PARTS, np.split(array, ends)))
      for array in (features.astype(np.float32), labels)), task.num_classes)


def score_name(task: str) -> str:
  """Returns what the score of a task is."""
  return "accuracy" if TASKS[task].num_classes else "R2"


def loss_name(task: str) -> str:
  """Returns what the loss of a task is."""
  return "cross entropy" if TASKS[task].num_classes else "mean squared error"
