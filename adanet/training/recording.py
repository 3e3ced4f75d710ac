# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records what a task trained and what an iteration found, for a report."""

import collections
import numbers
import os
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from adanet import log as logging
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import iteration as iteration_lib
from adanet.history import records
from adanet.history import store
from adanet.training import loop as loop_lib
import numpy as np

_SECS_BETWEEN_WRITES = 10.


def _bytes_by_device():
  """Returns how many bytes the variables of the default graph take."""
  found = collections.Counter()
  for variable in tf_compat.v1.global_variables():
    size = variable.shape.num_elements() or 0
    found[variable.device] += size * variable.dtype.size
  return found


def write_or_warn(write: Callable[[Any], None], record: Any) -> None:
  """Writes a record. Training does not end if the disk is full."""
  try:
    write(record)
  except (OSError, tf_compat.v1.errors.OpError) as error:
    logging.warning("A record for the report is lost: %s",
                    str(error).split("\n")[0])


class TaskRecorder:
  """Records what this task does for an iteration.

  Make it when the graph of the iteration is complete.
  """

  def __init__(self, model_dir: str, task: str,
               iteration: iteration_lib.Iteration, began: float):
    """Reads what processes before this one have done.

    Args:
      model_dir: str.
      task: str, such as "worker:1".
      iteration: `Iteration`.
      began: float, when this process began with the iteration; of `time.time`.
    """
    self._history = store.Store(model_dir)
    self._before = self._history.task(task, iteration.number)
    self._began = began
    self._started = time.time()
    self._next_write = 0.
    self._bytes = _bytes_by_device()
    self._record = records.TaskRecord(
        task, iteration.number, tuple(
            [s.name for s in iteration.subnetworks] +
            [c.name for c in iteration.new_candidates]),
        bytes=sum(self._bytes.values()),
        ensembles=tuple(c.name for c in iteration.candidates))

  @property
  def total_seconds(self) -> float:
    """How long the iteration has taken, the processes before included."""
    before = records.total_seconds(self._before) if self._before else 0.
    return before + time.time() - self._began

  def write(self, loop: loop_lib.Loop, has_ended: bool = True) -> None:
    """Writes what this task has done so far.

    Args:
      loop: its `Loop`.
      has_ended: whether that trains no further.
    """
    now = time.time()
    self._next_write = now + _SECS_BETWEEN_WRITES
    trained = {name: count for name, count in loop.trained.items() if count}
    write_or_warn(self._history.write_task, records.added(
        self._before, self._record._replace(
            trained=trained, seconds=now - self._started,
            losses={name: float(loss) for name, loss in loop.losses.items()
                    if name in trained},
            step_seconds={name: loop.seconds[name] for name in trained},
            total_seconds=now - self._began, has_ended=has_ended)))

  def write_now_and_then(self, loop: loop_lib.Loop) -> None:
    """Writes if the last time is long ago, for a task that may be killed."""
    if time.time() >= self._next_write:
      self.write(loop, has_ended=False)

  def write_parameter_servers(self) -> None:
    """Writes what each parameter server holds; for the chief."""
    for device, size in self._bytes.items():
      spec = tf_compat.v1.DeviceSpec.from_string(device)
      if spec.job == "ps":
        write_or_warn(self._history.write_task, records.TaskRecord(
            f"ps:{spec.task}", self._record.iteration, bytes=size))


def _mean_weight(value):
  """Returns the mean absolute value of a weight, a dict for a multi-head."""
  if isinstance(value, dict):
    return float(np.mean([_mean_weight(part) for part in value.values()]))
  return float(np.mean(np.abs(value)))


def _weight(weight, session, checkpoint):
  """Returns the value of a weight, or a dict of them for a multi-head."""
  if isinstance(weight, dict):
    return {head: _weight(part, session, checkpoint)
            for head, part in weight.items()}
  if any(weight is v for v in tf_compat.v1.global_variables()):
    return checkpoints.values(checkpoint, [weight.op.name])[weight.op.name]
  return session.run(weight)


def mixture_weights(
    session: Any, iteration: iteration_lib.Iteration, checkpoint: str
) -> Dict[str, List[float]]:
  """Returns the mean absolute mixture weights of ensembles that have some.

  Args:
    session: `Session`, for weights that are no variables.
    iteration: `Iteration`.
    checkpoint: str, the prefix of the checkpoint that has the others.
  """
  return {
      c.name: [_mean_weight(_weight(w.weight, session, checkpoint))
                    for w in c.ensemble.weighted_subnetworks]
      for c in iteration.candidates
      if hasattr(c.ensemble, "weighted_subnetworks")}


