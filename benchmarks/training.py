# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What does training cost, beside the train ops themselves and AdaNet 0.8.0?

The loop of `Estimator.train` against a bare `session.run` of the same train ops
in the same session; a whole search against AdaNet 0.8.0's, on TensorFlow 1.15;
both of these in one process and on a cluster; `adanet-launch`;
the graph of a worker that builds one candidate against that of one that builds
all; and `import adanet` against `import adanet.distributed`.
"""

import collections
import contextlib
import json
import os
import re
import subprocess
import sys

from adanet import tf_compat
from adanet.core import model_dir
from adanet.testing import processes
from adanet.training import setup as setup_lib
from adanet.training import train_ops
from benchmarks import cluster
from benchmarks import endless_search
from benchmarks import program
from benchmarks import search
from benchmarks import steps
from benchmarks import timing
import runfiles

CASES = ("what", "against")
CELL = "{ratio:.2f}x, {figure}"
FIGURES = ("ratio",)
SIDES = (("", "ours"), ("_tf2_15", "ours"), ("_tf1_15", "ours"))

# Of the ratios, which are of times, counts of ops, or counts of modules.
_LIMITS = {
    "step, bare": 1 / .9,
    "step, AdaNet": 1 / 2,
    "step with a hook, AdaNet": 1 / 2,
    "search, AdaNet": 1 / 2,
    "import": 1.2,
}
_GROWTH_LIMIT = 1.05

_ADANET = "adanet_reference/site-packages/adanet-0.8.0"
_ADANET_VERSION = "0.8.0"
_NUM_ITERATIONS = 3
_SHORT_TURNS = 2  # Of a run that shows that the benchmark measures.
_TURNS_OF_STEPS = 4  # For each turn that is asked for: they are short.
_NUM_CANDIDATES = (2, 4, 8)

# What is dear in the graph of a dense network.
_DEAR_OPS = ("MatMul", "SparseSoftmaxCrossEntropyWithLogits")

_LAYER = re.compile(r"adanet/iteration_0/subnetwork_t0_(\w+)/MatMul(_\d+)?\Z")

_TURN_TIMEOUT_SECS = 1000.

_IMPORT = """
import json, sys, time
started = time.process_time()
{}
secs = time.process_time() - started
print(json.dumps([secs, sorted(sys.modules)]))
"""


def _child_env(first=()):
  """Returns the environment of a Python that imports what this one does."""
  return dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3",
              PYTHONPATH=os.pathsep.join(list(first) + sys.path))


def _row(kind, what, against, ratio, figure):
  limit = {"ratio": _LIMITS[kind]} if kind in _LIMITS else {}
  return {"kind": kind, "what": what, "against": against, "ratio": ratio,
          "figure": figure, "limits": limit}


class _AdaNet(processes.Program):
  """AdaNet 0.8.0 in a process of its own, which takes turns with this one."""

  def __init__(self, folder):
    super().__init__([sys.executable, search.__file__], _child_env([folder]))
    version = self._answer().strip()
    program.check(version == _ADANET_VERSION,
                  f"expected AdaNet {_ADANET_VERSION}, got {version!r}")

  def _answer(self):
    try:
      return self.read(_TURN_TIMEOUT_SECS)
    except (EOFError, TimeoutError) as e:
      raise program.CheckError(f"AdaNet failed: {e}") from e

  def take_turn(self, line):
    """Returns the seconds of a turn of `search.py`."""
    self.write(line.rstrip())
    return float(self._answer())


def measure_steps(adanet, num_turns):
  """Returns the rows of a step.

  Args:
    adanet: AdaNet's process, or None.
    num_turns: int.
  """
  theirs = []

  def take_turn(session, ops):
    theirs.append(adanet.take_turn(search.STEP))
    steps.time_bare(session, ops, search.NUM_STEPS // 3)  # Warms up again.

  turns = steps.measure(
      _TURNS_OF_STEPS * num_turns, take_turn if adanet else None)
  against_bare = timing.summary(turns)
  figure = f"{1 / against_bare.secs:,.0f} steps/s"
  rows = [_row("step, bare", "step of training", "bare session.run",
               against_bare.ratio, figure)]
  if adanet:
    against_adanet = timing.summary(
        [(secs, last) for (secs, _), last in zip(turns, theirs)])
    rows.append(_row("step, AdaNet", "step of training",
                     "AdaNet " + _ADANET_VERSION, against_adanet.ratio, figure))
  return rows


def _measure_hooked_steps(adanet, num_turns):
  """Returns the row of a step with a hook."""
  turns = []

  def take_turn(searched, session, secs):
    turns.append((secs, adanet.take_turn(search.HOOKED_STEP)))
    steps.time_bare(session, searched.train_ops())  # Warms up again.
    return len(turns) <= _TURNS_OF_STEPS * num_turns

  search.train(search.HOOKED_STEP, take_turn)
  result = timing.summary(turns[1:])  # The first turn only compiles.
  return [_row("step with a hook, AdaNet", "step of training with a hook",
               "AdaNet " + _ADANET_VERSION, result.ratio,
               f"{1 / result.secs:,.0f} steps/s")]


def _measure_search(adanet, num_turns):
  """Returns the row of a whole search, a shorter one if there are few turns."""
  num_iterations = _NUM_ITERATIONS if num_turns >= 5 else 1
  turns = []
  for _ in range(max(1, num_turns // 5)):
    theirs = adanet.take_turn(str(num_iterations))
    turns.append((search.time_search(num_iterations), theirs))
  result = timing.summary(turns)
  return [_row(
      "search, AdaNet", f"{num_iterations} x {search.ITERATION_STEPS} steps",
      "AdaNet " + _ADANET_VERSION, result.ratio,
      f"{result.secs:.1f} s")]


def _cluster_config(num_workers):
  """Returns the RunConfig of a worker that is not the chief."""
  hosts = [f"localhost:{i}" for i in range(1, num_workers + 1)]
  before = os.environ.get("TF_CONFIG")
  os.environ["TF_CONFIG"] = json.dumps({
      "cluster": {"ps": ["localhost:9999"], "chief": hosts[:1],
                  "worker": hosts[1:]},
      "task": {"type": "worker", "index": 0}})
  try:
    return tf_compat.RunConfig(model_dir="not written")
  finally:
    del os.environ["TF_CONFIG"]
    if before is not None:
      os.environ["TF_CONFIG"] = before


def _check_graph(graph, builders):
  """Raises unless each of these networks is built once, and no other is."""
  layers = collections.Counter()
  inputs = collections.Counter()
  for op in graph.get_operations():
    if op.type in _DEAR_OPS:
      inputs[(op.type,) + tuple(t.name for t in op.inputs)] += 1
    match = _LAYER.match(op.name)
    if match:
      layers[match.group(1)] += 1
  expected = {b.name: b.num_layers for b in builders}
  program.check(layers == expected,
                f"expected layers {expected}, got {dict(layers)}")
  twice = [what for what, count in inputs.items() if count > 1]
  program.check(not twice, f"built twice: {twice}")


def _graph_size(strategy, num_candidates):
  """Returns how many subnetworks, ops and variables a worker's graph has."""
  v1 = tf_compat.v1
  config = _cluster_config(num_candidates + 1)
  setup = setup_lib.SearchSetup(
      endless_search.make([search.Builder(i) for i in range(num_candidates)],
                          search.Ensembler()),
      model_dir.ModelDir(config.model_dir), config, strategy)
  with setup.graph(search.input_fn, "train", 0) as built:
    train_ops.TrainOps(built.iteration, v1.reduce_mean)
    graph = v1.get_default_graph()
    builders = [s.builder for s in built.iteration.subnetworks]
    _check_graph(graph, builders)
    return (len(builders), len(graph.get_operations()),
            len(v1.global_variables()))


