# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds a candidate subnetwork of an iteration."""

import contextlib
import inspect
import re
from typing import Any, Callable, ContextManager, Dict, Iterable, Iterator
from typing import List, NamedTuple, Optional, Sequence, Tuple

from adanet import log as logging
from adanet import subnetwork as subnetwork_lib
from adanet import tf_compat
from adanet.core import metrics
from adanet.core import scopes
from adanet.core import user_input
from adanet.heads import mean_loss

_METHODS = ("build_subnetwork", "build_subnetwork_train_op")
# The characters that TensorFlow takes in the name of a scope.
_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\\/-]+\Z")


class LearningTask(NamedTuple):
  """The task to learn: the same for all candidates.

  Attributes:
    metric_fn: None, or a function of some of `features`, `labels` and
      `predictions` that returns a dict of metrics.
    features: tensor or dict of tensors, a batch.
    mode: str, as in `tf.estimator.ModeKeys`.
    applies_head: whether losses, predictions and metrics are built. Without
      them, there are the logits of subnetworks alone.
  """
  head: Any
  metric_fn: Optional[Callable[..., Dict[str, Any]]]
  features: Any
  labels: Any
  mode: str
  applies_head: bool = True

  @property
  def training(self) -> bool:
    """Whether variables are trained."""
    return self.mode == "train"

  def apply_head(self, logits: Any, owner: str) -> Any:
    """Returns the head's predictions, loss, metrics and export outputs.

    Args:
      logits: tensor of shape [batch, logits_dimension], or dict of such.
    """
    _check_logits(logits, self.head.logits_dimension, owner)
    nan_scope: ContextManager[None] = contextlib.nullcontext()
    if self.mode == "eval":
      nan_scope = scopes.nan_scope(logits)
    try:
      with nan_scope, scopes.metrics_scope():
        return self.head.create_estimator_spec(
            features=self.features, mode=self.mode, logits=logits,
            labels=self.labels,
            train_op_fn=lambda loss: tf_compat.v1.no_op())
    except (TypeError, ValueError) as error:
      raise ValueError(f"{owner}: {error}") from error

  def loss_terms(self, spec: Any,
                 logits: Any) -> Tuple[mean_loss.LossTerm, ...]:
    """Returns the terms of the head's loss; none but for evaluation."""
    if self.mode != "eval":
      return ()
    return mean_loss.terms_of(self.head, spec, self.features, logits)


def _check_logits(logits, dimension, owner):
  """Checks that logits fit the head's `logits_dimension`."""
  if isinstance(dimension, dict) and isinstance(logits, dict):
    missing = sorted(set(dimension) - set(logits), key=str)
    if missing:
      raise ValueError(
          f"{owner}: logits must have a key for each head, got "
          f"{sorted(logits, key=str)}, without {missing}")
    for key in sorted(dimension, key=str):
      _check_logits(logits[key], dimension[key], f"{owner}: head {key!r}")
    return
  if isinstance(logits, dict) or isinstance(dimension, dict):
    return  # The head splits one tensor, or reports the mistake.
  shape = getattr(logits, "shape", None)
  if not hasattr(shape, "ndims"):
    raise ValueError(
        f"{owner}: logits must be a tensor of the graph, got {logits!r}")
  if shape.ndims is None or dimension is None:
    return  # A loss of Keras, which has no dimension, takes any shape.
  last = tf_compat.v1.dimension_value(shape[-1]) if shape.ndims else None
  if shape.ndims < 2 or (last is not None and last != dimension):
    raise ValueError(
        f"{owner}: logits must have shape [batch_size, {dimension}] for this "
        f"head, got {shape}")


class SubnetworkSpec(NamedTuple):
  """A candidate subnetwork in the graph.

  Attributes:
    name: str, `t<iteration>_<builder's name>`.
    step: variable, int64 of shape []: the number of training steps.
    iteration_step: tensor, the value of `step` before the training of a run.
    loss: float tensor of shape [], or None for prediction.
    train_op: `adanet.subnetwork.TrainOpSpec`; None without training.
    metrics: dict from a name to a pair of tensors (value, update); empty but
      for evaluation.
    variables: tuple of str, the names of the float variables, without
      optimizers' variables.
  """
  name: str
  builder: Any
  subnetwork: Any
  step: Any
  iteration_step: Any
  summary: Any
  loss: Any = None
  train_op: Any = None
  metrics: Dict[str, Any] = {}
  variables: Tuple[str, ...] = ()


def num_variables() -> int:
  """Returns how many variables the default graph saves."""
  return len(tf_compat.v1.global_variables())


def made_since(count: int) -> Tuple[str, ...]:
  """Returns the names of new float variables in the default graph.

  Args:
    count: int, the value of `num_variables` before. A builder that makes the
      train op early also makes the slots of the optimizer, which are left out.
  """
  names = [v.op.name for v in tf_compat.v1.global_variables()[count:]
           if v.dtype.base_dtype.is_floating]
  return tuple(name for name in names if not any(
      name.startswith(other + "/") for other in names))


