# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interface of heads, which map logits and labels to losses and outputs."""

import abc
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

from adanet import tf_compat
from adanet.heads import mean_loss

# The values of `tf.estimator.ModeKeys`.
TRAIN = "train"
EVAL = "eval"
PREDICT = "infer"

# The signature that a saved model serves by default.
DEFAULT_SERVING_KEY = "serving_default"
# The names of the other signatures.
CLASSIFY_SERVING_KEY = "classification"
PREDICT_SERVING_KEY = "predict"
REGRESS_SERVING_KEY = "regression"

_LOSS_KEY = "loss"
_REGULARIZATION_KEY = "regularization_loss"


class HeadSpec(NamedTuple):
  """The result of a head for logits and labels.

  For example::

      spec = head.create_estimator_spec(features, "eval", logits, labels)
      print(spec.loss, sorted(spec.eval_metric_ops))

  Attributes:
    mode: str, "train", "eval" or "infer".
    predictions: dict from key to tensor. Keys are str; a `MultiHead`'s keys are
      pairs of the head's name and the head's key.
    loss: scalar tensor; None in mode "infer".
    train_op: the op that trains the model; None unless in mode "train".
    eval_metric_ops: dict from str to a pair `(value, update_op)` of a scalar
      tensor and the op that adds a batch; empty unless in mode "eval". All
      variables of the metrics are local variables.
    export_outputs: dict from the name of a serving signature to an
      `export_output.ExportOutput`; None unless in mode "infer".
    loss_terms: tuple of `LossTerm` that add up to the loss and weight the
      batches in the loss of an evaluation; or None. A loss without terms, and
      the part of the loss that the terms omit, has the weight 1 if
      `loss_reduction` is a sum, and otherwise the number of examples.
  """

  mode: str
  predictions: Dict[Any, Any]
  loss: Any = None
  train_op: Any = None
  eval_metric_ops: Optional[Dict[str, Any]] = None
  export_outputs: Optional[Dict[str, Any]] = None
  loss_terms: Optional[Tuple[mean_loss.LossTerm, ...]] = None


