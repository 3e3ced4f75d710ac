# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A worker: trains its share of each iteration that the chief announces.

    follow   waits until the chief announces a generation: an iteration to
             train, and a new life of its variables
    build    the graph of its share
    wait     until the chief has given all variables their values
    train    until the iteration is over, or the chief announces another one
    judge    its part of the candidates, if the chief asks for that
    end      when the chief says that training is over

A worker keeps nothing that others need: the variables are on the parameter
servers, and the chief restores and saves. What it can lose:

1. A parameter server. A run of its session fails (`tf.errors.OpError`). It
   waits until all servers answer. If they have kept their variables, it opens
   another session and trains on; see `Generation.raise_if_final`. Else it sees
   the chief's next generation, builds its graph again, and joins that.
2. The chief. It trains on, as nobody needs the chief for a step. When the
   iteration is over it waits, logs for whom, and gives up after
   `worker_wait_timeout_secs`: `waiting.WaitTimeoutError`. A chief that comes
   back meanwhile finds what was trained.
3. Another worker. It trains on. Ensembles wait for the subnetworks of the
   other; when it is away for good, nobody trains these, and `others` says so.
4. Itself. Its steps are in the variables. Started again, it joins the
   generation that is announced, and the input of its share begins anew.
"""

import time

from adanet import log as logging
from adanet import tf_compat
from adanet.cluster import connection as connection_lib
from adanet.cluster import ended
from adanet.roles import following
from adanet.roles import generation as generation_lib
from adanet.roles import judging
from adanet.roles import measuring
from adanet.roles import others as others_lib
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib
from adanet.training import trainer


def train(model: model_lib.Model, request: trainer.Request) -> None:
  """Trains as a worker until training is over.

  Args:
    model: `Model`.
    request: `Request`. How many steps there are, the chief says.
  """
  connection = connection_lib.connect(
      model.config, request.wait_timeout_secs)
  with following.opened(model, request, connection.name) as training:
    Worker(model, training, connection).train()


class Worker:
  """A task that follows the chief."""

  def __init__(self, model: model_lib.Model, training: trainer.Training,
               connection: connection_lib.Connection):
    """Has joined no generation yet."""
    self._model = model
    self._training = training
    self._connection = connection
    self._follower = following.Follower(connection)

  def train(self) -> None:
    """Trains its shares until training is over.

    Raises:
      ended.StoppedError: the job was stopped.
    """
    generation = 0
    try:
      while True:
        judge = judging.Judge(self._model, self._connection, generation)
        agreed = self._follower.wait_until_announced(
            generation, judge.answer_if_asked)
        generation = agreed.generation
        try:
          self._train_generation(agreed)
        except following.Moved:
          pass
    except ended.Over as over:
      logging.info("%s ends: %s.", self._connection.name, over)

  def _train_generation(self, agreed):
    """Trains its share of an iteration.

    Raises:
      following.Moved: there is another generation.
    """
    began = time.time()
    follower = self._follower
    number, generation = agreed.iteration, agreed.generation
    model = measuring.placed(self._model, measuring.agreed_figures(agreed))
    training = self._training._replace(
        request=self._training.request._replace(
            max_steps=agreed.max_steps, deadline=None))  # The chief's counts.
    work = generation_lib.Generation(
        model, training, self._connection, number, generation)
    with model.graph(
        training.request.input_fn, "train", number, work.scope) as built:
      work.check_builders(agreed, built.iteration)
      others = others_lib.Others(
          model, self._connection, built.iteration, generation,
          lambda: follower.raise_if_moved(generation))
      it = trainer.IterationTraining(
          model, training, built, trainer.Start(number, None),
          trainer.TrainingTask(
              self._connection.name, False, work.surroundings._replace(
                  asked_to_stop=lambda: (training.asked_to_stop() or
                                         follower.look_for_move(generation)),
                  wait_for=others.wait_until_trained,
                  untrained=others.untrained,
                  shares_ensembles=others.share_ensembles), began))
      while True:
        follower.wait_until_ready(generation)
        try:
          self._train_in_session(it, generation)
          return
        except tf_compat.v1.errors.OpError as error:
          work.raise_if_final(error, it)

  def _train_in_session(self, it, generation):
    """Trains in one session, until it fails or there is no more to do."""
    with self._connection.session(tf_compat.v1.get_default_graph(),
                                  self._follower.look_at_file) as session:
      self._check_variables(it, session, generation)
      with it.initializers.started(session) as coordinator:
        ending = it.train(session, coordinator)
        if ending == loop_lib.Ending.SIGNAL:
          self._training.stops.raise_asked()
          return  # To another generation.
        it.end(session)
    if ending == loop_lib.Ending.INPUT_ENDED:
      self._connection.wait_until_written(
          lambda: self._connection.departures.leave(
              generation, self._connection.name))

  def _check_variables(self, it, session, generation):
    missing = it.initializers.unset_variables(session)
    if missing and self._follower.look_for_variables(generation):
      raise ValueError(
          "{}: the chief has not made the variable {!r}{}: a builder must make "
          "the same variables, with the same names, on all tasks".format(
              self._connection.name, missing[0],
              f" and {len(missing) - 1} more" * (len(missing) > 1)))
