# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ops of a training step, and which trainee is next."""

import fractions as fractions_lib
from typing import Any, Callable, Collection, Dict, FrozenSet, Iterable, List
from typing import Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from adanet import tf_compat
from adanet.core import iteration as iteration_lib


#: The turn in which all ensembles train, in one run.
ENSEMBLES = ""


class Turns:
  """The turns of a worker: one for each subnetwork, and one for all ensembles.

  The next turn is the least served: the turn with the fewest seconds, divided
  by the turn's part of the time. When a turn is over for good, the other turns
  divide the free time in proportion to their parts.
  """

  def __init__(self, fractions: Mapping[
      str, Union[fractions_lib.Fraction, float]]):
    """Takes the part of the time for each turn."""
    self._fractions = {name: float(part) for name, part in fractions.items()}
    # Seconds by part of the time.
    self._served = {name: 0. for name in fractions}
    self._active: FrozenSet[str] = frozenset()

  def next(self, active: Collection[str],
           waiting: Collection[str] = ()) -> str:
    """Returns the least served turn; of equals, the first.

    A turn that was not active at the last call starts level with the least
    served active turn. The missed time is lost, unless the turn was waiting.

    Args:
      active: the names of the turns that may train, at least one.
      waiting: the names of turns that must wait for other turns.
    """
    stayed = [self._served[name] for name in active if name in self._active]
    for name in active:
      if name not in self._active:
        self._served[name] = max(self._served[name], min(stayed, default=0.))
    self._active = frozenset(active).union(waiting)
    return min(active, key=self._served.__getitem__)

  def served(self, name: str, secs: float) -> None:
    """Adds the seconds that a turn has trained."""
    self._served[name] += secs / self._fractions[name]


class LagLimit:
  """How far ensembles may train ahead of the subnetworks of other tasks.

  An ensemble takes a step for each step of the slowest subnetwork. Otherwise,
  ensembles would be compared before the subnetworks have learned.

  Attributes:
    steps: dict from the name of a subnetwork to the step.
  """

  def __init__(self, limit: Optional[int], untrained: Collection[str] = ()):
    """Takes the step at which a subnetwork is done.

    Args:
      limit: int, the step at which a subnetwork is done; None if only the end
        of the input ends a subnetwork.
      untrained: the names of subnetworks that no task trains.
    """
    self._limit = limit
    self._stopped = set(untrained)
    self.steps: Dict[str, int] = {}

  def update(self, steps: Dict[str, int]) -> None:
    """Takes the steps of all subnetworks that other tasks train."""
    self.steps = dict(steps)

  def stop(self, name: str) -> None:
    """Records that a subnetwork trains no further."""
    self._stopped.add(name)

  @property
  def unfinished(self) -> Dict[str, int]:
    """A dict from the name of each unfinished subnetwork to the step."""
    return {name: step for name, step in self.steps.items()
            if name not in self._stopped and (
                self._limit is None or step < self._limit)}

  def allows(self, step: int) -> bool:
    """Returns whether an ensemble may take another step after `step` steps."""
    unfinished = self.unfinished
    if unfinished:
      return step <= min(unfinished.values())
    return step < max(self.steps.values(), default=0)


class Trainee(NamedTuple):
  """A subnetwork or ensemble that trains.

  Attributes:
    name: str.
    is_subnetwork: bool.
    step: variable, the number of training steps.
    advance: tensor, int64 of shape []: trains a step and returns the new step.
    loss: float tensor of shape [].
    chief_hooks: tuple of hooks that run on the chief while the trainee trains.
    hooks: tuple of hooks that run on each worker while the trainee trains.
  """
  name: str
  is_subnetwork: bool
  step: Any
  advance: Any
  loss: Any
  chief_hooks: Tuple[Any, ...]
  hooks: Tuple[Any, ...]


def _tensor(assigned):
  """Returns the value of an assignment, from an op that exists already.

  TensorFlow 2 warns about ops that a later fetch of the assignment changes.
  """
  return tf_compat.v1.identity(assigned)


