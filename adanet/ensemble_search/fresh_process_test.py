# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A search is the first thing that a process does, or comes after models.

Keras numbers the names of layers in each process. The first Dropout is named
"dropout", which is also a key in the config of an LSTM.
"""

from concurrent import futures
import multiprocessing
import os

from absl.testing import absltest
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import identity
from adanet.ensemble_search import models as models_lib
from adanet.testing import engines
from adanet.testing import keras_kinds
from adanet.testing import level
import numpy as np

keras = tf_compat.keras_3
L = keras.layers
_SPARSE = "sparse_categorical_crossentropy"


class Own(keras.losses.Loss):
  """A loss with an automatic name."""

  def call(self, y_true, y_pred):
    return keras.ops.mean(keras.ops.square(y_true - y_pred), axis=-1)


def recurrent(layer, **options):
  return keras_kinds.text(lambda: layer(4, **options), lambda: L.Dropout(.2))


def dense(*layers, **options):
  """Returns a function of a model of layers that are made at each call."""
  return lambda: keras.Sequential(
      [L.Dense(8), *(make() for make in layers), L.Dense(
          3, "softmax", **options)])


def functional():
  i = keras.Input([6])
  h = L.Activation("relu")(L.BatchNormalization()(L.Dense(8)(i)))
  return keras.Model(i, L.Softmax()(L.Add()(
      [L.Dense(3, "softmax")(h), L.Dense(3)(i)])))


def nested():
  i = keras.Input([6])
  inner = keras.Sequential([L.Dense(8), L.Activation("tanh")])
  return keras.Model(i, L.Dense(3, "softmax")(L.Dropout(.1)(inner(i))))


def of_auto_names():
  i = keras.Input([6])
  model = keras.Model(i, [L.Dense(3, "softmax")(i), L.Dense(3, "softmax")(i)])
  first, second = model.output_names
  model.compile("adam", {second: Own(), first: _SPARSE})
  return model


def of_own_loss():
  model = keras.Sequential([L.Dense(3)])
  model.compile("adam", Own())
  return model


def clears():
  keras.utils.clear_session()
  return dense(lambda: L.Dropout(.2))()


def of_wrapped_attention():
  i = keras.Input([7], dtype="int64")
  h = L.Embedding(9, 4)(i)
  h = L.Attention(score_mode="dot")([h, h])
  h = L.Dot(-1)([h, h])
  return keras.Model(i, L.Dense(3, "softmax")(L.Flatten()(h)))


_ONE_HOT = np.eye(3)[keras_kinds.CLASSES]
# Beside the kinds of `keras_kinds`: names that are keys or values of configs.
GROUPS = {
    "words": keras_kinds.SEQUENCES._replace(models={
        "lstm": recurrent(L.LSTM), "gru": recurrent(L.GRU),
        "rnn": recurrent(L.SimpleRNN), "bidirectional": keras_kinds.text(
            lambda: L.Bidirectional(L.LSTM(3, dropout=.1)),
            lambda: L.Dropout(.2)),
        "convolution": keras_kinds.text(
            lambda: L.Conv1D(4, 3), L.BatchNormalization,
            lambda: L.Activation("relu"), L.GlobalMaxPooling1D),
        "attention": of_wrapped_attention}),
    "table": keras_kinds.OF_CLASSES._replace(models={
        "activation": dense(lambda: L.Activation("relu")),
        "functional": functional, "nested": nested, "clears": clears,
        "softmax": dense(L.Softmax), "units": dense(name="units"),
        "config": dense(lambda: L.Dense(4, name="config")),
        "name": dense(lambda: L.Dense(4, name="name")),
        "initializer": dense(lambda: L.Dense(4, name="kernel_initializer"))}),
    "outputs": keras_kinds.Group(
        {"outputs": of_auto_names}, [_SPARSE, Own()], keras_kinds.X,
        [keras_kinds.CLASSES, _ONE_HOT]),
    "loss": keras_kinds.Group(
        {"loss": of_own_loss}, None, keras_kinds.X, _ONE_HOT),
    **keras_kinds.GROUPS,
}


def _fit(directory, group, name, **options):
  """Trains a kind as a search of its own."""
  group = GROUPS[group]
  function = group.models[name]
  fit = dict(group.fit)
  if not models_lib.count_arguments(function):
    fit.pop("trials", None)
  return ensemble_search.EnsembleSearch(
      {name: function}, group.loss, directory=directory, seed=3, **group.search
  ).fit(group.x, group.y, epochs=1, verbose=0, **fit, **options)


def _search(directory, group, name):
  """Trains a kind first of all, and resumes after a look at models."""
  _fit(directory, group, name)
  function = GROUPS[group].models[name]
  if not models_lib.count_arguments(function):
    for _ in range(3):
      function()
  search = _fit(directory, group, name)
  _ = search.model
  expected = 2 * len(search.history.networks)
  search = _fit(directory, group, name, iterations=2)
  if len(search.history.networks) != expected:
    raise ValueError(f"{len(search.history.networks)} networks.")


class FreshProcessTest(absltest.TestCase):

  @level.gate
  def test_each_kind(self):
    """The server of the processes has imported Keras, and makes no layer.

    Of the groups of `keras_kinds`, one kind each.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["adanet.ensemble_search.ensemble_search"])
    kinds = [(group, name) for group in GROUPS for name in list(
        GROUPS[group].models)[:1 if group in keras_kinds.GROUPS else None]]
    with futures.ProcessPoolExecutor(
        2, context, max_tasks_per_child=1) as pool:
      running = {kind: pool.submit(_search, os.path.join(
          self.create_tempdir("_".join(kind)).full_path, "search"), *kind)
                 for kind in kinds}
      for kind, future in running.items():
        with self.subTest(kind):
          future.result()

  @level.gate
  def test_workers_of_a_program_that_has_made_models(self):
    for _ in range(3):
      GROUPS["words"].models["bidirectional"]()
    with engines.process_pool(1) as executor:
      for kind in (("words", "bidirectional"), ("table", "functional")):
        with self.subTest(kind):
          search = _fit(self.create_tempdir().full_path, *kind,
                        executor=executor)
          self.assertLen(search.history.networks, 1)

  def test_models_between_other_models(self):
    """Digests are equal for the first model of a process, and for later ones.
    """
    for group in level.first(list(GROUPS.values())):
      arguments = models_lib.CompileArguments("adam", group.loss)
      for name, function in group.models.items():
        if models_lib.count_arguments(function):
          continue
        keras.utils.clear_session()  # As in a new process.
        texts = set()
        for _ in range(2):
          model = models_lib.build_model(name, function, arguments)
          texts.add((str(identity.describe_model(model)),
                     identity.config_of_keras(model)))
        with self.subTest(name):
          self.assertEqual(1, len(texts))


if __name__ == "__main__":
  absltest.main()
