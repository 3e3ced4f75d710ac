# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head of a task whose loss is one of Keras."""

import inspect
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from adanet import tf_compat
from adanet.heads import _inputs
from adanet.heads import _losses
from adanet.heads import _metrics
from adanet.heads import export_output
from adanet.heads import head
from adanet.heads import mean_loss

# From the reduction of a Keras loss to ours.
_REDUCTIONS = {
    "sum_over_batch_size": "sum_over_batch_size",
    "mean": "sum_over_batch_size",
    "sum": "sum",
    "mean_with_sample_weight": "weighted_mean",
}
# What "accuracy" is, for outputs of size 1, integer labels, and one-hot labels.
_ACCURACIES = ("BinaryAccuracy", "SparseCategoricalAccuracy",
               "CategoricalAccuracy")

_ALONE = ""  # The name of an output that is alone.


class _TrainedOutput(NamedTuple):
  """An output of the models, and how it is trained.

  Attributes:
    loss: `keras.losses.Loss`.
    metrics: sequence of metrics as `Model.compile` takes them.
    weight: float, that of its loss in the sum.
    weight_column: str, the feature with the weights of examples; or None.
  """
  loss: Any
  metrics: Sequence[Any]
  weight: float
  weight_column: Optional[str]


class _Batch(NamedTuple):
  """A batch of an output.

  Attributes:
    labels: tensor, y_true of Keras.
    outputs: float32 tensor, y_pred.
    losses: tensor with the losses of the examples, or of their parts.
    weights: float32 tensor that broadcasts to `losses`, or None.
  """
  labels: Any
  outputs: Any
  losses: Any
  weights: Any


def _names(loss):
  """Returns the names of the outputs that a dict or list of losses is for."""
  if isinstance(loss, Mapping):
    return list(loss)
  return [f"output_{i}" for i in range(len(loss))]


def _divided(argument, value, names):
  """Returns the part of an argument of `compile` for each output.

  Raises:
    ValueError: it has not the names or the length of the losses.
  """
  if isinstance(value, Mapping):
    unknown = [name for name in value if name not in names]
    if unknown:
      raise ValueError(f"{argument} has the key {unknown[0]!r}: expected one "
                       f"of {names}, the outputs with a loss.")
    return [value.get(name) for name in names]
  if isinstance(value, (list, tuple)):
    if len(value) != len(names):
      raise ValueError(f"{argument} has {len(value)} values: expected "
                       f"{len(names)}, one for each loss.")
    return list(value)
  return [value] * len(names)


def _loss(loss):
  """Returns the `keras.losses.Loss` that `Model.compile` would make.

  Raises:
    ValueError: Keras knows no such loss, or it reduces to nothing.
  """
  losses = tf_compat.keras_3.losses
  try:
    found = losses.get(loss)
  except (TypeError, ValueError) as error:
    raise ValueError(
        f"loss={loss!r}: expected the name of a loss of Keras, a "
        "keras.losses.Loss, a function of y_true and y_pred, or a dict or list "
        "of these.") from error
  if isinstance(found, type):
    found = found()
  if found is None or not callable(found):
    raise ValueError(f"loss={loss!r}: expected a loss.")
  if not isinstance(found, losses.Loss):
    found = _LossOfFunction(found)
  if found.reduction not in _REDUCTIONS:
    raise ValueError(
        f"loss={loss!r} has reduction={found.reduction!r}: expected one of "
        f"{', '.join(map(repr, _REDUCTIONS))}.")
  return found


class _LossOfFunction:
  """A function of `y_true` and `y_pred`, as a `keras.losses.Loss`."""

  reduction = "sum_over_batch_size"
  dtype = "float32"

  def __init__(self, function):
    self.call = function
    self.name = getattr(function, "__name__", type(function).__name__)

  def get_config(self):
    return {name: one.default for name, one in
            inspect.signature(self.call).parameters.items()
            if one.default is not one.empty}


def _is_same(loss, other):
  """Whether two losses mean the same, be they objects or functions."""
  config, of_other = loss.get_config(), other.get_config()
  return loss.name == other.name and loss.reduction == other.reduction and all(
      config[key] == of_other[key] for key in config.keys() & of_other.keys()
      if key != "dtype")


