# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How even are the bytes of the parameter servers, as maximum over mean?

The variables of published models, several as the candidates of one iteration,
on 2 to 16 parameter servers. Where a variable goes depends on its name, and so
on luck. The names of each further iteration are other names, so each figure is
the mean over ten iterations, and the worst of them.
"""

import collections
import fractions
import functools
import hashlib
import statistics
import sys
from typing import Any, Callable, NamedTuple

from benchmarks import program
from benchmarks import variables

CASES = ("candidates", "ps")
COLUMNS = ("placement",)
CELL = "{figure}"
# Nothing depends on the version of TensorFlow.
SIDES = (("", "ours"), ("_tf2_15", "peer"))

_NUM_PS = (2, 3, 4, 8, 16)
_NUM_ITERATIONS = 10
# How often each model is a candidate, in the order of the candidates.
_CANDIDATES = (
    (("resnet50", 3),),
    (("bert_base", 2),),
    (("dlrm", 4),),
    (("resnet50", 1), ("bert_base", 1)),
    (("bert_base", 1), ("dlrm", 1)),
    (("resnet50", 1), ("bert_base", 1), ("dlrm", 1)),
    (("resnet50", 4), ("bert_base", 2), ("dlrm", 2)),
)
_ALL = "mean of all"

_LEAST = "largest variable alone"
_SIZES = "BalancedStrategy(sizes)"
_NO_SIZES = "BalancedStrategy()"
_ROUND_ROBIN = "RoundRobinStrategy()"
_PEER = "AdaNet's RoundRobinStrategy()"
# The style of each column's line, from the palette of Okabe and Ito. Two may be
# equal, so their marks differ in size.
_STYLES = {
    _LEAST: dict(color="#000000", linestyle="--"),
    _NO_SIZES: dict(color="#56B4E9", marker="s", markersize=9),
    _SIZES: dict(color="#0072B2", marker="o"),
    _ROUND_ROBIN: dict(color="#D55E00", marker="^"),
    _PEER: dict(color="#000000", linestyle="", marker="x"),
}

_Op = collections.namedtuple("_Op", "name type device node_def")
_NodeDef = collections.namedtuple("_NodeDef", "op")
_Rule = Callable[[int, int, int], int]


class _Placement(NamedTuple):
  """A column: how it is called, and where it places variables.

  Attributes:
    title: str.
    strategy: a `PlacementStrategy`.
    rule: function from (number of parameter servers, candidate, hash of an op's
      name) to a task: where the strategy must place the op.
  """
  title: str
  strategy: Any
  rule: _Rule


def _round_robin_rule(num_candidates, num_ps, candidate, name_hash):
  """Returns a task by the rules of RoundRobinStrategy."""
  if num_candidates > num_ps:
    return candidate % num_ps
  size, num_larger = divmod(num_ps, num_candidates)
  first = candidate * size + min(candidate, num_larger)
  return first + name_hash % (size + (candidate < num_larger))


def _balanced_rule(sizes, num_ps, candidate, name_hash):
  """Returns a task by the rules of BalancedStrategy."""
  point = sum(sizes[:candidate]) + fractions.Fraction(
      name_hash * sizes[candidate], 2**256)
  return point * num_ps // sum(sizes)


def _placements(placement, models):
  """Returns the list of `_Placement` of a side, for candidates."""
  k = len(models)
  balanced = getattr(placement, "BalancedStrategy", None)
  round_robin = _Placement(
      _ROUND_ROBIN if balanced else _PEER, placement.RoundRobinStrategy(),
      functools.partial(_round_robin_rule, k))
  if not balanced:
    return [round_robin]
  sizes = [model.num_bytes for model in models]
  return [
      _Placement(_SIZES, balanced(sizes=sizes),
                 functools.partial(_balanced_rule, sizes)),
      _Placement(_NO_SIZES, balanced(),
                 functools.partial(_balanced_rule, [1] * k)),
      round_robin,
  ]


@functools.lru_cache(maxsize=None)
def _graph_class(v1):
  """Returns a class of graphs that keep the last function of a device scope."""

  class Graph(v1.Graph):

    device_function = None

    def device(self, device_name_or_function):
      self.device_function = device_name_or_function
      return super().device(device_name_or_function)

  return Graph


def _device_function(v1, strategy, num_candidates, candidate):
  """Returns the function from an op to its device, in a candidate's scope."""
  with _graph_class(v1)().as_default() as graph:
    with strategy.subnetwork_devices(num_candidates, candidate):
      program.check(graph.device_function, f"{strategy} has no scope")
      return graph.device_function


@functools.lru_cache(maxsize=None)
def _task(device):
  """Returns the parameter server of a device."""
  job, _, task = device.rpartition(":")
  program.check(job == "/job:ps/task", f"a variable is on {device!r}")
  return int(task)


def _ops(models, iteration):
  """Returns dict from a candidate to list of (op, bytes of its variable)."""
  ops = {}
  for i, model in enumerate(models):
    scope = "adanet/iteration_{0}/subnetwork_t{0}_candidate_{1}/".format(
        iteration, i)
    ops[i] = [
        (_Op(scope + variable.name, "VarHandleOp", "", _NodeDef("VarHandleOp")),
         variable.num_bytes) for variable in model.variables]
  return ops


def _bytes(v1, strategy, num_ps, ops):
  """Returns a list: the bytes that a strategy places on each server."""
  strategy.config = program.Config(1, 0, num_ps)
  bytes_by_ps = [0] * num_ps
  for i, ops_of_candidate in ops.items():
    place = _device_function(v1, strategy, len(ops), i)
    for op, num_bytes in ops_of_candidate:
      bytes_by_ps[_task(place(op))] += num_bytes
  return bytes_by_ps


