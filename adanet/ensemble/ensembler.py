# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interfaces of ensembles and ensemblers, and the simplest: the mean."""

import abc
import collections
from typing import Any, Dict, Iterable, Optional, Sequence

from adanet import tf_compat


class Ensemble(abc.ABC):
  """Subnetworks combined into a model.

  A subclass may be a namedtuple with fields of these names. For example::

      class Sum(collections.namedtuple("Sum", ["logits", "subnetworks"]),
                adanet.ensemble.Ensemble):
        pass
  """

  @property
  @abc.abstractmethod
  def logits(self) -> Any:
    """Float tensor of shape [batch_size, logits_dimension].

    For a multi-head, a dict from head to tensor.
    """

  @property
  @abc.abstractmethod
  def subnetworks(self) -> Iterable[Any]:
    """The `Subnetwork` objects of the ensemble, in a fixed order."""

  @property
  def predictions(self) -> Optional[Dict[str, Any]]:
    """Additional tensors to predict and export, by name; None for none."""
    return None


class Ensembler(abc.ABC):
  """Combines subnetworks into an ensemble and trains the combination.

  In both methods, `tf.train.get_global_step()` is the step of the iteration.

  For example, with `Sum` from `Ensemble`::

      class SumEnsembler(adanet.ensemble.Ensembler):
        name = "sum"

        def build_ensemble(self, subnetworks, *unused_args, **unused_kwargs):
          return Sum(sum(s.logits for s in subnetworks), list(subnetworks))

        def build_train_op(self, *unused_args, **unused_kwargs):
          return tf.no_op()
  """

  @property
  @abc.abstractmethod
  def name(self) -> str:
    """The name of the ensembler, unique in an `Estimator`."""

  @abc.abstractmethod
  def build_ensemble(self, subnetworks: Any, previous_ensemble_subnetworks: Any,
                     features: Any, labels: Any, logits_dimension: Any,
                     training: bool, iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> Ensemble:
    """Builds the ops and the variables of an ensemble.

    Args:
      subnetworks: non-empty list of the new `Subnetwork` objects.
      previous_ensemble_subnetworks: list of the `Subnetwork` objects to keep
        from the previous ensemble, or None. Other subnetworks are pruned.
      features: dict from name to tensor, as the input function returned it.
      labels: tensor, dict from head to tensor, or None.
      logits_dimension: int, or dict from head to int.
      training: bool, whether the graph is for training.
      iteration_step: int64 tensor of shape [], the steps since the iteration
        began.
      summary: `Summary` of this ensemble, for TensorBoard.
      previous_ensemble: the `Ensemble` that won the previous iteration, or None
        in iteration 0.

    Returns:
      An `Ensemble`.
    """

  @abc.abstractmethod
  def build_train_op(self, ensemble: Any, loss: Any, var_list: Any, labels: Any,
                     iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> Any:
    """Builds the op of a training step of the ensemble without subnetworks.

    Args:
      ensemble: the return value of `build_ensemble`.
      loss: float tensor of shape [], the ensemble's AdaNet loss.
      var_list: list of the trainable variables from `build_ensemble`.
      labels, iteration_step, summary, previous_ensemble: as for
        `build_ensemble`.

    Returns:
      An op or a `TrainOpSpec`. The op must not increment the global step.
    """


def check_same_heads(subnetworks: Iterable[Any]) -> None:
  """Checks that all subnetworks have the same heads, or none.

  Raises:
    ValueError: the heads differ.
  """
  heads = [sorted(subnetwork.logits, key=str)
           if isinstance(subnetwork.logits, dict) else None
           for subnetwork in subnetworks]
  for index, other in enumerate(heads):
    if other != heads[0]:
      raise ValueError(
          f"subnetworks[{index}].logits has the heads {other}, and "
          f"subnetworks[0].logits has {heads[0]}: expected the same heads in "
          "all of an ensemble.")


def check_compatible(name: str, tensors: Sequence[Any]) -> None:
  """Checks that the known static shapes of tensors are equal.

  TensorFlow silently broadcasts tensors of different shapes.

  Raises:
    ValueError: two shapes differ.
  """
  for index, tensor in enumerate(tensors):
    if not tensors[0].shape.is_compatible_with(tensor.shape):
      raise ValueError(
          f"subnetworks[{index}].{name} has the shape {tensor.shape}, and "
          f"subnetworks[0].{name} has {tensors[0].shape}: expected the same "
          "shape in all of an ensemble.")


class MeanEnsemble(
    collections.namedtuple("MeanEnsemble",
                           ["logits", "subnetworks", "predictions"]),
    Ensemble):
  """The mean of subnetworks, without parameters besides the subnetworks'.

  For example, in `Builder.build_subnetwork`::

      if isinstance(previous_ensemble, adanet.ensemble.MeanEnsemble):
        teacher_logits = previous_ensemble.logits

  Attributes:
    logits: float tensor, the mean of the subnetworks' logits; for a multi-head,
      a dict from head to tensor.
    subnetworks: list of `Subnetwork`.
    predictions: dict from name to tensor, or None. See `MeanEnsembler`.
  """

  # The name of the mean of the last layers in `predictions`. For a multi-head,
  # "_" and the name of the head follow.
  MEAN_LAST_LAYER = "mean_last_layer"

  def __new__(cls, logits: Any, subnetworks: Optional[Iterable[Any]] = None,
              predictions: Optional[Dict[str, Any]] = None) -> "MeanEnsemble":
    return super().__new__(cls, logits, list(subnetworks or ()), predictions)


def _mean(name, tensors):
  """Returns the mean of tensors, after checking that the shapes are equal."""
  check_compatible(name, tensors)
  return tf_compat.v1.reduce_mean(tf_compat.v1.stack(tensors), axis=0)


class MeanEnsembler(Ensembler):
  """Takes the mean of the new subnetworks' logits.

  Subnetworks of the previous ensemble are not included. For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          ensemblers=[adanet.ensemble.MeanEnsembler()],
          ensemble_strategies=[adanet.ensemble.AllStrategy()])
  """

  def __init__(self, name: Optional[str] = None,
               add_mean_last_layer_predictions: bool = False) -> None:
    """Makes an ensembler.

    Args:
      name: str, or None for "mean".
      add_mean_last_layer_predictions: bool, whether to predict and export the
        mean of the last layers, too. All last layers must have the same shape.
    """
    self._name = name
    self._add_mean_last_layer_predictions = add_mean_last_layer_predictions

  @property
  def name(self) -> str:
    return self._name or "mean"

  def build_ensemble(self, subnetworks: Any, previous_ensemble_subnetworks: Any,
                     features: Any, labels: Any, logits_dimension: Any,
                     training: bool, iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> MeanEnsemble:
    """See `Ensembler`.

    Raises:
      ValueError: the heads or static shapes of `subnetworks` differ.
    """
    subnetworks = list(subnetworks)
    check_same_heads(subnetworks)
    heads = subnetworks[0].logits
    predictions = None
    if not isinstance(heads, dict):
      logits = _mean("logits", [s.logits for s in subnetworks])
      if self._add_mean_last_layer_predictions:
        predictions = {
            MeanEnsemble.MEAN_LAST_LAYER:
                _mean("last_layer", [s.last_layer for s in subnetworks])
        }
    else:
      logits = {
          head: _mean(f"logits[{head!r}]",
                      [s.logits[head] for s in subnetworks]) for head in heads
      }
      if self._add_mean_last_layer_predictions:
        predictions = {
            f"{MeanEnsemble.MEAN_LAST_LAYER}_{head}":
                _mean(f"last_layer[{head!r}]",
                      [s.last_layer[head] for s in subnetworks])
            for head in heads
        }
    return MeanEnsemble(logits, subnetworks, predictions)

  def build_train_op(self, ensemble: Any, loss: Any, var_list: Any, labels: Any,
                     iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> Any:
    return tf_compat.v1.no_op()
