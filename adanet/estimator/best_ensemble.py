# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The best ensemble of a checkpoint: graphs, sessions and evaluation."""

import contextlib
import os
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet.core import ensembles
from adanet.core import evaluator as evaluator_lib
from adanet.core import event_files
from adanet.core import fingerprint
from adanet.core import iteration as iteration_lib
from adanet.core import metrics as metrics_lib
from adanet.engines import local
from adanet.search import search_files
from adanet.training import candidates as candidates_lib
from adanet.training import fitting
from adanet.training import recording
from adanet.training import runs
from adanet.training import sessions
from adanet.training import setup as setup_lib
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


def _plain(value):
  """Returns a NumPy number as a Python number, for JSON."""
  return value.item() if hasattr(value, "item") and not value.shape else value


class BestEnsemble:
  """The best ensemble of a checkpoint.

  Attributes:
    setup: `SearchSetup`, which builds only the winner if known.
    number: int, the iteration of the checkpoint.
    checkpoint: str, the prefix; None for initial values.
  """

  def __init__(self, setup: setup_lib.SearchSetup,
               answering: search_files.AnsweringWinner,
               checkpoint: Optional[str], is_latest: bool = False):
    """Looks up the winner, if known.

    Args:
      is_latest: whether the latest checkpoint is meant. A session then opens
        the latest checkpoint at that time, if the graph is the same.
    """
    self._answering = answering
    self._is_latest = is_latest
    self.checkpoint = checkpoint
    self.number = setup.model_dir.current_iteration(checkpoint)
    self._winner = answering.decided(
        local.LocalEngine(setup), self.number, checkpoint)
    self.setup = setup if self._winner is None else setup._replace(
        only=self._winner.architecture)

  def _take_later(self):
    """Takes a checkpoint that a job has saved while the graph was built.

    The job may delete the earlier checkpoint at any moment.
    """
    if not self._is_latest or self._winner is not None:
      return
    model_dir = self.setup.model_dir
    later = model_dir.latest_checkpoint()
    if model_dir.current_iteration(later) == self.number and (
        self._answering.decided(
            local.LocalEngine(self.setup), self.number, later) is None):
      self.checkpoint = later

  def spec(self, iteration: iteration_lib.Iteration) -> ensembles.EnsembleSpec:
    """Returns the answering `EnsembleSpec` of an iteration of `setup`."""
    if self._winner is not None:
      return iteration.candidates[0]
    name = self._answering.best(
        local.LocalEngine(self.setup), self.checkpoint,
        lambda: candidates_lib.of_iteration(iteration, self.checkpoint))
    return next(c for c in iteration.candidates if c.name == name)

  def open_session(self, built: setup_lib.BuiltGraph) -> sessions.OpenSession:
    """Opens a session on a graph of `setup`; see `SearchSetup.open_session`."""
    self._take_later()
    fingerprint.warn_of_answer(
        self.setup.model_dir.path, self.setup.search, built.iteration)
    winner = self._winner
    if winner is None or not winner.variables:
      return self.setup.open_session(built, self.checkpoint, None)
    # The variables of the winner are not saved yet.
    opened = self.setup.open_session(
        built, self.checkpoint,
        f"adanet/iteration_{self.number}/ensemble_{winner.name}/")
    with opened.entered() as session:
      fitting.set_weights(session, [(
          built.iteration.candidates[0].ensemble,
          winner.fits[winner.name].members.values())])
    return opened

  @contextlib.contextmanager
  def session(self, built: setup_lib.BuiltGraph) -> Iterator[Tuple[Any, Any]]:
    """Opens a session on a graph of `setup`; see `SearchSetup.session`."""
    opened = self.open_session(built)
    with contextlib.closing(opened), opened.entered() as session:
      yield session, opened.coordinator

  def evaluate(self, input_fn: Callable[..., Any], steps: Optional[int],
               hooks: Sequence[Any],
               name: Optional[str]) -> metrics_lib.MetricValues:
    """Returns the metrics of the ensemble; see `adanet.Estimator.evaluate`.

    The metrics of every subnetwork and ensemble are written for TensorBoard.
    """
    with self.setup.graph(input_fn, "eval", self.number) as built:
      iteration = built.iteration
      metrics = _own_metrics(iteration)
      update = tf_compat.v1.group(*[
          op for own in _part(metrics, 1).values() for op in own.values()])
      runner = runs.HookRunner([runs.Owned(hook) for hook in hooks])
      runner.begin()
      with self.session(built) as (session, coordinator):
        runner.after_create_session(session, coordinator)
        spec = self.spec(iteration)
        for _ in evaluator_lib.batches(
            session, lambda: runner.run(session, update), steps, "evaluate",
            may_stop=bool(hooks)):
          if runner.is_stop_asked:
            break
        runner.end(session)
        values, global_step = session.run(
            (_part(metrics, 0), iteration.global_step))
    # As AdaNet does: without metrics that some candidates lack.
    results = {
        key: value for key, value in values["ensemble", spec.name].items()
        if all(key in values["ensemble", c.name] for c in iteration.candidates)}
    self._warn_of_nan(results, input_fn, steps)
    recording.write_evaluation(
        self.setup.model_dir.path, self.number, spec.name, name, global_step,
        results)
    int32 = tf_compat.v1.int32.as_numpy_dtype
    results["iteration"] = int32(self.number)
    indices = spec.architecture.replay_indices
    for t in range(max(len(architecture.replay_indices)
                       for architecture in iteration.architectures.values())):
      # A previous ensemble has none for this iteration.
      results[f"best_ensemble_index_{t}"] = int32(
          indices[t] if t < len(indices) else -1)
    self._write_summaries(values, results, global_step, name)
    results["global_step"] = global_step
    logging.info("Evaluated step %d: %s", global_step, ", ".join(
        f"{key} = {results[key]}" for key in sorted(results)
        if not isinstance(results[key], bytes)))
    plain = {key: _plain(value) for key, value in results.items()}
    more = {key: plain.pop(key) for key in [_ARCHITECTURE] if key in plain}
    return metrics_lib.MetricValues(plain, more)

  def _warn_of_nan(self, results, input_fn, steps):
    loss = results.get("loss", 0.)
    if not np.isfinite(loss).all():
      nan = self.setup.not_finite(input_fn, "eval", steps)
      if nan:
        logging.warning("evaluate: the loss is %s. The input has NaN or "
                        "infinity in %s.", loss, nan)

  def _write_summaries(self, values, results, global_step, name):
    """Writes the results of all candidates for TensorBoard."""
    folder = "eval_" + name if name else "eval"
    writer = event_files.SummaryWriter(self.setup.model_dir.path)
    for (kind, owner), metrics in values.items():
      writer.add_scalars(
          os.path.join(kind, owner, folder), metrics, global_step)
    writer.add_scalars(
        folder, dict(results, checkpoint_path=self.checkpoint or ""),
        global_step)
    writer.close()
