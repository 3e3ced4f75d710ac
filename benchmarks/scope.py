# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What does the scope of a subnetwork cost, against a bare device function?

Entering it, in clusters of 12 to 10,000 parameter servers, and building a graph
of 5,000 ops inside it. A first entry is of a subnetwork that was not entered
before.

Absolute times are unreliable on a machine that does other things too. So the
scope and the bare function take turns, each turn gives a ratio, and the median
of the ratios is the result. Times are CPU times of this process.
"""

import functools
import gc
import hashlib
import itertools
import statistics
import sys
import time
import timeit
from typing import NamedTuple

from benchmarks import program

CASES = ("what", "ps", "subnetworks")
CELL = "{ratio:.2f}x, {microseconds:,.0f} us"

_LIMITS = {"first entry": 1.6, "entry": 1.25, "graph": 1.05}

# (parameter servers, subnetworks), for groups of equal size.
_SIZES = ((12, 3), (1000, 100), (10000, 10), (10000, 1000))
_FIRST_SIZE = (10000, 10000)  # So many first entries that all are cold.
_GRAPH_SIZE = (100, 10)
_NUM_OPS = 5000
_OPS_A_VARIABLE = 4  # Its initial value, itself, its assignment and its read.
# A network has few variables; an optimizer's slots are variables only.
_NUM_VARIABLES = (100, _NUM_OPS // _OPS_A_VARIABLE)

_MIN_TURN_SECS = .005
_WARM_UP_SECS = 1.


class Timing(NamedTuple):
  """The medians of the turns: seconds of a call, and the ratio of the two."""
  secs: float
  ratio: float


def summarize(turns):
  """Returns the `Timing` of a list of pairs of times, in seconds."""
  return Timing(statistics.median(secs for secs, _ in turns),
                statistics.median(secs / baseline for secs, baseline in turns))


def _take_turns(functions, num_turns):
  """Returns the `Timing` of the first of two functions against the second.

  Args:
    functions: pair of functions; each returns the seconds of a call.
    num_turns: int, at least 2.
  """
  turns = []
  for turn in range(num_turns):
    # The second of the two finds warmer caches and more memory in use.
    order = (0, 1) if turn % 2 else (1, 0)
    secs = {i: functions[i]() for i in order}
    turns.append((secs[0], secs[1]))
  return summarize(turns)


def _time_statements(statements, names, num_turns):
  """Returns the `Timing` of the first of two statements against the second.

  Args:
    statements: pair of str.
    names: dict, the names that both use.
    num_turns: int, at least 2.
  """
  functions = []
  for code in statements:
    timer = timeit.Timer(code, timer=time.process_time, globals=names)
    number = 1
    while timer.timeit(number) < _MIN_TURN_SECS:
      number *= 2
    functions.append(lambda t=timer, n=number: t.timeit(n) / n)
  return _take_turns(functions, num_turns)


def _warm_up():
  """Keeps the processor busy for a while; an idle processor is slow at first."""
  end = time.monotonic() + _WARM_UP_SECS
  while time.monotonic() < end:
    pass


def _bare(op):
  return op.device


def _group(num_ps, num_subnetworks, subnetwork_index):
  """Returns the parameter servers of a subnetwork, in groups of equal size."""
  size = num_ps // num_subnetworks
  return range(subnetwork_index * size, (subnetwork_index + 1) * size)


def _device(name, tasks):
  """Returns the device of a variable, by the rules."""
  digest = hashlib.sha256(name.encode()).hexdigest()
  return f"/job:ps/task:{tasks[int(digest, 16) % len(tasks)]}"


def _build(v1, num_ops, num_variables, scope, tasks):
  """Returns the seconds that it takes to build a graph in a scope.

  Args:
    v1: the module `tensorflow.compat.v1`.
    num_ops: int.
    num_variables: int, the number of variables among the ops.
    scope: function that returns a context manager.
    tasks: range of int, the parameter servers that must have them, and no other
      op; empty if no op has a device.
  """
  num_others = num_ops // num_variables - _OPS_A_VARIABLE
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
  program.check(len(ops) == num_ops, f"{len(ops)} ops were built")
  for op in ops:
    if op.type in ("VariableV2", "NoOp"):
      is_placed = op.type == "VariableV2" and tasks
      program.check(op.device == (_device(op.name, tasks) if is_placed else ""),
                    f"{op.name} is on {op.device!r}")
  return secs


def measure(placement, num_turns):
  """Measures one side; see `program`."""
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  v1 = tf_compat.v1
  rows = []
  _warm_up()

  def add(kind, what, size, time_scope):
    num_ps, k = size
    strategy = placement.RoundRobinStrategy()
    strategy.config = program.Config(k + 1, 1, num_ps)
    scope = lambda i=k // 2: strategy.subnetwork_devices(k, i)
    tasks = _group(num_ps, k, k // 2)
    _build(v1, 50, 10, scope, tasks)  # Checks the scope.
    result = time_scope(scope, tasks)
    program.check(result.ratio > .4,
                  f"{what} is faster than with a bare function")
    rows.append({
        "kind": kind, "what": what, "ps": num_ps, "subnetworks": k,
        "microseconds": result.secs * 1e6, "ratio": result.ratio,
        "limits": {"ratio": _LIMITS[kind]},
    })

  def time_entry(scope, _):
    with v1.Graph().as_default():
      return _time_statements(
          ("with scope(): pass", "with device(bare): pass"),
          {"scope": scope, "device": v1.device, "bare": _bare}, num_turns)

  def time_first_entry(scope, _):
    indices = itertools.cycle(range(_FIRST_SIZE[1]))
    return time_entry(lambda: scope(next(indices)), _)

  def time_graph(num_variables, scope, tasks):
    build = functools.partial(_build, v1, _NUM_OPS, num_variables)
    build(scope, tasks)  # The first builds what all graphs share.
    return _take_turns(
        (lambda: build(scope, tasks),
         lambda: build(lambda: v1.device(_bare), range(0))), num_turns)

  add("first entry", "first entry", _FIRST_SIZE, time_first_entry)
  for size in _SIZES:
    add("entry", "entry", size, time_entry)
  for num_variables in _NUM_VARIABLES:
    add("graph", f"graph, {num_variables:,} variables", _GRAPH_SIZE,
        functools.partial(time_graph, num_variables))
  return rows


def bars(rows):
  """Returns list of `program.Bar`."""
  return [
      program.Bar(f"slowest {kind}, in times of a bare function",
                  max(row["ratio"] for row in rows if row["kind"] == kind),
                  limit)
      for kind, limit in _LIMITS.items()
  ]


if __name__ == "__main__":
  program.run(sys.modules[__name__])
