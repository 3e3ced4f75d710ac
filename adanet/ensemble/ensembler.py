# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interfaces of ensembles and ensemblers."""

import abc
from typing import Any, Dict, Iterable, Optional

from adanet.subnetwork.generator import TrainOpSpec

import six

__all__ = ["Ensemble", "Ensembler", "TrainOpSpec"]


@six.add_metaclass(abc.ABCMeta)
class Ensemble:
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


@six.add_metaclass(abc.ABCMeta)
class Ensembler:
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
      labels: as for `build_ensemble`.
      iteration_step: as for `build_ensemble`.
      summary: as for `build_ensemble`.
      previous_ensemble: as for `build_ensemble`.

    Returns:
      An op or a `TrainOpSpec`. The op must not increment the global step.
    """
