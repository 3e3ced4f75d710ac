# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases of one run of Bazel, from what Bazel says about it.

bazel-testlogs will not do: it holds every test's last results, and a test that
could not be built leaves those of an earlier run there.
"""

import json
import typing
import urllib.parse
import urllib.request
from xml.etree import ElementTree


class Counts(typing.NamedTuple):
  """How many test cases passed, failed and were skipped."""
  passed: int = 0
  failed: int = 0
  skipped: int = 0

  def __add__(self, other):
    return Counts(*(a + b for a, b in zip(self, other)))

  def __str__(self):
    return "{} passed, {} failed, {} skipped".format(*self)


_FAILURE = Counts(failed=1)


def _outcome(case):
  """Returns the counts of one `testcase` of a test.xml."""
  if case.find("failure") is not None or case.find("error") is not None:
    return _FAILURE
  if case.find("skipped") is not None or case.get("result") == "suppressed":
    return Counts(skipped=1)
  return Counts(passed=1)


def _count_report(uri):
  """Returns the counts of a test.xml; of none, where it cannot be read."""
  path = urllib.request.url2pathname(urllib.parse.urlsplit(uri).path)
  try:
    cases = ElementTree.parse(path).iter("testcase")
  except (OSError, ElementTree.ParseError):
    return Counts()
  return sum(map(_outcome, cases), Counts())


def _count_run(result):
  """Returns the counts of one run, or shard, of a test.

  A process can die without a word in its report, after the last test case say.

  Args:
    result: dict, a `testResult` of the Build Event Protocol.
  """
  counts = sum((_count_report(output["uri"])
                for output in result.get("testActionOutput", ())
                if output["name"] == "test.xml"), Counts())
  is_good = result["status"] in ("PASSED", "FLAKY")
  if counts == Counts() or not (is_good or counts.failed):
    counts += _FAILURE
  return counts


def _read_events(path):
  """Returns the labels of the tests, and the last result of each run.

  Args:
    path: path of what Bazel wrote by --build_event_json_file.

  Returns:
    A list of str, and a dict from label to a dict from (run, shard) to
    `testResult`.
  """
  tests, results = [], {}
  try:
    with open(path, encoding="utf-8") as f:
      events = [json.loads(line) for line in f if line.strip()]
  except FileNotFoundError:  # Bazel did not get that far.
    events = []
  for event in events:
    if "testSize" in event.get("configured", {}):
      tests.append(event["id"]["targetConfigured"]["label"])
    if "testResult" in event:  # Attempts come in their order; the last counts.
      run = event["id"]["testResult"]
      results.setdefault(run["label"], {})[run.get("run"), run.get("shard")] = (
          event["testResult"])
  return tests, results


def count(events, exit_code):
  """Counts the test cases of one `bazel test`.

  A test that did not run counts as a failed case, and so does a failure of
  Bazel that no test accounts for.

  Args:
    events: path of what Bazel wrote by --build_event_json_file.
    exit_code: int, Bazel's.

  Returns:
    The `Counts`, and a list of str, the labels of the tests that did not run.
  """
  tests, results = _read_events(events)
  counts = sum((_count_run(result) for label in tests
                for result in results.get(label, {}).values()), Counts())
  did_not_run = [label for label in tests if label not in results]
  counts += Counts(failed=len(did_not_run))
  if not counts.failed and (exit_code or not counts.passed):
    counts += _FAILURE
  return counts, did_not_run
