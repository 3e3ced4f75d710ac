# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The chief of a cluster: announces, trains, saves, and ends the job.

The variables are on the parameter servers. A *generation* is one life of the
variables: each iteration and each restore from a checkpoint begins a new
generation. The *job state* is a file in the model_dir, `job_state.json`, and a
*status board* a few variables on each parameter server. The job state and the
boards tell all tasks that a generation is announced, and ready:

    announced    the number is in the job state and on the status boards; the
                 variables have no values yet
    ready        all variables have values, and the status boards say so; the
                 chief and the workers train
    trained      the chief's `training.loop` says so, and has saved the last
                 checkpoint. `search/loop`, in the chief alone, decides: chief
                 and workers compute the values, logits or reports for the
                 decision. The next `ChiefEngine.train` announces the next
                 iteration
    lost         a parameter server has lost variables; the chief announces
                 another generation, from the latest checkpoint

The chief's `training.loop` waits for subnetworks of the chief's ensembles that
only workers train; see `Peers`. A subnetwork whose workers have no further
input counts as done, and the iteration may have a winner. If a user's hook
stopped such a worker, training ends without a winner; see `StoppedWorkers`.
Training also ends without a winner when the chief's input has ended and the
chief waits for no task. Only the chief looks at `max_seconds`.

At the end the job state says that the job is OVER or STOPPED, and all tasks
end. After an error, all tasks wait for a restart of the chief. If the program
trains again, a new job begins, see `jobs`: the servers stay, and the variables
of the last generation are freed when the next generation has trained.

When a parameter server is lost in the middle of an iteration:

1. A run of the chief's session fails (`tf.errors.OpError`): at once if the
   server was killed, after 60 s if it hangs. See `_train_in_sessions`.
   If a signal has asked for a stop before, the chief now ends without saving.
2. The chief waits until the servers answer, and logs for which servers. After
   `worker_wait_timeout_secs` the chief gives up: `waiting.WaitTimeoutError`.
3. If all servers have kept the variables (the network failed), the chief opens
   another session and trains on. Nothing is lost. After more than
   `generation.MAX_FAILURES` failures without a step in between, the error is
   raised.
4. If a server was restarted, the variables are gone: the generation is lost,
   and `_VariablesLostError` ends the generation. `train` then announces another
   generation. All variables, on all servers, get the values of the latest
   checkpoint. The later steps are trained again. The workers see the new
   generation on the status boards, and join.

