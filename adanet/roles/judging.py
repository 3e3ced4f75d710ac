# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""At the end of an iteration, all workers judge its candidates.

The chief asks twice at most: for the metric of an evaluator, and for reports.

1. It divides the candidates among itself and the workers that answer, and
   writes a question, which says who takes which.
2. Each of them builds its part in its own process, with the values of the last
   checkpoint. The random ops of all have one seed, so all see the same batches.
3. The chief waits for the others, and does itself what one leaves: that does
   not answer on its address, that failed, or that does not begin in time.
4. It takes the question back. A worker that is late stops then.

If there is only one part, or nobody else, nothing is asked. A chief that was
lost meanwhile asks again. A worker that was lost joins its generation again,
which has nothing left to train, and then answers.
"""

import contextlib
import os
import time
from typing import Optional, Sequence
import uuid

from adanet import log as logging
from adanet import subnetwork
from adanet import tf_compat
from adanet import waiting
from adanet.cluster import connection as connection_lib
from adanet.cluster import questions as questions_lib
from adanet.core import iteration as iteration_lib
from adanet.core import parts as parts_lib
from adanet.roles import others as others_lib
from adanet.roles import results
from adanet.tf_compat import files
from adanet.training import choosing
from adanet.training import library as library_lib
from adanet.training import model as model_lib
from adanet.training import trainer

_LOOK_SECS = 1.  # Between two looks at what others do.
_POLL_SECS = .1  # Between two looks for answers, at least.
_FILES_A_SEC = 200.  # How many answers the chief looks for.
_BEGIN_SECS = 10.  # How much later than the chief's end a worker may begin.

_Kind = questions_lib.Kind
_Costs = Sequence[Optional[float]]


class _TakenBack(Exception):
  """The chief does not wait for an answer any more."""


def _libraries(model, question):
  """Returns the folder for all logits that a question asks for."""
  return os.path.join(model.model_dir.path, "cluster", "logits", question.id)


def _found(model, question, share, watched=lambda session: session,
           with_previous=False):
  """Returns what some builders and their ensembles are worth, as JSON.

  Args:
    model: `Model`.
    question: `Question`.
    share: the names of the builders.
    watched: see `choosing.evaluated`.
    with_previous: see `library.record`.
  """
  model = model._replace(part=tuple(share), config=model.config.replace(
      tf_random_seed=question.seed))
  number = question.iteration
  folder = os.path.join(_libraries(model, question), uuid.uuid4().hex)
  checkpoint = os.path.join(model.model_dir.path, question.checkpoint)
  if question.kind == _Kind.VALUES:
    values = choosing.evaluated(model, number, checkpoint, watched)
    return {name: float(value) for name, value in values.items()}
  if question.kind == _Kind.LOGITS:
    library_lib.record(model, number, checkpoint, folder, with_previous, watched)
    return folder
  return [results.to_json(report._asdict())
          for report in choosing.materialized_reports(
              model, number, checkpoint, question.included, watched)]


# The chief's.


def judged_by_all(
    model: model_lib.Model, connection: connection_lib.Connection,
    iteration: iteration_lib.Iteration, costs: _Costs,
    trained: trainer.Trained) -> trainer.Trained:
  """Returns what was trained, with values and reports that all workers find.

  Args:
    model: `Model`.
    connection: `Connection` of the chief.
    iteration: `Iteration` with all candidates.
    costs: of each builder, in any unit; None for what is not known.
    trained: what the chief alone would judge.
  """
  panel = _Judges(model, connection, iteration, costs, trained)
  if model.rules.evaluator:
    trained = trained._replace(contest=trained.contest._replace(
        values=panel.values, library=panel.library))
  return trained._replace(reports=panel.reports)


class _Judges:
  """The chief and the workers, as those who judge an iteration."""

  def __init__(self, model, connection, iteration, costs, trained):
    self._model = model
    self._connection = connection
    self._builder_names = iteration.builder_names
    self._planned = iteration.planned
    self._costs = dict(zip(iteration.builder_names, costs))
    self._trained = trained

  def values(self):
    """Returns what the candidates are compared by; see `Contest`."""
    compared = {name for ensemble in self._planned
                if ensemble.fitted_by is None
                for name in ensemble.builder_names}
    found = self._ask(_Kind.VALUES, [
        part for part in self._parts() if compared.issuperset(part)])
    if found is None:
      return self._trained.contest.values()
    values = {}
    for content in reversed(found):  # What many have is the chief's.
      values.update(content)
    return values

  @contextlib.contextmanager
  def library(self):
    """Yields the logits of all networks; see `Contest`."""
    found = self._ask(
        _Kind.LOGITS, [(name,) for name in self._builder_names])
    if found is None:
      with self._trained.contest.library() as library:
        yield library
      return
    try:
      yield library_lib.joined([library_lib.read(folder) for folder in found])
    finally:
      # Only one question is asked at a time.
      files.remove_folder(os.path.dirname(os.path.dirname(found[0])))

  def reports(self, included):
    """Returns all reports; see `Trained`."""
    found = self._ask(_Kind.REPORTS, self._parts(), included)
    if found is None:
      return self._trained.reports(included)
    return choosing.joined_reports(
        [[subnetwork.MaterializedReport(**results.from_json(report))
          for report in content] for content in found], self._builder_names)

  def _parts(self):
    """Returns the parts of the iteration."""
    return parts_lib.divide(self._builder_names, self._planned)

  def _ask(self, kind, parts, included=()):
    """Asks all of some parts; returns what each found, the chief first.

    It returns None if nobody else can be asked.
    """
    connection, trained = self._connection, self._trained
    others = [name for name in connection.worker_names
              if name != connection.name]
    if len(parts) < 2 or not others:
      return None
    silent = connection.silent(others)
    shares = parts_lib.deal(parts, self._costs, [connection.name] + [
        name for name in others if name not in silent])
    if len(shares) < 2:
      return None
    seed = self._model.config.tf_random_seed
    question = questions_lib.Question(
        uuid.uuid4().hex, connection.job.text, trained.generation,
        trained.contest.number, kind, os.path.basename(trained.checkpoint),
        uuid.uuid4().int % 2**31 if seed is None else seed, tuple(included),
        shares)
    try:
      connection.wait_until_written(lambda: connection.questions.ask(question))
      return self._answers(question)
    finally:
      # If the disk is full, the next question takes it back.
      with contextlib.suppress(tf_compat.v1.errors.OpError):
        connection.questions.clear()

  def _answers(self, question):
    """Does the chief's share, and returns the answers of all."""
    pending = dict(question.shares)
    own = pending.pop(self._connection.name)
    logging.info(
        "Iteration %d: the chief evaluates %s, and %d workers the others.",
        question.iteration, others_lib.first_names(own), len(pending))
    found = [_found(self._model, question, own, with_previous=True)]
    wait = self._connection.wait("see what these workers print")
    begin_time = time.monotonic() + _BEGIN_SECS
    look_time = 0.
    while True:
      left = self._take_answers(question, pending, found)
      if pending and time.monotonic() - look_time >= _LOOK_SECS:
        look_time = time.monotonic()
        left.update(self._idle(question, set(pending).difference(left),
                               look_time >= begin_time))
      if pending and not left:
        try:
          wait.pause(max(_POLL_SECS, len(pending) / _FILES_A_SEC),
                     lambda: self._message(pending))
        except waiting.WaitTimeoutError:
          left = dict.fromkeys(pending, "has not answered in time")
      if left:
        found.append(self._found_instead(question, left, pending))
      if not pending:
        wait.done()
        return found

  def _take_answers(self, question, pending, found):
    """Moves answers to `found`; returns dict from who failed to the reason."""
    failed = {}
    for name in list(pending):
      answer = self._connection.questions.answer(question, name)
      if answer is not None and answer.error:
        failed[name] = f"failed: {answer.error}"
      elif answer is not None and answer.is_done:
        found.append(answer.content)
        del pending[name]
    return failed

  def _idle(self, question, names, is_late):
    """Returns dict from each worker that does nothing to the reason."""
    found = dict.fromkeys(self._connection.silent(names), "does not answer")
    if is_late:
      found.update(
          (name, "has not begun") for name in names.difference(found)
          if self._connection.questions.answer(question, name) is None)
    return found

  def _found_instead(self, question, left, pending):
    """Does the shares that workers leave, and takes them from `pending`."""
    for name, why in sorted(left.items()):
      logging.warning(
          "Iteration %d: the chief evaluates %s itself, because %s (%s) %s.",
          question.iteration, others_lib.first_names(pending[name]), name,
          self._connection.address(name), why)
    return _found(self._model, question, [
        builder for name in left for builder in pending.pop(name)])

  def _message(self, pending):
    """Returns for whom the chief waits, and for what."""
    return "{} to evaluate {}".format(
        others_lib.first_names([
            f"{name} ({self._connection.address(name)})" for name in pending]),
        others_lib.first_names([
            name for share in pending.values() for name in share]))