def _of_list(value):
  return list(value) if isinstance(value, (list, tuple)) else (
      [] if value is None else [value])


class KerasHead(head.Head):
  """Any loss of Keras, for models whose outputs are what that loss takes.

  What other heads call logits are here the outputs of the models: y_pred of
  the loss. An ensemble has the weighted sum of them: of probabilities where
  models end in a softmax. So the mean of probabilities is one of them again if
  the weights add up to 1, as those of a `GreedyEnsembler` do.

  Several losses are for as many outputs: dicts of labels and of logits, by the
  names of the outputs.

  Predictions: `predictions`, or for several outputs `(<output>, predictions)`.

  Metrics: those given, by Keras's names. For several outputs
  `<output>_<metric>` and `<output>_loss`.
  """

  def __init__(self, loss: Any, loss_weights: Any = None, metrics: Any = None,
               weight_column: Any = None, name: Optional[str] = None):
    """Makes a head.

    Args:
      loss: as `Model.compile` takes it: the name of a loss, a
        `keras.losses.Loss`, or a function of `y_true` and `y_pred` which
        returns the loss of each example. Or a dict of these by output; or a
        list, whose outputs are then named `output_0` and so on.
      loss_weights: dict or list of floats, how much each loss counts in the
        sum; None if all count 1.
      metrics: list of metrics as `Model.compile` takes them, without weights;
        for several outputs a dict or list of such lists.
      weight_column: str, the feature with the weights of examples, of shape
        [batch_size], or with a weight of each part of an example. For several
        outputs a dict of names is possible, too. None for no weights.
      name: str, which names the head; or None.

    Raises:
      ValueError: this is not Keras 3, or an argument is not as described.
    """
    if not tf_compat.HAS_KERAS_3:
      raise ValueError(
          "KerasHead needs Keras 3: expected TensorFlow 2.16 or later. Before, "
          "use another head of adanet.heads, with a loss_fn.")
    self._name = name
    self._is_alone = not isinstance(loss, (Mapping, list, tuple))
    if self._is_alone:
      names, parts = [_ALONE], [(loss, _of_list(metrics), loss_weights,
                                 weight_column)]
      self._compiled = {"loss": loss, "loss_weights": loss_weights,
                        "metrics": metrics}
    else:
      names = _names(loss)
      if not names:
        raise ValueError(f"loss={loss!r}: expected a loss for each output.")
      losses, of_outputs, weights, columns = (
          _divided(argument, value, names) for argument, value in (
              ("loss", loss), ("metrics", metrics),
              ("loss_weights", loss_weights),
              ("weight_column", weight_column)))
      parts = list(zip(losses, map(_of_list, of_outputs), weights, columns))
      self._compiled = {
          "loss": dict(zip(names, losses)),
          "loss_weights": loss_weights and dict(zip(names, weights)),
          "metrics": metrics and dict(zip(names, map(_of_list, of_outputs)))}
    self._outputs = {
        key: _TrainedOutput(_loss(one), of_output, _weight(weight), column)
        for key, (one, of_output, weight, column) in zip(names, parts)}

  @property
  def name(self) -> Optional[str]:
    """See `Head`."""
    return self._name

  @property
  def logits_dimension(self) -> Any:
    """None: a loss of Keras does not say it."""

  @property
  def loss_reduction(self) -> str:
    """See `Head`. That of the first loss."""
    return _REDUCTIONS[next(iter(self._outputs.values())).loss.reduction]

  @property
  def output_names(self) -> List[str]:
    """The names of several outputs; empty for one that is alone."""
    return [] if self._is_alone else list(self._outputs)

  @property
  def losses(self) -> Dict[str, Any]:
    """Each `keras.losses.Loss` by output; of one that is alone by ""."""
    return {name: one.loss for name, one in self._outputs.items()}

  @property
  def loss_names(self) -> str:
    """The names of the losses, for messages."""
    return ", ".join(
        f"{key}: {one.loss.name}" if key else str(one.loss.name)
        for key, one in self._outputs.items())

  @property
  def weight_columns(self) -> List[str]:
    """The names of the features that are weights of examples."""
    return sorted({one.weight_column for one in self._outputs.values()
                   if one.weight_column is not None})

  @property
  def compile_arguments(self) -> Dict[str, Any]:
    """The arguments `loss`, `loss_weights` and `metrics` of `Model.compile`.

    Those of several outputs are dicts by output.
    """
    return {key: value for key, value in self._compiled.items()
            if value is not None}

  def has_losses(self, loss: Any) -> bool:
    """Whether an argument `loss` of `Model.compile` means the same losses."""
    names = list(self._outputs)
    if self._is_alone != (not isinstance(loss, (Mapping, list, tuple))):
      return False
    try:
      given = [_loss(one) for one in (
          [loss] if self._is_alone else _divided("loss", loss, names))]
    except ValueError:
      return False
    return all(_is_same(one, self._outputs[name].loss)
               for name, one in zip(names, given))

  def _by_output(self, argument, value):
    """Returns a dict from the name of an output to its tensor.

    Raises:
      ValueError: it has not a tensor for each output.
    """
    if self._is_alone:
      if isinstance(value, Mapping):
        raise ValueError(
            f"{argument}: got a dict with the keys {sorted(map(str, value))}, "
            "and the KerasHead has one loss. Give it a dict of losses.")
      return {_ALONE: value}
    names = list(self._outputs)
    if isinstance(value, (list, tuple)) and len(value) == len(names):
      return dict(zip(names, value))
    if not isinstance(value, Mapping) or not set(names) <= set(value):
      found = (sorted(map(str, value)) if isinstance(value, Mapping)
               else type(value).__name__)
      raise ValueError(f"{argument}: expected a dict with the keys {names}, "
                       f"the outputs with a loss; got {found}.")
    return value

  def build(self, features: Any, mode: str, logits: Any, labels: Any,
            regularization_losses: Optional[Sequence[Any]]) -> head.HeadSpec:
    """See `Head`."""
    v1 = tf_compat.v1
    outputs = {key: v1.cast(one, v1.float32) for key, one in
               self._by_output("logits", logits).items()}
    key_of = lambda name: (name, "predictions") if name else "predictions"
    predictions = {key_of(name): outputs[name] for name in self._outputs}
    if mode == head.PREDICT:
      exported = export_output.PredictOutput(
          {name or "predictions": outputs[name] for name in self._outputs})
      return head.HeadSpec(mode, predictions, export_outputs={
          head.DEFAULT_SERVING_KEY: exported,
          head.PREDICT_SERVING_KEY: exported})
    if labels is None:
      raise ValueError(
          "labels=None: a KerasHead needs labels to train and to evaluate. "
          "Return them from input_fn, after the features.")
    labels = self._by_output("labels", labels)
    batches = {name: _read(name, one, features, outputs[name], labels[name])
               for name, one in self._outputs.items()}
    terms = {name: _term(one, batches[name])
             for name, one in self._outputs.items()}
    weighted = [
        terms[name] if one.weight == 1. else terms[name]._replace(
            value=terms[name].value * one.weight)
        for name, one in self._outputs.items()]
    # One term that is the loss is its mean to the last digit.
    loss = head.add_regularization(
        weighted[0].value if len(weighted) == 1 else v1.add_n(
            [term.value for term in weighted]), regularization_losses)
    if mode == head.TRAIN:
      return head.HeadSpec(mode, predictions, loss)
    metrics = {}
    for name, one in self._outputs.items():
      start = f"{name}_" if name else ""
      if name:
        metrics[start + "loss"] = mean_loss.metric([terms[name]])
      for metric in one.metrics:
        made = _metric(metric, batches[name])
        made.update_state(batches[name].labels, batches[name].outputs)
        metrics[start + made.name] = tf_compat.metric_op(made)
    if regularization_losses is not None:
      metrics[self.regularization_key] = _metrics.mean(
          v1.add_n(regularization_losses))
    return head.HeadSpec(
        mode, predictions, loss, eval_metric_ops=metrics, loss_terms=(
            *weighted, *head.regularization_terms(regularization_losses)))


