# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.Evaluator` and `adanet.ReportMaterializer`.

Both run at the end of an iteration.
"""

import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from adanet import checks
from adanet import log as logging
from adanet import tf_compat
from adanet.core import user_input
from adanet.subnetwork import report as report_lib
import numpy as np


# The collection of a graph for the cardinality of the input's dataset.
INPUT_CARDINALITY = "adanet_input_cardinality"
ENDLESS = -1  # TensorFlow's cardinality of `repeat()`.
_TOO_MANY = 2**40  # Batches: 35 years at 1000 batches per second.

_FIRST_LINE_SECS = 30.  # The time of the first log line of a long evaluation.


def is_endless(sess: Any) -> bool:
  """Returns whether the input of a graph is known to be endless.

  Args:
    sess: a session.
  """
  return any(
      value == ENDLESS or value > _TOO_MANY
      for value in sess.run(sess.graph.get_collection(INPUT_CARDINALITY)))


def _endless_error(what):
  return ValueError(
      f"{what}: steps=None, and the input has no end: say how many batches to "
      "read by steps, or leave out repeat() and num_epochs=None")


def batches(sess: Any, run: Callable[[], Any], steps: Optional[int], what: str,
            may_stop: bool = False) -> Iterator[Any]:
  """Calls a function for each batch of a graph's input, and logs the progress.

  Args:
    sess: a session on the graph.
    run: function that processes the next batch.
    steps: int, the number of batches; None for all batches of the input.
    what: str, the activity for the log, such as "Evaluation of the ensembles".
    may_stop: whether hooks may stop an endless input.

  Yields:
    The return values of `run`.

  Raises:
    EmptyInputError: the input has no batch.
    ValueError: `steps` is None, `may_stop` is False, and the input is known to
      be endless.
  """
  if steps is None and is_endless(sess):
    if not may_stop:
      raise _endless_error(what)
    logging.warning("%s. It goes on until a hook stops it.",
                    _endless_error(what))
  log_every = 1000 if steps is None else max(1, steps // 10)
  start = time.monotonic()
  next_line_secs = _FIRST_LINE_SECS
  done = 0
  while steps is None or done < steps:
    try:
      values = run()
    except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
      if not done:
        raise user_input.empty_input_error(what) from None
      logging.info("%s: the input ended after %d batches.", what, done)
      return
    done += 1
    if done % log_every == 0 or done == steps:
      logging.info("%s: %d of %s batches.", what, done, steps or "all")
    seconds = time.monotonic() - start
    if steps is None and seconds >= next_line_secs:
      logging.warning(
          "%s: %d batches in %.0f s, and the input goes on. If it has no end, "
          "say how many to read by steps.", what, done, seconds)
      while next_line_secs <= seconds:  # Fewer and fewer lines.
        next_line_secs *= 2
    yield values


class MetricNameError(KeyError, ValueError):
  """An ensemble lacks the metric `metric_name`; a KeyError as in AdaNet."""

  def __str__(self) -> str:
    return str(self.args[0])  # KeyError would quote the text.


class Evaluator:
  """Evaluates the candidates at the end of an iteration.

  For example::

      evaluator = adanet.Evaluator(
          held_out_input_fn, metric_name="accuracy",
          objective=adanet.Evaluator.Objective.MAXIMIZE)
      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000, evaluator=evaluator)

  Each example counts once, with the weight of the example, regardless of the
  division into batches: "adanet_loss" and "loss" are losses of all examples,
  not means of the losses of batches.

  A subclass may override all properties and `evaluate`. An overridden
  `evaluate` gets all candidates in the process that leads the search; otherwise
  a cluster or an executor divides the candidates among workers.
  """

  class Objective:
    """The best value of the metric.

    Attributes:
      MINIMIZE: the least value is the best.
      MAXIMIZE: the greatest value is the best.
    """
    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

  def __init__(
      self, input_fn: Callable[..., Any], metric_name: str = "adanet_loss",
      objective: str = Objective.MINIMIZE, steps: Optional[int] = None):
    """Makes an evaluator; evaluates nothing yet.

    Args:
      input_fn: function that returns `(features, labels)` or a dataset of
        `(features, labels)`.
      metric_name: str, the metric to compare: "adanet_loss", or a metric of the
        head or of `metric_fn`.
      objective: `Objective.MINIMIZE` or `Objective.MAXIMIZE`.
      steps: int, the number of batches; None for all batches of the input.

    Raises:
      TypeError: `steps` is not an integer.
      ValueError: `input_fn` is no function, `objective` is unknown, `steps` is
        less than 1, or `steps` is None and `input_fn` is known to be endless.
    """
    if objective not in (self.Objective.MINIMIZE, self.Objective.MAXIMIZE):
      raise ValueError(
          f"objective={objective!r}: expected Evaluator.Objective.MINIMIZE or "
          "Evaluator.Objective.MAXIMIZE.")
    user_input.check_input_fn(input_fn)
    self._input_fn = input_fn
    self._metric_name = metric_name
    self._objective = objective
    self._steps = checks.check_count("steps", steps, or_none=True)
    # Not after the first iteration. A subclass may end the input.
    if steps is None and type(self) is Evaluator and getattr(  # pylint: disable=unidiomatic-typecheck
        input_fn, "is_endless", False):
      raise _endless_error("Evaluator")

  @property
  def input_fn(self) -> Callable[..., Any]:
    """The input function of the data to evaluate ensembles on."""
    return self._input_fn

  @property
  def metric_name(self) -> str:
    """The name of the metric to compare."""
    return self._metric_name

  @property
  def objective(self) -> str:
    """`Objective.MINIMIZE` or `Objective.MAXIMIZE`."""
    return self._objective

  @property
  def objective_fn(self) -> Callable[[Sequence[float]], Any]:
    """A function from values to the index of the best value, ignoring NaN.

    A subclass may return another function to choose the winner.
    """
    if self.objective == self.Objective.MAXIMIZE:
      return np.nanargmax
    return np.nanargmin

  @property
  def steps(self) -> Optional[int]:
    """The number of batches to evaluate; None for all batches."""
    return self._steps

  def evaluate(self, sess: Any,
               ensemble_metrics: Sequence[Dict[str, Any]]) -> List[Any]:
    """Evaluates all ensembles on the same batches.

    Args:
      sess: a session with a graph of the input and the ensembles and with the
        values of all variables. This method resets the local variables.
      ensemble_metrics: a dict for each ensemble, from name to metric: a pair
        `(value, update_op)` or a Keras metric.

    Returns:
      List with the value of the metric for each ensemble.

    Raises:
      MetricNameError: an ensemble has no metric `metric_name`.
      EmptyInputError: the input has no batch.
      ValueError: `steps` is None, and the input is known to be endless.
    """
    with sess.graph.as_default():
      metrics = [
          tf_compat.metric_op(self._metric(by_name))
          for by_name in ensemble_metrics
      ]
      # Unlike `local_variables_initializer`, this adds no op. TensorFlow warns
      # of ops that are added after a run of the session.
      sess.run([v.initializer for v in tf_compat.v1.local_variables()])
    update_ops = [update_op for _, update_op in metrics]
    for _ in batches(sess, lambda: sess.run(update_ops), self.steps,
                     "Evaluation of the ensembles"):
      pass
    return sess.run([value for value, _ in metrics])

  def _metric(self, by_name):
    if self.metric_name not in by_name:
      raise MetricNameError(
          f"metric_name={self.metric_name!r}: expected a metric that every "
          f"ensemble has: {', '.join(sorted(by_name))}.")
    return by_name[self.metric_name]


def _plain(values):
  """Returns a dict with Python values instead of NumPy values."""
  return {key: value.item() if hasattr(value, "item") else value
          for key, value in values.items()}


class ReportMaterializer:
  """Evaluates the tensors of reports at the end of an iteration.

  For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          report_materializer=adanet.ReportMaterializer(
              train_input_fn, steps=10))
  """

  def __init__(self, input_fn: Callable[..., Any], steps: Optional[int] = None):
    """Makes a report materializer; evaluates nothing yet.

    Args:
      input_fn: function that returns `(features, labels)` or a dataset of
        `(features, labels)`, for the metrics of reports.
      steps: int, the number of batches; None for all batches of the input.

    Raises:
      TypeError: `steps` is not an integer.
      ValueError: `input_fn` is no function, or `steps` is less than 1.
    """
    user_input.check_input_fn(input_fn)
    self._input_fn = input_fn
    self._steps = checks.check_count("steps", steps, or_none=True)

  @property
  def input_fn(self) -> Callable[..., Any]:
    """The input function of the data to evaluate reports on."""
    return self._input_fn

  @property
  def steps(self) -> Optional[int]:
    """The number of batches to evaluate; None for all batches."""
    return self._steps

  def materialize_subnetwork_reports(
      self, sess: Any, iteration_number: int,
      subnetwork_reports: Dict[str, report_lib.Report],
      included_subnetwork_names: Sequence[str]
  ) -> List[report_lib.MaterializedReport]:
    """Evaluates reports.

    Args:
      sess: a session with a graph of the input and the reports' tensors and
        with the values of all variables.
      iteration_number: int.
      subnetwork_reports: dict from the name of a builder to the builder's
        report.
      included_subnetwork_names: the names of the builders whose subnetworks are
        in the winning ensemble.

    Returns:
      List of `MaterializedReport` in the order of `subnetwork_reports`.

    Raises:
      EmptyInputError: a report has metrics, and the input has no batch.
      ValueError: a report has metrics, `steps` is None, and the input is known
        to be endless.
    """
    with sess.graph.as_default():
      metrics_by_name = {
          name: {key: tf_compat.metric_op(metric)[:2]
                 for key, metric in report.metrics.items()}
          for name, report in subnetwork_reports.items()
      }
    update_ops = [
        update_op for metrics in metrics_by_name.values()
        for _, update_op in metrics.values()
    ]
    if update_ops:  # Without metrics, no op would read the input to the end.
      for _ in batches(sess, lambda: sess.run(update_ops), self._steps,
                       "Evaluation of the reports"):
        pass
    attributes, metrics = sess.run((
        {name: report.attributes
         for name, report in subnetwork_reports.items()},
        {name: {key: value for key, (value, _) in metrics.items()}
         for name, metrics in metrics_by_name.items()},
    ))
    return [
        report_lib.MaterializedReport(
            iteration_number=iteration_number,
            name=name,
            hparams=report.hparams,
            attributes=_plain(attributes[name]),
            metrics=_plain(metrics[name]),
            included_in_final_ensemble=name in included_subnetwork_names)
        for name, report in subnetwork_reports.items()
    ]
