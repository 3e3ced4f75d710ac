# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a wheel that py_wheel packs, with every attribute."""

import email
import os
import pathlib
import subprocess
import tarfile
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
import flit_core
import runfiles
from tools.pip_package import virtual_environment

_FOLDER = pathlib.Path(runfiles.Create().Rlocation("adanet/tools/build_defs"))
_WHEEL = _FOLDER / "testdata" / "console_test_wheel-1.2.3-py3-none-any.whl"
_SDIST = _FOLDER / "testdata" / "console_test_wheel-1.2.3.tar.gz"
_PACKAGE = "tools/build_defs/testdata/console/"
_DIST_INFO = "console_test_wheel-1.2.3.dist-info/"


class PyWheelTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _unpack_sdist(self):
    """Returns a dict from path in the sdist to the path of the file here."""
    with tarfile.open(_SDIST) as sdist:
      sdist.extractall(self.folder)
    root = self.folder / "console_test_wheel-1.2.3"
    return {str(path.relative_to(root)): path for path in root.glob("**/*")
            if path.is_file() and path.name != "PKG-INFO"}

  def _make_wheel(self, files, umask=0o022, **env):
    """Packs a dict of files; returns make_wheel's exit code and its errors."""
    process = subprocess.run(
        [_FOLDER / "make_wheel", self.folder / _WHEEL.name,
         self.folder / _SDIST.name] +
        ["{}={}".format(*item) for item in files.items()],
        env=dict(os.environ, **env), preexec_fn=lambda: os.umask(umask),
        stderr=subprocess.PIPE, text=True, check=False)
    return process.returncode, process.stderr

  def test_files(self):
    with zipfile.ZipFile(_WHEEL) as wheel:
      self.assertCountEqual(
          [_PACKAGE + name
           for name in ("__init__.py", "command.py", "greeting.txt")] +
          [_DIST_INFO + name
           for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt",
                        "licenses/legal/LICENSE")], wheel.namelist())

  def test_metadata(self):
    with zipfile.ZipFile(_WHEEL) as wheel:
      metadata = email.message_from_string(
          wheel.read(_DIST_INFO + "METADATA").decode())
    self.assertCountEqual([
        ("Metadata-Version", "2.4"),
        ("Name", "console-test-wheel"),
        ("Version", "1.2.3"),
        ("Summary", 'Says "hello": grüße, 🚀.'),
        ("Author", "Ada"),
        ("Requires-Python", ">=3.7"),
        ("Description-Content-Type", "text/x-rst"),
        ("License-Expression", "Apache-2.0 OR MIT"),
        ("License-File", "legal/LICENSE"),
        ("Classifier", "Topic :: Software Development :: Testing"),
        ("Project-URL", "Bug Tracker, https://example.com/bugs"),
        ("Requires-Dist", "six>=1.12"),
        ("Requires-Dist", 'numpy>=1.16 ; extra == "more"'),
        ("Provides-Extra", "more"),
    ], metadata.items())
    self.assertEqual("console\n=======\n\nSays hello: grüße, 🚀.\n\n",
                     metadata.get_payload())

  @level.gate
  def test_sdist_builds_into_the_same_wheel_which_runs(self):
    environment = virtual_environment.VirtualEnvironment(
        self.create_tempdir().full_path,
        [str(pathlib.Path(flit_core.__file__).parents[1])])
    environment.pip(
        "wheel", "--no-index", "--no-deps", "--no-build-isolation",
        "--wheel-dir", str(self.folder), str(_SDIST),
        SOURCE_DATE_EPOCH="315532800")
    wheel, = self.folder.iterdir()
    self.assertEqual(_WHEEL.name, wheel.name)
    self.assertEqual(_WHEEL.read_bytes(), wheel.read_bytes())
    environment.pip("install", "--no-index", "--no-deps", str(wheel))
    self.assertEqual((0, "Grüße, 🚀\n"), environment.run("say-hello"))

  def test_depends_on_paths_and_bytes_alone(self):
    files = self._unpack_sdist()
    for path in files.values():
      os.utime(path, (10**9, 10**9))
      path.chmod(0o700)
    self.assertEqual((0, ""), self._make_wheel(
        dict(reversed(sorted(files.items()))), umask=0o077, TZ="Asia/Tokyo",
        PYTHONHASHSEED="2", SOURCE_DATE_EPOCH="1000000000", LC_ALL="C.UTF-8"))
    for path in (_WHEEL, _SDIST):
      self.assertEqual(path.read_bytes(),
                       (self.folder / path.name).read_bytes())

  @parameterized.parameters(
      ("Apache-2.0 OR MIT", "Proprietary", "'Proprietary' is not a recognised"),
      ("1.2.3", "one", "'one' does not match PEP 440"),
      ("console-test-wheel", "Console.Wheel", "flit names it console_wheel-1"),
      ("Topic :: Software Development", "License", "License classifiers are"),
  )
  def test_fails_with_one_line(self, old, new, expected):
    files = self._unpack_sdist()
    pyproject = files["pyproject.toml"]
    text = pyproject.read_text(encoding="utf-8")
    pyproject.write_text(text.replace(old, new), encoding="utf-8")
    self._assert_fails(files, expected)

  def test_refuses_two_files_with_one_path(self):
    files = self._unpack_sdist()
    files["./README.rst"] = files["README.rst"]
    self._assert_fails(files, "two files are ./README.rst: rename one.")

  def _assert_fails(self, files, expected):
    code, error = self._make_wheel(files)
    self.assertEqual(1, code)
    self.assertRegex(error, fr"^{_WHEEL.name}: .*{expected}.*\n$")


if __name__ == "__main__":
  absltest.main()
