# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builders of a user's models: estimators, functions and Keras models."""

from typing import Any, Callable, Optional, Set

from adanet import log as logging
from adanet import subnetwork as subnetwork_lib
from adanet import tf_compat
from adanet.core import user_input
from adanet.progress import reporter
from adanet.tf_compat import keras_scope
from adanet.tf_compat import optimizers
from adanet.tf_compat import run_config
from adanet.training import input_fn as input_fn_lib


def _session_run_hook():
  """Returns the class of hooks, made when TensorFlow is needed."""

  class RunBefore(tf_compat.v1.train.SessionRunHook):
    """Runs an op by itself before each step.

    The end of the op's input then ends the training of one subnetwork, and not
    that of all.
    """

    def __init__(self, op, owner):
      self._op = op
      self._owner = owner
      self._has_run = False

    def before_run(self, run_context):
      try:
        run_context.session.run(self._op)
      except tf_compat.v1.errors.OutOfRangeError:
        if not self._has_run:
          raise user_input.empty_input_error(self._owner) from None
        raise
      self._has_run = True

  return RunBefore


def _apart(owner, train_op, chief_hooks=(), hooks=()):
  """Returns a `TrainOpSpec` that runs an op with an input of its own."""
  return subnetwork_lib.TrainOpSpec(
      tf_compat.v1.no_op(), chief_hooks,
      tuple(hooks) + (_session_run_hook()(
          train_op, f"train_input_fn of {owner}"),))


def _read(train_input_fn, config):
  """Returns the `Input` of a candidate's own input_fn."""
  return input_fn_lib.call(train_input_fn, "train", config,
                        [tf_compat.v1.distribute.InputContext()])


def _num_resources():
  """Returns how many resources of estimators the default graph has."""
  v1 = tf_compat.v1
  return len(v1.get_collection(v1.GraphKeys.RESOURCES))


def _check_accumulators(owner):
  """Checks that an estimator shares no accumulator with another candidate.

  TensorFlow gives boosted trees the same names in each model. Two
  models would take the other one's values, or wait for them without an end.
  """
  v1 = tf_compat.v1
  scope = v1.get_variable_scope().name + "/"
  iteration = scope[:scope.rindex("/", 0, -1) + 1]
  owners = {}
  for op in v1.get_default_graph().get_operations():
    if op.type.endswith("ConditionalAccumulator") and (
        op.name.startswith(iteration)):
      shared_name = op.get_attr("shared_name").decode()
      owners.setdefault(shared_name, set()).add(op.name.startswith(scope))
  for shared_name, names in owners.items():
    if shared_name and len(names) > 1:
      raise ValueError(
          f"{owner}: expected at most one estimator of "
          "boosted trees in the pool, because those of TensorFlow share the "
          f"accumulator {shared_name!r}. Leave one out.")


class EstimatorBuilder(subnetwork_lib.Builder):
  """Builds the graph of an estimator's `model_fn`."""

  def __init__(self, name: str, owner: str, subestimator: Callable[..., Any],
               logits_fn: Callable[..., Any],
               last_layer_fn: Optional[Callable[..., Any]],
               config: Any) -> None:
    """Makes a builder."""
    self._name = name
    self._owner = owner
    self._subestimator = subestimator
    self._logits_fn = logits_fn
    self._last_layer_fn = last_layer_fn
    self._config = config

  @property
  def name(self) -> str:
    return self._name

  def build_subnetwork(self, features, labels, logits_dimension, training,
                       iteration_step, summary, config=None):
    config = run_config.estimator_run_config(config)
    estimator, train_input_fn, prediction_only = self._subestimator(config)[:3]
    mode = "train" if training and not prediction_only else "infer"

    def call(features, labels):
      with summary.current_scope():
        return estimator.model_fn(
            features=features, labels=labels, mode=mode,
            config=run_config.estimator_run_config(self._config))

    # The template's name is a part of the variables' names in checkpoints.
    call = tf_compat.v1.make_template("model_fn", call)
    local_init_ops = []
    specs = []
    if mode == "train" and train_input_fn:
      own_input = _read(train_input_fn, config)
      local_init_ops += own_input.initializers
      specs.append(call(own_input.features, own_input.labels))
    num_resources = _num_resources()
    specs.append(call(features, labels))
    if len(specs) > 1 and _num_resources() > num_resources:
      raise ValueError(
          f"{self._owner}: train_input_fn={train_input_fn!r}: "
          "expected None for an estimator that learns no variables, such as "
          "one of boosted trees, because the ensembles do not see what it "
          "learns while they train")
    _check_accumulators(self._owner)
    local_init_ops += [
        spec.scaffold.local_init_op for spec in specs
        if spec.scaffold and spec.scaffold.local_init_op]
    logits = self._logits_fn(estimator_spec=specs[-1])
    trained = specs[0]
    if mode != "train":
      train_op = subnetwork_lib.TrainOpSpec(tf_compat.v1.no_op())
    elif train_input_fn:
      train_op = _apart(
          self._owner, trained.train_op, trained.training_chief_hooks,
          trained.training_hooks)
    else:
      train_op = subnetwork_lib.TrainOpSpec(
          trained.train_op, trained.training_chief_hooks,
          trained.training_hooks)
    return subnetwork_lib.Subnetwork(
        last_layer=(self._last_layer_fn(estimator_spec=specs[-1])
                    if self._last_layer_fn else logits),
        logits=logits,
        complexity=tf_compat.v1.constant(0.),
        shared={"train_op": train_op},
        local_init_ops=local_init_ops)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary):
    return subnetwork.shared["train_op"]


