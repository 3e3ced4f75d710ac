# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Exporters for an `adanet.EvalSpec`, as `tf.estimator` has them.

TensorFlow 2.16 and later have no `tf.estimator.LatestExporter` and the like. On
earlier versions either may be used. A model is exported to
`<model_dir>/export/<name>/<timestamp>`.
"""

import abc
import math
import os
import re
from typing import Any, Callable, Dict, Optional, cast

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
  """Exports a model for an `adanet.EvalSpec`. Derive your own."""

  @property
  @abc.abstractmethod
  def name(self) -> str:
    """The name of the folder of its exports."""

  @abc.abstractmethod
  def export(self, estimator: Any, export_path: str, checkpoint_path: str,
             eval_result: _Metrics, is_the_final_export: bool) -> Any:
    """Exports a checkpoint that was evaluated, or decides not to.

    Args:
      estimator: `adanet.Estimator`.
      export_path: str, the folder for the exports.
      checkpoint_path: str, the prefix of the checkpoint.
      eval_result: dict, the result of `Estimator.evaluate` for it.
      is_the_final_export: whether training is over. An exporter that returned
        None for the last checkpoint is asked once more when it is.

    Returns:
      The path of the export; None if there is none.
    """


class _SavedModelExporter(Exporter):
  """Exports SavedModels."""

  def __init__(self, name: str, serving_input_receiver_fn: _ReceiverFn,
               assets_extra: _Assets = None, as_text: bool = False) -> None:
    """Exports nothing yet.

    Args:
      name: str, the name of the folder of its exports.
      serving_input_receiver_fn: see `adanet.Estimator.export_saved_model`.
      assets_extra: see `adanet.Estimator.export_saved_model`.
      as_text: see `adanet.Estimator.export_saved_model`.
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

  @property
  def name(self) -> str:
    return self._name

  def _write(self, estimator, export_path, checkpoint_path):
    return estimator.export_saved_model(
        export_path, self._serving_input_receiver_fn,
        assets_extra=self._assets_extra, as_text=self._as_text,
        checkpoint_path=checkpoint_path)


def _check_exports_to_keep(number):
  if number is not None and number <= 0:
    raise ValueError(
        f"exports_to_keep must be a number > 0 or None, got {number!r}")


def _remove_oldest(export_path, exports_to_keep):
  """Removes all exports but the latest ones; None keeps them all."""
  if exports_to_keep is None:
    return
  versions = list(filter(_VERSION.match, files.names(export_path)))
  for name in versions[:-exports_to_keep]:
    try:
      tf_compat.v1.io.gfile.rmtree(os.path.join(export_path, name))
    except tf_compat.v1.errors.OpError as e:
      logging.warning("Cannot delete an old export: %s", e)


class FinalExporter(_SavedModelExporter):
  """Exports the last checkpoint, when training is over."""

  def export(self, estimator: Any, export_path: str, checkpoint_path: str,
             eval_result: _Metrics, is_the_final_export: bool) -> Any:
    """See `Exporter`."""
    if not is_the_final_export:
      return None
    return self._write(estimator, export_path, checkpoint_path)


class LatestExporter(_SavedModelExporter):
  """Exports each checkpoint that is evaluated, and removes old exports."""

  def __init__(self, name: str, serving_input_receiver_fn: _ReceiverFn,
               assets_extra: _Assets = None, as_text: bool = False,
               exports_to_keep: Optional[int] = 5) -> None:
    """Exports nothing yet.

    Args:
      name: str, the name of the folder of its exports.
      serving_input_receiver_fn: see `adanet.Estimator.export_saved_model`.
      assets_extra: see `adanet.Estimator.export_saved_model`.
      as_text: see `adanet.Estimator.export_saved_model`.
      exports_to_keep: int, how many of the latest exports stay; None for all.
    """
    super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
    _check_exports_to_keep(exports_to_keep)
    self._exports_to_keep = exports_to_keep

  def export(self, estimator: Any, export_path: str, checkpoint_path: str,
             eval_result: _Metrics, is_the_final_export: bool) -> Any:
    """See `Exporter`."""
    exported = self._write(estimator, export_path, checkpoint_path)
    _remove_oldest(export_path, self._exports_to_keep)
    return exported


def _loss_smaller(best_eval_result: _Metrics,
                  current_eval_result: _Metrics) -> bool:
  """Returns whether the loss is smaller than the best one, or than a NaN."""
  best, current = best_eval_result["loss"], current_eval_result["loss"]
  return bool(current < best or math.isnan(best) and not math.isnan(current))


class BestExporter(_SavedModelExporter):
  """Exports a checkpoint that is better than all that were evaluated before.

  Evaluations of an earlier run count too, by TensorBoard's files.
  """

  def __init__(self, name: str = "best_exporter",
               serving_input_receiver_fn: Optional[_ReceiverFn] = None,
               event_file_pattern: Optional[str] = "eval/*.tfevents.*",
               compare_fn: Callable[..., bool] = _loss_smaller,
               assets_extra: _Assets = None, as_text: bool = False,
               exports_to_keep: Optional[int] = 5) -> None:
    """Exports nothing yet.

    Args:
      name: str, the name of the folder of its exports.
      serving_input_receiver_fn: see `adanet.Estimator.export_saved_model`.
      event_file_pattern: str, the files in the model_dir that have the results
        of evaluations; `eval_<name>/*.tfevents.*` for an `adanet.EvalSpec` with
        a name. None: results of an earlier run do not count.
      compare_fn: function of two dicts of metrics, `best_eval_result` and
        `current_eval_result`, that returns whether the second one is better.
      assets_extra: see `adanet.Estimator.export_saved_model`.
      as_text: see `adanet.Estimator.export_saved_model`.
      exports_to_keep: int, how many of the latest exports stay; None for all.
    """
    super().__init__(
        name, cast(_ReceiverFn, serving_input_receiver_fn), assets_extra,
        as_text)
    if not callable(compare_fn):
      raise ValueError(
          "compare_fn must be a function of best_eval_result and "
          f"current_eval_result, got {compare_fn!r}")
    _check_exports_to_keep(exports_to_keep)
    self._event_file_pattern = event_file_pattern
    self._compare_fn = compare_fn
    self._exports_to_keep = exports_to_keep
    self._model_dir: Optional[str] = None
    self._best: Optional[_Metrics] = None

  def _is_better(self, best, current):
    return best is None or self._compare_fn(
        best_eval_result=best, current_eval_result=current)

  def _best_before(self, model_dir, global_step):
    """Returns the best result in TensorBoard's files, without one step's.
    """
    best = None
    for path in sorted(tf_compat.v1.io.gfile.glob(os.path.join(
        checkpoint_file.escaped(model_dir), self._event_file_pattern))):
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
      # Without an export there, the first one is the best.
      if self._event_file_pattern and tf_compat.v1.io.gfile.isdir(export_path):
        self._best = self._best_before(
            estimator.model_dir, eval_result["global_step"])
    if not self._is_better(self._best, eval_result):
      return None
    exported = self._write(estimator, export_path, checkpoint_path)
    self._best = eval_result
    _remove_oldest(export_path, self._exports_to_keep)
    return exported
