# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs every test on every leg whose Python is there, and counts.

Run from the root of the checkout, by .ci/run. A leg is left out, with a line
that says why, where the machine has no Python for it; only the default leg must
be there. The last line is the sum: "N passed, N failed, N skipped".
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from tools.ci import readme
from tools.ci import results

_FIND_PYTHON = "third_party/py/find_python"
_NO_PYTHON = 1  # What _FIND_PYTHON ends with where the machine has none.
_README = "README.md"


def _say(line):
  print(line, flush=True)  # In order with what Bazel prints.


def _find_python(argument):
  return subprocess.run(
      [_FIND_PYTHON, argument], stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
      check=False)


def _bazel(*arguments, **kwargs):
  return subprocess.run(
      ("tools/bazelw",) + arguments, stdin=subprocess.DEVNULL,
      universal_newlines=True, check=False, **kwargs)


def _versions(config):
  """Returns the versions that a leg consists of; empty if it will not say."""
  said = _bazel("run", *config, "//tools/ci:versions", stdout=subprocess.PIPE)
  try:
    return json.loads(said.stdout.splitlines()[-1])
  except (IndexError, ValueError):
    return {}


def _test(leg, config):
  """Runs the tests of one leg and returns its `Row`."""
  _say("{}: {}".format(
      leg, " ".join(["tools/bazelw", "test"] + config + ["//..."])))
  with tempfile.TemporaryDirectory() as folder:
    events = os.path.join(folder, "events.json")
    # With --keep_going, what cannot be built keeps no other test from running.
    bazel = _bazel("test", *config, "--keep_going",
                   "--build_event_json_file=" + events, "//...")
    counts, did_not_run = results.count(events, bazel.returncode)
  for label in did_not_run:
    _say("{}: did not run: {}".format(leg, label))
  versions = _versions(config)
  if not versions:
    _say("{}: //tools/ci:versions failed: see the lines above.".format(leg))
    counts += results.Counts(failed=1)
  _say("{}: {}".format(leg, counts))
  return readme.Row(leg, versions, counts)


def _run(leg, is_default):
  """Returns the `Row` of one leg, run or left out."""
  python = _find_python(leg)
  if python.returncode == 0:
    return _test(leg, [] if is_default else ["--config=" + leg])
  why = python.stderr.strip()
  if python.returncode == _NO_PYTHON and not is_default:
    _say("left out: {}: {}".format(leg, why))
    return readme.Row(leg, {}, None)
  _say("{}: {}".format(leg, why))
  return readme.Row(leg, {}, results.Counts(failed=1))


def _read_readme():
  with open(_README, encoding="utf-8") as f:
    return f.read()


def _finish_readme(rows, update):
  """Writes the table into README.md, or says if it is stale there."""
  if update:
    text = readme.update(
        _read_readme(), rows, time.strftime("%Y-%m-%d", time.gmtime()))
    with open(_README, "w", encoding="utf-8") as f:
      f.write(text)
    return
  try:
    stale = readme.stale_legs(_read_readme(), rows)
  except ValueError as e:
    _say(str(e))
    return
  if stale:
    _say("README.md has other counts for {}: .ci/run --update_readme writes "
         "these.".format(", ".join(stale)))


def main():
  parser = argparse.ArgumentParser(prog=".ci/run", description=__doc__)
  parser.add_argument(
      "--update_readme", action="store_true",
      help="write the table of this run into README.md")
  args = parser.parse_args()
  if args.update_readme:
    try:
      readme.check(_read_readme())  # Before the minutes that the legs take.
    except ValueError as e:
      parser.error(str(e))
  rows = [
      _run(leg, is_default=not i)
      for i, leg in enumerate(_find_python("--legs").stdout.split())
  ]
  total = sum((row.counts for row in rows if row.counts), results.Counts())
  _say("\n" + readme.table(rows))
  _finish_readme(rows, args.update_readme)
  _say(str(total))
  return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
  sys.exit(main())
