# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of an adanet that another distribution shares its folder with."""

import pathlib
import shutil
import tempfile
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
import runfiles
from tools.pip_package import virtual_environment

_WHEEL = runfiles.Create().Rlocation(
    "adanet/tools/pip_package/adanet_distributed-{}-py3-none-any.whl".format(
        version.VERSION))

_RECORD = "adanet-0.9.0.dist-info/RECORD"
_OTHER = {
    "adanet/__init__.py": "from adanet import core\n__version__ = '0.9.0'\n",
    "adanet/core.py": "",
    "adanet/distributed/__init__.py": "",
    "adanet-0.9.0.dist-info/METADATA":
        "Metadata-Version: 2.1\nName: adanet\nVersion: 0.9.0\n",
}
_OTHER[_RECORD] = "".join(name + ",,\n" for name in [_RECORD] + list(_OTHER))


class SoleOwnerTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = tempfile.TemporaryDirectory()
    cls.environment = virtual_environment.VirtualEnvironment(cls._folder.name)
    cls.site = pathlib.Path(cls.environment.site_packages)

  @classmethod
  def tearDownClass(cls):
    cls._folder.cleanup()
    super().tearDownClass()

  def setUp(self):
    super().setUp()
    self._install()

  def tearDown(self):
    for folder in self.site.glob("*/"):
      shutil.rmtree(folder)
    super().tearDown()

  def _install(self):
    """Does what pip does: it overwrites files that are there."""
    with zipfile.ZipFile(_WHEEL) as wheel:
      wheel.extractall(self.site)

  def _write(self, files):
    for name, text in files.items():
      path = self.site / name
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(text)

  def _assert_refuses(self, statement="import adanet"):
    code, output = self.environment.python(statement)
    self.assertEqual(
        (1, "ImportError: adanet 0.9.0 and adanet-distributed {} are both "
         "installed in {} and have overwritten each other's files of the "
         "import package adanet: run 'pip uninstall adanet "
         "adanet-distributed', and then install the one that you want.".format(
             version.VERSION, self.site)), (code, output.splitlines()[-1]))

  def _assert_imports(self, expected_version, **env):
    self.assertEqual(
        (0, expected_version + "\n"), self.environment.python(
            "import adanet; print(adanet.__version__)", **env))

  def test_installed_with_another(self):
    self._write(_OTHER)
    self._assert_imports("0.9.0")
    self._install()
    for statement in ("import adanet", "from adanet import core",
                      "import adanet.distributed.devices"):
      self._assert_refuses(statement)
    # The advice in the message helps.
    self.environment.pip("uninstall", "--yes", "adanet", "adanet-distributed")
    self.assertEmpty(list(self.site.glob("adanet*/**/*.py")))
    self._install()
    self._assert_imports(version.VERSION)

  def test_accepts_a_zip_file(self):
    self._write({_RECORD: _OTHER[_RECORD]})
    self._assert_imports(version.VERSION, PYTHONPATH=_WHEEL)

  @parameterized.parameters(
      ("~danet-0.9.0.dist-info/RECORD", "adanet/core.py,,\n"),
      ("adanet_tools-1.dist-info/RECORD", "adanet_tools/a.py,,\n"),
      ("other-1.dist-info/RECORD", "other/adanet/a.py,,\n"),
      ("other-1.egg-info/top_level.txt", "other\nadanet_tools"),
      ("empty-1.dist-info/METADATA", ""),
      ("adanet-0.9.0/RECORD", "adanet/core.py,,\n"),
  )
  def test_accepts(self, path, text):
    self._write({path: text})
    self._assert_imports(version.VERSION)

  @parameterized.parameters(
      ("adanet-0.9.0.dist-info/RECORD", "a.py,,\nadanet/core.py,,\n"),
      ("adanet-0.9.0-py3.7.egg-info/top_level.txt", "adanet"),
  )
  def test_refuses(self, path, text):
    self._write({path: text})
    self._assert_refuses()


if __name__ == "__main__":
  absltest.main()
