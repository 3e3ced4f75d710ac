# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of make_wheel on projects that the test writes."""

import io
import json
import os
import pathlib
import subprocess
import tarfile
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
import runfiles
from tools.build_defs import make_wheel

_MAKE_WHEEL = runfiles.Create().Rlocation("adanet/tools/build_defs/make_wheel")

_FILES = {
    "gadget/__init__.py": '"""A gadget."""\n',
    "gadget/part/__init__.py": "",
    "gadget/part/wheel.py": "SPOKES = 32\n",
    "gadget/data.json": "{}\n",
}

_NAMES = (("wheel", "gadget-1.0-py3-none-any.whl"),
          ("sdist", "gadget-1.0.tar.gz"))


class MakeWheelTest(parameterized.TestCase):

  def _describe(self, order=1, **changes):
    """Writes a project somewhere, and returns its description."""
    root = pathlib.Path(self.create_tempdir().full_path)
    files = dict(sorted(_FILES.items())[::order])
    for path, text in list(files.items()) + [("README.md", "# Gadget\n"),
                                             ("LICENSE", "None.\n")]:
      (root / path).parent.mkdir(parents=True, exist_ok=True)
      (root / path).write_text(text)
    description = {
        "description_content_type": "",
        "description_file": str(root / "README.md"),
        "files": {path: str(root / path) for path in files},
        "license_files": {"LICENSE": str(root / "LICENSE")},
        "package": "gadget",
        "project": {
            "name": "gadget",
            "version": "1.0",
            "description": "Turns.",
            "license": "MIT",
            "requires-python": ">=3.7",
            "optional-dependencies": dict(
                [("b", ["six"]), ("a", ["numpy"])][::order]),
        },
    }
    description["project"].update(changes)
    return root, description

  def _pack(self, description, name):
    path = os.path.join(self.create_tempdir().full_path, name)
    make_wheel.pack(description, path)
    return pathlib.Path(path).read_bytes()

  def _run(self, description, name, umask=0o022, **env):
    folder = self.create_tempdir()
    path = os.path.join(folder.full_path, name)
    subprocess.run(
        [_MAKE_WHEEL,
         folder.create_file("d.json", json.dumps(description)).full_path, path],
        env=dict(os.environ, **env),
        preexec_fn=lambda: os.umask(umask),
        check=True)
    return pathlib.Path(path).read_bytes()

  @parameterized.named_parameters(*_NAMES)
  def test_depends_on_names_and_bytes_alone(self, name):
    _, description = self._describe()
    root, other = self._describe(order=-1)
    for path in root.glob("**/*"):
      os.utime(path, (10**9, 10**9))
      path.chmod(0o700)
    one = self._run(description, name, umask=0o022, TZ="UTC",
                    PYTHONHASHSEED="1")
    self.assertEqual(
        one,
        self._run(other, name, umask=0o077, TZ="Asia/Tokyo", PYTHONHASHSEED="2",
                  SOURCE_DATE_EPOCH="1000000000", LC_ALL="C.UTF-8"))
    (root / "gadget" / "data.json").write_text("[]\n")
    self.assertNotEqual(one, self._pack(other, name))

  def test_has_no_time_of_its_own(self):
    _, description = self._describe()
    (_, name), (_, sdist_name) = _NAMES
    with zipfile.ZipFile(io.BytesIO(self._pack(description, name))) as wheel:
      self.assertEqual({(1980, 1, 1, 0, 0, 0)},
                       {i.date_time for i in wheel.infolist()})
    with tarfile.open(
        fileobj=io.BytesIO(self._pack(description, sdist_name))) as sdist:
      self.assertContainsSubset({i.mtime for i in sdist}, {0, 315532800})

  @parameterized.parameters(
      ("README.md", "", "text/markdown"),
      ("README.rst", "", "text/x-rst"),
      ("README", "", "text/plain"),
      ("README.txt", "text/markdown", "text/markdown"),
  )
  def test_content_type(self, readme, given, expected):
    root, description = self._describe()
    (root / "README.md").rename(root / readme)
    description.update(description_file=str(root / readme),
                       description_content_type=given)
    wheel = zipfile.ZipFile(io.BytesIO(self._pack(description, _NAMES[0][1])))
    self.assertIn("Description-Content-Type: {}\n".format(expected).encode(),
                  wheel.read("gadget-1.0.dist-info/METADATA"))

  @parameterized.parameters(
      ({"license": "Proprietary"}, "'Proprietary' is not a recognised SPDX"),
      ({"version": "one"}, "'one' does not match PEP 440"),
      ({"version": "1.0-beta"}, "expected gadget-1.0b0-py3-none-any.whl"),
      ({"classifiers": ["License :: OSI Approved"]}, "License classifiers"),
  )
  def test_says_what_is_wrong_in_one_line(self, changes, expected):
    _, description = self._describe(**changes)
    with self.assertRaisesRegex(make_wheel.PackingError, expected) as raised:
      self._pack(description, _NAMES[0][1])
    self.assertNotIn("\n", str(raised.exception))

  def test_ends_with_that_line_alone(self):
    _, description = self._describe(license="Proprietary")
    packed = subprocess.run(
        [_MAKE_WHEEL, self.create_tempfile(
            content=json.dumps(description)).full_path, "/dev/null"],
        stderr=subprocess.PIPE, universal_newlines=True, check=False)
    self.assertEqual(1, packed.returncode)
    self.assertRegex(packed.stderr, r"^gadget: .*'Proprietary'.*\n$")


if __name__ == "__main__":
  absltest.main()
