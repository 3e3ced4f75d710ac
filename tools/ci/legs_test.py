# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a run of all legs, with a Bazel and with Pythons that are not."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

from absl.testing import absltest
import runfiles
from tools.ci import readme
from tools.ci import results

# What the Bazel that is not does with each leg's tests, by the leg's argument.
_BAZELW = """#!{python}
import json, pathlib, sys
command, arguments = sys.argv[1], sys.argv[2:]
assert not sys.stdin.read()
config = [a for a in arguments if a.startswith("--config=")]
legs = json.loads(pathlib.Path("legs.json").read_text())
leg = legs[config[0] if config else ""]
if command == "run":
  print("a line of the program's imports")
  print(json.dumps(leg["versions"]))
  sys.exit()
report = pathlib.Path("test.xml").absolute()
report.write_text("<testsuite>" + "<testcase/>" * leg["passed"]
                  + "<testcase><failure/></testcase>" * leg["failed"]
                  + "</testsuite>")
[events] = [a.split("=", 1)[1] for a in arguments if "event_json" in a]
pathlib.Path(events).write_text("\\n".join(json.dumps(e) for e in (
    {{"id": {{"targetConfigured": {{"label": "//a"}}}},
      "configured": {{"testSize": "SMALL"}}}},
    {{"id": {{"testResult": {{"label": "//a"}}}},
      "testResult": {{
          "status": "FAILED" if leg["failed"] else "PASSED",
          "testActionOutput": [
              {{"name": "test.xml", "uri": report.as_uri()}}]}}}})))
print("what Bazel prints", file=sys.stderr)
sys.exit(3 if leg["failed"] else 0)
"""
_PYTHON = """#!/bin/sh
echo "$0 {}"
"""
_VERSIONS = {"TensorFlow": "9.8.7", "Python": "3.2.1", "NumPy": "6.5.4",
             "Keras": "0.1.2"}
_README = "# Title\n\n{}\n{}\n\nText.\n".format(readme.BEGIN, readme.END)


def _leg(passed, failed=0, versions=None):
  return {"passed": passed, "failed": failed,
          "versions": _VERSIONS if versions is None else versions}


