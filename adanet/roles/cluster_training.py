# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a chief, a worker and a parameter server do to train a search.

The chief leads: it restores and saves, and chooses the winners. A worker
follows what the chief announces. Both go on after a parameter server was lost;
see `adanet.cluster.task` for how they agree.
"""

import contextlib
import time
import typing

from absl import logging
from adanet import tf_compat
from adanet.cluster import agreement as agreement_lib
from adanet.cluster import decisions
from adanet.cluster import ended
from adanet.cluster import sessions as cluster_sessions
from adanet.cluster import task as task_lib
from adanet.core import events
from adanet.training import loop as loop_lib
from adanet.distributed import devices
from adanet.training import choosing
from adanet.roles import measuring
from adanet.training import model as model_lib
from adanet.roles import others as others_lib
from adanet.training import trainer


class _Lost(Exception):  # pylint: disable=g-bad-exception-name
  """The variables of a generation are lost."""


class _Generation:
  """The graph of a generation on this task, and its sessions."""

  def __init__(self, model, training, task, number, generation):
    self._model = model
    self._training = training
    self._task = task
    self._number = number
    self.generation = generation
    self._num_failures = 0
    self._steps_at_failure = -1
    self.surroundings = loop_lib.Surroundings(
        self._report, self._mark_stopped, training.asked_to_stop)
    self._works = False

  def _report(self, event):
    if isinstance(event, events.Progress) and not self._works:
      self._works = True
      self._training.report(events.Working(self._task.name))
    self._training.report(event)

  def _mark_stopped(self, name, reason, step):
    self._task.until_space(lambda: self._model.model_dir.mark_stopped(
        self._number, name, reason, step))

  @contextlib.contextmanager
  def scope(self):
    """Enters the devices and the container of this generation."""
    v1 = tf_compat.v1
    num_ps = self._model.config.num_ps_replicas
    setter = v1.train.replica_device_setter(
        ps_tasks=num_ps, worker_device=self._task.device,
        ps_strategy=devices.OpNameHashStrategy(num_ps))
    container = self._task.container(self.generation)
    with v1.get_default_graph().container(container), v1.device(setter):
      yield

  def after_error(self, error, it):
    """Decides whether to open another session after an error."""
    # Its own steps: others may train on while one here takes too long.
    num_steps = sum(it.loop.trained.values())
    if num_steps != self._steps_at_failure:
      self._steps_at_failure = num_steps
      self._num_failures = 0
    self._num_failures += 1
    if self._training.stops.asked is not None:
      logging.error(
          "Stopped at step %d of iteration %d, which is not saved: a parameter "
          "server is lost (%s).", it.loop.global_step, self._number,
          type(error).__name__)
      self._training.stops.raise_asked()
    if decisions.after_error(
        error, self._num_failures) == decisions.Next.FAIL:
      if isinstance(error, tf_compat.v1.errors.DeadlineExceededError):
        raise decisions.StepTimeoutError(
            f"iteration {self._number}: step {it.loop.global_step} took too "
            f"long {self._num_failures} times, and all parameter servers "
            "answer. If a step may take so long, give the RunConfig a "
            "session_config with a greater operation_timeout_in_ms (default: "
            f"{1000 * cluster_sessions.OPERATION_TIMEOUT_SECS:.0f})") from error
      raise error
    logging.warning(
        "Iteration %d: a parameter server may be lost at step %d (%s).",
        self._number, it.loop.global_step, type(error).__name__)


def _check_builders(agreed, iteration, task):
  if iteration.builder_names != agreed.builders:
    raise ValueError(
        f"iteration {iteration.number}: subnetwork_generator makes the "
        f"builders {list(iteration.builder_names)} on {task.name}, and "
        f"{list(agreed.builders)} on the chief: it must make the same on all "
        "tasks, and again after a restart")


def _check_share(iteration, placement):
  """Checks that the chief builds all that a checkpoint must have."""
  share, count = iteration.share, len(iteration.builder_names)
  if not share.builds_ensemble or len(share.subnetworks) < count:
    raise ValueError(
        f"placement_strategy={placement!r}: the chief must build the ensemble "
        f"and all {count} subnetworks, because it writes the checkpoints: let "
        "should_build_ensemble and should_build_subnetwork return True for "
        "worker 0")


class Chief:
  """The task that leads."""

  def __init__(self, model: model_lib.Model, rules: choosing.Rules,
               training: trainer.Training, task: task_lib.Task):
    """Takes what is trained, and where."""
    self._model = model
    self._rules = rules
    self._training = training
    self._task = task
    self._has_checked_files = False

  def train(self) -> None:
    """Trains until the search is over, and ends the job."""
    if self._task.is_over(self._training.max_steps):
      logging.info("Skipped training: the job is over already.")
      return
    try:
      self._train()
    except (KeyboardInterrupt, SystemExit):
      self._task.end(agreement_lib.State.STOPPED,
                     "the chief was asked to stop")
      raise

  def _train(self) -> None:
    model, task = self._model, self._task
    latest = trainer.latest_start(model)
    agreed = task.file.read()
    first = generation = agreed.generation if agreed else 0
    goes_on = (
        agreed is not None and
        self._known_figures(latest.number) is not None and
        decisions.may_go_on(agreed, self._agreement(
            latest.number, agreed.builders, generation, measuring.Figures(
                agreed.costs, agreed.sizes))) and
        task.kept(generation))
    start: typing.Union[trainer.Start, str] = latest
    while isinstance(start, trainer.Start):
      if not goes_on:
        generation += 1
      try:
        trained = self._train_generation(start, generation, goes_on)
        task.forget(first, generation - 1)
        start = trainer.after_iteration(
            model, self._rules, self._training, trained)
      except _Lost as lost:
        logging.warning("%s", lost)
        start = trainer.latest_start(model)
      goes_on = False
    task.end(agreement_lib.State.OVER, start)

  def _agreement(self, number, builders, generation,
                 figures=measuring.Figures()):
    config = self._model.config
    return agreement_lib.Agreement(
        job=self._task.job.text, generation=generation, iteration=number,
        builders=builders, num_workers=config.num_worker_replicas,
        num_ps=config.num_ps_replicas, strategy=repr(self._model.placement),
        max_steps=self._training.max_steps, costs=figures.costs,
        sizes=figures.sizes)

  def _known_figures(self, number):
    """Returns what this job has measured of an iteration, or None."""
    return measuring.known(
        self._task.file.read(), self._agreement(number, (), 0),
        self._model.placement)

  def _figures(self, start, goes_on):
    """Returns what the strategy wants to know of an iteration's candidates."""
    known = None
    # Until there is a checkpoint, the builders may become others.
    if goes_on or start.checkpoint is not None:
      known = self._known_figures(start.number)
    if known is None and measuring.is_wanted(self._model.placement):
      known = measuring.measure(
          self._model, self._training.input_fn, start.number)
    return known or measuring.Figures()

  def _train_generation(self, start, generation, goes_on):
    """Trains an iteration.

    Args:
      start: `Start`.
      generation: int, that of its variables.
      goes_on: whether the parameter servers have them already.

    Raises:
      _Lost: a parameter server lost its variables.
    """
    began = time.time()
    figures = self._figures(start, goes_on)
    model, task = measuring.placed(self._model, figures), self._task
    work = _Generation(model, self._training, task, start.number, generation)
    with model.graph(self._training.input_fn, "train", start.number,
                     work.scope) as built:
      _check_share(built.iteration, model.placement)
      if goes_on:
        _check_builders(task.file.read(), built.iteration, task)
      others = others_lib.Others(
          model, task, built.iteration, generation, is_chief=True)
      it = trainer.IterationTraining(
          model, self._training, built, start, task.name, True,
          work.surroundings._replace(
              wait_for=others.wait_for, untrained=others.untrained), began)
      graph = tf_compat.v1.get_default_graph()
      agreed = self._agreement(
          start.number, built.iteration.builder_names, generation, figures)
      if not goes_on:
        task.departures.clear()
        task.announce(agreed)
      is_ready = goes_on
      has_begun = False
      while True:
        try:
          with task.session(graph) as session:
            if not is_ready:
              self._check_files(generation)
              it.initializers.set_variables(session)
            with it.initializers.started(session) as coordinator:
              if not has_begun or not is_ready:
                it.begin(session)
                has_begun = True
              if not is_ready and not task.make_ready(generation):
                raise _Lost("A parameter server is lost at the start.")
              is_ready = True
              ending = it.train(session, coordinator)
              if ending == loop_lib.Ending.SIGNAL:
                self._training.stops.raise_asked()
              it.end(session)
              return it.trained(session, ending)._replace(
                  generation=generation, costs=figures.costs,
                  sizes=figures.sizes)
        except tf_compat.v1.errors.OpError as error:
          work.after_error(error, it)
          if is_ready and not task.kept(generation):
            raise _Lost("A parameter server has lost its variables: the last "
                        "checkpoint is restored.") from error

  def _check_files(self, generation):
    """Checks once that the parameter servers see the chief's files."""
    if not self._has_checked_files:
      self._task.check_files(generation)
      self._has_checked_files = True


