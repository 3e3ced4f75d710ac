# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of an ensemble, as a value and as the text of a file.

The file `architecture-<t>.json` in a `model_dir` has the architecture of the
ensemble that won iteration t. The text equals AdaNet 0.8's, byte for byte.
"""

import json
from typing import NamedTuple, Optional, Tuple

from adanet import typed_json


class ArchitectureError(ValueError):
  """A file has no valid architecture."""


class _SubnetworkEntry(NamedTuple):
  builder_name: str
  iteration_number: int


class _File(NamedTuple):
  """The content of the file."""
  ensemble_candidate_name: str
  ensembler_name: str
  global_step: int
  subnetworks: Tuple[_SubnetworkEntry, ...]
  replay_indices: Tuple[int, ...] = ()  # AdaNet wrote none before 0.8.


class Architecture(NamedTuple):
  """Which builders, of which iterations, make an ensemble.

  Attributes:
    ensemble_candidate_name: str, the name from the ensemble strategy, such as
      "dnn_grow".
    ensembler_name: str, the name of the ensembler.
    subnetworks: tuple of (iteration number, builder name), in the order of the
      ensemble.
    replay_indices: tuple of int, the index of the winner among the candidates
      of iteration 0, of iteration 1, and so on.
    global_step: int, the global step of the win, or None before the win.
  """
  ensemble_candidate_name: str
  ensembler_name: str
  subnetworks: Tuple[Tuple[int, str], ...] = ()
  replay_indices: Tuple[int, ...] = ()
  global_step: Optional[int] = None

  def subnetworks_of(self, iteration_number: int) -> Tuple[str, ...]:
    """Returns the names of the builders of an iteration, in order."""
    return tuple(name for t, name in self.subnetworks if t == iteration_number)

  def to_json(self) -> str:
    """Returns the text of the file.

    Raises:
      ValueError: `global_step` is None.
    """
    if self.global_step is None:
      raise ValueError(
          "global_step=None: expected the global step at which "
          f"{self.ensemble_candidate_name!r} won. Set it with "
          "_replace(global_step=...).")
    return json.dumps(typed_json.to_json(_File, _File(
        self.ensemble_candidate_name, self.ensembler_name, self.global_step,
        tuple(_SubnetworkEntry(name, t) for t, name in self.subnetworks),
        self.replay_indices)), sort_keys=True)

  @classmethod
  def from_json(cls, text: str, source: str) -> "Architecture":
    """Returns the architecture in a file.

    Args:
      source: str, the file, for error messages.

    Raises:
      ArchitectureError: neither `to_json` nor AdaNet 0.8 writes such a text.
    """
    try:
      content = typed_json.from_json(
          _File, typed_json.loads(text), skips_unknown=True)
    except ValueError as e:
      raise ArchitectureError(
          f"{source}: {e}. Expected the architecture of an iteration, as "
          "AdaNet writes it. Restore the file from a copy, or train in an "
          "empty model_dir.") from e
    return cls(
        content.ensemble_candidate_name, content.ensembler_name,
        tuple((s.iteration_number, s.builder_name)
              for s in content.subnetworks),
        content.replay_indices, content.global_step)