class LegsTest(absltest.TestCase):

  def setUp(self):
    super(LegsTest, self).setUp()
    self._root = pathlib.Path(self.create_tempdir().full_path)
    self._write("tools/bazelw", _BAZELW.format(python=sys.executable))
    self._write("README.md", _README)
    find_python = runfiles.Create().Rlocation(
        "adanet/third_party/py/find_python")
    self._write("third_party/py/find_python",
                pathlib.Path(find_python).read_text(encoding="utf-8"))
    for program in ("sh", "sed"):  # What find_python runs, and no more.
      (self._root / "bin").mkdir(exist_ok=True)
      (self._root / "bin" / program).symlink_to(shutil.which(program))
    for version in ("3.11", "3.7"):
      self._write("bin/python" + version, _PYTHON.format(version))
    self._legs = {"": _leg(30), "--config=tf2_15": _leg(20),
                  "--config=tf1_15": _leg(10)}

  def _write(self, path, text):
    path = self._root / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)

  def _run(self, *arguments, **environment):
    """Returns the exit code and the lines of a run."""
    self._write("legs.json", json.dumps(self._legs))
    run = subprocess.run(
        [sys.executable, "-m", "tools.ci.legs"] + list(arguments),
        env=dict(environment, PATH=str(self._root / "bin"), CI="true",
                 HOME=str(self._root), PYTHONPATH=os.pathsep.join(sys.path)),
        cwd=str(self._root), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        input="what no leg reads", universal_newlines=True, check=False)
    self.assertNotIn("Traceback", run.stdout)
    return run.returncode, run.stdout.splitlines()

  def _readme(self):
    return (self._root / "README.md").read_text(encoding="utf-8")

  def test_runs_every_leg(self):
    status, lines = self._run()
    self.assertEqual(0, status)
    self.assertEqual("60 passed, 0 failed, 0 skipped", lines[-1])
    self.assertEqual(
        ["tf2_21: tools/bazelw test //...",
         "what Bazel prints",
         "tf2_21: 30 passed, 0 failed, 0 skipped",
         "tf2_15: tools/bazelw test --config=tf2_15 //...",
         "what Bazel prints",
         "tf2_15: 20 passed, 0 failed, 0 skipped",
         "tf1_15: tools/bazelw test --config=tf1_15 //...",
         "what Bazel prints",
         "tf1_15: 10 passed, 0 failed, 0 skipped"], lines[:9])
    self.assertIn(
        readme.table([
            readme.Row(leg, _VERSIONS, results.Counts(passed=passed))
            for leg, passed in (("tf2_21", 30), ("tf2_15", 20), ("tf1_15", 10))
        ]), "\n".join(lines))

  def test_a_leg_that_fails_fails_the_run_and_no_other_leg(self):
    for failing in self._legs:
      with self.subTest(failing):
        legs = dict(self._legs)
        self._legs[failing] = _leg(5, failed=2)
        status, lines = self._run()
        self.assertEqual(1, status)
        self.assertEqual("{} passed, 2 failed, 0 skipped".format(
            65 - legs[failing]["passed"]), lines[-1])
        self._legs = legs

  def test_a_leg_without_its_python_is_left_out(self):
    (self._root / "bin/python3.7").unlink()
    status, lines = self._run("--update_readme")
    self.assertEqual(0, status)
    self.assertEqual("50 passed, 0 failed, 0 skipped", lines[-1])
    self.assertEqual(
        ["left out: tf1_15: no Python 3.7 on this machine: install one, or set "
         "ADANET_PYTHON_TF1_15 to one."],
        [line for line in lines if line.startswith("left out")])
    self.assertRegex(self._readme(), r"\n\| `tf1_15` \| left out +\| ")

  def test_a_python_that_is_named_and_is_none_fails_the_run(self):
    status, lines = self._run(ADANET_PYTHON_TF1_15="sh")
    self.assertEqual(1, status)
    self.assertIn("tf1_15: ADANET_PYTHON_TF1_15=sh is no Python: expected "
                  "Python 3.7.", lines)
    self.assertEqual("50 passed, 1 failed, 0 skipped", lines[-1])

  def test_the_default_leg_must_be_there(self):
    (self._root / "bin/python3.11").rename(self._root / "bin/python3.9")
    status, lines = self._run()
    self.assertEqual(1, status)
    self.assertIn("tf2_21: no Python 3.11 or 3.12 or 3.13 or 3.10 on this "
                  "machine: install one, or set ADANET_PYTHON to one.", lines)
    self.assertEqual("10 passed, 1 failed, 0 skipped", lines[-1])

  def test_a_leg_that_does_not_say_its_versions_fails_the_run(self):
    self._legs["--config=tf1_15"] = _leg(10, versions={})
    status, lines = self._run()
    self.assertEqual(1, status)
    self.assertIn("tf1_15: //tools/ci:versions failed: see the lines above.",
                  lines)
    self.assertEqual("60 passed, 1 failed, 0 skipped", lines[-1])

  def test_readme(self):
    stale = ("README.md has other counts for {}: .ci/run --update_readme "
             "writes these.").format
    status, lines = self._run()
    self.assertEqual(0, status)
    self.assertEqual(stale("tf2_21, tf2_15, tf1_15"), lines[-2])
    self.assertEqual(_README, self._readme())

    self.assertEqual(0, self._run("--update_readme")[0])
    text = self._readme()
    self.assertRegex(text, r"(?s)^# Title\n\n<!--.*-->\nTest cases on "
                     r"20\d\d-\d\d-\d\d:\n\n\| leg .*<!--.*-->\n\nText\.\n$")
    self.assertNotIn("README.md", "\n".join(self._run()[1]))

    self._legs["--config=tf2_15"] = _leg(21)
    self.assertEqual(stale("tf2_15"), self._run()[1][-2])
    self.assertEqual(text, self._readme())

  def test_no_place_in_the_readme(self):
    self._write("README.md", "# Title\n")
    status, lines = self._run("--update_readme")
    self.assertEqual(2, status)
    self.assertNotIn("what Bazel prints", lines)  # It says so at once.
    self.assertRegex(lines[-1], "README.md: expected one line ")
    status, lines = self._run()
    self.assertEqual(0, status)
    self.assertRegex(lines[-2], "README.md: expected one line ")
    self.assertEqual("60 passed, 0 failed, 0 skipped", lines[-1])


if __name__ == "__main__":
  absltest.main()
