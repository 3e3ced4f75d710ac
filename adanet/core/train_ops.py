# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ops of a training step, for those of an iteration that still train."""

import typing

from adanet import tf_compat
from adanet.core import iteration as iteration_lib


class Trainee(typing.NamedTuple):
  """A subnetwork or ensemble that trains.

  Attributes:
    name: str.
    is_subnetwork: bool.
    step: variable, how often it was trained.
    advance: tensor, int64 of shape []: trains it once and returns its new step.
    loss: float tensor of shape [].
    chief_hooks: tuple of hooks that run on the chief while it trains.
    hooks: tuple of hooks that run on each worker while it trains.
  """
  name: str
  is_subnetwork: bool
  step: typing.Any
  advance: typing.Any
  loss: typing.Any
  chief_hooks: typing.Tuple[typing.Any, ...]
  hooks: typing.Tuple[typing.Any, ...]


def _trainee(spec, is_subnetwork):
  v1 = tf_compat.v1
  with v1.control_dependencies([spec.train_op.train_op, spec.iteration_step]):
    # Other workers may train it, too.
    advance = v1.assign_add(spec.step, 1, use_locking=True)
  loss = spec.loss if is_subnetwork else spec.adanet_loss
  return Trainee(spec.name, is_subnetwork, spec.step, advance, loss,
                 spec.train_op.chief_hooks, spec.train_op.hooks)


class TrainOps(object):
  """The ops that train an iteration, in the graph of the iteration.

  Attributes:
    trainees: dict from a name to a `Trainee`, those that this worker trains.
    averages: dict from an ensemble's name to the tensor that updates and
      returns the moving average of its AdaNet loss.
    observed: dict from a subnetwork's name to its step, of those that this
      worker builds for its ensembles and others train.
  """

  def __init__(self, iteration: iteration_lib.Iteration,
               global_step_combiner_fn: typing.Callable[
                   [typing.List[typing.Any]], typing.Any]):
    trained = iteration.subnetworks if iteration.share.trains_subnetworks else (
        ())
    new = [c.spec for c in iteration.candidates[int(iteration.has_previous):]]
    self.trainees = {
        spec.name: _trainee(spec, is_subnetwork)
        for specs, is_subnetwork in ((trained, True), (new, False))
        for spec in specs}
    self.averages = {
        c.spec.name: c.average.update for c in iteration.candidates}
    self.observed = {
        spec.name: spec.step for spec in iteration.subnetworks
        if iteration.candidates and spec.name not in self.trainees}
    self._reads = {name: step.read_value()
                   for name, step in self.observed.items()}
    self._iteration = iteration
    self._combine = global_step_combiner_fn

  def fetches(self, names: typing.Iterable[str]) -> typing.Dict[
      str, typing.Any]:
    """Returns what one step fetches: three tensors, as each one costs time.

    Args:
      names: those that train in this step.

    Returns:
      Dict with "steps" and "losses", tensors of shape [number of names], and
      "averages", a tensor of shape [number of averages]; empty for one
      candidate alone, which wins whatever its average is.
    """
    v1 = tf_compat.v1
    active = [self.trainees[name] for name in names]
    return {
        "steps": v1.stack([t.advance for t in active]),
        "losses": v1.stack([
            v1.reshape(v1.cast(t.loss, v1.float32), []) for t in active]),
        "averages": (v1.stack(list(self.averages.values()))
                     if len(self.averages) > 1 else []),
    }

  def observe(self) -> typing.Any:
    """Returns a tensor, the steps of `observed`."""
    return tf_compat.v1.stack(list(self._reads.values()))

  def set_global_step(self, after: typing.Iterable[str]) -> typing.Any:
    """Returns the global step, as a tensor.

    A worker that builds all subnetworks sets it from their steps. The others
    read what that one has set.

    Args:
      after: the names of those that train in the same run, before this.
    """
    v1 = tf_compat.v1
    iteration = self._iteration
    global_step = iteration.global_step
    if len(iteration.subnetworks) < len(iteration.builder_names):
      return global_step.read_value()
    with v1.control_dependencies([
        self.trainees[name].advance for name in after
        if self.trainees[name].is_subnetwork]):
      steps = [iteration.base_global_step + (
          self._reads[spec.name] if spec.name in self._reads else
          spec.step.read_value()) for spec in iteration.subnetworks]
      return v1.assign(
          global_step,
          v1.cast(self._combine(steps), global_step.dtype.base_dtype))
