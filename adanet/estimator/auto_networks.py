# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks of a user: a function or a Keras model.

A network can be called many times in a graph. The first call makes the
variables, and all calls share the variables.
"""

import contextlib
import inspect
from typing import Any, Callable, Collection, Iterator, List, NamedTuple
from typing import Optional, Sequence
import weakref

from adanet import tf_compat
from adanet.estimator import auto_inputs
from adanet.tf_compat import keras_internals
from adanet.tf_compat import runtime

# Methods of a model that trains in its own way in Keras.
_OWN_TRAINING = ("train_step", "compute_loss")
_SEARCH = "adanet.EnsembleSearch trains models as Model.fit does"
# Models that have been in a graph.
_USED: Any = weakref.WeakSet()


class Outputs(NamedTuple):
  """The parts of the graph that a call of a network adds.

  Attributes:
    last_layer: tensor, or dict from head to tensor.
    logits: tensor, or dict from head to tensor.
    regularization: list of float tensors of shape [], to be added to the loss.
    updates: list of ops to run in each step of training.
    variables: list of the variables to train; None for all new variables.
  """
  last_layer: Any
  logits: Any
  regularization: Sequence[Any] = ()
  updates: Sequence[Any] = ()
  variables: Optional[Sequence[Any]] = None


@contextlib.contextmanager
def _dtype_policy(name: Optional[str]) -> Iterator[None]:
  """Gives Keras 3 a policy in the thread; None for no change."""
  if name is None:
    yield
    return
  config = tf_compat.keras_3.config
  before = config.dtype_policy()
  config.set_dtype_policy(name)
  try:
    yield
  finally:
    config.set_dtype_policy(before)


def check_dtype_policy(name: Optional[str]) -> None:
  """Checks the name of a policy.

  Raises:
    ValueError: Keras 3 has no such policy, or is not there.
  """
  try:
    with _dtype_policy(name):
      pass
  except (ImportError, TypeError, ValueError) as error:
    raise ValueError(
        f"dtype_policy={name!r}: expected the name of a Keras 3 policy, such "
        f"as \"mixed_bfloat16\", or None ({runtime.error_line(error)})"
    ) from error


def _name_scope():
  """Opens the name scope with the name of the variable scope.

  Keras names variables by the name scope, and a reopened name scope gets a
  number.
  """
  scope = tf_compat.v1.get_variable_scope().name
  return tf_compat.v1.name_scope(scope + "/" if scope else "")


class FunctionNetwork:
  """A function from features to logits, or to the last layer and logits."""
  has_mask = False

  def __init__(self, function: Callable[..., Any], owner: str,
               dtype_policy: Optional[str] = None) -> None:
    """Builds nothing yet. The function may take `training`, too."""
    self._function = function
    self._dtype_policy = dtype_policy
    self._owner = owner
    self._takes_training = "training" in inspect.signature(function).parameters
    self._template = tf_compat.v1.make_template("network", self._call)
    self._called = False

  def _call(self, features, training):
    # Optimizers of Keras change only these.
    tf_compat.v1.get_variable_scope().set_use_resource(True)
    with _name_scope(), _dtype_policy(self._dtype_policy):
      if self._takes_training:
        return self._function(features, training=training)
      return self._function(features)

  def _second_call_error(self, reason):
    return ValueError(
        f"{self._owner} fails at its second call, for the input of train: "
        f"{reason}. Use the same variables for each input: get_variable, or a "
        "function that makes a Keras model.")

  def __call__(self, features: Any, training: bool) -> Outputs:
    """Builds the network in the default graph.

    Raises:
      ValueError: the function returned no logits, or the second call does not
        use the variables of the first call.
    """
    keys = tf_compat.v1.GraphKeys
    collections = [
        tf_compat.v1.get_collection_ref(key)
        for key in (keys.GLOBAL_VARIABLES, keys.REGULARIZATION_LOSSES,
                    keys.UPDATE_OPS)]
    lengths = [len(collection) for collection in collections]
    try:
      result = self._template(features, training)
    except ValueError as e:
      if not self._called:
        raise
      raise self._second_call_error(
          runtime.error_line(e).rstrip(".")) from e
    variables, regularization, updates = (
        collection[length:] for collection, length in zip(collections, lengths))
    if self._called and variables:
      raise self._second_call_error("it makes the variable "
                                    f"{variables[0].op.name!r}")
    self._called = True
    last_layer, logits = split(result, self._owner)
    return Outputs(last_layer, logits, regularization, updates)


class KerasNetwork:
  """A Keras model from a function, with losses and updates.

  Attributes:
    model: the model, or None before the first call.
    has_mask: whether the last call returned a tensor with a mask of Keras 3.
    owner: str, the owner of the function, for messages.
  """

  def __init__(self, make_model: Callable[[], Any], owner: str,
               heads: Sequence[str] = (),
               dtype_policy: Optional[str] = None,
               weights: Collection[str] = ()) -> None:
    """Builds nothing yet.

    Args:
      make_model: function without arguments that makes a new model of Keras 3
        or of `tf_compat.keras` at each call.
      heads: the names of a multi-head's parts. A list from the model has an
        output for each head: by the names of a functional model's outputs, or
        in the order of `heads` if no output has the name of a head.
    """
    self._dtype_policy = dtype_policy
    self._make_model = make_model
    self.owner = owner
    self._heads = list(heads)
    self._weights = weights
    self._inputs: Any = None
    self.model: Any = None
    self.has_mask = False

  def _check(self, model):
    """Checks the model from the function.

    Raises:
      ValueError: the value is no model, or the head's loss cannot train it.
    """
    is_new = auto_inputs.is_keras_3(model)
    keras = tf_compat.keras_3 if is_new else tf_compat.keras
    if not (hasattr(type(model), "trainable_weights") and
            isinstance(model, keras.Model)):
      raise ValueError(
          f"{self.owner} returned {model!r}: expected a model of Keras, "
          "because the function takes no arguments.")
    if self._dtype_policy is not None and not is_new:
      raise ValueError(
          f"dtype_policy={self._dtype_policy!r}: expected None for "
          f"{self.owner}, which makes a model of Keras 2")
    for method in _OWN_TRAINING:
      usual = getattr(keras.Model, method, None)  # Some are of a later Keras.
      if usual is not None and getattr(type(model), method) is not usual:
        raise ValueError(
            f"{self.owner} returned {model!r}, which has a {method} of its "
            "own: expected none, because the head has the loss. Use add_loss, "
            f"or write an adanet.subnetwork.Builder. {_SEARCH}.")
    if getattr(model, "optimizer", None) is not None:
      raise ValueError(
          f"{self.owner} returned a model that is compiled: expected a model "
          "without compile, because the head has the loss and the metrics. "
          "Give the optimizer to the AutoEnsembleEstimator, or to an "
          f"AutoEnsembleSubestimator. {_SEARCH}.")
    if isinstance(model, keras.Sequential) and not model.layers:
      raise ValueError(
          f"{self.owner} returned a Sequential without layers: expected at "
          "least one.")

  def _is_made_before(self, model):
    """Whether a model does not belong to the default graph alone."""
    if auto_inputs.is_keras_3(model):
      weights = [variable.value for variable in model.variables]
    elif keras_internals.is_eager_keras_2(model):
      return True
    else:
      weights = model.weights if model.built else []
    graph = tf_compat.v1.get_default_graph()
    return model in _USED or not all(
        getattr(variable, "graph", None) is graph for variable in weights)

  def _new_model(self):
    """Returns a new model in the default graph."""
    model = self._make_model()
    self._check(model)
    if self._is_made_before(model):
      raise ValueError(
          f"{self.owner} returned a model that was made before: expected a "
          "new model at each call. Make all of its layers inside of the "
          f"function. {_SEARCH}, also with layers from outside.")
    _USED.add(model)
    return model

  def __call__(self, features: Any, training: bool) -> Outputs:
    """Builds the network in the default graph.

    Raises:
      ValueError: the function makes no usable model, the features are not the
        model's inputs, or the outputs do not match the heads.
    """
    with _name_scope(), _dtype_policy(self._dtype_policy):
      if self.model is None:
        self.model = self._new_model()
        self._inputs = auto_inputs.ModelInputs(
            self.model, self.owner, self._weights)
      model = self.model
      inputs = self._inputs.of(features)
      try:
        result = model(inputs, training=training)
      except (TypeError, ValueError) as error:
        reason = self._inputs.explained(features)
        if reason:
          raise ValueError(reason) from error
        raise
      self.has_mask = any(map(
          keras_internals.has_mask, tf_compat.v2.nest.flatten(result)))
      last_layer, logits = split(
          by_head(result, model, self._heads, self.owner),
          self.owner)
      if not training:
        return Outputs(last_layer, logits, variables=[])
      if auto_inputs.is_keras_3(model):
        # Its assignments run with the train op; see `keras_scope`.
        return Outputs(
            last_layer, logits, regularization=[
                tf_compat.v1.reduce_sum(as_float32(loss))
                for loss in model.losses],
            variables=[v.value for v in model.trainable_variables])
      return Outputs(
          last_layer, logits,
          regularization=(model.get_losses_for(None) +
                          model.get_losses_for(inputs)),
          updates=(model.get_updates_for(None) +
                   model.get_updates_for(inputs)),
          variables=list(model.trainable_weights))


#: The outputs of a model that gives its last layer, too.
PAIR = ("last_layer", "logits")


def head_names(head: Any) -> List[str]:
  """Returns the names of the heads of a multi-head; [] for another head."""
  dimension = getattr(head, "logits_dimension", None)
  if isinstance(dimension, dict):
    return list(dimension)
  return [part.name for part in getattr(head, "heads", ())]


def by_head(result, model, heads, owner):
  """Returns the logits of a model for a head, or a dict for several heads.

  Args:
    heads: list of str, the names of a multi-head's heads; empty for a head.

  Raises:
    ValueError: outputs and heads do not match.
  """
  if isinstance(result, dict) and set(result) == set(PAIR) and (
      not heads or isinstance(result[PAIR[1]], dict)):
    return [result[key] for key in PAIR]
  if not isinstance(result, (list, tuple)) or heads and (
      len(result) == 2 and isinstance(result[1], dict)):
    return result
  names = list(getattr(model, "output_names", None) or ())
  outputs = (f"{owner}: the model has the {len(result)} outputs "
             f"{', '.join(map(str, names)) or 'without names'}, and the ")
  if not heads:
    if len(result) == 1:
      return result[0]
    raise ValueError(
        f"{outputs}head takes one: expected the logits alone, or a dict with "
        f"the keys {' and '.join(PAIR)}, or an adanet.heads.MultiHead.")
  if len(result) == len(heads):
    if not set(names) & set(heads):
      return dict(zip(heads, result))  # As Keras reads a list of losses.
    if set(names) == set(heads):
      return dict(zip(names, result))
  raise ValueError(
      f"{outputs}heads are {', '.join(heads)}: expected one output for each "
      "head, all with the heads' names, or with others in the order of the "
      "heads.")


def as_float32(value):
  """Returns a tensor for ensembles and heads: float16 as float32."""
  v1 = tf_compat.v1
  if isinstance(value, dict):
    return {key: as_float32(part) for key, part in value.items()}
  if isinstance(value, v1.Tensor) and value.dtype.is_floating:
    return v1.cast(value, v1.float32)
  return value


def pair(result):
  """Returns the last layer and the logits of a network, unchecked.

  Several heads may share a last layer. A `Subnetwork` has a layer per head.
  """
  if not isinstance(result, (list, tuple)) or len(result) != 2:
    return result, result
  last_layer, logits = result
  if isinstance(logits, dict) and not isinstance(last_layer, dict):
    last_layer = dict.fromkeys(logits, last_layer)
  return last_layer, logits


def split(result, owner):
  """Returns the last layer and the logits of a network's return value."""
  last_layer, logits = pair(result)
  for tensor in [
      tensor for part in (logits, last_layer)
      for tensor in (part.values() if isinstance(part, dict) else [part])]:
    if hasattr(type(tensor), "trainable_weights"):
      raise ValueError(
          f"{owner} returned {tensor!r}: expected logits, because the function "
          "takes features. Call the model with them, or let the function take "
          "no arguments.")
    if not isinstance(tensor, tf_compat.v1.Tensor):
      raise ValueError(
          f"{owner} returned {result!r}: expected logits or (last_layer, "
          "logits), each a tensor, or a dict of tensors for a multi-head. If "
          "the function returns an estimator, name its parameter config.")
  if last_layer is logits:
    return (as_float32(logits),) * 2
  return as_float32(last_layer), as_float32(logits)
