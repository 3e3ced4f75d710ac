# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the counts, on events and reports as Bazel and absl write them."""

import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
from tools.ci import results

_PASSED = '<testcase name="a" status="run" result="completed"/>'
_FAILED = '<testcase name="b"><failure message="1 != 2"/></testcase>'
_ERROR = '<testcase name="c"><error message="dead"/></testcase>'
_SKIPPED = '<testcase name="d" status="notrun" result="suppressed"/>'
_SKIPPED_TOO = '<testcase name="e"><skipped message="why"/></testcase>'


def _report(*cases):
  return "<testsuites><testsuite>{}</testsuite></testsuites>".format(
      "".join(cases))


def _configured(label, **attributes):
  return {"id": {"targetConfigured": {"label": label}},
          "configured": dict({"targetKind": "py_test rule"}, **attributes)}


class ResultsTest(parameterized.TestCase):

  def setUp(self):
    super(ResultsTest, self).setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _result(self, label, report, status="PASSED", run=1, shard=1, attempt=1):
    """Returns the event of a result; a report of None was not written."""
    path = self._folder / "{} {}".format(label.replace("/", "_"), attempt) / (
        "{}-{}.xml".format(run, shard))
    if report is not None:
      path.parent.mkdir(exist_ok=True)
      path.write_text(report, encoding="utf-8")
    return {
        "id": {"testResult": {"label": label, "run": run, "shard": shard,
                              "attempt": attempt}},
        "testResult": {
            "status": status,
            "testActionOutput": [
                {"name": "test.log", "uri": "file:///nowhere/test.log"},
                {"name": "test.xml", "uri": path.as_uri()},
            ],
        },
    }

  def _count(self, events, exit_code=0):
    path = self._folder / "events.json"
    path.write_text("".join(json.dumps(e) + "\n\n" for e in events),
                    encoding="utf-8")
    return results.count(str(path), exit_code)

  @parameterized.named_parameters(
      ("passed", [_PASSED, _PASSED], "PASSED", (2, 0, 0)),
      ("flaky", [_PASSED], "FLAKY", (1, 0, 0)),
      ("failed", [_PASSED, _FAILED, _ERROR], "FAILED", (1, 2, 0)),
      ("skipped", [_SKIPPED, _SKIPPED_TOO, _PASSED], "PASSED", (1, 0, 2)),
      ("all_skipped", [_SKIPPED], "PASSED", (0, 0, 1)),
      ("died_after_its_last_case", [_PASSED, _PASSED], "FAILED", (2, 1, 0)),
      ("too_late", [_PASSED], "TIMEOUT", (1, 1, 0)),
      ("no_case", [], "PASSED", (0, 1, 0)),
  )
  def test_one_test(self, cases, status, expected):
    other = self._result("//other", _report(_PASSED))
    counts, did_not_run = self._count([
        _configured("//a", testSize="SMALL"),
        _configured("//other", testSize="SMALL"),
        self._result("//a", _report(*cases), status), other])
    self.assertEqual(results.Counts(*expected) + results.Counts(passed=1),
                     counts)
    self.assertEmpty(did_not_run)

  @parameterized.named_parameters(
      ("missing", None),
      ("cut_off", "<testsuites>"),
  )
  def test_unreadable_report(self, report):
    counts, _ = self._count([
        _configured("//a", testSize="SMALL"), self._result("//a", report)])
    self.assertEqual(results.Counts(failed=1), counts)

  def test_last_attempt_of_each_run_and_shard(self):
    counts, _ = self._count([
        _configured("//a", testSize="SMALL"),
        self._result("//a", _report(_FAILED), "FAILED"),
        self._result("//a", _report(_PASSED), attempt=2),
        self._result("//a", _report(_PASSED), shard=2),
        self._result("//a", _report(_PASSED, _SKIPPED), run=2)])
    self.assertEqual(results.Counts(3, 0, 1), counts)

  def test_no_old_report_for_what_did_not_run(self):
    self._result("//b", _report(_PASSED))  # The file, of another leg.
    counts, did_not_run = self._count([
        _configured("//a", testSize="SMALL"),
        _configured("//b", testSize="LARGE"),
        _configured("//c", testSize="LARGE"),
        _configured("//library"),
        self._result("//a", _report(_PASSED))], exit_code=1)
    self.assertEqual(results.Counts(1, 2, 0), counts)
    self.assertEqual(["//b", "//c"], did_not_run)

  def test_bazel_failed_beside_the_tests(self):
    events = [_configured("//a", testSize="SMALL"),
              self._result("//a", _report(_PASSED))]
    self.assertEqual(results.Counts(1, 1, 0), self._count(events, 1)[0])

  @parameterized.parameters(0, 1, 4)
  def test_no_tests(self, exit_code):
    self.assertEqual((results.Counts(failed=1), []),
                     self._count([], exit_code))

  def test_no_events(self):
    self.assertEqual((results.Counts(failed=1), []),
                     results.count(str(self._folder / "none.json"), 1))


if __name__ == "__main__":
  absltest.main()
