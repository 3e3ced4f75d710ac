# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The results of iterations and the work of tasks as values."""

import json
import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from adanet import typed_json
from adanet.core import events
from adanet.core import selection


#: The version of the files. Changes that older code cannot read increase it.
JSON_VERSION = 1
_INT64 = range(-2**63, 2**63)
_MAX_SECONDS = 1e12  # 30,000 years.


class CandidateRecord(NamedTuple):
  """A candidate ensemble of an iteration.

  Attributes:
    name: str, the name of the ensemble.
    value: float, the compared loss or metric; None if not compared.
    subnetworks: tuple of str, the names of the subnetworks, such as
      "t0_linear".
    weights: tuple with the mean absolute mixture weight of each subnetwork;
      None where the ensembler has no mixture weights.
  """
  name: str
  value: Optional[float] = None
  subnetworks: Tuple[str, ...] = ()
  weights: Tuple[Optional[float], ...] = ()


class SubnetworkRecord(NamedTuple):
  """A subnetwork that trained in an iteration.

  If the placement strategy needs costs, the builder states the cost, or the
  chief measures the subnetwork alone before the iteration.

  Attributes:
    steps: int, the number of steps at the end.
    loss: float, the loss of the last step; None if unknown.
    measured_seconds: float, the time of a step; None if not measured.
    measured_bytes: int, the size of the variables including the optimizer's;
      None if not measured.
    stated_cost: float, the `cost` of the builder, in any unit; None if not
      needed or not stated.
    stated_size: float, the `size` of the builder, in any unit; or None.
    held_out_loss: float, the head's loss of the subnetwork alone on the
      evaluator's data; None if not evaluated, as without fitted ensembles.
    seconds: float, the time of all steps in all tasks; None if unknown.
      Subnetworks that train in the same step share the time.
  """
  steps: int
  loss: Optional[float] = None
  measured_seconds: Optional[float] = None
  measured_bytes: Optional[int] = None
  stated_cost: Optional[float] = None
  stated_size: Optional[float] = None
  held_out_loss: Optional[float] = None
  seconds: Optional[float] = None


class IterationRecord(NamedTuple):
  """The result of an iteration.

  For example::

      for record in adanet.report("digits").iterations:
        print(record.iteration, record.winner, record.winning.value)

  Attributes:
    iteration: int, from 0.
    candidates: tuple of `CandidateRecord`.
    winner: str, the name of the winner.
    metric_name: str, the name of the candidates' values.
    margin: float, the difference to the next best value, or None.
    reason: str, the reason to compare no candidates, or "".
    subnetworks: dict from the name of each trained subnetwork to the
      `SubnetworkRecord`.
    global_step: int, the global step at the end; None if unknown.
    seconds: float, the duration, over all leading processes; None if unknown.
    generation: int, the generation of the cluster at the end; None without a
      cluster.
    checkpoint: str, the name of the checkpoint of the decision; "" if unknown.
    architecture: str, the text of the winner's architecture file; or None.
    fit: the fit of the winner, or None: `members`, a dict from the name of each
      network to the weight; `loss`, the head's loss on the evaluator's data;
      `num_networks`, the number of networks to select from; `best_network` and
      `best_loss`, the name and loss of the best single network.
  """
  iteration: int
  candidates: Tuple[CandidateRecord, ...]
  winner: str
  metric_name: str = "adanet_loss"
  margin: Optional[float] = None
  reason: str = ""
  subnetworks: Dict[str, SubnetworkRecord] = {}
  global_step: Optional[int] = None
  seconds: Optional[float] = None
  generation: Optional[int] = None
  checkpoint: str = ""
  architecture: str = ""
  fit: Optional[selection.Fit] = None

  def is_of(self, checkpoint: str) -> bool:
    """Returns whether the decision was on a checkpoint, given by the prefix."""
    return bool(self.architecture) and self.checkpoint == os.path.basename(
        checkpoint)

  @property
  def winning(self) -> Optional[CandidateRecord]:
    """The record of the winner; None if missing."""
    for candidate in self.candidates:
      if candidate.name == self.winner:
        return candidate
    return None


class TaskRecord(NamedTuple):
  """The work of a task for an iteration, over all processes of the task.

  For example::

      for task in adanet.report("digits").tasks:
        print(task.task, task.iteration, task.steps, task.seconds)

  Attributes:
    task: str, such as "worker:1".
    iteration: int, from 0.
    builds: tuple of str, the subnetworks and ensembles in the task's graph.
    trained: dict from the name of a subnetwork or ensemble to the number of
      training steps in this task.
    seconds: float, the duration of the training loop.
    bytes: int, the size of the variables that the task builds or, for a ps,
      holds; None if unknown.
    ensembles: tuple of str, the names in `builds` of ensembles.
    losses: dict from the name of a subnetwork or ensemble to the loss of the
      last training step in this task.
    total_seconds: float, the duration including the time before the loop, such
      as for building the graph; 0 for a ps.
    has_ended: bool, whether the loop has ended. Stays False for a killed task.
    step_seconds: dict from the name of a subnetwork or ensemble to the time of
      all training steps in this task.
  """
  task: str
  iteration: int
  builds: Tuple[str, ...] = ()
  trained: Dict[str, int] = {}
  seconds: float = 0.
  bytes: Optional[int] = None
  ensembles: Tuple[str, ...] = ()
  losses: Dict[str, float] = {}
  total_seconds: float = 0.
  has_ended: bool = True
  step_seconds: Dict[str, float] = {}

  @property
  def steps(self) -> int:
    """The steps of the loop: the most training steps of a candidate."""
    return max(self.trained.values(), default=0)


