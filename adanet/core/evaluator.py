# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares ensembles on data of its own: the public `adanet.Evaluator`."""

from typing import Any, Callable, Dict, List, Optional, Sequence

from adanet import tf_compat
from adanet.core import batches
import numpy as np


class MetricNameError(KeyError, ValueError):
  """Ensembles lack the metric that decides; a KeyError as in AdaNet."""

  def __str__(self) -> str:
    return str(self.args[0])  # That of a KeyError is quoted.


class Evaluator:
  """Evaluates the candidates at the end of an iteration.

  A subclass may override each property and `evaluate`.
  """

  class Objective:
    """Which value of the metric is the best.

    Attributes:
      MINIMIZE: the least.
      MAXIMIZE: the greatest.
    """
    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

  def __init__(
      self,
      input_fn: Callable[..., Any],
      metric_name: str = "adanet_loss",
      objective: str = Objective.MINIMIZE,
      steps: Optional[int] = None):
    """Says what to evaluate, and on what.

    Args:
      input_fn: function that returns features and labels, or a dataset of them.
      metric_name: str, the metric that decides: "adanet_loss", or a metric of
        the head or of `metric_fn`.
      objective: `Objective.MINIMIZE` or `Objective.MAXIMIZE`.
      steps: int, how many batches; None for all that the input has.

    Raises:
      ValueError: `objective` or `steps` is something else.
    """
    if objective not in (self.Objective.MINIMIZE, self.Objective.MAXIMIZE):
      raise ValueError(
          f"objective={objective!r}: expected Evaluator.Objective.MINIMIZE or "
          "Evaluator.Objective.MAXIMIZE.")
    self._input_fn = input_fn
    self._metric_name = metric_name
    self._objective = objective
    self._steps = batches.check_steps(steps)

  @property
  def input_fn(self) -> Callable[..., Any]:
    """The function whose data the ensembles are evaluated on."""
    return self._input_fn

  @property
  def metric_name(self) -> str:
    """The name of the metric that decides."""
    return self._metric_name

  @property
  def objective(self) -> str:
    """`Objective.MINIMIZE` or `Objective.MAXIMIZE`."""
    return self._objective

  @property
  def objective_fn(self) -> Callable[[Sequence[float]], Any]:
    """A function from values to the index of the best; it skips NaN.

    A subclass may return another one, which then decides who wins.
    """
    if self.objective == self.Objective.MAXIMIZE:
      return np.nanargmax
    return np.nanargmin

  @property
  def steps(self) -> Optional[int]:
    """How many batches are evaluated; None for all that there are."""
    return self._steps

  def evaluate(
      self, sess: Any, ensemble_metrics: Sequence[Dict[str, Any]]
  ) -> List[Any]:
    """Evaluates all ensembles on the same batches.

    Args:
      sess: a session whose graph has the input and the ensembles, with the
        values of their variables. Its local variables are set anew.
      ensemble_metrics: one dict for each ensemble, from name to metric: a pair
        `(value, update_op)`, or a Keras metric.

    Returns:
      The value of the metric for each ensemble.

    Raises:
      MetricNameError: an ensemble has no metric of this name.
    """
    with sess.graph.as_default():
      metrics = [
          tf_compat.metric_op(self._metric(by_name))
          for by_name in ensemble_metrics
      ]
      sess.run(tf_compat.v1.local_variables_initializer())
    batches.run(sess, [update_op for _, update_op in metrics], self.steps,
                "Evaluation of the ensembles")
    return sess.run([value for value, _ in metrics])

  def _metric(self, by_name):
    if self.metric_name not in by_name:
      raise MetricNameError(
          f"metric_name={self.metric_name!r}: expected a metric that every "
          f"ensemble has: {', '.join(sorted(by_name))}.")
    return by_name[self.metric_name]
