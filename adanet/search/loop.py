# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A whole search, on one page, for any engine.

    where     the start: after the last decided iteration
    train     the engine trains an iteration
    evaluate  the engine evaluates the candidates
    choose    `winner` chooses the winner
    record    the needs of the next iteration, and the values of a report
    another?  whether the search has another iteration

Where each decision is made, for every engine:

    the iteration is over   `training/ending`: each network has all steps or was
                            stopped (NaN, a hook of the network), and the
                            ensembles have caught up
    the winner              `winner.choose`: the candidate of a replay, the only
                            possible candidate, or the best by the evaluator's
                            values or else the moving averages; see
                            `core/selection`
    another iteration       `SearchLoop._why_no_other`; at the start,
                            `_why_nothing_to_train`

`training/ending` decides why the training of an iteration ends. The `Loop` that
calls `training/ending` differs by engine:

    local      the only `Loop`
    executor   the `Loop` of each part. This module runs in `executor/driver`,
               and `ending.of_parts` combines the `Ending`s of the parts
    cluster    the `Loop` of the chief, where this module runs. The chief's
               ensembles wait for the networks of other tasks. A network whose
               workers have no further input counts as done. The `Loop` of a
               worker ends with the worker's share, and ends no iteration. The
               chief's `train` announces the next iteration to the workers.
               Parameter servers and the evaluator decide nothing

When an iteration is over, a winner is chosen, unless `max_steps` is reached,
too. After any other `Ending`, such as the end of the input, this call ends
without a winner, and a later call may continue. A signal raises
`KeyboardInterrupt` or `SystemExit`. If no candidate can win, `AllNaNError` is
raised.

