# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The graph of one iteration: from what is searched to handles on the graph.

What a worker builds of it, or what a part of it has, is said by one `Share`.
"""

import inspect
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence
from typing import Tuple

from absl import logging
from adanet import subnetwork as subnetwork_lib
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import ensembles
from adanet.core import scoped_summary
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.distributed import placement

_Reports = Tuple[List[Any], List[Any]]


class Search(NamedTuple):
  """What is searched, the same in all iterations.

  See `adanet.Estimator` for the attributes.
  """
  head: Any
  generator: Any
  ensemblers: Sequence[Any]
  strategies: Sequence[Any]
  metric_fn: Any
  max_iteration_steps: Optional[int]
  adanet_loss_decay: float
  replicate_ensemble_in_training: bool
  debug: bool
  enable_ensemble_summaries: bool
  enable_subnetwork_summaries: bool
  global_step_combiner_fn: Callable[[List[Any]], Any]
  exports: ensembles.ExportOptions


class Planned(NamedTuple):
  """A new ensemble of an iteration, whether it is built here or not.

  Attributes:
    name: str.
    builder_names: tuple of str, whose subnetworks of the iteration it has.
  """
  name: str
  builder_names: Tuple[str, ...]


class Iteration(NamedTuple):
  """Handles on the graph of an iteration.

  Attributes:
    number: int, from 0.
    builder_names: tuple of str, the names of all builders of the iteration,
      also of those that this worker does not build.
    base_global_step: int, the global step when the iteration began.
    share: `Share`, what this worker builds and trains.
    subnetworks: tuple of `SubnetworkSpec`, those that it builds.
    candidates: tuple of `Candidate`; empty for a worker without ensembles. From
      iteration 1 on, the first is the previous ensemble.
    global_step: the variable.
    current_iteration: the variable that has `number` in a checkpoint.
    local_init_ops: list of ops that initialize what subnetworks have.
    reports: dict from a builder's name, or "previous_ensemble", to a `Report`;
      empty but for evaluation.
    summaries: list of the `ScopedSummary` that training writes.
    has_previous: whether the first candidate is the previous ensemble.
    planned: tuple of `Planned`, all new ensembles of the iteration in their
      order; empty for a worker without ensembles.
    builder_costs: tuple with the `cost` of each of the iteration's builders;
      None for one that does not say it.
  """
  number: int
  builder_names: Tuple[str, ...]
  base_global_step: int
  share: placement.Share
  subnetworks: Tuple[subnetworks.SubnetworkSpec, ...]
  candidates: Tuple[ensembles.Candidate, ...]
  global_step: Any
  current_iteration: Any
  local_init_ops: List[Any]
  reports: Dict[str, Any]
  summaries: List[Any]
  has_previous: bool
  planned: Tuple[Planned, ...]
  builder_costs: Tuple[Optional[float], ...]

  @property
  def new_candidates(self) -> Tuple[ensembles.Candidate, ...]:
    """The candidates that are trained: all but the previous ensemble."""
    return self.candidates[int(self.has_previous):]

  @property
  def steps(self) -> Dict[str, Any]:
    """The variables that count steps, by the name of what is trained."""
    return {spec.name: spec.step for spec in self.subnetworks + tuple(
        c.spec for c in self.new_candidates)}


class _Frozen(NamedTuple):
  """An earlier winner: its ensemble, and the subnetworks of its iteration."""
  spec: ensembles.EnsembleSpec
  subnetworks: Sequence[subnetworks.SubnetworkSpec]


def _ensemble_name(number, candidate, ensembler):
  return f"t{number}_{candidate.name}_{ensembler.name}"


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


class _Builder:
  """Builds one iteration in the default graph."""

  def __init__(self, search, task, config, strategy, share, reports):
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
    builders = list(generate(**arguments) or ())
    subnetworks.check_names(builders, number)
    return builders

  def _candidates(self, builders, previous):
    """Returns the candidates of all strategies."""
    return [
        candidate for strategy in self._search.strategies
        for candidate in strategy.generate_ensemble_candidates(
            builders, previous.spec.builders if previous else None)]

  def _summary(self, namespace, name, enabled):
    return scoped_summary.ScopedSummary(
        namespace, name, skip=not (enabled and self._task.training))

  def _subnetwork(self, builders, index, number, previous, frozen):
    """Builds the subnetwork of one of an iteration's builders."""
    builder = builders[index]
    name = f"t{number}_{builder.name}"
    replicated = self._search.replicate_ensemble_in_training
    strategy = self._strategy_before if frozen else self._strategy
    with strategy.subnetwork_devices(len(builders), index):
      return subnetworks.build_subnetwork(
          builder, name, number, self._task,
          self._summary("subnetwork", name, not frozen and
                        self._search.enable_subnetwork_summaries),
          previous.spec.ensemble if previous else None,
          self._config.replace(model_dir=os.path.join(
              self._config.model_dir, "assets", name)),
          frozen=frozen and not (replicated and self._task.training),
          training=self._task.training and (replicated or not frozen))

  def _ensemble(self, candidate, ensembler, number, index, specs, previous,
                frozen):
    """Builds the ensemble of a candidate."""
    name = _ensemble_name(number, candidate, ensembler)
    replicated = self._search.replicate_ensemble_in_training
    return ensembles.build_ensemble(
        candidate, ensembler, name, number, index, self._task, specs,
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

  def _named(self, found, name, kind, number):
    """Returns the one of `found` that has a name of the architecture's."""
    for one in found:
      if one.name == name:
        return one
    raise ValueError(
        f"iteration {number}: model_dir {self._config.model_dir!r} needs the "
        f"{kind[0]} {name!r}, and {kind[1]} has none of this name: use the "
        "search that wrote this model_dir, or another model_dir")

  def _rebuild(self, architecture, number, previous):
    """Builds an iteration's winner again, as it was."""
    names = architecture.subnetworks_of(number)
    if not names:  # The previous ensemble won again.
      return previous._replace(
          spec=previous.spec._replace(architecture=architecture))
    generated = self._generate(number, previous)
    builders = [self._named(generated, name, ("builder", "the generator"),
                            number) for name in names]
    ensembler = self._named(
        self._search.ensemblers, architecture.ensembler_name,
        ("ensembler", "ensemblers"), number)
    candidate = self._named(
        self._candidates(builders, previous),
        architecture.ensemble_candidate_name,
        ("candidate", "ensemble_strategies"), number)
    with tf_compat.v1.variable_scope(f"iteration_{number}"):
      if previous:
        self._average(previous.spec.name)
      specs = [self._subnetwork(builders, i, number, previous, frozen=True)
               for i in range(len(builders))]
      spec = self._ensemble(candidate, ensembler, number, 0, specs, previous,
                            frozen=True)
      self._average(spec.name)
    return _Frozen(spec._replace(architecture=architecture), specs)

  def _subnetwork_report(self, spec):
    """Returns the report of a builder, with the metrics of its subnetwork."""
    with scopes.nan_scope(spec.subnetwork.logits), scopes.seed_scope(
        spec.name + "/report"), scopes.metrics_scope():
      report = (spec.builder.build_subnetwork_report() or
                subnetwork_lib.Report(hparams={}, attributes={}, metrics={}))
    report.metrics.update(spec.metrics)
    return report

  def _adanet_loss_metrics(self, candidate):
    return {"adanet_loss": tf_compat.v1.metrics.mean(
        candidate.spec.adanet_loss)}

  def _plan(self, builders, number, previous):
    """Returns dict from a new ensemble's name to (candidate, ensembler)."""
    found = {}
    candidates = self._candidates(builders, previous)
    for ensembler in self._search.ensemblers:
      for candidate in candidates:
        name = _ensemble_name(number, candidate, ensembler)
        if name in found or previous and name == previous.spec.name:
          raise ValueError(
              f"iteration {number}: two ensembles have the name {name!r}: give "
              "each ensembler, and each candidate of ensemble_strategies, a "
              "name of its own")
        found[name] = candidate, ensembler
    return found

  def _build_candidates(self, planned, number, specs, previous):
    """Builds the previous ensemble, and those of the built subnetworks."""
    found = []
    if previous:
      name = previous.spec.name
      found.append(ensembles.complete(
          previous.spec._replace(train_op=None), self._task,
          self._search.exports, previous.subnetworks)._replace(
              summary=self._summary("ensemble", name,
                                    self._search.enable_ensemble_summaries)))
    built = {spec.builder.name for spec in specs}
    first = int(bool(previous))
    for index, (candidate, ensembler) in enumerate(planned.values(), first):
      if built.issuperset(b.name for b in candidate.subnetwork_builders):
        found.append(self._ensemble(candidate, ensembler, number, index, specs,
                                    previous, frozen=False))
    return [
        ensembles.Candidate(
            spec, self._average(spec.name, spec.adanet_loss, spec.summary))
        for spec in found]

  def _build_reports(self, number, specs, candidates, previous, is_simple):
    """Returns the reports of the iteration.

    Args:
      number: int, the iteration's.
      specs: those of the subnetworks.
      candidates: the `Candidate`s.
      previous: what won the iteration before, or None.
      is_simple: whether the iteration has an ensemble for each builder and each
        ensembler, and no other.
    """
    if self._task.mode != "eval":
      return {}
    reports = {}
    if previous:
      first = candidates[0]
      reports["previous_ensemble"] = subnetwork_lib.Report(
          hparams={}, attributes={},
          metrics=dict(first.spec.metrics, **self._adanet_loss_metrics(first)))
    for spec in specs:
      reports[spec.builder.name] = self._subnetwork_report(spec)
    if is_simple:
      for candidate in candidates[bool(previous):]:
        names = candidate.spec.architecture.subnetworks_of(number)
        if len(names) == 1:
          reports[names[0]].metrics.update(self._adanet_loss_metrics(candidate))
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
        if share.builds_ensemble:
          planned = self._plan(builders, number, previous)
          candidates = self._build_candidates(planned, number, specs, previous)
        reports = self._build_reports(
            number, specs, candidates, previous,
            len(planned) == len(builders) * len(self._search.ensemblers))
    current_iteration = v1.get_variable(
        "current_iteration", shape=[], dtype=v1.int64,
        initializer=v1.zeros_initializer(), trainable=False)
    built = [s.subnetwork for s in specs]
    if previous:
      built = list(previous.spec.ensemble.subnetworks) + built
    return Iteration(
        number=number,
        builder_names=names,
        base_global_step=base_global_step,
        share=share,
        subnetworks=tuple(specs),
        candidates=tuple(candidates),
        global_step=v1.train.get_global_step(),
        current_iteration=current_iteration,
        local_init_ops=[op for s in built for op in s.local_init_ops],
        reports=reports,
        summaries=[s.summary for s in specs] + [
            c.spec.summary for c in candidates],
        has_previous=bool(previous and candidates),
        planned=tuple(
            Planned(name, tuple(b.name for b in candidate.subnetwork_builders))
            for name, (candidate, _) in planned.items()),
        builder_costs=tuple(getattr(b, "cost", None) for b in builders))


def build(search: Search,
          history: Sequence[Tuple[int, architecture_lib.Architecture]],
          number: int, task: subnetworks.Task, config: Any, strategy: Any,
          share: Callable[[Sequence[str]], placement.Share],
          reports: Callable[[int], _Reports]) -> Iteration:
  """Builds an iteration in the default graph, which `scopes.new_graph` made.

  The graph has a global step already.

  Args:
    search: `Search`.
    history: pairs of an earlier iteration and its winner's `Architecture`.
    number: int, the iteration's.
    task: `Task`, with the input.
    config: RunConfig.
    strategy: `PlacementStrategy` that has this config; says on which devices.
    share: function from the names of the iteration's builders to what this
      worker builds and trains: some of them, and the ensembles of these alone.
    reports: function from the number of an iteration to what the generator gets
      of reports: those of the previous ensemble, and all.

  Raises:
    ValueError: what the user's search makes does not fit; the message names the
      builder or ensemble, and the iteration.
  """
  return _Builder(search, task, config, strategy, share, reports).build(
      history, number)
