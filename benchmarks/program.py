# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: the sides that they measure, and the report.

Each side runs in its own process: this project on the TensorFlow of the build,
this project on TensorFlow 2.15, and AdaNet 0.9.0, which needs 2.15. A benchmark
may have other sides.

A benchmark is a module. The first line of its docstring is its question, and it
has:

* measure: function from the module `adanet.distributed.placement`, of either
  side, and the number of turns to rows: a list of dict. The key "limits" of a
  row is a dict from another key to what is promised.
* CASES: the keys that tell rows from each other.
* CELL: what the table says of a row, as a format string.
* COLUMNS: keys whose values head the columns, if they are not the sides. Rows
  with one of these keys have a table of their own, and so have rows without.
* FIGURES: the keys that are drawn.
* draw: function from a report to a Matplotlib `Figure`, instead of FIGURES.
* bars: function from rows to a list of `Bar`.
* SIDES: what to measure, if it is not `_SIDES`.
* TIMEOUT_SECS: how long a side may take, if it is not `_TIMEOUT_SECS`.
"""

import collections
import datetime
import functools
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
from benchmarks import timing
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
    "update_readme", False, "Write the results into benchmarks/README.md, and "
    "the JSON and the picture into benchmarks/results.")

# The ending of the program that a side runs in, "" for this one, and the side.
_SIDES = (("", "ours"), ("_tf2_15", "ours"), ("_tf2_15", "peer"))

# From the palette of Okabe and Ito, which color-blind readers can distinguish.
_COLORS = ("#0072B2", "#56B4E9", "#D55E00")

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


# One side, in its own process.


def _load_placement(side):
  """Returns the module `adanet.distributed.placement` of a side."""
  peer = runfiles.Create().Rlocation(_PEER)
  if side == "peer":
    # Without AdaNet's __init__.py, which imports more than placement needs.
    package = types.ModuleType("adanet")
    package.__path__ = [peer]
    sys.modules["adanet"] = package
  placement = importlib.import_module("adanet.distributed.placement")
  # Not every benchmark has a peer.
  is_peer = peer is not None and placement.__file__.startswith(peer)
  check(is_peer == (side == "peer"), f"{placement} is not {side}")
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
  """Returns what one side measures, as a dict for JSON."""
  placement = _load_placement(side)
  timing.warm_up()
  rows = benchmark.measure(placement, _NUM_TURNS.value)
  return {"side": side, "versions": _versions(side), "rows": rows}


def _run_side(command, env, side, timeout_secs):
  """Returns the name of a side, and what its program prints."""
  done = subprocess.run(
      command + ["--side=" + side, "--num_turns=%d" % _NUM_TURNS.value],
      env=env, capture_output=True,
      text=True, timeout=timeout_secs, check=False)
  check(done.returncode == 0, f"{' '.join(map(shlex.quote, command))} failed:\n"
                              f"{done.stderr[-3000:]}")
  measured = json.loads(done.stdout)
  (package, version), tensorflow = list(measured["versions"].items())[:2]
  return "{} {}, {} {}".format(package, version, *tensorflow), measured


def _measure_all(benchmark, name):
  """Returns dict from the name of a side to what it measured."""
  env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
  other_env = {k: v for k, v in env.items() if k != "PYTHONPATH"}
  folder = os.path.dirname(os.path.abspath(__file__))
  timeout_secs = getattr(benchmark, "TIMEOUT_SECS", _TIMEOUT_SECS)
  sides = {}
  for number, (ending, side) in enumerate(getattr(
      benchmark, "SIDES", _SIDES), 1):
    if ending:
      # A program of its own, with its own runfiles and packages.
      name_of_side, measured = _run_side(
          [os.path.join(folder, name + ending)], other_env, side, timeout_secs)
    else:
      name_of_side, measured = _run_side(
          [sys.executable, sys.argv[0]], env, side, timeout_secs)
    sides[name_of_side] = measured
    check(len(sides) == number, "two sides have the same versions: run this "
          "without --config, on the newest TensorFlow")
  return sides


# The report.


def _machine():
  """Returns dict of what the results are measured on."""
  with open("/proc/cpuinfo", encoding="utf-8") as f:
    cpu = re.search(r"model name\s*: (.*)", f.read())
  return {
      "cpu": cpu.group(1) if cpu else "unknown processor",
      "cores": len(os.sched_getaffinity(0)),
      "memory_gib": round(
          os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
      "system": f"{os.uname().sysname} {os.uname().release}",
      "load_before": os.getloadavg()[0],
  }


def _report(benchmark, name, machine, sides):
  """Returns the dict that becomes the JSON."""
  command = ["tools/bazelw", "run", "//benchmarks:" + name]
  if sys.argv[1:]:
    command += ["--"] + sys.argv[1:]
  return {
      "version": 1,
      "benchmark": name,
      "question": benchmark.__doc__.partition("\n")[0],
      "command": " ".join(map(shlex.quote, command)),
      "date": datetime.date.today().isoformat(),
      "machine": machine,
      "sides": sides,
      "bars": [
          dict(bar._asdict(), side=side, is_reached=bar.measured <= bar.limit)
          for side, measured in sides.items() if measured["side"] == "ours"
          for bar in benchmark.bars(measured["rows"])
      ],
  }


def _table(rows):
  """Returns a list of lines: a Markdown table, whose first row is its head."""
  widths = [max(map(len, column)) for column in zip(*rows)]
  rows.insert(1, ["-" * width for width in widths])
  return [f"| {' | '.join(map(str.ljust, row, widths))} |"
          for row in rows] + [""]


def _case(benchmark, row):
  """Returns the list of str that tells a row from the others."""
  return [f"{row[key]:,}" if isinstance(row[key], int) else row[key]
          for key in benchmark.CASES]


def _cases(benchmark, sides):
  """Returns the cases of the side that has most; no other has one more."""
  most = max((measured["rows"] for measured in sides.values()), key=len)
  return [tuple(_case(benchmark, row)) for row in most]


def _bars_table(bars):
  """Returns a list of lines: the table of bars, if there are any."""
  if not bars:
    return []
  return _table([["bar", "side", "measured", "at most", ""]] + [
      [bar["name"], bar["side"], f"{bar['measured']:.3g}",
       f"{bar['limit']:.3g}",
       "reached" if bar["is_reached"] else "MISSED"] for bar in bars
  ])


def _rows_table(benchmark, sides, column_key):
  """Returns a list of lines: the table of rows.

  Args:
    benchmark: a module.
    sides: dict from the name of a side to what it measured.
    column_key: the key whose values head the columns; None for the sides.
  """
  cells = {case: {} for case in _cases(benchmark, sides)}
  columns = {}  # Without values: a set that keeps its order.
  for side, measured in sides.items():
    for row in measured["rows"]:
      column = row[column_key] if column_key else side
      columns[column] = None
      cells[tuple(_case(benchmark, row))][column] = (
          benchmark.CELL.format(**row))
  return _table([[*benchmark.CASES, *columns]] + [
      [*case, *(by_column.get(column, "not run") for column in columns)]
      for case, by_column in cells.items()
  ])


def _rows_tables(benchmark, sides):
  """Returns a list of lines: the tables of all rows."""
  keys = getattr(benchmark, "COLUMNS", ())
  lines = []
  for key in [*keys, None]:
    chosen = {
        side: dict(measured, rows=[
            row for row in measured["rows"]
            if key == next(filter(row.__contains__, keys), None)])
        for side, measured in sides.items()}
    if any(measured["rows"] for measured in chosen.values()):
      lines += _rows_table(benchmark, chosen, key)
  return lines


def _markdown(benchmark, report):
  """Returns a report as Markdown."""
  sides = report["sides"]
  return "\n".join([
      "```",
      "$ " + report["command"],
      "{date}; {cpu}, {cores} cores, {memory_gib} GiB; {system}; load before "
      "{load_before:.1f}".format(date=report["date"], **report["machine"]),
  ] + [
      ", ".join(map(" ".join, measured["versions"].items()))
      for measured in sides.values()
  ] + ["```", ""] + _rows_tables(benchmark, sides) +
                   _bars_table(report["bars"]))


def _draw(benchmark, report):
  """Returns a Matplotlib `Figure`: a bar for each figure, row and side."""
  from matplotlib import figure  # pylint: disable=g-import-not-at-top
  sides = {side: measured["rows"] for side, measured in report["sides"].items()}
  places = {case: y for y, case in enumerate(
      _cases(benchmark, report["sides"]))}
  picture = figure.Figure(
      figsize=(6 + 3 * len(benchmark.FIGURES), 2 + .4 * len(places)),
      constrained_layout=True)
  picture.suptitle(report["question"])
  columns = picture.subplots(
      1, len(benchmark.FIGURES), sharey=True, squeeze=False)[0]
  for axes, key in zip(columns, benchmark.FIGURES):
    for number, (side, rows) in enumerate(sides.items()):
      ys = [places[tuple(_case(benchmark, row))] for row in rows]
      axes.barh([y + .25 * (number - 1) for y in ys],
                [row[key] for row in rows], .25, label=side,
                color=_COLORS[number])
      for y, row in zip(ys, rows):
        if key in row["limits"]:
          axes.plot(2 * [row["limits"][key]], [y - .45, y + .45], "k--")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_xlabel(key)
  columns[0].set_yticks(range(len(places)))
  columns[0].set_yticklabels(map(", ".join, places))
  columns[0].invert_yaxis()
  picture.legend(*columns[0].get_legend_handles_labels(),
                 loc="outside lower center")
  return picture


def _write(benchmark, report, text, folder):
  """Writes the results below the folder of the benchmarks.

  Args:
    benchmark: a module.
    report: dict, for the JSON and the picture.
    text: str, goes into README.md, between the two comments of the benchmark.
    folder: path.
  """
  name = report["benchmark"]
  path = os.path.join(folder, "results", name)
  with open(path + ".json", "w", encoding="utf-8") as f:
    json.dump(report, f, indent=1)
    f.write("\n")
  draw = getattr(benchmark, "draw", functools.partial(_draw, benchmark))
  draw(report).savefig(
      path + ".png", dpi=100, metadata={"Software": None})
  readme = os.path.join(folder, "README.md")
  begin = f"<!-- {name} --update_readme writes from here: -->\n"
  end = f"<!-- to here, {name}. -->\n"
  with open(readme, encoding="utf-8") as f:
    before, found_begin, rest = f.read().partition(begin)
  _, found_end, after = rest.partition(end)
  check(found_begin and found_end,
        f"{readme}: expected a line {begin!r} and a line {end!r}")
  with open(readme, "w", encoding="utf-8") as f:
    f.write(f"{before}{begin}{text}\n"
            f"![{report['question']}](results/{name}.png)\n{end}{after}")


def _run(benchmark, name):
  """Measures one side, or measures all sides and reports."""
  if _SIDE.value:
    print(json.dumps(_measure_side(benchmark, _SIDE.value)))
    return
  workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
  check(workspace or not _UPDATE_README.value,
        "--update_readme: use `tools/bazelw run`, which names the checkout")
  report = _report(benchmark, name, _machine(), _measure_all(benchmark, name))
  text = _markdown(benchmark, report)
  print(f"{report['question']}\n\n{text}")
  if _UPDATE_README.value:
    _write(benchmark, report, text, os.path.join(workspace, "benchmarks"))


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
