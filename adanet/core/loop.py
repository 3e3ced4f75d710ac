# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The training loop of one iteration: a session and handles, no graph."""

import enum
import math
import time
import typing

from adanet import tf_compat
from adanet.core import events
from adanet.core import hooks as hooks_lib
from adanet.core import pace as pace_lib
from adanet.core import saving
from adanet.core import selection
from adanet.core import train_ops
from adanet.core import training_summaries

_PROGRESS_SECS = .5  # Between two events of progress.


class Ending(enum.Enum):
  """Why a loop ended."""
  ITERATION_OVER = "the iteration is over"
  MAX_STEPS = "it reached the number of steps that were asked for"
  INPUT_ENDED = "the input ended"
  STOP_ASKED = "a hook or a saving listener asked for a stop"
  SIGNAL = "a signal asked for a stop"


class Limits(typing.NamedTuple):
  """When training ends.

  Attributes:
    iteration_steps: int, how often a subnetwork or ensemble is trained in an
      iteration; None for as long as there is input.
    global_step: int, the global step at which training ends, or None.
  """
  iteration_steps: typing.Optional[int]
  global_step: typing.Optional[int]


def _wait_for_nobody(steps):
  """Is `Surroundings.wait_for` of a task that is alone."""
  raise AssertionError("nobody trains {}".format(", ".join(steps)))


class Surroundings(typing.NamedTuple):
  """What a loop has to do with the rest of the job.

  Attributes:
    report: called with each event.
    mark_stopped: called with a name, a reason and how often that one was
      trained; notes for a restart that it trains no further.
    asked_to_stop: returns whether a signal asked for a stop.
    wait_for: called again and again while there is nothing to do until others
      have trained, with the steps of their subnetworks. It sleeps, and returns
      a dict from the names of those that train no further to the reason.
    untrained: the names of subnetworks that no task trains.
  """
  report: events.Report
  mark_stopped: typing.Callable[[str, str, int], None]
  asked_to_stop: typing.Callable[[], bool] = lambda: False
  wait_for: typing.Callable[[typing.Dict[str, int]], typing.Dict[
      str, str]] = _wait_for_nobody
  untrained: typing.Tuple[str, ...] = ()


