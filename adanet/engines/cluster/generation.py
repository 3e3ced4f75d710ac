# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A generation: one life of the variables on the parameter servers.

Each iteration is a new one, and so is each restore of a checkpoint. Its
variables have a container of their own, so that a task which is late cannot
change the next one's.
"""

import contextlib
import time
from typing import Dict, Iterator, Optional, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet.core import events
from adanet.core import fingerprint
from adanet.core import iteration as iteration_lib
from adanet.distributed import devices
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import decisions
from adanet.engines.cluster import job_state as job_state_lib
from adanet.engines.cluster import sessions as cluster_sessions
from adanet.tf_compat import error_text
from adanet.training import loop_context
from adanet.training import model as model_lib
from adanet.training import trainer

_POLL_SECS = .1


def search_of(model: model_lib.Model) -> Dict[str, str]:
  """Returns what all tasks must have alike; see `JobState`."""
  found = fingerprint.of(model.search, None)
  return {name: str(getattr(found, name)) for name in (
      "head", "ensemblers", "ensemble_strategies", "max_iteration_steps")}


class Generation:
  """The part of a generation's training that the chief and workers share.

  Attributes:
    context: `LoopContext` of the loop.
  """

  def __init__(self, model: model_lib.Model, training: trainer.Training,
               connection: connection_lib.Connection, number: int,
               generation: int):
    """Watches the steps of one generation.

    Args:
      model: `Model`.
      training: `Training`.
      connection: `Connection`.
      number: int, the iteration's.
      generation: int.
    """
    self._model = model
    self._training = training
    self._connection = connection
    self._number = number
    self._generation = generation
    self._num_failures = 0
    self._steps_at_failure = 0
    self._last_failure: Optional[Tuple[type, int]] = None
    self._works = False
    self.context = loop_context.LoopContext(
        self._report, self._mark_stopped, training.asked_to_stop)

  def _report(self, event):
    if isinstance(event, events.Progress) and not self._works:
      self._works = True
      self._training.report(events.Working(self._connection.name))
    self._training.report(event)

  def _mark_stopped(self, name, reason, step):
    self._connection.wait_until_written(
        lambda: self._model.model_dir.mark_stopped(
            self._number, name, reason, step))

  @contextlib.contextmanager
  def scope(self) -> Iterator[None]:
    """Enters the devices and the container of this generation."""
    v1 = tf_compat.v1
    num_ps = self._model.config.num_ps_replicas
    setter = v1.train.replica_device_setter(
        ps_tasks=num_ps, worker_device=self._connection.device,
        ps_strategy=devices.OpNameHashStrategy(num_ps))
    container = self._connection.container(self._generation)
    with v1.get_default_graph().container(container), v1.device(setter):
      yield

  def check_search(self, job_state: job_state_lib.JobState,
                   iteration: iteration_lib.Iteration) -> None:
    """Checks that this task has the search, and the builders, of the chief."""
    own = search_of(self._model)
    for name, value in job_state.search.items():
      if own.get(name, value) != value:
        raise ValueError(
            f"iteration {iteration.number}: {name} is {own[name]} on "
            f"{self._connection.name}, and {value} on the chief: start all "
            "tasks again, with the same program")
    if iteration.builder_names != job_state.builders:
      raise ValueError(
          f"iteration {iteration.number}: subnetwork_generator makes the "
          f"builders {list(iteration.builder_names)} on "
          f"{self._connection.name}, and {list(job_state.builders)} on the "
          "chief: it must make the same on all tasks, and again after a "
          "restart")

  def raise_if_final(self, error: Exception,
                     it: trainer.IterationTraining) -> None:
    """Raises an error of a session, unless another session may help.

    It waits a while if the session before had failed, too.

    Args:
      error: a `tf.errors.OpError`.
      it: `IterationTraining`.

    Raises:
      KeyboardInterrupt, SystemExit: a signal asked for a stop before.
      decisions.StepTimeoutError: steps take too long.
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
    if not decisions.may_reconnect(error, self._num_failures):
      if isinstance(error, tf_compat.v1.errors.DeadlineExceededError):
        raise decisions.StepTimeoutError(
            f"iteration {self._number}: step {step} took too long "
            f"{self._num_failures} times, and all parameter servers answer. If "
            "a step may take so long, give the RunConfig a session_config with "
            "a greater operation_timeout_in_ms (default: "
            f"{1000 * cluster_sessions.OPERATION_TIMEOUT_SECS:.0f})") from error
      raise error
    logging.warning(
        "Iteration %d: a parameter server may be lost at step %d (%s: %s).",
        self._number, step, type(error).__name__, error_text.first_line(error))
    self._pause(decisions.pause_secs(self._num_failures))

  def _pause(self, secs):
    """Sleeps, at most until a signal asks for a stop."""
    end = time.monotonic() + secs
    while time.monotonic() < end and self._training.stops.asked is None:
      time.sleep(_POLL_SECS)
