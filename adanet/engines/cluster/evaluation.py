# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""At the end of an iteration, all workers evaluate its candidates.

The chief asks up to three times: for the values of the candidates, for the
logits to which ensembles are fitted, and for reports.

1. It divides the candidates among itself and the workers that answer, and
   writes a request, which says who takes which.
2. Each of them builds its part in its own process, with the values of the last
   checkpoint. The random ops of all have one seed, so all see the same batches.
3. The chief waits for the workers. It does the share of a worker that does not
   answer on its address, that failed, that does not begin in time, or whose
   values are of another metric or of other examples than its own.
4. It takes the request back. A worker that is late stops then.

If there is only one part, or no worker, nothing is asked. A chief that was
lost meanwhile asks again. A worker that was lost joins its generation again,
which has nothing left to train, and then answers.
"""

import contextlib
import os
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence
import uuid

from adanet import log as logging
from adanet import subnetwork
from adanet import tf_compat
from adanet import waiting
from adanet.core import iteration as iteration_lib
from adanet.core import parts as parts_lib
from adanet.engines import local
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import evaluation_requests as requests_lib
from adanet.engines.cluster import peers as peers_lib
from adanet.engines.cluster import results
from adanet.tf_compat import error_text
from adanet.tf_compat import files
from adanet.training import candidates as candidates_lib
from adanet.training import model as model_lib
from adanet.training import recorded_logits as logits_lib
from adanet.training import trained as trained_lib

_LOOK_SECS = 1.  # Between two looks at the other tasks.
_POLL_SECS = .1  # Between two looks for answers, at least.
_FILES_A_SEC = 200.  # How many answers the chief looks for.
_BEGIN_SECS = 10.  # How much later than the chief's end a worker may begin.

_Kind = requests_lib.Kind
_Costs = Sequence[Optional[float]]


class _RequestCancelled(Exception):
  """The chief does not wait for an answer any more."""


def _evaluated(model, request, share, watched=lambda session: session,
               with_previous=False):
  """Returns the answer of a request about some builders and their ensembles.

  It is JSON.

  Args:
    model: `Model`.
    request: `EvaluationRequest`.
    share: the names of the builders.
    watched: see `candidates.compared`.
    with_previous: see `recorded_logits.record`.
  """
  model = model._replace(part=tuple(share), config=model.config.replace(
      tf_random_seed=request.seed))
  number = request.iteration
  checkpoint = os.path.join(model.model_dir.path, request.checkpoint)
  if request.kind == _Kind.VALUES:
    return list(candidates_lib.compared(model, number, checkpoint, watched))
  if request.kind == _Kind.LOGITS:
    name = uuid.uuid4().hex  # The model_dir may have another path elsewhere.
    logits_lib.record(
        model, number, checkpoint, os.path.join(_logits_folder(model), name),
        with_previous, watched)
    return name
  return [results.to_json(report._asdict())
          for report in candidates_lib.reports(
              model, number, checkpoint, request.included, watched)]


def _logits_folder(model):
  return os.path.join(model.model_dir.path, "cluster", "logits")


def _may_compare(own, other):
  """Returns whether two answers are values of the same metric and data."""
  return candidates_lib.Comparison(*own).may_be_compared_with(
      candidates_lib.Comparison(*other))


# The chief's.


class SharedEvaluation:
  """The chief and the workers, which evaluate one iteration together.

  Without workers, the chief evaluates it as one process does.
  """

  def __init__(self, model: model_lib.Model,
               connection: connection_lib.Connection,
               iteration: iteration_lib.Iteration, costs: _Costs,
               generation: int):
    """Asks for nothing yet.

    Args:
      model: `Model`.
      connection: `Connection` of the chief.
      iteration: `Iteration` with all candidates.
      costs: of each builder, in any unit; None for an unknown cost.
      generation: int, that of its variables.
    """
    self._model = model
    self._local = local.LocalEngine(model)
    self._connection = connection
    self._builder_names = iteration.builder_names
    self._planned = iteration.planned
    self._costs = dict(zip(iteration.builder_names, costs))
    self._generation = generation

  def values(self, candidates: trained_lib.Candidates) -> Dict[str, float]:
    """See `Engine`."""
    compared = {name for ensemble in self._planned
                if ensemble.fitted_by is None
                for name in ensemble.builder_names}
    answers = self._ask(candidates, _Kind.VALUES, [
        part for part in self._parts(self._model.rules.evaluator)
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
    """See `Engine`."""
    names = self._ask(candidates, _Kind.LOGITS, [
        (name,) for name in self._builder_names])
    if names is None:
      with self._local.logits(candidates) as logits:
        yield logits
      return
    folder = _logits_folder(self._model)
    try:
      yield logits_lib.merged([
          logits_lib.read(os.path.join(folder, name)) for name in names])
    finally:
      files.remove_folder(folder)  # Only one request is made at a time.

  def reports(self, candidates: trained_lib.Candidates,
              included: Sequence[str]) -> List[Any]:
    """See `Engine`."""
    answers = self._ask(
        candidates, _Kind.REPORTS,
        self._parts(self._model.report_materializer), included)
    if answers is None:
      return self._local.reports(candidates, included)
    return candidates_lib.merged_reports(
        [[subnetwork.MaterializedReport(**results.from_json(report))
          for report in answer] for answer in answers], self._builder_names)

  def _parts(self, asked):
    """Returns the parts of the iteration; none if all are evaluated at once."""
    if candidates_lib.needs_all(asked):
      return []
    return parts_lib.divide(self._builder_names, self._planned)

  def _ask(self, candidates, kind, parts, included=()):
    """Asks all of some parts; returns all answers, the chief's first.

    It returns None if no worker can be asked.
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
    seed = self._model.config.tf_random_seed
    request = requests_lib.EvaluationRequest(
        uuid.uuid4().hex, connection.job.text, self._generation,
        candidates.number, kind, os.path.basename(candidates.checkpoint),
        uuid.uuid4().int % 2**31 if seed is None else seed, tuple(included),
        shares)
    requests = connection.evaluation_requests
    try:
      connection.wait_until_written(lambda: requests.ask(request))
      return self._answers(request)
    finally:
      # If the disk is full, the next request takes it back.
      with contextlib.suppress(tf_compat.v1.errors.OpError):
        requests.clear()

  def _answers(self, request):
    """Does the chief's share, and returns the answers of all."""
    pending = dict(request.shares)
    own = pending.pop(self._connection.name)
    logging.info(
        "Iteration %d: the chief evaluates %s, and %d workers the others.",
        request.iteration, peers_lib.first_names(own), len(pending))
    answers = [_evaluated(self._model, request, own, with_previous=True)]
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
      answer = self._connection.evaluation_requests.answer(request, name)
      if answer is None or not answer.is_done:
        continue
      if answer.error:
        failed[name] = f"failed: {answer.error}"
      elif request.kind == _Kind.VALUES and not _may_compare(
          answers[0], answer.content):
        failed[name] = ("has another metric_name, or other data in "
                        "evaluator.input_fn: start all tasks with the same")
      else:
        answers.append(answer.content)
        del pending[name]
    return failed

  def _idle(self, request, names, is_late):
    """Returns dict from each worker that does nothing to the reason."""
    connection = self._connection
    idle = dict.fromkeys(connection.unreachable(names), "does not answer")
    if is_late:
      idle.update(
          (name, "has not begun") for name in names.difference(idle)
          if connection.evaluation_requests.answer(request, name) is None)
    return idle

  def _evaluated_instead(self, request, left, pending):
    """Does the shares that workers leave, and takes them from `pending`."""
    for name, why in sorted(left.items()):
      logging.warning(
          "Iteration %d: the chief evaluates %s itself, because %s (%s) %s.",
          request.iteration, peers_lib.first_names(pending[name]), name,
          self._connection.address(name), why)
    return _evaluated(self._model, request, [
        builder for name in left for builder in pending.pop(name)])

  def _message(self, pending):
    """Returns which workers and which parts the chief waits for."""
    return "{} to evaluate {}".format(
        peers_lib.first_names([
            f"{name} ({self._connection.address(name)})" for name in pending]),
        peers_lib.first_names([
            name for share in pending.values() for name in share]))


