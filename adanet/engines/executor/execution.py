# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Has the parts of an iteration trained by an executor.

A part is done when the result of the part is on the disk. The future may end
later, or never: if all workers leave, some executors do not complete futures.

A lost part is submitted again, a bounded number of times. Futures are not
cancelled, because executors cancel in different ways: a file asks parts to
stop.
"""

import concurrent.futures
import time
from typing import Any, Dict, Optional, Set

from adanet import forks
from adanet import log as logging
from adanet.core import events
from adanet.core import fingerprint
from adanet.core import parts as parts_lib
from adanet.core import selection
from adanet.core import user_input
from adanet.engines.executor import part as part_lib
from adanet.engines.executor import part_files
from adanet.training import trainer

_MAX_LOSSES = 5  # How often an executor may lose a part.
_POLL_SECS = .5
_STOP_SECS = 60.  # For parts to save and stop.
_SILENT_SECS = 60.  # Without a step or a result.

_Results = Dict[parts_lib.Part, part_files.Result]


class PartError(RuntimeError):
  """A part failed on a worker. The message has the worker's traceback.

  For example::

      try:
        estimator.train(input_fn, executor=pool)
      except adanet.PartError as error:
        print(error)
  """


class ExecutorError(RuntimeError):
  """The executor lost its workers and starts no new workers.

  The trained parts are saved. For example, with a new executor::

      try:
        estimator.train(input_fn, executor=pool)
      except adanet.ExecutorError:
        estimator.train(input_fn, executor=another_pool)
  """


class Execution:
  """The parts of one iteration on an executor."""

  def __init__(self, executor: Any, training: trainer.Training,
               files: part_files.PartFiles,
               part_requests: Dict[parts_lib.Part, part_lib.PartRequest],
               number: int, check: fingerprint.FingerprintCheck):
    """Begins nothing yet.

    Args:
      executor: `concurrent.futures.Executor`.
      training: `Training`.
      files: `PartFiles` of the iteration.
      part_requests: dict from each part to a `PartRequest`, in the order to
        begin.
      number: int, the iteration's.
      check: `FingerprintCheck`, which gets the graphs of parts that have begun.
    """
    self._executor = executor
    self._training = training
    self._files = files
    self._part_requests = part_requests
    self._number = number
    self._fingerprint_check = check
    self._checked: Set[parts_lib.Part] = set()
    self._results: _Results = {}
    self._pending: Dict[Any, parts_lib.Part] = {}
    self._num_losses = dict.fromkeys(part_requests, 0)
    self._error: Optional[Exception] = None
    self._progress = {part: files.progress(part) for part in part_requests}
    self._attempts = {part: files.attempts(part) for part in part_requests}
    self._heard: Any = self._signs_of_life()
    # When to warn of a silence; None if that was done.
    self._silent_until: Optional[float] = time.monotonic() + _SILENT_SECS

  def results(self) -> _Results:
    """Returns the results of all parts, when all parts are done.

    Raises:
      PartError: a part failed.
      EmptyInputError: the input of a part has no batch.
      ExecutorError: the executor is broken, or loses a part again and again.
      AllNaNError: in the only part, the loss of each ensemble is NaN.
      KeyboardInterrupt, SystemExit: a signal asked for it.
    """
    try:
      with self._training.stops.deferred():
        for part in self._part_requests:
          if not self._find_result(part):
            self._submit(part)
        while self._pending and not self._is_to_stop():
          self._wait()
        self._check_graphs(self._part_requests)
        if self._is_to_stop():
          self._stop()
    except BaseException:  # Such as a second signal.
      self._files.ask_to_stop()
      raise
    self._training.stops.raise_asked()
    if isinstance(self._error, selection.AllNaNError):
      self._files.remove()  # Its checkpoints are of no use.
    if self._error is not None:
      raise self._error
    return self._results

  def _is_to_stop(self):
    return self._error is not None or self._training.asked_to_stop()

  def _find_result(self, part):
    """Reads the result of a part; returns whether the part has a result."""
    part_request = self._part_requests[part]
    result = self._files.result(
        part, part_request.driver, part_request.max_steps)
    if result is not None:
      self._results[part] = result
    return result is not None

  def _submit(self, part):
    try:
      future = self._executor.submit(
          part_lib.train, self._part_requests[part]._replace(
              num_losses=self._num_losses[part]))
    except concurrent.futures.BrokenExecutor as error:
      self._lose(part, error)
    except Exception as error:  # Shut down.  # pylint: disable=broad-except
      self._error = ExecutorError(
          f"iteration {self._number}: the executor takes no more work "
          f"({type(error).__name__}: {error}). Call train again with another "
          "executor: parts that are done are not trained again")
      self._error.__cause__ = error
    else:
      self._pending[future] = part

  def _wait(self):
    """Waits a moment, and takes the parts that have ended or are done.

    Only reads the files of parts that have begun, as many parts may be waiting.
    """
    pending = list(self._pending.values())
    for future in self._ended_futures():
      self._take(self._pending.pop(future), future)
    begun = self._files.begun(pending)
    self._drop_done(begun)
    self._check_graphs(begun)
    self._progress.update(
        (part, self._files.progress(part)) for part in begun)
    self._warn_of_silence()
    self._report_progress()

  def _ended_futures(self):
    """Waits a moment; returns the futures that have ended."""
    ended, _ = concurrent.futures.wait(
        self._pending, timeout=_POLL_SECS,
        return_when=concurrent.futures.FIRST_COMPLETED)
    return ended

  def _drop_done(self, begun):
    """Drops the futures of begun parts that have a result."""
    begun = set(begun)
    self._pending = {
        future: part for future, part in self._pending.items()
        if part not in begun or not self._find_result(part)}

  def _take(self, part, future):
    """Handles the end of a part."""
    try:
      outcome = future.result()
    except (Exception, concurrent.futures.CancelledError) as error:  # pylint: disable=broad-except
      self._lose(part, error)
      return
    end = part_lib.PartEnd
    if outcome.end == end.FORKED:
      self._error = self._error or ExecutorError(
          f"executor={self._executor!r}: its workers are forks, in which "
          f"TensorFlow hangs. {forks.FIX}")
    elif outcome.end == end.INPUT_EMPTY:
      self._error = self._error or user_input.EmptyInputError(
          f"iteration {self._number}: {outcome.error}")
    elif outcome.end == end.ALL_NAN:
      self._error = self._error or selection.AllNaNError(outcome.error)
    elif outcome.end == end.FAILED:
      self._error = self._error or PartError(
          f"iteration {self._number}: the part "
          f"{part_files.part_name(part)!r} failed on {outcome.worker}: "
          f"{outcome.error}\n\n{outcome.details}")
    elif outcome.end == end.STOPPED or not self._find_result(part):
      self._lose(part, None)

  def _lose(self, part, error):
    """Submits a part again that ended without a result."""
    if self._find_result(part) or self._is_to_stop():
      return
    if error is not None:
      executor = forks.renew_executor(self._executor, error)
      if executor is None:
        self._break(error)
        return
      self._executor = executor
    self._num_losses[part] += 1
    name = part_files.part_name(part)
    why = f"{type(error).__name__}: {error}" if error else "its worker stopped"
    if self._num_losses[part] >= _MAX_LOSSES:
      self._error = ExecutorError(
          f"iteration {self._number}: the executor lost the part "
          f"{name!r} {_MAX_LOSSES} times ({why}). See what the workers print; "
          "then call train again: it goes on from the last checkpoints")
      self._error.__cause__ = error
      return
    logging.warning(
        "Iteration %d: the executor lost the part %r (%s). It is started "
        "again.", self._number, name, why)
    self._submit(part)

  def _break(self, error):
    """Records that the executor is broken for good."""
    workers = {part: self._workers(part) for part in self._part_requests}
    trained = [f"{part_files.part_name(part)!r} on {', '.join(names)}"
               for part, names in workers.items()
               if names and not self._find_result(part)]
    self._error = ExecutorError(
        f"iteration {self._number}: " + forks.describe_death(
            error, trained, "Call train again with another executor: parts "
            "that are done are not trained again. If the same part is there "
            "each time, see whether its builder needs more memory than there "
            "is."))
    self._error.__cause__ = error

  def _stop(self):
    """Asks running parts to save and to stop, and waits for these parts."""
    self._files.ask_to_stop()
    end = time.monotonic() + _STOP_SECS
    while self._pending and time.monotonic() < end:
      for future in self._ended_futures():
        del self._pending[future]
      self._drop_done(self._pending.values())
    if self._pending:
      logging.warning(
          "After %.0f s, these parts have not stopped: %s. They stop when they "
          "next read the model_dir.", _STOP_SECS,
          ", ".join(sorted(map(part_files.part_name, self._pending.values()))))

  def _check_graphs(self, begun):
    """Checks and writes the graphs of parts that have begun."""
    new = {}
    for part in begun:
      graphs = None
      if part not in self._checked:
        graphs = self._files.graphs(part, self._part_requests[part].driver)
      if graphs is not None:
        self._checked.add(part)
        new.update(graphs)
    if new:
      self._fingerprint_check.write(
          self._training.request.wait_timeout_secs, new)

  def _report_progress(self):
    """Reports the progress of all parts together."""
    known = [progress for progress in self._progress.values()
             if progress is not None]
    if not known:
      return
    steps = {}
    losses = {}
    for progress in known:
      steps.update(progress.steps)
      losses.update(progress.losses)
    rates = [p.steps_per_second for p in known if p.steps_per_second]
    self._training.report(events.Progress(
        self._number,
        sum(p.global_step for p in known) // len(known), steps, losses,
        min(rates) if rates else None,
        max((p.seconds_left or 0. for p in known), default=None)))

  def _signs_of_life(self):
    """Returns a value that changes with any progress of a worker."""
    return ({part: progress and (progress.global_step, progress.steps)
             for part, progress in self._progress.items()},
            set(self._results), dict(self._num_losses))

  def _warn_of_silence(self):
    """Warns, once in each silence, that no worker makes progress."""
    now, heard = time.monotonic(), self._signs_of_life()
    if heard != self._heard:
      self._heard, self._silent_until = heard, now + _SILENT_SECS
    elif self._silent_until is not None and now >= self._silent_until:
      self._silent_until = None
      logging.warning(
          "Iteration %d: in %.0f s no worker of %r has trained a step. Still "
          "waiting for the parts: %s. See whether it has workers, and what "
          "they print.", self._number, _SILENT_SECS, self._executor,
          ", ".join(map(self._described, self._pending.values())))

  def _described(self, part):
    """Returns the name of a part with the part's workers and progress."""
    workers, progress = self._workers(part), self._progress[part]
    at_step = (f", at step {progress.global_step}"
               if workers and progress is not None else "")
    return (f"{part_files.part_name(part)!r} (begun by "
            f"{', '.join(workers) or 'no worker'}{at_step})")

  def _workers(self, part):
    """Returns the names of the workers that have begun a part."""
    return [part_files.worker_of(attempt)
            for attempt in self._files.attempts(part)
            if attempt not in self._attempts[part]]
