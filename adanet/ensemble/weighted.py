# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ensemble of AdaNet: a weighted sum with a penalty for complexity.

Cortes et al. 2017, https://arxiv.org/abs/1607.01097, equation (4): the mixture
weights w of N subnetworks h minimize::

  F(w) = 1/m sum_i Phi(sum_j w_j h_j(x_i), y_i)
         + sum_j (lambda r(h_j) + beta) |w_j|_1

over m examples (x, y), where Phi is the head's loss and r the complexity.
"""

import collections
import math
from typing import Any, Iterable, Optional

from adanet import log as logging
from adanet import tf_compat
from adanet.ensemble import ensembler
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import optimizers


class MixtureWeightType:
  """The type of the mixture weight of a subnetwork.

  For example::

      adanet.ensemble.ComplexityRegularizedEnsembler(
          optimizer="adam",
          mixture_weight_type=adanet.MixtureWeightType.MATRIX)

  Attributes:
    SCALAR: a number that multiplies the logits.
    VECTOR: a vector of shape [logits_dimension] that multiplies the logits.
    MATRIX: a matrix of shape [last_layer_size, logits_dimension] that
      multiplies the last layer.
  """

  SCALAR = "scalar"
  VECTOR = "vector"
  MATRIX = "matrix"


_TYPES = (MixtureWeightType.SCALAR, MixtureWeightType.VECTOR,
          MixtureWeightType.MATRIX)


class WeightedSubnetwork(
    collections.namedtuple(
        "WeightedSubnetwork",
        ["name", "iteration_number", "weight", "logits", "subnetwork"])):
  """A subnetwork with its mixture weight in an ensemble.

  For a multi-head, `weight` and `logits` are dicts from head to tensor.

  For example, with a `ComplexityRegularized` ensemble::

      weights = [w.weight for w in ensemble.weighted_subnetworks]

  Attributes:
    name: str, the name of the subnetwork's builder.
    iteration_number: int, the iteration of the subnetwork.
    weight: variable, w in the paper. See `MixtureWeightType` for the shape.
    logits: float tensor, the weighted logits of the subnetwork.
    subnetwork: the `Subnetwork`.
  """

  def __new__(cls, name: str = "", iteration_number: int = 0,
              weight: Any = None, logits: Any = None,
              subnetwork: Any = None) -> "WeightedSubnetwork":
    return super().__new__(
        cls, name, iteration_number, weight, logits, subnetwork)


class ComplexityRegularized(
    collections.namedtuple("ComplexityRegularized", [
        "weighted_subnetworks", "bias", "logits", "subnetworks",
        "complexity_regularization"
    ]), ensembler.Ensemble):
  """A weighted sum of subnetworks plus a bias.

  For example, in `Builder.build_subnetwork`::

      if previous_ensemble is not None:
        newest = previous_ensemble.weighted_subnetworks[-1].subnetwork
        num_layers = newest.shared["num_layers"] + 1

  Attributes:
    weighted_subnetworks: list of `WeightedSubnetwork`, the oldest first.
    bias: variable of shape [logits_dimension], or a dict from head to variable.
    logits: float tensor, the sum; or a dict from head to tensor.
    subnetworks: list of `Subnetwork`, in the same order.
    complexity_regularization: float tensor of shape [], the last sum of
      equation (4) over all heads, which is a part of the AdaNet loss.
  """

  def __new__(cls, weighted_subnetworks: Iterable[WeightedSubnetwork],
              bias: Any, logits: Any,
              subnetworks: Optional[Iterable[Any]] = None,
              complexity_regularization: Any = None) -> "ComplexityRegularized":
    return super().__new__(
        cls, list(weighted_subnetworks), bias, logits, list(subnetworks or ()),
        complexity_regularization)


class _HeadKey(collections.namedtuple("_HeadKey", ["key", "suffix"])):
  """A head of a multi-head, or the only head.

  Attributes:
    key: the head's key in dicts of tensors.
    suffix: str, the end of the names of the head's scopes and variables.
  """

  def of(self, tensors):
    """Returns the head's tensor from a dict from head to tensor."""
    return tensors[self.key]

  @property
  def tag(self):
    """The end of the tags of the head's summaries, as a str."""
    key = self.key
    if isinstance(key, (tuple, list)):
      key = "_".join(str(part) for part in key)
    return f"_{key}" if key else ""


class _OnlyHead(_HeadKey):
  """The head of tensors that are not in a dict."""

  def of(self, tensors):
    return tensors


