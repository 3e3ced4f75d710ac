# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The chief of a cluster: it announces, saves, chooses winners, ends the job.

The variables are on the parameter servers. A *generation* is one life of them:
each iteration begins a new one, and so does each restore from a checkpoint. The
*agreement* is a file in the model_dir, and a *board* a few variables on each
parameter server: both tell the other tasks the state of the generation:

    announced    its number is in the agreement and on the boards; its variables
                 have no values yet
    ready        all variables have their values, and the boards say so; the
                 chief and the workers train
    over         the chief has saved the last checkpoint of the iteration; all
                 judge the candidates, if there is an evaluator, and make the
                 reports. It chooses the winner, and announces the next
                 iteration
    lost         a parameter server has lost its variables; the chief announces
                 another generation, from the latest checkpoint

At the end the agreement says that the job is OVER or STOPPED, and all tasks
end.

When a parameter server is lost in the middle of an iteration:

1. A run of the chief's session fails (`tf.errors.OpError`): at once if the
   server was killed, after 60 s if it hangs. See `_train_in_sessions`.
2. The chief waits until the servers answer, and logs for which it waits. After
   `worker_wait_timeout_secs` it gives up: `waiting.WaitTimeoutError`. If a
   signal has asked for a stop before, the chief ends now, without saving.
3. If all have kept their variables (it was the network), it opens another
   session and trains on. Nothing is lost. When that fails 4 times without a
   step in between, the servers are not the cause, and the error is raised.
4. If one was started again, its variables are gone: the generation is lost, and
   `_VariablesLostError` ends it. `_train_iterations` then announces another
   generation, whose variables, on all servers, get the values of the latest
   checkpoint. The steps since then are trained again. The workers see the new
   generation on the boards, and join it.

