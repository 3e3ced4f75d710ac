# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Subnetworks, their builders, generators of builders, and summaries.

In Cortes et al. 2017, https://arxiv.org/abs/1607.01097, a subnetwork is h, the
last layer, with the complexity r(h).
"""

import abc
import collections
import contextlib
from typing import Any, Dict, Iterable, Iterator, List, Optional

from adanet import log as logging


class TrainOpSpec(
    collections.namedtuple("TrainOpSpec",
                           ["train_op", "chief_hooks", "hooks"])):
  """How to train a subnetwork or an ensemble.

  For example, in `Builder.build_subnetwork_train_op`::

      return adanet.subnetwork.TrainOpSpec(
          train_op, hooks=[tf.train.StepCounterHook()])

  Attributes:
    train_op: the op of a training step.
    chief_hooks: tuple of `tf.train.SessionRunHook` that run only on the chief.
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
  """Checks that `tensors` is a dict without empty dicts as values."""
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
  """A network of an ensemble, as returned by `Builder.build_subnetwork`.

  For example, in `Builder.build_subnetwork`::

      last_layer = keras.layers.Dense(64, activation="relu")(features["pixels"])
      logits = keras.layers.Dense(logits_dimension)(last_layer)
      return adanet.Subnetwork(last_layer, logits, complexity=1.,
                               shared={"num_layers": 1})

  Attributes:
    last_layer: float tensor of shape [batch_size, last_layer_size], the layer
      before the logits; h in the paper. Mixture weights of type MATRIX multiply
      the last layer. For a multi-head, a dict from head to tensor.
    logits: float tensor of shape [batch_size, logits_dimension], or a dict with
      the same keys as `last_layer`. The subnetwork trains on the logits.
      Mixture weights of type SCALAR and VECTOR multiply the logits.
    complexity: number or tensor of shape [], r(h) in the paper, for the penalty
      of the ensemble. See `ComplexityRegularizedEnsembler`.
    persisted_tensors: dict from name to tensor or dict, or None. Deprecated:
      use `shared`.
    shared: any object for builders of this and later iterations, or None.
    local_init_ops: tuple of ops that initialize local variables.
  """

  def __new__(cls, last_layer: Any, logits: Any, complexity: Any,
              persisted_tensors: Optional[Dict[str, Any]] = None,
              shared: Any = None,
              local_init_ops: Optional[Iterable[Any]] = None) -> "Subnetwork":
    """Makes a subnetwork.

    Raises:
      ValueError: `last_layer`, `logits` or `complexity` is None; the heads of
        `last_layer` and `logits` differ; or `persisted_tensors` is no dict or
        contains an empty dict.
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


class Builder(abc.ABC):
  """Makes a candidate subnetwork of an iteration.

  Each graph of an iteration calls `build_subnetwork` once and then
  `build_subnetwork_train_op` once. `BalancedStrategy(costs="measured")` builds
  an additional graph. In both methods, `tf.train.get_global_step()` is the step
  of the iteration.

  For example::

      class LinearBuilder(adanet.subnetwork.Builder):
        name = "linear"

        def build_subnetwork(self, features, labels, logits_dimension, training,
                             iteration_step, summary, previous_ensemble=None):
          logits = keras.layers.Dense(logits_dimension)(features["pixels"])
          return adanet.Subnetwork(features["pixels"], logits, complexity=1.)

        def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                      iteration_step, summary,
                                      previous_ensemble):
          return tf.train.AdamOptimizer().minimize(loss, var_list=var_list)

  Attributes:
    cost: number greater than 0, the cost of a training step of the subnetwork;
      None for an unknown cost. Read only by `BalancedStrategy` with
      `costs="measured"` at the start of each iteration. The unit is arbitrary.
      Either all builders of an iteration have a cost, or no builder has a cost
      and the chief times a few steps of each subnetwork.
    size: the memory of the subnetwork's variables, with the same rules. Read
      only by `BalancedStrategy` with `sizes="measured"`.
  """

  cost: Optional[float] = None
  size: Optional[float] = None

  @property
  @abc.abstractmethod
  def name(self) -> str:
    """The name of the subnetwork, unique in the iteration.

    The name is part of the names of variables and files.
    """

  @abc.abstractmethod
  def build_subnetwork(self, features: Any, labels: Any, logits_dimension: Any,
                       training: bool, iteration_step: Any, summary: Any,
                       previous_ensemble: Any = None) -> Subnetwork:
    """Builds the ops and the variables of the subnetwork.

    An override may omit `labels` and `previous_ensemble`, and may take the
    `RunConfig` as `config`. If all ensembles are fitted and no builder takes
    `previous_ensemble` here or in `build_subnetwork_train_op`, the training
    graph omits the subnetworks of earlier iterations.

    Args:
      features: dict from name to tensor, the return value of the input
        function.
      labels: tensor, or dict from head to tensor for a multi-head. None in
        predictions and exports.
      logits_dimension: int, the size of the last dimension of the logits; for a
        multi-head, a dict from head to int.
      training: bool, whether the graph is for training. Subnetworks of earlier
        iterations are rebuilt with False.
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
    """Builds the op of a training step of the subnetwork.

    An override may omit `previous_ensemble`. See `build_subnetwork`.

    Args:
      subnetwork: the return value of `build_subnetwork`.
      loss: float tensor of shape [], the head's loss of the subnetwork's
        logits.
      var_list: list of the trainable variables from `build_subnetwork`.
      labels: as for `build_subnetwork`.
      iteration_step: as for `build_subnetwork`.
      summary: as for `build_subnetwork`.
      previous_ensemble: as for `build_subnetwork`.

    Returns:
      An op or a `TrainOpSpec`. The op must not increment the global step.
    """

  def build_subnetwork_report(self) -> Any:
    """Returns the report of the subnetwork for the end of the iteration.

    This method is called once, after `build_subnetwork` and before
    `build_subnetwork_train_op`, so results of the latter are not available.

    Returns:
      A `Report`, or None to report only the name and the head's metrics.
    """
    return None