After a decided iteration, `_why_no_other` says why the search has no further
iteration: `max_iterations`, `patience`, `max_seconds`. These reasons are
sentences and no `Ending`, because no engine needs to know them.
"""

import math
import time
from typing import Optional, Union

from adanet import log as logging
from adanet.core import events
from adanet.core import selection
from adanet.engines import engine as engine_lib
from adanet.progress import event_text
from adanet.progress import reporter
from adanet.search import search_files
from adanet.search import winner as winner_lib
from adanet.training import ending as ending_lib
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
from adanet.training import trainer
import numpy as np

_Ending = ending_lib.Ending
_Next = Union[trained_lib.Start, str]  # A start, or why there is none.


class SearchLoop:
  """The search of an engine. The methods are in the order of time."""

  def __init__(self, engine: engine_lib.Engine,
               files: Optional[search_files.SearchFiles] = None):
    """Reads nothing yet.

    Args:
      engine: `Engine`.
      files: `SearchFiles`; None for the engine's model_dir.
    """
    self._engine = engine
    self._files = files or search_files.SearchFiles(engine.setup.model_dir)
    self._model_dir = self._files.model_dir
    self._rules = engine.setup.rules
    self._training: trainer.Training

  def train(self, request: trainer.Request) -> None:
    """Trains until the search ends, or the steps, the time or the input do.

    Raises:
      selection.AllNaNError: no candidate can win.
      KeyboardInterrupt, SystemExit: for a signal, after everything is saved.
    """
    request = self._with_max_steps(request)
    over = self._why_nothing_to_train(request)
    if over:
      self._engine.skipped(request, over)
      return
    try:
      with self._engine.opened(request) as self._training:
        try:
          following: _Next = self._first_start()
          while isinstance(following, trained_lib.Start):
            following = self._end_iteration(self._engine.train(following))
        except (KeyboardInterrupt, SystemExit):
          self._engine.finished(engine_lib.SearchOutcome.STOPPED,
                                "the chief was asked to stop")
          raise
        self._engine.finished(engine_lib.SearchOutcome.OVER, str(following))
    except engine_lib.AlreadyOverError:
      logging.info("Skipped training: the job is over already.")

  # Where.

  def _with_max_steps(self, request):
    """Returns the request with `max_steps` in place of `steps`."""
    if request.steps is None:
      return request
    first = self._model_dir.global_step(self._model_dir.latest_checkpoint())
    return request._replace(steps=None, max_steps=first + request.steps)

  def _why_nothing_to_train(self, request: trainer.Request) -> str:
    """Returns why there is nothing to train, and logs the reason, or ""."""
    checkpoint = self._model_dir.latest_checkpoint()
    first = self._model_dir.global_step(checkpoint)
    number = self._model_dir.current_iteration(checkpoint)
    record = self._files.record_of(self._rules, number, checkpoint)
    is_last = self._is_last(request, number)
    over = ""
    if self._is_decided(number, checkpoint) or (record and not is_last):
      over = no_gain(self._rules, self._files, number)
    if not over and record and is_last:
      over = _reached(request)
      self._engine.compare_search(request, number, with_builders=True)
    else:
      is_done = request.max_steps is not None and (
          first >= request.max_steps and
          not self._model_dir.has_ensembles_behind(checkpoint))
      if not over and not is_done:
        return ""
      over = over or f"step {request.max_steps} is reached already"
      self._engine.compare_search(request, number, with_builders=False)
    reporter.log_or_print(logging.INFO, self._nothing_trained(first, over))
    return over

  def _is_decided(self, number, checkpoint):
    """Returns whether a next iteration can begin at a checkpoint.

    The last iteration of a search has a record only.
    """
    if checkpoint is None:
      return False
    won = self._model_dir.architecture(number)
    return won is not None and (
        won.global_step == self._model_dir.global_step(checkpoint))

  def _is_last(self, request, number):
    return (request.max_iterations is not None and
            number + 1 >= request.max_iterations)

  def _nothing_trained(self, global_step, over):
    """Returns the log line of a search without anything to train."""
    end = self._files.end()
    since = ""
    if end is not None and end.global_step == global_step:
      since = event_text.since(end.time)
    return (f"Nothing was trained: the search in model_dir "
            f"{self._model_dir.path!r} ended at step {global_step}{since}: "
            f"{over}. To train anew, also on other data, use another "
            "model_dir.")

  def _first_start(self) -> trained_lib.Start:
    """Returns where training goes on: after the last decided iteration."""
    checkpoint = self._model_dir.latest_checkpoint()
    number = self._model_dir.current_iteration(checkpoint)
    self._model_dir.remove_temporary_files()
    if not self._is_last(self._training.request, number) and (
        self._is_decided(number, checkpoint) or
        self._goes_on_from_record(number, checkpoint)):
      return self._start(number + 1, checkpoint, starts_iteration=True)
    return self._start(number, checkpoint, starts_iteration=False)

  def _goes_on_from_record(self, number, checkpoint):
    """Writes the missing architecture of a shorter search's last iteration.

    Returns:
      False if there is no record of the winner, or the next iteration needs
      reports, which are not in a record.
    """
    record = self._files.record_of(self._rules, number, checkpoint)
    if record is None or self._engine.setup.report_materializer:
      return False
    won = search_files.recorded_architecture(record)
    self._retry_until_space(
        lambda: self._model_dir.write_architecture(number, won))
    return True

  def _start(self, number, checkpoint, starts_iteration):
    return trained_lib.Start(
        number, checkpoint, starts_iteration,
        preset=winner_lib.preset(self._rules, number))

  # Evaluate, choose, record.

  def _end_iteration(self, trained: trained_lib.TrainedIteration) -> _Next:
    """Decides a complete iteration; an incomplete iteration has no winner.

    Returns:
      The next `Start`, or why training ends.
    """
    ending = ending_lib.of_search(
        trained.ending, trained.global_step, self._training.request.max_steps)
    if ending in (_Ending.MAX_STEPS, _Ending.TIME_IS_UP):
      self._tell_undecided(trained)
    if ending != _Ending.ITERATION_OVER:
      return self._end_search(trained, ending.value)
    checkpoint = self._decide(trained)
    reason = self._why_no_other(trained)
    if reason:
      return self._end_search(trained, reason)
    return self._start(trained.number + 1, checkpoint, starts_iteration=True)

  def _decide(self, trained):
    """Chooses the winner; writes the record, and what the next iteration needs.

    Returns:
      The prefix of the checkpoint with all of the winner.
    """
    self._warn_of_nan(trained)
    winner = winner_lib.choose(self._rules, trained.candidates, self._engine)
    ended = events.IterationEnded(
        trained.number, winner.choice, self._seconds(trained),
        self._rules.metric_name, winner.fits.get(winner.name))
    checkpoint = trained.candidates.checkpoint
    if winner.variables:
      # A decided ensemble must not look as if it lagged behind its networks.
      furthest = np.int64(max(trained.progress.steps.values(), default=0))
      checkpoint = self._engine.saved_with(self._training, checkpoint, {
          name: furthest if name.endswith("/step") else value
          for name, value in winner.variables.items()})
    self._training.report(ended)
    self._files.write_iteration(
        ended, winner, trained, checkpoint, self._weights(trained, winner))
    if not self._is_last(self._training.request, trained.number):
      self._prepare_next(trained, winner)
    return checkpoint

  def _warn_of_nan(self, trained):
    """Names candidates with variables of NaN that the loss does not show."""
    for name, variable in sorted(
        winner_lib.candidates_with_nan(trained.candidates).items()):
      if not math.isnan(trained.candidates.averages.get(name, 0.)):
        logging.warning(
            "Iteration %d: %s counts as NaN, because its variable %r has NaN "
            "or infinity. Check the data for NaN, or lower the learning rate.",
            trained.number, name, variable)

  def _seconds(self, trained):
    """Returns the time of an iteration, the first time if decided again."""
    known = self._files.iteration(trained.number)
    if known is not None and known.global_step == trained.global_step:
      return known.seconds or trained.seconds
    return trained.seconds

  def _weights(self, trained, winner):
    """Returns the mixture weights of all candidates with weights."""
    weights = dict(trained.weights, **{
        name: list(fit.members.values()) for name, fit in winner.fits.items()})
    before = self._files.iteration(trained.number - 1)
    if before is not None and before.winning is not None:
      weights.setdefault(before.winner, list(before.winning.weights))
    return weights

  def _prepare_next(self, trained, winner):
    """Writes the architecture of the winner, and the reports."""
    setup, number, reports = self._engine.setup, trained.number, None
    if setup.report_materializer:
      reports = self._engine.reports(
          trained.candidates, winner.architecture.subnetworks_of(number))

    def write():
      if reports is not None:
        assert setup.report_store is not None
        setup.report_store.write(number, reports)
      self._model_dir.write_architecture(number, winner.architecture._replace(
          global_step=trained.global_step))

    self._retry_until_space(write)

  def _retry_until_space(self, write):
    self._training.request.retry_until_space(write, self._model_dir.path)

  def _tell_undecided(self, trained):
    """Reports which ensemble predicts while the iteration has no winner.

    Before the first training step of an ensemble, no ensemble predicts.
    """
    choice, candidates = None, trained.candidates
    averages, names = candidates.averages, candidates.architectures
    if averages and not any(value < math.inf for value in averages.values()):
      return
    if not self._rules.evaluator:  # Its values are not known.
      rules = self._rules._replace(force_grow=False)
      has_trained = {name: names[name] for name in names
                     if averages.get(name) != math.inf}
      if winner_lib.preset(rules, trained.number).replayed is not None:
        has_trained = names  # A replay counts all candidates.
      choice = winner_lib.choose(
          rules, candidates._replace(architectures=has_trained),
          self._engine).choice
      if len(has_trained) == 1 < len(names):
        choice = selection.preset(
            list(has_trained), 0, "it is the only one that has trained")
    event = events.IterationUndecided(
        trained.number, trained.global_step, choice, self._rules.metric_name,
        tuple(name for name, steps in trained.progress.steps.items()
              if not steps and name not in names))
    self._training.report(event)
    self._files.write_undecided(event)

  # Another iteration?

  def _why_no_other(self, trained):
    """Returns why no iteration follows a decided iteration, or ""."""
    request, number = self._training.request, trained.number
    if self._is_last(request, number):
      diverged = ("all subnetworks of the last iteration diverged, and "
                  if _has_diverged(trained) else "")
      return diverged + _reached(request)
    if trained.is_stop_asked:
      return _Ending.STOP_ASKED.value
    return (no_gain(self._rules, self._files, number) or
            no_time(request, trained.seconds))

  def _end_search(self, trained, reason):
    """Writes, reports and returns why the search ends."""
    # Another `train` begins its input from the start, as AdaNet's does.
    self._model_dir.forget_input_positions()
    self._files.write_end(trained.global_step, reason)
    self._training.report(events.TrainingEnded(trained.global_step, reason))
    return reason


def _reached(request):
  """Returns why no iteration follows the last iteration."""
  return f"it reached max_iterations={request.max_iterations}"


def _has_diverged(trained):
  """Returns whether the last loss of all new subnetworks is NaN."""
  losses = [trained.progress.losses.get(name, 0.)
            for name in trained.progress.steps
            if name not in trained.candidates.architectures]
  return bool(losses) and all(map(math.isnan, losses))


def no_gain(rules: setup_lib.Rules, files: search_files.SearchFiles,
            number: int) -> str:
  """Returns why no iteration follows `number`, by `patience`, or ""."""
  best, since = None, 0
  for t in range(number + 1):
    record = files.iteration(t)
    if record is None or record.winning is None or (
        record.metric_name != rules.metric_name):  # By another evaluator.
      continue
    value = record.winning.value
    if value is None or math.isnan(value):
      continue
    if best is None or winner_lib.is_improvement(rules, value, best):
      best, since = value, 0
    else:
      since += 1
  if rules.patience is None or since < rules.patience:
    return ""
  winners = "winner is" if since == 1 else f"{since} winners are"
  return (f"patience={rules.patience}: the last {winners} no better than "
          f"{best:.4g} ({rules.metric_name})")


def no_time(request: trainer.Request, seconds: float) -> str:
  """Returns why the next iteration would end too late, or "".

  The estimate of the next iteration's time is `seconds`, that of the last.
  """
  if request.deadline is None or time.time() + seconds <= request.deadline:
    return ""
  return (f"max_seconds={request.max_seconds:g}: "
          f"{max(0., request.deadline - time.time()):.1f} s are left, and the "
          f"last iteration took {seconds:.1f} s")
