# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Waits for the subnetworks that other tasks of a cluster train."""

import time
from typing import Callable, Dict, List, Optional, Sequence

from adanet import log as logging
from adanet.core import iteration as iteration_lib
from adanet.engines.cluster import connection as connection_lib
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib

_POLL_SECS = .02
_FILE_SECS = 1.  # Between two looks at the files of other tasks.
_MAX_NAMES = 3


def first_names(names: Sequence[str]) -> str:
  """Returns the first names, and how many more there are, for messages."""
  more = len(names) - _MAX_NAMES
  return ", ".join(names[:_MAX_NAMES]) + (
      f" and {more} more" if more > 0 else "")


def _trainers(placement, config, count):
  """Returns, for each subnetwork, the workers that train it.

  Returns:
    A list of lists of int; and how many workers train the ensembles.
  """
  trainers = [[] for _ in range(count)]
  num_of_ensembles = 0
  for w, worker in enumerate(placement.as_workers(
      config.num_worker_replicas, config.num_ps_replicas)):
    share = worker.worker_share(count)
    num_of_ensembles += share.builds_ensemble
    for i in share.trained:
      trainers[i].append(w)
  return trainers, num_of_ensembles


class Peers:
  """The tasks that train the subnetworks of a task's ensembles.

  Attributes:
    untrained: tuple of str, the names of subnetworks that no task trains.
    also_trained: tuple of str, the names of subnetworks that this task trains
      in each run, and other tasks, too.
    share_ensembles: whether they train this task's ensembles, in turns.
  """

  def __init__(self, model: model_lib.Model,
               connection: connection_lib.Connection,
               iteration: iteration_lib.Iteration, generation: int,
               raise_if_changed: Optional[Callable[[], None]]):
    """Computes which tasks train which subnetworks.

    Args:
      model: `Model`.
      connection: `Connection` of this task.
      iteration: `Iteration`.
      generation: int, that of its variables.
      raise_if_changed: called while it waits; None for the chief.
    """
    self._model = model
    self._connection = connection
    self._number = iteration.number
    self._generation = generation
    self._raise_if_changed = raise_if_changed or (lambda: None)
    self._steps: Dict[str, int] = {}
    self._file_time = 0.
    self._trainers: Dict[str, List[str]] = {}
    self.share_ensembles = False
    share = iteration.share
    trained: Sequence[int] = ()
    if share.builds_ensemble:
      names = connection.worker_names
      trainers, num_of_ensembles = _trainers(
          model.placement, model.config, len(iteration.builder_names))
      if share.trains_subnetworks and share.fractions is None:
        trained = share.trained
      else:
        self.share_ensembles = num_of_ensembles > 1 and bool(
            iteration.candidates)
      self._trainers = {
          f"t{iteration.number}_{builder}": [names[w] for w in workers]
          for builder, workers in zip(iteration.builder_names, trainers)}
    self.untrained = tuple(
        name for name, workers in self._trainers.items() if not workers)
    # When this task waits, it trains no further itself.
    self._trainers = {
        name: [worker for worker in workers if worker != connection.name]
        for name, workers in self._trainers.items()}
    self.also_trained = tuple(
        name for i, name in enumerate(self._trainers)
        if i in trained and self._trainers[name])
    self._wait = connection.wait("start these workers, or see what they print")
    if self.untrained and raise_if_changed is None:
      logging.warning("No worker trains %s.", first_names(self.untrained))

  def _message(self, unfinished):
    """Returns which tasks and subnetworks this task waits for."""
    workers = sorted({w for name in unfinished for w in self._trainers[name]})
    unreachable = self._connection.unreachable(workers)
    return "{}{} to train {}, which nobody trains now".format(
        first_names([f"{w} ({self._connection.address(w)})"
                     for w in unreachable or workers]),
        ", which do not answer," if len(unreachable) > 1 else
        ", which does not answer," if unreachable else "",
        first_names(["{} (at step {})".format(*item)
                     for item in unfinished.items()]))

  def wait_until_trained(self, unfinished: Dict[str, int]
                        ) -> Dict[Optional[str], str]:
    """Sleeps a moment; see `LoopContext.wait_for`.

    Raises:
      waiting.WaitTimeoutError: nothing was trained for too long.
      Exception: an error of `raise_if_changed`.
    """
    self._raise_if_changed()
    if unfinished != self._steps:
      self._steps = dict(unfinished)
      self._wait.done()
    self._wait.pause(_POLL_SECS, lambda: self._message(unfinished))
    now = time.monotonic()
    if now - self._file_time < _FILE_SECS:
      return {}
    self._file_time = now
    stopped = self._model.model_dir.stopped(self._number, unfinished)
    found: Dict[Optional[str], str] = {
        name: stopped[name] for name in unfinished if name in stopped}
    endings = self._connection.stopped_workers.endings(self._generation)
    for name in set(unfinished) - set(found):
      workers = self._trainers[name]
      if not set(endings).issuperset(workers):
        continue
      found[name] = "the input of its workers ended"
      for worker in workers:
        if endings[worker] == loop_lib.Ending.STOP_ASKED:
          logging.warning("Training ends: a hook has stopped %s, and no other "
                          "task trains %s.", worker, name)
          found[None] = f"a hook of {worker} asked for it"
    return found