class EvaluationRecord(NamedTuple):
  """The last evaluation with a given name of an iteration.

  Attributes:
    iteration: int, the iteration of the checkpoint.
    global_step: int, the global step of the checkpoint.
    ensemble: str, the name of the evaluated ensemble.
    metrics: dict from the name of a metric to the value.
    name: str, the `name` of the evaluation, or "".
  """
  iteration: int
  global_step: int
  ensemble: str
  metrics: Dict[str, float]
  name: str = ""


class UndecidedRecord(NamedTuple):
  """The end of training before an iteration has a winner.

  Attributes:
    iteration: int, from 0.
    global_step: int, the last global step.
    metric_name: str, the name of the candidates' values.
    leader: str, the name of the current best ensemble, for evaluation and
      prediction; None if an evaluator finds the ensemble each time.
    value: float, the loss of the leader; None if not compared.
    next_best: str, the name of the next best ensemble, or None.
    margin: float, the difference to the value of `next_best`, or None.
    compared: int, the number of compared candidates.
    reason: str, the reason to compare no candidates, or "".
    untrained: tuple of str, the networks without a training step.
  """
  iteration: int
  global_step: int
  metric_name: str
  leader: Optional[str] = None
  value: Optional[float] = None
  next_best: Optional[str] = None
  margin: Optional[float] = None
  compared: int = 1
  reason: str = ""
  untrained: Tuple[str, ...] = ()


class EndRecord(NamedTuple):
  """The end of the last call of training.

  Attributes:
    global_step: int, the last global step.
    reason: str, the reason for the end.
    time: float, the time in seconds since 1970; None if unknown.
  """
  global_step: int
  reason: str
  time: Optional[float] = None


