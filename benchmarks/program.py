# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `claims` and `scope` share: the sides that they measure, and the report.

Each side runs in a separate process: this project on the TensorFlow of the
build, this project on TensorFlow 2.15, and AdaNet 0.9.0 on TensorFlow 2.15.

A benchmark is a module. The first line of its docstring is its question, and
the module has:

* measure: function from the module `adanet.distributed.placement`, of either
  side, and the number of turns to rows: a list of dict. The key "limits" of a
  row is a dict from another key to what is promised.
* CASES: the keys that tell rows from each other.
* CELL: what the table says of a row, as a format string.
* bars: function from rows to a list of `Bar`.
"""

import collections
import datetime
import importlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import types
from typing import NamedTuple

from absl import app
from absl import flags
import numpy as np
import runfiles

_PACKAGES = {"ours": "adanet.distributed", "peer": "adanet"}

_SIDE = flags.DEFINE_enum(
    "side", None, sorted(_PACKAGES),
    "Measure only this side, in this process, and print it as JSON.")
_NUM_TURNS = flags.DEFINE_integer(
    "num_turns", 15, "How often the two that are compared take turns.",
    lower_bound=2)
_UPDATE_README = flags.DEFINE_boolean(
    "update_readme", False, "Write the tables into benchmarks/README.md.")

# The ending of the program that a side runs in, "" for this program; the side.
_SIDES = (("", "ours"), ("_tf2_15", "ours"), ("_tf2_15", "peer"))

_PEER = "adanet_peer/site-packages/adanet-0.9.0/adanet"
_TIMEOUT_SECS = 900

#: What a strategy reads of a `RunConfig`, on either side.
Config = collections.namedtuple(
    "Config", "num_worker_replicas global_id_in_cluster num_ps_replicas")


class CheckError(Exception):
  """A benchmark would not measure what it claims to measure."""


class Bar(NamedTuple):
  """A promise: `measured` is at most `limit`."""
  name: str
  measured: float
  limit: float


def check(condition, message):
  """Raises `CheckError` with a message if a condition is false."""
  if not condition:
    raise CheckError(message)


# A side, in its own process.


def _load_placement(side):
  """Returns the module `adanet.distributed.placement` of a side."""
  peer = runfiles.Create().Rlocation(_PEER)
  if side == "peer":
    # Without AdaNet's __init__.py, which imports more than placement needs.
    package = types.ModuleType("adanet")
    package.__path__ = [peer]
    sys.modules["adanet"] = package
  placement = importlib.import_module("adanet.distributed.placement")
  check(placement.__file__.startswith(peer) == (side == "peer"),
        f"{placement} is not {side}")
  return placement


def _versions(side):
  """Returns dict from a package to its version."""
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  from adanet import version  # pylint: disable=g-import-not-at-top
  return {
      _PACKAGES[side]: (
          version.__version__ if side == "peer" else version.VERSION),
      "TensorFlow": tf_compat.v1.VERSION,
      "NumPy": np.__version__,
      "Python": platform.python_version(),
  }


def _measure_side(benchmark, side):
  """Returns what a side measures, as a dict for JSON."""
  placement = _load_placement(side)
  return {"side": side, "versions": _versions(side),
          "rows": benchmark.measure(placement, _NUM_TURNS.value)}


def _run_side(command, env, side):
  """Returns what the program of a side prints."""
  done = subprocess.run(
      command + ["--side=" + side, "--num_turns=%d" % _NUM_TURNS.value],
      env=env, capture_output=True, text=True, timeout=_TIMEOUT_SECS,
      check=False)
  check(done.returncode == 0, f"{' '.join(map(shlex.quote, command))} failed:\n"
                              f"{done.stderr[-3000:]}")
  return json.loads(done.stdout)


def _measure_all(name):
  """Returns dict from the name of a side to what the side measured."""
  env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
  other_env = {k: v for k, v in env.items() if k != "PYTHONPATH"}
  folder = os.path.dirname(os.path.abspath(__file__))
  sides = {}
  for ending, side in _SIDES:
    # The other program has its own runfiles and packages.
    measured = _run_side(
        [os.path.join(folder, name + ending)] if ending
        else [sys.executable, sys.argv[0]], other_env if ending else env, side)
    (package, version), tensorflow = list(measured["versions"].items())[:2]
    sides["{} {}, {} {}".format(package, version, *tensorflow)] = measured
  check(len(sides) == len(_SIDES), "two sides have the same versions: run this "
        "without --config, on the newest TensorFlow")
  return sides


# The report.


def _machine():
  """Returns a line about the machine."""
  with open("/proc/cpuinfo", encoding="utf-8") as f:
    cpu = re.search(r"model name\s*: (.*)", f.read())
  memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
  return (f"{datetime.date.today()}; "
          f"{cpu.group(1) if cpu else 'unknown processor'}, "
          f"{len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB; "
          f"{os.uname().sysname} {os.uname().release}; "
          f"load before {os.getloadavg()[0]:.1f}")


def _table(rows):
  """Returns a list of lines: a Markdown table, whose first row is its head."""
  widths = [max(map(len, column)) for column in zip(*rows)]
  rows.insert(1, ["-" * width for width in widths])
  return [f"| {' | '.join(map(str.ljust, row, widths))} |"
          for row in rows] + [""]


def _rows_table(benchmark, sides):
  """Returns a list of lines: the table of rows, with a column for each side."""
  cells = collections.defaultdict(dict)
  for side, measured in sides.items():
    for row in measured["rows"]:
      case = tuple(f"{row[key]:,}" if isinstance(row[key], int) else row[key]
                   for key in benchmark.CASES)
      cells[case][side] = benchmark.CELL.format(**row)
  return _table([[*benchmark.CASES, *sides]] + [
      [*case, *map(by_side.__getitem__, sides)]
      for case, by_side in cells.items()])


def _bars_table(benchmark, sides):
  """Returns a list of lines: the table of bars."""
  return _table([["bar", "side", "measured", "at most", ""]] + [
      [bar.name, side, f"{bar.measured:.3g}", f"{bar.limit:.3g}",
       "reached" if bar.measured <= bar.limit else "MISSED"]
      for side, measured in sides.items() if measured["side"] == "ours"
      for bar in benchmark.bars(measured["rows"])])


def report(benchmark, name, machine, sides):
  """Returns the report."""
  command = ["tools/bazelw", "run", "//benchmarks:" + name]
  if sys.argv[1:]:
    command += ["--"] + sys.argv[1:]
  return "\n".join([
      "```", "$ " + " ".join(map(shlex.quote, command)), machine,
      *(", ".join(map(" ".join, measured["versions"].items()))
        for measured in sides.values()),
      "```", "", *_rows_table(benchmark, sides), *_bars_table(benchmark, sides)
  ])


def write(text, name, readme):
  """Writes a report into a file between the two comments of the benchmark."""
  begin = f"<!-- {name} --update_readme writes from here: -->\n"
  end = f"<!-- to here, {name}. -->\n"
  with open(readme, encoding="utf-8") as f:
    before, has_begin, rest = f.read().partition(begin)
  _, has_end, after = rest.partition(end)
  check(has_begin and has_end,
        f"{readme}: expected a line {begin!r} and a line {end!r}")
  with open(readme, "w", encoding="utf-8") as f:
    f.write(before + begin + text + end + after)


def _run(benchmark, name):
  """Measures one side, or measures all sides and reports."""
  if _SIDE.value:
    print(json.dumps(_measure_side(benchmark, _SIDE.value)))
    return
  workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
  check(workspace or not _UPDATE_README.value,
        "--update_readme: use `tools/bazelw run`, which names the checkout")
  machine = _machine()
  text = report(benchmark, name, machine, _measure_all(name))
  print("{}\n\n{}".format(benchmark.__doc__.partition("\n")[0], text))
  if _UPDATE_README.value:
    write(text, name, os.path.join(workspace, "benchmarks", "README.md"))


def run(benchmark):
  """Runs the program of a benchmark.

  It exits with 1 if one of its checks fails, and with 0 whether a bar is
  reached or not: another machine may differ.

  Args:
    benchmark: a module.
  """
  name, _ = os.path.splitext(os.path.basename(benchmark.__file__))

  def main(argv):
    if argv[1:]:
      raise app.UsageError(f"{argv[1]}: expected flags only")
    try:
      _run(benchmark, name)
    except (CheckError, OSError, subprocess.TimeoutExpired) as e:
      sys.exit(f"{name}: {e}")

  app.run(main)
