# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network that fails costs no other network, on any engine."""

from concurrent import futures
from concurrent.futures import process
import contextlib
import errno
import gc
import math
import os
import shutil
import signal
import subprocess
import sys
from unittest import mock
import weakref

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import batches as batches_lib
from adanet.ensemble_search import engine
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import network
from adanet.testing import engines
from adanet.testing import level
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L = keras.layers
X = np.random.RandomState(0).randn(120, 4).astype("float32")
Y = X[:, :1] * X[:, 1:2]
_AGAIN = ". The search goes on; fit trains it again when called again."
# Each hook, and what the line of its failure says of the epoch.
_HOOKS = {
    "on_epoch_end": " in epoch 2", "on_train_begin": "",
    "on_epoch_begin": " in epoch 2", "on_test_begin": " in epoch 2",
    "on_test_end": " in epoch 2", "on_train_end": ""}
_THREADS = ("threads", {})
_DATASET = ("dataset", {"x": lambda: batches(), "y": None,
                        "validation_data": lambda: batches()})
_EXECUTOR = ("executor", {"executor": engines.Here()})


def batches():
  return tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)


def make(width):
  return lambda: keras.Sequential([L.Dense(width, "tanh"), L.Dense(1)])


MODELS = {"a": make(4), "b": make(5)}


class Crash(L.Layer):
  """Fails in a step of training, as where memory ends."""

  def build(self, shape):
    self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

  def call(self, inputs, training=False):
    if not training:
      return inputs
    self.count.assign_add(1.)
    with tf.control_dependencies([tf.debugging.assert_less(
        tf.convert_to_tensor(self.count), 10., message="no memory left")]):
      return tf.identity(inputs)


class Failing(keras.callbacks.Callback):
  """Raises an error in a hook of the second epoch, or of a network."""

  def __init__(self, hook, error):
    super().__init__()
    self.epoch = 0
    setattr(self, hook, self._fail)
    self._error = error
    self._is_of_epoch = "train" not in hook

  def _fail(self, *unused_args, **unused_kwargs):
    self.epoch += 1
    if self.epoch == 2 or not self._is_of_epoch:
      self._error()


def _raise(error):
  raise error


class KilledWorker(Exception):
  """As that of Dask."""


class _Losing(engines.Here):
  """Loses the worker of a network."""

  def __init__(self, name, losses, error=KilledWorker, trains=False):
    self.name, self.losses, self.error = name, losses, error
    self.trains = trains
    self.submitted = []
    self.is_broken = False

  def submit(self, fn, *args):  # pylint: disable=arguments-differ
    name = args[-1].key.name if hasattr(args[-1], "key") else None
    if self.is_broken:
      raise self.error
    self.submitted.append(name)
    if name != self.name or not self.losses:
      return super().submit(fn, *args)
    self.losses -= 1
    self.is_broken = issubclass(self.error, futures.BrokenExecutor)
    if self.trains:
      with mock.patch.object(network.Network, "train",
                             side_effect=_Death), contextlib.suppress(_Death):
        fn(*args)
    future = futures.Future()
    future.set_exception(self.error("The worker died."))
    return future


class _Death(BaseException):
  pass


class FailuresTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    warning = self.enter_context(mock.patch.object(log, "warning"))
    self.lines = lambda: [
        line for call in warning.mock_calls
        if " failed" in (line := call.args[0] % call.args[1:])]
    self.failing = {}  # The hook and the error of each network that fails.

  def _fit(self, models=None, **fit):
    failing = self.failing
    search = ensemble_search.EnsembleSearch(
        models or MODELS, "mse", directory=self.folder, seed=1)
    return search.fit(**{**dict(
        x=X, y=Y, epochs=3, batch_size=16, verbose=0, callbacks=lambda name: [
            Failing(*failing[name])] if name in failing else []), **fit})

  def _figures(self, search):
    return {record.name: (record.epochs, record.best_epoch, record.ended,
                          record.values)
            for record in search.history.networks}

  def _check(self, reasons, **fit):
    """Checks that networks fail alone, and train in the next call.

    Args:
      reasons: dict from the name of a network to what its line says.
      **fit: arguments of `fit`.
    """
    search = self._fit(**fit)
    self.assertCountEqual([
        f"{name} failed{reason}{_AGAIN}" for name, reason in reasons.items()],
                          self.lines())
    figures = self._figures(search)
    for name in reasons:
      self.assertRegex(figures[name][2], "^failed: ")
      self.assertCountEqual(
          ["network.json", "traceback.txt"],
          os.listdir(os.path.join(self.folder, "networks", f"0-0-{name}")))
    for row in search.history.rows()[-len(reasons):]:
      self.assertIn(row["name"], reasons)
      self.assertIsNone(row["weight"])
      self.assertTrue(math.isnan(row["val_loss"]))
    self.assertNoCommonElements(
        reasons, [member.name for member in search.members])
    self.failing = {}
    repaired = self._figures(self._fit(**fit))
    self.folder = self.create_tempdir().full_path
    expected = self._figures(self._fit(**fit))
    np.testing.assert_equal(repaired, expected)
    failed = dict.fromkeys(reasons)
    np.testing.assert_equal({**figures, **failed}, {**expected, **failed})
    self.assertLen(self.lines(), len(reasons))

  @parameterized.named_parameters(
      *level.first([_THREADS, _DATASET, _EXECUTOR]))
  def test_callback(self, fit):
    """Each network fails in another hook, beside one that does not."""
    hooks = dict(level.first(list(_HOOKS.items())))
    self.failing = {
        hook: (hook, lambda: _raise(TypeError("No number.\n")))
        for hook in hooks}
    self._check({
        hook: f"{epoch}: TypeError: No number" for hook, epoch in hooks.items()
    }, models={"a": make(4), **{
        hook: make(5 + i) for i, hook in enumerate(hooks)}}, **fit)

  @parameterized.named_parameters(*level.first([_DATASET, _THREADS, _EXECUTOR]))
  def test_step(self, fit):
    """A step that fails in TensorFlow, and a trial of Optuna."""

    def space(trial):
      trial.suggest_float("rate", 0, 1)
      return keras.Sequential([
          L.Dense(4), *[Crash()] * (trial.number == 1), L.Dense(1)])

    search = self._fit({"space": space}, trials=2, **fit)
    line, = self.lines()
    self.assertRegex(line, "^space #2 failed in epoch 2: InvalidArgumentError: "
                     f".*no memory left.*{_AGAIN}$")
    self.assertNotIn("\n", line)
    self.assertEqual(
        ["COMPLETE", "FAIL"],
        [trial.state.name for trial in search.study("space").trials])
    with open(os.path.join(self.folder, "networks", "0-0-space #2",
                           "traceback.txt"), encoding="utf-8") as file:
      self.assertIn("Traceback (most recent call last)", file.read())
    self.assertLen(search.members, sum(
        bool(member.weight) for member in search.history.members))

  def test_build(self):
    """A network of the second iteration cannot be built."""
    is_full = []

    def large():
      if is_full:
        raise MemoryError
      return make(5)()

    def end_check(trained):
      is_full.extend([1] * (trained.task.key.function == "large"))
      return end(trained)

    end = network.Network.end_check
    with mock.patch.object(network.Network, "end_check", end_check):
      search = self._fit({"large": large}, iterations=2, epochs=1)
    self.assertEqual([f"large (2) failed: MemoryError{_AGAIN}"], self.lines())
    self.assertEqual(["large", "large (2)"], [
        record.name for record in search.history.networks])

  @level.gate
  @parameterized.named_parameters(*level.first([_THREADS, _DATASET]))
  def test_memory(self, fit):
    """Nothing holds the model of a network that failed."""
    failed = []

    class Fails(keras.callbacks.Callback):

      def on_epoch_end(self, epoch, logs=None):
        gc.disable()
        failed.append(weakref.ref(self.model))
        raise ValueError

    class Looks(keras.callbacks.Callback):

      def on_train_begin(self, logs=None):
        if failed:
          failed.append(failed[0]())

    self.addCleanup(gc.enable)
    self._fit(parallel=1, callbacks=lambda name: [
        Fails() if name == "a" else Looks()], **fit)
    self.assertIsNone(failed[0]())
    if not fit:  # The next network begins without the failed model.
      self.assertEqual([None], failed[1:])

  @parameterized.parameters(*level.first([
      (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),),
      (KeyboardInterrupt(),), (SystemExit(3),),
      (OSError("Can't write data (errno = 122, error message = "
               f"'{os.strerror(errno.EDQUOT)}')"),)]))
  def test_what_ends_fit(self, error):
    self.failing = {"b": ("on_epoch_end", lambda: _raise(error))}
    fit = dict(executor=engines.Here()) if isinstance(error, OSError) else {}
    models = {"b": make(5)}
    with self.assertRaises(type(error)):
      self._fit(models, **fit)
    self.assertEmpty(self.lines())
    self.failing = {}
    for figures in self._figures(self._fit(models)).values():
      self.assertNotIn("failed", figures[2])

  def test_a_directory_that_is_gone(self):
    self.failing = {"a": ("on_epoch_end", lambda: (
        shutil.rmtree(self.folder), _raise(ValueError)))}
    with self.assertRaisesRegex(OSError, "lock"):
      self._fit({"a": make(4)})
    self.assertFalse(os.path.exists(self.folder))

  @level.gate
  @parameterized.named_parameters(*level.first([_THREADS, _EXECUTOR]))
  def test_folds(self, fit):
    """The other networks of the function do not begin."""
    self.failing = {"b, fold 1 of 2": ("on_epoch_end", lambda: _raise(
        ValueError("No number.")))}
    search = self._fit(folds=2, **(fit or {"parallel": 1}))
    self.assertEqual([
        f"b, fold 1 of 2 failed in epoch 2: ValueError: No number{_AGAIN}"],
                     self.lines())
    names = [record.name for record in search.history.networks]
    self.assertEqual(
        ["b, fold 1 of 2"], [name for name in names if "b" in name])
    self.assertNotIn("b", [member.name for member in search.members])
    self.failing = {}
    self._fit(folds=2, **fit)
    figures = self._figures(search)
    self.folder = self.create_tempdir().full_path
    np.testing.assert_equal(figures, self._figures(self._fit(folds=2)))

  @level.gate
  @parameterized.parameters(*level.first([(True,), (False,)]))
  def test_dataset(self, is_held_out):
    """An error of the dataset itself is no network's."""
    read = []

    def fails(x, y):
      read.append(1)
      if len(read) > 3 * 8:
        raise ValueError("The file is gone.")
      return x, y

    def broken():
      return batches().map(lambda x, y: (x, tf.ensure_shape(tf.numpy_function(
          lambda y: fails(None, y)[1], [y], tf.float32), [None, 1])))

    fit = ({"x": batches, "validation_data": broken} if is_held_out else
           {"x": broken, "validation_data": (X, Y)})
    with mock.patch.object(batches_lib, "_MAX_KEPT_BYTES", 0), self.assertRaisesRegex(
        Exception, "The file is gone"):
      self._fit(y=None, epochs=9, **fit)
    self.assertEmpty(self.lines())

  @level.gate
  @parameterized.named_parameters(
      ("epoch", "on_epoch_end", " in epoch 3"),
      ("begin", "on_train_begin", ""))
  def test_network_that_was_out_of_time(self, hook, epoch):
    """It keeps the best epoch of the earlier call."""
    ended = []
    end_check = network.Network.end_check
    with mock.patch.object(
        network.Network, "end_check",
        lambda self: (end_check(self), ended.append(1))), mock.patch.object(
            engine.Stop, "is_set", lambda self: len(ended) >= 1):
      search = self._fit({"a": make(4)}, max_seconds=60)
    before = self._figures(search)
    weights = search.model.get_weights()
    self.assertEqual("out of time", before["a"][2])
    self.failing = {"a": (hook, lambda: _raise(ValueError("No number.")))}
    with mock.patch.object(network, "_SECS_BETWEEN_SAVES", -1):
      search = self._fit({"a": make(4)})
    self.assertEqual([
        f"a failed{epoch}: ValueError: No number. The search goes on with "
        "epoch 1; fit trains it on when called again."], self.lines())
    self.assertEqual(before, self._figures(search))
    np.testing.assert_equal(weights, search.model.get_weights())
    self.failing = {}
    figures = self._figures(self._fit({"a": make(4)}))
    self.assertFalse(os.path.exists(os.path.join(
        self.folder, "networks", "0-0-a", "traceback.txt")))
    self.folder = self.create_tempdir().full_path
    np.testing.assert_equal(figures, self._figures(self._fit({"a": make(4)})))

  def test_all_networks(self):
    for name in MODELS:
      self.failing[name] = "on_epoch_end", lambda: _raise(ValueError("No."))
    with self.assertRaisesRegex(
        ValueError, r"^models\['a'\] failed: ValueError: No. All 2 networks "):
      self._fit()
    self.assertLen(self.lines(), 2)
    self.failing = {}
    self.assertLen(self._fit().history.members, 2)

  def test_a_worker_that_dies_once(self):
    """The network trains once more, after all others."""
    executor = _Losing("a", 1)
    search = self._fit(executor=executor)
    self.assertEqual([None, "a", "b", "a"], executor.submitted)
    self.assertEmpty(self.lines())
    self.assertLen(search.history.members, 2)

  @level.gate
  @parameterized.parameters(*level.first([(True,), (False,)]))
  def test_a_worker_that_dies_again(self, trains):
    self._check(
        {"a": ": KilledWorker: The worker died"},
        executor=_Losing("a", 2 if trains else 3, trains=trains))

  @level.gate
  def test_a_reusable_executor(self):
    """As that of loky, which has to be asked for anew."""

    class Reusable(_Losing):

      losing = None

      @classmethod
      def get_reusable_executor(cls, unused_max_workers, **unused_options):
        cls.losing.is_broken = False
        return cls.losing, False

    executor = Reusable.losing = Reusable(
        "a", 2, process.BrokenProcessPool, True)
    search = self._fit(executor=executor)
    self.assertEqual([None, "a", "b", "a"], executor.submitted)
    self.assertEqual(
        [f"a failed: BrokenProcessPool: The worker died{_AGAIN}"], self.lines())
    self.assertLen(search.members, sum(
        bool(member.weight) for member in search.history.members))

  @level.gate
  def test_a_pool_that_is_broken(self):
    """A pool of the standard library never works again."""

    class Broken(futures.Executor):

      def submit(self, *unused_args):  # pylint: disable=arguments-differ
        raise process.BrokenProcessPool("A child process terminated abruptly.")

    expected = ("A worker of executor died{}: .* A pool whose worker died is "
                "broken for good. All training so far is in the directory: "
                "call fit again with another executor")
    with self.assertRaisesRegex(RuntimeError, "^" + expected.format("")):
      self._fit(executor=Broken())
    with self.assertRaisesRegex(RuntimeError, "^" + expected.format(
        " while it trained a")):
      self._fit(executor=_Losing("a", 1, process.BrokenProcessPool, True))
    # The network behind comes first, in case the same happens again.
    executor = _Losing("", 0)
    search = self._fit(executor=executor)
    self.assertEqual([None, "b", "a"], executor.submitted)
    self.assertLen(search.history.members, 2)

  @level.gate
  def test_a_pool_whose_worker_is_killed(self):
    kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
    callbacks = lambda name: [Failing("on_epoch_end", kill)] * (name == "b")
    with engines.process_pool(1) as pool:
      for _ in range(2):
        with self.assertRaisesRegex(
            RuntimeError, "^A worker of executor died.* broken for good"):
          self._fit(executor=pool, callbacks=callbacks)
    search = self._fit()
    self.folder = self.create_tempdir().full_path
    np.testing.assert_equal(self._figures(search), self._figures(self._fit()))

  @level.gate
  def test_sigterm(self):
    """It is as Ctrl-C: what has trained is saved, and the status is 143."""
    done = subprocess.run([sys.executable, "-c", """if True:
        import os, signal, sys
        from adanet import tf_compat
        from adanet.ensemble_search import ensemble_search, failures_test
        class Ends(tf_compat.keras_3.callbacks.Callback):
          def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
              os.kill(os.getpid(), signal.SIGTERM)
        ensemble_search.EnsembleSearch(
            {"a": failures_test.make(4)}, "mse", directory=sys.argv[1], seed=1
        ).fit(failures_test.X, failures_test.Y, epochs=10**6, patience=10**6,
              batch_size=16, verbose=0, callbacks=lambda: [Ends()])
        """, self.folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=300, env=dict(
                              os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    self.assertEqual(143, done.returncode, done.stderr)
    self.assertIn("adanet: Stopped. All training so far is saved: call fit "
                  "again to resume.", done.stderr)
    self.assertNotIn("Traceback", done.stderr)
    folder = self.folder
    with mock.patch.object(
        network.Network, "end_check", autospec=True,
        side_effect=network.Network.end_check) as end_check:
      figures = self._figures(self._fit({"a": make(4)}, epochs=9, patience=9))
    self.assertLess(end_check.call_count, 9)
    self.folder = self.create_tempdir().full_path
    self.assertNotEqual(folder, self.folder)
    np.testing.assert_equal(figures, self._figures(self._fit(
        {"a": make(4)}, epochs=9, patience=9)))


if __name__ == "__main__":
  absltest.main()
