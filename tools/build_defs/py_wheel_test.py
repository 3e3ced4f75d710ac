# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a wheel that py_wheel packed with every attribute that it takes."""

import email
import pathlib
import zipfile

from absl.testing import absltest
import flit_core
import runfiles
from tools.pip_package import virtual_environment

_FOLDER = "adanet/tools/build_defs/testdata/"
_WHEEL = runfiles.Create().Rlocation(
    _FOLDER + "console_test_wheel-1.2.3-py3-none-any.whl")
_SDIST = runfiles.Create().Rlocation(
    _FOLDER + "console_test_wheel-1.2.3.tar.gz")
_DIST_INFO = "console_test_wheel-1.2.3.dist-info/"


class PyWheelTest(absltest.TestCase):

  def test_files(self):
    with zipfile.ZipFile(_WHEEL) as wheel:
      self.assertCountEqual([
          "console/__init__.py",
          "console/command.py",
          "console/greeting.txt",
          _DIST_INFO + "METADATA",
          _DIST_INFO + "RECORD",
          _DIST_INFO + "WHEEL",
          _DIST_INFO + "entry_points.txt",
          _DIST_INFO + "licenses/legal/LICENCE",
      ], wheel.namelist())

  def test_metadata(self):
    with zipfile.ZipFile(_WHEEL) as wheel:
      metadata = email.message_from_string(
          wheel.read(_DIST_INFO + "METADATA").decode())
    self.assertCountEqual([
        ("Metadata-Version", "2.4"),
        ("Name", "Console.Test-Wheel"),
        ("Version", "1.2.3"),
        ("Summary", 'Says "hello": grüße, 🚀.'),
        ("Author-email", "Ada <ada@example.com>"),
        ("Requires-Python", ">=3.7"),
        ("Description-Content-Type", "text/x-rst"),
        ("License-Expression", "Apache-2.0 OR MIT"),
        ("License-File", "legal/LICENCE"),
        ("Classifier", "Topic :: Software Development :: Testing"),
        ("Project-URL", "Bug Tracker, https://example.com/bugs"),
        ("Project-URL", "Homepage, https://example.com/"),
        ("Requires-Dist", "six>=1.12"),
        ("Requires-Dist", 'numpy>=1.16 ; extra == "more"'),
        ("Provides-Extra", "more"),
    ], metadata.items())
    self.assertEqual("console\n=======\n\nSays hello: grüße, 🚀.\n\n",
                     metadata.get_payload())

  def test_console_scripts(self):
    environment = virtual_environment.VirtualEnvironment(
        self.create_tempdir().full_path)
    environment.pip("install", "--no-index", "--no-deps", _WHEEL)
    for script in ("say-hello", "greet"):
      self.assertEqual((0, "Grüße, 🚀\n"),
                       environment.run([environment.command(script)]))

  def test_sdist_builds_into_the_same_wheel(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    environment = virtual_environment.VirtualEnvironment(
        self.create_tempdir().full_path,
        [str(pathlib.Path(flit_core.__file__).parents[1])])
    environment.pip(
        "wheel", "--no-index", "--no-deps", "--no-build-isolation",
        "--wheel-dir", str(folder), _SDIST, SOURCE_DATE_EPOCH="315532800")
    wheel, = folder.iterdir()
    self.assertEqual(pathlib.Path(_WHEEL).name, wheel.name)
    self.assertEqual(pathlib.Path(_WHEEL).read_bytes(), wheel.read_bytes())


if __name__ == "__main__":
  absltest.main()
