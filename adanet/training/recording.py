# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records the work of a task and the results of an iteration, for a report."""

import collections
import numbers
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from adanet import log as logging
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import iteration as iteration_lib
from adanet.history import records
from adanet.history import store
from adanet.tf_compat import runtime
from adanet.training import loop as loop_lib
import numpy as np

_SECS_BETWEEN_WRITES = 10.


def _bytes_by_device():
  """Returns how many bytes the variables of the default graph take."""
  num_bytes = collections.Counter()
  for variable in tf_compat.v1.global_variables():
    size = variable.shape.num_elements() or 0
    num_bytes[variable.device] += size * variable.dtype.size
  return num_bytes


def write_or_warn(write: Callable[[Any], None], record: Any) -> None:
  """Writes a record. Training does not end if the disk is full."""
  try:
    write(record)
  except (OSError, tf_compat.v1.errors.OpError) as error:
    logging.warning("A record for the report is lost: %s",
                    runtime.error_line(error))


class TaskRecorder:
  """Records the work of the task for an iteration.

  Create this object when the graph of the iteration is complete.
  """

  def __init__(self, model_dir: str, task: str,
               iteration: iteration_lib.Iteration, began: float):
    """Reads the work of earlier processes.

    Args:
      began: float, when this process began the iteration, by `time.time`.
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
    before = self._before.total_seconds if self._before else 0.
    return before + time.time() - self._began

  def write(self, loop: loop_lib.Loop, has_ended: bool = True) -> None:
    """Writes the work of the task so far.

    Args:
      has_ended: whether the task trains no further.
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
    """Writes if the last write is long ago, as a task may be killed."""
    if time.time() >= self._next_write:
      self.write(loop, has_ended=False)

  def write_parameter_servers(self) -> None:
    """Writes the load of each parameter server; for the chief."""
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
  """Returns the mean absolute mixture weights of ensembles with weights.

  Args:
    session: `Session`, for weights that are no variables.
    checkpoint: str, the prefix of the checkpoint with the other variables.
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
  """Returns the known costs of subnetworks, for a record.

  Args:
    measured: the cost of a step of each subnetwork, if a placement strategy
      asked for the cost.
    sizes: the bytes of the variables, under the same condition.
  """
  record: Dict[str, Dict[str, Any]] = {
      spec.name: {} for spec in iteration.subnetworks}
  # It is 1 for all of them where the input was too short to measure.
  if measured and set(measured) != {1}:
    for spec, cost in zip(iteration.subnetworks, measured):
      record[spec.name].update(
          {"measured_seconds": cost / 1e9}
          if getattr(spec.builder, "cost", None) is None else
          {"stated_cost": cost})
  for spec, size in zip(iteration.subnetworks, sizes or ()):
    record[spec.name].update(
        {"measured_bytes": size} if getattr(spec.builder, "size", None) is None
        else {"stated_size": size})
  return record


def write_evaluation(
    model_dir: str, number: int, ensemble: str, name: Optional[str],
    global_step: int, metrics: Mapping[str, Any]) -> None:
  """Writes the result of an evaluation.

  Args:
    number: int, the iteration of the checkpoint.
    ensemble: str, the name of the evaluated ensemble.
    name: str, the name of the evaluation, or None.
    global_step: int, the step of the checkpoint.
    metrics: dict; values that are no numbers are left out.
  """
  write = store.Store(model_dir).write_evaluation
  write_or_warn(write, records.EvaluationRecord(
      number, int(global_step), ensemble,
      {key: float(value) for key, value in metrics.items()
       if isinstance(value, (numbers.Real, np.number))}, name or ""))


def mark_resumed(model_dir: str) -> None:
  """Records that training resumes, so that no end is known any more."""
  history = store.Store(model_dir)
  write_or_warn(history.write_undecided, None)
  write_or_warn(history.write_end, None)
