# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search is asked for, by its constructor and by `fit`.

The values of `fit` check themselves.
"""

import dataclasses
from typing import Any

from adanet import checks
from adanet import forks
from adanet.ensemble_search import arguments
from adanet.ensemble_search import combining
from adanet.ensemble_search import data as data_lib
from adanet.ensemble_search import frames
from adanet.ensemble_search import identity
from adanet.ensemble_search import judge
from adanet.ensemble_search import models
from adanet.ensemble_search import proposals
from adanet.ensemble_search import records
from adanet.ensemble_search import tasks


@dataclasses.dataclass
class SearchSettings:
  """What the constructor of a search gets, but for the directory.

  Attributes:
    functions: dict from a name to the function of a model.
    arguments: `CompileArguments` of models that are not compiled.
    monitor: `Monitor`.
    seed: int; None before the first `fit` without a seed.
    sampler: as in `EnsembleSearch`.
    combine: as in `EnsembleSearch`.
  """
  functions: dict[str, Any]
  arguments: models.CompileArguments
  monitor: records.Monitor
  seed: Any
  sampler: Any
  combine: Any

  def __post_init__(self) -> None:
    self.seed = checks.check_count("seed", self.seed, 0, 2**31, or_none=True)
    proposals.check_sampler(self.sampler)
    combining.check_combine(self.combine)

  def digests(self) -> dict[str, str]:
    """Returns a text of each argument that stays the same for a search."""
    return {
        "monitor": f"{self.monitor.name} ({self.monitor.mode})",
        **{name: identity.digest_argument(getattr(self.arguments, name))
           for name in ("loss", "loss_weights", "optimizer")}}


@dataclasses.dataclass
class FitData:
  """The data of a call of `fit`, which has the same arguments."""
  x: Any
  y: Any
  validation_data: Any
  validation_split: float
  folds: Any
  sample_weight: Any
  class_weight: Any
  batch_size: int

  def __post_init__(self) -> None:
    self.batch_size = checks.check_count("batch_size", self.batch_size)
    self.folds = arguments.check_folds(self.folds)

  @property
  def is_series(self) -> bool:
    """Whether the labels are a Series of pandas, which Keras makes a column."""
    return frames.is_series(self.y)

  def split(self, seed: int) -> tuple[list, dict[str, str]]:
    """Returns the split of each fold, and a digest of each argument."""
    return data_lib.split_data(
        self.x, self.y, self.batch_size, self.validation_data,
        self.validation_split, self.sample_weight, self.class_weight,
        self.folds, seed)


@dataclasses.dataclass
class FitTraining:
  """How a network trains: arguments of `fit`."""
  epochs: int
  patience: int
  callbacks: Any

  def __post_init__(self) -> None:
    self.epochs = checks.check_count("epochs", self.epochs)
    self.patience = checks.check_count("patience", self.patience)
    models.check_callbacks(self.callbacks)

  def complete(self, settings: SearchSettings) -> tasks.TrainingArguments:
    """Returns the `TrainingArguments` of a search that has a seed."""
    return tasks.TrainingArguments(
        settings.arguments, settings.seed, self.callbacks, self.epochs,
        self.patience, settings.monitor)

  def digests(self) -> dict[str, str]:
    """Returns a text of each argument that a later call may change."""
    return {"epochs": str(self.epochs), "patience": str(self.patience)}


def _count_or_none(name, value):
  return checks.check_count(name, value, or_none=True)


@dataclasses.dataclass
class FitAmount:
  """How much of a search a call of `fit` does, and by whom; see `fit`."""
  iterations: int
  trials: int | None
  enqueue: Any
  finalists: int | None
  max_members: int | None
  max_seconds: float | None
  executor: Any
  parallel: int | None
  verbose: Any

  def __post_init__(self) -> None:
    self.iterations = checks.check_count("iterations", self.iterations)
    self.trials = _count_or_none("trials", self.trials)
    self.finalists = _count_or_none("finalists", self.finalists)
    self.max_members = _count_or_none("max_members", self.max_members)
    self.parallel = _count_or_none("parallel", self.parallel)
    if self.executor is not None:
      self.executor = forks.check_executor(self.executor)

  def check(self, data: FitData, settings: SearchSettings) -> None:
    """Raises an error if an argument does not fit the others."""
    arguments.check_limits(
        self.max_seconds, self.verbose, self.executor, self.parallel,
        self.finalists, data.folds)
    proposals.check_trials(self.trials, self.enqueue, settings.functions)

  def limits(self, combine: Any) -> judge.Limits:
    return judge.Limits(
        self.iterations, self.trials, self.finalists, self.max_members, combine)
