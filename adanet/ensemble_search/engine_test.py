# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures are the same on every engine, stopped and resumed or not."""

from concurrent import futures
import contextlib
import itertools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import batches as batches_lib
from adanet.ensemble_search import data
from adanet.ensemble_search import engine
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import files
from adanet.ensemble_search import network
from adanet.ensemble_search import records
from adanet.ensemble_search import search_run
from adanet.ensemble_search import steps as steps_lib
from adanet.testing import engines
from adanet.testing import level
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
L = keras.layers
_R = np.random.RandomState(0)
X = _R.randn(120, 4).astype("float32")
Y = X[:, :1] * X[:, 1:2]


def small():
  return keras.Sequential([L.Dense(4, "tanh"), L.Dropout(.2), L.Dense(1)])


def big():
  return keras.Sequential([L.Dense(9, "relu"), L.BatchNormalization(),
                           L.Dense(1)])


def batches():
  return tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)


MODELS = {"small": small, "big": big}


def fitted(directory, **fit):
  search = ensemble_search.EnsembleSearch(
      MODELS, "mse", metrics=["mae"], directory=directory, seed=3,
      optimizer=keras.optimizers.Adam(.03))
  search.fit(**{**dict(x=X, y=None if "x" in fit else Y, epochs=4, patience=2,
                       batch_size=16, verbose=0), **fit})
  return search


def _figures(search):
  """Returns all that is to be equal."""
  networks = [record._replace(seconds=0., predict_seconds=0.)
              for record in search.history.networks]
  return networks + [search.history.ensemble] + search.model.get_weights()


class _Killed(BaseException):
  pass


@contextlib.contextmanager
def _out_of_time(epochs):
  """Ends the time of a search after some epochs of all networks."""
  ended = []
  end_check = network.Network.end_check
  with mock.patch.object(
      network.Network, "end_check",
      lambda self: (end_check(self), ended.append(1))), mock.patch.object(
          engine.Stop, "is_set", lambda self: len(ended) >= epochs):
    yield


