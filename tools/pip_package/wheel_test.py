# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is in the wheel, and of another adanet beside it."""

import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
import runfiles
from tools.pip_package import long_description
from tools.pip_package import virtual_environment

_NAME = f"adanet_distributed-{version.VERSION}"
_FOLDER = runfiles.Create().Rlocation("adanet/tools/pip_package")
_WHEEL = os.path.join(_FOLDER, _NAME + "-py3-none-any.whl")
_SDIST = os.path.join(_FOLDER, _NAME + ".tar.gz")
_DIST_INFO = _NAME + ".dist-info/"

# Another distribution that owns the import package adanet.
_RECORD = "adanet-0.9.0.dist-info/RECORD"
_OTHER = {
    "adanet/__init__.py":
        "from adanet import distributed\n__version__ = '0.9.0'\n",
    "adanet/core/__init__.py": "",
    "adanet/core/estimator.py": "",
    "adanet/distributed/__init__.py": "from adanet.distributed import placement",
    "adanet/distributed/placement.py": "",
    "adanet-0.9.0.dist-info/METADATA":
        "Metadata-Version: 2.1\nName: adanet\nVersion: 0.9.0\n",
}
_OTHER[_RECORD] = "".join(name + ",,\n" for name in [_RECORD] + list(_OTHER))


class WheelTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    with zipfile.ZipFile(_WHEEL) as wheel:
      cls.names = wheel.namelist()
      cls.metadata = email.message_from_bytes(
          wheel.read(_DIST_INFO + "METADATA"))

  def test_files(self):
    # modules_test sees to it that no other module is missing.
    self.assertContainsSubset([
        "adanet/py.typed", "adanet/distributed/plan/main.py",
        "adanet/distributed/plan/picture.py", "adanet/history/main.py",
        "adanet/history/picture.py", "adanet/launch/__main__.py",
        "adanet/launch/main.py", _DIST_INFO + "licenses/LICENSE"
    ], self.names)
    for name in self.names:
      self.assertRegex(name, r"^(adanet/(.*\.pyi?|py\.typed)|{}.*)$".format(
          re.escape(_DIST_INFO)))
      self.assertNotRegex(name, "test|golden|cases|examples")

  def test_sdist_has_the_same_files(self):
    with tarfile.open(_SDIST) as sdist:
      names = sdist.getnames()
    self.assertCountEqual(
        [f"{_NAME}/{name}" for name in
         [n for n in self.names if not n.startswith(_DIST_INFO)] +
         ["LICENSE", "PKG-INFO", "README.md", "pyproject.toml"]], names)

  def test_metadata(self):
    for key, expected in (
        ("Name", "adanet-distributed"),
        ("Version", version.VERSION),
        ("Author", "The adanet.distributed Authors"),
        ("License-Expression", "Apache-2.0"),
        ("Requires-Python", ">=3.7"),
        ("Description-Content-Type", "text/markdown"),
    ):
      self.assertEqual(expected, self.metadata[key])
    self.assertContainsSubset([
        "Typing :: Typed",
        "Programming Language :: Python :: {}.{}".format(*sys.version_info),
    ], self.metadata.get_all("Classifier"))

  def test_project_urls(self):
    urls = dict(url.split(", ")
                for url in self.metadata.get_all("Project-URL"))
    self.assertCountEqual(
        ["Changelog", "Documentation", "Homepage", "Issues"], urls)
    for url in urls.values():
      self.assertStartsWith(url, urls["Homepage"])

  def test_requirements(self):
    requirement = re.compile(r'([\w-]+)>=[\d.]+(?: ; extra == "([\w-]+)")?$')
    self.assertCountEqual(
        [("absl-py", None), ("cloudpickle", None), ("numpy", None),
         ("rich", None), ("six", None), ("distributed", "dask"),
         ("matplotlib", "plot"), ("scikit-learn", "scikit-learn"),
         ("tensorflow", "tensorflow"), ("tensorflow-cpu", "tensorflow-cpu"),
         ("optuna", "trials")],
        [requirement.match(line).groups()
         for line in self.metadata.get_all("Requires-Dist")])

  def test_an_index_accepts_both_and_shows_absolute_links(self):
    checked = subprocess.run(
        [os.path.join(_FOLDER, "local_index"), "check", _WHEEL, _SDIST],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", check=False)
    self.assertEqual(0, checked.returncode, checked.stdout)
    self.assertEqual(2, checked.stdout.count("PASSED"))
    self.assertRegex(checked.stdout, "(?s)<h1.*<pre lang=.python.>")
    links = re.findall('(?:href|src)="([^"]*)"', checked.stdout)
    self.assertNotEmpty(links)
    for link in links:
      self.assertRegex(link, "^(https?://|mailto:|#)")

  @parameterized.parameters(
      ("[a](docs/a.md#b)", "[a](URL/blob/v1.0/docs/a.md#b)"),
      ("[`a`](a.py 'A')", "[`a`](URL/blob/v1.0/a.py 'A')"),
      ("![a](./a.svg)", "![a](URL/raw/v1.0/a.svg)"),
      ("[![a](a.png)](a/)", "[![a](URL/raw/v1.0/a.png)](URL/blob/v1.0/a/)"),
      ("[a]: a.md\n[b]: b.md",
       "[a]: URL/blob/v1.0/a.md\n[b]: URL/blob/v1.0/b.md"),
      ('<img src="a.png">', '<img src="URL/raw/v1.0/a.png">'),
      ("[a](#b)", "[a](#b)"),
      ("[a](https://other/a.md)", "[a](https://other/a.md)"),
      ("[a](mailto:a@b.example)", "[a](mailto:a@b.example)"),
      ("`a[b](c)`", "`a[b](c)`"),
      ("```python\na[b](c)\n```", "```python\na[b](c)\n```"),
  )
  def test_absolute_links(self, text, expected):
    url = "https://host.example/me/adanet"
    self.assertEqual(
        expected.replace("URL", url),
        long_description.with_absolute_links(text, url, version="1.0"))


class SoleOwnerTest(parameterized.TestCase):
  """Another distribution shares the folder."""

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
    shutil.rmtree(self.site)
    self.site.mkdir()
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
        (1, "ImportError: adanet 0.9.0 and adanet-distributed "
            f"{version.VERSION} are both installed in {self.site} and have "
            "overwritten each other's files of the import package adanet: run "
            "'pip uninstall adanet adanet-distributed', and then install the "
            "one that you want."), (code, output.splitlines()[-1]))

  def _assert_imports(self, expected_version, **env):
    self.assertEqual(
        (0, expected_version + "\n"), self.environment.python(
            "import adanet; print(adanet.__version__)", **env))

  def test_install_both(self):
    shutil.rmtree(self.site)
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

  def test_install_the_other_one_last(self):
    self._write(_OTHER)
    self._assert_refuses()

  def test_accepts_a_zip_file(self):
    self._write({_RECORD: _OTHER[_RECORD]})
    self._assert_imports(version.VERSION, PYTHONPATH=_WHEEL)

  @parameterized.parameters(
      # What a pip that was stopped left behind.
      "~danet-0.9.0.dist-info/RECORD", "~danet/core/estimator.py",
      "adanet_tools-1.dist-info/RECORD", "adanet_tools/core/estimator.py")
  def test_accepts(self, path):
    self._write({path: ""})
    self._assert_imports(version.VERSION)

  def test_refuses_what_setuptools_installed(self):
    self._write({"adanet/core/estimator.py": "",
                 "adanet-0.9.0-py3.7.egg-info/top_level.txt": "adanet"})
    self._assert_refuses()


if __name__ == "__main__":
  absltest.main()
