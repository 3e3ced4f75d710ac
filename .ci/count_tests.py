# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Counts the test cases that Bazel ran, and the targets that it did not.

Reads the label of one test target a line, and each one's test.xml. Prints
"N passed, N failed"; a target without results counts as failed.
"""

import collections
import pathlib
import sys
from xml.etree import ElementTree


def _outcome(case):
  if case.find("failure") is not None or case.find("error") is not None:
    return "failed"
  if case.find("skipped") is not None or case.get("result") == "suppressed":
    return "skipped"
  return "passed"


def main(testlogs):
  counts = collections.Counter()
  for label in sys.stdin.read().split():
    folder = testlogs / label.lstrip("/").replace(":", "/")
    reports = sorted(folder.glob("**/test.xml"))
    cases = [
        case for report in reports
        for case in ElementTree.parse(report).iter("testcase")
    ]
    if not cases:
      print("no results: " + label)
      counts["failed"] += 1
    counts.update(map(_outcome, cases))
  print("skipped: {}".format(counts["skipped"]))
  print("{} passed, {} failed".format(counts["passed"], counts["failed"]))
  return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
  sys.exit(main(pathlib.Path("bazel-testlogs")))