def costs(
    iteration: iteration_lib.Iteration,
    measured: Optional[Sequence[float]],
    sizes: Optional[Sequence[float]]) -> Dict[str, Dict[str, Any]]:
  """Returns what is known of the costs of subnetworks, as in a record.

  Args:
    iteration: `Iteration` with all subnetworks.
    measured: what a step of each one costs, if a placement strategy asked.
    sizes: likewise the bytes of its variables.
  """
  found: Dict[str, Dict[str, Any]] = {
      spec.name: {} for spec in iteration.subnetworks}
  # It is 1 for all of them where the input was too short to measure.
  if measured and set(measured) != {1}:
    for spec, cost in zip(iteration.subnetworks, measured):
      found[spec.name].update(
          {"measured_seconds": cost / 1e9}
          if getattr(spec.builder, "cost", None) is None else
          {"stated_cost": cost})
  for spec, size in zip(iteration.subnetworks, sizes or ()):
    found[spec.name].update(
        {"measured_bytes": size} if getattr(spec.builder, "size", None) is None
        else {"stated_size": size})
  return found


def write_evaluation(
    model_dir: str, number: int, ensemble: str, name: Optional[str],
    global_step: int, metrics: Mapping[str, Any]) -> None:
  """Writes the result of an evaluation.

  Args:
    model_dir: str.
    number: int, the iteration of the checkpoint.
    ensemble: str, the name of what was evaluated.
    name: str, that of the evaluation, or None.
    global_step: int, that of the checkpoint.
    metrics: dict; what is no number is left out.
  """
  write = store.Store(model_dir).write_evaluation
  write_or_warn(write, records.EvaluationRecord(
      number, int(global_step), ensemble,
      {key: float(value) for key, value in metrics.items()
       if isinstance(value, (numbers.Real, np.number))}, name or ""))


def write_undecided(model_dir: str, event: events.IterationUndecided) -> None:
  """Writes which ensemble answers while an iteration has no winner."""
  write_or_warn(store.Store(model_dir).write_undecided,
                records.undecided_record(event))


def write_end(model_dir: str, global_step: int, reason: str) -> None:
  """Writes why training ended.

  Args:
    model_dir: str.
    global_step: int, the last one.
    reason: str.
  """
  write_or_warn(store.Store(model_dir).write_end,
                records.EndRecord(global_step, reason, time.time()))


def read_end(model_dir: str) -> Optional[records.EndRecord]:
  """Returns what `write_end` wrote last, or None."""
  return store.Store(model_dir).end()


def write_goes_on(model_dir: str) -> None:
  """Notes that training goes on: no end is known any more."""
  history = store.Store(model_dir)
  write_or_warn(history.write_undecided, None)
  write_or_warn(history.write_end, None)


def write_iteration(
    model_dir: str, ended: events.IterationEnded,
    architectures: Mapping[str, architecture_lib.Architecture],
    values: Optional[Mapping[str, float]],
    weights: Mapping[str, Sequence[float]],
    progress: events.Progress, checkpoint: str,
    generation: Optional[int] = None,
    costs_by_name: Optional[Dict[str, Dict[str, Any]]] = None,
    held_out_losses: Optional[Mapping[str, float]] = None) -> None:
  """Writes what an iteration found.

  Args:
    model_dir: str.
    ended: the event of its end.
    architectures: dict from the name of each candidate to its `Architecture`.
    values: dict from the names of candidates to what they were compared by;
      None if they were not.
    weights: see `mixture_weights`.
    progress: the last event of its progress.
    checkpoint: str, the prefix of its last checkpoint.
    generation: int, that of a cluster; None without one.
    costs_by_name: see `costs`; None if nobody asked.
    held_out_losses: dict from the name of a network to its loss alone, on the
      evaluator's data; None if networks were not evaluated.
  """
  candidates = {
      name: ["t{}_{}".format(*pair) for pair in architecture.subnetworks]
      for name, architecture in architectures.items()}
  won = architectures[ended.choice.name]._replace(
      global_step=progress.global_step)
  write = store.Store(model_dir).write_iteration
  write_or_warn(write, records.iteration_record(
      ended, candidates, values,
      {name: found for name, found in weights.items()
       if len(found) == len(candidates[name])}, progress,
      progress.global_step, generation, costs_by_name,
      held_out_losses)._replace(
          checkpoint=os.path.basename(checkpoint), architecture=won.to_json()))


def read_iteration(model_dir: str, number: int
                  ) -> Optional[records.IterationRecord]:
  """Returns what `write_iteration` wrote, or None."""
  return store.Store(model_dir).iteration(number)