def check_names(builders: Sequence[Any], iteration_number: int) -> None:
  """Checks the names of an iteration's builders.

  Raises:
    ValueError: builders or names are missing, equal or not valid.
  """
  where = f"iteration {iteration_number}"
  if not builders:
    raise ValueError(
        f"{where}: the generator made no builder, expected at least one: "
        "return a list of adanet.subnetwork.Builder from generate_candidates")
  seen = set()
  for builder in builders:
    if isinstance(builder, type):
      raise ValueError(
          f"{where}: the generator made the class {builder.__name__}, expected "
          "a builder: call it")
    missing = [method for method in _METHODS
               if not callable(getattr(builder, method, None))]
    if missing:
      raise ValueError(
          f"{where}: the generator made {builder!r}, expected an "
          f"adanet.subnetwork.Builder, which has {', '.join(missing)}")
    name = getattr(builder, "name", None)
    if not isinstance(name, str) or not _SCOPE_NAME.match(name):
      raise ValueError(
          f"{where}: the name of builder {type(builder).__name__} must be a "
          f"str of letters, digits, '_', '.', '-' and '/', got {name!r}")
    if name in seen:
      raise ValueError(
          f"{where}: two builders have the name {name!r}: give each its own")
    seen.add(name)


def make_step() -> Any:
  """Returns the variable that counts the steps of a subnetwork or ensemble.

  The global step may share the memory of the variable, so an op may not change
  the global step in place.
  """
  v1 = tf_compat.v1
  return v1.get_variable(
      "step", shape=[], initializer=v1.zeros_initializer(), trainable=False,
      dtype=v1.int64, use_resource=True)


def as_train_op_spec(train_op: Any, owner: str) -> Any:
  """Returns an op as `adanet.subnetwork.TrainOpSpec`."""
  if isinstance(train_op, subnetwork_lib.TrainOpSpec):
    return train_op
  if train_op is None:
    raise ValueError(
        f"{owner}: a train op must be an op or a TrainOpSpec, got None: return "
        "what the optimizer's minimize returns, or tf.no_op()")
  if not hasattr(train_op, "graph"):
    raise ValueError(
        f"{owner}: a train op must be an op or a TrainOpSpec, got {train_op!r}")
  return subnetwork_lib.TrainOpSpec(train_op)


@contextlib.contextmanager
def train_op_scope(variable_scope: Any, built: scopes.ScopeContent
                   ) -> Iterator[List[Any]]:
  """Enters the scope of a builder's or an ensembler's train op.

  Yields:
    A list. After the scope, the list has the ops to run with the train op: the
    assignments of layers of Keras 3.
  """
  v1 = tf_compat.v1
  # A variable is changed by a layer before, and then by the optimizer.
  updates = built.keras.updates(only_trainable=True)
  with scopes.builder_scope(variable_scope, built):
    with v1.control_dependencies(updates):
      yield updates
  updates += built.keras.updates()


def with_updates(spec: Any, updates: Sequence[Any]) -> Any:
  """Returns a `TrainOpSpec` that also runs some ops."""
  if not updates:
    return spec
  return spec._replace(train_op=tf_compat.v1.group(spec.train_op, *updates))


def build_subnetwork(builder: Any, name: str, iteration_number: int,
                     task: LearningTask, summary: Any, previous_ensemble: Any,
                     config: Any, frozen: bool,
                     training: bool) -> SubnetworkSpec:
  """Builds a subnetwork in the default graph and the current variable scope.

  Args:
    previous_ensemble: the `adanet.Ensemble` of the last iteration, for
      builders with such a parameter; or None.
    frozen: whether the subnetwork is part of an earlier winner, without a loss.
    training: whether to build as for training, such as with dropout.
  """
  v1 = tf_compat.v1
  owner = f"builder {builder.name!r} of iteration {iteration_number}"
  with v1.variable_scope("subnetwork_" + name) as variable_scope:
    step = make_step()
    # A tensor, so that the builder cannot change the variable.
    iteration_step = v1.convert_to_tensor(step)
    with summary.current_scope():
      summary.scalar("iteration_step/adanet/iteration_step", iteration_step)
    arguments = answered(
        builder.build_subnetwork, dict(
            features=task.features, logits_dimension=task.head.logits_dimension,
            training=training, iteration_step=iteration_step, summary=summary),
        previous_ensemble, labels=task.labels, config=config)
    count = num_variables()
    with summary.capture(), scopes.builder_scope(variable_scope) as built:
      with user_input.explained_in_builder(owner, task.features, task.labels):
        subnetwork = builder.build_subnetwork(**arguments)
    if not isinstance(subnetwork, subnetwork_lib.Subnetwork):
      raise ValueError(
          f"{owner}: build_subnetwork must return an "
          f"adanet.subnetwork.Subnetwork, got {subnetwork!r}")
    variables = made_since(count)
    if frozen or not task.applies_head:
      return SubnetworkSpec(
          name, builder, subnetwork, step, iteration_step, summary)
    with scopes.seed_scope(variable_scope.name + "/head"):
      spec = task.apply_head(subnetwork.logits, owner)
      measured = metrics.of_candidate(
          task, spec, task.loss_terms(spec, subnetwork.logits))
    train_op = None
    if task.training:
      warn_of_probabilities(
          subnetwork.logits, spec.predictions, owner, variable_scope.name)
      with summary.current_scope():
        summary.scalar("loss", spec.loss)
      with summary.capture(), train_op_scope(variable_scope, built) as updates:
        train_op = as_train_op_spec(
            builder.build_subnetwork_train_op(**answered(
                builder.build_subnetwork_train_op, dict(
                    subnetwork=subnetwork, loss=spec.loss,
                    var_list=list(built.trainable_variables),
                    labels=task.labels, iteration_step=iteration_step,
                    summary=summary), previous_ensemble)), owner)
      train_op = with_updates(train_op, updates)
    return SubnetworkSpec(
        name, builder, subnetwork, step, iteration_step, summary, spec.loss,
        train_op, measured, variables)


