# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What does the scope of a subnetwork cost, against a bare device function?

Entering it, in clusters of 10 to 10,000 parameter servers, and building a graph
of 5,000 operations inside it.
"""

import gc
import hashlib
import time

from benchmarks import program
from benchmarks import timing

_ENTRY_BAR = 1.25
_GRAPH_BAR = 1.05

# (parameter servers, subnetworks)
_SIZES = ((10, 3), (100, 10), (1000, 100), (10000, 10), (10000, 1000))
_GRAPH_SIZE = (100, 10)
_NUM_OPS = 5000
_OPS_A_VARIABLE = 4  # Its initial value, itself, its assignment and its read.
# A network has a few variables; an optimizer's slots are nothing else.
_NUM_VARIABLES = (100, _NUM_OPS // _OPS_A_VARIABLE)


def _bare(op):
  return op.device


def _group(num_ps, num_subnetworks, subnetwork_index):
  """Returns the parameter servers of a subnetwork, by the rules."""
  if num_subnetworks > num_ps:
    first = subnetwork_index % num_ps
    return range(first, first + 1)
  quotient, remainder = divmod(num_ps, num_subnetworks)
  first = subnetwork_index * quotient + min(subnetwork_index, remainder)
  return range(first, first + quotient + (subnetwork_index < remainder))


def _device(name, tasks):
  """Returns the device of a variable, by the rules."""
  digest = hashlib.sha256(name.encode()).hexdigest()
  return "/job:ps/task:{}".format(tasks[int(digest, 16) % len(tasks)])


def _check_scope(v1, scope, tasks):
  """Raises unless variables in the scope, and they alone, are on the ps."""
  with v1.Graph().as_default():
    with scope():
      variable = v1.get_variable("w", shape=[], use_resource=False)
      constant = v1.constant(1.)
    outside = v1.get_variable("b", shape=[], use_resource=False)
  program.check(
      variable.device == _device(variable.op.name, tasks)
      and not constant.device and not outside.device,
      "in the scope a variable is on {!r} and a constant on {!r}, outside a "
      "variable is on {!r}".format(variable.device, constant.device,
                                   outside.device))


def _build(v1, scope, num_variables, tasks):
  """Returns the seconds that it takes to build the graph in a scope.

  Args:
    v1: the module `tensorflow.compat.v1`.
    scope: function that returns a context manager.
    num_variables: int, of which the graph has so many.
    tasks: range of int, the parameter servers that they must be on then.
  """
  num_others = _NUM_OPS // num_variables - _OPS_A_VARIABLE
  gc.collect()
  gc.disable()
  try:
    with v1.Graph().as_default() as graph:
      started = time.process_time()
      with scope():
        for _ in range(num_variables):
          v1.Variable(1., use_resource=False, trainable=False)
          for _ in range(num_others):
            v1.no_op()
      secs = time.process_time() - started
  finally:
    gc.enable()
  ops = graph.get_operations()
  program.check(len(ops) == _NUM_OPS, "{} ops were built".format(len(ops)))
  variables = [op for op in ops if op.type == "VariableV2"]
  program.check(
      len(variables) == num_variables and all(
          op.device == (_device(op.name, tasks) if tasks else "")
          for op in variables),
      "variables are on {}".format({op.device for op in variables}))
  return secs


def measure(placement, num_turns):
  """Measures one side.

  Args:
    placement: the module `adanet.distributed.placement`, ours or another.
    num_turns: int.

  Returns:
    List of dict.
  """
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  v1 = tf_compat.v1
  strategy = placement.RoundRobinStrategy()
  rows = []

  def add(what, size, result):
    program.check(result.ratio > .4,
                  "{} is faster than with a bare function".format(what))
    rows.append({
        "what": what,
        "ps": size[0],
        "subnetworks": size[1],
        "microseconds": result.secs * 1e6,
        "bare_microseconds": result.baseline_secs * 1e6,
        "ratio": result.ratio,
        "quartiles": result.quartiles,
    })

  for size in _SIZES:
    num_ps, k = size
    strategy.config = program.Config(k + 1, 1, num_ps)
    index = k // 2
    scope = lambda: strategy.subnetwork_devices(k, index)  # pylint: disable=cell-var-from-loop
    _check_scope(v1, scope, _group(num_ps, k, index))
    names = {"strategy": strategy, "device": v1.device, "bare": _bare, "k": k,
             "index": index}
    with v1.Graph().as_default():
      add("entry", size, timing.in_turns(
          "with strategy.subnetwork_devices(k, index): pass",
          "with device(bare): pass", names, num_turns))
    _check_scope(v1, scope, _group(num_ps, k, index))

  num_ps, k = _GRAPH_SIZE
  strategy.config = program.Config(k + 1, 1, num_ps)
  for num_variables in _NUM_VARIABLES:
    graphs = ((lambda: strategy.subnetwork_devices(k, 1), num_variables,
               _group(num_ps, k, 1)),
              (lambda: v1.device(_bare), num_variables, range(0)))
    turns = []
    for turn in range(num_turns + 1):
      order = (0, 1) if turn % 2 else (1, 0)
      secs = {i: _build(v1, *graphs[i]) for i in order}
      if turn:  # The first builds what all graphs share.
        turns.append((secs[0], secs[1]))
    add("graph, {:,} variables".format(num_variables), _GRAPH_SIZE,
        timing.summary(turns))
  return rows


def bars(rows):
  """Returns list of `program.Bar`, of one side of ours."""
  return [
      program.Bar("slowest entry, in bare entries",
                  max(r["ratio"] for r in rows if r["what"] == "entry"),
                  _ENTRY_BAR),
      program.Bar("slower graph, in graphs with a bare function",
                  max(r["ratio"] for r in rows if r["what"] != "entry"),
                  _GRAPH_BAR),
  ]


def draw(figure, sides):
  """Draws the ratios of all sides.

  Args:
    figure: Matplotlib's `Figure`.
    sides: dict from the name of a side to its rows.
  """
  entry_axes, graph_axes = figure.subplots(
      1, 2, gridspec_kw={"width_ratios": [2, 1]})
  for number, (side, rows) in enumerate(sides.items()):
    color = program.COLOURS[number]
    entries = [row for row in rows if row["what"] == "entry"]
    graphs = rows[len(entries):]
    entry_axes.plot(
        range(len(entries)), [row["ratio"] for row in entries],
        marker=program.MARKERS[number], color=color, label=side)
    for place, row in enumerate(graphs):
      x = place * (len(sides) + 1) + number
      graph_axes.bar(x, row["ratio"], 1, color=color)
      graph_axes.annotate("{:.2f}".format(row["ratio"]), (x, .5),
                          ha="center", va="center", color="white")
  entry_axes.set_xticks(range(len(entries)))
  entry_axes.set_xticklabels([
      "{ps:,} ps\n{subnetworks:,} subn.".format(**row) for row in entries])
  entry_axes.set_yscale("log")
  entry_axes.set_yticks([1, 2, 5, 10, 20, 50, 100])
  entry_axes.set_yticklabels(["1", "2", "5", "10", "20", "50", "100"])
  entry_axes.minorticks_off()
  entry_axes.axhline(_ENTRY_BAR, color="black", linestyle="--", label="bar")
  entry_axes.set_ylabel("time, in times of a bare device function")
  entry_axes.set_title("entering the scope")
  entry_axes.legend()
  graph_axes.axhline(_GRAPH_BAR, color="black", linestyle="--")
  graph_axes.set_xticks([
      place * (len(sides) + 1) + (len(sides) - 1) / 2
      for place in range(len(graphs))])
  graph_axes.set_xticklabels(
      [row["what"].partition(", ")[2] for row in graphs])
  graph_axes.set_title("building a graph of {:,} ops".format(_NUM_OPS))


BENCHMARK = program.Benchmark(
    name="scope",
    question=__doc__.partition("\n")[0],
    measure=measure,
    cases=("what", "ps", "subnetworks"),
    cell=lambda row: "{ratio:.2f}x, {microseconds:,.0f} us".format(**row),
    bars=bars,
    draw=draw,
    figure_inches=(10, 4.5))

if __name__ == "__main__":
  program.run(BENCHMARK)
