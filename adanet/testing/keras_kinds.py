# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kinds of models and data of which a network has to equal `Model.fit`'s.

A group has its data, and functions of models that train on them.
"""

import functools
from typing import Any, NamedTuple

from adanet import tf_compat
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L, O, ops = keras.layers, keras.optimizers, keras.ops
_RANDOM = np.random.RandomState(0)
ROWS = 150


class Group(NamedTuple):
  """Data, and functions of models that train on them.

  Attributes:
    models: dict from a name to a function.
    loss: the search's.
    x, y: the data.
    fit: dict of further arguments of `fit`.
    search: dict of further arguments of `EnsembleSearch`.
    apart: dict from a model to the greatest difference of its variables, where
      they are not equal to the last bit.
    loads: bool, whether a program without these classes loads the ensemble.
  """
  models: dict[str, Any]
  loss: Any
  x: Any
  y: Any
  fit: dict[str, Any] = {}
  search: dict[str, Any] = {}
  apart: dict[str, float] = {}
  loads: bool = True


X = _RANDOM.randn(ROWS, 6).astype("float32")
Y = (X[:, :1] * X[:, 1:2] + X[:, 2:3]).astype("float32")
CLASSES = (X[:, :3].argmax(1)).astype("int32")
TOKENS = _RANDOM.randint(0, 9, [ROWS, 7])
TAGS = TOKENS % 3
IMAGES = _RANDOM.rand(ROWS, 8, 8, 1).astype("float32")


def dense(*inner, size=1, activation=None, **compiled):
  """Returns a function of a Sequential with some layers' functions inside."""

  def make():
    model = keras.Sequential([
        L.Dense(8, "tanh"), *(make_layer() for make_layer in inner),
        L.Dense(size, activation)])
    if compiled:
      arguments = {
          key: make() if callable(make) and key != "loss" else make
          for key, make in compiled.items()}
      model.compile(loss=arguments.pop("loss", "mse"), **arguments)
    return model

  return make


def optimizer(function, *inner):
  return dense(*inner, optimizer=function)


def without_metrics(function):
  """Returns a function of a compiled model.

  Model.fit fails where a train_step leaves metrics out that are compiled.
  """
  def make():
    model = function()
    model.compile("adam", "mse")
    return model

  return make


class Subclassed(keras.Model):
  """Has no config, and is built by its first call."""

  def __init__(self):
    super().__init__()
    self.inner = [L.Dense(8, "relu"), L.Dropout(.2)]
    self.last = L.Dense(1)

  def call(self, x, training=False):
    for layer in self.inner:
      x = layer(x, training=training) if isinstance(layer, L.Dropout) else (
          layer(x))
    return self.last(x)


class OwnTrainStep(Subclassed):

  def train_step(self, data):
    x, y = data
    with tf.GradientTape() as tape:
      loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
    self.optimizer.apply_gradients(zip(
        tape.gradient(loss, self.trainable_weights), self.trainable_weights))
    return {"loss": loss, "twice": 2 * loss}


class OwnLoop(Subclassed):
  """Returns a dict in its logs, as the guides of Keras do."""

  def train_step(self, data):
    x, y = data
    with tf.GradientTape() as tape:
      y_pred = self(x, training=True)
      loss = self.compute_loss(x, y, y_pred)
    self.optimizer.apply(
        tape.gradient(loss, self.trainable_variables), self.trainable_variables)
    for metric in self.metrics:
      if metric.name == "loss":
        metric.update_state(loss)
      else:
        metric.update_state(y, y_pred)
    return {metric.name: metric.result() for metric in self.metrics}


class OwnTestStep(Subclassed):
  """Has a loss of held-out rows of its own, which no metric has."""

  def test_step(self, data):
    x, y = data
    return {"loss": ops.max(ops.abs(y - self(x, training=False)))}


class OwnPredictStep(Subclassed):
  """Predicts something else than what its loss is of."""

  def predict_step(self, data):
    return super().predict_step(data) * 2


class OwnLoss(Subclassed):

  def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None,
                   training=True):
    return super().compute_loss(x, y, y_pred, sample_weight) + ops.mean(
        ops.abs(y_pred))


class TwoOptimizers(Subclassed):

  def __init__(self):
    super().__init__()
    self.second = O.Adam(.01)

  def train_step(self, data):
    x, y = data
    with tf.GradientTape(persistent=True) as tape:
      loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
    inner, last = self.inner[0].trainable_weights, self.last.trainable_weights
    self.optimizer.apply_gradients(zip(tape.gradient(loss, inner), inner))
    self.second.apply_gradients(zip(tape.gradient(loss, last), last))
    return {"loss": loss}


