# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What to train: a network, and how all networks of a search train."""

import functools
from typing import Any, NamedTuple

from adanet.ensemble_search import models
from adanet.ensemble_search import records
from adanet.ensemble_search import studies
from adanet.tf_compat import seeds


class TrainingArguments(NamedTuple):
  """How each network of a search trains.

  Attributes:
    arguments: `CompileArguments` for a model that is not compiled.
    seed: int, the seed of the search.
    callbacks, epochs, patience: as in `EnsembleSearch.fit`.
    monitor: `Monitor`, by which epochs are compared.
  """
  arguments: models.CompileArguments
  seed: int
  callbacks: Any = None
  epochs: int = 1
  patience: int = 1
  monitor: records.Monitor = records.Monitor()


class NetworkTask(NamedTuple):
  """What to train.

  Attributes:
    key: `NetworkKey`.
    function: the user's function, which builds the model.
    training: `TrainingArguments`.
    hyperparameters: dict with the hyperparameters of a trial; None for a
      function without arguments.
    copies: bool, see `models.build_model`.
  """
  key: records.NetworkKey
  function: Any
  training: TrainingArguments
  hyperparameters: dict[str, Any] | None = None
  copies: bool = False

  @property
  def owner(self) -> str:
    """The function in messages."""
    return self.key.owner

  @property
  def seed(self) -> int:
    """The seed of the network."""
    return self.key.seed(self.training.seed)

  def seeded(self) -> Any:
    """Returns the context in which the model is built."""
    return seeds.seeded_thread(self.seed)

  def build_model(self) -> Any:
    """Returns a new model, compiled."""
    arguments = self.training.arguments
    if self.hyperparameters is None:
      return models.build_model(
          self.owner, self.function, arguments, self.copies)
    function = functools.partial(self.function, studies.recorded_trial(
        self.hyperparameters, self.key.trial))
    with studies.quiet():
      return models.build_model(self.owner, function, arguments, self.copies)
