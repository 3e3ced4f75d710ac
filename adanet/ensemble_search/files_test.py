# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the temporary folder of a search."""

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
