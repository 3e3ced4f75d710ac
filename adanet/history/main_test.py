# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of adanet-report."""

import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
from xml.dom import minidom

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import selection
from adanet.history import main
from adanet.history import records
from adanet.testing import histories
from adanet.testing import hypothesis_profile
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st

_MISSING = """
import sys
sys.modules[sys.argv[1]] = None
from adanet.history import main
sys.exit(main.main(["adanet-report"] + sys.argv[2:]))
"""

# Those of a terminal, in one byte and in two, and one that turns text around.
_ESCAPES = ("\x1b[31m", "\x9b2J", "\x1b]0;title\x07", "a\r\nb\t", "\u202ec")
_TEXTS = st.sampled_from(_ESCAPES) | hypothesis_profile.TEXTS
_WRONG_NUMBERS = (10**400, 1e308, math.nan, math.inf)
_NUMBERS = st.sampled_from(_WRONG_NUMBERS) | st.integers() | st.floats()
_VALUES = st.recursive(
    st.none() | st.booleans() | _TEXTS | _NUMBERS,
    lambda values: st.lists(values, max_size=2) | st.dictionaries(
        _TEXTS, values, max_size=2), max_leaves=3)


def _places(content):
  """Yields the place of each value in JSON: what it is in, and its key."""
  for key, value in (content.items() if isinstance(content, dict) else
                     enumerate(content)):
    yield content, key
    if isinstance(value, (dict, list)):
      yield from _places(value)


def _change(content, index, data):
  """Changes a value of JSON, mostly to another one of its type, or a name."""
  inside, key = list(_places(content))[index]
  value = inside[key]
  if isinstance(inside, dict) and data.draw(st.sampled_from([0, 0, 0, 1])):
    inside[data.draw(_TEXTS)] = inside.pop(key)
  elif isinstance(value, str):
    inside[key] = data.draw(_TEXTS)
  elif isinstance(value, (float, int)):
    inside[key] = data.draw(_NUMBERS)
  else:
    inside[key] = data.draw(_VALUES)