def _weight(value):
  """Returns the weight of a loss.

  Raises:
    ValueError: it is no number.
  """
  if value is None:
    return 1.
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    raise ValueError(f"loss_weights: got {value!r}, expected a number for each "
                     "loss.")
  return float(value)


def _read(name, output, features, outputs, labels):
  """Returns the `_Batch` of an output."""
  v1 = tf_compat.v1
  labels = v1.convert_to_tensor(labels)
  owner = f"KerasHead, output {name!r}" if name else "KerasHead"
  if not _inputs.is_number(labels.dtype) and not labels.dtype.is_bool:
    raise ValueError(
        f"labels: {owner} expects numbers, got {labels.dtype.name}. Make "
        "integers of them, by keras.layers.StringLookup or "
        "np.unique(labels, return_inverse=True).")
  if None in (labels.shape.rank, outputs.shape.rank):
    raise ValueError(
        f"{owner}: labels have the shape {labels.shape} and outputs "
        f"{outputs.shape}: expected known numbers of dimensions. Use "
        "tf.ensure_shape in input_fn.")
  if labels.dtype == v1.float64:  # As Keras reads arrays.
    labels = v1.cast(labels, v1.float32)
  try:
    losses = output.loss.call(*_in_one_rank(
        v1.cast(labels, output.loss.dtype or v1.float32), outputs))
  except (TypeError, ValueError) as error:
    raise ValueError(
        f"{owner}: the loss {output.loss.name} does not take labels of the "
        f"shape {labels.shape} and outputs of {outputs.shape}: "
        f"{' '.join(str(error).split())}") from error
  losses = v1.cast(losses, v1.float32)
  if losses.shape.rank == 0:  # One loss of the batch: that of each example.
    losses += v1.zeros(v1.shape(outputs)[:1])
  return _Batch(labels, outputs, losses, _weights(
      features, output.weight_column, losses, owner))


