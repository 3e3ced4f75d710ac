# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds the graph of an iteration: from a `Search` to handles on the graph.

A `Share` says which part of the graph a worker, or a part, builds.
"""

from typing import Any, Callable, Optional, Sequence, Tuple

from adanet import log as logging
from adanet import subnetwork as subnetwork_lib
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import ensembles
from adanet.core import graph_parts
from adanet.core import iteration as iteration_lib
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.distributed import placement


def _is_float(tensor):
  return isinstance(tensor, tf_compat.v1.Tensor) and tensor.dtype.is_floating


def _checked(tensors, kind):
  """Returns tensors that fail for NaN and infinity."""
  if isinstance(tensors, dict):
    return {name: _checked(tensor, f"{kind} {name!r}")
            for name, tensor in tensors.items()}
  if not _is_float(tensors):
    return tensors
  return tf_compat.v1.debugging.check_numerics(tensors, kind)


class _GraphBuilder:
  """Builds an iteration in the default graph."""

  def __init__(self, search, task, config, strategy, share, reports, only,
               with_members):
    if search.debug:
      task = task._replace(features=_checked(task.features, "features"),
                           labels=_checked(task.labels, "labels"))
    self._search = search
    self._task = task
    self._share = share
    self._only = only
    self._with_members = with_members
    self._parts = graph_parts.GraphParts(
        search, task, config, strategy, reports)
    self._all_are_fitted = all(map(iteration_lib.is_fitted, search.ensemblers))

  def _subnetwork_report(self, spec):
    """Returns the report of a builder, with the subnetwork's metrics."""
    with scopes.nan_scope(spec.subnetwork.logits), scopes.seed_scope(
        spec.name + "/report"), scopes.metrics_scope():
      report = (spec.builder.build_subnetwork_report() or
                subnetwork_lib.Report(hparams={}, attributes={}, metrics={}))
    if not hasattr(report, "metrics"):
      raise ValueError(
          f"builder {spec.builder.name!r}: build_subnetwork_report must return "
          f"an adanet.subnetwork.Report or None, got {report!r}")
    report.metrics.update(spec.metrics)
    return report

  def _plan(self, builders, number, previous):
    """Returns dict from a new ensemble's name to (`Combination`, ensembler)."""
    plan = {}
    candidates = self._parts.candidates(builders, previous)
    spec = previous.spec if previous else None
    for ensembler in self._search.ensemblers:
      for candidate in candidates:
        name = graph_parts.ensemble_name(
            number, candidate.name, ensembler.name)
        if name in plan or previous and name == previous.spec.name:
          raise ValueError(
              f"iteration {number}: two ensembles have the name {name!r}: give "
              "each ensembler, and each candidate of ensemble_strategies, a "
              "name of its own")
        plan[name] = ensembles.combination(
            candidate, spec, iteration_lib.is_fitted(ensembler)), ensembler
    return plan

  def _planned(self, planned, number, previous):
    """Yields a `Planned` for each item of the dict from `_plan`."""
    spec = previous.spec if previous else None
    for index, (name, (combined, ensembler)) in enumerate(
        planned.items(), int(bool(previous))):
      yield iteration_lib.Planned(
          name, tuple(builder.name for builder in combined.builders),
          combined.architecture(ensembler.name, number, index, spec),
          ensembler if iteration_lib.is_fitted(ensembler) else None)

  def _complete_previous(self, previous):
    """Builds the losses and the predictions of the previous ensemble."""
    return ensembles.complete(
        previous.spec._replace(train_op=None), self._task,
        self._search.exports, previous.networks)._replace(
            summary=self._parts.summary(
                "ensemble", previous.spec.name,
                self._search.enable_ensemble_summaries))

  def _build_candidates(self, planned, number, specs, previous):
    """Builds the previous ensemble, and the new ones of built subnetworks."""
    if self._all_are_fitted and self._task.training:
      if previous:  # A checkpoint has the variables of its average.
        self._parts.average(previous.spec.name)
      return []
    candidates = []
    if previous:
      candidates.append(self._complete_previous(previous))
    built = {spec.builder.name for spec in specs}
    first = int(bool(previous))
    for index, (combined, ensembler) in enumerate(planned.values(), first):
      if not iteration_lib.is_fitted(ensembler) and built.issuperset(
          builder.name for builder in combined.builders):
        candidates.append(self._parts.ensemble(
            combined, ensembler, number, index, specs, previous, frozen=False))
    return [
        spec._replace(average=self._parts.average(
            spec.name, spec.adanet_loss, spec.summary))
        for spec in candidates]

  def _answers_as_before(self, number, previous):
    return graph_parts.is_previous(
        self._only, number, previous and previous.spec.architecture,
        self._parts.fitted)

  def _build_only(self, builders, number, specs, previous):
    """Builds only the ensemble that `only` names."""
    parts = self._parts
    if self._answers_as_before(number, previous):
      spec = self._complete_previous(previous)
    else:
      ensembler, combined = parts.combined(
          self._only, number,
          parts.builders_of(self._only, number, builders), previous)
      spec = parts.ensemble(
          combined, ensembler, number, self._only.replay_indices[-1], specs,
          previous, frozen=False)
    return [spec]

  def _build_reports(self, number, specs, candidates, previous, is_simple):
    """Returns the reports of the iteration.

    `is_simple`: each pair of a builder and an ensembler has an ensemble, and
    other ensembles do not exist.
    """
    reports = {}
    if previous:
      first = candidates[0]
      reports["previous_ensemble"] = subnetwork_lib.Report(
          hparams={}, attributes={},
          metrics=dict(first.metrics, adanet_loss=first.adanet_loss_metric()))
    for spec in specs:
      reports[spec.builder.name] = self._subnetwork_report(spec)
    if is_simple:
      for candidate in candidates[bool(previous):]:
        names = candidate.architecture.subnetworks_of(number)
        if len(names) == 1:
          reports[names[0]].metrics["adanet_loss"] = (
              candidate.adanet_loss_metric())
    return reports

  def _build_earlier(self, history, number):
    """Builds what the iteration needs of earlier winners.

    Returns:
      The latest winner; the same winner with only the built parts; and the
      builders of the iteration.
    """
    parts = self._parts
    winners = graph_parts.EarlierWinners(parts, history)
    if winners.needs_ensembles():
      previous = winners.built_all()
      return previous, previous, parts.generate(number, previous)
    builders = parts.generate(number, None)
    previous = winners.known()
    if previous is None:
      return None, None, builders
    members, with_ensemble = self._needed(number, previous)
    if any(map(subnetworks.builder_asks, builders)) or not (
        winners.can_build(members)):
      previous = winners.built_all()
      return previous, previous, builders
    if with_ensemble:
      previous = winners.built_latest()
      return previous, previous, builders
    built = winners.built_members(members)
    if members == previous.spec.architecture.subnetworks:
      previous = built
    return previous, built, builders

  def _needed(self, number, previous):
    """Returns which members of the latest winner the graph needs, where no
    function of the user's asks for them; and whether it needs the ensemble.
    """
    members = previous.spec.architecture.subnetworks
    if self._only is not None:
      answers = set(self._only.subnetworks)
      return (tuple(member for member in members if member in answers),
              self._answers_as_before(number, previous))
    if self._task.applies_head and not self._task.training:
      return members, True  # It is evaluated, for a report.
    return members if self._with_members else (), False

  def build(self, history, number):
    v1 = tf_compat.v1
    parts = self._parts
    with v1.variable_scope("adanet"):
      previous, before, builders = self._build_earlier(history, number)
      names = tuple(builder.name for builder in builders)
      share = self._share(names)
      with v1.variable_scope(f"iteration_{number}"):
        if share.subnetworks:
          logging.info("Building iteration %d: %s", number,
                       ", ".join(names[i] for i in share.subnetworks))
        specs = [
            parts.subnetwork(builders, i, number, previous, frozen=False)
            for i in share.subnetworks]
        candidates = []
        planned = {}
        reports = {}
        if share.builds_ensemble:
          planned = self._plan(builders, number, previous)
          if self._only is not None:
            candidates = self._build_only(builders, number, specs, before)
          elif self._task.applies_head:
            candidates = self._build_candidates(
                planned, number, specs, previous)
        if self._task.mode == "eval" and self._task.applies_head and (
            self._only is None):
          reports = self._build_reports(
              number, specs, candidates, previous,
              len(planned) == len(builders) * len(self._search.ensemblers))
    current_iteration = v1.get_variable(
        "current_iteration", shape=[], dtype=v1.int64,
        initializer=v1.zeros_initializer(), trainable=False)
    built = [s.subnetwork for s in specs]
    if before and before.spec.ensemble is not None:
      built = list(before.spec.ensemble.subnetworks) + built
    return iteration_lib.Iteration(
        number=number,
        builder_names=names,
        base_global_step=(history[-1][1].global_step or 0) if history else 0,
        share=share,
        subnetworks=tuple(specs),
        candidates=tuple(candidates),
        previous=previous.spec if previous and share.builds_ensemble else None,
        leaves_out_earlier=bool(before and before.spec.ensemble is None),
        global_step=v1.train.get_global_step(),
        current_iteration=current_iteration,
        local_init_ops=[op for s in built for op in s.local_init_ops],
        reports=reports,
        summaries=[s.summary for s in specs] + [
            c.summary for c in candidates],
        has_previous=bool(previous and candidates),
        planned=tuple(self._planned(planned, number, previous)),
        builder_costs=tuple(getattr(b, "cost", None) for b in builders),
        graphs=parts.graphs)


