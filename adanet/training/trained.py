# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The values that pass between a search and the engine of the iterations.

The values are names, numbers and paths, so that a test can print, pickle and
write the values by hand.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from adanet.core import architecture as architecture_lib
from adanet.core import events
from adanet.core import selection
from adanet.training import ending as ending_lib


class Preset(NamedTuple):
  """Which candidate wins an iteration without a comparison of values.

  Attributes:
    replayed: int, the index in a replay; None without a replay.
    up_to: int, the largest number of candidates at which the last candidate
      wins without a comparison; 0 if a single candidate needs a value, too.
  """
  replayed: Optional[int] = None
  up_to: int = 1

  def choice(self, names: Sequence[str]) -> Optional[selection.Choice]:
    """Returns the winner; None if values must be compared.

    Args:
      names: the names of all candidates, in order.

    Raises:
      ValueError: a replay names a candidate that does not exist.
    """
    if self.replayed is not None:
      return selection.preset(names, self.replayed, "replay_config says so")
    if len(names) > self.up_to:
      return None
    return selection.preset(
        names, len(names) - 1, "it is the only candidate" if len(names) == 1
        else "it is the only new candidate, and force_grow is set")


class Start(NamedTuple):
  """Where the training of an iteration starts.

  Attributes:
    number: int, the number of the iteration.
    checkpoint: str, the prefix of the latest checkpoint, or None.
    starts_iteration: whether the checkpoint is of the previous iteration.
    from_other_folder: whether the checkpoint is in another folder than the
      checkpoints that follow.
    preset: `Preset`, by which an engine that evaluates candidates right after
      training knows whether to evaluate.
    stopped: dict from the name of each builder that trains no further to the
      step, for a part of an iteration.
  """
  number: int
  checkpoint: Optional[str]
  starts_iteration: bool = False
  from_other_folder: bool = False
  preset: Preset = Preset()
  stopped: Dict[str, int] = {}


class Candidates(NamedTuple):
  """The candidates of an iteration, at a checkpoint.

  Attributes:
    number: int, the number of the iteration.
    checkpoint: str, the prefix of the checkpoint; None for initial values.
    architectures: dict from the name of each candidate to the `Architecture`,
      in order. The `Architecture` of a fitted candidate has all possible
      members.
    previous: str, the name of the first candidate if the candidate is the
      previous ensemble; or None.
    fitted: tuple of str, the names of candidates that are fitted after all
      networks have trained.
    averages: dict from the name of each candidate that trains to the moving
      average of the AdaNet loss; infinity before the first step.
    not_finite: dict from the name of a subnetwork or ensemble to the name of a
      variable with NaN or infinity. The subnetwork or ensemble counts as NaN,
      with any loss.
  """
  number: int
  checkpoint: Optional[str]
  architectures: Dict[str, architecture_lib.Architecture]
  previous: Optional[str] = None
  fitted: Tuple[str, ...] = ()
  averages: Dict[str, float] = {}
  not_finite: Dict[str, str] = {}


class TrainedIteration(NamedTuple):
  """An iteration after training.

  Attributes:
    ending: `Ending`, why training ended.
    candidates: `Candidates`, at the last checkpoint.
    weights: dict from the name of an ensemble to the mean mixture weights.
    progress: `events.Progress`, the last progress.
    seconds: float, the time of training, in all processes that led.
    generation: int, the generation of a cluster; None without a cluster.
    costs: dict from the name of a subnetwork to the recorded costs; see
      `recording.costs`.
    is_stop_asked: whether a saving listener asked for a stop at the last
      checkpoint, so that no iteration follows.
  """
  ending: ending_lib.Ending
  candidates: Candidates
  weights: Dict[str, List[float]]
  progress: events.Progress
  seconds: float
  generation: Optional[int] = None
  costs: Optional[Dict[str, Dict[str, Any]]] = None
  is_stop_asked: bool = False

  @property
  def number(self) -> int:
    """The iteration's number."""
    return self.candidates.number

  @property
  def global_step(self) -> int:
    """The global step of the last checkpoint."""
    return self.progress.global_step
