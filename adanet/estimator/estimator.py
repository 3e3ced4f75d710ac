# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.Estimator`: searches for an ensemble, evaluates and predicts."""

import contextlib
import enum
import time
from typing import Any, Callable, List, Optional, Sequence

from adanet import checks
from adanet import distributed
from adanet import ensemble as ensemble_lib
from adanet import log as logging
from adanet import tf_compat
from adanet.core import ensembles
from adanet.core import evaluator as evaluator_lib
from adanet.core import events
from adanet.core import iteration as iteration_lib
from adanet.core import metrics
from adanet.core import model_dir as model_dir_lib
from adanet.core import report_store as report_store_lib
from adanet.core import user_input
from adanet.engines import local
from adanet.engines.cluster import chief
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import jobs
from adanet.engines.cluster import worker
from adanet.engines.executor import driver
from adanet.estimator import answering
from adanet.estimator import arguments
from adanet.history import history as history_lib
from adanet.history import store
from adanet.progress import reporter
from adanet.search import loop
from adanet.search import winner
from adanet.tf_compat import files
from adanet.training import setup as setup_lib
from adanet.training import trainer

_InputFn = Callable[..., Any]
_Hooks = Optional[Sequence[Any]]

# Arguments of the default ensembler that early versions of AdaNet took here.
_ENSEMBLER_ARGUMENTS = frozenset([
    "mixture_weight_type", "mixture_weight_initializer",
    "warm_start_mixture_weights", "adanet_lambda", "adanet_beta", "use_bias"])


def _mean(steps):
  """Returns the mean of the subnetworks' steps, an int64 tensor."""
  return tf_compat.v1.reduce_mean(steps)


class Role(enum.Enum):
  """The role of a process in a search."""
  LOCAL = "local"
  CHIEF = "chief"
  WORKER = "worker"
  PARAMETER_SERVER = "parameter server"
  EVALUATOR = "evaluator"


def role_of(config: Any) -> Role:
  """Returns the role of the task that a RunConfig describes."""
  if config.task_type == tf_compat.TaskType.EVALUATOR:
    return Role.EVALUATOR
  if config.task_type == tf_compat.TaskType.PS:
    return Role.PARAMETER_SERVER
  if not config.num_ps_replicas:
    return Role.LOCAL
  return Role.CHIEF if config.is_chief else Role.WORKER


