# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates, predicts and exports the best ensemble of a checkpoint."""

import contextlib
import os
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet.core import empty_input
from adanet.core import evaluation as core_evaluation
from adanet.core import iteration as iteration_lib
from adanet.core import summary
from adanet.core import user_input
from adanet.estimator import arguments
from adanet.estimator import export as export_lib
from adanet.heads import export_output
from adanet.training import deciding
from adanet.training import fitting
from adanet.training import hooks as hooks_lib
from adanet.training import input as input_lib
from adanet.training import model as model_lib
from adanet.training import recording
from adanet.training import sessions
import numpy as np


def _decided(model, number, checkpoint):
  """Finds out who has won an iteration, if that is known.

  Returns:
    The `Model` that builds the winner alone, and the `Winner`; or the model as
    it was, and None.
  """
  winner = deciding.decided(model, number, checkpoint)
  if winner is None:
    return model, None
  return model._replace(only=winner.architecture), winner


@contextlib.contextmanager
def _session(model, built, checkpoint, winner):
  """Opens a session on the graph of what is asked; see `Model.session`."""
  new = None
  if winner is not None and winner.variables:  # They are not saved yet.
    new = f"adanet/iteration_{built.iteration.number}/ensemble_{winner.name}/"
  with model.session(built, checkpoint, new) as (session, coordinator):
    if new:
      fitting.set_weights(session, [(
          built.iteration.candidates[0].ensemble,
          winner.fits[winner.name].members.values())])
    yield session, coordinator


def _best(model, iteration, checkpoint):
  """Returns the `EnsembleSpec` that answers: the best so far."""
  if model.only is not None:
    return iteration.candidates[0]
  return deciding.best(model, iteration, checkpoint)


def _own_metrics(iteration: iteration_lib.Iteration) -> Dict[
    Tuple[str, str], Dict[str, Any]]:
  """Returns the metrics of all subnetworks and ensembles, by kind and name."""
  found = {("subnetwork", s.name): s.metrics for s in iteration.subnetworks}
  found.update(
      (("ensemble", c.name), c.metrics) for c in iteration.candidates)
  return found


def _part(metrics, part):
  return {owner: {name: metric[part] for name, metric in found.items()}
          for owner, found in metrics.items()}


def _results(iteration, best, values):
  """Returns what `evaluate` returns: the best candidate's figures.

  Metrics that some candidates lack are left out, as by AdaNet.
  """
  candidates = [values["ensemble", c.name] for c in iteration.candidates]
  found = dict(values["ensemble", best.name])
  return {name: found[name] for name in found
          if all(name in other for other in candidates)}


def evaluate(model: model_lib.Model,
             input_fn: Callable[..., Any],
             steps: Optional[int],
             hooks: Sequence[Any],
             checkpoint: str,
             name: Optional[str]) -> Dict[str, Any]:
  """Returns the metrics of the best ensemble; see `adanet.Estimator.evaluate`.

  Those of every subnetwork and ensemble are written for TensorBoard.
  """
  number = model.model_dir.current_iteration(checkpoint)
  model, winner = _decided(model, number, checkpoint)
  with model.graph(input_fn, "eval", number) as built:
    iteration = built.iteration
    metrics = _own_metrics(iteration)
    update = tf_compat.v1.group(*[
        op for found in _part(metrics, 1).values() for op in found.values()])
    runner = hooks_lib.HookRunner([hooks_lib.Owned(hook) for hook in hooks])
    runner.begin()
    with _session(model, built, checkpoint, winner) as (session, coordinator):
      runner.after_create_session(session, coordinator)
      if steps is None and not hooks:
        core_evaluation.check_ends(session, "evaluate")
      best = _best(model, iteration, checkpoint)
      done = 0
      try:
        while (steps is None or done < steps) and None not in runner.stops:
          runner.run(session, update)
          done += 1
      except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
        if not done:
          raise empty_input.empty_input_error("evaluate") from None
        logging.info("The input ended after %d evaluations.", done)
      runner.end(session)
      values, global_step = session.run(
          (_part(metrics, 0), iteration.global_step))
  _write(model, values, global_step, name)
  results = _results(iteration, best, values)
  loss = results.get("loss", 0.)
  if not np.isfinite(loss).all():
    found = model.not_finite(input_fn, "eval", steps)
    if found:
      logging.warning("evaluate: the loss is %s. The input has NaN or infinity "
                      "in %s.", loss, found)
  recording.write_evaluation(
      model.model_dir.path, number, best.name, name, global_step, results)
  int32 = tf_compat.v1.int32.as_numpy_dtype
  results["iteration"] = int32(number)
  indices = best.architecture.replay_indices
  for t in range(max(len(architecture.replay_indices)
                     for architecture in iteration.architectures.values())):
    # A previous ensemble has none for this iteration.
    results[f"best_ensemble_index_{t}"] = int32(
        indices[t] if t < len(indices) else -1)
  writer = summary.SummaryWriter(model.model_dir.path)
  writer.add_scalars("eval_" + name if name else "eval",
                     dict(results, checkpoint_path=checkpoint), global_step)
  writer.close()
  results["global_step"] = global_step
  logging.info("Evaluated step %d: %s", global_step, ", ".join(
      f"{key} = {results[key]}" for key in sorted(results)
      if not isinstance(results[key], bytes)))
  return results