def _heads(subnetwork):
  """Returns the heads in the order of the numbers of their variables."""
  if not isinstance(subnetwork.logits, dict):
    return [_OnlyHead(None, "")]
  return [_HeadKey(key, f"_{index}" if index else "")
          for index, key in enumerate(sorted(subnetwork.logits))]


def _join(heads, values):
  """Returns the values of all heads in the form of the public attributes."""
  if isinstance(heads[0], _OnlyHead):
    return values[0]
  return {head.key: value for head, value in zip(heads, values)}


def _is_same(subnetwork, other):
  """Whether two subnetworks have the same tensors; `==` would compare values.
  """
  return all(a is b for a, b in zip(
      (subnetwork.last_layer, subnetwork.logits, subnetwork.complexity),
      (other.last_layer, other.logits, other.complexity)))


def _previous_weights(previous_ensemble, kept_subnetworks):
  """Returns `(subnetwork, weight)` for each kept subnetwork, in order.

  The weight is None if another ensembler made the previous ensemble.
  """
  if previous_ensemble is None or not kept_subnetworks:
    return []
  weighted = getattr(previous_ensemble, "weighted_subnetworks", None)
  if weighted is None:
    return [(subnetwork, None) for subnetwork in kept_subnetworks]
  return [(w.subnetwork, w.weight) for w in weighted
          if any(_is_same(w.subnetwork, kept) for kept in kept_subnetworks)]


def _rank_and_size(name, tensor, ranks):
  """Returns the rank of a tensor and the size of its last dimension."""
  if not hasattr(tensor, "shape"):
    raise ValueError(f"{name} must be a tensor, got {tensor!r}")
  rank = tensor.shape.ndims
  size = tensor.shape.as_list()[-1] if rank else None
  if rank not in ranks or (size is None and rank > 1):
    raise ValueError(
        f"{name} has the shape {tensor.shape}: expected "
        f"{' or '.join((str(rank) for rank in ranks))} dimensions, the last "
        "one of a known size. Call batch() once on the dataset, or use "
        "tf.reshape in build_subnetwork.")
  return rank, size


def _check_type(name, tensor, weight):
  """Checks that a tensor can be multiplied by a mixture weight."""
  if tensor.dtype.base_dtype != weight.dtype.base_dtype:
    raise ValueError(
        f"{name} has the type {tensor.dtype.name}: expected "
        f"{weight.dtype.base_dtype.name}, as the mixture weights have. Use "
        "tf.cast in build_subnetwork.")


def _times_matrix(last_layer, weight, rank):
  """Returns `last_layer` times `weight`, over the last dimension."""
  tf = tf_compat.v1
  if rank == 2:
    return tf.matmul(last_layer, weight)
  # [batch_size, timesteps, size]: each timestep is a row of one matrix.
  size, logits_size = weight.shape.as_list()
  rows = tf.matmul(tf.reshape(last_layer, [-1, size]), weight)
  return tf.reshape(rows, [tf.shape(last_layer)[0], -1, logits_size])


