# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates and exports the best ensemble of a checkpoint."""

import os
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet.core import evaluator as evaluator_lib
from adanet.core import event_files
from adanet.core import iteration as iteration_lib
from adanet.core import metrics as metrics_lib
from adanet.core import user_input
from adanet.estimator import arguments
from adanet.estimator import best_ensemble
from adanet.estimator import export as export_lib
from adanet.estimator import user_folder
from adanet.heads import export_output
from adanet.tf_compat import checkpoint_file
from adanet.training import hooks as hooks_lib
from adanet.training import input_fn as input_fn_lib
from adanet.training import recording
from adanet.training import sessions
import numpy as np

# AdaNet's entry: a serialized `Summary`, which is not for who prints metrics.
_ARCHITECTURE = "architecture/adanet/ensembles"


def _own_metrics(iteration: iteration_lib.Iteration) -> Dict[
    Tuple[str, str], Dict[str, Any]]:
  """Returns the metrics of all subnetworks and ensembles, by kind and name."""
  own = {("subnetwork", s.name): s.metrics for s in iteration.subnetworks}
  own.update(
      (("ensemble", c.name), c.metrics) for c in iteration.candidates)
  return own


def _part(metrics, part):
  return {owner: {name: metric[part] for name, metric in of_owner.items()}
          for owner, of_owner in metrics.items()}


def _results(iteration, best, values):
  """Returns the best candidate's metrics, as `evaluate` does.

  Metrics that some candidates lack are left out, as by AdaNet.
  """
  candidates = [values["ensemble", c.name] for c in iteration.candidates]
  metrics = dict(values["ensemble", best.name])
  return {name: metrics[name] for name in metrics
          if all(name in other for other in candidates)}


def _plain(value):
  """Returns a number of NumPy as one of Python, which JSON can have."""
  return value.item() if hasattr(value, "item") and not value.shape else value


def evaluate(best: best_ensemble.BestEnsemble,
             input_fn: Callable[..., Any],
             steps: Optional[int],
             hooks: Sequence[Any],
             name: Optional[str]) -> metrics_lib.MetricValues:
  """Returns the metrics of the best ensemble; see `adanet.Estimator.evaluate`.

  The metrics of every subnetwork and ensemble are written for TensorBoard.
  """
  setup, number = best.setup, best.number
  with setup.graph(input_fn, "eval", number) as built:
    iteration = built.iteration
    metrics = _own_metrics(iteration)
    update = tf_compat.v1.group(*[
        op for own in _part(metrics, 1).values() for op in own.values()])
    runner = hooks_lib.HookRunner([hooks_lib.Owned(hook) for hook in hooks])
    runner.begin()
    with best.session(built) as (session, coordinator):
      runner.after_create_session(session, coordinator)
      spec = best.spec(iteration)
      for _ in evaluator_lib.batches(
          session, lambda: runner.run(session, update), steps, "evaluate",
          may_stop=bool(hooks)):
        if None in runner.stops:
          break
      runner.end(session)
      values, global_step = session.run(
          (_part(metrics, 0), iteration.global_step))
  _write(setup, values, global_step, name)
  results = _results(iteration, spec, values)
  loss = results.get("loss", 0.)
  if not np.isfinite(loss).all():
    nan = setup.not_finite(input_fn, "eval", steps)
    if nan:
      logging.warning("evaluate: the loss is %s. The input has NaN or infinity "
                      "in %s.", loss, nan)
  recording.write_evaluation(
      setup.model_dir.path, number, spec.name, name, global_step, results)
  int32 = tf_compat.v1.int32.as_numpy_dtype
  results["iteration"] = int32(number)
  indices = spec.architecture.replay_indices
  for t in range(max(len(architecture.replay_indices)
                     for architecture in iteration.architectures.values())):
    # A previous ensemble has none for this iteration.
    results[f"best_ensemble_index_{t}"] = int32(
        indices[t] if t < len(indices) else -1)
  writer = event_files.SummaryWriter(setup.model_dir.path)
  writer.add_scalars("eval_" + name if name else "eval",
                     dict(results, checkpoint_path=best.checkpoint or ""),
                     global_step)
  writer.close()
  results["global_step"] = global_step
  plain = {key: _plain(value) for key, value in results.items()}
  logging.info("Evaluated step %d: %s", global_step, ", ".join(
      f"{key} = {results[key]}" for key in sorted(results)
      if not isinstance(results[key], bytes)))
  more = {key: plain.pop(key) for key in [_ARCHITECTURE] if key in plain}
  return metrics_lib.MetricValues(plain, more)


def _write(setup, values, global_step, name):
  """Writes the metrics of all subnetworks and ensembles for TensorBoard."""
  writer = event_files.SummaryWriter(setup.model_dir.path)
  for (kind, owner), metrics in values.items():
    folder = os.path.join(kind, owner, "eval_" + name if name else "eval")
    writer.add_scalars(folder, metrics, global_step)
  writer.close()


def _export_outputs(iteration, best):
  """Returns the exported outputs of the best candidate.

  As AdaNet does it: with more than one candidate, each output of predictions
  has the predictions of the best one.
  """
  outputs = best.export_outputs or {}
  if len(iteration.architectures) == 1:
    return outputs
  predicts = export_output.PredictOutput(best.predictions)
  return {
      name: (predicts if type(output).__name__ == "PredictOutput"
             else outputs[name])
      for name, output in iteration.candidates[0].export_outputs.items()}


def export(best: best_ensemble.BestEnsemble, export_dir_base: str,
           serving_input_receiver_fn: Callable[[], Any],
           assets_extra: Optional[Dict[str, str]], as_text: bool,
           strip_default_attrs: bool = True) -> bytes:
  """Writes a SavedModel; see `adanet.Estimator.export_saved_model`."""
  expected = "that returns an adanet.estimator.export.ServingInputReceiver"
  name = "serving_input_receiver_fn"
  arguments.check_function(name, serving_input_receiver_fn, expected)
  folder = user_folder.checked("export_dir_base", export_dir_base, or_none="")
  if not checkpoint_file.is_readable(folder):
    logging.warning(
        "TensorFlow loads no SavedModel from a folder with [ or \\ in its name: "
        "move the export out of %s before you load it.", folder)
  receivers = []

  def read(strategy):
    del strategy  # A request has all of its input.
    made = serving_input_receiver_fn()
    if not hasattr(made, "features") or not hasattr(made, "receiver_tensors"):
      raise ValueError(f"{name} must be a function {expected}, and it returned "
                       f"{user_input.described(made)}")
    receivers.append(made)
    return input_fn_lib.Input(receivers[0].features, None, [])

  with best.setup.graph_on(read, "infer", best.number) as built:
    # TensorFlow warns if a session has run the ops that it groups.
    main_op = sessions.local_init_op(built.iteration.local_init_ops)
    with best.session(built) as (session, _):
      spec = best.spec(built.iteration)
      return export_lib.write_saved_model(
          export_dir_base, session,
          export_lib.signature_defs(
              receivers[0].receiver_tensors,
              getattr(receivers[0], "receiver_tensors_alternatives", None),
              _export_outputs(built.iteration, spec)),
          main_op, assets_extra, as_text, strip_default_attrs)
