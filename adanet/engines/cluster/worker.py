# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A worker: trains a share of each iteration that the chief announces.

    join     waits until the chief announces a generation: an iteration to
             train, and a new life of the variables
    build    the graph of the share
    wait     until the chief has given all variables their values
    train    until the share is done, or the chief announces another generation.
             The chief finds out whether the iteration is over
    evaluate a part of the candidates, if the chief asks for a part
    end      when the chief says that training is over

A worker keeps nothing for the rest of the cluster: the variables are on the
parameter servers, and the chief restores and saves. What may be lost:

1. A parameter server. A run of the session fails (`tf.errors.OpError`). The
   worker waits until all servers answer. If the servers have kept the
   variables, the worker opens another session and trains on; see
   `Generation.raise_if_final`. Otherwise the chief announces the next
   generation, and the worker builds the graph again and joins.
2. The chief. The worker trains on, as no step needs the chief. When the share
   is done, the worker waits, logs for which task, and gives up after
   `worker_wait_timeout_secs`: `waiting.WaitTimeoutError`. A chief that comes
   back meanwhile keeps the trained steps.
3. Another worker. The rest trains on. Ensembles wait for the subnetworks of the
   lost worker. If the worker stays away, no task trains these subnetworks, and
   `Peers` says so.
4. The worker itself. The trained steps are in the variables. A restarted worker
   joins the announced generation, and starts the input of the share again.
"""

import contextlib
import time

from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import generation as generation_lib
from adanet.engines.cluster import jobs
from adanet.engines.cluster import measuring
from adanet.engines.cluster import shared_evaluation
from adanet.tf_compat import runtime
from adanet.training import ending as ending_lib
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
from adanet.training import trainer


_LOOK_SECS = 1.  # Between two looks for a request of the chief.


class _RequestCancelled(Exception):
  """The chief no longer waits for an answer."""


def train(setup: setup_lib.SearchSetup, request: trainer.Request) -> None:
  """Trains as a worker until training is over.

  Args:
    setup: `SearchSetup`.
    request: `Request`. The chief says how many steps to train.
  """
  with contextlib.closing(connection_lib.connect(
      setup.config, request.wait_timeout_secs)) as connection, (
          chief_client.opened(setup, request, connection.name)) as training:
    Worker(setup, training, connection).train()


class Worker:
  """A task that trains in the chief's generations."""

  def __init__(self, setup: setup_lib.SearchSetup, training: trainer.Training,
               connection: connection_lib.Connection):
    """Does not join a generation yet."""
    self._setup = setup
    self._training = training
    self._connection = connection
    self._chief_client = chief_client.ChiefClient(connection)
    self._stopped_workers = generation_lib.StoppedWorkers(
        connection.config.model_dir)

  def train(self) -> None:
    """Trains the shares of this worker until training is over.

    Raises:
      jobs.StoppedError: the job was stopped.
    """
    generation = 0
    try:
      while True:
        evaluator = EvaluationWorker(
            self._setup, self._connection, generation)
        job_state = self._chief_client.wait_until_announced(
            generation, evaluator.answer_if_asked)
        generation = job_state.generation
        try:
          self._train_generation(job_state)
        except chief_client.GenerationChanged:
          pass
    except jobs.JobFinished as over:
      logging.info("%s ends: %s.", self._connection.name, over)

  def _train_generation(self, job_state):
    """Trains a share of an iteration, at most until the next generation."""
    began = time.time()
    client = self._chief_client
    number, generation = job_state.iteration, job_state.generation
    setup = measuring.placed(self._setup, job_state.measured)
    training = self._training._replace(
        request=self._training.request._replace(
            max_steps=job_state.max_steps,
            deadline=None))  # The chief's counts.
    work = generation_lib.Generation(
        setup, training, self._connection, number, generation)
    with setup.graph(training.request.input_fn, "train", number, work.scope,
                     len(job_state.builders)) as built:
      work.check_search(job_state, built.iteration)
      peers = generation_lib.Peers(
          setup, self._connection, built.iteration, generation,
          lambda: client.raise_if_changed(generation))
      it = trainer.IterationTraining(
          setup, training, built, trained_lib.Start(number, None),
          trainer.TrainingTask(
              self._connection.name, False, work.context._replace(
                  asked_to_stop=lambda: (training.asked_to_stop() or
                                         client.look_for_change(generation)),
                  wait_for=peers.wait_until_trained,
                  untrained=peers.untrained,
                  shares_ensembles=peers.share_ensembles), began))
      client.wait_until_ready(generation)
      work.warn_of_graphs(built.iteration)
      while True:
        client.wait_until_ready(generation)
        try:
          ending = self._train_in_session(it, generation)
          self._connection.wait_until_written(
              lambda: self._stopped_workers.add(
                  generation, self._connection.name, ending))  # pylint: disable=cell-var-from-loop
          return
        except tf_compat.v1.errors.OpError as error:
          work.raise_if_final(error, it)

  def _train_in_session(self, it, generation):
    """Returns the `Ending` of a session: SIGNAL for another generation."""
    with self._connection.session(tf_compat.v1.get_default_graph(),
                                  self._chief_client.look_at_file) as session:
      self._check_variables(it, session, generation)
      with it.initializers.started(session) as coordinator:
        ending = it.train(session, coordinator)
        if ending == ending_lib.Ending.SIGNAL:
          self._training.stops.raise_asked()
        else:
          it.end(session)
    return ending

  def _check_variables(self, it, session, generation):
    missing = it.initializers.unset_variables(session)
    if missing and self._chief_client.look_for_variables(generation):
      raise ValueError(
          "{}: the chief has not made the variable {!r}{}: a builder must make "
          "the same variables, with the same names, on all tasks".format(
              self._connection.name, missing[0],
              f" and {len(missing) - 1} more" * (len(missing) > 1)))


