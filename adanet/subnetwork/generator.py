# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A subnetwork, the builder that makes one, and the generator of builders.

See Cortes et al. 2017, https://arxiv.org/abs/1607.01097, for the term: there a
subnetwork is h, its last layer and its complexity r(h).
"""

import abc
import collections
from typing import Any, Dict, Iterable, List, Optional

from adanet import log as logging

import six


class TrainOpSpec(
    collections.namedtuple("TrainOpSpec",
                           ["train_op", "chief_hooks", "hooks"])):
  """How to train a subnetwork or an ensemble.

  Attributes:
    train_op: the op of one step.
    chief_hooks: tuple of `tf.train.SessionRunHook` that run on the chief only.
    hooks: tuple of `tf.train.SessionRunHook` that run on every worker.
  """

  def __new__(cls, train_op: Any, chief_hooks: Optional[Iterable[Any]] = None,
              hooks: Optional[Iterable[Any]] = None) -> "TrainOpSpec":
    return super().__new__(
        cls, train_op, tuple(chief_hooks or ()), tuple(hooks or ()))


def _check_same_heads(last_layer, logits):
  """Checks that both are tensors, or both dicts with the same keys."""
  if isinstance(logits, dict) != isinstance(last_layer, dict):
    raise ValueError(
        f"last_layer is of type {type(last_layer).__name__} and logits of type "
        f"{type(logits).__name__}: expected two tensors, or two dicts for a "
        "multi-head.")
  if isinstance(logits, dict) and set(logits) != set(last_layer):
    raise ValueError(
        f"last_layer has the keys {sorted(last_layer, key=str)} and logits has "
        f"{sorted(logits, key=str)}: expected the same, one for each head.")


def _check_persisted_tensors(tensors, path):
  """Checks that it is a dict, and that no dict below it is empty."""
  if not isinstance(tensors, dict):
    raise ValueError(f"{path}={tensors!r}: expected a dict, or None.")
  for key, value in tensors.items():
    if isinstance(value, dict):
      name = f"{path}[{key!r}]"
      if not value:
        raise ValueError(
            f"{name}={{}}: expected at least one entry. Leave the key out.")
      _check_persisted_tensors(value, name)


class Subnetwork(
    collections.namedtuple("Subnetwork", [
        "last_layer", "logits", "complexity", "persisted_tensors", "shared",
        "local_init_ops"
    ])):
  """One network of an ensemble: `Builder.build_subnetwork` returns it.

  Attributes:
    last_layer: float tensor of shape [batch_size, last_layer_size], the layer
      before the logits; h in the paper. Mixture weights of type MATRIX multiply
      it. For a multi-head a dict from head to tensor.
    logits: float tensor of shape [batch_size, logits_dimension], or a dict with
      the same keys as `last_layer`. The subnetwork trains on them. Mixture
      weights of type SCALAR and VECTOR multiply them.
    complexity: number or tensor of shape [], r(h) in the paper. The ensemble
      pays for it, see `ComplexityRegularizedEnsembler`.
    persisted_tensors: deprecated, use `shared`. Dict from name to tensor or
      another dict, or None.
    shared: anything that builders of this and later iterations may want to
      read, or None.
    local_init_ops: tuple of ops that initialize local variables.
  """

  def __new__(cls, last_layer: Any, logits: Any, complexity: Any,
              persisted_tensors: Optional[Dict[str, Any]] = None,
              shared: Any = None,
              local_init_ops: Optional[Iterable[Any]] = None) -> "Subnetwork":
    """Makes a subnetwork.

    Raises:
      ValueError: `last_layer`, `logits` or `complexity` is None, the heads of
        the first two differ, or `persisted_tensors` is no dict or has an empty
        one in it.
    """
    for name, value in (("last_layer", last_layer), ("logits", logits),
                        ("complexity", complexity)):
      if value is None:
        raise ValueError(
            "{}=None: expected {}. Every Subnetwork needs one.".format(
                name, "a number or a scalar tensor" if name == "complexity" else
                "a tensor, or a dict of tensors for a multi-head"))
    _check_same_heads(last_layer, logits)
    if persisted_tensors is not None:
      _check_persisted_tensors(persisted_tensors, "persisted_tensors")
      logging.warning("persisted_tensors is deprecated. Use shared instead.")
    return super().__new__(
        cls, last_layer, logits, complexity, persisted_tensors, shared,
        tuple(local_init_ops or ()))


@six.add_metaclass(abc.ABCMeta)
class Builder:
  """Makes one candidate subnetwork of an iteration.

  Of the two methods, the graph of an iteration calls first
  `build_subnetwork` and then `build_subnetwork_train_op`, each once. (With
  `BalancedStrategy(costs="measured")` there is one more graph.) In both,
  `tf.train.get_global_step()` is the iteration's own step.

  Attributes:
    cost: number greater than 0, the cost of a training step of the subnetwork;
      None if that is not known. Only `BalancedStrategy(costs="measured")` asks,
      at the start of each iteration. Only ratios count, so any unit will do.
      All builders of an iteration have a cost, and nothing is timed; or none
      has one, and the chief times a few steps of each.
    size: the memory that the subnetwork's variables take, in the same way. Only
      `BalancedStrategy(sizes="measured")` asks.
  """

  cost: Optional[float] = None
  size: Optional[float] = None

  @property
  @abc.abstractmethod
  def name(self) -> str:
    """The name of the subnetwork, unique in its iteration.

    It becomes a part of variable names and of file names.
    """

  @abc.abstractmethod
  def build_subnetwork(self, features: Any, labels: Any, logits_dimension: Any,
                       training: bool, iteration_step: Any, summary: Any,
                       previous_ensemble: Any = None) -> Subnetwork:
    """Builds the ops and the variables of the subnetwork.

    An override may leave `labels` and `previous_ensemble` out, and may take a
    `config`, the `RunConfig`. Where all ensembles are fitted and no builder
    asks for `previous_ensemble`, here or in `build_subnetwork_train_op`,
    subnetworks of earlier iterations are not built for training.

    Args:
      features: dict from name to tensor, as the input function returned it.
      labels: tensor, or dict from head to tensor for a multi-head. None where
        there are none: in predictions and exports.
      logits_dimension: int, the size of the last dimension of the logits; for a
        multi-head a dict from head to int.
      training: bool, whether the graph is for training. A subnetwork of an
        earlier iteration is built again with False.
      iteration_step: int64 tensor of shape [], the steps since the iteration
        began.
      summary: `Summary` of this subnetwork, for TensorBoard.
      previous_ensemble: the `Ensemble` that won the previous iteration, or None
        in iteration 0.

    Returns:
      A `Subnetwork`.
    """

  @abc.abstractmethod
  def build_subnetwork_train_op(self, subnetwork: Subnetwork, loss: Any,
                                var_list: Any, labels: Any, iteration_step: Any,
                                summary: Any, previous_ensemble: Any) -> Any:
    """Builds the op that trains the subnetwork for one step.

    An override may leave `previous_ensemble` out; see `build_subnetwork`.

    Args:
      subnetwork: the `Subnetwork` that `build_subnetwork` returned.
      loss: float tensor of shape [], the head's loss of the subnetwork's
        logits.
      var_list: list of the trainable variables that `build_subnetwork` made.
      labels: as for `build_subnetwork`.
      iteration_step: as for `build_subnetwork`.
      summary: as for `build_subnetwork`.
      previous_ensemble: as for `build_subnetwork`.

    Returns:
      An op, or a `TrainOpSpec`. It must not increment the global step.
    """

  def build_subnetwork_report(self) -> Any:
    """Returns the record about the subnetwork at the end of the iteration.

    It is called once, after `build_subnetwork` and before
    `build_subnetwork_train_op`, and so must not use the latter's results.

    Returns:
      A `Report`, or None to record the name and the head's metrics only.
    """
    return None


@six.add_metaclass(abc.ABCMeta)
class Generator:
  """Makes the builders of each iteration: the search space."""

  @abc.abstractmethod
  def generate_candidates(self, previous_ensemble: Any, iteration_number: int,
                          previous_ensemble_reports: Any, all_reports: Any,
                          config: Any) -> List[Builder]:
    """Returns the builders of an iteration.

    It is asked again whenever the graph is rebuilt, so the same arguments must
    give the same builders. An override may leave `config` out, and
    `previous_ensemble`, which costs what its subnetworks cost to build.

    Args:
      previous_ensemble: the `Ensemble` that won the previous iteration, or None
        in iteration 0. Deprecated: use the other arguments.
      iteration_number: int, from 0.
      previous_ensemble_reports: list of the `MaterializedReport` of each
        subnetwork in the previous ensemble, the oldest first. Empty without a
        report materializer.
      all_reports: list of the `MaterializedReport` of every subnetwork of every
        iteration so far, the oldest first. Empty without a report materializer.
      config: `RunConfig`.

    Returns:
      List of `Builder`, with different names.
    """


class SimpleGenerator(Generator):
  """Gives the same builders in every iteration."""

  def __init__(self, subnetwork_builders: List[Builder]) -> None:
    """Makes a generator.

    Args:
      subnetwork_builders: list of `Builder`.
    """
    self._subnetwork_builders = subnetwork_builders

  def _same_builders(
      self, iteration_number: int, previous_ensemble_reports: Any,
      all_reports: Any, config: Any = None) -> List[Builder]:
    """See `Generator`. It asks for no `previous_ensemble`."""
    return self._subnetwork_builders

  # Not defined by that name: for mypy, an argument of `Generator` is missing.
  generate_candidates: Any = _same_builders