def _bytes_by_rule(rule, num_ps, ops):
  """Returns what `_bytes` must."""
  bytes_by_ps = [0] * num_ps
  for i, ops_of_candidate in ops.items():
    for op, num_bytes in ops_of_candidate:
      name_hash = int(hashlib.sha256(op.name.encode()).hexdigest(), 16)
      bytes_by_ps[rule(num_ps, i, name_hash)] += num_bytes
  return bytes_by_ps


def _bytes_in_graph(v1, strategy, num_ps, ops):
  """Returns what `_bytes` must, from a graph with all these variables."""
  strategy.config = program.Config(1, 0, num_ps)
  bytes_by_ps = [0] * num_ps
  for i, ops_of_candidate in ops.items():
    with v1.Graph().as_default(), strategy.subnetwork_devices(len(ops), i):
      for op, num_bytes in ops_of_candidate:
        handle = v1.raw_ops.VarHandleOp(
            shape=[], dtype=v1.float32, name=op.name)
        program.check(handle.op.name == op.name,
                      f"{op.name} is called {handle.op.name}")
        bytes_by_ps[_task(handle.device)] += num_bytes
  return bytes_by_ps


def _check(v1, column, models):
  """Raises unless a graph has its variables where `_bytes` and a rule say."""
  ops = _ops(models, 0)
  for num_ps in _NUM_PS:
    bytes_by_ps = _bytes(v1, column.strategy, num_ps, ops)
    program.check(
        bytes_by_ps == _bytes_by_rule(column.rule, num_ps, ops)
        and bytes_by_ps == _bytes_in_graph(v1, column.strategy, num_ps, ops),
        f"{column.title} places {bytes_by_ps} bytes on {num_ps} parameter "
        "servers")


def _row(case, num_ps, title, ratios):
  """Returns a row; `ratios` are maximum over mean, one for each iteration."""
  mean, worst = statistics.mean(ratios), max(ratios)
  figure = f"{mean:.2f}"
  if len(ratios) > 1:
    figure += f", worst {worst:.2f}"
  return {"candidates": case, "ps": num_ps, "placement": title, "mean": mean,
          "worst": worst, "figure": figure, "limits": {}}


def _rows_of_case(v1, columns, case, models):
  """Returns the rows of some candidates, on each number of servers."""
  total = sum(model.num_bytes for model in models)
  largest = max(v.num_bytes for model in models for v in model.variables)
  iterations = [_ops(models, t) for t in range(_NUM_ITERATIONS)]
  rows = []
  for n in _NUM_PS:
    if len(columns) > 1:  # One side says it.
      rows.append(_row(case, n, _LEAST, [max(1, largest * n / total)]))
    for column in columns:
      rows.append(_row(case, n, column.title, [
          max(_bytes(v1, column.strategy, n, ops)) * n / total
          for ops in iterations]))
  return rows


def _rows_of_all(rows):
  """Returns a row for each column: the mean of all others."""
  by_column = {}
  for row in rows:
    by_column.setdefault(row["placement"], []).append(row["mean"])
  servers = f"{_NUM_PS[0]} to {_NUM_PS[-1]}"
  return [_row(_ALL, servers, title, [statistics.mean(means)])
          for title, means in by_column.items()]


def measure(placement, num_turns):
  """Measures one side; see `program`."""
  del num_turns  # Nothing is timed.
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  v1 = tf_compat.v1
  by_name = {name: variables.load(name) for name in variables.NAMES}
  each = list(by_name.values())
  for column in _placements(placement, each):
    _check(v1, column, each)
  rows = []
  for candidates in _CANDIDATES:
    models = [by_name[name] for name, count in candidates for _ in range(count)]
    rows += _rows_of_case(
        v1, _placements(placement, models),
        ", ".join(f"{count} {by_name[name].title}"
                  for name, count in candidates), models)
  return rows + _rows_of_all(rows)


def bars(rows):
  """Returns list of `program.Bar`: nothing is promised of chance."""
  del rows
  return []


def draw(report):
  """Returns a Matplotlib `Figure`: a line for each column, by servers."""
  from matplotlib import figure  # pylint: disable=g-import-not-at-top
  rows = [row for side in report["sides"].values() for row in side["rows"]]
  cases = list(dict.fromkeys(
      row["candidates"] for row in rows if row["candidates"] != _ALL))
  picture = figure.Figure(figsize=(13, 7), constrained_layout=True)
  picture.suptitle(report["question"])
  panels = picture.subplots(2, 4, sharex=True, sharey=True).flatten()
  for axes, case in zip(panels, cases):
    for title, style in _STYLES.items():
      line = [row for row in rows
              if (row["candidates"], row["placement"]) == (case, title)]
      axes.plot([row["ps"] for row in line], [row["mean"] for row in line],
                label=title, **style)
    axes.set_title(case, fontsize="medium")
    axes.set_xscale("log")
    axes.set_xticks(_NUM_PS, map(str, _NUM_PS))
    axes.minorticks_off()
    axes.xaxis.set_tick_params(labelbottom=True)
  for axes in panels[len(cases):]:
    axes.set_axis_off()
  panels[-1].legend(
      *panels[0].get_legend_handles_labels(), loc="center", frameon=False)
  picture.supylabel("maximum over mean")
  picture.supxlabel("parameter servers")
  return picture


if __name__ == "__main__":
  program.run(sys.modules[__name__])
