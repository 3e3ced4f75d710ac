# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The costs of the candidates of an iteration, as the chief measures them.

The chief builds the candidates in a separate graph and session, in this process
alone. So the variables on the parameter servers, which will train, stay
unchanged, and no other task notices the measurement.
"""

import math
import numbers
import statistics
import time
from typing import Any, Callable, List, Optional, Sequence

from adanet import distributed
from adanet import log as logging
from adanet import tf_compat
from adanet.engines.cluster import jobs
from adanet.training import setup as setup_lib
from adanet.training import train_ops

_NUM_STEPS = 5  # Of each subnetwork; before them one that compiles.
_MAX_SECS = 30.  # Of all, if a step takes long: then each takes fewer.


class _Everything(distributed.PlacementStrategy):
  """Builds and trains all subnetworks and ensembles here."""

  def should_build_ensemble(self, num_subnetworks):
    return True

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    return True

  def should_train_subnetworks(self, num_subnetworks):
    return True

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return distributed.ReplicationStrategy().subnetwork_devices(
        num_subnetworks, subnetwork_index)


def is_wanted(placement: distributed.PlacementStrategy) -> bool:
  """Returns whether a strategy asks for measurements."""
  return (isinstance(placement, distributed.BalancedStrategy) and
          placement.measures)


def _is_positive(value):
  return (isinstance(value, numbers.Real) and not isinstance(value, bool) and
          0 < value < math.inf)


def stated(builders: Sequence[Any],
           name: str) -> Optional[jobs.NumberPerBuilder]:
  """Returns the costs or sizes that the builders state themselves.

  Args:
    builders: of an iteration.
    name: str, "cost" or "size".

  Returns:
    A number for each builder; None if no builder states a number.

  Raises:
    ValueError: a number is not positive, or only a part of the builders states
      a number.
  """
  values: List[Any] = [getattr(builder, name, None) for builder in builders]
  silent = [b.name for b, value in zip(builders, values) if value is None]
  if len(silent) == len(values):
    return None
  for builder, value in zip(builders, values):
    if value is None:
      raise ValueError(
          f"builder {builder.name!r}: {name}=None, but other builders have a "
          f"{name}: expected one from all builders of an iteration, or from "
          f"none. Without: {', '.join(map(repr, silent))}.")
    if not _is_positive(value):
      raise ValueError(
          f"builder {builder.name!r}: {name}={value!r}: expected a finite "
          "number greater than 0, or None to let it be measured")
  return tuple(int(value) if isinstance(value, numbers.Integral) else
               float(value) for value in values)


def _num_bytes(spec):
  """Returns the bytes of a subnetwork's variables, optimizers' included."""
  scope = f"/subnetwork_{spec.name}/"
  return sum(v.shape.num_elements() * v.dtype.base_dtype.size
             for v in tf_compat.v1.global_variables()
             if scope in "/" + v.op.name and v.shape.is_fully_defined())


def _times(setup, built):
  """Returns the times of steps, in nanoseconds.

  Subnetworks and ensembles take turns, because the speed of a machine varies.
  If the input ends before each has taken a step, all subnetworks count as
  equally expensive.

  Returns:
    A tuple with the time of each subnetwork, and the time of all ensembles, the
    previous ensemble included; None for an unknown time, or without new
    ensembles.
  """
  iteration = built.iteration
  fetches = [s.train_op.train_op for s in iteration.subnetworks]
  ensembles = [c.name for c in iteration.new_candidates]
  if ensembles:
    fetches.append(train_ops.TrainOps(
        iteration, setup.search.global_step_combiner_fn).fetches(ensembles))
  durations = [[] for _ in fetches]
  try:
    with setup.session(built, None) as (session, _):
      steps = [session.make_callable(fetch) for fetch in fetches]
      for step in steps:
        step()
      end = time.monotonic() + _MAX_SECS
      while len(durations[-1]) < _NUM_STEPS and not (
          durations[-1] and time.monotonic() > end):
        for step, secs in zip(steps, durations):
          began = time.perf_counter()
          step()
          secs.append(time.perf_counter() - began)
  except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
    if not durations[-1]:
      logging.warning(
          "Iteration %d: the input ended before the costs were measured, so "
          "all subnetworks count as equal. Call repeat() on the dataset, or "
          "give num_epochs=None to numpy_input_fn.",
          iteration.number)
      return (1,) * len(iteration.subnetworks), None
  times = [max(1, round(statistics.median(secs) * 1e9)) for secs in durations]
  count = len(iteration.subnetworks)
  cost_of_ensembles = 0 if iteration.fitted else None
  return tuple(times[:count]), times[count] if ensembles else cost_of_ensembles


def _log(iteration, measured):
  for kind, values in (("costs", measured.costs), ("sizes", measured.sizes)):
    if values:
      logging.info("Iteration %d: measured %s: %s.", iteration.number, kind,
                   ", ".join("{} {:g}".format(*pair) for pair in zip(
                       iteration.builder_names, values)))
  if measured.ensemble_cost:
    logging.info("Iteration %d: measured the cost of a step of all ensembles: "
                 "%g.", iteration.number, measured.ensemble_cost)


def measure(setup: setup_lib.SearchSetup,
            input_fn: Callable[..., Any],
            number: int) -> jobs.Measurements:
  """Measures the costs and sizes that the placement strategy asks for.

  A builder with a `cost` and a `size` is not measured. Then the ensembles are
  not measured either, as the units of `cost` are unknown.

  Args:
    setup: `SearchSetup`.
    input_fn: see `adanet.Estimator.train`; called once.
    number: int, the iteration's.

  Raises:
    ValueError: see `stated`.
  """
  placement: Any = setup.placement
  alone = setup._replace(placement=_Everything())
  with alone.graph(input_fn, "train", number) as built:
    specs = built.iteration.subnetworks
    builders = [spec.builder for spec in specs]
    costs = sizes = ensemble_cost = None
    if placement.work.is_measured:
      costs = stated(builders, "cost")
    if placement.sizes.is_measured:
      sizes = stated(builders, "size") or tuple(map(_num_bytes, specs))
    if placement.work.is_measured and costs is None:
      costs, ensemble_cost = _times(alone, built)
    measured = jobs.Measurements(costs, sizes, ensemble_cost)
    _log(built.iteration, measured)
    return measured


def known(job_state: Optional[jobs.JobState],
          now: jobs.JobState,
          placement: Any) -> Optional[jobs.Measurements]:
  """Returns the measurements from before a restart; None to measure now.

  Args:
    job_state: the `JobState` in the file, or None.
    now: `JobState` with the chief's job, iteration and strategy. The number of
      workers may have changed, as costs and sizes stay the same.
    placement: the strategy.
  """
  if not is_wanted(placement):
    return jobs.Measurements()
  if job_state is None or (
      job_state.job, job_state.iteration, job_state.strategy) != (
          now.job, now.iteration, now.strategy):
    return None
  measured = job_state.measured
  if (placement.work.is_measured and not measured.costs or
      placement.sizes.is_measured and not measured.sizes):
    return None
  return measured


def placed(setup: setup_lib.SearchSetup, measured: jobs.Measurements
          ) -> setup_lib.SearchSetup:
  """Returns a `SearchSetup` with a strategy that knows the measurements."""
  placement: Any = setup.placement
  if not is_wanted(placement):
    return setup
  return setup._replace(placement=placement.with_measured(*measured))