def _write(model, values, global_step, name):
  """Writes the metrics of all subnetworks and ensembles for TensorBoard."""
  writer = summary.SummaryWriter(model.model_dir.path)
  for (kind, owner), found in values.items():
    folder = os.path.join(kind, owner, "eval_" + name if name else "eval")
    writer.add_scalars(folder, found, global_step)
  writer.close()


def _wanted(predictions, predict_keys):
  """Returns the predictions that a user asks for."""
  if not predict_keys or not isinstance(predictions, dict):
    return predictions
  found = {key: predictions[key] for key in predictions if key in predict_keys}
  if not found:
    raise ValueError(
        f"predict_keys must have some of {sorted(predictions, key=str)}, got "
        f"{predict_keys!r}")
  return found


def _examples(values):
  """Yields the predictions of each example of a batch."""
  if not isinstance(values, dict):
    yield from values
    return
  for i in range(len(next(iter(values.values())))):
    yield {key: value[i] for key, value in values.items()}


def predict(model: model_lib.Model,
            input_fn: Callable[..., Any],
            predict_keys: Any, hooks: Sequence[Any],
            checkpoint: str,
            yield_single_examples: bool) -> Iterator[Any]:
  """Yields predictions of the best ensemble; see `adanet.Estimator.predict`."""
  number = model.model_dir.current_iteration(checkpoint)
  model, winner = _decided(model, number, checkpoint)
  with model.graph(input_fn, "infer", number) as built:
    runner = hooks_lib.HookRunner([hooks_lib.Owned(hook) for hook in hooks])
    runner.begin()
    with _session(model, built, checkpoint, winner) as (session, coordinator):
      runner.after_create_session(session, coordinator)
      best = _best(model, built.iteration, checkpoint)
      fetches = _wanted(best.predictions, predict_keys)
      try:
        while None not in runner.stops:
          values = runner.run(session, fetches)
          if not yield_single_examples:
            yield values
          else:
            yield from _examples(values)
      except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
        pass
      runner.end(session)


def _export_outputs(iteration, best):
  """Returns what is exported of the best candidate.

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


def export(model: model_lib.Model, export_dir_base: str,
           serving_input_receiver_fn: Callable[[], Any],
           assets_extra: Optional[Dict[str, str]], as_text: bool,
           checkpoint: str,
           strip_default_attrs: bool = True) -> bytes:
  """Writes a SavedModel; see `adanet.Estimator.export_saved_model`."""
  expected = "that returns an adanet.estimator.export.ServingInputReceiver"
  name = "serving_input_receiver_fn"
  arguments.check_function(name, serving_input_receiver_fn, expected)
  number = model.model_dir.current_iteration(checkpoint)
  model, winner = _decided(model, number, checkpoint)
  receivers = []

  def read(strategy):
    del strategy  # A request has all of its input.
    made = serving_input_receiver_fn()
    if not hasattr(made, "features") or not hasattr(made, "receiver_tensors"):
      raise ValueError(f"{name} must be a function {expected}, and it returned "
                       f"{user_input.described(made)}")
    receivers.append(made)
    return input_lib.Input(receivers[0].features, None, [])

  with model.graph_on(read, "infer", number) as built:
    # TensorFlow warns if a session has run the ops that it groups.
    main_op = sessions.local_init_op(built.iteration.local_init_ops)
    with _session(model, built, checkpoint, winner) as (session, _):
      best = _best(model, built.iteration, checkpoint)
      return export_lib.write_saved_model(
          export_dir_base, session,
          export_lib.signature_defs(
              receivers[0].receiver_tensors,
              getattr(receivers[0], "receiver_tensors_alternatives", None),
              _export_outputs(built.iteration, best)),
          assets_extra=assets_extra, as_text=as_text,
          strip_default_attrs=strip_default_attrs, main_op=main_op)
