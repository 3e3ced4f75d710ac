# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.AutoEnsembleEstimator`: an ensemble of the user's own models.

For example, with two Keras models::

    keras = adanet.tf_compat.keras

    def linear():
      return keras.Sequential([keras.layers.Dense(1)])

    def deep():
      return keras.Sequential([
          keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])

    estimator = adanet.AutoEnsembleEstimator(
        head=adanet.heads.RegressionHead(),
        candidate_pool={"linear": linear, "deep": deep},
        max_iteration_steps=1000)
    estimator.train(input_fn, max_steps=3000)
"""

import collections
import functools
import inspect
from typing import Any, Callable, List, Optional, Sequence

from adanet import subnetwork as subnetwork_lib
from adanet.estimator import arguments
from adanet.estimator import auto_builders
from adanet.estimator import auto_inputs
from adanet.estimator import auto_networks
from adanet.estimator import estimator as estimator_lib
from adanet.tf_compat import optimizers
from adanet.tf_compat import run_config

# The packages with Keras's own classes.
_KERAS = ("keras", "tensorflow", "tensorflow_core", "tf_keras")
_EXPECTED = (
    "expected an estimator, an AutoEnsembleSubestimator, a function from "
    "features to logits, or a function without arguments that makes a Keras "
    "model")


class AutoEnsembleSubestimator(
    collections.namedtuple(
        "AutoEnsembleSubestimator",
        ["estimator", "train_input_fn", "prediction_only", "optimizer"])):
  """A model of the pool with its own input or optimizer.

  For example::

      pool = {
          "all": make_model,
          "half": adanet.AutoEnsembleSubestimator(
              make_model, train_input_fn=half_input_fn, optimizer="sgd")}

  Attributes:
    estimator: the model: a `tf.estimator.Estimator`, or a function as in
      `AutoEnsembleEstimator`.
    train_input_fn: input_fn of `(features, labels)` to train this model on, for
      example for bagging. None for the input of `train`, which always trains
      the ensemble.
    prediction_only: bool, whether to leave the model untrained.
    optimizer: the optimizer of a function or a Keras model, see
      `tf_compat.optimizers.minimize`. None for the optimizer of the
      `AutoEnsembleEstimator`. Must be None for a `tf.estimator.Estimator`,
      which has an optimizer.
  """

  def __new__(cls, estimator: Any,
              train_input_fn: Optional[Callable[..., Any]] = None,
              prediction_only: bool = False,
              optimizer: Any = None) -> "AutoEnsembleSubestimator":
    """Makes a model of the pool.

    Raises:
      ValueError: `train_input_fn` is no function; or `optimizer` is given for a
        `tf.estimator.Estimator`, is an unknown name, or cannot be copied.
    """
    if train_input_fn is not None and not callable(train_input_fn):
      raise ValueError(
          f"train_input_fn={train_input_fn!r}: expected a function that "
          "returns (features, labels) or a tf.data.Dataset.")
    if optimizer is not None and hasattr(estimator, "model_fn"):
      raise ValueError(
          f"optimizer={optimizer!r}: expected None, because an estimator has "
          "an optimizer of its own. Give it to the estimator.")
    return super().__new__(
        cls, estimator, train_input_fn, prediction_only,
        optimizers.for_any_graph(optimizer))


def _is_keras_layer(value):
  """Whether a value is a Keras layer or model rather than a class."""
  return hasattr(type(value), "trainable_weights")


def _required(parameters):
  """Returns the names of the parameters that a call must give."""
  return [p.name for p in parameters if p.default is p.empty and
          p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _check_class(model_class, required, owner):
  """Checks that calling a subclass of a Keras class returns a model."""
  name = model_class.__name__
  if not hasattr(model_class, "fit") or (
      model_class.__module__.split(".")[0] in _KERAS):
    raise ValueError(
        f"{owner} is the class {name} of Keras: expected a function that makes "
        "a model, such as lambda: keras.Sequential([...]).")
  if required:
    raise ValueError(
        f"{owner}: the class {name} needs the arguments {', '.join(required)}: "
        "expected a function that calls it, such as lambda: "
        f"{name}({', '.join(required)}).")


def _argument(function, owner):
  """Returns the name of the argument that a function of the pool takes.

  Args:
    function: a function of the pool.
    owner: str, the name of the function in messages.

  Returns:
    "config"; "features"; "" for a function without arguments; or another name,
    for which only a call can tell features from config.

  Raises:
    ValueError: `function` is no function, or needs several arguments.
  """
  try:
    parameters = inspect.signature(function).parameters.values()
  except (TypeError, ValueError) as e:
    raise ValueError(f"{owner}={function!r}: {_EXPECTED}.") from e
  required = [name for name in _required(parameters) if name != "training"]
  if inspect.isclass(function) and hasattr(function, "trainable_weights"):
    _check_class(function, required, owner)
    return ""
  if len(required) > 1:
    raise ValueError(
        f"{owner}: the function needs the arguments {', '.join(required)}: "
        "expected a function of features, or of features and training.")
  names = required + [p.name for p in parameters if p.name == "config" or
                      p.kind == p.VAR_POSITIONAL]
  return names[0] if names else ""


def _call_pool(pool, config, iteration_number):
  """Calls a `candidate_pool` that is a function."""
  parameters = inspect.signature(pool).parameters.values()
  offered = {"config": config, "iteration_number": iteration_number}
  names = [p.name for p in parameters]
  keywords = {name: offered[name] for name in names if name in offered}
  others = [name for name in _required(parameters) if name not in offered]
  if "config" not in keywords and len(others) == 1:
    return pool(config, **keywords)
  if others:
    raise ValueError(
        "candidate_pool: the function needs the arguments "
        f"{', '.join(others)}: expected a function of config, of "
        "iteration_number, of both or of none.")
  if any(p.kind == p.VAR_KEYWORD for p in parameters):
    keywords["config"] = config
  return pool(**keywords)


def _check_model(model, owner):
  """Checks that a model of the pool is of a supported kind."""
  if hasattr(model, "model_fn"):
    return
  if _is_keras_layer(model):
    raise ValueError(
        f"{owner} is a Keras {'model' if hasattr(model, 'fit') else 'layer'}: "
        "expected a function that makes a model, because each iteration needs "
        "a new one, such as lambda: keras.Sequential([...]).")
  if not callable(model):
    raise ValueError(f"{owner}={model!r}: {_EXPECTED}.")
  _argument(model, owner)


class PoolGenerator(subnetwork_lib.Generator):
  """Makes a builder for each model of a pool."""

  def __init__(self, candidate_pool, logits_fn, last_layer_fn,
               optimizer, head, dtype_policy):
    for name, function in (
        ("logits_fn", logits_fn), ("last_layer_fn", last_layer_fn)):
      if function is not None:
        arguments.check_function(name, function, "of estimator_spec")
    self._pool = candidate_pool
    self._logits_fn = logits_fn or _default_logits
    self._last_layer_fn = last_layer_fn
    self._optimizer = optimizer
    self._head = head
    self._said = set()
    auto_networks.check_dtype_policy(dtype_policy)
    self._dtype_policy = dtype_policy
    if not callable(candidate_pool) or _is_keras_layer(candidate_pool):
      self._named(candidate_pool)

  def _named(self, pool):
    """Returns pairs of a name and a candidate, after checking the pool."""
    if isinstance(pool, dict):
      for name in pool:
        if not isinstance(name, str):
          raise ValueError(
              f"candidate_pool: the name {name!r} must be a str")
      named = sorted(pool.items())
    elif isinstance(pool, (list, tuple)) and not isinstance(
        pool, AutoEnsembleSubestimator):
      named = [(f"{type(candidate).__name__}{index}", candidate)
               for index, candidate in enumerate(pool)]
    elif _is_keras_layer(pool):
      raise ValueError(
          "candidate_pool is a Keras model: expected a list or a dict of "
          "functions that make models, such as {\"linear\": make_linear}.")
    else:
      raise ValueError(
          f"candidate_pool={pool!r}: expected a list or a dict of models, or a "
          "function of config that returns one.")
    if not named:
      raise ValueError(f"candidate_pool={pool!r}: expected at least one model.")
    names = [name for name, _ in named]
    for name in names:
      if names.count(name) > 1:
        raise ValueError(
            f"candidate_pool: two models get the name {name!r}. Use a dict "
            "from name to model.")
    for name, candidate in named:
      if isinstance(candidate, AutoEnsembleSubestimator):
        candidate = candidate.estimator
      _check_model(candidate, self._owner(name))
    return named

  def _owner(self, name):
    """Returns the name of a model of the pool for messages."""
    return f"candidate_pool[{name!r}]"

  def _builder(self, name, candidate, config):
    """Returns the builder of a model."""
    owner = self._owner(name)
    if not isinstance(candidate, AutoEnsembleSubestimator):
      candidate = AutoEnsembleSubestimator(candidate)
    model = candidate.estimator
    argument = ("config" if hasattr(model, "model_fn") else
                _argument(model, owner))
    of_config = auto_builders.EstimatorBuilder(
        name, owner, functools.partial(_subestimator, candidate, owner),
        self._logits_fn, self._last_layer_fn, config)
    if argument == "config":
      return of_config
    network = functools.partial(
        auto_networks.FunctionNetwork if argument else functools.partial(
            auto_networks.KerasNetwork,
            heads=auto_networks.head_names(self._head),
            weights=auto_inputs.weight_columns(self._head)), model, owner,
        dtype_policy=self._dtype_policy)
    builder = auto_builders.NetworkBuilder(
        name, owner, network, candidate.optimizer, self._optimizer,
        candidate.train_input_fn, candidate.prediction_only, self._head,
        self._said)
    if argument in ("", "features"):
      return builder
    return auto_builders.EitherBuilder(
        builder, of_config, functools.partial(_makes_estimator, model))

  def generate_candidates(self, iteration_number, previous_ensemble_reports,
                          all_reports, config):
    pool = self._pool
    if callable(pool):
      pool = _call_pool(pool, run_config.estimator_run_config(config),
                        iteration_number)
    return [self._builder(name, candidate, config)
            for name, candidate in self._named(pool)]


def _makes_estimator(function, config):
  """Whether a function of the pool returns an estimator for a config."""
  try:
    estimator = function(config)
  except Exception:  # pylint: disable=broad-except
    return False  # Not a function of config.
  return isinstance(estimator, AutoEnsembleSubestimator) or hasattr(
      estimator, "model_fn")


def _subestimator(candidate, owner, config):
  """Returns the `AutoEnsembleSubestimator` of an estimator for a config."""
  if hasattr(candidate.estimator, "model_fn"):
    return candidate
  subestimator = candidate.estimator(config)
  if not isinstance(subestimator, AutoEnsembleSubestimator):
    subestimator = candidate._replace(estimator=subestimator)
  if not hasattr(subestimator.estimator, "model_fn"):
    raise ValueError(
        f"{owner} returned {subestimator.estimator!r}: expected an estimator "
        "or an AutoEnsembleSubestimator of one, because the function takes "
        "config.")
  return subestimator


def _default_logits(estimator_spec):
  """Returns the logits among the predictions of an estimator."""
  predictions = estimator_spec.predictions
  if isinstance(predictions, dict):
    for key in ("logits", "predictions"):
      if key in predictions:
        return predictions[key]
  return predictions


class AutoEnsembleEstimator(estimator_lib.Estimator):
  """An `adanet.Estimator` whose candidates are the user's own models.

  For example::

      estimator = adanet.AutoEnsembleEstimator(
          head=adanet.heads.MultiClassHead(10),
          candidate_pool={"wide": make_wide, "deep": make_deep},
          optimizer="adam", max_iteration_steps=1000, max_iterations=1)
      estimator.train(train_input_fn)

  The pool may contain:

  - An estimator of `tf.estimator`, or any object with a `model_fn`.
  - A function without arguments, or a class, that returns a new model of Keras
    3 or `tf_compat.keras` at each call. The model returns logits. The model's
    losses, such as regularization losses, are added to the loss of the head.
    The model's updates run in each step.
  - A function of `config` that returns an estimator, or an
    `AutoEnsembleSubestimator` of an estimator.
  - A function of `features`, and optionally `training`, that returns the
    logits, or a pair of the last layer and the logits. Both are tensors of
    shape [batch_size, size], or dicts from head to tensor for a multi-head. The
    function makes variables with `get_variable` or with layers.
  - A function of one argument with another name. The function is called with
    the features. If the result is not logits, the function is called with the
    config.
  - An `AutoEnsembleSubestimator` of any of the above.

  A Keras model gets the features as in Keras: by the keys of a dict of inputs,
  otherwise by the names of the inputs, and by position if the features are a
  list. A model with one input gets the only feature regardless of names. The
  head's `weight_column` is passed only to a model with an input of this name. A
  subclassed model gets the features exactly as the input_fn returns them.

  For a multi-head, a Keras model returns a dict from head to logits, or a list.
  The list of a functional model is matched to the heads by the names of the
  outputs, or by position if no output has the name of a head. For one head, a
  Keras model returns the logits, or a dict with the keys "last_layer" and
  "logits".

  Each model is trained alone, and the ensembler combines the models. All models
  have complexity 0, so `adanet_lambda` of an ensembler has no effect.
  """

  def __init__(
      self,
      head: Any,
      candidate_pool: Any,
      max_iteration_steps: Optional[int],
      ensemblers: Optional[Sequence[Any]] = None,
      ensemble_strategies: Optional[Sequence[Any]] = None,
      logits_fn: Optional[Callable[..., Any]] = None,
      last_layer_fn: Optional[Callable[..., Any]] = None,
      evaluator: Any = None,
      metric_fn: Optional[Callable[..., Any]] = None,
      force_grow: bool = False,
      adanet_loss_decay: float = .9,
      worker_wait_timeout_secs: float = 7200,
      model_dir: Optional[str] = None,
      config: Any = None,
      debug: bool = False,
      enable_ensemble_summaries: bool = True,
      enable_subnetwork_summaries: bool = True,
      global_step_combiner_fn: Optional[
          Callable[[List[Any]], Any]] = None,
      max_iterations: Optional[int] = None,
      replay_config: Any = None,
      optimizer: Any = None,
      dtype_policy: Optional[str] = None,
      **kwargs: Any) -> None:
    """Checks the arguments; writes nothing yet.

    All other arguments are as in `adanet.Estimator`.

    Args:
      head: the task to learn: a head of `adanet.heads` or `tf.estimator`.
      candidate_pool: dict from name to model; or a list of models, each named
        by its class and index; or a function that returns a dict or list. The
        function is called in each iteration and may take `config` and
        `iteration_number`.
      logits_fn: function from the `estimator_spec` of an estimator to the
        logits. None for the prediction "logits", else "predictions", else the
        only prediction.
      last_layer_fn: function from the `estimator_spec` of an estimator to the
        last layer. None for the logits.
      optimizer: the optimizer of functions and Keras models that have none; see
        `tf_compat.optimizers.minimize`. None for Adam with a learning rate of
        0.001.
      dtype_policy: str, the Keras 3 policy for the layers of the pool's models
        on all machines, such as "mixed_bfloat16". None for Keras's current
        policy on each machine.

    Raises:
      ValueError: `candidate_pool` is empty, or contains a value of another
        kind or two models of the same name; `optimizer` or `dtype_policy` is
        unknown; or as in `adanet.Estimator`.
      TypeError: as in `adanet.Estimator`.
    """
    generator = PoolGenerator(
        candidate_pool, logits_fn, last_layer_fn,
        optimizers.for_any_graph(optimizer), head, dtype_policy)
    super().__init__(
        head=head, subnetwork_generator=generator,
        max_iteration_steps=max_iteration_steps, ensemblers=ensemblers,
        ensemble_strategies=ensemble_strategies, evaluator=evaluator,
        metric_fn=metric_fn, force_grow=force_grow,
        adanet_loss_decay=adanet_loss_decay,
        worker_wait_timeout_secs=worker_wait_timeout_secs,
        model_dir=model_dir, config=config, debug=debug,
        enable_ensemble_summaries=enable_ensemble_summaries,
        enable_subnetwork_summaries=enable_subnetwork_summaries,
        global_step_combiner_fn=global_step_combiner_fn,
        max_iterations=max_iterations, replay_config=replay_config, **kwargs)