class Head(abc.ABC):
  """A task: the loss, metrics, predictions and exports of logits.

  A subclass defines the properties and `build`, which returns everything except
  the training op. For example::

      class AbsoluteErrorHead(adanet.heads.Head):
        name, logits_dimension, loss_reduction = None, 1, "sum_over_batch_size"

        def build(self, features, mode, logits, labels, regularization_losses):
          predictions = {"predictions": logits}
          if mode == "infer":
            return adanet.heads.HeadSpec(mode, predictions)
          loss = tf.reduce_mean(tf.abs(logits[:, 0] - labels))
          return adanet.heads.HeadSpec(mode, predictions, loss)
  """

  @property
  @abc.abstractmethod
  def name(self) -> Optional[str]:
    """The suffix of the keys of metrics and summaries, or None."""

  @property
  @abc.abstractmethod
  def logits_dimension(self) -> int:
    """The size of the last dimension of the logits."""

  @property
  @abc.abstractmethod
  def loss_reduction(self) -> str:
    """The reduction of losses, a str as in `tf.keras.losses`."""

  @abc.abstractmethod
  def build(self, features: Any, mode: str, logits: Any, labels: Any,
            regularization_losses: Optional[Sequence[Any]]) -> HeadSpec:
    """Returns the `HeadSpec`, without a training op.

    Args:
      features: see `create_estimator_spec`.
      mode: "train", "eval" or "infer".
      logits: tensor, or a structure of tensors for this head.
      labels: tensor, or a structure of tensors for this head; may be None in
        mode "infer".
      regularization_losses: sequence of scalars, or None.
    """

  def create_estimator_spec(
      self,
      features: Any,
      mode: str,
      logits: Any,
      labels: Any = None,
      optimizer: Any = None,
      trainable_variables: Optional[Sequence[Any]] = None,
      train_op_fn: Optional[
          Callable[[Any], Any]] = None,
      update_ops: Optional[Sequence[Any]] = None,
      regularization_losses: Optional[
          Sequence[Any]] = None) -> HeadSpec:
    """Adds the head to the graph, with the arguments of `tf.estimator`.

    Args:
      features: dict from str to tensor. Only a head with a `weight_column`
        reads the features.
      mode: "train", "eval" or "infer", as in `tf.estimator.ModeKeys`.
      logits: tensor of shape `[D0, ..., DN, logits_dimension]`.
      labels: tensor of the shape that the head describes. Required in the modes
        "train" and "eval".
      optimizer: a Keras optimizer with `get_updates`, or None.
      trainable_variables: the variables that `optimizer` updates.
      train_op_fn: function from the loss to the training op, or None. Mode
        "train" requires either `train_op_fn` or `optimizer`.
      update_ops: ops that run with each training step, or None.
      regularization_losses: scalars to add to the loss, or None.

    Returns:
      A `HeadSpec`.

    Raises:
      ValueError: `mode` is unknown; the static shape or type of `logits`,
        `labels` or the weights does not fit this head; or mode "train" has
        both or neither of `optimizer` and `train_op_fn`.
    """
    if mode not in (TRAIN, EVAL, PREDICT):
      raise ValueError('mode={!r}: expected "train", "eval" or "infer".'.format(
          mode))
    v1 = tf_compat.v1
    with v1.name_scope(self.name or "head"):
      spec = self.build(features, mode, logits, labels, regularization_losses)
    spec = spec._replace(eval_metric_ops=spec.eval_metric_ops or {})
    if mode != TRAIN:
      return spec
    # The scopes of tf.estimator's heads, which are part of the names of a
    # train_op_fn's ops and of the tags of summaries.
    with v1.name_scope(""):
      with v1.name_scope("training"):
        train_op = _train_op(spec.loss, optimizer, trainable_variables,
                             train_op_fn, update_ops)
      v1.summary.scalar(self.summary_key(_LOSS_KEY), spec.loss)
      if regularization_losses is not None:
        v1.summary.scalar(
            self.summary_key(_REGULARIZATION_KEY),
            v1.add_n(regularization_losses))
    return spec._replace(train_op=train_op)

  def metric_key(self, key: str) -> str:
    """Returns the key of a metric with this head's name."""
    return f"{key}/{self.name}" if self.name else key

  def summary_key(self, key: str) -> str:
    """Returns the tag of a summary."""
    return self.metric_key(key)

  @property
  def regularization_key(self) -> str:
    """The key of the metric for the regularization losses."""
    return self.metric_key(_REGULARIZATION_KEY)


def _train_op(loss, optimizer, trainable_variables, train_op_fn, update_ops):
  """Returns the training op; see `create_estimator_spec`."""
  if (optimizer is None) == (train_op_fn is None):
    raise ValueError(
        "optimizer={!r}, train_op_fn={!r}: expected exactly one of them in "
        'mode "train".'.format(optimizer, train_op_fn))
  if update_ops is not None and not isinstance(update_ops, (list, tuple)):
    raise ValueError(f"update_ops={update_ops!r}: expected a list or tuple of "
                     "ops.")
  if train_op_fn is not None:
    train_op = train_op_fn(loss)
  else:
    if not isinstance(trainable_variables, (list, tuple)):
      raise ValueError(
          f"trainable_variables={trainable_variables!r}: expected a list or "
          "tuple of the variables that optimizer updates.")
    if not hasattr(optimizer, "get_updates"):
      raise ValueError(
          f"optimizer={optimizer!r}: it has no get_updates. Use a Keras "
          "optimizer that works in a graph, or train_op_fn.")
    train_op = optimizer.get_updates(loss, trainable_variables)[0]
  if update_ops is None:
    return train_op
  return tf_compat.v1.group(train_op, *update_ops)


def add_regularization(loss: Any, regularization_losses: Any) -> Any:
  """Returns the loss plus the regularization losses, if any."""
  if regularization_losses is None:
    return loss
  return loss + tf_compat.v1.add_n(regularization_losses)


def regularization_terms(
    regularization_losses: Any) -> Tuple[mean_loss.LossTerm, ...]:
  """Returns the term of the regularization losses, if any."""
  if regularization_losses is None:
    return ()
  return (mean_loss.LossTerm(tf_compat.v1.add_n(regularization_losses)),)
