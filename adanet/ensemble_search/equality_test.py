# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network is the one that `Model.fit` makes of the same batches."""

import functools
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from unittest import mock
import warnings

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import candidates
from adanet.ensemble_search import data as data_lib
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import files
from adanet.ensemble_search import models
from adanet.testing import keras_callbacks
from adanet.testing import keras_kinds
from adanet.testing import level
from adanet.tf_compat import seeds
import numpy as np
import optuna

keras, tf = tf_compat.keras_3, tf_compat.v2
_EPOCHS, _PATIENCE, _SEED = 3, 1, 5
_MODELS_OF_A_PART = 6


# Loads files of models, without adanet.
_LOADS = """if True:
  import pickle, sys
  import numpy as np
  exec(sys.argv[2])
  with open(sys.argv[1], "rb") as file:
    files = pickle.load(file)
  for path, x, expected in files:
    model = keras.models.load_model(path, compile=False)
    found = model.predict(x, batch_size=32, verbose=0)
    keras.tree.map_structure(np.testing.assert_array_equal, found, expected)
  assert not any(name.startswith("adanet") for name in sys.modules)
  print(len(files), "files")
"""


class _Epoch(keras.callbacks.Callback):
  """Knows the epoch whose order is next."""

  number = 0

  def on_epoch_begin(self, epoch, logs=None):
    self.number = epoch


