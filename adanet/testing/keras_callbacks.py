# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Callbacks that change what Keras reads before, while and after it trains."""

import math

from adanet import tf_compat
from adanet.testing import keras_kinds
import numpy as np

keras = tf_compat.keras_3


class Penalized(keras.Model):
  """Has a penalty whose weight `call` reads."""

  def __init__(self):
    super().__init__()
    self.hidden = keras.layers.Dense(8, "tanh")
    self.last = keras.layers.Dense(1)
    self.weight = 5.

  def call(self, inputs):
    hidden = self.hidden(inputs)
    self.add_loss(self.weight * keras.ops.mean(hidden ** 2))
    return self.last(hidden)


class _Callback(keras.callbacks.Callback):
  """Changes what a callback may, by what it is told to do.

  Attributes:
    kind: str, one of `_CHANGED`.
  """

  def __init__(self, kind):
    super().__init__()
    self.kind = kind

  def on_train_begin(self, logs=None):
    if self.kind == "trainable":
      self.model.layers[0].trainable = False
    elif self.kind == "unfrozen":
      self.model.layers[0].trainable = True
    elif self.kind == "penalty":
      self.model.layers[0].kernel.regularizer = keras.regularizers.L2(.5)
    elif self.kind == "clipnorm":
      self.model.optimizer.clipnorm = 1e-3
    elif self.kind == "attribute":
      self.model.weight = 0.
    elif self.kind == "rate":
      self.model.optimizer.learning_rate = .02
    elif self.kind == "stopped":
      self.model.stop_training = True

  def on_epoch_begin(self, epoch, logs=None):
    if self.kind == "called":
      self.model.optimizer.learning_rate = .01 / 2**epoch
    elif self.kind == "frozen_at_first" and not epoch:
      self.model.layers[0].trainable = False
    elif self.kind == "annealed":
      self.model.weight = .1 * epoch  # Keras reads this of the first epoch.
    self.model.stop_training |= self.kind == "one_step" and epoch == 1

  def on_epoch_end(self, epoch, logs=None):
    if self.kind == "called":
      self.model.layers[-1].bias.assign_add([.01])
      logs["val_more"] = logs["val_loss"] + 1
      self.model.stop_training = epoch == 1
    elif self.kind == "logs":
      logs.update(text="a", count=np.int64(epoch), several=np.arange(2.),
                  val_loss=float(epoch))  # The first epoch is the best.
    elif self.kind == "history":
      past = self.model.history.history.get("val_loss", [9.])
      self.model.stop_training = logs["val_loss"] > .9 * past[-1]
    elif self.kind == "nan":
      # NaN in the first epoch is the best value for EarlyStopping alone.
      logs["val_loss"] = math.nan if epoch else 1.


def _make_built():
  model = keras_kinds.dense()()
  model.build(keras_kinds.X.shape)
  return model


def _make_frozen():
  model = keras_kinds.dense()()
  model.layers[0].trainable = False
  return model


_CHANGED = ("called", "trainable", "unfrozen", "penalty", "clipnorm",
            "attribute", "rate", "logs", "nan", "stopped", "one_step",
            "frozen_at_first", "annealed", "history")
CALLBACKS = keras_kinds.Group(
    {**dict.fromkeys(_CHANGED, keras_kinds.dense()),
     "attribute": Penalized, "annealed": Penalized, "unfrozen": _make_frozen,
     "penalty": _make_built}, "mse", keras_kinds.X, keras_kinds.Y,
    {"callbacks": lambda name: [
        _Callback(name.split(",")[0]),
        keras.callbacks.ReduceLROnPlateau(patience=1)]}, loads=False)
