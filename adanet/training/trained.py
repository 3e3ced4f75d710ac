# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The values that pass between a search and the engine of its iterations.

They are names, numbers and paths: they can be printed, pickled, and written by
hand in a test.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from adanet.core import architecture as architecture_lib
from adanet.core import events
from adanet.core import selection
from adanet.training import ending as ending_lib


class Preset(NamedTuple):
  """Which candidate wins an iteration whatever its value is.

  Attributes:
    replayed: int, the index that a replay names; None without a replay.
    up_to: int, how many candidates there may be at most for the last one to win
      without a comparison; 0 if one that is alone needs a value, too.
  """
  replayed: Optional[int] = None
  up_to: int = 1

  def choice(self, names: Sequence[str]) -> Optional[selection.Choice]:
    """Returns the winner; None if values have to be compared.

    Args:
      names: of all candidates, in their order.

    Raises:
      ValueError: a replay names a candidate that is not there.
    """
    if self.replayed is not None:
      return selection.preset(names, self.replayed, "replay_config says so")
    if len(names) > self.up_to:
      return None
    return selection.preset(
        names, len(names) - 1, "it is the only candidate" if len(names) == 1
        else "it is the only new candidate, and force_grow is set")


class Start(NamedTuple):
  """From where an iteration trains.

  Attributes:
    number: int, the iteration's.
    checkpoint: str, the prefix of the latest checkpoint, or None.
    starts_iteration: whether the checkpoint is that of the iteration before.
    from_other_folder: whether it is in another folder than the next ones.
    preset: `Preset`: an engine that evaluates candidates as soon as they are
      trained asks it whether it must.
  """
  number: int
  checkpoint: Optional[str]
  starts_iteration: bool = False
  from_other_folder: bool = False
  preset: Preset = Preset()


class Candidates(NamedTuple):
  """The candidates of an iteration, at a checkpoint.

  Attributes:
    number: int, the iteration's.
    checkpoint: str, the prefix of the checkpoint; None for initial values.
    architectures: dict from the name of each candidate to its `Architecture`,
      in their order; of one that is fitted, with all that it may have.
    previous: str, the name of the first one if it is the previous ensemble; or
      None.
    fitted: tuple of str, the names of candidates that are fitted when all
      networks have trained.
    averages: dict from the name of each candidate that trains to the moving
      average of its AdaNet loss; infinity if it has not trained yet.
    not_finite: dict from the name of each subnetwork and ensemble that has
      variables with NaN or infinity to one of them. It counts as NaN, whatever
      its loss.
  """
  number: int
  checkpoint: Optional[str]
  architectures: Dict[str, architecture_lib.Architecture]
  previous: Optional[str] = None
  fitted: Tuple[str, ...] = ()
  averages: Dict[str, float] = {}
  not_finite: Dict[str, str] = {}


class TrainedIteration(NamedTuple):
  """An iteration after its training.

  Attributes:
    ending: `Ending`, why it trains no further.
    candidates: `Candidates`, at its last checkpoint.
    weights: dict from an ensemble's name to its mean mixture weights.
    progress: `events.Progress`, the last one.
    seconds: float, how long it took, in all processes that led it.
    generation: int, that of a cluster; None without one.
    costs: dict from a subnetwork's name to its recorded costs; see
      `recording.costs`.
    is_stop_asked: whether a saving listener asked for a stop at the last
      checkpoint: this iteration, if it is over, is the last one.
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