# A worker's.


class _Watched:
  """A session that raises `_RequestCancelled` if the chief waits no more."""

  def __init__(self, session, check):
    self._session = session
    self._check = check

  def __getattr__(self, name):
    return getattr(self._session, name)

  def run(self, *args, **kwargs):
    self._check()
    return self._session.run(*args, **kwargs)


class EvaluationWorker:
  """A worker that waits, and evaluates the parts that the chief asks for."""

  def __init__(self, model: model_lib.Model,
               connection: connection_lib.Connection, generation: int):
    """Reads nothing yet.

    Args:
      model: `Model`.
      connection: `Connection` of this task.
      generation: int, the one that it was in last; 0 for none.
    """
    self._model = model
    self._connection = connection
    self._generation = generation
    self._look_time = 0.
    self._last_id = ""

  def answer_if_asked(self) -> bool:
    """Looks once a second for a request, and answers it.

    Returns:
      Whether there was one for this task.
    """
    if (not self._generation or  # The chief may not have made the file yet.
        time.monotonic() - self._look_time < _LOOK_SECS):
      return False
    self._look_time = time.monotonic()
    request = self._connection.evaluation_requests.read()
    if request is None or request.id == self._last_id or not (
        request.job == self._connection.job.text and
        request.generation == self._generation and
        self._connection.name in request.shares):
      return False
    self._last_id = request.id
    self._answer(request)
    return True

  def _answer(self, request):
    """Answers a request, unless it is taken back."""
    connection = self._connection
    requests = connection.evaluation_requests
    share = request.shares[connection.name]
    logging.info("Iteration %d: %s evaluates %s.", request.iteration,
                 connection.name, peers_lib.first_names(share))

    def write(answer):
      connection.wait_until_written(
          lambda: requests.write(request, connection.name, answer))

    def check():
      if time.monotonic() - self._look_time >= _LOOK_SECS:
        self._look_time = time.monotonic()
        if not requests.is_asked(request):
          raise _RequestCancelled()

    write(requests_lib.Answer(is_done=False))
    try:
      answer = requests_lib.Answer(_evaluated(
          self._model, request, share,
          lambda session: _Watched(session, check)))
    except _RequestCancelled:
      logging.info("%s ends this: the chief does not wait for it any more.",
                   connection.name)
      return
    except Exception as error:  # pylint: disable=broad-except
      logging.warning("%s cannot evaluate %s: %s: %s", connection.name,
                      peers_lib.first_names(share), type(error).__name__,
                      error)
      answer = requests_lib.Answer(
          error=f"{type(error).__name__}: {error_text.first_line(error)}")
    write(answer)