class NetworkBuilder(subnetwork_lib.Builder):
  """Builds a network, and trains it with an optimizer."""

  def __init__(self, name: str, owner: str, make_network: Callable[[], Any],
               optimizer: Any, default_optimizer: Any,
               train_input_fn: Optional[Callable[..., Any]],
               prediction_only: bool, head: Any, said: Set[str]) -> None:
    """Makes a builder.

    Args:
      make_network: function that returns a `FunctionNetwork` or a
        `KerasNetwork` for the default graph.
      said: the lines that builders of this search have said.
    """
    self._name = name
    self._owner = owner
    self._train_input_fn = train_input_fn
    self._make_network = make_network
    self._optimizer = optimizer
    self._default_optimizer = default_optimizer
    self._prediction_only = prediction_only
    self._head = head
    self._said = said

  @property
  def name(self) -> str:
    return self._name

  def build_subnetwork(self, features, labels, logits_dimension, training,
                       iteration_step, summary, config=None):
    training = training and not self._prediction_only
    network = self._make_network()
    own_input = None
    trained = None
    updates = []
    if training and self._train_input_fn:
      own_input = _read(self._train_input_fn, config)
      with keras_scope.apart() as updates:
        trained = network(own_input.features, training)
      with keras_scope.apart():  # It does not train on this input.
        outputs = network(features, training)
    else:
      outputs = network(features, training)
    return subnetwork_lib.Subnetwork(
        last_layer=outputs.last_layer,
        logits=outputs.logits,
        complexity=tf_compat.v1.constant(0.),
        shared={
            "own_input": own_input,
            "outputs": trained or outputs,
            "updates": updates,
            "network": network,
        },
        local_init_ops=own_input.initializers if own_input else None)

  def _say(self, level, line):
    """Says a line once for a search."""
    if line not in self._said:
      self._said.add(line)
      reporter.log_or_print(level, line)

  def _used_optimizer(self):
    """Returns the optimizer of the network, or the default."""
    for optimizer in (self._optimizer, self._default_optimizer):
      if optimizer is not None:
        return optimizer
    self._say(logging.INFO,
              "optimizer=None: Adam with a learning rate of 0.001 trains the "
              "models of the pool that come without an optimizer.")
    return tf_compat.v1.train.AdamOptimizer(.001)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary):
    v1 = tf_compat.v1
    own_input = subnetwork.shared["own_input"]
    outputs = subnetwork.shared["outputs"]
    variables = var_list if outputs.variables is None else outputs.variables
    if self._prediction_only:
      return v1.no_op()
    if subnetwork.shared["network"].has_mask:
      self._say(logging.WARNING,
                f"{self._owner} returns an output with a mask. The loss of "
                "Keras would leave out what is masked, and the head's does not."
                " Give that a weight of 0 by the head's weight_column.")
    if not variables:
      self._say(logging.WARNING,
                f"{self._owner} has no variables that train, so training does "
                "not change it. If you mean this, use an "
                "AutoEnsembleSubestimator with prediction_only=True.")
      return v1.no_op()
    if own_input:
      # In mode "train" a head also makes a summary of the loss. Each time that
      # one is written, it would take a batch of this input.
      loss = self._head.create_estimator_spec(
          features=own_input.features, mode="eval", logits=outputs.logits,
          labels=own_input.labels).loss
    with v1.control_dependencies(subnetwork.shared["updates"]):
      step = optimizers.minimize(
          self._used_optimizer(),
          v1.add_n([loss, *outputs.regularization]), variables)
    train_op = v1.group(step, *outputs.updates)
    return _apart(self._owner, train_op) if own_input else train_op


class EitherBuilder(subnetwork_lib.Builder):
  """Builds the network of a function of features or of config."""

  def __init__(self, of_features: NetworkBuilder, of_config: EstimatorBuilder,
               makes_estimator: Callable[[Any], bool]) -> None:
    """Takes both, and whether the function makes an estimator of a config."""
    self._of_features = of_features
    self._of_config = of_config
    self._makes_estimator = makes_estimator
    self._built: subnetwork_lib.Builder = of_features

  @property
  def name(self) -> str:
    return self._of_features.name

  def build_subnetwork(self, features, labels, logits_dimension, training,
                       iteration_step, summary, config=None):
    arguments = (features, labels, logits_dimension, training, iteration_step,
                 summary, config)
    try:
      return self._of_features.build_subnetwork(*arguments)
    except Exception:  # AdaNet gives the config, whatever it is called.
      if not self._makes_estimator(
          run_config.estimator_run_config(config)):
        raise
    self._built = self._of_config
    return self._of_config.build_subnetwork(*arguments)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary):
    return self._built.build_subnetwork_train_op(
        subnetwork, loss, var_list, labels, iteration_step, summary)