def _in_one_rank(labels, outputs):
  """Returns labels and outputs of one rank, if one has one size of 1 less."""
  v1 = tf_compat.v1
  if outputs.shape.rank == labels.shape.rank + 1 and (
      outputs.shape.as_list()[-1] == 1):
    return v1.expand_dims(labels, -1), outputs
  if labels.shape.rank == outputs.shape.rank + 1 and (
      labels.shape.as_list()[-1] == 1):
    return v1.squeeze(labels, -1), outputs
  return labels, outputs


def _weights(features, weight_column, losses, owner):
  """Returns the weights of examples, in the rank of the losses; or None."""
  if weight_column is None:
    return None
  v1 = tf_compat.v1
  weights = _inputs.check_weights(_inputs.weight_feature(
      features, weight_column, owner), owner)
  rank = losses.shape.rank
  if weights.shape.rank == rank + 1:
    return v1.squeeze(weights, -1)
  while weights.shape.rank < rank:
    weights = v1.expand_dims(weights, -1)
  return weights


def _term(output, batch):
  """Returns the `LossTerm` of a batch."""
  reduction = _REDUCTIONS[output.loss.reduction]
  return mean_loss.LossTerm(
      _losses.reduce(batch.losses, batch.weights, reduction),
      _losses.divisor(batch.losses, batch.weights, reduction))


def _metric(metric, batch):
  """Returns a new metric, as `Model.compile` would make it."""
  metrics = tf_compat.keras_3.metrics
  if isinstance(metric, metrics.Metric):
    return type(metric).from_config(metric.get_config())
  found = metric
  if isinstance(metric, str):
    if metric in ("accuracy", "acc"):
      return getattr(metrics, _ACCURACIES[_kind(batch)])(name=metric)
    found = metrics.get(metric)
  name = metric if isinstance(metric, str) else found.__name__
  if not isinstance(found, metrics.Metric):
    return metrics.MeanMetricWrapper(found, name=name)
  found.name = name
  return found


def _kind(batch):
  """Returns which of three metrics a shape asks for, as Keras does."""
  size = batch.outputs.shape.as_list()[-1]
  if size == 1:
    return 0
  labels = batch.labels.shape
  is_sparse = (labels.rank < batch.outputs.shape.rank or
               labels.as_list()[-1] == 1)
  return 1 if is_sparse else 2
