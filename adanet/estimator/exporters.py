# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Exporters for an `adanet.EvalSpec`, with `tf.estimator`'s interface.

An exporter writes models to `<model_dir>/export/<name>/<timestamp>`. TensorFlow
2.16 and later lack the exporters of `tf.estimator`, such as `LatestExporter`.
On earlier versions an `adanet.EvalSpec` accepts both kinds. For example::

    adanet.EvalSpec(test_input_fn, exporters=[exporters.LatestExporter(
        "latest", serving_input_receiver_fn, exports_to_keep=3)])
"""

import abc
import math
import os
import re
from typing import Any, Callable, Dict, Optional, cast

from adanet import checks
from adanet import log as logging
from adanet import tf_compat
from adanet.estimator import arguments
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import files

_VERSION = re.compile(r"\d{10}$")  # The name of an export's folder.

_Metrics = Dict[str, Any]
_ReceiverFn = Callable[[], Any]
_Assets = Optional[Dict[str, str]]


class Exporter(abc.ABC):
  """The base class of exporters for an `adanet.EvalSpec`.

  For example::

      class Copy(exporters.Exporter):
        name = "copy"

        def export(self, estimator, export_path, checkpoint_path, eval_result,
                   is_the_final_export):
          return estimator.export_saved_model(
              export_path, serving_input_receiver_fn,
              checkpoint_path=checkpoint_path)
  """

  @property
  @abc.abstractmethod
  def name(self) -> str:
    """The name of the folder of the exports."""

  @abc.abstractmethod
  def export(self, estimator: Any, export_path: str, checkpoint_path: str,
             eval_result: _Metrics, is_the_final_export: bool) -> Any:
    """Exports an evaluated checkpoint, or skips the checkpoint.

    Args:
      estimator: `adanet.Estimator`.
      export_path: str, the folder for the exports.
      checkpoint_path: str, the prefix of the checkpoint.
      eval_result: dict, the result of `Estimator.evaluate` for the checkpoint.
      is_the_final_export: whether training has ended. An exporter that returned
        None for the last checkpoint is called once more at the end.

    Returns:
      The path of the export; None for a skipped checkpoint.
    """


class _SavedModelExporter(Exporter):
  """Exports SavedModels."""

  def __init__(self, name: str, serving_input_receiver_fn: _ReceiverFn,
               assets_extra: _Assets = None, as_text: bool = False) -> None:
    """Checks the arguments; exports nothing yet.

    Args:
      name: str, the name of the folder of the exports.
      serving_input_receiver_fn, assets_extra, as_text: see
        `adanet.Estimator.export_saved_model`.

    Raises:
      ValueError: `name` is empty or no str, or `serving_input_receiver_fn` is
        no function.
    """
    if not name or not isinstance(name, str):
      raise ValueError(f"name must be a string that is not empty, got {name!r}")
    arguments.check_function(
        "serving_input_receiver_fn", serving_input_receiver_fn,
        "that returns an adanet.estimator.export.ServingInputReceiver")
    self._name = name
    self._serving_input_receiver_fn = serving_input_receiver_fn
    self._assets_extra = assets_extra
    self._as_text = as_text
    self._exports_to_keep: Optional[int] = None

  @property
  def name(self) -> str:
    return self._name

  def _keep(self, number):
    self._exports_to_keep = checks.check_count(
        "exports_to_keep", number, or_none=True)

  def _write(self, estimator, export_path, checkpoint_path):
    """Exports a checkpoint, and removes the oldest exports."""
    exported = estimator.export_saved_model(
        export_path, self._serving_input_receiver_fn,
        assets_extra=self._assets_extra, as_text=self._as_text,
        checkpoint_path=checkpoint_path)
    if self._exports_to_keep is not None:
      versions = list(filter(_VERSION.match, files.names(export_path)))
      for name in versions[:-self._exports_to_keep]:
        try:
          tf_compat.v1.io.gfile.rmtree(os.path.join(export_path, name))
        except tf_compat.v1.errors.OpError as e:
          logging.warning("Cannot delete an old export: %s", e)
    return exported


class FinalExporter(_SavedModelExporter):
  """Exports the last checkpoint at the end of training.

  For example::

      exporters.FinalExporter("final", serving_input_receiver_fn)
  """

  def export(self, estimator: Any, export_path: str, checkpoint_path: str,
             eval_result: _Metrics, is_the_final_export: bool) -> Any:
    """See `Exporter`."""
    if not is_the_final_export:
      return None
    return self._write(estimator, export_path, checkpoint_path)


class LatestExporter(_SavedModelExporter):
  """Exports each evaluated checkpoint and removes old exports.

  For example::

      exporters.LatestExporter(
          "latest", serving_input_receiver_fn, exports_to_keep=3)
  """

  def __init__(self, name: str, serving_input_receiver_fn: _ReceiverFn,
               assets_extra: _Assets = None, as_text: bool = False,
               exports_to_keep: Optional[int] = 5) -> None:
    """Checks the arguments; exports nothing yet.

    Args:
      name: str, the name of the folder of the exports.
      serving_input_receiver_fn, assets_extra, as_text: see
        `adanet.Estimator.export_saved_model`.
      exports_to_keep: int, the number of latest exports to keep; None for all.

    Raises:
      ValueError: `name` is empty or no str, `serving_input_receiver_fn` is no
        function, or `exports_to_keep` is less than 1.
      TypeError: `exports_to_keep` is not an integer.
    """
    super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
    self._keep(exports_to_keep)

  def export(self, estimator: Any, export_path: str, checkpoint_path: str,
             eval_result: _Metrics, is_the_final_export: bool) -> Any:
    """See `Exporter`."""
    return self._write(estimator, export_path, checkpoint_path)


def _loss_smaller(best_eval_result: _Metrics,
                  current_eval_result: _Metrics) -> bool:
  """Returns whether the current loss is below the best loss or replaces NaN."""
  best, current = best_eval_result["loss"], current_eval_result["loss"]
  return bool(current < best or math.isnan(best) and not math.isnan(current))


class BestExporter(_SavedModelExporter):
  """Exports each checkpoint that is better than all earlier checkpoints.

  Evaluations of earlier runs count, too: the exporter reads the event files of
  TensorBoard. For example::

      def is_better(best_eval_result, current_eval_result):
        return current_eval_result["accuracy"] > best_eval_result["accuracy"]

      exporters.BestExporter(
          serving_input_receiver_fn=serving_input_receiver_fn,
          compare_fn=is_better)
  """

  def __init__(self, name: str = "best_exporter",
               serving_input_receiver_fn: Optional[_ReceiverFn] = None,
               event_file_pattern: Optional[str] = "eval/*.tfevents.*",
               compare_fn: Callable[..., bool] = _loss_smaller,
               assets_extra: _Assets = None, as_text: bool = False,
               exports_to_keep: Optional[int] = 5) -> None:
    """Checks the arguments; exports nothing yet.

    Args:
      name: str, the name of the folder of the exports.
      serving_input_receiver_fn, assets_extra, as_text: see
        `adanet.Estimator.export_saved_model`.
      event_file_pattern: str, the pattern of the event files with evaluation
        results in the model_dir. For an `adanet.EvalSpec` with a name, the
        pattern is `eval_<name>/*.tfevents.*`. None to ignore earlier runs; in a
        cluster, the chief then exports the last checkpoint without comparing
        it with the evaluator's.
      compare_fn: function of two dicts of metrics, `best_eval_result` and
        `current_eval_result`, that returns whether the second dict is better.
        By default, the lower "loss" is better.
      exports_to_keep: int, the number of latest exports to keep; None for all.

    Raises:
      ValueError: `name` is empty or no str, `serving_input_receiver_fn` or
        `compare_fn` is no function, or `exports_to_keep` is less than 1.
      TypeError: `exports_to_keep` is not an integer.
    """
    super().__init__(
        name, cast(_ReceiverFn, serving_input_receiver_fn), assets_extra,
        as_text)
    self._keep(exports_to_keep)
    if not callable(compare_fn):
      raise ValueError(
          "compare_fn must be a function of best_eval_result and "
          f"current_eval_result, got {compare_fn!r}")
    self._event_file_pattern = event_file_pattern
    self._compare_fn = compare_fn
    self._model_dir: Optional[str] = None
    self._best: Optional[_Metrics] = None

  def _is_better(self, best, current):
    return best is None or self._compare_fn(
        best_eval_result=best, current_eval_result=current)

  def _best_before(self, estimator, global_step):
    """Returns the best result in the event files, except for a global step."""
    pattern = self._event_file_pattern
    try:
      paths = sorted(tf_compat.v1.io.gfile.glob(os.path.join(
          checkpoint_file.escaped(estimator.model_dir), pattern))) if (
              pattern) else []
    except tf_compat.v1.errors.NotFoundError:  # Of TensorFlow 1.15.
      paths = []
    # The chief of a cluster continues after the evaluator.
    if not paths and (pattern or estimator.config.cluster_spec):
      logging.warning(
          "BestExporter %r exports step %d without a comparison: there are "
          "exports, but event_file_pattern=%r matches no results of earlier "
          "checkpoints. The default matches an EvalSpec without a name; for a "
          "name, the pattern is eval_<name>/*.tfevents.*", self.name,
          global_step, pattern)
    best = None
    for path in paths:
      for event in tf_compat.v1.train.summary_iterator(path):
        result = {value.tag: value.simple_value for value in event.summary.value
                  if value.HasField("simple_value")}
        if result and event.step != global_step and (
            self._is_better(best, result)):
          best = result
    return best

  def export(self, estimator: Any, export_path: str, checkpoint_path: str,
             eval_result: _Metrics, is_the_final_export: bool) -> Any:
    """See `Exporter`."""
    if self._model_dir != estimator.model_dir:
      self._model_dir, self._best = estimator.model_dir, None
      # Without earlier exports, the first checkpoint is the best.
      if tf_compat.v1.io.gfile.isdir(export_path):
        self._best = self._best_before(estimator, eval_result["global_step"])
    if not self._is_better(self._best, eval_result):
      return None
    exported = self._write(estimator, export_path, checkpoint_path)
    self._best = eval_result
    return exported
