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


class Limits(typing.NamedTuple):
  """When training ends.

  Attributes:
    iteration_steps: int, how often a subnetwork or ensemble is trained in an
      iteration; None for as long as there is input.
    global_step: int, the global step at which training ends, or None.
  """
  iteration_steps: typing.Optional[int]
  global_step: typing.Optional[int]


class Loop(object):
  """Trains one iteration.

  Attributes:
    global_step: int.
    steps: dict from a name to how often that one was trained.
    losses: dict from a name to the loss of its last step.
    averages: dict from an ensemble's name to its moving average, as of the last
      step; empty for one candidate alone, whose average decides nothing.
  """

  def __init__(self, number: int, ops: train_ops.TrainOps, limits: Limits,
               hooks: hooks_lib.HookRunner, saver: saving.CheckpointSaver,
               summaries: training_summaries.TrainingSummaries,
               mark_stopped: typing.Callable[[str, str], None],
               report: events.Report):
    """Takes what an iteration is trained with.

    Args:
      number: int, the iteration's.
      ops: `TrainOps`.
      limits: `Limits`.
      hooks: `HookRunner`, with the hooks of the user and of all trainees.
      saver: `CheckpointSaver`.
      summaries: `TrainingSummaries`.
      mark_stopped: notes for a restart that a name trains no further, and why.
      report: called with each event.
    """
    self._number = number
    self._ops = ops
    self._limits = limits
    self._hooks = hooks
    self._saver = saver
    self._summaries = summaries
    self._mark_stopped = mark_stopped
    self._report = report
    self._active = dict(ops.trainees)
    self._diverged: typing.Set[str] = set()
    # What a step fetches of those that train, empty until it is known; and its
    # compiled calls: without summaries, and with them.
    self._fetches: typing.Dict[str, typing.Any] = {}
    self._calls: typing.Dict[bool, typing.Callable[[], typing.Any]] = {}
    self._set_global_step: typing.Any = None
    self.global_step = 0
    self.steps: typing.Dict[str, int] = {}
    self.losses: typing.Dict[str, float] = {}
    self.averages: typing.Dict[str, float] = {}

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
    self._mark_stopped(name, reason)
    self._report(events.Stopped(self._number, name, reason, **what))

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

  def _is_over(self):
    return not any(t.is_subnetwork for t in self._active.values()) and (
        not self._active or
        any(t.is_subnetwork for t in self._ops.trainees.values()))

  def _call(self, session, summaries):
    """Returns the call of a step without hooks, compiled once."""
    key = bool(summaries)
    if key not in self._calls:
      self._calls[key] = session.make_callable(dict(
          self._fetches, summaries=summaries,
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
        session, dict(self._fetches, summaries=summaries), set_global_step)

  def _take(self, values):
    """Takes over the values of a step."""
    before = self.global_step
    self.global_step = int(values["global_step"])
    losses = dict(zip(self._active, values["losses"].tolist()))
    self.steps.update(zip(self._active, values["steps"].tolist()))
    self.losses.update(losses)
    self.averages.update(zip(self._ops.averages, values["averages"]))
    if values["summaries"]:
      self._summaries.write(values["summaries"], self.averages, before)
    for name, reason in list(self._hooks.stops.items()):
      if name is not None:
        self._stop(name, reason)
    self._stop_diverged(losses)
    self._stop_finished()

  def _progress(self, started, first_step):
    """Reports how far the iteration is."""
    seconds = max(time.time() - started, 1e-9)
    rate = (self.global_step - first_step) / seconds
    left = None
    if self._limits.iteration_steps is not None and rate > 0:
      left = max([self._limits.iteration_steps - self.steps[name]
                  for name in self._active] or [0]) / rate
    self._report(events.Progress(
        self._number, self.global_step, dict(self.steps),
        {name: float(loss) for name, loss in self.losses.items()}, rate, left))

  def start(self, session: typing.Any,
            stopped: typing.Dict[str, str]) -> None:
    """Reads how far the iteration is.

    Args:
      session: `Session`, with all variables restored.
      stopped: dict from names that train no further to the reason.
    """
    self.steps = {name: int(step) for name, step in session.run({
        name: t.step for name, t in self._ops.trainees.items()}).items()}
    for name in set(stopped) & set(self._active):
      self._active.pop(name)
      self._hooks.stops.setdefault(name, stopped[name])
    self._stop_finished()

  def run(self, session: typing.Any, global_step: int) -> Ending:
    """Trains until the iteration is over, or training is.

    Args:
      session: `Session`.
      global_step: int, the global step now.

    Raises:
      selection.AllNaNError: no ensemble has a loss that is a number.
    """
    self.global_step = global_step
    started = shown = time.time()
    first_step = global_step
    ending = None
    try:
      while ending is None:
        if self._is_over():
          ending = Ending.ITERATION_OVER
          break
        self._take(self._run(session))
        if self._saver.is_due(self.global_step):
          if self._saver.save(session, self.global_step):
            ending = Ending.STOP_ASKED
        if None in self._hooks.stops:
          ending = Ending.STOP_ASKED
        elif (self._limits.global_step is not None and
              self.global_step >= self._limits.global_step):
          ending = Ending.MAX_STEPS
        now = time.time()
        if now - shown >= _PROGRESS_SECS:
          self._progress(started, first_step)
          shown = now
    except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
      ending = Ending.INPUT_ENDED
    self._progress(started, first_step)
    return ending
