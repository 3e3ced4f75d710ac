# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.Estimator`: searches for an ensemble, and answers with it."""

import time
from typing import Any, Callable, List, Optional, Sequence

from adanet import distributed
from adanet import ensemble as ensemble_lib
from adanet import tf_compat
from adanet.core import ensembles
from adanet.core import evaluation as evaluation_lib
from adanet.core import iteration as iteration_lib
from adanet.core import metrics
from adanet.core import model_dir as model_dir_lib
from adanet.core import reports
from adanet.core import user_input
from adanet.estimator import answering
from adanet.estimator import arguments
from adanet.estimator import placed_config
from adanet.estimator import role
from adanet.estimator import user_folder
from adanet.history import report
from adanet.history import store
from adanet.search import winner
from adanet.training import model as model_lib
from adanet.training import trainer

_InputFn = Callable[..., Any]
_Hooks = Optional[Sequence[Any]]

# Arguments of the default ensembler, which AdaNet once took here.
_ENSEMBLER_ARGUMENTS = frozenset([
    "mixture_weight_type", "mixture_weight_initializer",
    "warm_start_mixture_weights", "adanet_lambda", "adanet_beta", "use_bias"])


def _mean(steps):
  """Returns the mean of the subnetworks' steps, an int64 tensor."""
  return tf_compat.v1.reduce_mean(steps)