class _Watched:
  """A session that raises `_RequestCancelled` if the chief no longer waits."""

  def __init__(self, session, check):
    self._session = session
    self._check = check

  def __getattr__(self, name):
    return getattr(self._session, name)

  def run(self, *args, **kwargs):
    self._check()
    return self._session.run(*args, **kwargs)


class EvaluationWorker:
  """A waiting worker, which evaluates candidates for the chief."""

  def __init__(self, setup: setup_lib.SearchSetup,
               connection: connection_lib.Connection, generation: int):
    """Reads nothing yet.

    Args:
      setup: `SearchSetup`.
      connection: `Connection` of this task.
      generation: int, the last generation of this worker; 0 for none.
    """
    self._setup = setup
    self._connection = connection
    self._generation = generation
    self._requests = shared_evaluation.EvaluationRequests(
        connection.config.model_dir)
    self._look_time = 0.
    self._last_id = ""

  def answer_if_asked(self) -> bool:
    """Looks once a second for a request, and answers the request.

    Returns:
      Whether there was a request for this task.
    """
    if (not self._generation or  # The chief may not have made the file yet.
        time.monotonic() - self._look_time < _LOOK_SECS):
      return False
    self._look_time = time.monotonic()
    request = self._requests.read()
    if request is None or request.id == self._last_id or not (
        request.job == self._connection.job.text and
        request.generation == self._generation and
        self._connection.name in request.shares):
      return False
    self._last_id = request.id
    self._answer(request)
    return True

  def _answer(self, request):
    """Answers a request, unless the chief cancels the request."""
    connection = self._connection
    share = request.shares[connection.name]
    logging.info("Iteration %d: %s evaluates %s.", request.iteration,
                 connection.name, messages.list_names(share))

    def write(answer):
      connection.wait_until_written(
          lambda: self._requests.write(request, connection.name, answer))

    def check():
      if time.monotonic() - self._look_time >= _LOOK_SECS:
        self._look_time = time.monotonic()
        if not self._requests.is_asked(request):
          raise _RequestCancelled()

    write(shared_evaluation.Answer(is_done=False))
    try:
      answer = shared_evaluation.Answer(shared_evaluation.evaluated(
          self._setup, request, share,
          lambda session: _Watched(session, check)))
    except _RequestCancelled:
      logging.info("%s ends this: the chief does not wait for it any more.",
                   connection.name)
      return
    except Exception as error:  # pylint: disable=broad-except
      logging.warning("%s cannot evaluate %s: %s: %s", connection.name,
                      messages.list_names(share), type(error).__name__, error)
      answer = shared_evaluation.Answer(
          error=f"{type(error).__name__}: {runtime.error_line(error)}")
    write(answer)