class AddsLoss(L.Layer):

  def call(self, x):
    self.add_loss(.1 * ops.mean(ops.square(x)))
    return x


class PythonFunction(L.Layer):
  """Computes in Python, as layers of some packages do."""

  def __init__(self, function):
    super().__init__()
    self.function = function

  def call(self, x):
    result = self.function(lambda a: np.tanh(a).astype("float32"), [x],
                           tf.float32)
    result = tf.stop_gradient(tf.reshape(result, tf.shape(x)))
    return ops.reshape(result, [-1, 8]) + x


class ReadsValues(L.Layer):
  """Needs run_eagerly."""

  def call(self, x):
    return x * (2. if float(ops.convert_to_numpy(ops.mean(x))) > 0 else 1.)


def frozen():
  inner = keras.Sequential([L.Dense(8), L.BatchNormalization()])
  inner.trainable = False
  return keras.Sequential([inner, L.Dense(1)])


def lora():
  layer = L.Dense(8)
  layer.build([None, 6])
  layer.enable_lora(2)
  return keras.Sequential([keras.Input([6]), layer, L.Dense(1)])


def functional():
  i = keras.Input([6])
  h = L.Dense(8, "relu")(i)
  return keras.Model(i, L.Add()([L.Dense(1)(h), L.Dense(1)(i)]))


def of_policy(policy):
  def make():
    return keras.Sequential([
        L.Dense(8, "relu", dtype=policy), L.Dense(1, dtype="float32")])
  return make


def whole_policy(policy):
  def make():
    model = keras.Sequential([L.Dense(8, "relu"), L.Dense(1, dtype="float32")])
    model.dtype_policy = policy
    model.compile("adam", "mse")
    return model
  return make


def normalized():
  layer = L.Normalization()
  layer.adapt(X)
  return keras.Sequential([layer, L.Dense(1)])


NUMBERS = Group({
    "dropout": dense(lambda: L.Dropout(.3)),
    "train_step": without_metrics(OwnTrainStep), "loop": OwnLoop,
    "ema": optimizer(lambda: O.Adam(.01, use_ema=True, ema_momentum=.9)),
    "float16": of_policy("mixed_float16"),
    "early": dense(optimizer=lambda: O.SGD(5.)),
    "sequential": dense(), "functional": functional, "class": Subclassed,
    "batch_norm": dense(L.BatchNormalization),
    "regularizer": dense(lambda: L.Dense(4, kernel_regularizer="l2")),
    "spectral": dense(lambda: L.SpectralNormalization(L.Dense(4))),
    "add_loss": dense(AddsLoss), "frozen": frozen, "lora": lora,
    "normalization": normalized,
    "bins": lambda: keras.Sequential([
        keras.Input([6]), L.Discretization(
            [-1., 0., 1.], output_mode="one_hot"), L.Flatten(), L.Dense(1)]),
    "test_step": OwnTestStep, "predict_step": OwnPredictStep,
    "compute_loss": OwnLoss,
    "two_optimizers": without_metrics(TwoOptimizers),
    "numpy_function": dense(lambda: PythonFunction(tf.numpy_function)),
    "eagerly": dense(ReadsValues, optimizer="adam", run_eagerly=True),
    "jit": dense(lambda: L.Dropout(.3), optimizer="adam", jit_compile=True),
    "loss_scale": dense(optimizer=lambda: O.LossScaleOptimizer(O.Adam())),
    "policy": whole_policy("mixed_float16"),
    "ema_overwrite": optimizer(lambda: O.Adam(
        use_ema=True, ema_overwrite_frequency=2)),
    "accumulation": optimizer(lambda: O.Adam(gradient_accumulation_steps=2)),
    "cosine": optimizer(lambda: O.Adam(O.schedules.CosineDecay(.01, 9))),
    "nadam": optimizer(O.Nadam), "adafactor": optimizer(O.Adafactor),
    "muon": optimizer(lambda: O.Muon(.01)),
    "weight_decay": optimizer(lambda: O.AdamW(weight_decay=.1)),
    "metrics": dense(optimizer="adam", metrics=lambda: ["mae"],
                     weighted_metrics=lambda: ["mse"]),
    "other_loss": dense(optimizer="adam", loss=keras.losses.Huber(.1)),
}, "mse", X, Y, search={"optimizer": "rmsprop", "metrics": ["mae"]},
                loads=False)


