# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates the reports of builders: the public `adanet.ReportMaterializer`."""

from typing import Any, Callable, Dict, List, Optional, Sequence

from adanet import tf_compat
from adanet.core import batches
from adanet.subnetwork import report as report_lib


def _plain(values):
  """Returns a dict with Python's values instead of numpy's."""
  return {key: value.item() if hasattr(value, "item") else value
          for key, value in values.items()}


class ReportMaterializer:
  """Turns the tensors of reports into values at the end of an iteration."""

  def __init__(
      self, input_fn: Callable[..., Any], steps: Optional[int] = None):
    """Says on what data the metrics of reports are evaluated.

    Args:
      input_fn: function that returns features and labels, or a dataset of them.
      steps: int, how many batches; None for all that the input has.

    Raises:
      ValueError: `steps` is not positive.
    """
    self._input_fn = input_fn
    self._steps = batches.check_steps(steps)

  @property
  def input_fn(self) -> Callable[..., Any]:
    """The function whose data reports are evaluated on."""
    return self._input_fn

  @property
  def steps(self) -> Optional[int]:
    """How many batches are evaluated; None for all that there are."""
    return self._steps

  def materialize_subnetwork_reports(
      self,
      sess: Any,
      iteration_number: int,
      subnetwork_reports: Dict[str, report_lib.Report],
      included_subnetwork_names: Sequence[str]
  ) -> List[report_lib.MaterializedReport]:
    """Evaluates reports.

    Args:
      sess: a session whose graph has the input and the reports' tensors, with
        the values of all variables.
      iteration_number: int.
      subnetwork_reports: dict from the name of a builder to its report.
      included_subnetwork_names: the names of the builders whose subnetworks are
        in the ensemble that won.

    Returns:
      One materialized report for each report, in the same order.
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
    if update_ops:  # Without metrics, nothing would ever end the input.
      batches.run(sess, update_ops, self._steps, "Evaluation of the reports")
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