class Generator(abc.ABC):
  """Makes the builders of each iteration: the search space.

  For example::

      class GrowingGenerator(adanet.subnetwork.Generator):

        def generate_candidates(self, previous_ensemble, iteration_number,
                                previous_ensemble_reports, all_reports, config):
          return [DenseBuilder(num_layers=iteration_number + extra)
                  for extra in (1, 2)]
  """

  @abc.abstractmethod
  def generate_candidates(self, previous_ensemble: Any, iteration_number: int,
                          previous_ensemble_reports: Any, all_reports: Any,
                          config: Any) -> List[Builder]:
    """Returns the builders of an iteration.

    Every rebuild of the graph calls this method again, so equal arguments must
    give equal builders. An override may omit `config` and `previous_ensemble`;
    without `previous_ensemble`, the earlier subnetworks need not be built.

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
      List of `Builder` objects with different names.
    """


class SimpleGenerator(Generator):
  """Returns the same builders in every iteration.

  For example::

      generator = adanet.subnetwork.SimpleGenerator(
          [DenseBuilder(num_layers=1), DenseBuilder(num_layers=2)])
  """

  def __init__(self, subnetwork_builders: List[Builder]) -> None:
    """Makes a generator.

    Args:
      subnetwork_builders: list of `Builder` objects with different names.
    """
    self._subnetwork_builders = subnetwork_builders

  def _same_builders(
      self, iteration_number: int, previous_ensemble_reports: Any,
      all_reports: Any, config: Any = None) -> List[Builder]:
    """See `Generator`. This override omits `previous_ensemble`."""
    return self._subnetwork_builders

  # Assigned, because mypy rejects an override that omits an argument.
  generate_candidates: Any = _same_builders


class Summary(abc.ABC):
  """Records values of a subnetwork or an ensemble for TensorBoard.

  Each subnetwork and each ensemble has a separate `Summary`, which writes to a
  separate folder. TensorBoard shows equal tags of different folders as curves
  of the same chart, so a name need not include the candidate.

  For example, in `Builder.build_subnetwork`::

      summary.scalar("complexity", complexity)
      summary.histogram("last_layer", last_layer)

  In all methods, `name` is the tag after the open name scopes, `family` is an
  optional group before the tag, and `description` is a text for TensorBoard.
  All methods return the summary as a string tensor of shape [].
  """

  @contextlib.contextmanager
  def current_scope(self) -> Iterator[None]:
    """Omits the current name scope from tags made in the context."""
    yield

  @abc.abstractmethod
  def scalar(self, name: str, tensor: Any, family: Optional[str] = None,
             description: Optional[str] = None) -> Any:
    """Records a number.

    Args:
      name: str.
      tensor: number or tensor of shape [], written as float32.
      family, description: str or None.
    """

  @abc.abstractmethod
  def image(self, name: str, tensor: Any, max_outputs: int = 3,
            family: Optional[str] = None,
            description: Optional[str] = None) -> Any:
    """Records images.

    Args:
      name: str. The tags of images are `<name>/image/0`, `<name>/image/1`, ...;
        the tag of a single image is `<name>/image`.
      tensor: uint8 or float tensor of shape [images, height, width, channels],
        with 1 (gray), 3 (RGB) or 4 (RGBA) channels. Floats are scaled to
        [0, 255] in each image.
      max_outputs: int, the maximum number of images to record, from the first.
      family, description: str or None.
    """

  @abc.abstractmethod
  def histogram(self, name: str, values: Any, family: Optional[str] = None,
                buckets: Optional[int] = None,
                description: Optional[str] = None) -> Any:
    """Records the distribution of values.

    Args:
      name: str.
      values: tensor of finite numbers, of any shape.
      family, description: str or None.
      buckets: int, the number of buckets, or None for the default.
    """

  @abc.abstractmethod
  def audio(self, name: str, tensor: Any, sample_rate: Any,
            max_outputs: int = 3, family: Optional[str] = None,
            encoding: Optional[str] = None,
            description: Optional[str] = None) -> Any:
    """Records sounds.

    Args:
      name: str. The tags are as for `image`, with `audio` in place of `image`.
      tensor: float tensor of shape [clips, frames, channels], in [-1, 1].
      sample_rate: number or tensor of shape [], in Hz, greater than 0.
      max_outputs: int, the maximum number of clips to record, from the first.
      family, description: str or None.
      encoding: "wav", or None for the default.
    """