def text(*inner, mask=False, last=None):
  def make():
    return keras.Sequential([
        L.Embedding(9, 4, mask_zero=mask),
        *(make_layer() for make_layer in inner),
        *([L.Dense(3, "softmax")] if last is None else last())])
  return make


def attention():
  i = keras.Input([7], dtype="int64")
  h = L.Embedding(9, 4)(i)
  h = L.MultiHeadAttention(2, 3)(h, h)
  return keras.Model(i, L.Dense(3, "softmax")(L.GlobalAveragePooling1D()(h)))


SEQUENCES = Group({
    "lstm": text(lambda: L.LSTM(4)), "masked": text(
        lambda: L.LSTM(4), mask=True),
    "bidirectional": text(lambda: L.Bidirectional(
        L.LSTM(3, recurrent_dropout=.2))),
    "attention": attention,
    "conv": text(lambda: L.Conv1D(4, 3), L.GlobalMaxPooling1D),
}, "sparse_categorical_crossentropy", TOKENS, CLASSES,
                  search={"metrics": ["accuracy"]}, apart={"attention": 1e-8})

# Labels of each timestep; outputs with a mask.
TAGGED = Group({
    "tags": text(lambda: L.LSTM(4, return_sequences=True), mask=True),
    "masked_tags": text(lambda: L.Dropout(.1), mask=True),
}, "sparse_categorical_crossentropy", TOKENS, TAGS)
IGNORED = Group(
    {"ignore": lambda: keras.Sequential([L.Dense(3)])},
    keras.losses.SparseCategoricalCrossentropy(True, ignore_class=255),
    X, np.where(CLASSES == 0, 255, CLASSES))
DIVISIBLE = Group({
    "masked": text(lambda: L.LSTM(4), mask=True), "attention": attention,
}, "sparse_categorical_crossentropy", TOKENS[:80], CLASSES[:80], {
    "batch_size": 16, "validation_split": .2},
                  # TensorFlow folds constants of a static batch in another
                  # order inside of a loop.
                  apart={"attention": 1e-8})
PICTURES = Group({
    "conv": lambda: keras.Sequential([
        L.Conv2D(3, 3, activation="relu"), L.MaxPooling2D(), L.Flatten(),
        L.Dense(3, "softmax")]),
    "flip": lambda: keras.Sequential([
        keras.Input([8, 8, 1]), L.RandomFlip(), L.Conv2D(3, 3), L.Flatten(),
        L.Dense(3, "softmax")]),
}, "sparse_categorical_crossentropy", IMAGES, CLASSES)


def joined(names=None, outputs=None, nested=False):
  """Returns a function of a model of two inputs."""

  def make():
    first, second = (keras.Input([size], name=name) for size, name in zip(
        (6, 1), names or (None, None)))
    h = L.Dense(4, "tanh")(L.Concatenate()([first, second]))
    size, kind = L.Dense(1, name=outputs and outputs[0])(h), L.Dense(
        3, "softmax", name=outputs and outputs[1])(h)
    inputs: Any = [first, second]
    if nested:
      return keras.Model({"a": first, "b": [second]}, {
          "size": size, "kind": kind})
    if names:
      inputs = dict(zip(names, inputs))
    return keras.Model(inputs, [size, kind])

  return make


_SPARSE = "sparse_categorical_crossentropy"
LISTS = Group({"list": joined(outputs=("size", "kind"))}, ["mse", _SPARSE],
              [X, Y], [Y, CLASSES], {
                  "sample_weight": [np.linspace(0, 2, ROWS), np.ones(ROWS)]},
              {"loss_weights": [1., .5], "metrics": [["mae"], ["accuracy"]]})
DICTS = Group({"dict": joined(("left", "right"), ("size", "kind"))},
              {"size": "mse", "kind": _SPARSE},
              {"left": X, "right": Y}, {"size": Y, "kind": CLASSES}, {},
              {"loss_weights": {"size": 1., "kind": .5},
               "metrics": {"kind": ["accuracy"]}})
# Model.fit takes no lists in a dict of outputs.
NESTED = Group({"nested": joined(nested=True)}, {"size": "mse", "kind": "mse"},
               {"a": X, "b": [Y]}, {"size": Y, "kind": np.eye(3)[CLASSES]},
               {"sample_weight": np.linspace(0, 2, ROWS)})
NO_LOSS = Group({"no_loss": joined()}, ["mse", None], [X, Y], [Y, CLASSES])


