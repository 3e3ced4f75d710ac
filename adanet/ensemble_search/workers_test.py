# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What workers of an executor get, check, and say if they cannot train."""

from concurrent import futures
import contextlib
import functools
import os
import pickle
import subprocess
import sys
import threading
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import signatures
from adanet.ensemble_search import steps as steps_lib
from adanet.ensemble_search import workers
from adanet.testing import engines
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L = keras.layers
_R = np.random.RandomState(0)
X = _R.randn(60, 3).astype("float32")
Y = X[:, :1] * X[:, 1:2] + 2
_USERS_MODULE = """
from adanet import tf_compat
import numpy as np
from random import SystemRandom
keras = tf_compat.keras_3
L = keras.layers

scale = L.Normalization()
words = L.StringLookup()
factor, width, rate, alpha, trainable = 1., 4, .1, 1., True

class Scaled(L.Layer):
  def __init__(self):
    super().__init__()
    self.factor = factor

  def call(self, inputs):
    return inputs * self.factor

def own_loss(y_true, y_pred):
  return alpha * (y_true - y_pred) ** 2

def batches():
  return iter([(np.ones([9, width], "float32"), np.ones([9, 1], "float32"))])

def make(*layers):
  model = keras.Sequential([keras.Input([3]), *layers, L.Dense(1)])
  model.compile(keras.optimizers.Adam(rate), own_loss)
  return model

def adapted(): return make(scale)
def constant(): return make(Scaled())
def wide(): return make(L.Dense(width))
def plain(): return make()
def frozen(): return make(L.Dense(2, name="inner", trainable=trainable))
def looks_up():
  x = keras.Input([1], dtype="string")
  model = keras.Model(x, L.Dense(1)(keras.ops.cast(words(x), "float32")))
  model.compile("adam", "mse")
  return model
def unseeded():
  model = make()
  model.set_weights([np.full(array.shape, SystemRandom().random())
                     for array in model.get_weights()])
  return model
"""


class _Elsewhere(futures.Executor):
  """Runs tasks here, but first does what makes this process another one."""

  def __init__(self, change=lambda: None):
    self._change = change

  def submit(self, function, *args):  # pylint: disable=arguments-differ
    with self._change() or contextlib.nullcontext():
      return engines.Here().submit(function, *args)


class _Client:
  """Stands for Dask's Client, whose futures are its own."""

  def submit(self, function, *args):
    return object()

  def get_executor(self):
    return engines.Here()


class _NoFutures(futures.Executor):

  def submit(self, *_):  # pylint: disable=arguments-differ
    return 3


class _Own(L.Layer):
  """A layer of a program: no worker has its class by name."""

  def __init__(self, factor, **kwargs):
    super().__init__(**kwargs)
    self.factor = factor

  def call(self, inputs):
    return self.factor * inputs


def _double(x):
  return 2 * x


def _net():
  return keras.Sequential([L.Dense(1)])


def _signature(layer, change, scale, batch):
  model = keras.Sequential([keras.Input([2]), layer])
  model.compile("adam", "mse")
  change(layer, scale)
  return signatures.sign(model, batch)


