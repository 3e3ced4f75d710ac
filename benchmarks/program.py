# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks have in common: who is measured, and what is shown of it.

Each side is measured in a process of its own: this project on the TensorFlow of
the build and on 2.15, and beside it AdaNet 0.9.0, the last there was, which
runs on 2.15.
"""

import collections
import datetime
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import types

from absl import app
from absl import flags
from benchmarks import timing
from benchmarks import versions
import runfiles

_PACKAGES = {"ours": "adanet.distributed", "peer": "adanet"}

_SIDE = flags.DEFINE_enum(
    "side", None, sorted(_PACKAGES),
    "Measure this side alone, in this process, and print it as JSON.")
_NUM_TURNS = flags.DEFINE_integer(
    "num_turns", 15, "How often the two that are compared take turns.",
    lower_bound=2)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Where <benchmark>.json and <benchmark>.png go. A new "
    "temporary folder, if not given.")
_UPDATE_README = flags.DEFINE_boolean(
    "update_readme", False, "Write the results into benchmarks/README.md, and "
    "the JSON and the picture to benchmarks/results.")

#: The version of the JSON.
JSON_VERSION = 1

# From the palette of Okabe and Ito, which the color-blind tell apart.
COLOURS = ("#0072B2", "#56B4E9", "#D55E00")
MARKERS = ("o", "s", "^")

_PEER = "adanet_peer/site-packages/adanet-0.9.0/adanet"
_SIDE_TIMEOUT_SECS = 900


#: What a strategy reads of a `RunConfig`, of either side.
Config = collections.namedtuple(
    "Config", "num_worker_replicas global_id_in_cluster num_ps_replicas")


class CheckError(Exception):
  """A benchmark does not measure what it says."""


class Bar(collections.namedtuple("Bar", "name measured limit")):
  """What is claimed.

  Attributes:
    name: str.
    measured, limit: float; the claim is that the first is not above the second.
  """
  __slots__ = ()

  @property
  def is_reached(self):
    """bool."""
    return self.measured <= self.limit


class Benchmark(
    collections.namedtuple(
        "Benchmark",
        "name question measure cases cell bars draw figure_inches")):
  """One question.

  Attributes:
    name: str, of its target.
    question: str.
    measure: function from the module `adanet.distributed.placement`, of either
      side, and the number of turns to a list of dict.
    cases: tuple of str, the keys that tell these from each other.
    cell: function from one of them to str, for the table.
    bars: function from the list to a list of `Bar`.
    draw: function from Matplotlib's `Figure` and a dict from the name of a side
      to its list.
    figure_inches: pair of float, the size of the picture.
  """
  __slots__ = ()


def check(holds, complaint):
  """Raises `CheckError` with a complaint unless something holds."""
  if not holds:
    raise CheckError(complaint)


# One side, in its own process.


def _load_placement(side):
  """Returns the module `adanet.distributed.placement` of a side."""
  peer = runfiles.Create().Rlocation(_PEER)
  if side == "peer":
    # Without adanet/__init__.py, which needs more than placement does.
    package = types.ModuleType("adanet")
    package.__path__ = [peer]
    sys.modules["adanet"] = package
  placement = importlib.import_module("adanet.distributed.placement")
  check(
      placement.__file__.startswith(peer) == (side == "peer"),
      "{} is not {}".format(placement, side))
  return placement


def _measure_side(benchmark, side):
  """Returns what one side measures, as a dict for JSON."""
  placement = _load_placement(side)
  timing.warm_up()
  rows = benchmark.measure(placement, _NUM_TURNS.value)
  check(rows, "nothing was measured")
  return {
      "side": side,
      "versions": versions.versions(_PACKAGES[side]),
      "rows": rows,
  }


def _run_side(command, env):
  """Returns what the program of a side prints, or raises `CheckError`."""
  done = subprocess.run(
      command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
      universal_newlines=True, timeout=_SIDE_TIMEOUT_SECS, check=False)
  check(done.returncode == 0, "{} failed:\n{}".format(
      " ".join(map(shlex.quote, command)), done.stderr[-3000:]))
  return json.loads(done.stdout)


def _measure_all(benchmark):
  """Returns dict from the name of a side to what it measured."""
  env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
  here = [sys.executable, sys.argv[0]]
  # By its name among the runfiles, from which it finds its own.
  there = [os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        benchmark.name + "_tf2_15")]
  # Bazel's launcher makes a PYTHONPATH, and adds the one that it finds to it.
  there_env = {k: v for k, v in env.items() if k != "PYTHONPATH"}
  sides = {}
  for program, program_env, side in ((here, env, "ours"),
                                     (there, there_env, "ours"),
                                     (there, there_env, "peer")):
    measured = _run_side(
        program + ["--side=" + side, "--num_turns=%d" % _NUM_TURNS.value],
        program_env)
    package = _PACKAGES[side]
    name = "{} {}, TensorFlow {}".format(
        package, measured["versions"][package],
        measured["versions"]["TensorFlow"])
    check(name not in sides, "two sides are {}: run this without --config, on "
          "the newest TensorFlow.".format(name))
    sides[name] = measured
  return sides


# What is shown.


def _cpu():
  with open("/proc/cpuinfo", encoding="utf-8") as f:
    names = [line.partition(":")[2].strip() for line in f
             if line.startswith("model name")]
  return names[0] if names else "unknown processor"


def _machine():
  """Returns dict of what the figures are measured on."""
  return {
      "cpu": _cpu(),
      "cores": len(os.sched_getaffinity(0)),
      "memory_gib": round(
          os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
      "system": "{} {}".format(os.uname().sysname, os.uname().release),
      "load_before": os.getloadavg()[0],
  }


def _report(benchmark, machine, sides):
  """Returns the dict that becomes the JSON."""
  arguments = [] if not sys.argv[1:] else ["--"] + sys.argv[1:]
  return {
      "version": JSON_VERSION,
      "benchmark": benchmark.name,
      "question": benchmark.question,
      "command": " ".join(
          ["tools/bazelw", "run", "//benchmarks:" + benchmark.name]
          + list(map(shlex.quote, arguments))),
      "date": datetime.date.today().isoformat(),
      "machine": machine,
      "sides": sides,
      "bars": [
          dict(bar._asdict(), side=name, is_reached=bar.is_reached)
          for name, side in sides.items() if side["side"] == "ours"
          for bar in benchmark.bars(side["rows"])
      ],
  }


def _heading(report):
  """Returns the lines that say how a report came about."""
  return [
      "$ " + report["command"],
      "{}; {cpu}, {cores} cores, {memory_gib} GiB; {system}; load before "
      "{load_before:.1f}".format(report["date"], **report["machine"]),
  ] + [
      ", ".join(" ".join(item) for item in side["versions"].items())
      for side in report["sides"].values()
  ]


def _tables(benchmark, report, **style):
  """Returns the rich tables of a report: what was measured, and the bars."""
  import rich.table  # pylint: disable=g-import-not-at-top
  cells = collections.OrderedDict()
  for name, side in report["sides"].items():
    for row in side["rows"]:
      case = tuple(row[key] for key in benchmark.cases)
      cells.setdefault(case, {})[name] = benchmark.cell(row)
  measured = rich.table.Table(*benchmark.cases, *report["sides"], **style)
  for case, by_side in cells.items():
    measured.add_row(
        *("{:,}".format(value) if isinstance(value, int) else value
          for value in case),
        *(by_side.get(name, "not run") for name in report["sides"]))
  bars = rich.table.Table("bar", "side", "measured", "at most", "", **style)
  for bar in report["bars"]:
    bars.add_row(bar["name"], bar["side"], "{:.3g}".format(bar["measured"]),
                 "{:.3g}".format(bar["limit"]),
                 "reached" if bar["is_reached"] else "MISSED")
  return measured, bars


def _show(benchmark, report):
  """Prints a report."""
  import rich.console  # pylint: disable=g-import-not-at-top
  console = rich.console.Console(width=None if sys.stdout.isatty() else 1000)
  for line in [report["question"]] + _heading(report):
    console.print(line, highlight=False, markup=False, soft_wrap=True)
  for table in _tables(benchmark, report):
    console.print(table)


def _write(benchmark, report, folder):
  """Writes the JSON and the picture, and says where."""
  from matplotlib import figure  # pylint: disable=g-import-not-at-top
  path = os.path.join(folder, benchmark.name)
  with open(path + ".json", "w", encoding="utf-8") as f:
    json.dump(report, f, indent=1)
    f.write("\n")
  picture = figure.Figure(
      figsize=benchmark.figure_inches, constrained_layout=True)
  picture.suptitle(benchmark.question)
  benchmark.draw(
      picture,
      {name: side["rows"] for name, side in report["sides"].items()})
  picture.savefig(path + ".png", dpi=120, metadata={"Software": None})
  print("wrote {0}.json and {0}.png".format(path))


def _readme_section(benchmark, report):
  """Returns what benchmarks/README.md says of a report, as Markdown."""
  import rich.box  # pylint: disable=g-import-not-at-top
  import rich.console  # pylint: disable=g-import-not-at-top
  with open(os.devnull, "w", encoding="utf-8") as nowhere:
    console = rich.console.Console(file=nowhere, width=1000, record=True)
    for table in _tables(benchmark, report, box=rich.box.MARKDOWN):
      console.print(table)
    lines = console.export_text().strip().splitlines()
  return "```\n{}\n```\n\n{}\n\n![{}](results/{}.png)\n".format(
      "\n".join(_heading(report)),
      re.sub("\n\n+", "\n\n", "\n".join(map(str.strip, lines))),
      benchmark.question, benchmark.name)


def _update_readme(benchmark, report, path):
  """Writes the section of a benchmark between its two comments."""
  begin = "<!-- {} --update_readme writes from here: -->\n".format(
      benchmark.name)
  end = "<!-- to here, {}. -->\n".format(benchmark.name)
  with open(path, encoding="utf-8") as f:
    text = f.read()
  check(text.count(begin) == 1 and text.count(end) == 1,
        "{}: expected one line {!r} and one line {!r}".format(path, begin, end))
  before, _, rest = text.partition(begin)
  _, _, after = rest.partition(end)
  with open(path, "w", encoding="utf-8") as f:
    f.write(before + begin + _readme_section(benchmark, report) + end + after)


def _output_dir():
  """Returns the folder that the JSON and the picture go to."""
  # `bazel run` starts programs in a folder of its own, and says from where.
  if _UPDATE_README.value:
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    check(workspace, "--update_readme: expected under `tools/bazelw run`, "
          "which says where the checkout is.")
    folder = os.path.join(workspace, "benchmarks", "results")
  elif _OUTPUT_DIR.value:
    folder = os.path.join(
        os.environ.get("BUILD_WORKING_DIRECTORY", ""), _OUTPUT_DIR.value)
  else:
    return tempfile.mkdtemp(prefix="benchmark-")
  os.makedirs(folder, exist_ok=True)
  return folder


def _run(benchmark):
  """Measures one side, or all of them and shows what came out."""
  if _SIDE.value:
    print(json.dumps(_measure_side(benchmark, _SIDE.value)))
    return
  folder = _output_dir()
  report = _report(benchmark, _machine(), _measure_all(benchmark))
  _show(benchmark, report)
  _write(benchmark, report, folder)
  if _UPDATE_README.value:
    _update_readme(
        benchmark, report,
        os.path.join(os.path.dirname(folder), "README.md"))


def run(benchmark):
  """Runs the program of a benchmark.

  It ends with 1 where a check of its own fails, and with 0 whether a bar is
  reached or not: the table says which, and another machine may differ.

  Args:
    benchmark: a `Benchmark`.
  """
  def main(argv):
    if argv[1:]:
      raise app.UsageError("{}: expected flags only".format(argv[1]))
    try:
      _run(benchmark)
    except (CheckError, OSError, subprocess.TimeoutExpired) as e:
      print("{}: {}".format(benchmark.name, e), file=sys.stderr)
      sys.exit(1)

  app.run(main)
