# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ensemble whose logits are the mean of the subnetworks' logits."""

import collections
from typing import Any, Dict, Iterable, Optional

from adanet import tf_compat
from adanet.ensemble import shapes
from adanet.ensemble.ensembler import Ensemble
from adanet.ensemble.ensembler import Ensembler


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
  shapes.check_compatible(name, tensors)
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
    shapes.check_same_heads(subnetworks)
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