def _run_here(*args):
  """Returns the same as `_run`, of this process."""
  output = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
  with contextlib.redirect_stdout(output), contextlib.redirect_stderr(
      io.StringIO()) as errors:
    code = main.main(["adanet-report", *args])
    output.flush()
  return code, output.buffer.getvalue().decode(), errors.getvalue()


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
    self.report = histories.search()._replace(model_dir=self.model_dir)
    histories.write(self.report, self.model_dir)
    # The fingerprint of a search of an Estimator.
    with open(os.path.join(self.model_dir, "search.json"), "w") as f:
      f.write("{}")

  def _path(self, *names):
    return os.path.join(self.folder, *names)

  def test_tables(self):
    self.assertEqual((0, str(self.report), ""), _run(self.model_dir))

  def test_json(self):
    code, output, error = _run_here("--format=json", self.model_dir)
    self.assertEqual((0, ""), (code, error))
    content = json.loads(output)
    self.assertEqual(self.report.to_json_dict(), content)
    self.assertEqual(
        ["version", "model_dir", "iterations", "tasks", "evaluations",
         "undecided", "end", "leaderboard"],
        list(content))

  def test_page(self):
    code, output, error = _run_here("--format=html", self.model_dir)
    self.assertEqual((0, self.report.html(), ""), (code, output, error))

  def test_pictures(self):
    code, output, error = _run_here(
        self.model_dir, "--picture=" + self._path("a.svg"),
        "--picture", self._path("a.png"))
    self.assertEqual((0, str(self.report), ""), (code, output, error))
    for name in ("a.svg", "a.png"):
      self.assertTrue(os.path.exists(self._path(name)))

  def test_record_that_cannot_be_read(self):
    with open(self._path("digits", "history", "iteration-1.json"), "w"):
      pass
    code, output, error = _run_here(self.model_dir)
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
      ("expected a model_dir in which an iteration has ended", "."))
  def test_bad_input(self, expected, *args):
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.folder)
    self._assert_fails(expected, *_run_here(*args))

  @parameterized.parameters(
      ("--picture: path='a.jpg': expected a file that ends", "a.jpg"),
      ("--picture=/no/a.svg: No such file or directory.", "/no/a.svg"))
  def test_bad_picture(self, expected, path):
    self._assert_fails(
        expected, *_run_here(self.model_dir, "--picture=" + path))

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

  def test_help(self):
    code, output, error = _run_here("--help")
    self.assertEqual((0, ""), (code, error))
    for text in ("adanet-report /tmp/digits\n", "--picture", "--format"):
      self.assertIn(text, output)

  def _assert_harmless(self, text):
    """Asserts that a terminal shows a text, and does nothing else with it."""
    self.assertEmpty([c for c in text if c != "\n" and not c.isprintable()])

  def _assert_report(self, *args):
    """Asserts that there is a report, or a line that says why not."""
    code, output, errors = _run_here(*args)
    self.assertIn(code, (0, 2))
    self._assert_harmless(output)
    self._assert_harmless(errors)
    self.assertRegex(errors, r"\A(adanet-report: .*\n)*\Z")

  def _small_search(self):
    """Writes a record of each kind; returns the texts of their files."""
    folder = self._path("small")
    search = histories.search(1, 1, 0, ("a",))
    record, = search.iterations
    histories.write(search._replace(iterations=(record._replace(
        subnetworks={name: network._replace(held_out_loss=.25, seconds=.5)
                     for name, network in record.subnetworks.items()},
        fit=selection.Fit({"t0_a": 1.}, .25, 1, "t0_a", .25)),),
                                    tasks=self.report.tasks[1:2],
                                    evaluations=self.report.evaluations[:1],
                                    undecided=records.UndecidedRecord(
                                        1, 9, "loss", "t1_a", .5, "t1_b", .25,
                                        2, untrained=("t1_c",))), folder)
    texts = {}
    for inner, _, names in os.walk(folder):
      for name in names:
        with open(os.path.join(inner, name)) as f:
          texts[os.path.join(inner, name)] = f.read()
    return folder, texts

  @level.gate
  def test_any_number(self):
    """Random numbers find too rarely what a time or a count must not be."""
    folder, texts = self._small_search()
    for path, text in texts.items():
      content = json.loads(text)
      for inside, key in list(_places(content)):
        value = inside[key]
        for number in (10**400, math.nan) * isinstance(value, (float, int)):
          inside[key] = number
          with open(path, "w") as f:
            json.dump(content, f)
          self._assert_report(folder)
        inside[key] = value
      with open(path, "w") as f:
        f.write(text)

  def test_any_record(self):
    folder, texts = self._small_search()
    places = [(path, index) for path, text in sorted(texts.items())
              for index, _ in enumerate(_places(json.loads(text)))]

    @hypothesis.settings(max_examples=level.number(8, 25))
    @hypothesis.given(st.lists(
        st.sampled_from(places), min_size=1, max_size=2,
        unique_by=lambda place: place[0]), st.data())
    def test(changed, data):
      for path, text in texts.items():
        content = json.loads(text)
        if path in dict(changed):
          _change(content, dict(changed)[path], data)
        with open(path, "w") as f:
          json.dump(content, f)
      self._assert_report(folder, data.draw(st.sampled_from(
          ["--format=table", "--format=table", "--format=json"])))

    test()

  @parameterized.parameters(
      ("iteration-1.json", '"seconds": NaN'),
      ("iteration-1.json", f'"global_step": {10**400}'),
      ("iteration-1/worker-0.json", '"total_seconds": "NaN"'))
  def test_number_that_cannot_be_shown(self, file, replaced):
    path = self._path("digits", "history", file)
    with open(path) as f:
      content = f.read()
    name = replaced.partition(":")[0]
    with open(path, "w") as f:
      f.write(re.sub(f"{name}: [^,\n]*", replaced, content))
    code, output, errors = _run_here(self.model_dir)
    self.assertEqual(0, code)
    self.assertIn("Iteration 2", output)
    self.assertRegex(
        errors, f"^adanet-report: 1 of the files .* is left out: .*{file}: "
        f"{name[1:-1]} is ")

  @parameterized.parameters("table", "json", "html")
  def test_escape_sequences(self, form):
    model_dir = self._path("digits\x1b[31m")
    histories.write(histories.search(2, 2, 1, ("a$",) + _ESCAPES), model_dir)
    picture = self._path("a.svg")
    code, output, errors = _run_here(model_dir, "--format=" + form, *[
        "--picture=" + picture] * (form == "html"))
    self.assertEqual((0, ""), (code, errors))
    self._assert_harmless(output.replace("\xa0", " "))
    if form == "html":
      minidom.parse(picture)  # XML has no control characters.

  def test_escape_sequences_of_a_warning(self):
    model_dir = self._path("digits\x1b[31m")
    histories.write(self.report, model_dir)
    path = os.path.join(model_dir, "history", "iteration-1.json")
    with open(path, "w") as f:
      json.dump({"version": 1, "\x1b[31mred": 1}, f)
    for args in [], ["\x1b[31m"]:
      _, output, errors = _run_here(model_dir, *args)
      self._assert_harmless(output)
      self._assert_harmless(errors)
      self.assertEqual(1, errors.count("\n"))

  def test_name_that_no_terminal_can_show(self):
    histories.write(self.report._replace(iterations=(records.IterationRecord(
        3, (records.CandidateRecord("a\ud800\u2713", 1.),),
        "a\ud800\u2713"),)), self.model_dir)
    code, output, error = _run(self.model_dir)
    self.assertEqual((0, ""), (code, error))
    self.assertIn("Iteration 3", output)


if __name__ == "__main__":
  absltest.main()