def _fitted(model, data, size, batch_size, callbacks, monitor, mode):
  """Trains a model by `Model.fit` on the batches that a search takes.

  Returns:
    The logs of each epoch.
  """
  epoch = _Epoch()
  count = len(data.trained.numbers)

  def orders():
    yield data.order(epoch.number)

  def batches(order):
    return tf.data.Dataset.from_tensor_slices(order).batch(
        batch_size, drop_remainder=count % batch_size == 0)

  def of_rows(rows):
    # As Model.fit's own adapter reads rows of arrays.
    return in_tuples(data.trained.layout(1).pack(
        _read(array, rows) for array in data.trained.tensors()))

  held_out, index = data.held_out, tf.constant(data.held_out.numbers)
  validation_data = held_out.layout(1).pack(
      _read(array, index) for array in held_out.tensors())

  def in_tuples(value):  # tf.data makes tensors of lists.
    if isinstance(value, dict):
      return {key: in_tuples(part) for key, part in value.items()}
    return tuple(map(in_tuples, value)) if isinstance(
        value, (list, tuple)) else value

  return model.fit(
      tf.data.Dataset.from_generator(orders, output_signature=tf.TensorSpec(
          [count], tf.int32)).flat_map(batches).map(of_rows).apply(
              # Else Model.fit counts a step more in each epoch.
              tf.data.experimental.assert_cardinality(
                  -(-count // batch_size))),
      validation_data=validation_data, validation_batch_size=size,
      epochs=_EPOCHS, verbose=0, callbacks=[
          epoch, *callbacks, keras.callbacks.EarlyStopping(
              monitor, mode=mode, patience=_PATIENCE,
              restore_best_weights=True)]).history


def _read(array, rows):
  if isinstance(array, tf.SparseTensor):
    return tf.sparse.from_dense(tf.gather(tf.sparse.to_dense(array), rows))
  return tf.gather(array, rows)


def _parts():
  """Yields names and parts of groups: a search of a few models each.

  A group begins with the kinds that have the most states.
  """
  for name, group in level.first([
      *keras_kinds.GROUPS.items(),
      ("callbacks", keras_callbacks.CALLBACKS)]):
    models = level.first(list(group.models.items()), 3)
    for start in range(0, len(models), _MODELS_OF_A_PART):
      yield f"{name}_{start}" if start else name, group._replace(
          models=dict(models[start:start + _MODELS_OF_A_PART]))


class EqualityTest(parameterized.TestCase):

  saved = []  # Path, x and predictions of the groups that have run.
  folder = ""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.folder)

  @parameterized.named_parameters(_parts())
  def test_group(self, group):
    self._check_group(group)

  def _check_group(self, group):
    search = ensemble_search.EnsembleSearch(
        group.models, group.loss, directory=self.create_tempdir().full_path,
        seed=_SEED, **group.search)
    # With one core, the last fold of three gets the model of another one.
    with warnings.catch_warnings(), mock.patch.object(
        os, "sched_getaffinity", lambda _: {0}):
      warnings.simplefilter("ignore")
      search.fit(group.x, group.y, epochs=_EPOCHS, patience=_PATIENCE,
                 verbose=0, **group.fit)
      arguments = {**dict(
          batch_size=32, validation_data=None, validation_split=.2,
          sample_weight=None, class_weight=None, folds=None, seed=_SEED),
                   **group.fit}
      callbacks = arguments.pop("callbacks", None)
      arguments.pop("trials", None)
      data, _ = data_lib.split_data(group.x, group.y, **arguments)
    networks = {network.name: network for network in search.history.networks}
    compiling = models.CompileArguments(
        group.search.get("optimizer", "adam"), group.loss,
        group.search.get("metrics"), group.search.get("loss_weights"))
    keys = [key for candidate in candidates.CandidateStore(
        files.Directory(search.history.directory)) for key in candidate.keys()]
    for key in keys:
      name, rows = key.function, data[key.fold]
      network = networks[key.name]
      function = group.models[name]
      if key.trial:
        function = functools.partial(
            function, optuna.trial.FixedTrial(network.hyperparameters))
      with self.subTest(key.name):
        with seeds.seeded_thread(key.seed(_SEED)), warnings.catch_warnings():
          warnings.simplefilter("ignore")
          model = models.build_model(name, function, compiling, copies=True)
          history = _fitted(
              model, rows, 10 if name == "stateful" else 256,
              arguments["batch_size"],
              models.build_callbacks(callbacks, key.name),
              group.search.get("monitor", "val_loss"),
              group.search.get("mode", "min"))
        self.assertEqual(len(history["val_loss"]), len(network.epochs))
        self.assertSameElements(history, network.epochs[0])
        trained = search.network(key.name)
        # Keras's files have LoRA's matrices as a part of the kernel.
        path = os.path.join(self.create_tempdir().full_path, "m.weights.h5")
        model.save_weights(path)
        model.load_weights(path)
        largest = max((np.abs(np.asarray(expected, np.float64) - np.asarray(
            actual, np.float64)).max() for expected, actual in zip(
                model.get_weights(), trained.get_weights())
                       if expected.size), default=0)
        self.assertLessEqual(largest, group.apart.get(name, 0))
        for i, logs in enumerate(network.epochs):
          for log, value in logs.items():
            if name not in group.apart:
              np.testing.assert_equal(history[log][i], value, f"{log} of {i}")
    if len(data) == 1:
      self._check_ensemble(search, *data, group)
    # Classes of this file are not in a program without it.
    if group.loads:
      model = search.model
      path = os.path.join(self.folder, f"{len(self.saved)}.keras")
      model.save(path)
      self.saved.append((path, group.x, model.predict(
          group.x, batch_size=32, verbose=0)))

  @level.gate
  def test_z_files_load_without_adanet(self):
    if not self.saved:
      self._check_group(keras_kinds.LISTS)
    folder = self.create_tempdir().full_path
    path = os.path.join(folder, "files")
    with open(path, "wb") as file:
      pickle.dump(self.saved, file)
    process = subprocess.run(
        [sys.executable, "-c", _LOADS, path, "import " + "keras"],
        stdout=subprocess.PIPE, text=True, check=True, env=dict(
            os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    self.assertEqual(f"{len(self.saved)} files",
                     process.stdout.splitlines()[-1])

  def _check_ensemble(self, search, data, group):
    """The recorded values are those of `evaluate`, and files load."""
    model = search.model
    held_out = data.held_out
    index = tf.constant(held_out.numbers)
    batch = held_out.layout(1).pack(
        _read(array, index) for array in held_out.tensors())
    size = 10 if "stateful" in group.models else 256
    expected = model.evaluate(
        *batch[:2], sample_weight=(*batch, None)[2], batch_size=size, verbose=0,
        return_dict=True)
    # Penalties of weights and add_loss are no part of a judgement.
    adds = not {"add_loss", "annealed"}.isdisjoint(group.models)
    penalty = float(sum(model.losses)) if model.losses and not adds else 0.
    for name, value in search.history.ensemble.items():
      if adds and name == "val_loss":
        continue
      self.assertAlmostEqual(
          expected[name[4:]] - penalty * (name == "val_loss"), value,
          delta=2e-6 + 2e-5 * abs(value), msg=name)
    for network in search.history.networks:
      self.assertTrue(np.isfinite(network.values["val_loss"]), network.name)


if __name__ == "__main__":
  absltest.main()