def words():
  return keras.Sequential([
      keras.Input([], dtype="string"), L.TextVectorization(
          vocabulary=["a", "b", "c"], output_mode="multi_hot"), L.Dense(1)])


STRINGS = Group({"text": words}, "mse", tf.constant(
    [" ".join("abc"[:1 + i % 3]) for i in range(ROWS)]), Y)
RAGGED = Group({"ragged": lambda: keras.Sequential([
    keras.Input([None], dtype="int64", ragged=True), L.Embedding(9, 4),
    L.GlobalAveragePooling1D(), L.Dense(1)])}, "mse",
               tf.RaggedTensor.from_row_lengths(
                   TOKENS.reshape(-1), [3, 11] * 75), Y)
SPARSE = Group({"sparse": lambda: keras.Sequential([
    keras.Input([6], sparse=True), L.Dense(1)])}, "mse",
               tf.sparse.from_dense(X * (X > 0)), Y)
WEIGHTED = Group({"weighted": dense(lambda: L.Dropout(.1))}, "mse", X, Y,
                 {"sample_weight": np.linspace(0, 3, ROWS)})
OF_CLASSES = Group({"classes": dense(size=3, activation="softmax")}, _SPARSE, X,
                   CLASSES, {"class_weight": {0: 3., 2: .5}})
HELD_OUT = Group({"held_out": dense(L.BatchNormalization)}, "mse", X, Y[:, 0],
                 {"validation_data": (X[:90] + .1, Y[:90, 0]), "batch_size": 7})
WHOLE = Group({"one_batch": dense()}, "mse", X.astype("float64"), Y,
              {"batch_size": 500})
STATEFUL = Group({"stateful": lambda: keras.Sequential([
    keras.Input(batch_shape=(10, 7, 1)), L.LSTM(3, stateful=True),
    L.Dense(1)])}, "mse", X[:, :1, None].repeat(7, 1), Y, {
        "batch_size": 10}, loads=False)
FOLDS = Group({
    "drop": dense(lambda: L.Dropout(.1), size=3, activation="softmax"),
    "norm": dense(L.BatchNormalization, size=3, activation="softmax")
}, _SPARSE, X, CLASSES, {"folds": 3, "class_weight": {0: 3.}})


def _space(trial):
  model = keras.Sequential([
      L.Dense(trial.suggest_int(f"width_{i}", 3, 20), "relu")
      for i in range(trial.suggest_int("layers", 1, 2))])
  model.add(L.Dropout(trial.suggest_float("rate", 0, .5)))
  model.add(L.Dense(3, "softmax"))
  return model


# By an accuracy, whose best epoch is another one than that of the loss.
TRIALS = Group({
    "space": _space,
    "drop": dense(lambda: L.Dropout(.2), size=3, activation="softmax"),
}, _SPARSE, X, CLASSES, {"trials": 3}, {
    "metrics": ["accuracy"], "monitor": "val_accuracy", "mode": "max"})
AUC = Group({"auc": dense(size=1, activation="sigmoid")}, "binary_crossentropy",
            X, (CLASSES > 0).astype("float32"), {"folds": 2}, {
                "metrics": [keras.metrics.AUC(name="auc")],
                "monitor": "val_auc", "mode": "max"})


class _Scaled(L.Layer):
  """Has a constant that NumPy draws for each network, and no config tells."""

  def __init__(self):
    super().__init__()
    self.factor = np.random.rand() + .5

  def call(self, inputs):
    return self.factor * inputs


# The networks of a function have more between them than the values of variables.
UNLIKE = Group({"constant": dense(_Scaled), "own_step": OwnLoop}, "mse", X, Y,
               {"folds": 3}, loads=False)


@functools.lru_cache(maxsize=None)
def _outer():
  base = keras.Sequential([keras.Input([6]), L.Dense(8, "tanh"), L.Dropout(.2)])
  base.trainable = False
  base.compile("adam", "mse", metrics=["mae"])
  return base


def on(get_base, width):
  """Returns a function of a model on layers that all its networks have."""

  def make():
    inputs = keras.Input([6])
    return keras.Model(inputs, L.Dense(1)(
        L.Dense(width, "tanh")(get_base()(inputs, training=False))))

  return make


OUTER = Group({"narrow": on(_outer, 3), "wide": on(_outer, 8)}, "mse", X, Y,
              {"folds": 2})


GROUPS = {name.lower(): value for name, value in list(globals().items())
          if isinstance(value, Group)}
