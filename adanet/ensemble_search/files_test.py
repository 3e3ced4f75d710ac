# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of a search: whole or missing, and gone with a temporary folder."""

import contextlib
import copy
import gc
import glob
import io
import os
import subprocess
import sys
import tempfile
from unittest import mock
import warnings

from absl.testing import absltest
from adanet import tf_compat
from adanet.ensemble_search import arguments
from adanet.ensemble_search import ensemble_search
from adanet.ensemble_search import files
from adanet.ensemble_search import records
from adanet.testing import level
from adanet.testing import processes
import numpy as np

keras = tf_compat.keras_3
_X, _Y = np.ones([20, 2], np.float32), np.ones([20], np.float32)
_PROGRAM = """
import os
import sys
from adanet.ensemble_search import arguments

folder = arguments.TemporaryFolder()
if not os.fork():
  sys.exit()  # Calls what a process calls at its end.
os.wait()
print(folder.path, os.path.isdir(folder.path))
"""


class FolderTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.directory = files.Directory(self.create_tempdir().full_path)
    self.folder = self.directory.folder(records.NetworkKey(0, 0, "a"))
    self.folder.path.mkdir(parents=True)

  def _names(self):
    return sorted(path.name for path in self.folder.path.iterdir())

  def test_saved_states(self):
    """The files of a save stay until the record names those of the next one."""
    model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1)])
    record = records.NetworkRecord([{"val_loss": 1.}], 1, step=3)
    best = [np.full([1, 1], 7.), np.zeros([1])]
    model.set_weights([np.full([1, 1], 8.), np.zeros([1])])
    for _ in range(2):
      self.folder.save(model, best, record)
      self.assertLen(self._names(), 3)
    self.assertEqual(8., model.get_weights()[0])
    read = self.folder.read_record()
    self.assertEqual(vars(record), vars(read))
    self.assertTrue(self.folder.has_state(read))
    for name, value in (("best", 7.), ("last", 8.)):
      self.folder.load(model, read.saved_file(f"{name}.weights.h5"))
      self.assertEqual(value, model.get_weights()[0])
    self.assertIsNone(self.folder.predicted_record())
    last = self.folder.path / read.saved_file("last.weights.h5")
    os.truncate(last, 9)
    self.assertFalse(self.folder.has_state(read))
    with self.assertRaisesRegex(files.DamagedFileError, "cannot be read"):
      self.folder.load(model, last.name)
    # A file that another worker writes now stays.
    (self.folder.path / "new-1-best.weights.h5").touch()
    record.ended = records.PATIENCE
    self.folder.write_record(record)
    self.assertEqual(["network.json", "new-1-best.weights.h5"], self._names())

  def test_damage(self):
    self.assertIsNone(self.folder.read_record())
    self.assertIsNone(self.folder.find_damage())
    self.folder.write_record(records.NetworkRecord(
        ended=records.EPOCHS, checksums={"held_out.npz": [3, 891568578]}))
    path = self.folder.path / "held_out.npz"
    self.assertEqual(path, self.folder.find_damage())
    path.write_bytes(b"abc")
    self.assertIsNone(self.folder.find_damage())
    path.write_bytes(b"abd")
    self.assertEqual(path, self.folder.find_damage())
    os.truncate(self.folder.path / "network.json", 20)
    self.assertEqual(self.folder.path / "network.json",
                     self.folder.find_damage())
    with self.assertRaisesRegex(files.DamagedFileError, "trains its network"):
      self.folder.read_record()
    self.folder.forget()
    self.assertIsNone(self.folder.read_record())

  def test_files_are_whole_or_missing(self):
    path = self.folder.path / "a"
    with self.assertRaises(KeyError):
      with files.atomic_write(path) as temporary:
        temporary.write_text("half")
        raise KeyError
    self.assertFalse(path.exists())
    with files.atomic_write(path) as temporary:
      temporary.write_text("whole")
      self.assertFalse(path.exists())
    self.assertEqual("whole", path.read_text())
    (self.folder.path / "new-1-a").touch()
    files.remove_unfinished(self.folder.path)
    self.assertEqual(["a"], self._names())

  def test_json(self):
    value = {"a": (1, [2, (3,)]), "b": None, "c": {"d": ()}}
    self.directory.write(files.to_json(value))
    self.assertEqual(value, files.from_json(self.directory.read()))
    path = self.directory.path / "search.json"
    path.write_text(path.read_text().replace("2", "4"))
    with self.assertRaisesRegex(ValueError, "search.json' cannot be read"):
      self.directory.read()
    path.write_text("{}")
    with self.assertRaisesRegex(ValueError, "it is of an Estimator, or of an "):
      self.directory.read()

  def test_ensemble_and_its_outputs(self):
    self.assertIsNone(self.directory.read_ensemble())
    for value in (1., 2.):
      self.directory.write_ensemble({"folds": 1}, [np.full([3], value)])
    content = self.directory.read_ensemble()
    (outputs,) = self.directory.read_outputs(content["outputs"])
    self.assertEqual([2.] * 3, outputs.tolist())
    self.assertLen(glob.glob(str(self.directory.path / "*-outputs.npz")), 1)
    self.directory.write_ensemble({"folds": 1}, [])
    self.assertEmpty(glob.glob(str(self.directory.path / "*-outputs.npz")))

  def test_lock_and_stop(self):
    with self.directory.locked():
      with self.assertRaisesRegex(RuntimeError, "is in use"):
        with self.directory.locked():
          pass
      self.assertFalse(self.directory.is_stopping())
      self.directory.stop("a network failed")
      self.directory.stop(records.TIME)
      self.assertTrue(self.directory.is_stopping())
      self.assertFalse(self.directory.is_out_of_time())
    with self.directory.locked():
      self.assertFalse(self.directory.is_stopping())
      self.directory.stop(records.TIME)
      self.assertTrue(self.directory.is_out_of_time())


class TemporaryFolderTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._parent = self.create_tempdir().full_path
    self.enter_context(mock.patch.object(tempfile, "tempdir", self._parent))

  def _fit(self):
    return ensemble_search.EnsembleSearch({
        "a": lambda: keras.Sequential([keras.layers.Dense(1)])}, "mse").fit(
            _X, _Y, epochs=1, verbose=0)

  def test_goes_with_the_search_and_its_copies(self):
    search = self._fit()
    model, history = search.model, search.history
    copies = [copy.copy(search), copy.deepcopy(search)]
    del search
    gc.collect()
    self.assertLen(copies.pop().leaderboard(), 2)
    self.assertLen(copies.pop().leaderboard(), 2)
    gc.collect()
    self.assertEmpty(os.listdir(self._parent))
    self.assertEqual((20, 1), model.predict(_X, verbose=0).shape)
    self.assertLen(history.networks, 1)

  def test_stays_after_the_end_of_a_forked_process(self):
    folder = arguments.TemporaryFolder()
    path = folder.path
    with mock.patch.object(os, "getpid", return_value=os.getpid() + 1):
      del folder
    self.assertTrue(os.path.isdir(path))

  @level.gate
  def test_goes_with_the_process_and_not_with_its_fork(self):
    path, is_folder = subprocess.check_output(
        [sys.executable, "-c", _PROGRAM], text=True,
        env=processes.python_environment()).split()
    self.assertEqual("True", is_folder)
    self.assertFalse(os.path.exists(path))

  def test_verbose_0_shows_nothing(self):
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(shown), (
        self.assertNoLogs()), warnings.catch_warnings():
      warnings.simplefilter("ignore", DeprecationWarning)  # Of Keras.
      search = self._fit()
      search.fit(_X, _Y, epochs=1, iterations=2, verbose=0)
    self.assertEqual("", shown.getvalue())
    self.assertLen(glob.glob(os.path.join(self._parent, "adanet-temporary-*")),
                   1)


if __name__ == "__main__":
  absltest.main()