class ComplexityRegularizedEnsembler(ensembler.Ensembler):
  """Learns the mixture weights of equation (4). See the module's docstring.

  For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
              optimizer="adam", adanet_lambda=.001)])
  """

  def __init__(self,
               optimizer: Any = None,
               mixture_weight_type: str = MixtureWeightType.SCALAR,
               mixture_weight_initializer: Any = None,
               warm_start_mixture_weights: bool = False,
               model_dir: Optional[str] = None,
               adanet_lambda: float = 0.,
               adanet_beta: float = 0.,
               use_bias: bool = False,
               name: Optional[str] = None) -> None:
    """Makes an ensembler.

    Args:
      optimizer: the optimizer of the mixture weights, as for
        `tf_compat.optimizers.minimize`. With None, the mixture weights keep
        their initial values.
      mixture_weight_type: a value of `MixtureWeightType`.
      mixture_weight_initializer: initializer of the mixture weights. None for 1
        / N with N subnetworks, and 0 for MATRIX.
      warm_start_mixture_weights: bool, whether to initialize the weights of
        subnetworks from the previous ensemble with the learned values. If no
        subnetwork was pruned, the bias is initialized in the same way.
      model_dir: str, the folder of the checkpoint with the learned values.
      adanet_lambda: float, at least 0, lambda of equation (4).
      adanet_beta: float, at least 0, beta of equation (4).
      use_bias: bool, whether to train the bias. An untrained bias keeps the
        initial value.
      name: str, or None for "complexity_regularized".

    Raises:
      ValueError: `warm_start_mixture_weights` is given without `model_dir`,
        `mixture_weight_type` is unknown, `adanet_lambda` or `adanet_beta` is no
        number, or `optimizer` is an unknown name or cannot be copied.
    """
    if warm_start_mixture_weights and not model_dir:
      raise ValueError(
          f"model_dir={model_dir!r}: expected the folder of the model, because "
          "warm_start_mixture_weights=True reads its checkpoint.")
    if mixture_weight_type not in _TYPES:
      raise ValueError(
          f"mixture_weight_type={mixture_weight_type!r}: expected one of "
          f"{', '.join(_TYPES)}. Use adanet.ensemble.MixtureWeightType.")
    for argument, value in (("adanet_lambda", adanet_lambda),
                            ("adanet_beta", adanet_beta)):
      if value is None or isinstance(value, (str, bytes)) or (
          isinstance(value, float) and math.isnan(value)):
        raise ValueError(
            f"{argument}={value!r}: expected a number of at least 0.")
    self._optimizer = optimizers.for_any_graph(optimizer)
    self._mixture_weight_type = mixture_weight_type
    self._mixture_weight_initializer = mixture_weight_initializer
    self._warm_start_mixture_weights = warm_start_mixture_weights
    self._model_dir = model_dir
    self._adanet_lambda = adanet_lambda
    self._adanet_beta = adanet_beta
    self._use_bias = use_bias
    self._name = name

  @property
  def name(self) -> str:
    return self._name or "complexity_regularized"

  def build_ensemble(self, subnetworks: Any, previous_ensemble_subnetworks: Any,
                     features: Any, labels: Any, logits_dimension: Any,
                     training: bool, iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> ComplexityRegularized:
    """See `Ensembler`. Subnetworks of the previous ensemble come first.

    Raises:
      ValueError: the heads, static shapes or types of the subnetworks do not
        fit together or do not fit the mixture weights.
    """
    parts = _previous_weights(previous_ensemble, previous_ensemble_subnetworks)
    parts += [(subnetwork, None) for subnetwork in subnetworks]
    ensembler.check_same_heads([subnetwork for subnetwork, _ in parts])
    heads = _heads(parts[0][0])
    # Keras losses, which have no logits dimension, take outputs of any rank.
    ranks = (1, 2) if logits_dimension is not None else (1, 2, 3, 4, 5)

    weighted_subnetworks = []
    for index, (subnetwork, weight) in enumerate(parts):
      with tf_compat.v1.variable_scope(f"weighted_subnetwork_{index}"):
        weighted = [self._weigh(subnetwork, weight, len(parts), head, ranks)
                    for head in heads]
      weighted_subnetworks.append(WeightedSubnetwork(
          weight=_join(heads, [weight for weight, _ in weighted]),
          logits=_join(heads, [logits for _, logits in weighted]),
          subnetwork=subnetwork))

    previous_bias = self._previous_bias(
        previous_ensemble, previous_ensemble_subnetworks or ())
    biases = [self._bias(parts[0][0], previous_bias, head, ranks)
              for head in heads]
    logits = []
    for head, bias in zip(heads, biases):
      terms = [head.of(w.logits) for w in weighted_subnetworks]
      ensembler.check_compatible("logits", terms)
      logits.append(sum(terms, bias))
    return ComplexityRegularized(
        weighted_subnetworks,
        bias=_join(heads, biases),
        logits=_join(heads, logits),
        subnetworks=[w.subnetwork for w in weighted_subnetworks],
        complexity_regularization=sum(
            self._regularization(weighted_subnetworks, summary, head)
            for head in heads))

  def build_train_op(self, ensemble: Any, loss: Any, var_list: Any, labels: Any,
                     iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> Any:
    """See `Ensembler`.

    As in AdaNet 0.8.0, this method adds the complexity regularization to `loss`
    although `loss` already includes the complexity regularization. So models of
    AdaNet continue to train in the same way.
    """
    if self._optimizer is None:
      return tf_compat.v1.no_op()
    return optimizers.minimize(
        self._optimizer, loss + ensemble.complexity_regularization, var_list)

  def _learned(self, variable):
    """Returns the value of a variable in the latest checkpoint."""
    latest = checkpoint_file.latest(self._model_dir) or self._model_dir
    return tf_compat.v1.train.load_variable(
        checkpoint_file.readable(latest), variable.op.name)

  def _weigh(self, subnetwork, previous_weight, num_subnetworks, head, ranks):
    """Returns the weight of a subnetwork and its weighted logits for a head."""
    tf = tf_compat.v1
    last_layer = head.of(subnetwork.last_layer)
    logits = head.of(subnetwork.logits)
    _, logits_size = _rank_and_size("logits" + head.tag, logits, ranks)
    is_matrix = self._mixture_weight_type == MixtureWeightType.MATRIX
    shape = []
    if self._mixture_weight_type == MixtureWeightType.VECTOR:
      shape = [logits_size]
    if is_matrix:
      rank, size = _rank_and_size("last_layer" + head.tag, last_layer, (2, 3))
      shape = [size, logits_size]
    if None in shape:
      raise ValueError(
          f"logits{head.tag} has the shape {logits.shape}: expected 2 "
          "dimensions for mixture weights of type "
          f"{self._mixture_weight_type}.")
    if previous_weight is not None and self._warm_start_mixture_weights:
      shape, initializer = None, self._learned(head.of(previous_weight))
    elif self._mixture_weight_initializer is not None:
      initializer = self._mixture_weight_initializer
    elif is_matrix:
      initializer = tf.zeros_initializer()
    else:
      initializer = tf.constant_initializer(1. / num_subnetworks)
    with tf.variable_scope("logits" + head.suffix):
      weight = tf.get_variable(
          "mixture_weight", shape=shape, initializer=initializer,
          use_resource=True)  # Keras optimizers need resource variables.
      _check_type(
          *(("last_layer" + head.tag, last_layer) if is_matrix else
            ("logits" + head.tag, logits)), weight)
      if is_matrix:
        return weight, _times_matrix(last_layer, weight, rank)
      return weight, tf.multiply(logits, weight)

  def _previous_bias(self, previous_ensemble, kept_subnetworks):
    """Returns the bias variables of the previous ensemble to start from."""
    if previous_ensemble is None or not self._warm_start_mixture_weights:
      return None
    if len(previous_ensemble.subnetworks) != len(kept_subnetworks):
      logging.info(
          "The bias of the ensemble %r begins at 0, because subnetworks of the "
          "previous ensemble were pruned.", self.name)
      return None
    return getattr(previous_ensemble, "bias", None)

  def _bias(self, subnetwork, previous_bias, head, ranks):
    """Returns the variable of the bias for a head."""
    tf = tf_compat.v1
    if previous_bias is None:
      rank, size = _rank_and_size(
          "logits" + head.tag, head.of(subnetwork.logits), ranks)
      shape = [1 if rank == 1 else size]
      initializer = tf.zeros_initializer()
    else:
      shape, initializer = None, self._learned(head.of(previous_bias))
    return tf.get_variable(
        "bias" + head.suffix, shape=shape, initializer=initializer,
        trainable=self._use_bias, use_resource=True)

  def _regularization(self, weighted_subnetworks, summary, head):
    """Returns the last sum of equation (4) for a head, and records summaries.
    """
    tf = tf_compat.v1
    norms = [tf.norm(head.of(w.weight), ord=1) for w in weighted_subnetworks]
    total_norm = sum(norms)
    regularization = sum(
        self._price(w.subnetwork.complexity, norm)
        for w, norm in zip(weighted_subnetworks, norms))
    with summary.current_scope():
      ensemble = "adanet/adanet_weighted_ensemble"
      summary.scalar(
          f"complexity_regularization/{ensemble}{head.tag}",
          regularization)
      summary.histogram(f"mixture_weights/{ensemble}{head.tag}", norms)
      for index, norm in enumerate(norms):
        tag = f"{ensemble}/subnetwork{head.tag}_{index}"
        summary.scalar("mixture_weight_norms/" + tag, norm)
        summary.scalar("mixture_weight_fractions/" + tag, norm / total_norm)
    return regularization

  def _price(self, complexity, norm):
    """Returns (lambda r(h) + beta) |w|_1 of one subnetwork."""
    tf = tf_compat.v1
    if self._adanet_lambda == 0. and self._adanet_beta == 0.:
      return tf.constant(0.)
    if self._adanet_lambda == 0.:
      return tf.scalar_mul(self._adanet_beta, norm)
    if complexity is None or isinstance(complexity, (str, bytes)):
      raise ValueError(
          f"complexity={complexity!r} of a subnetwork: expected a number or a "
          "scalar tensor, because adanet_lambda is not 0")
    gamma = tf.scalar_mul(
        self._adanet_lambda,
        tf.cast(complexity, tf.float32)) + self._adanet_beta
    return tf.scalar_mul(gamma, norm)
