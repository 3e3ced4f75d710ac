# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds the graph of one iteration: from a `Search` to handles on the graph.

A `Share` says which part of it a worker, or a part, builds.
"""

import collections.abc
import inspect
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence
from typing import Tuple

from adanet import log as logging
from adanet import subnetwork as subnetwork_lib
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import ensembles
from adanet.core import fingerprint
from adanet.core import iteration as iteration_lib
from adanet.core import scoped_summary
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.distributed import placement

_Reports = Tuple[List[Any], List[Any]]


class _Frozen(NamedTuple):
  """An earlier winner: its ensemble, and the subnetworks of its iteration."""
  spec: ensembles.EnsembleSpec
  subnetworks: Sequence[subnetworks.SubnetworkSpec]


def _ensemble_name(number, candidate_name, ensembler):
  return f"t{number}_{candidate_name}_{ensembler.name}"


def _is_float(tensor):
  return isinstance(tensor, tf_compat.v1.Tensor) and tensor.dtype.is_floating


def _checked(tensors, kind):
  """Returns tensors that fail where a float is NaN or infinite."""
  if isinstance(tensors, dict):
    return {name: _checked(tensor, f"{kind} {name!r}")
            for name, tensor in tensors.items()}
  if not _is_float(tensors):
    return tensors
  return tf_compat.v1.debugging.check_numerics(tensors, kind)


class _GraphBuilder:
  """Builds one iteration in the default graph."""

  def __init__(self, search, task, config, strategy, share, reports, only):
    if search.debug:
      task = task._replace(features=_checked(task.features, "features"),
                           labels=_checked(task.labels, "labels"))
    self._search = search
    self._task = task
    self._config = config
    self._strategy = strategy
    self._strategy_before = strategy.for_earlier_iterations()
    self._share = share
    self._reports = reports
    self._only = only
    self._graphs = {}
    self._all_are_fitted = all(map(iteration_lib.is_fitted, search.ensemblers))

  def _generate(self, number, previous):
    """Returns the builders that the generator makes for an iteration."""
    generate = self._search.generator.generate_candidates
    of_previous, of_all = self._reports(number)
    arguments = dict(
        previous_ensemble=previous.spec.ensemble if previous else None,
        iteration_number=number, previous_ensemble_reports=of_previous,
        all_reports=of_all)
    if "config" in inspect.signature(generate).parameters:
      arguments["config"] = self._config
    made = generate(**arguments)
    if made is not None and not isinstance(made, collections.abc.Iterable):
      raise ValueError(
          f"iteration {number}: generate_candidates must return a list of "
          f"builders, got {made!r}")
    builders = list(made or ())
    subnetworks.check_names(builders, number)
    return builders

  def _candidates(self, builders, previous):
    """Returns the candidates of all strategies."""
    candidates = []
    for strategy in self._search.strategies:
      made = strategy.generate_ensemble_candidates(
          builders, previous.spec.builders if previous else None)
      if not isinstance(made, collections.abc.Iterable):
        raise ValueError(
            f"generate_ensemble_candidates of {strategy!r} must return a list "
            f"of adanet.ensemble.Candidate, got {made!r}")
      candidates += made
    for candidate in candidates:
      if not hasattr(candidate, "subnetwork_builders"):
        raise ValueError(
            "ensemble_strategies must make an adanet.ensemble.Candidate each, "
            f"got {candidate!r}")
    return candidates

  def _summary(self, namespace, name, enabled):
    return scoped_summary.ScopedSummary(
        namespace, name, skip=not (enabled and self._task.training))

  def _subnetwork(self, builders, index, number, previous, frozen):
    """Builds the subnetwork of one of an iteration's builders."""
    builder = builders[index]
    name = f"t{number}_{builder.name}"
    replicated = self._search.replicate_ensemble_in_training
    strategy = self._strategy_before if frozen else self._strategy
    first = fingerprint.num_ops()
    training = self._task.training and (replicated or not frozen)
    with strategy.subnetwork_devices(len(builders), index):
      spec = subnetworks.build_subnetwork(
          builder, name, number, self._task,
          self._summary("subnetwork", name, not frozen and
                        self._search.enable_subnetwork_summaries),
          previous.spec.ensemble if previous else None,
          self._config.replace(model_dir=os.path.join(
              self._config.model_dir, "assets", name)),
          frozen=frozen and not (replicated and self._task.training),
          training=training)
    if self._task.training:
      made = spec.subnetwork
      self._graphs[fingerprint.key(name, frozen, training)] = fingerprint.ops(
          [made.last_layer, made.logits], first)
    return spec

  def _ensemble(self, combined, ensembler, number, index, specs, previous,
                frozen):
    """Builds the ensemble of a `Combination`."""
    name = _ensemble_name(number, combined.candidate_name, ensembler)
    replicated = self._search.replicate_ensemble_in_training
    return ensembles.build_ensemble(
        combined, ensembler, name, number, index, self._task, specs,
        previous.spec if previous else None,
        self._summary("ensemble", name, not frozen and
                      self._search.enable_ensemble_summaries),
        self._search.exports,
        frozen=frozen and not (replicated and self._task.training),
        training=self._task.training and (replicated or not frozen))

  def _average(self, name, tensor=None, summary=None):
    """Makes the moving average of a candidate's AdaNet loss, if that is given.
    """
    with tf_compat.v1.variable_scope("candidate_" + name):
      average = ensembles.moving_average(
          tensor, self._search.adanet_loss_decay, self._task.training)
      if average.update is not None:
        with summary.current_scope():
          summary.scalar(
              "adanet_loss/adanet/adanet_weighted_ensemble", average.update)
      return average

  def _named(self, made, name, kind, number):
    """Returns the one of `made` that has a name of the architecture's."""
    for one in made:
      if one.name == name:
        return one
    raise ValueError(
        f"iteration {number}: model_dir {self._config.model_dir!r} needs the "
        f"{kind[0]} {name!r}, and {kind[1]} has none of this name: use the "
        "search that wrote this model_dir, or another model_dir")

  def _is_previous(self, architecture, number, previous):
    """Returns whether the previous ensemble won an iteration again.

    A fitted ensemble may have new weights for old subnetworks alone. It has a
    replay index of its own, which the previous one has not.
    """
    if previous is None or architecture.subnetworks_of(number):
      return False
    before = previous.spec.architecture
    return len(architecture.replay_indices) <= len(before.replay_indices) or (
        architecture.ensembler_name not in (
            ensembler.name for ensembler in self._search.ensemblers
            if iteration_lib.is_fitted(ensembler)))

  def _combined(self, architecture, number, builders, previous):
    """Returns the ensembler and the `Combination` of an architecture."""
    ensembler = self._named(
        self._search.ensemblers, architecture.ensembler_name,
        ("ensembler", "ensemblers"), number)
    if iteration_lib.is_fitted(ensembler):
      members = set(architecture.subnetworks)
      before = previous.spec.architecture.subnetworks if previous else ()
      return ensembler, ensembles.Combination(
          architecture.ensemble_candidate_name, tuple(builders), tuple(
              i for i, member in enumerate(before) if member in members))
    candidate = self._named(
        self._candidates(builders, previous),
        architecture.ensemble_candidate_name,
        ("candidate", "ensemble_strategies"), number)
    return ensembler, ensembles.combination(
        candidate, previous.spec if previous else None, fitted=False)

  def _builders_of(self, architecture, number, generated):
    """Returns the builders of an iteration that an architecture has."""
    return [self._named(generated, name, ("builder", "the generator"), number)
            for name in architecture.subnetworks_of(number)]

  def _rebuild(self, architecture, number, previous):
    """Builds an iteration's winner again, as it was."""
    if self._is_previous(architecture, number, previous):
      return previous._replace(
          spec=previous.spec._replace(architecture=architecture))
    builders = self._builders_of(
        architecture, number, self._generate(number, previous))
    ensembler, combined = self._combined(
        architecture, number, builders, previous)
    with tf_compat.v1.variable_scope(f"iteration_{number}"):
      if previous:
        self._average(previous.spec.name)
      specs = [self._subnetwork(builders, i, number, previous, frozen=True)
               for i in range(len(builders))]
      spec = self._ensemble(combined, ensembler, number, 0, specs, previous,
                            frozen=True)
      if not iteration_lib.is_fitted(ensembler):
        self._average(spec.name)
    return _Frozen(spec._replace(architecture=architecture), specs)

  def _subnetwork_report(self, spec):
    """Returns the report of a builder, with the metrics of its subnetwork."""
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
    candidates = self._candidates(builders, previous)
    spec = previous.spec if previous else None
    for ensembler in self._search.ensemblers:
      for candidate in candidates:
        name = _ensemble_name(number, candidate.name, ensembler)
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
        self._search.exports, previous.subnetworks)._replace(
            summary=self._summary("ensemble", previous.spec.name,
                                  self._search.enable_ensemble_summaries))

  def _build_candidates(self, planned, number, specs, previous):
    """Builds the previous ensemble, and the new ones of built subnetworks."""
    if self._all_are_fitted and self._task.training:
      if previous:  # A checkpoint has the variables of its average.
        self._average(previous.spec.name)
      return []
    candidates = []
    if previous:
      candidates.append(self._complete_previous(previous))
    built = {spec.builder.name for spec in specs}
    first = int(bool(previous))
    for index, (combined, ensembler) in enumerate(planned.values(), first):
      if not iteration_lib.is_fitted(ensembler) and built.issuperset(
          builder.name for builder in combined.builders):
        candidates.append(self._ensemble(
            combined, ensembler, number, index, specs, previous, frozen=False))
    return [
        spec._replace(average=self._average(
            spec.name, spec.adanet_loss, spec.summary))
        for spec in candidates]

  def _build_only(self, builders, number, specs, previous):
    """Builds the ensemble that `only` names, and no other."""
    if self._is_previous(self._only, number, previous):
      spec = self._complete_previous(previous)
    else:
      ensembler, combined = self._combined(
          self._only, number,
          self._builders_of(self._only, number, builders), previous)
      spec = self._ensemble(
          combined, ensembler, number, self._only.replay_indices[-1], specs,
          previous, frozen=False)
    return [spec]

  def _build_reports(self, number, specs, candidates, previous, is_simple):
    """Returns the reports of the iteration.

    Args:
      number: int, the iteration's.
      specs: the `SubnetworkSpec`s.
      candidates: the `EnsembleSpec`s that may win.
      previous: the winner of the iteration before, or None.
      is_simple: whether the iteration has an ensemble for each builder and each
        ensembler, and no other.
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

  def build(self, history, number):
    """Returns the `Iteration`; see the function `build`."""
    v1 = tf_compat.v1
    previous = None
    base_global_step = 0
    with v1.variable_scope("adanet"):
      for earlier, architecture in history:
        previous = self._rebuild(architecture, earlier, previous)
        base_global_step = architecture.global_step or 0
      builders = self._generate(number, previous)
      names = tuple(builder.name for builder in builders)
      share = self._share(names)
      with v1.variable_scope(f"iteration_{number}"):
        if share.subnetworks:
          logging.info("Building iteration %d: %s", number,
                       ", ".join(names[i] for i in share.subnetworks))
        specs = [
            self._subnetwork(builders, i, number, previous, frozen=False)
            for i in share.subnetworks]
        candidates = []
        planned = {}
        reports = {}
        if share.builds_ensemble:
          planned = self._plan(builders, number, previous)
          if self._only is not None:
            candidates = self._build_only(builders, number, specs, previous)
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
    if previous:
      built = list(previous.spec.ensemble.subnetworks) + built
    return iteration_lib.Iteration(
        number=number,
        builder_names=names,
        base_global_step=base_global_step,
        share=share,
        subnetworks=tuple(specs),
        candidates=tuple(candidates),
        previous=previous.spec if previous and share.builds_ensemble else None,
        global_step=v1.train.get_global_step(),
        current_iteration=current_iteration,
        local_init_ops=[op for s in built for op in s.local_init_ops],
        reports=reports,
        summaries=[s.summary for s in specs] + [
            c.summary for c in candidates],
        has_previous=bool(previous and candidates),
        planned=tuple(self._planned(planned, number, previous)),
        builder_costs=tuple(getattr(b, "cost", None) for b in builders),
        graphs=self._graphs,
        features=fingerprint.features_of(self._task.features))


def build(search: iteration_lib.Search,
          history: Sequence[Tuple[int, architecture_lib.Architecture]],
          number: int, task: subnetworks.LearningTask, config: Any,
          strategy: Any,
          share: Callable[[Sequence[str]], placement.Share],
          reports: Callable[[int], _Reports],
          only: Optional[architecture_lib.Architecture] = None
          ) -> iteration_lib.Iteration:
  """Builds an iteration in the default graph, which `scopes.new_graph` made.

  The graph has a global step already.

  Args:
    search: `Search`.
    history: pairs of an earlier iteration and its winner's `Architecture`.
    number: int, the iteration's.
    task: `LearningTask`, with the input.
    config: RunConfig.
    strategy: `PlacementStrategy` that has this config; says on which devices.
    share: function from the names of the iteration's builders to this worker's
      `Share`: some of them, and the ensembles of these alone.
    reports: function from the number of an iteration to the reports for the
      generator: of the previous ensemble, and all.
    only: `Architecture` of the only ensemble to build, which may be the
      previous one; None for all.

  Raises:
    ValueError: a value that the user's search makes does not fit; it names the
      builder or ensemble, and the iteration.
  """
  return _GraphBuilder(search, task, config, strategy, share, reports,
                       only).build(history, number)
