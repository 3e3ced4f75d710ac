# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The training loop of an iteration: a session and handles, no graph."""

import math
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence
from typing import Set, Tuple

from adanet import tf_compat
from adanet.core import events
from adanet.core import selection
from adanet.training import ending as ending_lib
from adanet.training import runs as runs_lib
from adanet.training import saving
from adanet.training import train_ops
from adanet.training import training_summaries

_PROGRESS_SECS = .5  # Between two events of progress.
# How many steps of ensembles a worker leaves to those that train nothing else.
_LEFT_STEPS = 3


def _nobody_else(steps):
  """The default `wait_for`: no other task trains the subnetworks."""
  return set(steps)


class LoopContext(NamedTuple):
  """The connection of a loop to the rest of the job.

  Attributes:
    report: called with each event.
    mark_stopped: called with the name of a stopped trainee, a reason and the
      number of training steps; writes a record for a restart.
    asked_to_stop: returns whether a signal asked for a stop.
    wait_for: called repeatedly while the task waits for other tasks, with the
      steps of the unfinished subnetworks. Sleeps, and returns the set of the
      subnetworks that no other task trains further, or None if a hook in
      another task stops all training.
    untrained: the names of subnetworks that no task trains.
    also_trained: the names of subnetworks that other tasks train, too, in each
      run. The other tasks may read longer from an input that ends.
    is_chief: whether the task decides when the iteration is over. Another task
      is done when the task's input has ended.
    shares_ensembles: whether other tasks train the same ensembles.
    not_finite: called if a loss is NaN; returns the names of input tensors with
      NaN, or "".
  """
  report: events.Report
  mark_stopped: Callable[[str, str, int], None]
  asked_to_stop: Callable[[], bool] = lambda: False
  wait_for: Callable[[Dict[str, int]], Optional[Set[str]]] = _nobody_else
  untrained: Tuple[str, ...] = ()
  also_trained: Tuple[str, ...] = ()
  is_chief: bool = True
  shares_ensembles: bool = False
  not_finite: Callable[[], str] = str


