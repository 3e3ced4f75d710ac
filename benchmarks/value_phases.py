# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What an iteration's CPU time beside its steps is spent on, by phase.

Clocks stand around functions of this project and around the runs of sessions.
What one does inside of another is counted there alone. Beside them is what
Keras itself takes to build the same models and to train each of them once.
"""

import collections
import contextlib
import os
import statistics
import tempfile
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List
from unittest import mock

import adanet
from adanet import tf_compat
from adanet.core import building
from adanet.tf_compat import keras_3 as keras
from adanet.tf_compat import optimizers
from adanet.training import fitting
from adanet.training import saving
from adanet.training import sessions
from benchmarks import program
from benchmarks import value_data
from benchmarks import value_task

TRAINING_GRAPH, LOGITS_GRAPH = "graph for training", "graph for logits"
OPTIMIZER, FIRST_RUNS, LATER_RUNS = (
    "optimizer's ops", "first runs", "steps, and other later runs")
RESTORE, SAVE, FIT = "restore", "save", "fit"
REST = "the rest"
PHASES = (TRAINING_GRAPH, OPTIMIZER, LOGITS_GRAPH, FIRST_RUNS, LATER_RUNS,
          RESTORE, SAVE, FIT, REST)
KERAS = "Keras builds the same models and trains each once"

# The functions of a phase, by their holder; for the rest see `clocks`.
_FUNCTIONS = (
    (OPTIMIZER, optimizers, ("minimize",)),
    (RESTORE, sessions.Restorer, ("__init__", "restore")),
    (SAVE, saving.CheckpointSaver, ("build", "begin_iteration", "save", "end")),
    (SAVE, saving.GraphFiles, ("write",)),
    (FIT, fitting, ("fits",)))


class PhaseClock:
  """Adds up the CPU seconds of phases, each without the ones inside of it.

  Attributes:
    secs: dict from the name of a phase to its seconds.
  """

  def __init__(self, now: Callable[[], float] = time.process_time):
    """Begins with nothing; `now` returns the seconds so far."""
    self.secs: Dict[str, float] = collections.Counter()
    self._now = now
    self._open: List[str] = []
    self._since = 0.

  def _add(self):
    """Gives the seconds since the last call to the innermost open phase."""
    now = self._now()
    if self._open:
      self.secs[self._open[-1]] += now - self._since
    self._since = now

  @contextlib.contextmanager
  def phase(self, name: str) -> Iterator[None]:
    """Counts the block as a phase."""
    self._add()
    self._open.append(name)
    try:
      yield
    finally:
      self._add()
      self._open.pop()


def _timed(clock, function, name_of):
  """Returns a function that is counted, as the phase that `name_of` says."""
  def call(*args, **kwargs):
    with clock.phase(name_of(*args, **kwargs)):
      return function(*args, **kwargs)
  return call


def _graph_phase(search, history, number, task, *args, **kwargs):
  """Returns the phase of a call of `building.build`."""
  del search, history, number, args, kwargs
  return TRAINING_GRAPH if task.training else LOGITS_GRAPH


def _names(fetches):
  """Yields the names of what a run fetches; its dicts may have any keys."""
  if isinstance(fetches, dict):
    fetches = list(fetches.values())
  if isinstance(fetches, (list, tuple)):
    for fetch in fetches:
      yield from _names(fetch)
  else:
    yield getattr(fetches, "name", fetches)


class _RunPhase:
  """Knows which runs of sessions are the first of their kind."""

  def __init__(self):
    self._seen = set()

  def __call__(self, session, fetches, *args, **kwargs):
    del args, kwargs
    key = session, tuple(_names(fetches))
    if key in self._seen:
      return LATER_RUNS
    self._seen.add(key)
    return FIRST_RUNS


def _callables(clock, make_callable):
  """Returns `Session.make_callable` with a clock in what it makes."""
  def make(*args, **kwargs):
    run, phases = make_callable(*args, **kwargs), [FIRST_RUNS]
    return _timed(clock, run, lambda *unused_args: (
        phases.pop() if phases else LATER_RUNS))
  return make


@contextlib.contextmanager
def clocks(clock: PhaseClock) -> Iterator[None]:
  """Counts the phases of a search in the block."""
  session = tf_compat.v1.Session
  with contextlib.ExitStack() as stack:

    def replace(holder, name, function):
      stack.enter_context(mock.patch.object(holder, name, function))

    for phase, holder, names in _FUNCTIONS:
      for name in names:
        replace(holder, name, _timed(
            clock, getattr(holder, name),
            lambda *args, phase=phase, **kwargs: phase))
    replace(building, "build", _timed(clock, building.build, _graph_phase))
    replace(session, "run", _timed(clock, session.run, _RunPhase()))
    replace(session, "make_callable", _callables(clock, session.make_callable))
    yield


def phases(job: value_task.Job) -> Dict[str, float]:
  """Returns dict from each phase of a search to its CPU seconds."""
  clock = PhaseClock()
  with tempfile.TemporaryDirectory() as folder, clocks(clock):
    with clock.phase(REST):
      value_task.WAYS[job.way].search(job, folder, None)
  program.check(set(clock.secs) == set(PHASES),
                f"the phases are {sorted(clock.secs)}")
  return dict(clock.secs)


def _keras_secs(job):
  """Returns the CPU seconds of Keras's own models, trained once each."""
  data = value_data.load(job.task, job.seed)
  features, labels = next(iter(data.batches(job.seed)))
  began = time.process_time()
  for size in value_task.models(job.num_models).values():
    value_task.compiled(data, *size).train_on_batch(features, labels)
  return time.process_time() - began


def answer(connection: Any, job: value_task.Job, core: int,
           is_keras: bool) -> None:
  """Sends dict from each phase to its CPU seconds; or the one of `KERAS`.

  Args:
    connection: `multiprocessing.Connection`.
    job: `Job` of a search with selection in one iteration.
    core: the processor that it may use.
    is_keras: whether Keras builds the models, and nothing searches.
  """
  os.sched_setaffinity(0, {core})
  keras.utils.set_random_seed(job.seed)
  value_data.load(job.task, job.seed)
  _ = adanet.AutoEnsembleEstimator  # Imports are nobody's phase.
  connection.send({KERAS: _keras_secs(job)} if is_keras else phases(job))


def rows(job: value_task.Job, turns: Iterable[Dict[str, float]]
        ) -> List[Dict[str, Any]]:
  """Returns a row for each phase, and one for Keras.

  Args:
    job: `Job` of one of the searches.
    turns: iterable of what `answer` has sent, of both kinds.
  """
  turns = list(turns)
  result = []
  for phase in (*PHASES, KERAS):
    secs = statistics.median(turn[phase] for turn in turns if phase in turn)
    result.append({
        "kind": "phase", "value": secs, "figure": f"{secs:.2f} CPU s",
        "limits": {}, "what": f"iteration of {job.num_models} models, "
                              f"{job.num_steps} steps: {phase}"})
  return result
