# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What does training cost, beside the train ops themselves and AdaNet 0.8.0?

The loop of `Estimator.train` against a bare `session.run` of the same train ops
in the same session; a whole search against AdaNet 0.8.0's, on TensorFlow 1.15;
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
import tempfile
import time

from benchmarks import program
from benchmarks import timing
import numpy as np
import runfiles

CASES = ("what", "against")
CELL = "{ratio:.2f}x, {figure}"
FIGURES = ("ratio",)
SIDES = (("", "ours"), ("_tf2_15", "ours"), ("_tf1_15", "ours"))

# Of the ratios, which are of times, counts of ops, or counts of modules.
_LIMITS = {
    "step, bare": 1 / .9,
    "step, AdaNet": 1 / 2,
    "search, AdaNet": 1 / 2,
    "import": 1.2,
}
_GROWTH_LIMIT = 1.05

_ADANET = "adanet_reference/site-packages/adanet-0.8.0"
_ADANET_VERSION = "0.8.0"
_SEARCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "search.py")
_NUM_ITERATIONS = 3
_NUM_CANDIDATES = (2, 4, 8)

# What is dear in the graph of a dense network.
_DEAR_OPS = ("MatMul", "SparseSoftmaxCrossEntropyWithLogits")

_LAYER = re.compile(r"adanet/iteration_0/subnetwork_t0_(\w+)/MatMul(_\d+)?\Z")

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