class Worker:
  """A task that follows the chief."""

  def __init__(self, model: model_lib.Model, training: trainer.Training,
               task: task_lib.Task):
    """Takes what is trained, and where."""
    self._model = model
    self._training = training
    self._task = task

  def train(self) -> None:
    """Trains its shares until training is over.

    Raises:
      ended.StoppedError: the job was stopped.
    """
    generation = 0
    try:
      while True:
        agreed = self._task.follow(generation)
        generation = agreed.generation
        self._train_generation(agreed)
    except ended.Over as over:
      logging.info("%s ends: %s.", self._task.name, over)

  def _train_generation(self, agreed):
    """Trains its share of an iteration."""
    began = time.time()
    task = self._task
    model = measuring.placed(
        self._model, measuring.Figures(agreed.costs, agreed.sizes))
    number, generation = agreed.iteration, agreed.generation
    training = self._training._replace(max_steps=agreed.max_steps)
    work = _Generation(model, training, task, number, generation)
    start = trainer.Start(number, None)

    def asked_to_stop():
      return training.asked_to_stop() or task.has_moved(generation)

    with model.graph(
        training.input_fn, "train", number, work.scope) as built:
      _check_builders(agreed, built.iteration, task)
      others = others_lib.Others(
          model, task, built.iteration, generation, is_chief=False)
      it = trainer.IterationTraining(
          model, training, built, start, task.name, False,
          work.surroundings._replace(
              asked_to_stop=asked_to_stop,
              wait_for=others.wait_for, untrained=others.untrained), began)
      graph = tf_compat.v1.get_default_graph()
      while task.is_ready(generation):
        try:
          with task.session(graph) as session:
            self._check_variables(it, session, generation)
            with it.initializers.started(session) as coordinator:
              ending = it.train(session, coordinator)
              if ending == loop_lib.Ending.SIGNAL:
                training.stops.raise_asked()
                return  # To another generation.
              it.end(session)
          if ending == loop_lib.Ending.INPUT_ENDED:
            task.until_space(
                lambda: task.departures.leave(generation, task.name))
          return
        except others_lib.Moved:
          return
        except tf_compat.v1.errors.OpError as error:
          work.after_error(error, it)

  def _check_variables(self, it, session, generation):
    missing = it.initializers.unset_variables(session)
    if missing and self._task.is_ready_now(generation):
      raise ValueError(
          "{}: the chief has not made the variable {!r}{}: a builder must make "
          "the same variables, with the same names, on all tasks".format(
              self._task.name, missing[0], f" and {len(missing) - 1} "
                                           "more" * (len(missing) > 1)))
