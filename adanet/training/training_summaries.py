# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""When training writes to TensorBoard's folders, and which values."""

import time
from typing import Any, Dict, Mapping, Optional

from adanet.core import event_files
from adanet.core import iteration as iteration_lib
from adanet.core import selection


class StepRate:
  """Writes the global steps a second, as `tf.train.StepCounterHook` does."""

  def __init__(self, writer: Optional[event_files.SummaryWriter],
               every_steps: Optional[int]):
    """Writes nothing yet; with None for how often, never."""
    self._writer = writer
    self._every_steps = every_steps
    self._last_step: Optional[int] = None
    self._last_time = 0.

  def count(self, global_step: int) -> None:
    """Takes the global step after a run, and writes if a value is due."""
    if not self._writer or not self._every_steps:
      return
    if (self._last_step is not None and
        global_step < self._last_step + self._every_steps):
      return
    now = time.time()
    if self._last_step is not None and now > self._last_time:
      rate = (global_step - self._last_step) / (now - self._last_time)
      self._writer.add_scalars("", {"global_step/sec": rate}, global_step)
    self._last_step, self._last_time = global_step, now


class TrainingSummaries:
  """The summaries of an iteration, every so many steps.

  Attributes:
    step_rate: `StepRate`.
  """

  def __init__(self, iteration: iteration_lib.Iteration,
               writer: Optional[event_files.SummaryWriter], config: Any):
    """Merges the summaries of the iteration's graph.

    Args:
      writer: `SummaryWriter`; None for no summaries.
      config: RunConfig, with the number of steps between summaries.
    """
    self.step_rate = StepRate(writer, config.log_step_count_steps)
    self._iteration = iteration
    self._writer = writer
    self._every_steps = config.save_summary_steps if writer else None
    self._last_step: Optional[int] = None
    merged = [(s, s.merged()) for s in iteration.summaries]
    self._summaries = [s for s, op in merged if op is not None]
    self._fetches: Dict[str, Any] = {
        "merged": [op for _, op in merged if op is not None],
        "losses": {c.name: c.loss for c in iteration.candidates},
    }

  def is_due(self, global_step: int) -> bool:
    """Returns whether to write the summaries of the step after a global step.

    As in AdaNet, summaries are written for the first step and then after every
    `every_steps - 1` steps, or every `every_steps` if `every_steps` is 1 or 2.
    """
    if not self._every_steps:
      return False
    wait = max(self._every_steps - 1, min(self._every_steps, 2))
    return self._last_step is None or global_step >= self._last_step + wait

  def fetches(self) -> Dict[str, Any]:
    """Returns the fetches of a step with summaries; empty for no summaries."""
    return self._fetches if any(self._fetches.values()) else {}

  def write(self, fetched: Mapping[str, Any], averages: Dict[str, float],
            global_step: int) -> None:
    """Writes the summaries of a step.

    Args:
      fetched: the values of `fetches`.
      averages: dict from the name of an ensemble to the moving average; the
        search has the loss of the ensemble with the best average.
      global_step: int, before the step.
    """
    assert self._writer is not None
    self._last_step = global_step
    for summary, serialized in zip(
        self._summaries, fetched.get("merged", ())):
      self._writer.add(summary, serialized, global_step)
    scalars = {"iteration/adanet/iteration": self._iteration.number}
    losses = fetched.get("losses", {})
    ensembles = list(losses)
    if len(ensembles) == 1:
      scalars["loss"] = losses[ensembles[0]]
    elif ensembles:
      try:
        best = selection.choose(
            ensembles, [averages[name] for name in ensembles])
        scalars["loss"] = losses[best.name]
      except selection.AllNaNError:
        pass  # The loop says so.
    self._writer.add_scalars("", scalars, global_step)