class Loop:
  """Trains an iteration, or a worker's share of an iteration.

  All trainees train in each run, or the subnetworks and the ensembles take
  turns; see `TrainOps.fractions`.

  Attributes:
    global_step: int.
    steps: dict from a name to the number of training steps.
    losses: dict from a name to the loss of the last step.
    averages: dict from the name of an ensemble to the moving average after the
      last step; empty for a single candidate, whose average decides nothing.
    trained: dict from a name to the number of steps taken here.
    seconds: dict from a name to the time of the steps taken here.
  """

  def __init__(self, number: int, ops: train_ops.TrainOps,
               iteration_steps: Optional[int], max_steps: Optional[int],
               deadline: Optional[float],
               hooks: runs_lib.HookRunner, saver: saving.Saver,
               summaries: training_summaries.TrainingSummaries,
               context: LoopContext,
               input_turn: Any = None):
    """Trains nothing yet.

    Args:
      iteration_steps: int, the number of training steps of a subnetwork or
        ensemble in an iteration; None for no limit but the input.
      max_steps: int, the global step at which training ends, or None.
      deadline: float, the time by `time.time` at which training ends, or None.
    """
    self._number = number
    self._ops = ops
    self._iteration_steps = iteration_steps
    self._max_steps = max_steps
    self._deadline = deadline
    self._hooks = hooks
    self._runs = runs_lib.Runs(ops, hooks, summaries, input_turn)
    self._has_inputs = input_turn is not None
    self._saver = saver
    self._summaries = summaries
    self._context = context
    self._turns = train_ops.Turns(ops.fractions) if ops.fractions else None
    self._lag_limit = train_ops.LagLimit(iteration_steps, context.untrained)
    self._awaited = set(ops.pacemakers) - set(context.untrained)
    self._active = dict(ops.trainees)
    self._diverged: Set[str] = set()
    self._restored_behind: List[str] = []
    self._input_ended = False
    self.global_step = 0
    self.steps: Dict[str, int] = {}
    self.losses: Dict[str, float] = {}
    self.averages: Dict[str, float] = {}
    self.trained = {name: 0 for name in ops.trainees}
    self.seconds = {name: 0. for name in ops.trainees}

  def _stop(self, name, reason, **what):
    if name not in self._active:
      return
    self._context.mark_stopped(name, reason, self.steps.get(name, 0))
    del self._active[name]
    self._lag_limit.stop(name)
    self._hooks.stops.setdefault(name, reason)
    self._context.report(events.Stopped(self._number, name, reason, **what))

  def _finished(self, steps):
    """Returns the names at the limit, from pairs of a name and a step."""
    limit = self._iteration_steps
    return [name for name, step in steps if limit is not None and step >= limit]

  def _stop_finished(self):
    for name in self._finished([(n, self.steps[n]) for n in self._active]):
      self._stop(name, events.at_limit(self.steps[name]),
                 is_complete=True)

  def _stop_diverged(self, losses):
    """Stops trainees with a loss of NaN; fails if no ensemble is left.

    A part does not fail, as the ensembles of other parts may be left.
    """
    names = [name for name, loss in losses.items() if math.isnan(loss)]
    if not names:
      return
    nan = self._context.not_finite()
    advice = f" The input has NaN or infinity in {nan}." if nan else ""
    for name in names:
      self._diverged.add(name)
      self._stop(name, f"Its loss is NaN after {self.steps[name]} "
                       f"steps.{advice}", is_nan=True)
    candidates = self._ops.averages
    if candidates and not self._ops.is_part and all(
        name in self._diverged or math.isnan(self.averages.get(name, 0.))
        for name in candidates):
      raise selection.all_nan_error(self._number, candidates, advice)

  def _is_at_max_steps(self):
    return self._max_steps is not None and self.global_step >= self._max_steps

  def _ensembles(self, num_steps=1):
    """Returns the names of the ensembles, if they may take so many steps."""
    names = [name for name, t in self._active.items() if not t.is_subnetwork]
    if self._ops.pacemakers and not all(
        self._lag_limit.allows(self.steps[name] + num_steps - 1)
        for name in names):
      return []
    return names

  def _behind(self):
    """Returns the ensembles that trained fewer steps than a subnetwork here."""
    furthest = max((self.steps[name] for name, t in self._ops.trainees.items()
                    if t.is_subnetwork), default=math.inf)
    return [name for name, t in self._active.items()
            if not t.is_subnetwork and self.steps[name] < furthest]

  def _trains_subnetworks(self):
    return any(t.is_subnetwork for t in self._active.values())

  def _catching_up(self):
    """Returns the ensembles that train although their subnetworks are done.

    Ensembles that train beside subnetworks end with the subnetworks, but may
    have been behind in the checkpoint of a cluster.
    """
    if self._ops.pacemakers:
      return self._ensembles()
    if self._trains_subnetworks() and not self._is_at_max_steps():
      return []
    behind = self._behind()
    return [name for name in self._restored_behind if name in behind]

  def _next(self):
    """Returns the names of the trainees of the next run.

    There are none if all here must wait for other tasks.
    """
    if self._turns is None:
      return tuple(self._ensembles() if self._ops.pacemakers else
                   self._catching_up() or self._active)
    active = [name for name, t in self._active.items() if t.is_subnetwork]
    # At the last step, only ensembles train that lag behind.
    if self._ops.pacemakers and self._is_at_max_steps():
      active = []
    leaves_some = bool(active) and self._context.shares_ensembles
    ensembles = self._ensembles(1 + (_LEFT_STEPS if leaves_some else 0))
    if ensembles:
      active.append(train_ops.ENSEMBLES)
    if not active:
      return ()
    turn = self._turns.next(active, waiting=[train_ops.ENSEMBLES])
    return tuple(ensembles) if turn == train_ops.ENSEMBLES else (turn,)

  def _outlasts_subnetworks(self):
    """Returns whether ensembles train on because a subnetwork elsewhere may.

    A part presumes that a subnetwork of another part trains to the limit.
    """
    return (self._ops.is_part and self._iteration_steps is not None and
            bool(self._active))

  def _end_input(self, session, names):
    self._input_ended = True
    # What trains in turns may have inputs of its own.
    for name in names if self._has_inputs else list(self._active):
      del self._active[name]
    self._look(session)

  def _standing(self, is_late=False, is_signaled=False):
    return ending_lib.Standing(
        is_stop_asked=self._hooks.is_stop_asked,
        is_signaled=is_signaled,
        is_at_max_steps=self._is_at_max_steps(), is_late=is_late,
        trains_subnetworks=self._trains_subnetworks(),
        awaits_others=bool(self._lag_limit.unfinished),
        catches_up=bool(self._catching_up()),
        outlasts=self._outlasts_subnetworks(),
        is_chief=self._context.is_chief, input_ended=self._input_ended,
        # Other tasks may have trained on what had no more input here.
        all_done={*self._finished(self.steps.items()),
                  *self._hooks.stops}.issuperset(self.steps),
        has_begun=not self._awaited or any(
            map(self.steps.__getitem__, self._awaited)))

  def _run(self, session, names):
    began = time.monotonic()
    values = self._runs.train(session, names, self.global_step, self._finished)
    seconds = time.monotonic() - began
    for name in names:
      self.seconds[name] += seconds
    if self._turns is not None and not self._runs.was_new:
      is_subnetwork = self._ops.trainees[names[0]].is_subnetwork
      self._turns.served(names[0] if is_subnetwork else train_ops.ENSEMBLES,
                         seconds)
    self._take(names, values)

  def _take_observed(self, steps):
    """Takes the steps of other tasks."""
    self.steps.update(zip(self._ops.observed, map(int, steps)))

  def _update_pace(self):
    names = self._ops.pacemakers
    if self._input_ended:
      names += self._context.also_trained
    self._lag_limit.update({name: self.steps[name] for name in names})

  def _take(self, names, values):
    """Takes the values of a run that trains some names."""
    before = self.global_step
    self.global_step = int(values["global_step"])
    losses = dict(zip(names, values["losses"].tolist()))
    self.losses.update(losses)
    self.averages.update(zip(self._ops.averages, values["averages"]))
    for name in names:
      self.trained[name] += 1
    self._take_observed(values["observed"])
    # Their observed steps may be the ones before.
    self.steps.update(zip(names, values["steps"].tolist()))
    self._update_pace()
    if values["summaries"] is not None:
      self._summaries.write(values["summaries"], self.averages, before)
    self._summaries.step_rate.count(self.global_step)
    for name, reason in list(self._hooks.stops.items()):
      self._stop(name, reason)
    self._stop_diverged(losses)
    self._stop_finished()

  def _look(self, session):
    """Reads how far other tasks are."""
    if self._input_ended and not self._has_inputs:
      # Other tasks may train all that was trained here.
      self._read_steps(session)
    else:
      self._take_look(*self._runs.look(session))

  def _read_steps(self, session):
    self.steps, *looked = self._runs.start(session)
    self._take_look(*looked)

  def _take_look(self, observed, global_step):
    self.global_step = global_step
    self._take_observed(observed)
    self._update_pace()

  def _await_others(self, session):
    """Lets other tasks train, and reads how far they are."""
    unfinished = self._lag_limit.unfinished
    if unfinished:
      stopped = self._context.wait_for(unfinished)
      if stopped is None:
        self._hooks.is_stop_asked = True
      for name in stopped or ():
        self._lag_limit.stop(name)
    self._look(session)

  def progress(self, rate: Optional[float] = None) -> events.Progress:
    """Returns how far the iteration is.

    Args:
      rate: float, global steps a second; None if not known.
    """
    left = None
    if self._iteration_steps is not None and rate:
      left = max([self._iteration_steps - self.steps[name]
                  for name in [*self._active, *self._lag_limit.unfinished]
                 ] or [0]) / rate
    return events.Progress(
        self._number, self.global_step, dict(self.steps),
        {name: float(loss) for name, loss in self.losses.items()}, rate, left)

  def _report_progress(self, started, first_step):
    seconds = time.time() - started
    rate = (self.global_step - first_step) / seconds if seconds > .1 else 0.
    self._context.report(self.progress(rate or None))

  def start(self, session: Any,
            stopped: Callable[[Dict[str, int]], Dict[str, str]]) -> None:
    """Reads the steps of the iteration; called again for a new session.

    Args:
      session: `Session` with initialized variables.
      stopped: function from all steps to a dict from the name of each stopped
        trainee to the reason.
    """
    self._read_steps(session)
    for name, reason in stopped(self.steps).items():
      self._lag_limit.stop(name)
      if self._active.pop(name, None) is not None:
        self._hooks.stops.setdefault(name, reason)
    self._stop_finished()
    self._restored_behind = self._behind()

  def _save_if_due(self, session):
    """Saves if a checkpoint is due; a listener may stop all training."""
    if not self._saver.is_due(self.global_step):
      return
    # The saver keeps the request: an iteration that is over is decided first.
    if self._saver.save(session) and not (
        ending_lib.is_over(self._standing())):
      self._hooks.is_stop_asked = True

  def ending(self, has_stepped: bool = False) -> Optional[ending_lib.Ending]:
    """Returns why training ends here; None if another step follows.

    Args:
      has_stepped: whether a step was taken. Before the first step, the deadline
        and signals do not count.
    """
    if not has_stepped:
      return ending_lib.ending(self._standing())
    is_late = self._deadline is not None and time.time() >= self._deadline
    return ending_lib.ending(
        self._standing(is_late, self._context.asked_to_stop()))

  def run(self, session: Any) -> ending_lib.Ending:
    """Trains until the iteration is over, or another `Ending`.

    Raises:
      selection.AllNaNError: no ensemble has a loss that is a number.
    """
    started = time.time()
    shown = 0.  # The first step is reported at once.
    first_step = self.global_step
    ending = self.ending()
    while ending is None:
      names: Sequence[str] = ()
      try:
        if self._context.shares_ensembles:
          # A step of all ensembles takes long: other tasks may have done it.
          self._look(session)
          self._stop_finished()
        names = self._next()
        if names:
          self._run(session, names)
        else:
          self._await_others(session)
      except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
        self._end_input(session, names)
      self._save_if_due(session)
      ending = self.ending(has_stepped=True)
      now = time.time()
      if now - shown >= _PROGRESS_SECS:
        self._report_progress(started, first_step)
        shown = now
    self._report_progress(started, first_step)
    return ending
