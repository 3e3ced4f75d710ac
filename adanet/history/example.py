# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reports of searches that never ran, for the documentation and tests."""

import math
from typing import Any, Dict, List

from adanet.core import early_stopping
from adanet.core import selection
from adanet.history import records
from adanet.history import report as report_lib
from adanet.history import store

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
           steps: int = 1000) -> report_lib.History:
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
  return report_lib.History(
      "/tmp/digits", tuple(
          records.with_tasks(record, [
              task for task in tasks if task.iteration == record.iteration])
          for record in iterations), tuple(tasks), tuple(
              _evaluation(record.iteration, steps, record.winner)
              for record in iterations), end=records.EndRecord(
                  num_iterations * steps,
                  f"it reached max_iterations={num_iterations}"))


def _checked(t, depth, limit, rule):
  """Returns the record of a network that was checked until it was done."""
  checks = early_stopping.NetworkChecks()
  ended, step = "", 0
  while not ended:
    step += rule.every_steps
    loss = (.5 / (1 + depth) / (1 + .3 * t) + .9 * math.exp(
        -step * (1 + depth) / 700) + step * 6e-5 * depth * (1 + t) +
            .005 * (1 + t) * math.sin(step))
    if (t, depth) == (2, 2) and step == 600:
      loss = math.nan
    checks = checks.checked(early_stopping.HeldOutCheck(step, loss))
    ended = rule.why_ended(checks)
    if step >= limit:
      ended = ended or f"Training complete after {step} steps"
  best = checks.best
  return records.SubnetworkRecord(
      step, .5 * checks.checks[-1].loss, held_out_loss=best.loss,
      seconds=step * .0008 * (1 + depth), checks=checks.checks,
      best_step=best.step, ended=ended)


def checked_search(num_iterations: int = 3,
                   kinds: tuple = ("linear", "1_layer", "2_layers"),
                   limit: int = 2000) -> report_lib.History:
  """Returns the report of a search with `EarlyStopping`, in one process.

  Args:
    num_iterations: int.
    kinds: tuple of str, the names of the builders in each iteration.
    limit: int, the `max_iteration_steps`.
  """
  rule = early_stopping.EarlyStopping(every_steps=100, patience=3)
  iterations: List[records.IterationRecord] = []
  networks: Dict[str, Any] = {}
  steps = 0
  for t in range(num_iterations):
    new = {f"t{t}_{kind}": _checked(t, depth, limit, rule)
           for depth, kind in enumerate(kinds)}
    networks.update(new)
    best = sorted(networks, key=lambda name: networks[name].held_out_loss)[:3]
    weights = dict(zip(best, (.5, .25, .25)))
    fit = selection.Fit(
        weights, (.9 - .04 * t) * networks[best[0]].held_out_loss,
        len(networks), best[0], networks[best[0]].held_out_loss)
    steps += max(network.steps for network in new.values())
    iterations.append(records.IterationRecord(
        t, (records.CandidateRecord(
            f"t{t}_all_greedy", fit.loss, tuple(weights),
            tuple(weights.values())),), f"t{t}_all_greedy",
        subnetworks=new, global_step=steps, fit=fit, seconds=3. + sum(
            network.seconds for network in new.values())))
  return report_lib.History(
      "/tmp/digits", tuple(iterations), end=records.EndRecord(
          steps, f"it reached max_iterations={num_iterations}"))


def write(report: report_lib.History, model_dir: str) -> None:
  """Writes a report, as the tasks of its search do."""
  history = store.Store(model_dir)
  for iteration in report.iterations:
    history.write_iteration(iteration)
  for task in report.tasks:
    history.write_task(task)
  for evaluation in report.evaluations:
    history.write_evaluation(evaluation)
  history.write_end(report.end)