class WorkersTest(parameterized.TestCase):

  def _fit(self, models=_net, loss="mse", executor=None, x=X, y=Y, **fit):
    search = ensemble_search.EnsembleSearch(
        {"a": models}, loss, directory=self.create_tempdir().full_path, seed=1)
    return search.fit(x, y, **{**dict(
        epochs=2, verbose=0, executor=executor or _Elsewhere()), **fit})

  def _users_module(self):
    """Returns a module of a user, which workers import."""
    module = types.ModuleType("users_module")
    exec(_USERS_MODULE, vars(module))  # pylint: disable=exec-used
    self.enter_context(mock.patch.dict(sys.modules, users_module=module))
    return module

  def _locked(self, value):
    """Returns a function of a value that no pickle can carry."""
    lock = threading.Lock()
    return lambda *args: lock and value

  @parameterized.named_parameters(
      ("models", lambda lock: {"models": lock(_net())}),
      ("loss", lambda lock: {"loss": lock("mse")}),
      ("callbacks", lambda lock: {"callbacks": lock([])}),
      ("x", lambda lock: {
          "x": lock(tf.data.Dataset.from_tensor_slices((X, Y)).batch(9)),
          "y": None, "validation_data": (X, Y)}),
      ("validation_data", lambda lock: {"validation_data": lock(
          tf.data.Dataset.from_tensor_slices((X, Y)).batch(9))}))
  def test_what_cannot_be_sent_is_named(self, arguments):
    name = self._testMethodName.rpartition("named_")[2]
    with mock.patch("adanet.ensemble_search.batches._MAX_KEPT_BYTES", 0), (
        mock.patch.object(steps_lib.Steps, "trace")) as trace:
      with self.assertRaisesRegex(
          ValueError, rf"^{name}(\['a'\])? cannot be sent to a worker of "
          "executor: cannot pickle '_thread.lock' object"):
        self._fit(**arguments(self._locked))
    trace.assert_not_called()

  def test_a_dataset_cannot_be_sent(self):
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(9)
    with self.assertRaisesRegex(TypeError, "^x is a tf.data.Dataset, which an"):
      self._fit(x=dataset, y=None, validation_data=(X, Y))

  @parameterized.parameters(level.first([
      ("adapted", {"scale": lambda: L.Normalization(
          mean=[0.] * 3, variance=[1.] * 3)}, "the layer 'norm"),
      ("constant", {"factor": lambda: 9.}, "the loss of held-out rows has another"),
      ("wide", {"width": lambda: 9}, "the layer 'dense"),
      ("plain", {"rate": lambda: .9}, "the optimizer has another config"),
      ("frozen", {"trainable": lambda: False}, "the layer 'inner' has another"),
      ("plain", {"alpha": lambda: 9.}, "the loss of held-out rows has another")
  ]))
  def test_a_module_that_the_program_has_changed(self, name, there, words):
    module = self._users_module()
    module.scale.adapt(X)
    change = lambda: mock.patch.multiple(
        module, **{key: value() for key, value in there.items()})
    make = getattr(module, name)
    self._fit(make, None)
    with self.assertRaisesRegex(
        ValueError, r"^models\['a'\] makes another model in a worker than in "
        f"the program: {words}.* A worker imports modules anew"):
      self._fit(make, None, _Elsewhere(change))

  def test_a_layer_that_the_program_has_adapted(self):
    module = self._users_module()
    module.scale.adapt(X)
    there = L.Normalization()
    there.adapt(9 * X)
    with self.assertRaisesRegex(
        ValueError, f"the layer {module.scale.name!r} has"):
      self._fit(module.adapted, None, _Elsewhere(
          lambda: mock.patch.object(module, "scale", there)))

  @level.gate
  def test_a_lookup_that_the_program_has_adapted(self):
    module = self._users_module()
    module.words.adapt(np.array(["a", "a", "b"]))
    x = tf.constant([["a"], ["b"]] * 30)
    self._fit(module.looks_up, None, x=x)
    there = L.StringLookup()
    there.adapt(np.array(["a", "b", "b"]))
    with self.assertRaisesRegex(
        ValueError, f"the layer {module.words.name!r} has"):
      self._fit(module.looks_up, None, _Elsewhere(
          lambda: mock.patch.object(module, "words", there)), x=x)

  @parameterized.named_parameters(
      ("bins", lambda: L.Discretization(num_bins=3), lambda layer, scale:
       layer.adapt(scale * np.arange(9.)), True),
      ("frozen", lambda: L.Dense(2, kernel_initializer="zeros", trainable=False),
       lambda layer, scale: layer.set_weights([
           scale * np.eye(2), np.zeros(2)]), True),
      ("trained", lambda: L.Dense(2, kernel_initializer="zeros"),
       lambda layer, scale: layer.set_weights([
           scale * np.eye(2), np.zeros(2)]), False))
  def test_values_of_a_layer(self, make, change, is_signed):
    batch = np.zeros([4, 2]), np.zeros([4, 2])
    expected, same, other = (
        _signature(make(), change, scale, batch) for scale in (1., 1., 2.))
    self.assertEqual("", signatures.difference(expected, same))
    self.assertEqual(is_signed, signatures.difference(
        expected, other).startswith("the layer"))

  def test_batches_of_a_module_that_the_program_has_changed(self):
    module = self._users_module()
    with self.assertRaisesRegex(
        ValueError, r"^x makes other batches in a worker than in the program: "
        r"float32 \(None, 9\), .*, and float32 \(None, 4\), .* in the program"):
      self._fit(x=module.batches, y=None, validation_data=module.batches,
                executor=_Elsewhere(lambda: mock.patch.object(
                    module, "width", 9)))

  @level.gate
  def test_order_of_a_dataset(self):
    """Each network in a worker reads a new dataset, as in a worker of its own.
    """
    shuffled = lambda: tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(
        60, seed=1).batch(9)
    here, there = (ensemble_search.EnsembleSearch(
        {"a": _net, "b": _net}, "mse", seed=1,
        directory=self.create_tempdir().full_path).fit(
            shuffled, validation_data=(X, Y), epochs=2, iterations=2, verbose=0,
            executor=executor).history.networks
                   for executor in (None, _Elsewhere()))
    self.assertEqual([network.epochs for network in here],
                     [network.epochs for network in there])

  def test_weights_that_a_call_in_training_changes(self):
    """The comparison with the program leaves all values as they are."""
    frozen = L.SpectralNormalization(L.Dense(2))
    frozen.build([None, 3])
    frozen.trainable = False
    before = [np.array(value) for value in frozen.get_weights()]
    self._fit(lambda: keras.Sequential([
        keras.Input([3]), frozen, L.SpectralNormalization(L.Dense(2)), _Own(3.),
        L.Dense(1)]))
    np.testing.assert_equal(before, frozen.get_weights())

  def test_values_that_no_seed_fixes(self):
    self._fit(self._users_module().unseeded, None)

  def test_what_travels(self):
    """Functions, closures, lambdas, and the layers that they refer to."""
    base = keras.Sequential([
        keras.Input([3]), _Own(3.), L.Dense(2, _double), L.Dropout(.5)])
    base.trainable = False
    factor = 5.

    def make(units):
      inner = lambda: L.Dense(units, name="inner")
      return keras.Sequential([
          keras.Input([3]), base, inner(), L.Lambda(lambda x: factor * x)])

    path = os.path.join(self.create_tempdir().full_path, "functions")
    with open(path, "wb") as file:
      workers._Pickler(file).dump(functools.partial(make, 1))
    with open(path, "rb") as file:
      model = pickle.load(file)()
    sent = model.layers[0]
    self.assertIsNot(base, sent)
    self.assertEqual((False, 3.), (sent.trainable, sent.layers[0].factor))
    np.testing.assert_array_equal(base(X), sent(X))
    np.testing.assert_array_equal(  # The state of Dropout is sent, too.
        base(X, training=True), sent(X, training=True))
    np.testing.assert_allclose(
        factor * model.layers[1](base(X)), model(X), rtol=1e-6)

  @hypothesis.given(st.data(), st.sampled_from(["r", "r+", "w+"]))
  @hypothesis.settings(max_examples=level.number(15, 60))
  def test_parts_of_a_memmap_stay_in_their_file(self, data, mode):
    folder = self.create_tempdir().full_path
    path = os.path.join(folder, "x.dat")
    with open(path, "wb") as file:
      file.write(b"\0" * 8 + np.arange(20000, dtype=">i2").tobytes())
    array = np.memmap(path, ">i2", "r+" if mode == "w+" else mode, 8,
                      (200, 10, 10))
    whole = np.array(array)
    slices = tuple(slice(*data.draw(st.tuples(
        st.none() | st.integers(-size, size), st.none() | st.integers(0, size),
        st.sampled_from([None, 1, 2, -1, -3])))) for size in array.shape)
    part = array[slices]
    if data.draw(st.booleans()):
      part, whole = part.T, whole[slices].T
    else:
      whole = whole[slices]
    with open(path + ".pickle", "wb") as file:
      workers._Pickler(file).dump(part)
    with open(path + ".pickle", "rb") as file:
      read = pickle.load(file)
    np.testing.assert_array_equal(whole, read)
    if part.size:
      self.assertIsInstance(read, np.memmap)
      self.assertLess(os.path.getsize(path + ".pickle"), 1000)

  def test_changes_that_are_in_no_file(self):
    path = self.create_tempfile(content=bytes(4000), mode="wb").full_path
    array = np.memmap(path, "float32", "c")
    array[:] = 3.
    for part in (array, array[5:]):
      with open(path + ".pickle", "wb") as file:
        workers._Pickler(file).dump(part)
      with open(path + ".pickle", "rb") as file:
        np.testing.assert_array_equal(part, pickle.load(file))

  @parameterized.parameters(
      (2, "^executor=2: expected an object with the interface of concurrent"),
      (futures.ThreadPoolExecutor, "^executor=.*: expected an object with"),
      (_NoFutures(), "^executor=.* returned 3 from submit: expected a conc"))
  def test_no_executor(self, executor, expected):
    with mock.patch.object(steps_lib.Steps, "trace") as trace:
      with self.assertRaisesRegex(TypeError, expected):
        self._fit(executor=executor)
    trace.assert_not_called()

  def test_a_client(self):
    self.assertIn("val_loss", self._fit(executor=_Client()).history.ensemble)

  def test_a_folder_that_no_worker_sees(self):
    path = self.create_tempdir().full_path
    with self.assertRaisesRegex(
        ValueError, f"^directory='{path}' is not seen by process {os.getpid()} "
        "on .*, a worker of executor: expected a folder that all workers see"):
      workers.check_worker(path, "name")

  def test_a_module_that_workers_do_not_have(self):
    def forget():
      return mock.patch.dict(sys.modules, users_module=None)

    with self.assertRaisesRegex(
        ValueError, "^A worker of executor cannot read the functions of the "
        "search: .*users_module.* Install what is missing on the workers"):
      self._fit(self._users_module().plain, None, _Elsewhere(forget))

  @level.gate
  def test_a_program(self):
    """Pools train what the main module has, or say at once that they cannot."""
    program = """if True:
        import multiprocessing, sys
        from concurrent.futures import ProcessPoolExecutor
        import adanet, numpy as np
        from adanet import tf_compat
        keras = tf_compat.keras_3
        L = keras.layers
        scale, width = L.Normalization(), 2
        def net(): return keras.Sequential([
            keras.Input([3]), scale, L.Dense(width), L.Lambda(
                lambda x: x / 2), L.Dense(1)])
        class Batches(keras.utils.PyDataset):
          def __len__(self): return 3
          def __getitem__(self, i): return np.eye(3), np.full([3, 1], i)
        if __name__ == "__main__":
          width = 8
          x = np.random.RandomState(0).randn(60, 3).astype("float32") * 9 + 5
          scale.adapt(x)
          rate = .9
          def fitted(executor):
            search = adanet.EnsembleSearch({
                "net": net, "inner": lambda: keras.Sequential([
                    L.Dense(width), L.Dense(1)])
            }, "mse", seed=1).fit(
                x, x[:, :1], epochs=3, verbose=0, executor=executor,
                callbacks=lambda: [keras.callbacks.LearningRateScheduler(
                    lambda epoch, before: before * rate)])
            return [network.epochs for network in search.history.networks], (
                search.model.get_weights(), search)
          pool = ProcessPoolExecutor(
              1, multiprocessing.get_context(sys.argv[1]))
          with pool:
            curves, _ = fitted(None)
            others, (weights, search) = fitted(pool)
            adanet.EnsembleSearch({"net": net}, "mse").fit(
                lambda: Batches(workers=1, use_multiprocessing=True),
                validation_data=(x, x[:, :1]), epochs=1, verbose=0,
                executor=pool)
          assert curves == others
          before = scale.get_weights()
          search.model
          np.testing.assert_equal(before, scale.get_weights())
          print("trained")
        """
    path = self.create_tempfile("program.py", program).full_path
    for method, expected in (("spawn", "trained"), (
        "fork", "the workers of this ProcessPoolExecutor are forks of the")):
      output = subprocess.run(
          [sys.executable, path, method], stdout=subprocess.PIPE,
          stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
          env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))).stdout
      self.assertIn(expected, output)


if __name__ == "__main__":
  absltest.main()
