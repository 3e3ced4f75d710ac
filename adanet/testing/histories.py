# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reports of searches that never ran, for the documentation and tests."""

import os
from typing import List
from unittest import mock

from adanet.history import history as history_lib
from adanet.history import records
from adanet.history import store
from adanet.tf_compat import files

_SUFFIX = "grow_complexity_regularized"


def _iteration(t, kinds, before, steps, seconds):
  """Returns the record of an iteration; the last kind wins."""
  candidates = []
  if before is not None:
    candidates.append(before._replace(value=before.value * 1.02))
  old = before.subnetworks if before is not None else ()
  for i, kind in enumerate(kinds):
    subnetworks = old + (f"t{t}_{kind}",)
    total = sum(range(1, len(subnetworks) + 1))
    candidates.append(records.CandidateRecord(
        f"t{t}_{kind}_{_SUFFIX}",
        .5 / (1 + t) / (1 + .25 * i), subnetworks,
        tuple((1 + j) / total for j in range(len(subnetworks)))))
  return records.IterationRecord(
      t, tuple(candidates), candidates[-1].name, "adanet_loss", .03, "",
      {f"t{t}_{kind}": records.SubnetworkRecord(
          steps, .6 / (1 + i + t), .0008 * (1 + i), 1300000 * (1 + i))
       for i, kind in enumerate(kinds)}, (t + 1) * steps, seconds, 1 + t)


def _evaluation(t, steps, ensemble):
  return records.EvaluationRecord(
      t, (t + 1) * steps, ensemble,
      {"accuracy": 1 - .08 / (1 + t), "average_loss": .3 / (1 + t),
       "loss": .3 / (1 + t)})


def search(num_iterations: int = 3, num_workers: int = 4, num_ps: int = 2,
           kinds: tuple = ("linear", "1_layer", "2_layers"),
           steps: int = 1000) -> history_lib.History:
  """Returns the report of a search on a cluster, by round robin.

  Args:
    num_iterations: int.
    num_workers: int, the chief included.
    num_ps: int.
    kinds: tuple of str, the names of the builders in each iteration.
    steps: int, of each iteration.
  """
  iterations: List[records.IterationRecord] = []
  tasks: List[records.TaskRecord] = []
  for t in range(num_iterations):
    before = iterations[-1].winning if iterations else None
    seconds = 8. + 3 * t
    iterations.append(_iteration(t, kinds, before, steps, seconds))
    losses = {name: subnetwork.loss for name, subnetwork in
              iterations[-1].subnetworks.items()}
    times = {name: subnetwork.measured_seconds or 0. for name, subnetwork in
             iterations[-1].subnetworks.items()}
    names = list(losses)
    ensembles = [c.name for c in iterations[-1].candidates]
    size = 1300000 * (t + 1)
    tasks.append(records.TaskRecord(
        "chief:0", t, tuple(names + ensembles),
        dict.fromkeys(ensembles, steps), seconds, size * len(names),
        tuple(ensembles), {c.name: c.value for c in iterations[-1].candidates},
        seconds + 2.))
    for w in range(num_workers - 1):
      own = names[w % len(names)::max(1, num_workers - 1)]
      sharing = len(range(w % len(names), num_workers - 1, len(names)))
      tasks.append(records.TaskRecord(
          f"worker:{w}", t, tuple(own),
          {name: steps // sharing for name in own}, seconds - .1 * w % 3,
          size * len(own), (), {name: losses[name] for name in own},
          seconds + 2., step_seconds={
              name: steps // sharing * times[name] for name in own}))
    for p in range(num_ps):
      tasks.append(records.TaskRecord(
          f"ps:{p}", t, (), {}, seconds,
          size * len(names) // num_ps + 1000 * p))
  return history_lib.History(
      "/tmp/digits", tuple(
          records.with_tasks(record, [
              task for task in tasks if task.iteration == record.iteration])
          for record in iterations), tuple(tasks), tuple(
              _evaluation(record.iteration, steps, record.winner)
              for record in iterations), end=records.EndRecord(
                  num_iterations * steps,
                  f"it reached max_iterations={num_iterations}"))


def write(report: history_lib.History, model_dir: str) -> None:
  """Writes a report, as the tasks of its search do, but without TensorFlow.

  The import of TensorFlow takes longer than most tests of reports.
  """
  history = store.Store(model_dir)
  with mock.patch.object(files, "write_text", _write_text):
    for iteration in report.iterations:
      history.write_iteration(iteration)
    for task in report.tasks:
      history.write_task(task)
    for evaluation in report.evaluations:
      history.write_evaluation(evaluation)
    if report.undecided is not None:
      history.write_undecided(report.undecided)
    if report.end is not None:
      history.write_end(report.end)


def _write_text(path, text):
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with open(path, "w", encoding="utf-8") as f:
    f.write(text)