When the chief itself is lost, the workers train on. A restarted chief goes on
with their generation, if all servers have kept its variables and it would train
the same. Otherwise it announces another one, as in 4. A signal that comes
meanwhile waits: what the workers have trained is saved first.
"""

import contextlib
import time

from adanet import log as logging
from adanet import tf_compat
from adanet.cluster import addresses
from adanet.cluster import agreement as agreement_lib
from adanet.cluster import board as board_lib
from adanet.cluster import connection as connection_lib
from adanet.cluster import decisions
from adanet.cluster import lock
from adanet.cluster import shared_files
from adanet.roles import generation as generation_lib
from adanet.roles import judging
from adanet.roles import leading
from adanet.roles import measuring
from adanet.roles import others as others_lib
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib
from adanet.training import recording
from adanet.training import trainer

_POLL_SECS = .1  # Between two looks at the boards.
_FILE_SECS = 1.  # Between two reads of a file.
# How long a chief waits for parameter servers if the job seems to be over. They
# will know by then.
_OVER_SECS = 35.
# How long a chief that was asked to stop may take to go on with a generation,
# and save it. Parameter servers stay as long.
_TAKE_OVER_SECS = 8.


class _VariablesLostError(Exception):
  """A parameter server has lost the variables of a generation."""


def train(model: model_lib.Model, request: trainer.Request) -> None:
  """Trains as the chief until the search is over, and ends the job.

  Args:
    model: `Model`.
    request: `Request`.
  """
  connection = connection_lib.connect(
      model.config, request.wait_timeout_secs)
  request, over = leading.resolved(model, request)
  if over is not None:
    with lock.owned(model.model_dir.path):
      _end(connection, agreement_lib.State.OVER, over)
    return
  with leading.opened(model, request) as training:
    Chief(model, training, connection).train()


class Chief:
  """The task that leads. Its methods are in the order of time."""

  def __init__(self, model: model_lib.Model, training: trainer.Training,
               connection: connection_lib.Connection):
    """Announces nothing yet."""
    self._model = model
    self._training = training
    self._connection = connection
    self._has_checked_files = False
    self._deferred = contextlib.ExitStack()  # Signals, to take over.
    self._late_time = float("inf")

  # Start.

  def train(self) -> None:
    """Trains until the search is over, and ends the job."""
    if self._wait_until_known_to_be_over():
      logging.info("Skipped training: the job is over already.")
      return
    try:
      with self._deferred:
        reason = self._train_iterations()
    except (KeyboardInterrupt, SystemExit):
      _end(self._connection, agreement_lib.State.STOPPED,
           "the chief was asked to stop")
      raise
    _end(self._connection, agreement_lib.State.OVER, reason)

  def _wait_until_known_to_be_over(self):
    """Returns whether this chief was restarted after the end of its job.

    A new job may have the same id as one that is over. Then parameter servers
    run, or start soon. So this waits for them for a while.
    """
    connection = self._connection
    end = time.monotonic() + _OVER_SECS
    while True:
      agreed = connection.file.read()
      if connection.job_state.after(agreed) == agreement_lib.State.OVER:
        return True
      if (agreed is None or agreed.state != agreement_lib.State.OVER or
          not connection.job.is_of(agreed) or
          agreed.max_steps != self._training.request.max_steps or
          time.monotonic() >= end or
          len(addresses.silent(connection.servers)) < len(connection.servers)):
        return False
      time.sleep(_FILE_SECS)

  def _train_iterations(self):
    """Trains one generation after the other; returns why training is over."""
    start = leading.latest_start(self._model)
    agreed = self._connection.file.read()
    oldest = generation = agreed.generation if agreed else 0
    is_ready = self._may_take_over(start, agreed)
    while isinstance(start, trainer.Start):
      if not is_ready:
        generation += 1
      try:
        trained = self._train_generation(start, generation, is_ready)
        if self._connection.free(range(oldest, generation)):
          oldest = generation
        start = leading.after_iteration(self._model, self._training, trained)
      except _VariablesLostError as lost:
        logging.warning("%s", lost)
        self._end_takeover()
        start = leading.latest_start(self._model)
      is_ready = False
    return start

  def _may_take_over(self, latest, agreed):
    """Returns whether to train on in the generation of the chief before.

    Args:
      latest: `Start`, from the latest checkpoint.
      agreed: `Agreement` that the chief before has written, or None.
    """
    figures = self._known_figures(latest.number)
    if (agreed is None or figures is None or
        not decisions.may_go_on(agreed, self._agreement(
            latest.number, agreed.builders, agreed.generation,
            measuring.agreed_figures(agreed)))):
      return False
    self._deferred.enter_context(self._training.stops.deferred())
    if self._wait_until_servers_answer(agreed.generation):
      return True
    self._end_takeover()
    return False

  def _look_at_takeover(self):
    """Ends a takeover that was asked to stop, if it takes too long."""
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
    """Lets signals end this task at once again, also one that has come."""
    self._deferred.close()
    self._training.stops.raise_asked()

  # Announce.

  def _train_generation(self, start, generation, is_ready):
    """Trains an iteration.

    Args:
      start: `Start`.
      generation: int, that of its variables.
      is_ready: whether all variables have their values already.

    Returns:
      `Trained`.

    Raises:
      _VariablesLostError: a parameter server lost its variables.
    """
    began = time.time()
    figures = self._figures(start, is_ready)
    model = measuring.placed(self._model, figures)
    work = generation_lib.Generation(
        model, self._training, self._connection, start.number, generation)
    with model.graph(self._training.request.input_fn, "train", start.number,
                     work.scope) as built:
      _check_share(built.iteration, model.placement)
      if is_ready:
        work.check_builders(self._connection.file.read(), built.iteration)
      others = others_lib.Others(
          model, self._connection, built.iteration, generation,
          raise_if_moved=None)
      it = trainer.IterationTraining(
          model, self._training, built, start, trainer.TrainingTask(
              self._connection.name, True, work.surroundings._replace(
                  wait_for=others.wait_until_trained,
                  untrained=others.untrained,
                  shares_ensembles=others.share_ensembles), began))
      if not is_ready:
        self._announce(self._agreement(
            start.number, built.iteration.builder_names, generation, figures))
      trained = self._train_in_sessions(it, work, generation, is_ready)
    return judging.judged_by_all(
        self._model, self._connection, built.iteration,
        figures.costs or built.iteration.builder_costs, trained._replace(
            generation=generation, costs=recording.costs(
                built.iteration, figures.costs, figures.sizes)))

  def _known_figures(self, number):
    """Returns what this job has measured of an iteration, or None."""
    return measuring.known(
        self._connection.file.read(), self._agreement(number, (), 0),
        self._model.placement)

  def _figures(self, start, is_ready):
    """Returns what the strategy wants to know of an iteration's candidates."""
    known = None
    # Before the first checkpoint, a restart may bring other builders.
    if is_ready or start.checkpoint is not None:
      known = self._known_figures(start.number)
    if known is None and measuring.is_wanted(self._model.placement):
      known = measuring.measure(
          self._model, self._training.request.input_fn, start.number)
    return known or measuring.Figures()

  def _agreement(self, number, builders, generation,
                 figures=measuring.Figures()):
    config = self._model.config
    return agreement_lib.Agreement(
        job=self._connection.job.text, generation=generation, iteration=number,
        builders=builders, num_workers=config.num_worker_replicas,
        num_ps=config.num_ps_replicas, strategy=repr(self._model.placement),
        max_steps=self._training.request.max_steps, **figures._asdict())

  def _announce(self, agreement):
    """Writes an agreement, and tells the boards that there is another one."""
    connection = self._connection
    connection.departures.clear()
    connection.wait_until_written(connection.questions.clear)
    connection.wait_until_written(lambda: connection.file.write(agreement))
    for one in connection.boards:
      one.write_model_dir(board_lib.CHIEF, connection.model_dir)
    connection.write_boards(board_lib.Notice(agreement.generation, ready=0))

  def _check_files(self, generation):
    """Checks once that all parameter servers see the chief's files.

    Raises:
      shared_files.SharedFilesError: one does not.
      tf.errors.OpError: one is lost.
    """
    if self._has_checked_files:
      return
    connection = self._connection
    check = shared_files.Check(connection.config.model_dir, connection.servers)
    with connection.session(check.graph) as session:
      check.wait_until_seen(
          session, generation,
          lambda ps: connection.boards[ps].model_dir(board_lib.SERVER),
          connection.wait("see what it prints"))
    self._has_checked_files = True

  def _make_ready(self, generation):
    """Says that all variables have their values: the workers begin."""
    if not self._connection.write_boards(
        board_lib.Notice(generation, ready=generation)):
      raise _VariablesLostError("A parameter server is lost at the start.")

  # Train.

  def _train_in_sessions(self, it, work, generation, is_ready):
    """Trains in one session after the other, until one comes to the end.

    Here the chief finds out that a parameter server is lost.

    Args:
      it: `IterationTraining`.
      work: `Generation`.
      generation: int, its number.
      is_ready: whether all variables have their values already.

    Returns:
      `Trained`.

    Raises:
      _VariablesLostError: a parameter server lost its variables.
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
              it.begin(session)
              has_begun = True
            if not is_ready:
              self._make_ready(generation)
              is_ready = True
            ending = it.train(session, coordinator)
            self._deferred.close()
            if ending == loop_lib.Ending.SIGNAL:
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
    """Waits for the parameter servers, until it is known what they have.

    Returns:
      Whether all have kept the variables of a generation.
    """
    wait = self._connection.wait("start it, or see what it prints")
    while True:
      self._look_at_takeover()
      ready = [None if notice is None else notice.ready
               for notice in self._connection.read_boards()]
      has_lost = decisions.have_lost(ready, generation)
      if has_lost or None not in ready:
        wait.done()
        return not has_lost
      silent = [f"ps:{i}" for i, found in enumerate(ready) if found is None]
      wait.pause(_POLL_SECS, lambda: connection_lib.named(
          {name: self._connection.address(name) for name in silent}))  # pylint: disable=cell-var-from-loop


def _check_share(iteration, placement):
  """Checks that the chief builds all that a checkpoint must have."""
  share, count = iteration.share, len(iteration.builder_names)
  if not share.builds_ensemble or len(share.subnetworks) < count:
    raise ValueError(
        f"placement_strategy={placement!r}: the chief must build the ensemble "
        f"and all {count} subnetworks, because it writes the checkpoints: let "
        "should_build_ensemble and should_build_subnetwork return True for "
        "worker 0")


# End.


def _end(connection, state, reason):
  """Ends the job: all tasks leave.

  Args:
    connection: `Connection`.
    state: `State`, over or stopped.
    reason: str, why.
  """
  agreed = connection.file.read()

  def announce():
    return connection.file.announce(
        connection.job.text, num_workers=connection.config.num_worker_replicas,
        num_ps=connection.config.num_ps_replicas,
        max_steps=agreed.max_steps if agreed else None, state=state,
        reason=reason)

  # There is no time to wait when a signal asked for the end.
  generation = (announce() if state == agreement_lib.State.STOPPED else
                connection.wait_until_written(announce))
  connection.write_boards(board_lib.Notice(generation, ready=0))
  connection.questions.remove()  # A late worker may have written an answer.
  for one in connection.boards:
    one.close()