class _AdaNet(object):
  """AdaNet 0.8.0 in a process of its own, which takes turns with this one."""

  def __init__(self, folder):
    self._log = tempfile.TemporaryFile("w+")
    self._process = subprocess.Popen(
        [sys.executable, _SEARCH], env=_child_env([folder]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
        universal_newlines=True)
    version = self._process.stdout.readline().strip()
    program.check(version == _ADANET_VERSION,
                  "expected AdaNet {}, got {!r}: {}".format(
                      _ADANET_VERSION, version, self._end_of_log()))

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self._process.kill()
    self._process.communicate()
    self._log.close()

  def _end_of_log(self):
    self._log.seek(0)
    return self._log.read()[-3000:]

  def take_turn(self, line):
    """Returns the seconds of a turn of `search.py`; steps come last."""
    print(line, file=self._process.stdin, flush=True)
    answer = self._process.stdout.readline()
    program.check(answer, "AdaNet failed: " + self._end_of_log())
    return float(answer)


def _time_bare_steps(session, train_ops, num_steps):
  """Returns the seconds of one bare step."""
  started = time.perf_counter()
  for _ in range(num_steps):
    session.run(train_ops)
  return (time.perf_counter() - started) / num_steps


class _SameWork(object):
  """Checks that the loop trains the same as the bare loop does.

  All starts with the same values, and the input is one batch.
  """

  def __init__(self):
    self._expected = None

  def expect(self, v1, session, train_ops, num_steps):
    """Takes bare steps, and goes back to where they began."""
    with session.graph.as_default():
      variables = v1.trainable_variables()
      slots = [v for v in v1.global_variables()
               if v.op.name.endswith("/Momentum")]
    before = session.run(variables + slots)
    _time_bare_steps(session, train_ops, num_steps)
    self._expected = session.run(variables)
    program.check(
        not any((old == new).all() for old, new in
                zip(before, self._expected)),
        "the train ops do not train all of {}".format(variables))
    for variable, value in zip(variables + slots, before):
      variable.load(value, session)

  def check(self, v1, session):
    """Raises unless the loop has come to where the bare steps came."""
    with session.graph.as_default():
      variables = v1.trainable_variables()
    for variable, expected, got in zip(
        variables, self._expected, session.run(variables)):
      program.check(
          np.allclose(expected, got, rtol=1e-3, atol=1e-4),
          "the loop does not train {} as the train ops do".format(
              variable.op.name))


def _measure_steps(search_lib, v1, adanet, num_turns):
  """Returns the rows of one step."""
  num_steps = search_lib.NUM_STEPS
  same_work = _SameWork()
  turns = []

  def take_turn(search, session, secs):
    train_ops = search.train_ops()
    program.check(
        len(train_ops) == 2 * search_lib.NUM_CANDIDATES
        and not any(op is None for op in train_ops),
        "train ops are {}".format(train_ops))
    if len(turns) == 1:
      same_work.check(v1, session)
    theirs = None
    if adanet:
      theirs = adanet.take_turn("step")
      _time_bare_steps(session, train_ops, num_steps // 3)  # Warms up again.
    bare = _time_bare_steps(session, train_ops, num_steps)
    turns.append((secs, bare, theirs))
    if len(turns) == 1:
      same_work.expect(v1, session, train_ops, num_steps)
    return len(turns) <= num_turns

  search_lib.train(take_turn)
  del turns[0]  # It compiles.
  against_bare = timing.summary([(secs, bare) for secs, bare, _ in turns])
  figure = "{:,.0f} steps/s".format(1 / against_bare.secs)
  rows = [_row("step, bare", "step of training", "session.run",
               against_bare.ratio, figure)]
  if adanet:
    against_adanet = timing.summary([(secs, last) for secs, _, last in turns])
    rows.append(_row("step, AdaNet", "step of training",
                     "AdaNet " + _ADANET_VERSION, against_adanet.ratio, figure))
  return rows


def _measure_search(search_lib, adanet, num_turns):
  """Returns the row of a whole search."""
  num_iterations = _NUM_ITERATIONS if num_turns >= 5 else 1
  turns = []
  for _ in range(max(1, num_turns // 5)):
    theirs = adanet.take_turn(num_iterations)
    turns.append((search_lib.time_search(num_iterations), theirs))
  result = timing.summary(turns)
  return [_row(
      "search, AdaNet", "iterations of {} steps: {}".format(
          search_lib.ITERATION_STEPS, num_iterations),
      "AdaNet " + _ADANET_VERSION, result.ratio,
      "{:.1f} s".format(result.secs))]


def _search_of(search_lib, num_candidates):
  """Returns the `iteration.Search` of `search_lib`, with so many candidates."""
  from adanet import ensemble, heads, subnetwork  # pylint: disable=g-import-not-at-top,g-multiple-import
  from adanet.core import ensembles, iteration  # pylint: disable=g-import-not-at-top,g-multiple-import
  return iteration.Search(
      head=heads.MultiClassHead(search_lib.NUM_CLASSES),
      generator=subnetwork.SimpleGenerator(
          [search_lib.Builder(i) for i in range(num_candidates)]),
      ensemblers=[search_lib.Ensembler()],
      strategies=[ensemble.GrowStrategy()], metric_fn=None,
      max_iteration_steps=None, adanet_loss_decay=.9,
      replicate_ensemble_in_training=False, debug=False,
      enable_ensemble_summaries=True, enable_subnetwork_summaries=True,
      global_step_combiner_fn=None,
      exports=ensembles.ExportOptions(False, False))


def _cluster_config(tf_compat, num_workers):
  """Returns the RunConfig of a worker that is not the chief."""
  hosts = ["localhost:{}".format(i) for i in range(1, num_workers + 1)]
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
    found = _LAYER.match(op.name)
    if found:
      layers[found.group(1)] += 1
  expected = {b.name: b.num_layers for b in builders}
  program.check(layers == expected,
                "expected layers {}, got {}".format(expected, dict(layers)))
  twice = [what for what, count in inputs.items() if count > 1]
  program.check(not twice, "built twice: {}".format(twice))


def _graph_size(search_lib, tf_compat, strategy, num_candidates):
  """Returns the number of ops and of variables of a worker's training graph."""
  from adanet.core import train_ops  # pylint: disable=g-import-not-at-top
  from adanet.core import model_dir  # pylint: disable=g-import-not-at-top
  from adanet.estimator import model as model_lib  # pylint: disable=g-import-not-at-top
  v1 = tf_compat.v1
  config = _cluster_config(tf_compat, num_candidates + 1)
  model = model_lib.Model(
      _search_of(search_lib, num_candidates),
      model_dir.ModelDir(config.model_dir), config, strategy, None)
  with model.graph(search_lib.input_fn, "train", 0) as built:
    train_ops.TrainOps(built.iteration, v1.reduce_mean)
    graph = v1.get_default_graph()
    subnetworks = [s.builder for s in built.iteration.subnetworks]
    _check_graph(graph, subnetworks)
    return len(subnetworks), len(graph.get_operations()), len(
        v1.global_variables())


def _measure_graphs(search_lib, tf_compat, placement):
  """Returns the rows of the graphs."""
  rows = []
  for k in _NUM_CANDIDATES:
    num_one, *one = _graph_size(
        search_lib, tf_compat, placement.RoundRobinStrategy(), k)
    num_all, *every = _graph_size(
        search_lib, tf_compat, placement.ReplicationStrategy(), k)
    program.check((num_one, num_all) == (1, k),
                  "workers build {} and {}".format(num_one, num_all))
    for what, count, count_of_all in zip(("ops", "variables"), one, every):
      rows.append(_row(
          what, "{} of a worker with 1 of {}".format(what, k),
          "one with all", count / count_of_all,
          "{:,} of {:,}".format(count, count_of_all)))
      rows[-1]["count"] = count
  return rows


def _import(statement):
  """Returns the seconds and the modules of an import in a new process."""
  done = subprocess.run(
      [sys.executable, "-c", _IMPORT.format(statement)], env=_child_env(),
      stdout=subprocess.PIPE, universal_newlines=True, check=True)
  secs, modules = json.loads(done.stdout)
  program.check(not any(m.startswith("tensorflow") for m in modules),
                "{} loads TensorFlow".format(statement))
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
        "{:.0f} ms, {} modules".format(
            1000 * result.secs, _import(what)[1])))
  return rows


def measure(placement, num_turns):
  """Measures one side; see `program`."""
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  from benchmarks import search as search_lib  # pylint: disable=g-import-not-at-top
  folder = runfiles.Create().Rlocation(_ADANET)
  with contextlib.ExitStack() as stack:
    adanet = None
    searches = []
    if folder and os.path.isdir(folder):  # On TensorFlow 1.15 only.
      adanet = stack.enter_context(_AdaNet(folder))
      searches = _measure_search(search_lib, adanet, num_turns)
    steps = _measure_steps(search_lib, tf_compat.v1, adanet, num_turns)
  return (steps + searches + _measure_graphs(search_lib, tf_compat, placement)
          + _measure_import(num_turns))


def bars(rows):
  """Returns list of `program.Bar`."""
  counts = [row["count"] for row in rows if row["kind"] == "ops"]
  result = [
      program.Bar("{}, in those of {}".format(row["what"], row["against"]),
                  row["ratio"], _LIMITS[row["kind"]])
      for row in rows if row["kind"] in _LIMITS
  ]
  result.append(program.Bar(
      "ops of a worker with 1 of {}, in those with 1 of {}".format(
          _NUM_CANDIDATES[-1], _NUM_CANDIDATES[0]),
      counts[-1] / counts[0], _GROWTH_LIMIT))
  return result


if __name__ == "__main__":
  program.run(sys.modules[__name__])