When the chief itself is lost, the workers train on. A restarted chief continues
the generation, if all servers have kept the variables and the chief would train
the same. Otherwise the chief announces another generation, as in 4. A signal
that comes meanwhile waits: the workers' steps are saved first.
"""

import contextlib
import time
from typing import Any, ContextManager, Dict, Iterator, List, Optional, Sequence

from adanet import log as logging
from adanet import tf_compat
from adanet.core import fingerprint
from adanet.engines import engine
from adanet.engines import lock
from adanet.engines.cluster import announcements
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import generation as generation_lib
from adanet.engines.cluster import jobs
from adanet.engines.cluster import measuring
from adanet.engines.cluster import shared_evaluation
from adanet.training import ending as ending_lib
from adanet.training import recorded_logits
from adanet.training import recording
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
from adanet.training import trainer

_POLL_SECS = .1  # Between two looks at the boards.
# How long a chief that was asked to stop may take to go on with a generation,
# and save it. Parameter servers stay as long.
_TAKE_OVER_SECS = 8.

# The containers that earlier jobs of this process have left.
_left: List[str] = []


class _VariablesLostError(Exception):
  """A parameter server has lost the variables of a generation."""


class ChiefEngine(engine.Engine):
  """Trains with the workers and parameter servers of a cluster."""

  _training: trainer.Training
  _evaluation: shared_evaluation.SharedEvaluation

  def __init__(self, setup: setup_lib.SearchSetup,
               connection: connection_lib.Connection):
    """Announces nothing yet."""
    super().__init__(setup)
    self._connection = connection
    self._stopped_workers = generation_lib.StoppedWorkers(
        connection.config.model_dir)
    self._requests = shared_evaluation.EvaluationRequests(
        connection.config.model_dir)
    self._generation: Optional[int] = None
    self._oldest = 0  # The first generation whose variables may be left.
    self._has_checked_files = False
    self._deferred = contextlib.ExitStack()  # Signals, to take over.
    self._late_time = float("inf")

  @contextlib.contextmanager
  def opened(self, request: trainer.Request) -> Iterator[trainer.Training]:
    with self.opened_here(request) as self._training:
      if self._connection.wait_until_known_to_be_over(request.max_steps):
        raise engine.AlreadyOverError()
      self._announce_return()
      with self._deferred:
        yield self._training

  def _announce_return(self):
    """Announces that a job resumes, before the first graph is built."""
    connection = self._connection
    job_state = connection.file.read()
    if job_state is not None and not job_state.is_training and (
        connection.job.is_of(job_state)):
      self._oldest = job_state.generation
      self._generation = connection.wait_until_written(
          lambda: self._change_state(self._training.request.max_steps))

  def _change_state(self, max_steps, *state_and_reason):
    config = self._connection.config
    return self._connection.file.announce(
        self._connection.job.text, config.num_worker_replicas,
        config.num_ps_replicas, max_steps, *state_and_reason)

  def train(self, start: trained_lib.Start) -> trained_lib.TrainedIteration:
    """See `Engine`. Trains one generation after the other."""
    is_ready = False
    if self._generation is None:
      job_state = self._connection.file.read()
      self._oldest = self._generation = job_state.generation if job_state else 0
      is_ready = self._may_take_over(start, job_state)
    while True:
      if not is_ready:
        self._generation += 1
      try:
        trained = self._train_generation(start, self._generation, is_ready)
        break
      except _VariablesLostError as lost:
        logging.warning("%s", lost)
        self._end_takeover()
        start = self._from_latest_checkpoint(start)
      is_ready = False
    if self._connection.free(_left + self._containers(self._generation)):
      self._oldest = self._generation
      del _left[:]
    return trained

  def _containers(self, end):
    """Returns the containers of earlier generations that may be left."""
    return [self._connection.container(i) for i in range(self._oldest, end)]

  def _from_latest_checkpoint(self, start):
    """Returns a `Start` of the same iteration, from the latest checkpoint."""
    model_dir = self.setup.model_dir
    checkpoint = model_dir.latest_checkpoint()
    model_dir.remove_temporary_files()
    if checkpoint is None or (
        model_dir.current_iteration(checkpoint) != start.number):
      return start  # The iteration has not saved one.
    return start._replace(checkpoint=checkpoint, starts_iteration=False)

  def _may_take_over(self, latest, job_state):
    """Returns whether to train on in the generation before the restart."""
    if latest.starts_iteration:  # No server has its variables.
      return False
    measured = self._known_measurements(latest.number)
    if (job_state is None or measured is None or
        not generation_lib.may_take_over(job_state, self._job_state(
            latest.number, job_state.builders, job_state.generation,
            job_state.measured))):
      return False
    self._deferred.enter_context(self._training.stops.deferred())
    if self._wait_until_servers_answer(job_state.generation):
      return True
    self._end_takeover()
    return False

  def _look_at_takeover(self):
    """Ends a takeover that takes too long after a request to stop."""
    if not self._training.asked_to_stop():
      return
    now = time.monotonic()
    self._late_time = min(self._late_time, now + _TAKE_OVER_SECS)
    if now >= self._late_time:
      logging.error(
          "Stopped before all parameter servers have answered: what was "
          "trained since the last checkpoint is lost.")
      self._training.stops.raise_asked()

  def _end_takeover(self):
    """Lets signals end this task at once again, also an earlier signal."""
    self._deferred.close()
    self._training.stops.raise_asked()

  # Announce.

  def _train_generation(self, start, generation, is_ready):
    """Trains an iteration; returns a `TrainedIteration`.

    Args:
      start: `Start`.
      generation: int, the generation of the variables.
      is_ready: whether all variables have values already.
    """
    began = time.time()
    measured = self._measurements(start, is_ready)
    setup = measuring.placed(self.setup, measured)
    work = generation_lib.Generation(
        setup, self._training, self._connection, start.number, generation)
    with setup.graph(self._training.request.input_fn, "train", start.number,
                     work.scope) as built:
      _check_share(built.iteration, setup.placement)
      if is_ready:
        work.check_search(self._connection.file.read(), built.iteration)
      peers = generation_lib.Peers(
          setup, self._connection, built.iteration, generation,
          raise_if_changed=None)
      it = trainer.IterationTraining(
          setup, self._training, built, start, trainer.TrainingTask(
              self._connection.name, True, work.context._replace(
                  wait_for=peers.wait_until_trained,
                  untrained=peers.untrained,
                  also_trained=peers.also_trained,
                  shares_ensembles=peers.share_ensembles), began))
      if not is_ready:
        self._announce(self._job_state(
            start.number, built.iteration.builder_names, generation, measured))
      trained = self._train_in_sessions(it, work, generation, is_ready)
    self._evaluation = shared_evaluation.SharedEvaluation(
        self.setup, self._connection, built.iteration,
        measured.costs or built.iteration.builder_costs, generation,
        self._requests)
    return trained._replace(generation=generation, costs=recording.costs(
        built.iteration, measured.costs, measured.sizes))

  def _known_measurements(self, number):
    """Returns this job's measurements of an iteration, or None."""
    return measuring.known(
        self._connection.file.read(), self._job_state(number, (), 0),
        self.setup.placement)

  def _measurements(self, start, is_ready):
    """Returns the measurements that the strategy asks for."""
    known = None
    # Before its first checkpoint, a restart may bring other builders.
    if is_ready or not (start.checkpoint is None or start.starts_iteration):
      known = self._known_measurements(start.number)
    if known is None and measuring.is_wanted(self.setup.placement):
      known = measuring.measure(
          self.setup, self._training.request.input_fn, start.number)
    return known or jobs.Measurements()

  def _job_state(self, number, builders, generation,
                 measured=jobs.Measurements()):
    config = self.setup.config
    return jobs.JobState(
        job=self._connection.job.text, generation=generation, iteration=number,
        builders=builders, num_workers=config.num_worker_replicas,
        num_ps=config.num_ps_replicas, strategy=repr(self.setup.placement),
        max_steps=self._training.request.max_steps,
        measured=measured, search=fingerprint.of(self.setup.search).arguments)

  def _announce(self, job_state):
    """Writes a job state, and announces the new generation on the boards."""
    connection = self._connection
    self._stopped_workers.clear()
    connection.wait_until_written(self._requests.clear)
    connection.wait_until_written(lambda: connection.file.write(job_state))
    for board in connection.status_boards:
      board.write_model_dir(announcements.CHIEF, connection.model_dir)
    connection.write_status_boards(
        announcements.GenerationStatus(job_state.generation, ready=0))

  def _check_files(self, generation):
    """Checks once that all parameter servers see the chief's files."""
    if self._has_checked_files:
      return
    connection = self._connection
    check = announcements.SharedFilesCheck(
        connection.config.model_dir, connection.servers)
    with connection.session(check.graph) as session:
      check.wait_until_seen(
          session, generation,
          lambda ps: connection.status_boards[ps].model_dir(
              announcements.SERVER),
          connection.wait("see what it prints"))
    self._has_checked_files = True

  def _make_ready(self, generation):
    """Announces that all variables have values: the workers begin."""
    if not self._connection.write_status_boards(
        announcements.GenerationStatus(generation, ready=generation)):
      raise _VariablesLostError("A parameter server is lost at the start.")

  # Train.

  def _train_in_sessions(self, it, work, generation, is_ready):
    """Trains in one session after the other, until training ends.

    Here the chief finds out that a parameter server is lost. See
    `_train_generation`.
    """
    graph = tf_compat.v1.get_default_graph()
    has_begun = False
    while True:
      try:
        # It waits until all parameter servers answer.
        with self._connection.session(
            graph, self._look_at_takeover) as session:
          if not is_ready:
            self._check_files(generation)
            it.initializers.set_variables(session)
          with it.initializers.started(session) as coordinator:
            if not has_begun or not is_ready:
              it.begin(session, is_taken_over=is_ready)
              has_begun = True
            if not is_ready:
              self._make_ready(generation)
              is_ready = True
            ending = it.train(session, coordinator)
            self._deferred.close()
            if ending == ending_lib.Ending.SIGNAL:
              self._training.stops.raise_asked()
            it.end(session)
            return it.trained(session, ending)
      except tf_compat.v1.errors.OpError as error:
        work.raise_if_final(error, it)
        if is_ready and not self._wait_until_servers_answer(generation):
          raise _VariablesLostError(
              "A parameter server has lost its variables: the last checkpoint "
              "is restored.") from error

  def _wait_until_servers_answer(self, generation):
    """Waits for the servers; returns whether all servers kept the variables."""
    wait = self._connection.wait("start it, or see what it prints")
    while True:
      self._look_at_takeover()
      ready = [status and status.ready for status in (
          board.read() for board in self._connection.status_boards)]
      has_lost = generation_lib.have_lost(ready, generation)
      if has_lost or None not in ready:
        wait.done()
        return not has_lost
      lost = [f"ps:{i}" for i, number in enumerate(ready) if number is None]
      wait.pause(_POLL_SECS, lambda: connection_lib.named(
          {name: self._connection.address(name) for name in lost}))  # pylint: disable=cell-var-from-loop

  # Evaluate.

  def values(self, candidates: trained_lib.Candidates) -> Dict[str, float]:
    return self._evaluation.values(candidates)

  def logits(self, candidates: trained_lib.Candidates
            ) -> ContextManager[recorded_logits.RecordedLogits]:
    return self._evaluation.logits(candidates)

  def reports(self, candidates: trained_lib.Candidates,
              included: Sequence[str]) -> List[Any]:
    return self._evaluation.reports(candidates, included)

  # End.

  def skipped(self, request: trainer.Request, reason: str) -> None:
    with lock.owned(self.setup.model_dir.path):
      if self._connection.is_followed(self._connection.file.read()):
        return
      self.finished(engine.SearchOutcome.OVER, reason)

  def finished(self, outcome: engine.SearchOutcome, reason: str) -> None:
    """See `Engine`. All tasks leave."""
    connection = self._connection
    job_state = connection.file.read()

    def announce():
      return self._change_state(
          job_state.max_steps if job_state else None,
          jobs.State(outcome.value), reason)

    # There is no time to wait when a signal asked for the end.
    generation = (announce() if outcome == engine.SearchOutcome.STOPPED else
                  connection.wait_until_written(announce))
    connection.write_status_boards(
        announcements.GenerationStatus(generation, ready=0))
    # A late worker may have written an answer.
    self._requests.remove()
    connection.close()
    if self._generation is not None:
      _left.extend(self._containers(self._generation + 1))


def _check_share(iteration, placement):
  """Checks that the chief builds all variables of a checkpoint."""
  share, count = iteration.share, len(iteration.builder_names)
  if not share.builds_ensemble or len(share.subnetworks) < count:
    raise ValueError(
        f"placement_strategy={placement!r}: the chief must build the ensemble "
        f"and all {count} subnetworks, because it writes the checkpoints: let "
        "should_build_ensemble and should_build_subnetwork return True for "
        "worker 0")