class Estimator(answering.Answering):
  """Searches for an ensemble of subnetworks, iteration by iteration.

  In each iteration the generator makes candidate subnetworks, and each is
  trained, alone and in ensembles with earlier subnetworks. The best ensemble
  is where the next iteration begins. Source: Cortes et al. 2017, "AdaNet:
  Adaptive Structural Learning of Artificial Neural Networks".

  All that is learned lies in `model_dir`, and training that was stopped goes on
  from there. A `model_dir` of AdaNet 0.8 does, too.
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
    """Writes nothing yet.

    Args:
      head: the task to learn: a head of `adanet.heads`, or of `tf.estimator`.
      subnetwork_generator: `adanet.subnetwork.Generator`, which makes the
        candidates of each iteration.
      max_iteration_steps: int, how often each subnetwork and ensemble is
        trained in an iteration; None for as long as there is input.
      ensemblers: list of `adanet.ensemble.Ensembler`, how subnetworks are
        combined; None for a `ComplexityRegularizedEnsembler`.
      ensemble_strategies: list of `adanet.ensemble.Strategy`, which subnetworks
        are combined; None for a `GrowStrategy`, or for an `AllStrategy` where
        all ensemblers are fitted.
      evaluator: `adanet.Evaluator`, or an object with the same properties. It
        compares the ensembles on data of its own; None for the moving averages
        of their losses in training.
      report_materializer: `adanet.ReportMaterializer`, which makes the reports
        that the generator gets; None for no reports.
      metric_fn: function of some of `features`, `labels` and `predictions` that
        returns a dict of further metrics: pairs (value, update), or metrics of
        Keras.
      force_grow: whether the previous ensemble cannot win again. As in AdaNet,
        evaluation and export of the last iteration compare all ensembles, also
        the previous one, unless there is an `evaluator`.
      replicate_ensemble_in_training: whether the subnetworks of the previous
        ensemble are built as for training, with dropout say, while the next
        ones train on them.
      adanet_loss_decay: float in [0, 1), the decay of the moving averages.
      delay_secs_per_worker: ignored; accepted for compatibility.
      max_worker_delay_secs: ignored; accepted for compatibility.
      worker_wait_secs: ignored; accepted for compatibility.
      worker_wait_timeout_secs: float, how long to wait for another task of the
        cluster, or for space on a full disk, before training ends in an error.
      model_dir: str, the folder for checkpoints and all else; None for that of
        `config`, or a new temporary one.
      report_dir: str, the folder for reports; None for one in `model_dir`.
      config: `RunConfig` of `adanet.tf_compat` or of `tf.estimator`.
      debug: whether training fails at a float in the input that is NaN or
        infinite.
      enable_ensemble_summaries: whether TensorBoard shows each ensemble.
      enable_subnetwork_summaries: whether it shows each subnetwork.
      global_step_combiner_fn: function from the list of the subnetworks' steps
        (int64 tensors) to the global step; None for their mean.
      max_iterations: int, after how many iterations training ends, or None.
      export_subnetwork_logits: whether an export has the subnetworks' logits in
        a signature "subnetwork_logits". As in AdaNet, it has the predictions of
        the best ensemble in their place where the iteration has several.
      export_subnetwork_last_layer: the same for their last layers, in
        "subnetwork_last_layer".
      replay_config: `adanet.replay.Config`, which says who wins; or None.
      placement_strategy: `PlacementStrategy` of `adanet.distributed`, which
        divides the work; None for a `ReplicationStrategy`.
      patience: int, after how many iterations without a gain the search ends:
        their winners are no better than the best before, by the value
        that compares candidates. None goes on.
      min_delta: float, by how much a winner must be better to be a gain.
      **kwargs: `experimental_placement_strategy`, AdaNet's name for
        `placement_strategy`; and arguments of the default ensembler.

    Raises:
      ValueError: an argument is not as described.
      TypeError: an argument is unknown.
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
    arguments.check_count("max_iteration_steps", max_iteration_steps)
    arguments.check_count("max_iterations", max_iterations)
    arguments.check_count("patience", patience)
    arguments.check_number("min_delta", min_delta,
                           lambda value: value >= 0, "a number >= 0")
    arguments.check_number("worker_wait_timeout_secs", worker_wait_timeout_secs,
                           lambda value: value > 0, "a number > 0")
    arguments.check_number("adanet_loss_decay", adanet_loss_decay,
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
    self._config = placed_config.placed_config(config, model_dir)
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
    super().__init__(model_lib.Model(
        search=search, model_dir=folder, config=self._config,
        placement=placement_strategy, rules=model_lib.Rules(
            evaluator=evaluator, replay_config=replay_config,
            force_grow=force_grow, patience=patience, min_delta=min_delta),
        report_materializer=report_materializer,
        report_store=reports.ReportStore(
            user_folder.absolute("report_dir", report_dir or None) or
            folder.report_dir) if report_materializer else None))

  @property
  def config(self) -> Any:
    """The RunConfig, with the model_dir."""
    return self._config

  @property
  def model_dir(self) -> str:
    """The folder of checkpoints and all else."""
    return self._model.model_dir.path

  def train(self, input_fn: _InputFn, hooks: _Hooks = None,
            steps: Optional[int] = None,
            max_steps: Optional[int] = None,
            saving_listeners: _Hooks = None,
            executor: Any = None,
            max_seconds: Optional[float] = None,
            validation_input_fn: Optional[_InputFn] = None) -> "Estimator":
    """Trains, from the latest checkpoint on if there is one.

    It ends after `steps` or `max_steps`, after `max_iterations`, when the input
    ends, when `max_seconds` are over, or when a hook asks for it, whatever is
    first.

    Args:
      input_fn: function that returns `(features, labels)`, or a
        `tf.data.Dataset` of them; or see `adanet.inputs`. Arrays are one batch.
        It may take `mode`, `config` and `input_context`. It is called again in
        each iteration; where a dataset ends, training does.
      hooks: sequence of `SessionRunHook`. A `CheckpointSaverHook` among them
        says when to save, in place of the config.
      steps: int, how many global steps to train now.
      max_steps: int, the global step up to which to train.
      saving_listeners: sequence of `CheckpointSaverListener`.
      executor: `concurrent.futures.Executor`, such as a `ProcessPoolExecutor`
        or Dask's `Client.get_executor()`. Its workers train the candidates,
        each with its ensembles. The results are the same as in one process. All
        workers must see `model_dir`. None trains in this process, or as a task
        of `TF_CONFIG`.
      max_seconds: float, how long this call may train. Training ends after the
        step at which they are over, and saves; `evaluate` then uses the best
        ensemble so far. An iteration that would end too late, if it took as
        long as the last one, does not begin. Two such searches need not be
        equal. On a cluster, the chief's counts; on an executor, a part that
        waits for a worker until then is not trained, as a warning says.
      validation_input_fn: function of held-out data, by which the ensembles are
        compared: short for an `Evaluator` on all of it. Later calls of this
        estimator use it, too.

    Returns:
      This estimator.

    Raises:
      EmptyInputError: the input has no batch.
      ValueError: both `steps` and `max_steps` are given, or one is not greater
        than 0; both an `evaluator` and a `validation_input_fn` are; or the
        builders or ensembles of the search do not fit.
      KeyboardInterrupt: Ctrl-C; the last checkpoint is saved. A program that
        does not catch it ends without a traceback, with the exit status 130.
      SystemExit: it was stopped by SIGTERM; as for Ctrl-C, with the status 143.
    """
    user_input.check_input_fn(input_fn)
    if steps is not None and max_steps is not None:
      raise ValueError(
          f"steps and max_steps cannot both be given, got {steps!r} and "
          f"{max_steps!r}")
    arguments.check_count("steps", steps)
    arguments.check_count("max_steps", max_steps)
    arguments.check_number(
        "max_seconds", max_seconds, lambda value: value is None or value > 0,
        "a number > 0, or None")
    if validation_input_fn is not None:
      self._validate_on(validation_input_fn)
    role.train(self._model, trainer.Request(
        input_fn=input_fn, hooks=arguments.checked_hooks(hooks),
        saving_listeners=arguments.checked_listeners(saving_listeners),
        steps=steps, max_steps=max_steps, max_iterations=self._max_iterations,
        max_seconds=max_seconds,
        deadline=None if max_seconds is None else time.time() + max_seconds,
        wait_timeout_secs=self._wait_timeout_secs), executor)
    return self

  def _validate_on(self, input_fn):
    """Compares the ensembles on all data of an input from now on."""
    rules = self._model.rules
    if rules.evaluator is not None and rules.evaluator is not self._validation:
      raise ValueError(
          f"validation_input_fn={input_fn!r}: expected None beside "
          f"evaluator={rules.evaluator!r}, which compares the ensembles")
    user_input.check_input_fn(input_fn)
    self._validation = evaluation_lib.Evaluator(input_fn)
    self._model = self._model._replace(
        rules=rules._replace(evaluator=self._validation))

  def __getattr__(self, name: str) -> Any:
    if name in ("compile", "fit"):
      raise AttributeError(
          f"{type(self).__name__} has no {name}: call train(input_fn), or use "
          "adanet.EnsembleSearch, which has the methods of a Keras model")
    return object.__getattribute__(self, name)  # Raises Python's own error.

  def history(self) -> report.History:
    """Returns the report of the search so far; see `adanet.report`.

    Raises:
      ValueError: there is no model_dir yet.
    """
    return store.report(self.model_dir)
