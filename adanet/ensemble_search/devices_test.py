# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks are divided among devices: logical ones of the CPU, for GPUs.

TensorFlow divides the CPU in place of letting the memory of GPUs grow: both are
settings that TensorFlow takes before it initializes its devices.
"""

import collections
from concurrent import futures
import contextlib
import multiprocessing
import os
import threading
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import data as data_lib
from adanet.ensemble_search import devices
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import models
from adanet.ensemble_search import network
from adanet.ensemble_search import records
from adanet.ensemble_search import rows
from adanet.ensemble_search import tasks as tasks_lib
from adanet.testing import level
from adanet.tf_compat import runtime
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L = keras.layers
_R = np.random.RandomState(0)
X = _R.randn(96, 4).astype("float32")
Y = X[:, :1] * X[:, 1:2]
# CPU:0 is where TensorFlow puts what nobody places.
_DEVICES = ["/device:CPU:1", "/device:CPU:2"]


def small():
  return keras.Sequential([L.Dense(4, "tanh"), L.Dropout(.2), L.Dense(1)])


def big():
  return keras.Sequential([L.Dense(9, "relu"), L.BatchNormalization(),
                           L.Dense(1)])


def plain():
  return keras.Sequential([L.Dense(5, "relu"), L.Dense(1)])


def line():
  return keras.Sequential([L.Dense(1)])


MODELS = {"small": small, "big": big, "plain": plain, "line": line}


def batches():
  return tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)


def _divided_cpu():
  tf.config.set_logical_device_configuration(
      tf.config.list_physical_devices("CPU")[0],
      [tf.config.LogicalDeviceConfiguration()] * 3)


def _names_of_worker():
  # TensorFlow takes the name of a device that is not there for another one.
  names = [device.name for device in tf.config.list_logical_devices("CPU")[1:]]
  if names != _DEVICES:
    raise RuntimeError(f"the CPU is not divided: {names}")
  return names


def _prepare_worker():
  """Lets a worker of a pool take two logical devices for GPUs."""
  runtime.grow_gpu_memory = _divided_cpu
  runtime.gpu_names = _names_of_worker


def setUpModule():
  # It raises an error if TensorFlow has initialized its devices before.
  with mock.patch.object(runtime, "grow_gpu_memory", _divided_cpu):
    _search(None)


def _search(folder):
  return ensemble_search.EnsembleSearch(
      MODELS, "mse", metrics=["mae"], directory=folder, seed=3)


def _figures(search):
  """Returns all that is to be equal."""
  networks = {record.name: record._replace(seconds=0., predict_seconds=0.)
              for record in search.history.networks}
  return networks, search.history.ensemble, search.model.get_weights()


def _name(device):
  """Returns the short name of a device: "/device:CPU:1"."""
  return device[device.index("/device:"):]


class _Seen:
  """Where networks were that have ended.

  Attributes:
    networks: dict from the name of a network to its device.
    places: dict from the name of a network to the set of the devices of its
      variables, its data, and what its functions returned.
    at_a_time: list with how many networks each device had when one began.
  """

  def __init__(self):
    self.networks = {}
    self.places = collections.defaultdict(set)
    self.at_a_time = []
    self._alive = collections.Counter()
    self._lock = threading.Lock()

  def patches(self):
    """Yields what looks at networks."""
    called, finish, start = (
        getattr(network.Network, name)
        for name in ("_call", "finish", "start"))

    def seen_called(this, function, flat, numbers):
      outputs = called(this, function, flat, numbers)
      self.places[this.task.key.name].update(
          _name(tensor.device) for tensor in (*flat, *tf.nest.flatten(outputs))
          if tensor is not None)
      return outputs

    def seen_start(this, folder):
      with self._lock:
        self._alive[this.device] += 1
        self.at_a_time.append(list(self._alive.values()))
      start(this, folder)

    def seen_finish(this):
      record = finish(this)
      with self._lock:
        self._alive[this.device] -= 1
      name = this.task.key.name
      self.networks[name] = this.device
      self.places[name].update(_name(variable.value.device) for variable in (
          *this.model.variables, *this.model.metrics_variables,
          *this.model.optimizer.variables))
      return record

    yield mock.patch.object(network.Network, "_call", seen_called)
    yield mock.patch.object(network.Network, "start", seen_start)
    yield mock.patch.object(network.Network, "finish", seen_finish)


class DevicesTest(parameterized.TestCase):

  expected = {}

  def _fitted(self, folder=None, names=_DEVICES, data=(X, Y), **fit):
    """Returns a search whose networks were divided, and what was seen."""
    search = _search(folder or self.create_tempdir().full_path)
    seen = _Seen()
    with contextlib.ExitStack() as exits:
      for patch in (*seen.patches(), mock.patch.object(
          runtime, "gpu_names", lambda: names)):
        exits.enter_context(patch)
      search.fit(*data, **{**dict(epochs=4, patience=2, batch_size=16,
                                  verbose=0), **fit})
    return search, seen

  def _check(self, search, name, **fit):
    """Checks that figures are those of networks that nobody places."""
    if name not in self.expected:
      unplaced, seen = self._fitted(names=[], **fit)
      self.assertEqual({None}, set(seen.networks.values()))
      self.expected[name] = _figures(unplaced)
    np.testing.assert_equal(_figures(search), self.expected[name])

  def _check_places(self, seen):
    self.assertEqual({name: {device} for name, device in seen.networks.items()},
                     dict(seen.places))

  def test_divided(self):
    search, seen = self._fitted()
    self._check_places(seen)
    self.assertEqual(dict(zip(MODELS, 2 * _DEVICES)), seen.networks)
    self._check(search, "rows")

  @parameterized.named_parameters(
      ("folds", {"folds": 3}), ("iterations", {"iterations": 3}))
  @level.gate
  def test_models_that_are_lent(self, fit):
    # Two on each device at a time, and one that waits.
    with mock.patch.object(devices, "_NETWORKS_OF_A_GPU", 1):
      search, seen = self._fitted(**fit)
    self._check_places(seen)
    self.assertLen(seen.networks, 12)
    # While three are there, no device has all of them.
    self.assertEqual({1, 2}, set(map(len, seen.at_a_time)))
    for counts in seen.at_a_time:
      self.assertLessEqual(max(counts), 2)
    self._check(search, repr(fit), **fit)

  @level.gate
  def test_a_dataset(self):
    fit = {"data": (batches,), "validation_data": (X, Y)}
    search, seen = self._fitted(**fit)
    self._check_places(seen)
    self.assertEqual(dict(zip(MODELS, 2 * _DEVICES)), seen.networks)
    self._check(search, "dataset", **fit)

  @level.gate
  def test_the_model_is_of_no_device(self):
    search, _ = self._fitted()
    model = search.model
    self.assertEqual({"/device:CPU:0"}, {
        _name(variable.value.device) for variable in model.variables})
    path = os.path.join(self.create_tempdir().full_path, "model.keras")
    model.save(path)
    np.testing.assert_array_equal(
        keras.models.load_model(path).predict(X, verbose=0),
        model.predict(X, verbose=0))
    model.fit(X, Y, verbose=0)

  @level.gate
  def test_threads_of_an_executor(self):
    with futures.ThreadPoolExecutor(1) as executor:
      search, seen = self._fitted(executor=executor)
    self._check_places(seen)
    # One at a time: by the numbers of the tasks.
    self.assertEqual(dict(zip(MODELS, 2 * _DEVICES)), seen.networks)
    self._check(search, "rows")

  @level.gate
  def test_processes(self):
    """A worker divides its CPU before a task has initialized TensorFlow."""
    with futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), _prepare_worker) as executor:
      search = ensemble_search.EnsembleSearch(
          {"small": small, "line": line}, "mse", seed=3,
          directory=self.create_tempdir().full_path,
          optimizer=keras.optimizers.Adam())
      search.fit(X, Y, epochs=2, patience=2, batch_size=16, verbose=0,
                 executor=executor)
    self.assertLen(search.history.networks, 2)

  def test_memory_of_a_search_that_is_only_read(self):
    with mock.patch.object(runtime, "grow_gpu_memory") as grow:
      ensemble_search.EnsembleSearch(
          MODELS, directory=self.create_tempdir().full_path)
    grow.assert_called_once_with()

  def test_a_model_is_lent_on_its_device(self):
    data, _ = data_lib.split_data(
        X, Y, batch_size=16, validation_data=None, validation_split=.2,
        sample_weight=None, class_weight=None, folds=None, seed=3)
    task = tasks_lib.NetworkTask(
        records.NetworkKey(0, 0, "line"), line,
        tasks_lib.TrainingArguments(
            models.CompileArguments(loss="mse"), 3, None, 4, 2))
    kept = kept_networks.KeptNetworks()
    ended_network = network.Network(task, data[0], _DEVICES[0])
    kept.add_ended("line", ended_network)
    self.assertIsNone(kept.borrow("line", task, data[0], _DEVICES[1]))
    self.assertIs(ended_network,
                  kept.borrow("line", task, data[0], _DEVICES[0]))

  def test_tensors_once_on_each_device(self):
    ragged = tf.ragged.constant([[1., 2.]] * 96)
    all_rows = rows.Rows(((X, ragged), Y), np.arange(96, dtype=np.int32))
    selected_rows = all_rows.select(np.arange(9, dtype=np.int32))
    tensors = {}
    for device in _DEVICES:
      with devices.scope(device):
        tensors[device] = all_rows.tensors()
        self.assertIs(tensors[device], selected_rows.tensors())
      x, ragged_x, y = tensors[device]
      self.assertEqual(
          [device, "/device:CPU:0", device],
          [_name(tensor.device) for tensor in (x, ragged_x.flat_values, y)])
    with devices.scope(_DEVICES[0]):
      self.assertIs(tensors[_DEVICES[0]], selected_rows.tensors())

  def test_jit_compile_is_left_to_keras_on_gpus(self):
    settings = []

    class Seen(keras.Sequential):

      def compile(self, *args, **kwargs):
        settings.append(kwargs["jit_compile"])
        super().compile(*args, **kwargs)

    for names in ([], _DEVICES):
      with mock.patch.object(runtime, "gpu_names", lambda names=names: names):
        models.build_model("name", Seen, models.CompileArguments(loss="mse"))
    self.assertEqual([False, "auto"], settings)

  @parameterized.parameters(
      ([], [None], 0, None),
      ("ab", [], 0, "a"), ("ab", [], 3, "b"), ("ab", ["a"], 0, "b"),
      ("ab", ["b", "a", "b"], 1, "a"), ("abc", ["a", "b"], 1, "c"),
      ("abc", ["a", "b", "c"], 1, "b"))
  def test_least_loaded(self, names, used, first, expected):
    with mock.patch.object(runtime, "gpu_names", lambda: names):
      self.assertEqual(expected, devices.least_loaded(used, first))


if __name__ == "__main__":
  absltest.main()
