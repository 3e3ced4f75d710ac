# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A generation: one life of the variables on the parameter servers.

Each iteration and each restore of a checkpoint begins a generation. The
variables of a generation have a separate container, so a late task cannot
change the variables of the next generation. The chief and the workers share
this module: how a task reacts to lost servers and to restarts, and how a task
waits for subnetworks that only peers train.

    <model_dir>/cluster/stopped_workers/<generation>/<job>-<index>

names the workers that train no further, so that no task waits for stopped
workers. The text of a file is the name of the `Ending`: the input of the worker
has ended, or a hook of the worker asked for a stop.
"""

import contextlib
import os
import time
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.core import events
from adanet.core import fingerprint
from adanet.core import iteration as iteration_lib
from adanet.distributed import devices
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import jobs
from adanet.engines.cluster import sessions as cluster_sessions
from adanet.tf_compat import files
from adanet.tf_compat import runtime
from adanet.training import ending as ending_lib
from adanet.training import loop as loop_lib
from adanet.training import setup as setup_lib
from adanet.training import trainer

_PAUSE_SECS = .1  # Between two looks whether a signal asks for a stop.
_POLL_SECS = .02  # Between two looks for the steps of other tasks.
_FILE_SECS = 1.  # Between two looks at the files of other tasks.

# How often a step may fail for the same reason while all parameter servers have
# their variables. Then the servers are not the cause.
MAX_FAILURES = 3

# Names in `tf.errors` of errors that a lost, stopped or restarted parameter
# server causes.
_LOST = frozenset([
    "AbortedError", "CancelledError", "DeadlineExceededError",
    "FailedPreconditionError", "InternalError", "NotFoundError",
    "UnavailableError", "UnknownError"])


class StepTimeoutError(RuntimeError):
  """A step takes longer than `operation_timeout_in_ms`."""


def may_reconnect(error: BaseException, num_failures: int) -> bool:
  """Returns whether a new session may help after an error of a session.

  Args:
    error: the error.
    num_failures: int, how many attempts in a row failed while all parameter
      servers had the variables, the last attempt included: without a step in
      between, or for the same reason after the same number of steps.
  """
  may_be_lost = any(kind.__name__ in _LOST for kind in type(error).__mro__)
  return may_be_lost and num_failures <= MAX_FAILURES


def pause_secs(num_failures: int) -> float:
  """Returns how long to wait after an error before a new session, in s.

  When a task refuses a connection, as a restarted worker does at first, gRPC
  tries again after about 1 s, and then after 1.6 times as long each time:
  github.com/grpc/grpc/blob/master/doc/connection-backoff.md.

  Args:
    num_failures: see `may_reconnect`.
  """
  return 0. if num_failures <= 1 else 2.**(num_failures - 1)


def have_lost(ready: Sequence[Optional[int]], generation: int) -> bool:
  """Returns whether a parameter server has lost variables.

  Args:
    ready: for each parameter server the generation of the variables, 0 for no
      variables; None for a server that does not answer.
    generation: int, the generation in training.
  """
  return any(number not in (None, generation) for number in ready)


def may_take_over(job_state: jobs.JobState, now: jobs.JobState) -> bool:
  """Returns whether a starting chief may train on in a generation.

  The function does not check that the parameter servers have the variables.

  Args:
    job_state: the `JobState` in the file.
    now: the `JobState` that the chief would write.
  """
  return job_state.is_training and job_state._replace(
      reason="", written=0.) == now._replace(reason="", written=0.)


class Generation:
  """The part of a generation's training that the chief and workers share.

  Attributes:
    context: `LoopContext` of the loop.
  """

  def __init__(self, setup: setup_lib.SearchSetup, training: trainer.Training,
               connection: connection_lib.Connection, number: int,
               generation: int):
    """Watches the steps of one generation."""
    self._setup = setup
    self._training = training
    self._connection = connection
    self._number = number
    self._generation = generation
    self._num_failures = 0
    self._steps_at_failure = 0
    self._last_failure: Optional[Tuple[type, int]] = None
    self._works = False
    self.context = loop_lib.LoopContext(
        self._report, self._mark_stopped, training.asked_to_stop)

  def _report(self, event):
    if isinstance(event, events.Progress) and not self._works:
      self._works = True
      self._training.report(events.Working(self._connection.name))
    self._training.report(event)

  def _mark_stopped(self, name, reason, step):
    self._connection.wait_until_written(
        lambda: self._setup.model_dir.mark_stopped(
            self._number, name, reason, step))

  @contextlib.contextmanager
  def scope(self) -> Iterator[None]:
    """Enters the devices and the container of this generation."""
    v1 = tf_compat.v1
    num_ps = self._setup.config.num_ps_replicas
    setter = v1.train.replica_device_setter(
        ps_tasks=num_ps, worker_device=self._connection.device,
        ps_strategy=devices.OpNameHashStrategy(num_ps))
    container = self._connection.container(self._generation)
    with v1.get_default_graph().container(container), v1.device(setter):
      yield

  def check_search(self, job_state: jobs.JobState,
                   iteration: iteration_lib.Iteration) -> None:
    """Checks that this task has the search, and the builders, of the chief."""
    own = fingerprint.of(self._setup.search).arguments
    differences = fingerprint.argument_differences(
        dict(job_state.search, builders=", ".join(job_state.builders)),
        dict(own, builders=", ".join(iteration.builder_names)),
        "on the chief", f"on {self._connection.name}")
    if differences:
      raise ValueError(
          f"iteration {iteration.number}: {'; '.join(differences)}. Start all "
          "tasks again, with the same program. subnetwork_generator must make "
          "the same builders on each task, also after a restart")

  def warn_of_graphs(self, iteration: iteration_lib.Iteration) -> None:
    """Warns if this task builds another network than the chief.

    Call it when the chief has given the variables their values: the chief
    writes the fingerprint before.
    """
    try:
      of_chief = fingerprint.read(self._setup.model_dir.path)
    except tf_compat.v1.errors.OpError as error:
      logging.warning(
          "Iteration %d: networks are not compared with the chief's: %s",
          iteration.number, runtime.error_line(error))
      return
    differences = of_chief and of_chief.graph_differences(
        fingerprint.of(self._setup.search, iteration), "on the chief",
        f"on {self._connection.name}")
    if differences:
      logging.warning(
          "Iteration %d: %s. Start all tasks again, with the same program. "
          "Networks may differ only where layers choose ops for a GPU.",
          iteration.number, "; ".join(differences))

  def raise_if_final(self, error: Exception,
                     it: trainer.IterationTraining) -> None:
    """Raises an error of a session, unless a new session may help.

    Waits a while if the session before had failed, too.

    Args:
      error: a `tf.errors.OpError`.
      it: `IterationTraining`.

    Raises:
      KeyboardInterrupt, SystemExit: a signal asked for a stop before.
      StepTimeoutError: steps take too long.
    """
    # Its own steps: other tasks may train on while one here takes too long.
    num_steps = (sum(it.loop.trained.values()) if it.loop.trained else
                 it.loop.global_step)
    # A fault in the data comes again after as many steps, from the start of the
    # input.
    failure = type(error), num_steps - self._steps_at_failure
    if failure != self._last_failure and failure[1]:
      self._num_failures = 0
    self._steps_at_failure, self._last_failure = num_steps, failure
    self._num_failures += 1
    step = it.loop.global_step
    if self._training.stops.asked is not None:
      logging.error(
          "Stopped at step %d of iteration %d, which is not saved: a parameter "
          "server is lost (%s).", step, self._number, type(error).__name__)
      self._training.stops.raise_asked()
    if not may_reconnect(error, self._num_failures):
      if isinstance(error, tf_compat.v1.errors.DeadlineExceededError):
        raise StepTimeoutError(
            f"iteration {self._number}: step {step} took too long "
            f"{self._num_failures} times, and all parameter servers answer. If "
            "a step may take so long, give the RunConfig a session_config with "
            "a greater operation_timeout_in_ms (default: "
            f"{1000 * cluster_sessions.OPERATION_TIMEOUT_SECS:.0f})") from error
      raise error
    logging.warning(
        "Iteration %d: a parameter server may be lost at step %d (%s: %s).",
        self._number, step, type(error).__name__, runtime.error_line(error))
    self._pause(pause_secs(self._num_failures))

  def _pause(self, secs):
    """Sleeps, at most until a signal asks for a stop."""
    end = time.monotonic() + secs
    while time.monotonic() < end and self._training.stops.asked is None:
      time.sleep(_PAUSE_SECS)


class StoppedWorkers:
  """The files of the workers that train no further."""

  def __init__(self, model_dir: str):
    """Reads nothing yet."""
    self._folder = os.path.join(model_dir, "cluster", "stopped_workers")

  def _of(self, generation):
    return os.path.join(self._folder, str(generation))

  def add(self, generation: int, task: str, ending: ending_lib.Ending) -> None:
    """Records why a task trains no further in a generation.

    Only records an ending that concerns the task alone.
    """
    if ending in (ending_lib.Ending.INPUT_ENDED,
                  ending_lib.Ending.STOP_ASKED):
      files.write_text(os.path.join(
          self._of(generation), task.replace(":", "-")), ending.name)

  def endings(self, generation: int) -> Dict[str, ending_lib.Ending]:
    """Returns dict from each stopped task to why the task trains no further."""
    folder = self._of(generation)
    texts = {name: files.read_text(os.path.join(folder, name))
             for name in files.names(folder)}
    return {name.replace("-", ":"): ending_lib.Ending[text]
            for name, text in texts.items() if text}

  def clear(self) -> None:
    """Removes the files of all earlier generations; for the chief."""
    files.remove_folder(self._folder)


def _trainers(placement, config, count):
  """Returns each subnetwork's workers, and how many workers have ensembles."""
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
    also_trained: tuple of str, the names of subnetworks that both this task, in
      each run, and peers train.
    share_ensembles: whether peers also train this task's ensembles, in turns.
  """

  def __init__(self, setup: setup_lib.SearchSetup,
               connection: connection_lib.Connection,
               iteration: iteration_lib.Iteration, generation: int,
               raise_if_changed: Optional[Callable[[], None]]):
    """Computes which tasks train which subnetworks.

    Args:
      setup: `SearchSetup`.
      connection: `Connection` of this task.
      iteration: `Iteration`.
      generation: int, the generation of the variables.
      raise_if_changed: called while the task waits; None for the chief.
    """
    self._setup = setup
    self._connection = connection
    self._number = iteration.number
    self._generation = generation
    self._raise_if_changed = raise_if_changed or (lambda: None)
    self._stopped_workers = StoppedWorkers(connection.config.model_dir)
    self._steps: Dict[str, int] = {}
    self._file_time = 0.
    self._trainers: Dict[str, List[str]] = {}
    self.share_ensembles = False
    share = iteration.share
    trained: Sequence[int] = ()
    if share.builds_ensemble:
      names = connection.worker_names
      trainers, num_of_ensembles = _trainers(
          setup.placement, setup.config, len(iteration.builder_names))
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
      logging.warning("No worker trains %s.",
                      messages.list_names(self.untrained))

  def _message(self, unfinished):
    """Returns the tasks and the subnetworks that this task waits for."""
    workers = sorted({w for name in unfinished for w in self._trainers[name]})
    unreachable = self._connection.unreachable(workers)
    return "{}{} to train {}, which nobody trains now".format(
        messages.list_names(f"{w} ({self._connection.address(w)})"
                            for w in unreachable or workers),
        ", which do not answer," if len(unreachable) > 1 else
        ", which does not answer," if unreachable else "",
        messages.list_names("{} (at step {})".format(*item)
                            for item in unfinished.items()))

  def wait_until_trained(self, unfinished: Dict[str, int]
                        ) -> Optional[Set[str]]:
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
      return set()
    self._file_time = now
    stopped = set(unfinished).intersection(
        self._setup.model_dir.stopped(self._number, unfinished))
    endings = self._stopped_workers.endings(self._generation)
    for name in set(unfinished) - stopped:
      workers = self._trainers[name]
      if not set(endings).issuperset(workers):
        continue
      stopped.add(name)  # The input of these workers ended.
      for worker in workers:
        if endings[worker] == ending_lib.Ending.STOP_ASKED:
          logging.warning("Training ends: a hook has stopped %s, and no other "
                          "task trains %s.", worker, name)
          return None
    return stopped
