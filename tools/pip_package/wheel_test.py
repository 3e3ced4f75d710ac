# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the wheel as a user gets it."""

import collections
import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile

from absl.testing import absltest
from adanet import version
from packaging import requirements
import runfiles

_NAME = "adanet_distributed-{}".format(version.VERSION)
_FOLDER = runfiles.Create().Rlocation("adanet/tools/pip_package")
_WHEEL = os.path.join(_FOLDER, _NAME + "-py3-none-any.whl")
_SDIST = os.path.join(_FOLDER, _NAME + ".tar.gz")


class WheelTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.wheel = zipfile.ZipFile(_WHEEL)
    self.addCleanup(self.wheel.close)

  def _metadata(self):
    return email.message_from_bytes(
        self.wheel.read(_NAME + ".dist-info/METADATA"))

  def test_files(self):
    names = self.wheel.namelist()
    for module in ("adanet/__init__.py", "adanet/distributed/__init__.py",
                   "adanet/distributed/placement.py",
                   "adanet/distributed/plan/main.py",
                   "adanet/distributed/plan/picture.py",
                   "adanet/tf_compat/run_config.py", "adanet/py.typed"):
      self.assertIn(module, names)
    for name in names:
      self.assertRegex(
          name, r"^(adanet/(.*\.py|py\.typed)|{}\.dist-info/.*)$".format(
              re.escape(_NAME)))
      self.assertNotRegex(name, "test|golden|cases|examples")

  def test_metadata(self):
    metadata = self._metadata()
    self.assertEqual("adanet-distributed", metadata["Name"])
    self.assertEqual(version.VERSION, metadata["Version"])
    self.assertEqual("Apache-2.0", metadata["License-Expression"])
    self.assertEqual(">=3.7", metadata["Requires-Python"])
    self.assertStartsWith(metadata.get_payload(), "# ")
    self.assertEqual("text/markdown", metadata["Description-Content-Type"])
    classifiers = metadata.get_all("Classifier")
    self.assertIn(
        "Programming Language :: Python :: {}.{}".format(*sys.version_info),
        classifiers)
    self.assertEmpty([c for c in classifiers if c.startswith("License")])

  def test_requirements(self):
    metadata = self._metadata()
    self.assertCountEqual(["tensorflow", "tensorflow-cpu", "plot"],
                          metadata.get_all("Provides-Extra"))
    found = collections.defaultdict(set)
    for line in metadata.get_all("Requires-Dist"):
      requirement = requirements.Requirement(line)
      extras = [e for e in metadata.get_all("Provides-Extra")
                if requirement.marker and requirement.marker.evaluate(
                    {"extra": e})]
      for extra in extras or [""]:
        found[extra].add(requirement.name)
      self.assertEqual([">="], [s.operator for s in requirement.specifier])
    self.assertEqual(
        {
            "": {"absl-py", "numpy", "rich", "six"},
            "tensorflow": {"tensorflow"},
            "tensorflow-cpu": {"tensorflow-cpu"},
            "plot": {"matplotlib"},
        }, found)

  def test_command(self):
    self.assertEqual(
        ["[console_scripts]", "adanet-plan=adanet.distributed.plan.main:main"],
        self.wheel.read(_NAME + ".dist-info/entry_points.txt").decode("utf-8")
        .split())

  def test_sdist_has_the_same_files(self):
    with tarfile.open(_SDIST) as sdist:
      names = sdist.getnames()
    dist_info = _NAME + ".dist-info/"
    self.assertCountEqual(
        ["{}/{}".format(_NAME, name) for name in
         [n for n in self.wheel.namelist() if not n.startswith(dist_info)] +
         ["LICENSE", "PKG-INFO", "README.md", "pyproject.toml"]], names)

  def test_an_index_accepts_both(self):
    checked = subprocess.run(
        [os.path.join(_FOLDER, "check"), _WHEEL, _SDIST],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", check=False)
    self.assertEqual(0, checked.returncode, checked.stdout)
    self.assertEqual(2, checked.stdout.count("PASSED"))
    for rendered in ("<h1[^>]*>adanet.distributed<", "<pre lang=.python.>",
                     "<li><a [^>]*><code>placement.py</code></a>"):
      self.assertRegex(checked.stdout, rendered)

  def test_licence(self):
    self.assertIn(b"Apache License",
                  self.wheel.read(_NAME + ".dist-info/licenses/LICENSE"))

  def test_decides(self):
    program = """if True:
        import adanet
        assert adanet.__file__.startswith({!r}), adanet.__file__
        config = adanet.tf_compat.RunConfig()
        strategy = adanet.distributed.RoundRobinStrategy()
        strategy.config = config
        print(adanet.__version__, strategy.should_build_subnetwork(3, 1))
        """.format(_WHEEL)
    packages = [path for path in sys.path if "site-packages" in path]
    output = subprocess.check_output(
        [sys.executable, "-c", program],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join([_WHEEL] + packages)),
        cwd=self.create_tempdir().full_path,
        universal_newlines=True)
    self.assertEqual("{} True\n".format(version.VERSION), output)


if __name__ == "__main__":
  absltest.main()