class Estimator(answering.Answering):
  """Searches for an ensemble of subnetworks, iteration by iteration.

  In each iteration the generator makes candidate subnetworks. The Estimator
  trains each subnetwork alone and in ensembles with earlier subnetworks. The
  next iteration starts from the best ensemble. Source: Cortes et al. 2017,
  "AdaNet: Adaptive Structural Learning of Artificial Neural Networks".

  For example::

      estimator = adanet.Estimator(
          head=adanet.heads.MultiClassHead(10),
          subnetwork_generator=adanet.subnetwork.SimpleGenerator(builders),
          max_iteration_steps=1000, max_iterations=3, model_dir="digits")
      estimator.train(train_input_fn)
      print(estimator.evaluate(test_input_fn)["accuracy"])

  Training resumes from the latest checkpoint in `model_dir`, also from a
  `model_dir` of AdaNet 0.8.
  """

  def __init__(
      self,
      head: Any,
      subnetwork_generator: Any,
      max_iteration_steps: Optional[int],
      ensemblers: Optional[Sequence[Any]] = None,
      ensemble_strategies: Optional[Sequence[Any]] = None,
      evaluator: Any = None,
      report_materializer: Any = None,
      metric_fn: Optional[Callable[..., Any]] = None,
      force_grow: bool = False,
      replicate_ensemble_in_training: bool = False,
      adanet_loss_decay: float = .9,
      delay_secs_per_worker: float = 5,
      max_worker_delay_secs: float = 60,
      worker_wait_secs: float = 5,
      worker_wait_timeout_secs: float = 7200,
      model_dir: Optional[str] = None,
      report_dir: Optional[str] = None,
      config: Any = None,
      debug: bool = False,
      enable_ensemble_summaries: bool = True,
      enable_subnetwork_summaries: bool = True,
      global_step_combiner_fn: Optional[
          Callable[[List[Any]], Any]] = None,
      max_iterations: Optional[int] = None,
      export_subnetwork_logits: bool = False,
      export_subnetwork_last_layer: bool = True,
      replay_config: Any = None,
      placement_strategy: Optional[
          distributed.PlacementStrategy] = None,
      patience: Optional[int] = None,
      min_delta: float = 0.,
      **kwargs: Any):
    """Checks the arguments; writes nothing yet.

    Args:
      head: the task to learn: a head of `adanet.heads` or `tf.estimator`.
      subnetwork_generator: `adanet.subnetwork.Generator` that makes the
        candidate subnetworks of each iteration.
      max_iteration_steps: int, the training steps of each subnetwork and
        ensemble in an iteration; None to train until the input ends.
      ensemblers: list of `adanet.ensemble.Ensembler` objects that combine
        subnetworks. None for a `ComplexityRegularizedEnsembler`.
      ensemble_strategies: list of `adanet.ensemble.Strategy` objects that
        choose the subnetworks to combine. None for an `AllStrategy` if all
        ensemblers are fitted, otherwise for a `GrowStrategy`.
      evaluator: `adanet.Evaluator`, or an object with the same properties, to
        compare the ensembles on held-out data. None to compare the moving
        averages of the training losses.
      report_materializer: `adanet.ReportMaterializer` that makes the reports
        for the generator. None for no reports.
      metric_fn: function of any of `features`, `labels` and `predictions` that
        returns a dict of additional metrics: pairs (value, update op) or Keras
        metrics.
      force_grow: whether to exclude the previous ensemble from the candidates.
        As in AdaNet, evaluation and export in the last iteration still compare
        the previous ensemble unless an `evaluator` is given.
      replicate_ensemble_in_training: whether to build the subnetworks of the
        previous ensemble in training mode (for example with dropout) while new
        subnetworks train.
      adanet_loss_decay: float in [0, 1), the decay of the moving averages.
      delay_secs_per_worker: ignored; accepted for compatibility.
      max_worker_delay_secs: ignored; accepted for compatibility.
      worker_wait_secs: ignored; accepted for compatibility.
      worker_wait_timeout_secs: float, the seconds to wait for another task of
        the cluster or for space on a full disk before training fails.
      model_dir: str, the folder for checkpoints and all other files. None for
        the `model_dir` of `config`, or for a new temporary folder.
      report_dir: str, the folder for reports. None for a folder in `model_dir`.
      config: `RunConfig` of `adanet.tf_compat` or `tf.estimator`.
      debug: whether training fails at a NaN or infinite float in the input.
      enable_ensemble_summaries: whether to write TensorBoard summaries of
        ensembles.
      enable_subnetwork_summaries: whether to write TensorBoard summaries of
        subnetworks.
      global_step_combiner_fn: function from the list of the subnetworks' steps
        (int64 tensors) to the global step. None for the mean.
      max_iterations: int, the number of iterations after which training ends;
        None for no limit.
      export_subnetwork_logits: whether to export the subnetworks' logits as the
        signature "subnetwork_logits". As in AdaNet, the signature has the
        predictions of the best ensemble instead where the iteration has several
        ensembles.
      export_subnetwork_last_layer: the same for the last layers, as the
        signature "subnetwork_last_layer".
      replay_config: `adanet.replay.Config` that sets the winners, or None.
      placement_strategy: `PlacementStrategy` of `adanet.distributed`, to divide
        the work among workers. None for a `ReplicationStrategy`.
      patience: int, the number of iterations without improvement of the
        winner's compared value after which the search ends. None to disable.
      min_delta: float, the least improvement that counts for `patience`.
      **kwargs: `experimental_placement_strategy`, AdaNet's name for
        `placement_strategy`, and arguments of the default ensembler.

    Raises:
      ValueError: an object lacks the methods of the described type, a number is
        out of range, an argument of the default ensembler is given beside
        `ensemblers`, or `config` has workers and no parameter server.
      TypeError: an argument is unknown, a count is not an integer, another
        number is not a number, or `ensemblers` or `ensemble_strategies` has an
        item of another type.
    """
    del delay_secs_per_worker, max_worker_delay_secs, worker_wait_secs
    placement_strategy = (
        kwargs.pop("experimental_placement_strategy", None) or
        placement_strategy or distributed.ReplicationStrategy())
    arguments.check_objects(
        head=head, subnetwork_generator=subnetwork_generator,
        report_materializer=report_materializer, replay_config=replay_config,
        placement_strategy=placement_strategy,
        global_step_combiner_fn=global_step_combiner_fn)
    ensemblers = arguments.checked(
        "ensemblers", ensemblers, "build_ensemble", "adanet.ensemble.Ensembler")
    ensemble_strategies = arguments.checked(
        "ensemble_strategies", ensemble_strategies,
        "generate_ensemble_candidates", "adanet.ensemble.Strategy")
    checks.check_count("max_iteration_steps", max_iteration_steps, or_none=True)
    checks.check_count("max_iterations", max_iterations, or_none=True)
    checks.check_count("patience", patience, or_none=True)
    checks.check_number("min_delta", min_delta,
                           lambda value: value >= 0, "a number of at least 0")
    checks.check_number("worker_wait_timeout_secs", worker_wait_timeout_secs,
                           lambda value: value > 0, "a number greater than 0")
    checks.check_number("adanet_loss_decay", adanet_loss_decay,
                           lambda value: 0 <= value < 1, "a number in [0, 1)")
    metrics.check_metric_fn(metric_fn)
    winner.check_evaluator(evaluator, min_delta)
    unknown = sorted(set(kwargs) - _ENSEMBLER_ARGUMENTS)
    if unknown:
      raise TypeError(
          f"{type(self).__name__} has no argument {', '.join(unknown)}")
    if kwargs and ensemblers:
      raise ValueError(
          f"{', '.join(sorted(kwargs))}: expected no such argument beside "
          "ensemblers. Give it to the "
          "adanet.ensemble.ComplexityRegularizedEnsembler among them.")
    self._config = arguments.placed_config(config, model_dir)
    if self._config.num_worker_replicas > 1 and (
        not self._config.num_ps_replicas):
      raise ValueError(
          "config.num_ps_replicas=0: expected at least 1 in a cluster with "
          "workers, to hold the variables that the chief and the workers share. "
          "Add a ps to TF_CONFIG.")
    self._wait_timeout_secs = worker_wait_timeout_secs
    self._max_iterations = max_iterations
    self._validation: Any = None  # The evaluator that `train` has made.
    folder = model_dir_lib.ModelDir(self._config.model_dir)
    search = iteration_lib.Search(
        head=head,
        generator=subnetwork_generator,
        ensemblers=list(ensemblers or [
            ensemble_lib.ComplexityRegularizedEnsembler(
                model_dir=folder.path, **kwargs)]),
        strategies=list(ensemble_strategies or [
            ensemble_lib.AllStrategy() if ensemblers and all(
                map(iteration_lib.is_fitted, ensemblers))
            else ensemble_lib.GrowStrategy()]),
        metric_fn=metric_fn,
        max_iteration_steps=max_iteration_steps,
        adanet_loss_decay=adanet_loss_decay,
        replicate_ensemble_in_training=replicate_ensemble_in_training,
        debug=debug,
        enable_ensemble_summaries=enable_ensemble_summaries,
        enable_subnetwork_summaries=enable_subnetwork_summaries,
        global_step_combiner_fn=global_step_combiner_fn or _mean,
        exports=ensembles.ExportOptions(
            export_subnetwork_logits, export_subnetwork_last_layer))
    super().__init__(setup_lib.SearchSetup(
        search=search, model_dir=folder, config=self._config,
        placement=placement_strategy, rules=setup_lib.Rules(
            evaluator=evaluator, replay_config=replay_config,
            force_grow=force_grow, patience=patience, min_delta=min_delta),
        report_materializer=report_materializer,
        report_store=report_store_lib.ReportStore(
            arguments.absolute_folder("report_dir", report_dir or None) or
            folder.report_dir) if report_materializer else None))

  @property
  def config(self) -> Any:
    """The `RunConfig`, with the `model_dir` of this Estimator."""
    return self._config

  @property
  def model_dir(self) -> str:
    """The folder of checkpoints and all other files."""
    return self._setup.model_dir.path

  def train(self, input_fn: _InputFn, hooks: _Hooks = None,
            steps: Optional[int] = None,
            max_steps: Optional[int] = None,
            saving_listeners: _Hooks = None,
            executor: Any = None,
            max_seconds: Optional[float] = None,
            validation_input_fn: Optional[_InputFn] = None) -> "Estimator":
    """Trains from the latest checkpoint, or from scratch without a checkpoint.

    Training ends at the first of `steps` or `max_steps`, `max_iterations`, the
    end of the input, `max_seconds`, and a hook that requests the end.

    Args:
      input_fn: function that returns `(features, labels)` or a
        `tf.data.Dataset` of `(features, labels)`; see also `adanet.inputs`.
        Arrays count as one batch. The function may take `mode`, `config` and
        `input_context`, and is called again in each iteration. Training ends
        where the dataset ends.
      hooks: sequence of `SessionRunHook`. A `CheckpointSaverHook` overrides the
        checkpoint settings of the config. On a cluster, a worker's hook reads
        the global step of the chief's last run.
      steps: int, the number of global steps to train in this call.
      max_steps: int, the global step at which to end.
      saving_listeners: sequence of `CheckpointSaverListener`.
      executor: `concurrent.futures.Executor`, such as a `ProcessPoolExecutor`
        or Dask's `Client`. Each worker trains candidates with their ensembles.
        The results are the same as in one process. All workers need access to
        `model_dir`. None to train in this process or as a task of `TF_CONFIG`.
      max_seconds: float, the maximum time in seconds that this call trains.
        Training ends after the current step and saves a checkpoint, and
        `evaluate` then uses the best ensemble so far. An iteration does not
        start if the duration of the previous iteration exceeds the remaining
        time. Results depend on the speed of the machine. On a cluster, the
        chief's `max_seconds` applies. On an executor, a warning names the parts
        that got no worker in time and were not trained.
      validation_input_fn: function that returns held-out data to compare the
        ensembles on: shorthand for an `Evaluator` on all of this data. Also
        applies to later calls of this Estimator.

    Returns:
      This Estimator.

    Raises:
      EmptyInputError: the input has no batch.
      ValueError: both `steps` and `max_steps` are given, either is less
        than 1, `max_seconds` is not greater than 0, both an `evaluator` and a
        `validation_input_fn` are given, or the shapes or heads of the
        subnetworks do not fit together.
      TypeError: `steps` or `max_steps` is not an integer, `max_seconds` is not
        a number, `executor` is no executor, or `hooks` or `saving_listeners`
        has an item of another type.
      KeyboardInterrupt: the user pressed Ctrl-C; the last checkpoint is saved.
        A program that does not catch KeyboardInterrupt ends without a traceback
        and with exit status 130.
      SystemExit: SIGTERM stopped the process; the last checkpoint is saved, and
        the exit status is 143.
    """
    user_input.check_input_fn(input_fn)
    if steps is not None and max_steps is not None:
      raise ValueError(
          f"steps and max_steps cannot both be given, got {steps!r} and "
          f"{max_steps!r}")
    checks.check_count("steps", steps, or_none=True)
    checks.check_count("max_steps", max_steps, or_none=True)
    if max_seconds is not None:
      checks.check_number("max_seconds", max_seconds, lambda secs: secs > 0,
                          "a number greater than 0, or None")
    if validation_input_fn is not None:
      self._validate_on(validation_input_fn)
    _train(self._setup, trainer.Request(
        input_fn=input_fn, hooks=arguments.checked_hooks(hooks),
        saving_listeners=arguments.checked_listeners(saving_listeners),
        steps=steps, max_steps=max_steps, max_iterations=self._max_iterations,
        max_seconds=max_seconds,
        deadline=None if max_seconds is None else time.time() + max_seconds,
        wait_timeout_secs=self._wait_timeout_secs), executor)
    return self

  def _validate_on(self, input_fn):
    """Makes an `Evaluator` on all data of an input compare the ensembles."""
    rules = self._setup.rules
    if rules.evaluator is not None and rules.evaluator is not self._validation:
      raise ValueError(
          f"validation_input_fn={input_fn!r}: expected None beside "
          f"evaluator={rules.evaluator!r}, which compares the ensembles")
    user_input.check_input_fn(input_fn)
    self._validation = evaluator_lib.Evaluator(input_fn)
    self._setup = self._setup._replace(
        rules=rules._replace(evaluator=self._validation))

  def __getattr__(self, name: str) -> Any:
    if name in ("compile", "fit"):
      raise AttributeError(
          f"{type(self).__name__} has no {name}: call train(input_fn), or use "
          "adanet.EnsembleSearch, which has the methods of a Keras model")
    return object.__getattribute__(self, name)  # Raises Python's own error.

  def history(self) -> history_lib.History:
    """Returns the history of the search so far. See `adanet.report`.

    Raises:
      ValueError: the folder `model_dir` does not exist yet.
    """
    return store.report(self.model_dir)


def _train(setup, request, executor):
  """Trains in the role that the setup's config gives this process."""
  winner.check_fitted(setup.search, setup.rules)
  role = role_of(setup.config)
  with contextlib.nullcontext() if executor is not None else (
      jobs.as_job(setup.config)):
    reporter.tell(events.Joined(
        files.real_path(setup.model_dir.path),
        jobs.job_id(setup.config).number))
    if role == Role.EVALUATOR and executor is None:
      logging.info("Skipped training: this task is the evaluator. It works in "
                   "adanet.train_and_evaluate.")
      return
    with user_input.raised_in_training(), setup.model_dir.trains_here():
      if executor is not None:
        loop.SearchLoop(driver.ExecutorEngine(setup, executor)).train(request)
      elif role == Role.LOCAL:
        loop.SearchLoop(local.LocalEngine(setup)).train(request)
      elif role == Role.CHIEF:
        with contextlib.closing(connection_lib.connect(
            setup.config, request.wait_timeout_secs)) as connection:
          loop.SearchLoop(chief.ChiefEngine(setup, connection)).train(request)
      elif role == Role.WORKER:
        worker.train(setup, request)
      else:
        chief_client.run_parameter_server(setup, request)
