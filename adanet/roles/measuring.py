# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the candidates of an iteration cost, as the chief measures it.

It builds them in a graph and a session of its own, in this process alone. So
the variables that will train, which are on the parameter servers, are as if no
step had been taken, and no other task sees anything of it.
"""

import math
import numbers
import statistics
import time
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from adanet import distributed
from adanet import log as logging
from adanet import tf_compat
from adanet.cluster import agreement as agreement_lib
from adanet.distributed import line
from adanet.training import model as model_lib
from adanet.training import train_ops

_NUM_STEPS = 5  # Of each subnetwork; before them one that compiles.
_MAX_SECS = 30.  # Of all, if a step takes long: then each takes fewer.


class Figures(NamedTuple):
  """What was measured.

  Attributes:
    costs: a positive number for each builder; None if nobody asks.
    sizes: likewise.
    ensemble_cost: what a step of all ensembles takes, in the units of the
      costs; None if it was not measured.
  """
  costs: Optional[agreement_lib.Figures] = None
  sizes: Optional[agreement_lib.Figures] = None
  ensemble_cost: Optional[line.Number] = None


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
  """Returns whether a strategy asks for something measured."""
  return (isinstance(placement, distributed.BalancedStrategy) and
          placement.measures)


def _is_positive(value):
  return (isinstance(value, numbers.Real) and not isinstance(value, bool) and
          0 < value < math.inf)


def stated(builders: Sequence[Any],
           name: str) -> Optional[agreement_lib.Figures]:
  """Returns what the builders themselves say of their subnetworks.

  Args:
    builders: of an iteration.
    name: str, "cost" or "size".

  Returns:
    A number for each builder; None if none of them says anything.

  Raises:
    ValueError: a number is not positive, or some builders say nothing.
  """
  found: List[Any] = [getattr(builder, name, None) for builder in builders]
  silent = [b.name for b, value in zip(builders, found) if value is None]
  if len(silent) == len(found):
    return None
  for builder, value in zip(builders, found):
    if value is None:
      raise ValueError(
          f"builder {builder.name!r}: {name}=None, but other builders have a "
          f"{name}: expected one from all builders of an iteration, or from "
          f"none. Without: {', '.join(map(repr, silent))}.")
    if not _is_positive(value):
      raise ValueError(f"builder {builder.name!r}: {name}={value!r}: expected "
                       "a number greater than 0, or None to let it be measured")
  return tuple(int(value) if isinstance(value, numbers.Integral) else
               float(value) for value in found)


def _num_bytes(spec):
  """Returns the bytes of a subnetwork's variables, with those that train it."""
  scope = f"/subnetwork_{spec.name}/"
  return sum(v.shape.num_elements() * v.dtype.base_dtype.size
             for v in tf_compat.v1.global_variables()
             if scope in "/" + v.op.name and v.shape.is_fully_defined())


def _times(model, built):
  """Returns what steps take, in nanoseconds.

  They take turns, because a machine is not always as fast. If the input ends
  before each has taken a step, all subnetworks count as equally expensive.

  Returns:
    A tuple with the time of each subnetwork, and that of all ensembles, the
    previous one included; None if it is not known, or there are no new ones.
  """
  iteration = built.iteration
  fetches = [s.train_op.train_op for s in iteration.subnetworks]
  ensembles = [c.name for c in iteration.new_candidates]
  if ensembles:
    fetches.append(train_ops.TrainOps(
        iteration, model.search.global_step_combiner_fn).fetches(ensembles))
  taken = [[] for _ in fetches]
  try:
    with model.session(built, None) as (session, _):
      steps = [session.make_callable(fetch) for fetch in fetches]
      for step in steps:
        step()
      end = time.monotonic() + _MAX_SECS
      while len(taken[-1]) < _NUM_STEPS and not (
          taken[-1] and time.monotonic() > end):
        for step, secs in zip(steps, taken):
          began = time.perf_counter()
          step()
          secs.append(time.perf_counter() - began)
  except (tf_compat.v1.errors.OutOfRangeError, StopIteration):
    if not taken[-1]:
      logging.warning(
          "Iteration %d: the input ended before the costs were measured, so "
          "all subnetworks count as equal. Call repeat() on the dataset, or "
          "give num_epochs=None to numpy_input_fn.",
          iteration.number)
      return (1,) * len(iteration.subnetworks), None
  times = [max(1, round(statistics.median(secs) * 1e9)) for secs in taken]
  count = len(iteration.subnetworks)
  cost_of_ensembles = 0 if iteration.fitted else None
  return tuple(times[:count]), times[count] if ensembles else cost_of_ensembles


def _log(iteration, figures):
  for kind, values in (("costs", figures.costs), ("sizes", figures.sizes)):
    if values:
      logging.info("Iteration %d: measured %s: %s.", iteration.number, kind,
                   ", ".join("{} {:g}".format(*pair) for pair in zip(
                       iteration.builder_names, values)))
  if figures.ensemble_cost:
    logging.info("Iteration %d: measured the cost of a step of all ensembles: "
                 "%g.", iteration.number, figures.ensemble_cost)


def measure(model: model_lib.Model,
            input_fn: Callable[..., Any],
            number: int) -> Figures:
  """Measures what the placement strategy wants to know of an iteration.

  A builder that has a `cost` and a `size` is asked, and not measured. Nor are
  then the ensembles, as nobody knows the units of this cost.

  Args:
    model: `Model`.
    input_fn: see `adanet.Estimator.train`. It is called once.
    number: int, the iteration's.

  Raises:
    ValueError: see `stated`.
  """
  placement: Any = model.placement
  alone = model._replace(placement=_Everything())
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
    figures = Figures(costs, sizes, ensemble_cost)
    _log(built.iteration, figures)
    return figures


def known(agreed: Optional[agreement_lib.Agreement],
          now: agreement_lib.Agreement,
          placement: Any) -> Optional[Figures]:
  """Returns what was measured before a restart; None to measure it now.

  Args:
    agreed: the `Agreement` that the chief finds, or None.
    now: one of its job, iteration and strategy. The number of workers may have
      changed: costs and sizes stay as they are.
    placement: the strategy.
  """
  if not is_wanted(placement):
    return Figures()
  if agreed is None or (agreed.job, agreed.iteration, agreed.strategy) != (
      now.job, now.iteration, now.strategy):
    return None
  if (placement.work.is_measured and not agreed.costs or
      placement.sizes.is_measured and not agreed.sizes):
    return None
  return agreed_figures(agreed)


def agreed_figures(agreed: agreement_lib.Agreement) -> Figures:
  """Returns what an agreement says was measured."""
  return Figures(agreed.costs, agreed.sizes, agreed.ensemble_cost)


def placed(model: model_lib.Model, figures: Figures) -> model_lib.Model:
  """Returns a model whose strategy knows what was measured."""
  placement: Any = model.placement
  if not is_wanted(placement):
    return model
  return model._replace(placement=placement.with_measured(*figures))
