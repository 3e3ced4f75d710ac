# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.AutoEnsembleEstimator`: learns to combine models that a user has.

For example, of two Keras models::

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
from adanet.estimator import auto_outputs
from adanet.estimator import estimator as estimator_lib
from adanet.tf_compat import estimator_config
from adanet.tf_compat import optimizers

# The packages with classes of Keras's own.
_KERAS = ("keras", "tensorflow", "tensorflow_core", "tf_keras")
_EXPECTED = (
    "expected an estimator, an AutoEnsembleSubestimator, a function from "
    "features to logits, or a function without arguments that makes a Keras "
    "model")


class AutoEnsembleSubestimator(
    collections.namedtuple(
        "AutoEnsembleSubestimator",
        ["estimator", "train_input_fn", "prediction_only", "optimizer"])):
  """A model of the pool, and how it is trained.

  Attributes:
    estimator: the model: a `tf.estimator.Estimator`, or a function as in
      `AutoEnsembleEstimator`.
    train_input_fn: input_fn of `(features, labels)` that this model trains on,
      in place of `train`'s; None for `train`'s. With it, each
      model can see another part of the data (bagging). The ensemble always
      trains on the input of `train`.
    prediction_only: bool, whether the model is not to be trained.
    optimizer: for a function or a Keras model, see
      `tf_compat.optimizers.minimize`; None for the optimizer of the
      `AutoEnsembleEstimator`. An estimator has its own.
  """

  def __new__(cls, estimator: Any,
              train_input_fn: Optional[Callable[..., Any]] = None,
              prediction_only: bool = False,
              optimizer: Any = None) -> "AutoEnsembleSubestimator":
    """Makes a model of the pool.

    Raises:
      ValueError: an argument is not as described.
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
  """Whether a value is a layer or a model of Keras, and not a class of them."""
  return hasattr(type(value), "trainable_weights")


def _required(parameters):
  """Returns the names of the parameters that a call must give."""
  return [p.name for p in parameters if p.default is p.empty and
          p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _check_class(made, required, owner):
  """Checks that a class of Keras makes a model when it is called."""
  name = made.__name__
  if not hasattr(made, "fit") or made.__module__.split(".")[0] in _KERAS:
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
    function: of the pool.
    owner: str, the owner of the function, for messages.

  Returns:
    "config", "features", "" for nothing, or another name, which does not tell
    which of these two it is.

  Raises:
    ValueError: it is no function, or one of several arguments.
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
  taken = required + [p.name for p in parameters if p.name == "config" or
                      p.kind == p.VAR_POSITIONAL]
  return taken[0] if taken else ""


def _call_pool(pool, config, iteration_number):
  """Calls the function that a pool is."""
  parameters = inspect.signature(pool).parameters.values()
  offered = {"config": config, "iteration_number": iteration_number}
  names = [p.name for p in parameters]
  given = {name: offered[name] for name in names if name in offered}
  others = [name for name in _required(parameters) if name not in offered]
  if "config" not in given and len(others) == 1:
    return pool(config, **given)
  if others:
    raise ValueError(
        "candidate_pool: the function needs the arguments "
        f"{', '.join(others)}: expected a function of config, of "
        "iteration_number, of both or of none.")
  if any(p.kind == p.VAR_KEYWORD for p in parameters):
    given["config"] = config
  return pool(**given)


def _check_model(model, owner):
  """Checks that a model of the pool is one of the kinds that there are."""
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


class _PoolGenerator(subnetwork_lib.Generator):
  """Makes a builder of each model of a pool."""

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
    """Returns what a model of the pool is called in messages."""
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
            heads=auto_outputs.head_names(self._head),
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
      pool = _call_pool(pool, estimator_config.estimator_run_config(config),
                        iteration_number)
    return [self._builder(name, candidate, config)
            for name, candidate in self._named(pool)]


def _makes_estimator(function, config):
  """Whether a function of the pool makes an estimator of a config."""
  try:
    made = function(config)
  except Exception:  # pylint: disable=broad-except
    return False  # Whatever it does with features, this is none.
  return isinstance(made, AutoEnsembleSubestimator) or hasattr(made, "model_fn")


def _subestimator(candidate, owner, config):
  """Returns the `AutoEnsembleSubestimator` of an estimator for a config."""
  if hasattr(candidate.estimator, "model_fn"):
    return candidate
  made = candidate.estimator(config)
  if not isinstance(made, AutoEnsembleSubestimator):
    made = candidate._replace(estimator=made)
  if not hasattr(made.estimator, "model_fn"):
    raise ValueError(
        f"{owner} returned {made.estimator!r}: expected an estimator or an "
        "AutoEnsembleSubestimator of one, because the function takes config.")
  return made


def _default_logits(estimator_spec):
  """Returns the logits among the predictions of an estimator."""
  predictions = estimator_spec.predictions
  if isinstance(predictions, dict):
    for key in ("logits", "predictions"):
      if key in predictions:
        return predictions[key]
  return predictions


class AutoEnsembleEstimator(estimator_lib.Estimator):
  """An `adanet.Estimator` whose candidates are models that a user has.

  A model of the pool is told by what it is:

  - an estimator, of `tf.estimator` where that exists: it has a `model_fn`;
  - a function without arguments, or a class: it makes a Keras model, of Keras 3
    or of `tf_compat.keras`, a new one at each call. The model returns logits.
    Its losses, such as regularizers' losses, are added to that of the head,
    and its updates run in each step;
  - a function of `config`: it makes an estimator, or an
    `AutoEnsembleSubestimator` of one;
  - a function of `features`: it returns the logits, or a pair of the last layer
    and the logits. It may take `training` too. Each is a tensor of shape
    [batch_size, size], or a dict from head to tensor for a multi-head. It makes
    variables with `get_variable` or with layers;
  - a function of one argument with any other name: it gets the features, and if
    it makes no logits of them, the config;
  - an `AutoEnsembleSubestimator` of one of these.

  A Keras model gets the features as in Keras: by the keys of a dict of inputs,
  else by the names of its inputs; features in a list by position. With one
  feature and one input neither matters. Weights of examples, which the head
  reads, do not count, unless an input asks for them. A model that is a subclass
  gets the features as the input_fn returns them. For a multi-head it returns a
  dict from head to logits, or a list: that of a functional model by the names
  of its outputs, or in the order of the heads where none of them is a head's.
  For one head it returns the logits, or a dict with the keys "last_layer" and
  "logits".

  Each is trained alone, and the ensembler learns how to combine them. They have
  a complexity of 0, so only `adanet_beta` of an ensembler counts.
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
    """Writes nothing yet.

    Other arguments are as in `adanet.Estimator`.

    Args:
      head: the task to learn: a head of `adanet.heads`, or of `tf.estimator`.
      candidate_pool: list or dict of models. A dict's keys are their names; in
        a list a model is named by its class and its index. Or a function that
        returns one, asked in each iteration, which may take `config` and
        `iteration_number`.
      logits_fn: function of an `estimator_spec`, returns the logits of an
        estimator. With None they are its prediction "logits", or "predictions",
        or the prediction that is not in a dict.
      last_layer_fn: function of an `estimator_spec`, returns the last layer of
        an estimator. With None it is the logits.
      optimizer: trains functions and Keras models that come without one; see
        `tf_compat.optimizers.minimize`. None for Adam with a learning rate of
        0.001.
      dtype_policy: str, the policy of Keras 3 under which functions of the pool
        make their layers, such as "mixed_bfloat16", also on other machines.
        None for the policy that Keras has where they run.

    Raises:
      ValueError: the pool is empty, or has something else in it.
    """
    generator = _PoolGenerator(
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
