# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of adanet-report."""

import contextlib
import io
import json
import os
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.history import example
from adanet.history import main
from adanet.history import records
from adanet.history import store

_MISSING = """
import sys
sys.modules[sys.argv[1]] = None
from adanet.history import main
sys.exit(main.main(["adanet-report"] + sys.argv[2:]))
"""


def _run(*args, program=("-m", "adanet.history"), **kwargs):
  """Returns (exit code, standard output, standard error)."""
  environment = {k: v for k, v in os.environ.items()
                 if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
  environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
  # Without a folder of their own, Matplotlib and Fontconfig print warnings.
  for name in ("MPLCONFIGDIR", "XDG_CACHE_HOME"):
    environment[name] = absltest.get_default_test_tmpdir()
  done = subprocess.run(
      [sys.executable] + list(program) + list(args), env=environment,
      **dict({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
              "encoding": "utf-8", "check": False}, **kwargs))
  return done.returncode, done.stdout, done.stderr


class MainTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.model_dir = os.path.join(self.folder, "digits")
    self.report = example.search()._replace(model_dir=self.model_dir)
    example.write(self.report, self.model_dir)

  def _path(self, *names):
    return os.path.join(self.folder, *names)

  def test_tables(self):
    self.assertEqual((0, str(self.report), ""), _run(self.model_dir))

  def test_json(self):
    code, output, error = _run("--json", self.model_dir)
    self.assertEqual((0, ""), (code, error))
    content = json.loads(output)
    self.assertEqual(self.report.to_json_dict(), content)
    self.assertEqual((0, output, ""), _run("--format=json", self.model_dir))
    self.assertEqual(
        ["version", "model_dir", "iterations", "tasks", "evaluations",
         "undecided", "end", "leaderboard"],
        list(content))

  def test_json_of_checks(self):
    search = example.checked_search()
    example.write(search, self._path("checked"))
    code, output, _ = _run("--json", self._path("checked"))
    self.assertEqual(0, code)
    content = json.loads(output)
    network = content["iterations"][2]["subnetworks"]["t2_2_layers"]
    recorded = search.iterations[2].subnetworks["t2_2_layers"]
    self.assertEqual((500, recorded.ended),
                     (network["best_step"], network["ended"]))
    *checks, last = network["checks"]
    self.assertEqual({"step": 600, "loss": "NaN"}, last)
    self.assertEqual(
        [{"step": check.step, "loss": check.loss}
         for check in recorded.checks[:-1]], checks)
    (row,) = (row for row in content["leaderboard"]
              if row["name"] == "t2_2_layers")
    self.assertEqual(
        (6, 500, recorded.ended),
        (row["num_checks"], row["best_step"], row["ended"]))
    self.assertEqual(str(search), _run(self._path("checked"))[1])

  def test_two_formats(self):
    code, output, error = _run("--json", "--format=html", self.model_dir)
    self.assertEqual((2, ""), (code, output))
    self.assertIn("--json --format=html: expected one of them", error)

  def test_page(self):
    code, output, error = _run("--format=html", self.model_dir)
    self.assertEqual((0, self.report.html(), ""), (code, output, error))

  def test_pictures(self):
    code, output, error = _run(
        self.model_dir, "--picture=" + self._path("a.svg"),
        "--picture", self._path("a.png"))
    self.assertEqual((0, str(self.report), ""), (code, output, error))
    for name in ("a.svg", "a.png"):
      self.assertTrue(os.path.exists(self._path(name)))

  def test_record_that_cannot_be_read(self):
    with open(self._path("digits", "history", "iteration-1.json"), "w"):
      pass
    code, output, error = _run(self.model_dir)
    self.assertEqual(0, code)
    self.assertIn("Iteration 2", output)
    self.assertNotIn("Iteration 1", output)
    self.assertRegex(
        error, r"^adanet-report: 1 of the files .* is left out: .*\n$")

  def _assert_fails(self, expected, code, output, error):
    self.assertEqual((2, ""), (code, output))
    self.assertStartsWith(error, "adanet-report: ")
    self.assertIn(expected, error)
    self.assertEqual(1, error.count("\n"), error)

  @parameterized.parameters(
      ("no argument: expected one model_dir",),
      ("a b: expected one model_dir", "a", "b"),
      ("model_dir='nothing': expected a folder.", "nothing"),
      ("expected a model_dir in which an iteration has ended", "."),
      ("Unknown command line flag 'svg'", "--svg", "a"))
  def test_bad_input(self, expected, *args):
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.folder)
    output, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(error):
      code = main.main(["adanet-report", *args])
    self._assert_fails(expected, code, output.getvalue(), error.getvalue())

  @parameterized.parameters(
      ("--picture: path='a.jpg': expected a file that ends", "a.jpg"),
      ("--picture=/no/a.svg: No such file or directory.", "/no/a.svg"))
  def test_bad_picture(self, expected, path):
    self._assert_fails(
        expected, *_run(self.model_dir, "--picture=" + path))

  @parameterized.parameters(
      (["rich"], "rich is not installed: pip install rich\n"),
      (["matplotlib", "--picture=a.svg"],
       "pip install 'adanet-distributed[plot]'\n"))
  def test_package_that_is_not_installed(self, args, expected):
    self._assert_fails(
        expected, *_run(*args, self.model_dir, program=("-c", _MISSING)))

  def test_full_disk(self):
    with open("/dev/full", "w") as full:
      code, _, error = _run(self.model_dir, stdout=full)
    self.assertEqual(
        (2, "adanet-report: standard output: No space left on device.\n"),
        (code, error))

  def test_help_and_version(self):
    code, output, error = _run("--help")
    self.assertEqual((0, ""), (code, error))
    for text in ("adanet-report /tmp/digits\n", "--picture", "--[no]json"):
      self.assertIn(text, output)
    self.assertRegex(_run("--version")[1], r"^adanet-report \d+\.\d+\.\d+\n$")

  def test_name_that_no_terminal_can_show(self):
    store.Store(self.model_dir).write_iteration(records.IterationRecord(
        3, (records.CandidateRecord("a\ud800\u2713", 1.),), "a\ud800\u2713"))
    code, output, error = _run(self.model_dir)
    self.assertEqual((0, ""), (code, error))
    self.assertIn("Iteration 3", output)


if __name__ == "__main__":
  absltest.main()
