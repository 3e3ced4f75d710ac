# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""At the end of an iteration, all workers evaluate the candidates.

The chief asks up to three times: for the values of the candidates, for the
logits to which ensembles are fitted, and for reports.

1. The chief divides the candidates among the chief and the workers that answer,
   and writes a request with the shares.
2. Each task builds a share in the task's process, with the values of the last
   checkpoint. All random ops have the same seed, so all tasks see the same
   batches.
3. The chief waits for the workers. The chief also does the share of a worker
   that does not answer, that failed, that does not begin in time, or that used
   another metric or other examples than the chief.
4. The chief cancels the request, which stops late workers.

With a single share, or without workers, the chief evaluates alone. A restarted
chief asks again. A restarted worker joins the generation again, which has
nothing left to train, and then answers.

    <model_dir>/cluster/evaluation_request.json      the current request
    <model_dir>/cluster/answers/<id of the request>/<job>-<index>.json

Each request has a new id, so answers to an old request do not count. The chief
makes all files, empty at first. A network's file system may show a new file
late to a task that has looked for the file before, but shows new content of an
old file.
"""

import contextlib
import enum
import os
import time
from typing import (Any, Callable, Dict, Iterator, List, NamedTuple, Optional,
                    Sequence, Tuple)
import uuid

from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet import typed_json
from adanet import waiting
from adanet.core import iteration as iteration_lib
from adanet.core import parts as parts_lib
from adanet.core import report_store
from adanet.engines import local
from adanet.engines.cluster import connection as connection_lib
from adanet.tf_compat import files
from adanet.training import candidates as candidates_lib
from adanet.training import held_out_pass
from adanet.training import recorded_logits as logits_lib
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib

_LOOK_SECS = 1.  # Between two looks at the other tasks.
_POLL_SECS = .1  # Between two looks for answers, at least.
_FILES_A_SEC = 200.  # How many answers the chief looks for.
_BEGIN_SECS = 10.  # How much later than the chief's end a worker may begin.

_Costs = Sequence[Optional[float]]


class EvaluationKind(enum.Enum):
  """The kind of the answers."""
  VALUES = "values"  # To compare the candidates by.
  LOGITS = "logits"  # For ensembles that are fitted.
  REPORTS = "reports"


class EvaluationRequest(NamedTuple):
  """A request of the chief to all workers.

  Attributes:
    id: str, unique.
    job: str, the id of the job.
    generation: int, the last announced generation.
    iteration: int, the number of the iteration.
    kind: `EvaluationKind`.
    checkpoint: str, the name of the checkpoint to evaluate.
    seed: int, the seed of the graph's random ops; None for no seed.
    included: tuple of str, the builders in the winner, for reports.
    shares: dict from the name of each task to the names of the builders in the
      task's share.
  """
  id: str
  job: str
  generation: int
  iteration: int
  kind: EvaluationKind
  checkpoint: str
  seed: Optional[int]
  included: Tuple[str, ...]
  shares: Dict[str, Tuple[str, ...]]


class Answer(NamedTuple):
  """The answer of a worker.

  Attributes:
    content: any value of JSON.
    error: str, why there is no content, or "".
    is_done: False while the worker evaluates.
  """
  content: Any = None
  error: str = ""
  is_done: bool = True


class EvaluationRequests:
  """The files of the current request."""

  def __init__(self, model_dir: str):
    """Reads nothing yet."""
    self._path = os.path.join(model_dir, "cluster", "evaluation_request.json")
    self._answers = os.path.join(model_dir, "cluster", "answers")

  # The chief's.

  def ask(self, request: EvaluationRequest) -> None:
    """Writes a request, and removes the last request."""
    self.clear()
    for task in request.shares:
      files.write_text(self._of(request, task), "")
    files.write_json(self._path, EvaluationRequest, request)

  def answer(self, request: EvaluationRequest, task: str) -> Optional[Answer]:
    """Returns the answer of a task; None for a task that has not begun."""
    text = files.read_text(self._of(request, task))
    if not text:
      return None
    try:
      return typed_json.from_json(Answer, typed_json.loads(text))
    except ValueError as error:
      return Answer(error=f"its answer cannot be read: {error}")

  def clear(self) -> None:
    """Cancels the request, and removes all answers."""
    files.write_text(self._path, "")  # First, so that no more are written.
    files.remove_folder(self._answers)

  def remove(self) -> None:
    """Removes all files, after the last request."""
    gfile = tf_compat.v1.io.gfile
    if gfile.exists(self._path):
      gfile.remove(self._path)
    files.remove_folder(self._answers)

  # A worker's.

  def read(self) -> Optional[EvaluationRequest]:
    """Returns the request; None without a request of this version."""
    return files.read_json(self._path, EvaluationRequest)

  def is_asked(self, request: EvaluationRequest) -> bool:
    """Returns whether the chief still waits for the answers to a request."""
    current = self.read()
    return current is not None and current.id == request.id

  def write(self, request: EvaluationRequest, task: str,
            answer: Answer) -> None:
    """Writes the answer of a task, if the chief still waits for the answer.

    When a worker begins, the worker writes an answer that is not done.
    """
    if self.is_asked(request):
      files.write_json(self._of(request, task), Answer, answer)

  def _of(self, request, task):
    return os.path.join(
        self._answers, request.id, f"{task.replace(':', '-')}.json")


def evaluated(setup: setup_lib.SearchSetup, request: EvaluationRequest,
              share: Sequence[str],
              watched: Callable[[Any], Any] = lambda session: session,
              is_first: bool = False) -> Any:
  """Evaluates a share of a request; returns the answer, a value for JSON.

  Args:
    setup: `SearchSetup`.
    request: `EvaluationRequest`.
    share: the names of the share's builders.
    watched: see `candidates.compared`.
    is_first: see `held_out_pass.record`.
  """
  setup = setup._replace(part=tuple(share), config=setup.config.replace(
      tf_random_seed=request.seed))
  number = request.iteration
  checkpoint = os.path.join(setup.model_dir.path, request.checkpoint)
  if request.kind == EvaluationKind.VALUES:
    return list(candidates_lib.compared(setup, number, checkpoint, watched))
  name = uuid.uuid4().hex  # The model_dir may have another path elsewhere.
  path = os.path.join(_folder(setup), name)
  if request.kind == EvaluationKind.LOGITS:
    logits_lib.write(held_out_pass.record(
        setup, number, checkpoint, is_first, watched)[1], path)
  else:
    report_store.ReportStore(path).write(number, candidates_lib.reports(
        setup, number, checkpoint, request.included, watched))
  return name


def _folder(setup):
  """Returns the folder of logits and reports, which an answer names."""
  return os.path.join(setup.model_dir.path, "cluster", "evaluated")


class SharedEvaluation:
  """The evaluation of an iteration by the chief and the workers.

  Without workers, the chief evaluates as a single process does.
  """

  def __init__(self, setup: setup_lib.SearchSetup,
               connection: connection_lib.Connection,
               iteration: iteration_lib.Iteration, costs: _Costs,
               generation: int, requests: EvaluationRequests):
    """Asks for nothing yet.

    Args:
      setup: `SearchSetup`.
      connection: `Connection` of the chief.
      iteration: `Iteration` with all candidates.
      costs: of each builder, in any unit; None for an unknown cost.
      generation: int, the generation of the iteration's variables.
      requests: `EvaluationRequests`.
    """
    self._setup = setup
    self._local = local.LocalEngine(setup)
    self._connection = connection
    self._builder_names = iteration.builder_names
    self._planned = iteration.planned
    self._costs = dict(zip(iteration.builder_names, costs))
    self._generation = generation
    self._requests = requests

  def values(self, candidates: trained_lib.Candidates) -> Dict[str, float]:
    compared = {name for ensemble in self._planned
                if ensemble.fitted_by is None
                for name in ensemble.builder_names}
    answers = self._ask(candidates, EvaluationKind.VALUES, [
        part for part in self._parts(self._setup.rules.evaluator)
        if compared.issuperset(part)])
    if answers is None:
      return self._local.values(candidates)
    values = {}
    for answer in reversed(answers):  # Where many have it, the chief's counts.
      values.update(candidates_lib.Comparison(*answer).values)
    return values

  @contextlib.contextmanager
  def logits(self, candidates: trained_lib.Candidates
            ) -> Iterator[logits_lib.RecordedLogits]:
    names = self._ask(candidates, EvaluationKind.LOGITS, [
        (name,) for name in self._builder_names])
    if names is None:
      with self._local.logits(candidates) as logits:
        yield logits
      return
    folder = _folder(self._setup)
    try:
      yield logits_lib.merged([
          logits_lib.read(os.path.join(folder, name)) for name in names])
    finally:
      files.remove_folder(folder)  # Only one request is made at a time.

  def reports(self, candidates: trained_lib.Candidates,
              included: Sequence[str]) -> List[Any]:
    names = self._ask(
        candidates, EvaluationKind.REPORTS,
        self._parts(self._setup.report_materializer), included)
    if names is None:
      return self._local.reports(candidates, included)
    folder = _folder(self._setup)
    try:
      return candidates_lib.merged_reports(
          [report_store.ReportStore(os.path.join(folder, name)).read()[0]
           for name in names], self._builder_names)
    finally:
      files.remove_folder(folder)

  def _parts(self, asked):
    """Returns the iteration's parts, or [] if `asked` needs all at once."""
    if candidates_lib.needs_all(asked):
      return []
    return parts_lib.divide(self._builder_names, self._planned)

  def _ask(self, candidates, kind, parts, included=()):
    """Asks for parts; returns all answers, the chief's answer first.

    Returns None if no worker can be asked.
    """
    connection = self._connection
    peers = [name for name in connection.worker_names
             if name != connection.name]
    if len(parts) < 2 or not peers:
      return None
    unreachable = connection.unreachable(peers)
    shares = parts_lib.assign_longest_first(
        parts, self._costs, [connection.name] + [
            name for name in peers if name not in unreachable])
    if len(shares) < 2:
      return None
    seed = self._setup.config.tf_random_seed
    request = EvaluationRequest(
        uuid.uuid4().hex, connection.job.text, self._generation,
        candidates.number, kind, os.path.basename(candidates.checkpoint),
        uuid.uuid4().int % 2**31 if seed is None else seed, tuple(included),
        shares)
    try:
      connection.wait_until_written(lambda: self._requests.ask(request))
      return self._answers(request)
    finally:
      # If the disk is full, the next request takes it back.
      with contextlib.suppress(tf_compat.v1.errors.OpError):
        self._requests.clear()

  def _answers(self, request):
    """Does the chief's share, and returns all answers."""
    pending = dict(request.shares)
    own = pending.pop(self._connection.name)
    logging.info(
        "Iteration %d: the chief evaluates %s, and %d workers the others.",
        request.iteration, messages.list_names(own), len(pending))
    answers = [evaluated(self._setup, request, own, is_first=True)]
    wait = self._connection.wait("see what these workers print")
    begin_time = time.monotonic() + _BEGIN_SECS
    look_time = 0.
    while True:
      left = self._take_answers(request, pending, answers)
      if pending and time.monotonic() - look_time >= _LOOK_SECS:
        look_time = time.monotonic()
        left.update(self._idle(request, set(pending).difference(left),
                               look_time >= begin_time))
      if pending and not left:
        try:
          wait.pause(max(_POLL_SECS, len(pending) / _FILES_A_SEC),
                     lambda: self._message(pending))
        except waiting.WaitTimeoutError:
          left = dict.fromkeys(pending, "has not answered in time")
      if left:
        answers.append(self._evaluated_instead(request, left, pending))
      if not pending:
        wait.done()
        return answers

  def _take_answers(self, request, pending, answers):
    """Moves new answers to `answers`; returns dict from task to error."""
    failed = {}
    for name in list(pending):
      answer = self._requests.answer(request, name)
      if answer is None or not answer.is_done:
        continue
      if answer.error:
        failed[name] = f"failed: {answer.error}"
      elif request.kind == EvaluationKind.VALUES and not (
          candidates_lib.Comparison(*answers[0]).may_be_compared_with(
              candidates_lib.Comparison(*answer.content))):
        failed[name] = ("has another metric_name, or other data in "
                        "evaluator.input_fn: start all tasks with the same")
      else:
        answers.append(answer.content)
        del pending[name]
    return failed

  def _idle(self, request, names, is_late):
    """Returns dict from each idle worker to the reason."""
    connection = self._connection
    idle = dict.fromkeys(connection.unreachable(names), "does not answer")
    if is_late:
      idle.update(
          (name, "has not begun") for name in names.difference(idle)
          if self._requests.answer(request, name) is None)
    return idle

  def _evaluated_instead(self, request, left, pending):
    """Does the shares in `left`, and removes these tasks from `pending`."""
    for name, why in sorted(left.items()):
      logging.warning(
          "Iteration %d: the chief evaluates %s itself, because %s (%s) %s.",
          request.iteration, messages.list_names(pending[name]), name,
          self._connection.address(name), why)
    return evaluated(self._setup, request, [
        builder for name in left for builder in pending.pop(name)])

  def _message(self, pending):
    """Returns the workers and the parts that the chief waits for."""
    return "{} to evaluate {}".format(
        messages.list_names(
            f"{name} ({self._connection.address(name)})" for name in pending),
        messages.list_names(
            name for share in pending.values() for name in share))