def build(search: iteration_lib.Search,
          history: Sequence[Tuple[int, architecture_lib.Architecture]],
          number: int, task: subnetworks.LearningTask, config: Any,
          strategy: Any,
          share: Callable[[Sequence[str]], placement.Share],
          reports: Callable[[int], graph_parts.Reports],
          only: Optional[architecture_lib.Architecture] = None,
          with_members: bool = False) -> iteration_lib.Iteration:
  """Builds an iteration in the default graph, which `scopes.new_graph` made.

  The graph has a global step already.

  Args:
    history: pairs of an earlier iteration and the winner's `Architecture`.
    task: `LearningTask`, with the input.
    strategy: `PlacementStrategy` with the config, for the devices.
    share: function from the names of the iteration's builders to the worker's
      `Share`: some builders, and all ensembles of only such builders.
    reports: function from the number of an iteration to the reports for the
      generator: of the previous ensemble, and all.
    only: `Architecture` of the only ensemble to build, which may be the
      previous one; None for all.
    with_members: whether the members of the previous ensemble are built where
      nothing asks for them.

  Raises:
    ValueError: a value of the user's search does not fit. The message names
      the builder or ensemble, and the iteration.
  """
  return _GraphBuilder(search, task, config, strategy, share, reports, only,
                       with_members).build(history, number)
