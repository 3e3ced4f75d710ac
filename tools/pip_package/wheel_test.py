# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is in the wheel and the sdist."""

import collections
import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
from packaging import requirements
import runfiles
from tools.pip_package import long_description

_NAME = "adanet_distributed-{}".format(version.VERSION)
_FOLDER = runfiles.Create().Rlocation("adanet/tools/pip_package")
_WHEEL = os.path.join(_FOLDER, _NAME + "-py3-none-any.whl")
_SDIST = os.path.join(_FOLDER, _NAME + ".tar.gz")
_DIST_INFO = _NAME + ".dist-info/"


class WheelTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.wheel = zipfile.ZipFile(_WHEEL)
    self.addCleanup(self.wheel.close)
    self.metadata = email.message_from_bytes(
        self.wheel.read(_DIST_INFO + "METADATA"))

  def test_files(self):
    # install_test imports every module, so none is missing.
    names = self.wheel.namelist()
    self.assertContainsSubset([
        "adanet/py.typed", "adanet/distributed/plan/main.py",
        "adanet/distributed/plan/picture.py", _DIST_INFO + "licenses/LICENSE"
    ], names)
    for name in names:
      self.assertRegex(name, r"^(adanet/(.*\.pyi?|py\.typed)|{}.*)$".format(
          re.escape(_DIST_INFO)))
      self.assertNotRegex(name, "test|golden|cases|examples")

  def test_sdist_has_the_same_files(self):
    with tarfile.open(_SDIST) as sdist:
      names = sdist.getnames()
    self.assertCountEqual(
        ["{}/{}".format(_NAME, name) for name in
         [n for n in self.wheel.namelist() if not n.startswith(_DIST_INFO)] +
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
    classifiers = self.metadata.get_all("Classifier")
    self.assertIn("Typing :: Typed", classifiers)
    self.assertIn(
        "Programming Language :: Python :: {}.{}".format(*sys.version_info),
        classifiers)

  def test_project_urls(self):
    urls = dict(url.split(", ")
                for url in self.metadata.get_all("Project-URL"))
    self.assertCountEqual(
        ["Changelog", "Documentation", "Homepage", "Issues"], urls)
    for url in urls.values():
      self.assertStartsWith(url, urls["Homepage"])

  def test_requirements(self):
    extras = self.metadata.get_all("Provides-Extra")
    found = collections.defaultdict(set)
    for line in self.metadata.get_all("Requires-Dist"):
      requirement = requirements.Requirement(line)
      for extra in [e for e in extras if requirement.marker and
                    requirement.marker.evaluate({"extra": e})] or [""]:
        found[extra].add(requirement.name)
      self.assertEqual([">="], [s.operator for s in requirement.specifier])
    self.assertEqual(
        {
            "": {"absl-py", "numpy", "rich", "six"},
            "tensorflow": {"tensorflow"},
            "tensorflow-cpu": {"tensorflow-cpu"},
            "plot": {"matplotlib"},
        }, found)

  def test_an_index_accepts_both_and_shows_absolute_links(self):
    checked = subprocess.run(
        [os.path.join(_FOLDER, "local_index"), "check", _WHEEL, _SDIST],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", check=False)
    self.assertEqual(0, checked.returncode, checked.stdout)
    self.assertEqual(2, checked.stdout.count("PASSED"))
    for rendered in ("<h1[^>]*>", "<pre lang=.python.>"):
      self.assertRegex(checked.stdout, rendered)
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


if __name__ == "__main__":
  absltest.main()