def measure_graphs(placement):
  """Returns the rows of the graphs.

  Args:
    placement: the module of the strategies.
  """
  rows = []
  for k in _NUM_CANDIDATES:
    single = _graph_size(placement.RoundRobinStrategy(), k)
    every = _graph_size(placement.ReplicationStrategy(), k)
    program.check((single[0], every[0]) == (1, k),
                  f"workers build {single[0]} and {every[0]}")
    for i, what in enumerate(("ops", "variables"), 1):
      rows.append(dict(_row(
          what, f"{what} of a worker with 1 of {k}", "all of them",
          single[i] / every[i], f"{single[i]:,} of {every[i]:,}"),
                       count=single[i]))
  return rows


def _import(statement):
  """Returns the seconds and the modules of an import in a new process."""
  done = subprocess.run(
      [sys.executable, "-c", _IMPORT.format(statement)], env=_child_env(),
      stdout=subprocess.PIPE, text=True, check=True)
  secs, modules = json.loads(done.stdout)
  program.check(not any(m.startswith("tensorflow") for m in modules),
                f"{statement} loads TensorFlow")
  return secs, len(modules)


def _measure_import(num_turns):
  """Returns the rows of the import."""
  rows = []
  for kind, what in (("import", "import adanet"),
                     ("first use", "from adanet import Estimator")):
    result = timing.take_turns(
        (lambda statement=what: _import(statement)[0],
         lambda: _import("import adanet.distributed")[0]), num_turns)
    rows.append(_row(
        kind, what, "import adanet.distributed", result.ratio,
        f"{1000 * result.secs:.0f} ms, {_import(what)[1]} modules"))
  return rows


def measure(placement, num_turns):
  """Measures one side; see `program`."""
  folder = runfiles.Create().Rlocation(_ADANET)
  with contextlib.ExitStack() as stack:
    adanet = None
    searches = []
    # AdaNet 0.8.0 runs on TensorFlow 1.15 only.
    if tf_compat.IS_TENSORFLOW_1 and folder and os.path.isdir(folder):
      adanet = stack.enter_context(_AdaNet(folder))
      searches = _measure_search(adanet, num_turns)
    rows = measure_steps(adanet, num_turns)
    if adanet:
      rows += _measure_hooked_steps(adanet, num_turns)
    rows += searches
  if num_turns > _SHORT_TURNS:  # AdaNet takes minutes on a cluster.
    rows += cluster.measure(
        _child_env(), _child_env([folder]) if adanet else None, num_turns)
  return rows + measure_graphs(placement) + _measure_import(num_turns)


def bars(rows):
  """Returns list of `program.Bar`."""
  counts = [row["count"] for row in rows if row["kind"] == "ops"]
  result = [
      program.Bar(f"{row['what']}, in those of {row['against']}",
                  row["ratio"], _LIMITS[row["kind"]])
      for row in rows if row["kind"] in _LIMITS
  ]
  result.append(program.Bar(
      f"ops of a worker with 1 of {_NUM_CANDIDATES[-1]}, in those with 1 of "
      f"{_NUM_CANDIDATES[0]}",
      counts[-1] / counts[0], _GROWTH_LIMIT))
  return result + cluster.bars(rows)


if __name__ == "__main__":
  program.run(sys.modules[__name__])
