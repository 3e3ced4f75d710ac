# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The result of an iteration, and the work of each task for it, as values."""

import json
import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from adanet import typed_json
from adanet.core import events
from adanet.core import selection
from adanet.history import record_numbers

#: The version of the files. A change that older code cannot read has a new one.
JSON_VERSION = 5
# Older files lack attributes that have a default.
_READABLE_VERSIONS = (1, 2, 3, 4, 5)


class CandidateRecord(NamedTuple):
  """An ensemble that could win an iteration.

  Attributes:
    name: str, its name.
    value: float, the loss or metric that it was compared by; None if it was
      not compared.
    subnetworks: tuple of str, the names of its subnetworks, such as
      "t0_linear".
    weights: tuple with, for each subnetwork, the mean absolute value of its
      mixture weights; None where the ensembler has none.
  """
  name: str
  value: Optional[float] = None
  subnetworks: Tuple[str, ...] = ()
  weights: Tuple[Optional[float], ...] = ()


class SubnetworkRecord(NamedTuple):
  """A subnetwork that trained in an iteration.

  A placement strategy may want to know what it costs. Then its builder said so,
  or the chief measured it alone before the iteration.

  Attributes:
    steps: int, its own step at the end.
    loss: float, that of its last step; None if it is not known.
    measured_seconds: float, the time of a step of it; None if that was not
      measured.
    measured_bytes: int, of its variables and its optimizer's; or None.
    stated_cost: float, the `cost` of its builder, in any unit; None if it was
      not asked or has none.
    stated_size: float, the `size` of its builder; or None.
    held_out_loss: float, the head's loss of this network alone on the
      evaluator's data; None if it was not evaluated, as without fitted
      ensembles.
    seconds: float, how long its steps took, in all tasks; None if it is not
      known. Networks that train in the same step share that time.
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

  Attributes:
    iteration: int, from 0.
    candidates: tuple of `CandidateRecord`.
    winner: str, the name of the candidate that won.
    metric_name: str, the name of the candidates' values.
    margin: float, how much worse the next best value is, or None.
    reason: str, why nothing was compared, or "".
    subnetworks: dict from the name of each subnetwork that trained to its
      `SubnetworkRecord`.
    global_step: int, the global step at its end; None if it is not known.
    seconds: float, how long it took, in all processes that led it; None if it
      is not known.
    generation: int, that of the cluster at its end; None without a cluster.
    checkpoint: str, the name of the checkpoint that was decided on; "" if it
      is not known.
    architecture: str, the winner's as the text of its file; or None.
    fit: how the winner was fitted, or None: `members`, a dict from each
      network's name to its weight; `loss`, the head's on the evaluator's data;
      `num_networks`, of how many it was made; `best_network` and `best_loss`,
      the best one of them alone.
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
    """Returns whether it was decided on a checkpoint, given by its prefix."""
    return bool(self.architecture) and self.checkpoint == os.path.basename(
        checkpoint)

  @property
  def winning(self) -> Optional[CandidateRecord]:
    """The record of the candidate that won; None if it is not there."""
    for candidate in self.candidates:
      if candidate.name == self.winner:
        return candidate
    return None


class TaskRecord(NamedTuple):
  """The work of a task for an iteration, all its processes together.

  Attributes:
    task: str, such as "worker:1".
    iteration: int, from 0.
    builds: tuple of str, the subnetworks and ensembles that it builds.
    trained: dict from the name of a subnetwork or ensemble to the number of
      steps that this task trained it.
    seconds: float, how long its training loop took.
    bytes: int, of the variables that it builds or, for a ps, holds; None if it
      is not known.
    ensembles: tuple of str, which of these names are ensembles.
    losses: dict from the name of a subnetwork or ensemble to the loss of the
      last step that this task trained it.
    total_seconds: float, how long it took with all that comes before the loop,
      such as to build the graph; None if it is not known.
    has_ended: bool, whether its loop has ended. One that was killed stays
      False.
    step_seconds: dict from the name of a subnetwork or ensemble to how long its
      steps took here.
  """
  task: str
  iteration: int
  builds: Tuple[str, ...] = ()
  trained: Dict[str, int] = {}
  seconds: float = 0.
  bytes: Optional[int] = None
  ensembles: Tuple[str, ...] = ()
  losses: Dict[str, float] = {}
  total_seconds: Optional[float] = None
  has_ended: bool = True
  step_seconds: Dict[str, float] = {}

  @property
  def steps(self) -> int:
    """The steps of its loop: the most that it trained of a candidate."""
    return max(self.trained.values(), default=0)


class EvaluationRecord(NamedTuple):
  """An evaluation of a checkpoint, the last one of an iteration by its name.

  Attributes:
    iteration: int, that of the checkpoint.
    global_step: int, that of the checkpoint.
    ensemble: str, the name of the ensemble that was evaluated.
    metrics: dict from the name of a metric to its value.
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
    global_step: int, the last one.
    metric_name: str, the value that the candidates are compared by.
    leader: str, the name of the ensemble that answers until then; None if an
      evaluator finds it each time.
    value: float, its loss; None if nothing was compared.
    next_best: str, the name of the next best one, or None.
    margin: float, how much worse its value is, or None.
    compared: int, how many candidates were compared.
    reason: str, why nothing was compared, or "".
    untrained: tuple of str, the networks that have trained no step.
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
  """The end of training, as of its last call.

  Attributes:
    global_step: int, the last one.
    reason: str, why it ended.
    time: float, when, in seconds since 1970; None if it is not known.
  """
  global_step: int
  reason: str
  time: Optional[float] = None