class Records(NamedTuple):
  """All records of a search, for tables and pictures.

  `report.History` describes all fields.
  """
  model_dir: str
  iterations: Tuple[IterationRecord, ...] = ()
  tasks: Tuple[TaskRecord, ...] = ()
  evaluations: Tuple[EvaluationRecord, ...] = ()
  undecided: Optional[UndecidedRecord] = None
  end: Optional[EndRecord] = None

  @property
  def final(self) -> Optional[CandidateRecord]:
    """The ensemble that won the last iteration, or None."""
    return self.iterations[-1].winning if self.iterations else None

  @property
  def seconds(self) -> Optional[float]:
    """The duration of all iterations together; None if unknown."""
    seconds = [record.seconds for record in self.iterations
               if record.seconds is not None]
    return sum(seconds) if seconds else None

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns a value for `json.dumps`. NaN becomes the string "NaN"."""
    return dict({"version": JSON_VERSION}, **to_json(self))


def iteration_record(
    ended: events.IterationEnded,
    candidates: Mapping[str, Sequence[str]],
    values: Optional[Mapping[str, Optional[float]]] = None,
    weights: Optional[Mapping[str, Sequence[Optional[float]]]] = None,
    progress: Optional[events.Progress] = None,
    global_step: Optional[int] = None,
    generation: Optional[int] = None,
    costs: Optional[Mapping[str, Mapping[str, Any]]] = None,
    held_out_losses: Optional[Mapping[str, float]] = None
) -> IterationRecord:
  """Returns the record of an iteration that ended.

  Args:
    candidates: dict from the name of each candidate to the names of the
      subnetworks, in the order of the graph.
    values: dict from the names of candidates to the compared values; None if
      not compared.
    weights: dict from the name of a candidate to the mean absolute mixture
      weights of the subnetworks, each None without mixture weights. May omit
      candidates.
    progress: the last `events.Progress` of the iteration, with the steps and
      losses of subnetworks. Names of candidates are ignored.
    costs: dict from the name of a subnetwork to a dict with the costs in the
      `SubnetworkRecord`, or None.
    held_out_losses: dict from the name of a subnetwork to the loss of the
      subnetwork alone on the evaluator's data, or None. May omit subnetworks.

  Raises:
    ValueError: the numbers of weights and subnetworks of a candidate differ.
  """
  candidate_records = []
  for name, subnetworks in candidates.items():
    value = (values or {}).get(name)
    if value is None and name == ended.choice.name:
      value = ended.choice.value
    of_candidate = (weights or {}).get(name, (None,) * len(subnetworks))
    if len(of_candidate) != len(subnetworks):
      raise ValueError(
          f"weights[{name!r}]={of_candidate!r}: expected one for each of the "
          f"subnetworks {', '.join(subnetworks)}.")
    candidate_records.append(CandidateRecord(
        name, value, tuple(subnetworks), tuple(of_candidate)))
  trained = {} if progress is None else {
      name: SubnetworkRecord(
          step, progress.losses.get(name),
          held_out_loss=(held_out_losses or {}).get(name),
          **(costs or {}).get(name, {}))
      for name, step in progress.steps.items() if name not in candidates}
  return IterationRecord(
      ended.iteration_number, tuple(candidate_records), ended.choice.name,
      ended.metric_name, ended.choice.margin, ended.choice.reason, trained,
      global_step, ended.seconds, generation, fit=ended.fit)


def undecided_record(event: events.IterationUndecided) -> UndecidedRecord:
  """Returns the record of an iteration without a winner at the last step."""
  record = UndecidedRecord(
      event.iteration_number, event.global_step, event.metric_name,
      untrained=event.untrained)
  choice = event.choice
  if choice is None:
    return record
  return record._replace(
      leader=choice.name, value=choice.value, next_best=choice.next_best,
      margin=choice.margin, compared=choice.compared, reason=choice.reason)


def undecided_event(record: UndecidedRecord) -> events.IterationUndecided:
  """Returns the event of a record, for displaying progress."""
  choice = None
  if record.leader is not None:
    choice = selection.Choice(
        0, record.leader, record.value, record.next_best, record.margin,
        record.compared, reason=record.reason)
  return events.IterationUndecided(
      record.iteration, record.global_step, choice, record.metric_name,
      record.untrained)


def added(before: Optional[TaskRecord], record: TaskRecord) -> TaskRecord:
  """Returns the work of a task, including the task's earlier processes.

  Args:
    before: the work of earlier processes for the same iteration, or None.
  """
  if before is None:
    return record
  return record._replace(
      builds=tuple(dict.fromkeys(before.builds + record.builds)),
      trained=_sums(before.trained, record.trained),
      step_seconds=_sums(before.step_seconds, record.step_seconds),
      seconds=before.seconds + record.seconds,
      bytes=before.bytes if record.bytes is None else record.bytes,
      ensembles=tuple(dict.fromkeys(before.ensembles + record.ensembles)),
      losses=dict(before.losses, **record.losses),
      total_seconds=before.total_seconds + record.total_seconds,
      has_ended=record.has_ended)


def _sums(before, after):
  """Returns the sum of the values of two dicts for each name."""
  return {name: before.get(name, 0) + after.get(name, 0)
          for name in {**before, **after}}


def with_tasks(record: IterationRecord,
               tasks: Sequence[TaskRecord]) -> IterationRecord:
  """Returns a record with the losses and times that only other tasks know.

  The chief of a cluster knows the step of another task's subnetwork, but not
  the loss. The loss is from the task with the most training steps.
  """
  subnetworks = dict(record.subnetworks)
  for name, subnetwork in subnetworks.items():
    times = [task.step_seconds[name] for task in tasks
             if name in task.step_seconds]
    if times:
      subnetwork = subnetworks[name] = subnetwork._replace(seconds=sum(times))
    known = [task for task in tasks if name in task.losses]
    if subnetwork.loss is None and known:
      subnetworks[name] = subnetwork._replace(loss=max(
          known, key=lambda task: task.trained.get(name, 0)).losses[name])  # pylint: disable=cell-var-from-loop
  return record._replace(subnetworks=subnetworks)


def to_json(record: Any) -> Any:
  """Returns a record as a value for `json.dumps`."""
  return typed_json.to_json(type(record), record)


def dumps(record: Any) -> str:
  """Returns the text of a record's file."""
  return json.dumps(
      dict({"version": JSON_VERSION}, **to_json(record)), indent=1,
      allow_nan=False)


def _check_numbers(value, name=""):
  """Checks all counts and times in a record, which a user may have changed."""
  if hasattr(value, "_fields"):
    for field, of_field in value._asdict().items():
      _check_numbers(of_field, field)
  elif isinstance(value, (dict, tuple)):
    for part in value.values() if isinstance(value, dict) else value:
      _check_numbers(part, name)
  elif isinstance(value, int) and value not in _INT64:
    raise ValueError(f"{name} is {str(value)[:20]}..., not an integer of 64 "
                     "bits")
  elif isinstance(value, float) and name.endswith("seconds") and (
      not abs(value) < _MAX_SECONDS):
    raise ValueError(f"{name} is {value!r}, not a time in seconds")


def loads(kind: Any, text: str) -> Any:
  """Returns the record of a file.

  Raises:
    ValueError: `text` is not from `dumps` for a record of this class.
  """
  content = typed_json.loads(text)
  version = content.pop("version", None)
  if version != JSON_VERSION:
    raise ValueError(f"its version is {version!r}, not {JSON_VERSION}")
  record = typed_json.from_json(kind, content)
  _check_numbers(record)
  return record