class EngineTest(parameterized.TestCase):

  expected = {}

  def _check(self, search, folds=None, **fit):
    self._trained()
    name = repr((folds, fit))
    if name not in self.expected:
      self.expected[name] = _figures(fitted(
          self.create_tempdir().full_path, folds=folds, **fit))
    np.testing.assert_equal(_figures(search), self.expected[name])

  @classmethod
  def _trained(cls):
    """Returns the directory of a search that has ended."""
    if "folder" not in cls.expected:
      cls.expected["folder"] = tempfile.mkdtemp()
      cls.addClassCleanup(shutil.rmtree, cls.expected["folder"])
      cls.expected["(None, {})"] = _figures(fitted(cls.expected["folder"]))
    return cls.expected["folder"]

  def test_threads_twice(self):
    self._trained()
    states = random.getstate(), np.random.get_state()[1].tolist()
    self._check(fitted(self.create_tempdir().full_path))
    self.assertEqual(
        states, (random.getstate(), np.random.get_state()[1].tolist()))

  def test_a_trace_leaves_the_generators_of_the_program(self):
    states = []
    trace = steps_lib.Steps.trace

    def look(traced):
      states.append(random.getstate())
      trace(traced)

    with mock.patch.object(steps_lib.Steps, "trace", look):
      fitted(self.create_tempdir().full_path, epochs=1)
    self.assertEqual([random.getstate()] * 2, states)

  @parameterized.parameters("pool", "dask")
  @level.gate
  def test_executors(self, name):
    opened = (engines.process_pool(1) if name == "pool" else
              engines.dask_cluster(1))
    with opened as executor:
      self._check(fitted(self.create_tempdir().full_path, executor=executor))
      if name == "pool":
        self._check(fitted(self.create_tempdir().full_path, executor=executor,
                           folds=2), folds=2)
        fit = {"x": batches, "validation_data": batches}
        self._check(fitted(self.create_tempdir().full_path, executor=executor,
                           **fit), **fit)

  @level.gate
  def test_other_threads_that_draw(self):
    # As the thread of a worker of Dask does.
    is_over = threading.Event()

    def draws():
      while not is_over.is_set():
        random.sample(range(9), 3)

    thread = threading.Thread(target=draws)
    thread.start()
    try:
      search = fitted(self.create_tempdir().full_path)
    finally:
      is_over.set()
      thread.join()
    self._check(search)

  @level.gate
  @parameterized.parameters(0, 1 << 30)
  def test_held_out_data_that_are_not_kept(self, limit):
    """The result does not depend on it, and one reading serves all networks."""
    read = []

    def counted():
      return batches().map(lambda x, y: (x, tf.ensure_shape(tf.numpy_function(
          lambda batch: read.append(1) or batch, [y], tf.float32), [None, 1])))

    fit = {"x": batches, "validation_data": counted, "epochs": 2, "patience": 9}
    expected = fitted(self.create_tempdir().full_path, **{
        **fit, "validation_data": batches})
    with mock.patch.object(batches_lib, "_MAX_KEPT_BYTES", limit):
      actual = fitted(self.create_tempdir().full_path, **fit)
    np.testing.assert_equal(
        expected.model.get_weights(), actual.model.get_weights())
    # Batches that are not kept have the sizes of the user.
    self.assertAlmostEqual(expected.history.ensemble["val_loss"],
                           actual.history.ensemble["val_loss"], places=5)
    # Once to look at all, twice to check two networks at a time, and to predict
    # when each network has ended.
    self.assertLen(read, 8 if limit else 5 * 8)

  def test_a_dataset_is_made_and_read_once(self):
    calls, read = [], []

    def counted():
      calls.append(1)
      return batches().map(lambda x, y: (x, tf.ensure_shape(tf.numpy_function(
          lambda batch: read.append(1) or batch, [y], tf.float32), [None, 1])))

    fitted(self.create_tempdir().full_path, x=counted,
           validation_data=(X, Y), epochs=2, patience=9)
    self.assertLen(calls, 1)
    self.assertLen(read, 2 * 8)

  def _kill(self, owner, name, killed, folder, **fit):
    with mock.patch.object(network, "_SECS_BETWEEN_SAVES", -1), (
        mock.patch.object(owner, name, killed)), self.assertRaises(_Killed):
      fitted(folder, **fit)

  @parameterized.parameters(level.first([
      (11, {}), (12, {"x": batches, "validation_data": (X, Y)})]))
  def test_stopped_in_an_epoch(self, count, data):
    folder = self.create_tempdir().full_path
    asked = itertools.count()
    with mock.patch.object(network, "_SECS_OF_A_CALL", 0), mock.patch.object(
        engine.Stop, "is_set", lambda _: next(asked) >= count):
      fitted(folder, **data)
    self.assertLess(sum(record.ended not in ("", records.TIME) for record in
                        fitted_history(folder).networks), 2)
    self._check(fitted(folder, **data), **data)

  def test_ctrl_c(self):
    folder = self.create_tempdir().full_path
    # A job in the background of a shell ignores Ctrl-C.
    self.addCleanup(signal.signal, signal.SIGINT, signal.signal(
        signal.SIGINT, signal.default_int_handler))
    report = network.Network.end_epoch
    pressed = []

    def end_epoch(running_network):
      report(running_network)
      if not pressed:
        pressed.append(1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(.5)

    with mock.patch.object(network.Network, "end_epoch", end_epoch):
      with self.assertLogs(level="WARNING") as logs, \
           self.assertRaises(KeyboardInterrupt):
        fitted(folder)
    self.assertIn("call fit again to resume", logs.output[-1])
    self._check(fitted(folder))
    self.assertEqual(1, threading.active_count() - sum(
        thread.daemon for thread in threading.enumerate()))

  @level.gate
  def test_a_killed_program(self):
    folder = self.create_tempdir().full_path
    with subprocess.Popen([sys.executable, "-c", """if True:
        import sys
        from adanet.ensemble_search import engine_test, network
        network._SECS_BETWEEN_SAVES = -1
        engine_test.fitted(sys.argv[1])
        """, folder], env=dict(
            os.environ, PYTHONPATH=os.pathsep.join(sys.path))) as program:
      end = time.monotonic() + 120
      while time.monotonic() < end and program.poll() is None and not any(
          name.endswith("last.weights.h5") and not name.startswith("new-")
          for _, _, names in os.walk(folder) for name in names):
        time.sleep(.02)
      # It trains: a second one is refused.
      if program.poll() is None:
        with self.assertRaisesRegex(
            RuntimeError, f"^directory='{folder}' is in use by process "
            f"{program.pid} on host .* since "):
          fitted(folder)
      program.kill()
    self._check(fitted(folder))

  @level.gate
  def test_a_file_that_a_crash_cut(self):
    folder, name = self._copy(), "best.weights.h5"
    networks = os.path.join(folder, "networks", "0-0-big")
    os.truncate(os.path.join(networks, name), 99)
    unfinished = self.create_tempfile(os.path.join(folder, "new-9-data.pickle"))
    with self.assertLogs("absl") as logs:
      self._check(fitted(folder))
    self.assertRegex(
        logs.output[0], f"'/.*/0-0-big/{name}' is damaged: big trains anew.$")
    self.assertFalse(os.path.exists(unfinished.full_path))

  @level.gate
  def test_a_saved_file_that_a_crash_spoiled(self):
    """The network fails, and trains anew in the next call.

    If the file has another size, the network trains anew at once.
    """
    folder = self.create_tempdir().full_path
    self._kill(network.Network, "finish", mock.Mock(side_effect=_Killed),
               folder)
    path = next(pathlib.Path(folder).glob("networks/*/*-last.weights.h5"))
    path.write_bytes(b"\0" * path.stat().st_size)
    cut = shutil.copytree(folder, self.create_tempdir().full_path,
                          dirs_exist_ok=True)
    with self.assertLogs("absl", "WARNING") as logs:
      fitted(folder)
    self.assertIn(f"failed: DamagedFileError: '{path}' cannot be read: ",
                  logs.output[-1])
    self._check(fitted(folder))
    os.truncate(os.path.join(cut, path.relative_to(folder)), 99)
    self._check(fitted(cut))

  def test_a_lost_worker(self):

    class KilledWorker(Exception):
      """As that of Dask."""

    class Losing(futures.Executor):

      def submit(self, *args):  # pylint: disable=arguments-differ
        future = futures.Future()
        future.set_exception(KilledWorker("4 workers died."))
        return future

    with self.assertRaisesRegex(
        RuntimeError, "^A worker of executor died: 4 workers died. All "
        "training so far is in the directory: call fit again"):
      fitted(self.create_tempdir().full_path, executor=Losing())

  @parameterized.parameters(level.first(["last.weights.h5", "network.json"]))
  def test_two_workers_that_save_a_network(self, name):
    folder = files.Folder(pathlib.Path(self.create_tempdir().full_path))
    replace = os.replace
    value = keras.Sequential([keras.Input([1]), L.Dense(1, use_bias=False)])

    def save(epochs):
      value.set_weights([np.full([1, 1], epochs)])
      folder.save(value, value.get_weights(), records.NetworkRecord(
          [{"val_loss": 1.}] * epochs, epochs))

    def replaced(source, target):
      if target.name.endswith(name):
        with mock.patch.object(files.os, "replace", replace):
          save(2)
      replace(source, target)

    with mock.patch.object(files.os, "replace", replaced):
      save(1)
    record = folder.read_record()
    if folder.has_state(record):  # Else the network begins anew.
      folder.load(value, record.saved_file(files.LAST))
      self.assertLen(record.epochs, int(value.get_weights()[0][0, 0]))

  def _copy(self):
    return shutil.copytree(self._trained(), os.path.join(
        self.create_tempdir().full_path, "moved"))

  @level.gate
  def test_done_networks_are_not_trained_again(self):
    folder = self._copy()
    with mock.patch.object(network.Network, "take_steps") as take:
      search = fitted(folder)
      take.assert_not_called()
    self._check(search)
    search.fit(X, Y, epochs=4, patience=2, batch_size=16, verbose=0,
               iterations=2)
    self.assertEqual(
        ["small", "big", "small (2)", "big (2)"],
        [record.name for record in search.history.networks])

  @level.gate
  def test_other_limits(self):
    """Networks that have ended stay; those that train go by the new limits."""
    folder = self._copy()
    with self.assertLogs("absl") as logs:
      self._check(fitted(folder, epochs=9, patience=3))
    self.assertIn("epochs: 4 before, 9 now; patience: 2 before, 3 now: "
                  "finished networks stay", logs.output[0])
    stopped = self.create_tempdir().full_path
    fitted(stopped, epochs=10**6, patience=10**6, max_seconds=.5)
    search = fitted(stopped, epochs=1, patience=9)
    for record in search.history.networks:
      self.assertEqual("all epochs", record.ended)

  @level.gate
  def test_max_seconds(self):
    """A search out of time has the best epochs so far."""
    heard = []
    fit = dict(epochs=10**6, patience=10**6, callbacks=lambda: [
        keras.callbacks.LambdaCallback(
            on_train_begin=lambda logs: heard.append("begin"),
            on_train_end=lambda logs: heard.append("end"))])
    folder = self.create_tempdir().full_path
    with _out_of_time(4):
      search = fitted(folder, **fit, max_seconds=60, parallel=2)
    self.assertIn("out of time", [
        record.ended for record in search.history.networks])
    self.assertEqual(["begin"] * len(search.history.networks), heard)
    self._check_model(search)
    heard.clear()
    search = fitted(folder, **{**fit, "patience": 1})
    self.assertNotIn("out of time", [
        record.ended for record in search.history.networks])
    self.assertEqual(["begin", "begin", "end", "end"], sorted(heard))
    self._check_model(search)

  def _check_model(self, search):
    """What is served is what is recorded."""
    rows = data.split_data(X, Y, 16, None, .2, None, None, None, 3)[0][
        0].held_out.numbers
    self.assertAlmostEqual(
        search.history.ensemble["val_loss"], search.model.evaluate(
            X[rows], Y[rows], batch_size=256, verbose=0)[0], places=5)

  @parameterized.parameters(*level.first([
      (3, {}), (0, {}), (2, {"x": batches, "validation_data": batches})]))
  def test_resumed_after_time(self, epochs, fit):
    """Networks that were out of time go on as if there had been no end."""
    folder = self.create_tempdir().full_path
    with _out_of_time(epochs):
      search = fitted(folder, max_seconds=60, **fit)
    records = search.history.networks
    if epochs:
      self.assertIn("out of time", [record.ended for record in records])
      self.assertLen(search.history.members, sum(
          bool(record.ended) for record in records))
      self.assertTrue(np.isfinite(search.model.predict(X, verbose=0)).all())
    with mock.patch.object(
        network.Network, "end_check", autospec=True,
        side_effect=network.Network.end_check) as end_check:
      search = fitted(folder, **fit)
    # No epoch trains twice.
    self.assertEqual(
        *(sum(len(record.epochs) for record in networks) + calls
          for networks, calls in ((records, end_check.call_count),
                                  (search.history.networks, 0))))
    self._check(search, **fit)

  @level.gate
  def test_max_seconds_on_a_pool(self):
    folder = self.create_tempdir().full_path

    def is_set(_):
      records = [files.Folder(path).read_record()
                 for path in pathlib.Path(folder, "networks").glob("*")]
      return [bool(record and record.epochs)
              for record in records] == [True] * 2

    with engines.process_pool(2) as executor:
      with mock.patch.object(engine.Stop, "is_set", is_set), mock.patch.object(
          network, "_SECS_BETWEEN_SAVES", -1):
        search = fitted(folder, epochs=10**6, patience=10**6, max_seconds=60,
                        executor=executor)
      self.assertEqual(["out of time"] * 2, [
          record.ended for record in search.history.networks])
      self._check_model(search)

  def test_parallel(self):
    """A network begins when the one before has ended."""
    heard = []
    search = fitted(
        self.create_tempdir().full_path, parallel=1, callbacks=lambda: [
            keras.callbacks.LambdaCallback(
                on_train_begin=lambda logs: heard.append("begin"),
                on_epoch_end=lambda epoch, logs: time.sleep(.05),
                on_train_end=lambda logs: heard.append("end"))])
    self.assertEqual(["begin", "end"] * 2, heard)
    self._check(search)

  def test_callbacks_that_change_nothing(self):
    """The network that was built for checks trains, without another trace."""
    with mock.patch.object(
        steps_lib.Steps, "trace", autospec=True,
        side_effect=steps_lib.Steps.trace) as trace:
      search = fitted(self.create_tempdir().full_path, parallel=1,
                      callbacks=lambda: [keras.callbacks.Callback()])
    self.assertLen(search.history.networks, trace.call_count)
    self._check(search)

  @level.gate
  def test_selecting_that_takes_too_long(self):
    """The best network alone is an ensemble; a later call selects anew."""
    folder = self.create_tempdir().full_path
    with mock.patch.object(engine.Stop, "is_late", lambda self: True):
      search = fitted(folder, max_seconds=60)
    self.assertLen(search.members, 1)
    is_stopped = lambda: files.Directory(folder).read_ensemble()["is_stopped"]
    self.assertTrue(is_stopped())
    self._check(fitted(folder))
    self.assertFalse(is_stopped())

  @parameterized.named_parameters(*level.first([
      ("loss", {"loss": "mae"}, {}, "loss: 'mse' before, 'mae' now"),
      ("monitor", {"metrics": ["mae"], "monitor": "val_mae", "mode": "min"}, {},
       r"monitor: val_loss \(min\) before, val_mae \(min\) now"),
      ("x", {}, {"x": X + 1}, "x has other values"),
      ("rows", {}, {"x": X[1:], "y": Y[1:]}, r"x: \[120, 4\] before, \[119"),
      ("y", {}, {"y": Y + 1}, "y has other values"),
      ("seed", {"seed": 2}, {}, "seed: 3 before, 2 now"),
      ("optimizer", {"optimizer": "sgd"}, {}, "optimizer: Adam before, 'sgd'"),
      ("rate", {"optimizer": keras.optimizers.Adam(.1)}, {},
       "optimizer has other values"),
      ("batch_size", {}, {"batch_size": 8}, "batch_size: 16 before, 8 now"),
      ("split", {}, {"validation_split": .3}, "validation_split: 0.2 before")],
                                               3))
  def test_another_search(self, arguments, fit, expected):
    with self.assertRaisesRegex(
        ValueError, "has a search with something else: "
        f"{expected}.*Give the original arguments, or another directory.$"):
      ensemble_search.EnsembleSearch(**{**dict(
          models=MODELS, loss="mse", directory=self._trained(), seed=3,
          optimizer=keras.optimizers.Adam(.03)), **arguments}).fit(**{**dict(
              x=X, y=Y, batch_size=16, epochs=4, patience=2, verbose=0), **fit})

  def test_load(self):
    moved = self._copy()
    loaded = ensemble_search.EnsembleSearch(MODELS, directory=moved)
    np.testing.assert_array_equal(
        loaded.model.predict(X, verbose=0),
        ensemble_search.EnsembleSearch(
            MODELS, "mse", directory=moved).model.predict(X, verbose=0))
    self.assertEqual(["loss", "mae"], sorted(loaded.model.evaluate(
        X, Y, verbose=0, return_dict=True)))
    with self.assertRaisesRegex(
        ValueError, "^name='wide': expected the name of a finished network: "
        "'small', 'big'.$"):
      loaded.network("wide")
    with self.assertRaisesRegex(ValueError, "makes another model than the one"):
      ensemble_search.EnsembleSearch(
          {"small": big, "big": small}, directory=moved).network("small")
    # The shapes of the weights are the same, and what is computed is not.
    relu = lambda: keras.Sequential([
        L.Dense(4, "relu"), L.Dropout(.2), L.Dense(1)])
    with self.assertRaisesRegex(
        ValueError, r"^models\['small'\] .*predictions of held-out rows"):
      ensemble_search.EnsembleSearch(
          {"small": relu, "big": big}, directory=moved).network("small")

  def test_the_directory_records_the_monitor(self):
    folder = self.create_tempdir().full_path
    arguments = {"epochs": 1, "verbose": 0}
    models = {"small": small}
    search = ensemble_search.EnsembleSearch(
        models, "mse", ["mae"], monitor="val_mae", mode="max", directory=folder)
    search.fit(X, Y, **arguments)
    self.assertIn("val_mae", search.leaderboard()[0])
    loaded = ensemble_search.EnsembleSearch(models, directory=folder)
    loaded.fit(X, Y, iterations=2, **arguments)
    self.assertEqual(("val_mae", "max", 2), (
        loaded.history.monitor, loaded.history.mode,
        len(loaded.history.networks)))

  def test_the_best_candidates_alone_are_selected_from(self):
    folder = self._copy()
    os.remove(os.path.join(folder, "ensemble.json"))
    search = ensemble_search.EnsembleSearch(MODELS, directory=folder)
    with mock.patch.object(search_run.judge_lib, "_MAX_CANDIDATES", 1):
      member, = search.members
    self.assertEqual([(member.name, 1.), ("small", 0.)], [
        (row["name"], row["weight"]) for row in search.history.rows()[1:]])

  def test_repr(self):
    self.assertEqual("<EnsembleSearch nothing has trained yet>", repr(
        ensemble_search.EnsembleSearch(MODELS, "mse")))
    folder = self._copy()
    search = ensemble_search.EnsembleSearch(MODELS, "mse", directory=folder)
    self.assertRegex(repr(search), (
        rf"^<EnsembleSearch '{folder}': 2 networks, ensemble of [12]: val_loss "
        r"\d+\.\d+>$"))
    os.remove(os.path.join(folder, "ensemble.json"))
    self.assertRegex(repr(search), ": 2 networks, no ensemble yet>$")
    with open(os.path.join(folder, "search.json"), "w") as file:
      file.write("{")
    self.assertRegex(repr(search), f"^<EnsembleSearch '{folder}': .*json.*>$")
    self.assertRegex(repr(ensemble_search.EnsembleSearch(
        MODELS, directory=self.create_tempdir().full_path)),
                     "': nothing has trained yet>$")

  @parameterized.parameters("ensemble_search.json", "checkpoint")
  def test_old_directory(self, name):
    folder = self.create_tempdir().full_path
    self.create_tempfile(os.path.join(folder, "search.json"), "{}")
    self.create_tempfile(os.path.join(folder, name))
    expected = "it is of an Estimator, or of an earlier version"
    with self.assertRaisesRegex(ValueError, expected):
      fitted(folder)
    with self.assertRaisesRegex(ValueError, expected):
      ensemble_search.EnsembleSearch(MODELS, directory=folder)


def fitted_history(folder):
  return ensemble_search.EnsembleSearch(
      MODELS, "mse", directory=folder).history


if __name__ == "__main__":
  absltest.main()