def _advance(spec, with_specs):
  """Returns the new step of `spec`, after `with_specs` trained once."""
  v1 = tf_compat.v1
  trained = [op for s in with_specs
             for op in (s.train_op.train_op, s.iteration_step)]
  with v1.control_dependencies(trained):
    # Other workers may train it, too.
    return _tensor(v1.assign_add(spec.step, 1, use_locking=True))


def _trainee(spec, is_subnetwork):
  loss = spec.loss if is_subnetwork else spec.adanet_loss
  return Trainee(spec.name, is_subnetwork, spec.step, _advance(spec, [spec]),
                 loss, spec.train_op.chief_hooks, spec.train_op.hooks)


class TrainOps:
  """The ops that train an iteration, in the graph of the iteration.

  Attributes:
    trainees: dict from a name to a `Trainee` of the worker.
    averages: dict from the name of an ensemble to the tensor that updates and
      returns the moving average of the AdaNet loss.
    fractions: dict from the name of a turn, a subnetwork or `ENSEMBLES`, to the
      part of the worker's time for the turn. None if all trainees train in each
      run.
    observed: dict from the name of a subnetwork to the step, for subnetworks
      that other tasks or other runs train, too, and that matter here.
    pacemakers: the names of the observed subnetworks that the worker's
      ensembles must not train ahead of.
    is_part: whether the graph is a part of an iteration. The other subnetworks
      of the iteration train as many steps in other parts.
  """

  def __init__(self, iteration: iteration_lib.Iteration,
               global_step_combiner_fn: Callable[[List[Any]], Any],
               is_part: bool = False, shares_ensembles: bool = False,
               stopped: Optional[Mapping[str, int]] = None,
               is_chief: bool = True):
    """Adds the ops of all runs to the graph.

    Args:
      is_part: see the attribute.
      shares_ensembles: whether other workers train the same ensembles.
      stopped: see `Start`.
      is_chief: whether the task saves, and so stores the global step.
    """
    self.is_part = is_part
    self._stopped = stopped or {}
    share = iteration.share
    names = dict(zip(share.subnetworks, (
        spec.name for spec in iteration.subnetworks)))
    is_trained = frozenset(share.trained).__contains__
    trained = [spec for i, spec in zip(share.subnetworks, iteration.subnetworks)
               if is_trained(i)]
    self.fractions: Optional[Dict[str, fractions_lib.Fraction]] = None
    if share.fractions is not None and share.takes_turns:
      ensembles = fractions_lib.Fraction(0)
      if iteration.candidates:  # Fitted ensembles need no time.
        ensembles = share.ensemble_fraction or ensembles
      self.fractions = {
          names[i]: part * (1 - ensembles) for i, part in share.fractions}
      if ensembles:
        self.fractions[ENSEMBLES] = ensembles
    new = [c for c in iteration.new_candidates]
    self.trainees = {
        spec.name: _trainee(spec, is_subnetwork)
        for specs, is_subnetwork in ((trained, True), (new, False))
        for spec in specs}
    self.averages = {
        c.name: _tensor(c.average.update) for c in iteration.candidates}
    # In turns, all are observed: other tasks may train the same, and finish it.
    self.observed = {
        spec.name: spec.step for spec in iteration.subnetworks
        if self.fractions is not None or (
            share.builds_ensemble and spec.name not in self.trainees)}
    # A task with ensembles waits for observed subnetworks, also where they are
    # fitted when all are done.
    self.pacemakers = tuple(self.observed) if share.builds_ensemble else ()
    # They count together, at the end of their run, so that tasks that share
    # them see all of its steps or none.
    self._together: Dict[str, Any] = {}
    if shares_ensembles:
      self._together = {spec.name: _advance(spec, new) for spec in new}
      self.observed.update((spec.name, spec.step) for spec in new)
    self._reads = {name: step.read_value()
                   for name, step in self.observed.items()}
    self._iteration = iteration
    self._combine = global_step_combiner_fn
    self._is_chief = is_chief

  def turn_of(self, names: Sequence[str]) -> int:
    """Returns the turn, a key of `fractions`, of a run with some trainees."""
    all_turns = list(self.fractions or ())
    return all_turns.index(
        names[0] if names[0] in all_turns else ENSEMBLES)

  def _advance(self, names):
    if self._together.keys() == set(names):
      return self._together
    return {name: self.trainees[name].advance for name in names}

  def fetches(self, names: Iterable[str]) -> Dict[str, Any]:
    """Returns the fetches of a step: three tensors, as each tensor costs time.

    Returns:
      Dict with "steps" and "losses", tensors of shape [number of names], and
      "averages", a tensor of shape [number of averages]. "averages" is empty
      for a turn without ensembles, and for a single candidate, which wins with
      any average. The candidate of a part is not single, because other parts
      have candidates, too.
    """
    v1 = tf_compat.v1
    names = tuple(names)
    active = [self.trainees[name] for name in names]
    return {
        "steps": v1.stack(list(self._advance(names).values())),
        "losses": v1.stack([
            v1.reshape(v1.cast(t.loss, v1.float32), []) for t in active]),
        "averages": (v1.stack(list(self.averages.values()))
                     if self.averages and
                     (len(self.averages) > 1 or self.is_part) and
                     self.trains_ensembles(names) else []),
    }

  def trains_ensembles(self, names: Iterable[str]) -> bool:
    """Returns whether a run of some names trains ensembles.

    Without turns, each run trains ensembles. Only runs with ensembles have
    averages and summaries.
    """
    return self.fractions is None or not all(
        self.trainees[name].is_subnetwork for name in names)

  def all(self) -> List[Any]:
    """Returns the ops that train all trainees, and update the averages."""
    return [tensor.op for tensor in [
        *(t.advance for t in self.trainees.values()),
        *(t.loss for t in self.trainees.values()), *self.averages.values()]]

  def observe(self) -> Any:
    """Returns a tensor, the steps of `observed`."""
    return tf_compat.v1.stack(list(self._reads.values()))

  def global_step(self, after: Iterable[str]) -> Any:
    """Returns the global step, as a tensor.

    A task that builds all subnetworks, or ensembles, computes the global step
    from their steps. All other tasks read the variable. Only the chief, which
    saves the variable, stores the result. A slower worker would store a value
    from steps that it read before, maybe after the last run of the chief. A
    part presumes that the subnetworks of other parts train in all of its runs,
    except those that stopped before.

    Args:
      after: the names of the trainees that train in the same run, before this.
    """
    v1 = tf_compat.v1
    iteration = self._iteration
    global_step = iteration.global_step
    if not self.is_part and not iteration.share.builds_ensemble and (
        len(iteration.subnetworks) < len(iteration.builder_names)):
      return global_step.read_value()
    # A step is observed once in a run, and may be read before it trains.
    known = dict(self._reads)
    known.update(self._advance(tuple(after)))
    by_builder = {
        iteration.builder_names[i]: known[spec.name] if spec.name in known
        else spec.step.read_value()
        for i, spec in zip(iteration.share.subnetworks, iteration.subnetworks)}
    if self.is_part:
      furthest = v1.reduce_max(v1.stack([
          known[name] if name in known else step.read_value()
          for name, step in iteration.steps.items()]))
      by_builder = {
          **dict.fromkeys(iteration.builder_names, furthest),
          **{name: v1.constant(step, v1.int64)
             for name, step in self._stopped.items()}, **by_builder}
    # For a part, most of them are one tensor.
    different = {id(step): step for step in by_builder.values()}
    added = {key: iteration.base_global_step + step
             for key, step in different.items()}
    steps = [added[id(step)] for step in by_builder.values()]
    combined = v1.convert_to_tensor(self._combine(steps))
    if not combined.shape.is_compatible_with([]):
      raise ValueError(
          "global_step_combiner_fn must return a scalar of the list of steps, "
          f"got the shape {combined.shape}")
    value = v1.cast(combined, global_step.dtype.base_dtype)
    return v1.assign(global_step, value) if self._is_chief else value