class Records(NamedTuple):
  """All records of a search, as tables and pictures take them.

  `report.History` explains each field.
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
    """How long the iterations took together; None if it is not known."""
    seconds = [record.seconds for record in self.iterations
               if record.seconds is not None]
    return sum(seconds) if seconds else None

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns a value for `json.dumps`. NaN is the string "NaN"."""
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
    ended: the event of its end.
    candidates: dict from the name of each candidate to the names of its
      subnetworks, in the order of the graph.
    values: dict from the names of candidates to their compared values; None if
      nothing was compared.
    weights: dict from the name of a candidate to the mean absolute mixture
      weight of each of its subnetworks, or None where there is none.
      Candidates may be left out.
    progress: the last `events.Progress` of the iteration: the steps and losses
      of the subnetworks. Names of candidates in it are left out.
    global_step: int, the global step at its end.
    generation: int, the cluster's, or None.
    costs: dict from the name of a subnetwork to a dict with the costs in its
      `SubnetworkRecord`, or None.
    held_out_losses: dict from the name of a subnetwork to its loss alone on the
      evaluator's data, or None. Subnetworks may be left out.

  Raises:
    ValueError: weights do not match the candidates.
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
  """Returns the record of an iteration that has no winner at the last step."""
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
  """Returns the event that a record was made of, as progress shows it."""
  choice = None
  if record.leader is not None:
    choice = selection.Choice(
        0, record.leader, record.value, record.next_best, record.margin,
        record.compared, reason=record.reason)
  return events.IterationUndecided(
      record.iteration, record.global_step, choice, record.metric_name,
      record.untrained)


def added(before: Optional[TaskRecord], record: TaskRecord) -> TaskRecord:
  """Returns the work of a task, with the work of its processes before.

  Args:
    before: the work of the processes before, for the same iteration, or None.
    record: the work of this process.
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
      total_seconds=None if record.total_seconds is None else
      total_seconds(before) + record.total_seconds,
      has_ended=record.has_ended)


def _sums(before, after):
  """Returns the sum of the values that two dicts have under each name."""
  return {name: before.get(name, 0) + after.get(name, 0)
          for name in {**before, **after}}


def total_seconds(record: TaskRecord) -> float:
  """Returns how long a task took; its loop alone, if no more is known."""
  if record.total_seconds is None:
    return record.seconds
  return record.total_seconds


def with_tasks(record: IterationRecord,
               tasks: Sequence[TaskRecord]) -> IterationRecord:
  """Returns a record with the losses and times that only other tasks know.

  The chief of a cluster sees how far another task's subnetwork is, and not
  its loss. Of several tasks, the one that trained it most is asked.

  Args:
    record: the result of an iteration.
    tasks: the records of its tasks.
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


def loads(kind: Any, text: str) -> Any:
  """Returns the record of a file.

  Args:
    kind: its class.
    text: str, the text of the file.

  Raises:
    ValueError: the text is not from `dumps` for this class.
  """
  content = typed_json.loads(text)
  version = content.pop("version", None)
  if version not in _READABLE_VERSIONS:
    raise ValueError(f"its version is {version!r}, not "
                     f"{' or '.join(map(str, _READABLE_VERSIONS))}")
  record = typed_json.from_json(kind, content)
  record_numbers.check(record)
  return record
