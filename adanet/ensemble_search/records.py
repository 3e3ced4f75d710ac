# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is known of a network: its identity, its training, its predictions.

These are values: `files` reads and writes them. Needs no TensorFlow.
"""

import dataclasses
import math
from typing import Any, NamedTuple
import urllib.parse
import zlib

import numpy as np

#: The file with the predictions of a network for held-out rows.
PREDICTIONS = "held_out.npz"
#: Why a network ended, by `Network.end_check`. After `TIME`, the next call of
#: `fit` trains the network on.
PATIENCE, EPOCHS, CALLBACK, TIME = (
    "no better", "all epochs", "by a callback", "out of time")
# Begins the same of a network that no ensemble may have; then comes the reason.
FAILED = "failed: "


class Monitor(NamedTuple):
  """The value that compares networks and ensembles, and its best direction.

  Attributes:
    name: str, "val_loss" or "val_" and the name of a metric.
    mode: str, "min" or "max", whether less or more is better.
  """
  name: str = "val_loss"
  mode: str = "min"

  def cost(self, values: dict[str, Any]) -> float:
    """Returns a number that is less where these logs are better.

    NaN is better than nothing, and any finite value is better than NaN.
    """
    value = values[self.name]
    if math.isnan(value):
      return math.inf
    return -value if self.mode == "max" else value


def quote(name: str) -> str:
  """Returns the name of a file for a user's name."""
  return urllib.parse.quote(name, safe=" []=,+()#")


class NetworkKey(NamedTuple):
  """The identity of a network.

  Attributes:
    iteration: int, from 0.
    fold: int, from 0; 0 without folds.
    function: str, the user's name of the function.
    folds: int, the number of folds; 1 without folds.
    trial: int, the number of the trial, from 1; 0 for a function that takes no
      trial.
  """
  iteration: int
  fold: int
  function: str
  folds: int = 1
  trial: int = 0

  @property
  def maker(self) -> str:
    """The function or trial that makes the architecture: "deep", "deep #7"."""
    return f"{self.function} #{self.trial}" if self.trial else self.function

  @property
  def owner(self) -> str:
    """The function, or the trial of a function, in messages."""
    function = f"models[{self.function!r}]"
    return f"trial {self.trial} of {function}" if self.trial else function

  @property
  def name(self) -> str:
    """The name that a user sees: "deep", or "deep (2), fold 3 of 5"."""
    if self.folds == 1:
      return self.member
    return f"{self.member}, fold {self.fold + 1} of {self.folds}"

  @property
  def member(self) -> str:
    """The name without the fold: "deep", "deep (2)" or "deep #7"."""
    if self.trial or not self.iteration:
      return self.maker
    return f"{self.maker} ({self.iteration + 1})"

  @property
  def folder(self) -> str:
    """The name of the network's folder."""
    fold = f"{self.fold}of{self.folds}" if self.folds > 1 else str(self.fold)
    return quote(f"{self.iteration}-{fold}-{self.maker}")

  def seed(self, seed: int) -> int:
    """Returns the network's seed, derived from the seed of the search."""
    text = f"{seed}/{self.iteration}/{self.fold}/{self.maker}"
    return zlib.crc32(text.encode()) & 0x7fffffff


@dataclasses.dataclass
class NetworkRecord:
  """The training of a network so far.

  Attributes:
    epochs: list with the logs of each epoch, as `Model.fit` has them.
    best_epoch: int, from 1; 0 before the first epoch has ended.
    ended: str, `PATIENCE`, `EPOCHS`, `CALLBACK`, `TIME` or why the network
      failed, by `fail`; "" while the network trains.
    seconds: float, the training time.
    parameters: int, those of the model; 0 while the network trains.
    predict_seconds: float, about how long the model takes to predict 1,000
      rows; 0 while the network trains.
    step: int, the number of steps in the current epoch.
    states: list with values that the file of weights leaves out.
    saved: str, the prefix of the files that were saved last. Each save has
      another prefix: a worker of a killed program may still save, too.
    sizes: list with the bytes of these files: a machine that loses power may
      leave empty files.
    checksums: dict from the files of a network that has ended to their bytes
      and CRC-32.
    failed_epoch: int, from 1, the epoch in which an error ended the network; 0
      without an error or outside of an epoch.
    late_error: str, why the network failed when a later call of `fit` trained
      it on after `TIME`; the rest of the record is that of `TIME`.
  """
  epochs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
  best_epoch: int = 0
  ended: str = ""
  seconds: float = 0.
  parameters: int = 0
  predict_seconds: float = 0.
  step: int = 0
  states: list = dataclasses.field(default_factory=list)
  saved: str = ""
  sizes: list[int] = dataclasses.field(default_factory=list)
  checksums: dict[str, list[int]] = dataclasses.field(default_factory=dict)
  failed_epoch: int = 0
  late_error: str = ""

  def best_value(self, monitor: str) -> float | None:
    """Returns a log of the best epoch; None before the first epoch ends."""
    if not self.best_epoch:
      return None
    return self.epochs[self.best_epoch - 1][monitor]

  def fail(self, reason: str) -> None:
    """Ends the network, which then has no files, as for "NaN in dense"."""
    self.ended = FAILED + reason
    self.states, self.sizes, self.step, self.checksums = [], [], 0, {}

  @property
  def error(self) -> str:
    """The reason why the network failed; "" if the network did not fail."""
    _, _, reason = self.ended.partition(FAILED)
    return reason

  @property
  def predictions_id(self) -> int:
    """A number that tells the predictions of a network that has ended."""
    return self.checksums[PREDICTIONS][1]

  def saved_file(self, name: str) -> str:
    """Returns the name of a file of weights of `Folder.save`."""
    return f"{self.saved}-{name}"


class HeldOutPredictions(NamedTuple):
  """The predictions of a network for the held-out rows.

  Attributes:
    structure: the structure of the model's outputs, with 0 for each array.
    outputs: list of arrays.
    masks: list with the mask of each output, or None.
  """
  structure: Any
  outputs: list
  masks: list


def logs_to_json(logs: dict[str, Any]) -> dict[str, Any]:
  """Returns logs as JSON has them: numbers as float, and arrays as lists."""
  numbers = {name: float(value) for name, value in logs.items()
             if np.ndim(value) == 0 and not isinstance(value, str)}
  return numbers | {name: np.asarray(value).tolist()
                    for name, value in logs.items() if name not in numbers}
