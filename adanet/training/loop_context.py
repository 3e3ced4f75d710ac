# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The connection of a training loop to the rest of its job."""

from typing import Callable, Dict, NamedTuple, Optional, Tuple

from adanet.core import events


def _nobody_else(steps):
  """The default `wait_for`: no other task trains these."""
  return {name: "nobody else trains it" for name in steps}


class LoopContext(NamedTuple):
  """The connection of a loop to the rest of the job.

  Attributes:
    report: called with each event.
    mark_stopped: called with a name, a reason and how often it was
      trained; records for a restart that it trains no further.
    asked_to_stop: returns whether a signal asked for a stop.
    wait_for: called again and again while there is nothing to do until other
      tasks have trained, with the steps of the subnetworks that are not done.
      It sleeps, and returns a dict from the name of a subnetwork that no other
      task trains further to the reason; it has None if training must end.
    untrained: the names of subnetworks that no task trains.
    also_trained: the names of subnetworks that other tasks train, too, in each
      of their runs. Their part of an input that ends may take longer.
    is_chief: whether this task finds out when the iteration is over. Any other
      one is done when its input has ended.
    shares_ensembles: whether other tasks train its ensembles, too.
    not_finite: returns a sentence that names the NaN values of the input, or
      "". It is called if a loss is NaN.
    is_late: whether `max_seconds` were over before this could begin, so that it
      trains nothing. If not, it takes a step in any case.
  """
  report: events.Report
  mark_stopped: Callable[[str, str, int], None]
  asked_to_stop: Callable[[], bool] = lambda: False
  wait_for: Callable[[Dict[str, int]], Dict[Optional[str], str]] = _nobody_else
  untrained: Tuple[str, ...] = ()
  also_trained: Tuple[str, ...] = ()
  is_chief: bool = True
  shares_ensembles: bool = False
  not_finite: Callable[[], str] = str
  is_late: bool = False
