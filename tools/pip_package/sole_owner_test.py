# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of an adanet that another distribution shares its folder with."""

import os
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
import runfiles
from tools.pip_package import virtual_environment

_FOLDER = runfiles.Create().Rlocation("adanet/tools/pip_package")
_WHEEL = os.path.join(
    _FOLDER, "adanet_distributed-{}-py3-none-any.whl".format(version.VERSION))
_OTHER_WHEEL = os.path.join(
    _FOLDER, "testdata", "adanet-0.9.0-py3-none-any.whl")


class _Environment(virtual_environment.VirtualEnvironment):

  def install(self, *wheels):
    for wheel in wheels:
      self.pip("install", "--no-index", "--no-deps", wheel)

  def execute(self, statement):
    return self.run([self.python, "-c", statement])


class SoleOwnerTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = tempfile.TemporaryDirectory()
    cls.alone = _Environment(os.path.join(cls._folder.name, "alone"))
    cls.alone.install(_WHEEL)

  @classmethod
  def tearDownClass(cls):
    cls._folder.cleanup()
    super().tearDownClass()

  def _write_metadata(self, folder, file, text):
    """Makes it look in the environment `alone` as if more was installed."""
    folder = os.path.join(self.alone.site_packages, folder)
    os.mkdir(folder)
    self.addCleanup(shutil.rmtree, folder)
    if file:
      with open(os.path.join(folder, file), "w") as f:
        f.write(text)

  def _last_line(self, environment, statement):
    code, output = environment.execute(statement)
    return code, output.splitlines()[-1]

  def _assert_refuses(self, environment, statement):
    self.assertEqual(
        (1, "ImportError: adanet 0.9.0 and adanet-distributed {} are both "
         "installed in {} and have overwritten each other's files of the "
         "import package adanet: run 'pip uninstall adanet "
         "adanet-distributed', and then install the one that you want.".format(
             version.VERSION, environment.site_packages)),
        self._last_line(environment, statement))

  def _assert_accepts(self, environment):
    self.assertEqual(
        (0, version.VERSION + "\n"),
        environment.execute("import adanet; print(adanet.__version__)"))

  def test_installed_after_the_other(self):
    # In the opposite order the other one's __init__.py is what Python imports.
    mixed = _Environment(self.create_tempdir().full_path)
    mixed.install(_OTHER_WHEEL, _WHEEL)
    for statement in ("import adanet", "from adanet import core",
                      "import adanet.distributed.devices"):
      with self.subTest(statement):
        self._assert_refuses(mixed, statement)
    # What the message tells to do helps.
    mixed.pip("uninstall", "--yes", "adanet", "adanet-distributed")
    mixed.install(_WHEEL)
    self._assert_accepts(mixed)

  @parameterized.parameters(
      ("~danet-0.9.0.dist-info", "RECORD", "adanet/core.py,,\n"),
      ("adanet_tools-1.dist-info", "RECORD", "adanet_tools/a.py,,\n"),
      ("other-1.dist-info", "RECORD", "other/adanet/a.py,,\n"),
      ("other-1.egg-info", "top_level.txt", "other\nadanet_tools"),
      ("empty-1.dist-info", None, None),
      ("adanet-0.9.0", "RECORD", "adanet/core.py,,\n"),
  )
  def test_accepts(self, folder, file, text):
    self._write_metadata(folder, file, text)
    self._assert_accepts(self.alone)

  @parameterized.parameters(
      ("adanet-0.9.0.dist-info", "RECORD", "a.py,,\nadanet/core.py,,\n"),
      ("adanet-0.9.0-py3.7.egg-info", "top_level.txt", "adanet"),
  )
  def test_refuses(self, folder, file, text):
    self._write_metadata(folder, file, text)
    self._assert_refuses(self.alone, "import adanet")


if __name__ == "__main__":
  absltest.main()