# A worker's.


class _Watched:
  """A session that raises `_TakenBack` when nobody waits for its results."""

  def __init__(self, session, check):
    self._session = session
    self._check = check

  def __getattr__(self, name):
    return getattr(self._session, name)

  def run(self, *args, **kwargs):
    self._check()
    return self._session.run(*args, **kwargs)


class Judge:
  """A worker that waits, as one of those who judge an iteration."""

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
    """Looks once a second for a question, and answers it.

    Returns:
      Whether there was one for this task.
    """
    if (not self._generation or  # The chief may not have made the file yet.
        time.monotonic() - self._look_time < _LOOK_SECS):
      return False
    self._look_time = time.monotonic()
    question = self._connection.questions.read()
    if question is None or question.id == self._last_id or not (
        question.job == self._connection.job.text and
        question.generation == self._generation and
        self._connection.name in question.shares):
      return False
    self._last_id = question.id
    self._answer(question)
    return True

  def _answer(self, question):
    """Answers a question, unless it is taken back."""
    connection, questions = self._connection, self._connection.questions
    share = question.shares[connection.name]
    logging.info("Iteration %d: %s evaluates %s.", question.iteration,
                 connection.name, others_lib.first_names(share))

    def write(answer):
      connection.wait_until_written(
          lambda: questions.write(question, connection.name, answer))

    def check():
      if time.monotonic() - self._look_time >= _LOOK_SECS:
        self._look_time = time.monotonic()
        if not questions.is_asked(question):
          raise _TakenBack()

    write(questions_lib.Answer(is_done=False))
    try:
      answer = questions_lib.Answer(_found(
          self._model, question, share,
          lambda session: _Watched(session, check)))
    except _TakenBack:
      logging.info("%s ends this: the chief does not wait for it any more.",
                   connection.name)
      return
    except Exception as error:  # pylint: disable=broad-except
      logging.warning("%s cannot evaluate %s: %s: %s", connection.name,
                      others_lib.first_names(share), type(error).__name__,
                      error)
      answer = questions_lib.Answer(error=f"{type(error).__name__}: {error}")
    write(answer)
