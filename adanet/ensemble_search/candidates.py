# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The candidates for an ensemble: functions in an iteration, and trials.

All that is known of a candidate is in one record. `files` says when the record
is written. Needs no TensorFlow: `adanet-report` shows candidates, too.
"""

from collections.abc import Iterator
import dataclasses
import math
from typing import Any

from adanet import log
from adanet import messages
from adanet.ensemble_search import files
from adanet.ensemble_search import records

_FOLDER = "candidates"


@dataclasses.dataclass
class SearchCandidate:
  """A function in an iteration, or a trial: one network, or one for each fold.

  Attributes:
    function: str, the user's name of the function.
    iteration: int, from 0.
    trial: int, the number of the trial, from 1; 0 for a function that takes no
      trial.
    folds: int, the number of folds; 1 without folds.
    proposed: int, how many trials of the function the iteration has.
    hyperparameters: dict from a name to the value of a trial; None for a
      function that takes no trial.
    distributions: dict from a name to the class and the arguments of Optuna's
      distribution.
    attributes: dict, `user_attrs` of the trial.
    enqueued: dict, the hyperparameters that the user enqueued.
    code: str, the digest of the function of a trial.
    architecture: the model and what it is compiled with, as
      `identity.describe_model` has it; None before the model was checked.
    is_pruned: bool, whether the function has pruned the trial.
    error: str, why the candidate failed; "" if it did not.
    judged_by: str, the loss and the metrics of all values.
    judged: dict from a fold to what tells the predictions that were judged.
    values: dict from a fold to the loss and the metrics on its held-out rows.
    all_values: dict with those on the rows of all folds; {} before all networks
      have ended.
  """
  function: str
  iteration: int
  trial: int = 0
  folds: int = 1
  proposed: int = 0
  hyperparameters: dict[str, Any] | None = None
  distributions: dict[str, list] = dataclasses.field(default_factory=dict)
  attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
  enqueued: dict[str, Any] = dataclasses.field(default_factory=dict)
  code: str = ""
  architecture: Any = None
  is_pruned: bool = False
  error: str = ""
  judged_by: str = ""
  judged: dict[int, int] = dataclasses.field(default_factory=dict)
  values: dict[int, dict[str, float]] = dataclasses.field(default_factory=dict)
  all_values: dict[str, float] = dataclasses.field(default_factory=dict)

  def key(self, fold: int = 0) -> records.NetworkKey:
    """Returns the key of a network."""
    return records.NetworkKey(
        self.iteration, fold, self.function, self.folds, self.trial)

  def keys(self) -> list[records.NetworkKey]:
    """Returns the keys of the networks of all folds."""
    return [] if self.is_pruned else list(map(self.key, range(self.folds)))

  @property
  def name(self) -> str:
    """The name that a user sees: "deep", "deep (2)" or "deep #7"."""
    return self.key().member

  @property
  def best_known(self) -> dict[str, float]:
    """The values on all held-out rows, or else on those of the first fold."""
    return self.all_values or self.values.get(0, {})

  def forget_values(self) -> None:
    """Removes all values, which are of another loss or network."""
    self.judged, self.values, self.all_values = {}, {}, {}


class CandidateStore:
  """The candidates of a search, in the order of training."""

  def __init__(self, directory: files.Directory, repairs: bool = False):
    """Reads all records.

    Args:
      directory: `Directory` of the search.
      repairs: bool, whether to remove damaged files, with a line. Records are
        made again from the networks, or proposed again, and networks train
        anew.
    """
    self._directory = directory
    self._candidates: dict[str, SearchCandidate] = {}
    for path in (directory.path / _FOLDER).glob("[0-9]*.json"):
      try:
        content = files.from_json(files.read_json(path))
        for name in ("judged", "values"):  # JSON has strings as keys.
          content[name] = {
              int(fold): value for fold, value in content[name].items()}
        candidate = SearchCandidate(**content)
        self._candidates[candidate.name] = candidate
      except (OSError, ValueError, TypeError, LookupError) as error:
        if repairs:
          log.warning("%r cannot be read: %s. It is made again.", str(path),
                      messages.one_line(error))
          path.unlink(missing_ok=True)
    if repairs:
      for candidate in self._candidates.values():
        self._repair(candidate)

  def _repair(self, candidate):
    """Forgets networks with damaged files, and values of missing networks."""
    for key in candidate.keys():
      folder = self._directory.folder(key)
      damaged = folder.find_damage()
      if damaged:
        log.warning("%r is damaged: %s trains anew.", str(damaged), key.name)
        folder.forget()
      record = folder.read_record()
      if record is not None:  # The program may have been killed before this.
        folder.remove_old_saves(record)
      if key.fold in candidate.values and folder.predicted_record() is None:
        candidate.forget_values()
        self.write(candidate)

  def __iter__(self) -> Iterator[SearchCandidate]:
    places = {name: i for i, name in enumerate(
        (self._directory.read() or {}).get("models", ()))}
    return iter(sorted(self._candidates.values(), key=lambda candidate: (
        candidate.iteration, places.get(candidate.function, math.inf),
        candidate.function, candidate.trial)))

  def __contains__(self, name: str) -> bool:
    return name in self._candidates

  def get(self, name: str) -> SearchCandidate:
    """Returns the candidate of a name such as "deep (2)"."""
    return self._candidates[name]

  def members(self, ensemble: dict[str, Any]
             ) -> list[tuple[float, list[records.NetworkKey]]]:
    """Returns the weight and the networks of all that an ensemble may have.

    `ensemble` is the content of ensemble.json.

    Raises:
      DamagedFileError: the record of a candidate is missing.
    """
    for name in ensemble["weights"]:
      if name not in self._candidates:
        raise files.DamagedFileError(
            f"The record of {name!r} in "
            f"{str(self._directory.path / _FOLDER)!r} cannot be read. Call fit "
            "again with the same data, which writes the record.")
    return [(weight, self._candidates[name].keys()[:ensemble["folds"]])
            for name, weight in ensemble["weights"].items()]

  def write(self, candidate: SearchCandidate) -> None:
    """Writes the record of a candidate, which may be a new one."""
    self._candidates[candidate.name] = candidate
    self._directory.write(
        files.to_json(vars(candidate)), self._path(candidate))

  def remove(self, candidate: SearchCandidate) -> None:
    """Removes a candidate that has no networks."""
    del self._candidates[candidate.name]
    (self._directory.path / self._path(candidate)).unlink(missing_ok=True)

  def _path(self, candidate):
    name = records.quote(f"{candidate.iteration}-{candidate.key().maker}")
    return f"{_FOLDER}/{name}.json"