class Loop(object):
  """Trains one iteration, or a worker's share of it.

  Attributes:
    global_step: int.
    steps: dict from a name to how often that one was trained.
    losses: dict from a name to the loss of its last step.
    averages: dict from an ensemble's name to its moving average, as of the last
      step; empty for one candidate alone, whose average decides nothing.
    trained: dict from a name to how many of its steps were taken here.
  """

  def __init__(self, number: int, ops: train_ops.TrainOps, limits: Limits,
               hooks: hooks_lib.HookRunner, saver: saving.Saver,
               summaries: training_summaries.TrainingSummaries,
               surroundings: Surroundings):
    """Takes what an iteration is trained with.

    Args:
      number: int, the iteration's.
      ops: `TrainOps`.
      limits: `Limits`.
      hooks: `HookRunner`, with the hooks of the user and of all trainees.
      saver: `Saver`.
      summaries: `TrainingSummaries`.
      surroundings: `Surroundings`.
    """
    self._number = number
    self._ops = ops
    self._limits = limits
    self._hooks = hooks
    self._saver = saver
    self._summaries = summaries
    self._surroundings = surroundings
    self._pace = pace_lib.Pace(limits.iteration_steps, surroundings.untrained)
    self._active = dict(ops.trainees)
    self._diverged: typing.Set[str] = set()
    # What a step fetches of those that train, empty until it is known; and its
    # compiled calls: without summaries, and with them.
    self._fetches: typing.Dict[str, typing.Any] = {}
    self._calls: typing.Dict[bool, typing.Callable[[], typing.Any]] = {}
    self._set_global_step: typing.Any = None
    self._observe: typing.Any = None
    self.global_step = 0
    self.steps: typing.Dict[str, int] = {}
    self.losses: typing.Dict[str, float] = {}
    self.averages: typing.Dict[str, float] = {}
    self.trained = {name: 0 for name in ops.trainees}

  def _stop(self, name, reason, **what):
    """Ends the training of a subnetwork or ensemble.

    Args:
      name: str, its name.
      reason: str, why.
      **what: more attributes of `events.Stopped`.
    """
    if self._active.pop(name, None) is None:
      return
    self._fetches = {}
    self._hooks.stops.setdefault(name, reason)
    self._surroundings.mark_stopped(name, reason, self.steps.get(name, 0))
    self._surroundings.report(events.Stopped(self._number, name, reason, **what))

  def _finished(self, steps):
    """Returns the names whose steps are at the limit, of pairs of both."""
    limit = self._limits.iteration_steps
    return [name for name, step in steps if limit is not None and step >= limit]

  def _stop_finished(self):
    for name in self._finished(
        [(name, self.steps[name]) for name in self._active]):
      self._stop(name, "Training complete after {} steps.".format(
          self.steps[name]), is_complete=True)

  def _stop_diverged(self, losses):
    """Stops those whose loss is NaN; fails if no ensemble is left."""
    names = [name for name, loss in losses.items() if math.isnan(loss)]
    if not names:
      return
    for name in names:
      self._diverged.add(name)
      self._stop(name, "Its loss is NaN after {} steps.".format(
          self.steps[name]), is_nan=True)
    candidates = self._ops.averages
    if candidates and all(
        name in self._diverged or math.isnan(self.averages.get(name, 0.))
        for name in candidates):
      raise selection.AllNaNError(
          "iteration {}: the loss of every ensemble is NaN: {}. Lower the "
          "learning rate, or check the data for NaN.".format(
              self._number, ", ".join(sorted(candidates))))

  def _may_train(self):
    """Returns whether those that still train here may take a step now."""
    return bool(self._active) and (not self._ops.observed or all(
        self._pace.allows(self.steps[name]) for name in self._active))

  def _is_over(self):
    if self._pace.unfinished or any(
        t.is_subnetwork for t in self._active.values()):
      return False
    # Ensembles end with the subnetworks that are trained beside them.
    return not self._may_train() or any(
        t.is_subnetwork for t in self._ops.trainees.values())

  def _observed(self):
    """Returns what to fetch of the subnetworks that others train."""
    if self._observe is None:
      self._observe = self._ops.observe() if self._ops.observed else []
    return self._observe

  def _call(self, session, summaries):
    """Returns the call of a step without hooks, compiled once."""
    key = bool(summaries)
    if key not in self._calls:
      self._calls[key] = session.make_callable(dict(
          self._fetches, summaries=summaries, observed=self._observed(),
          global_step=self._set_global_step))
    return self._calls[key]

  def _run(self, session):
    """Runs one step and returns its values."""
    if not self._fetches:
      self._fetches = self._ops.fetches(self._active)
      # Hooks that fetch the global step get the one before the step, as
      # always. Without hooks one run does all.
      self._set_global_step = self._ops.set_global_step(
          [] if self._hooks else self._active)
      self._calls = {}
    summaries = self._summaries.fetches(self.global_step)
    if not self._hooks:
      return self._call(session, summaries)()

    def set_global_step(values):
      values["global_step"] = session.run(self._set_global_step)
      return self._finished(zip(self._active, values["steps"]))

    return self._hooks.run(
        session, dict(self._fetches, summaries=summaries,
                      observed=self._observed()), set_global_step)

  def _take_observed(self, steps):
    """Takes over the steps of the subnetworks that others train."""
    self._pace.update(dict(zip(self._ops.observed, map(int, steps))))
    self.steps.update(self._pace.steps)

  def _take(self, values):
    """Takes over the values of a step."""
    before = self.global_step
    self.global_step = int(values["global_step"])
    losses = dict(zip(self._active, values["losses"].tolist()))
    self.steps.update(zip(self._active, values["steps"].tolist()))
    self.losses.update(losses)
    self.averages.update(zip(self._ops.averages, values["averages"]))
    for name in self._active:
      self.trained[name] += 1
    self._take_observed(values["observed"])
    if values["summaries"]:
      self._summaries.write(values["summaries"], self.averages, before)
    for name, reason in list(self._hooks.stops.items()):
      if name is not None:
        self._stop(name, reason)
    self._stop_diverged(losses)
    self._stop_finished()

  def _look(self, session):
    """Reads how far others are."""
    if self._set_global_step is None:
      self._set_global_step = self._ops.set_global_step([])
    steps, global_step = session.run((self._observed(), self._set_global_step))
    self._take_observed(steps)
    self.global_step = int(global_step)

  def _await_others(self, session):
    """Lets others train, and reads how far they are."""
    for name in self._surroundings.wait_for(self._pace.unfinished):
      self._pace.stop(name)
    self._look(session)

  def progress(self, rate: typing.Optional[float] = None) -> events.Progress:
    """Returns how far the iteration is.

    Args:
      rate: float, global steps a second; None if not known.
    """
    left = None
    if self._limits.iteration_steps is not None and rate:
      left = max([self._limits.iteration_steps - self.steps[name]
                  for name in list(self._active) + list(
                      self._pace.unfinished)] or [0]) / rate
    return events.Progress(
        self._number, self.global_step, dict(self.steps),
        {name: float(loss) for name, loss in self.losses.items()}, rate, left)

  def _report_progress(self, started, first_step):
    seconds = time.time() - started
    rate = (self.global_step - first_step) / seconds if seconds > .1 else None
    self._surroundings.report(self.progress(rate))

  def start(self, session: typing.Any,
            stopped: typing.Callable[[typing.Dict[str, int]], typing.Dict[
                str, str]]) -> None:
    """Reads how far the iteration is. Call it again for a new session.

    Args:
      session: `Session`, with all variables ready.
      stopped: function from the steps of all to a dict from names that train
        no further to the reason.
    """
    self._fetches = {}
    self.steps = {name: int(step) for name, step in session.run({
        name: t.step for name, t in self._ops.trainees.items()}).items()}
    self._look(session)
    for name, reason in stopped(self.steps).items():
      self._pace.stop(name)
      if self._active.pop(name, None) is not None:
        self._hooks.stops.setdefault(name, reason)
    self._stop_finished()

  def _ending(self, session):
    """Returns why training ends after a step; None if it goes on."""
    if self._saver.is_due(self.global_step):
      if self._saver.save(session, self.global_step):
        return Ending.STOP_ASKED
    if None in self._hooks.stops:
      return Ending.STOP_ASKED
    if self._surroundings.asked_to_stop():
      return Ending.SIGNAL
    if (self._limits.global_step is not None and
        self.global_step >= self._limits.global_step and
        not (self._ops.observed and self._may_train())):
      return Ending.MAX_STEPS  # And no ensemble lags behind.
    return None

  def run(self, session: typing.Any) -> Ending:
    """Trains until the iteration is over, or training is.

    Args:
      session: `Session`.

    Raises:
      selection.AllNaNError: no ensemble has a loss that is a number.
    """
    started = time.time()
    shown = 0.  # The first step is reported at once.
    first_step = self.global_step
    ending = None
    input_ended = False
    while ending is None:
      if self._is_over():
        ending = Ending.ITERATION_OVER
        break
      try:
        if self._may_train():
          self._take(self._run(session))
        else:
          self._await_others(session)
      except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
        input_ended = True
        self._active = {}
      ending = self._ending(session)
      now = time.time()
      if now - shown >= _PROGRESS_SECS:
        self._report_progress(started, first_step)
        shown = now
    self._report_progress(started, first_step)
    if input_ended and ending == Ending.ITERATION_OVER:
      return Ending.INPUT_ENDED
    return ending