# These change no value, or only its type.
_PASSED = frozenset([
    "Cast", "ExpandDims", "Identity", "IdentityN", "Reshape", "Snapshot",
    "Squeeze", "StopGradient"])
_FUNCTIONS = {"Sigmoid": "sigmoid", "Softmax": "softmax"}


def _activation(tensor: Any) -> Optional[Any]:
  """Returns the softmax or sigmoid whose output is a tensor, or None."""
  op = getattr(tensor, "op", None)
  while op is not None and op.type in _PASSED and len(op.inputs):
    # That of an IdentityN is the one of the same number.
    number = tensor.value_index if len(op.inputs) == len(op.outputs) else 0
    tensor = op.inputs[number]
    op = tensor.op
  return op if op is not None and op.type in _FUNCTIONS else None


def _has_probabilities(predictions: Iterable[Any], head: Optional[str]) -> bool:
  """Returns whether a head makes probabilities of logits.

  Args:
    predictions: the keys of the head's predictions, pairs for a multi-head.
    head: str, the head of a multi-head; None for any head.
  """
  return any(
      key == "probabilities" or isinstance(key, tuple) and
      key[-1] == "probabilities" and head in (None, key[0])
      for key in predictions)


def warn_of_probabilities(logits: Any, predictions: Any, owner: str,
                          scope: str) -> None:
  """Warns if the logits of a network come out of a softmax or a sigmoid.

  A regression head may want such logits, so only heads of classes are checked.
  """
  if not isinstance(predictions, dict):
    return
  parts: Dict[Any, Any] = logits if isinstance(logits, dict) else {None: logits}
  for head, tensor in parts.items():
    op = _activation(tensor)
    if op is None or not _has_probabilities(predictions, head):
      continue
    path = op.name
    if path.startswith(scope + "/"):
      path = path[len(scope) + 1:]
    layer, _, name = path.rpartition("/")
    function = _FUNCTIONS[op.type]
    logging.warning(
        "%s: its logits%s are the output of a %s: %s. The head applies one "
        "itself, so the network learns slowly and badly. Return what is before "
        "the %s: a last layer without activation.", owner,
        "" if head is None else f" for the head {head!r}", function,
        f"the op {name!r} of the layer {layer!r}" if layer else
        f"the op {name!r}", function)


PREVIOUS = "previous_ensemble"


def asks_for(function: Callable[..., Any], argument: str) -> bool:
  """Returns whether a function has a parameter with a name."""
  return argument in inspect.signature(function).parameters


def asks_for_previous(function: Callable[..., Any]) -> bool:
  """Returns whether a function gets the previous ensemble.

  A function with `**kwargs` may pass the ensemble on.
  """
  parameters = inspect.signature(function).parameters
  return PREVIOUS in parameters or any(
      parameter.kind == inspect.Parameter.VAR_KEYWORD
      for parameter in parameters.values())


def answered(function: Callable[..., Any], arguments: Dict[str, Any],
             previous_ensemble: Any, **optional: Any) -> Dict[str, Any]:
  """Returns the arguments of a function, including accepted optional arguments.

  Args:
    arguments: dict of the required arguments.
    previous_ensemble: the previous ensemble, or None.
    **optional: further arguments, for functions with a parameter of the name.
  """
  result = dict(arguments)
  if asks_for_previous(function):
    result[PREVIOUS] = previous_ensemble
  result.update((name, value) for name, value in optional.items()
                if asks_for(function, name))
  return result


def builder_asks(builder: Any) -> bool:
  """Returns whether a builder needs the previous ensemble in the graph."""
  return callable(getattr(builder, "prune_previous_ensemble", None)) or any(
      asks_for_previous(method) for method in (
          builder.build_subnetwork, builder.build_subnetwork_train_op))
