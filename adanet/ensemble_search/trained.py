# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search has trained, read from its directory and built as models.

No data are needed: the directory has a few held-out rows of x, by which a
network that is built again is compared with the one that trained.
"""

import functools
from typing import Any

from adanet import forks
from adanet.ensemble_search import candidates as candidates_lib
from adanet.ensemble_search import combining
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import judge as judge_lib
from adanet.ensemble_search import models as models_lib
from adanet.ensemble_search import samples
from adanet.ensemble_search import settings as settings_lib
from adanet.ensemble_search import tasks as tasks_lib


class TrainedSearch:
  """The networks and the ensemble of a directory.

  Attributes:
    judged_by: `CompileArguments` of the ensemble.
  """

  def __init__(self, directory: files.Directory,
               settings: settings_lib.SearchSettings,
               judged_by: models_lib.CompileArguments | None):
    """Reads what the search is.

    Args:
      directory: `Directory` of a search that has trained.
      settings: `SearchSettings` of the program.
      judged_by: `CompileArguments` of the ensemble; None for those that the
        directory records.
    """
    forks.check_process()
    self._directory = directory
    self._functions = settings.functions
    self._combine = settings.combine
    self._content = directory.read() or {}
    self._store = candidates_lib.CandidateStore(directory)
    self.judged_by = judged_by or models_lib.compile_arguments_from_json(
        str(directory.path), self._content["judge"], {
            "optimizer": settings.arguments.optimizer})

  @functools.cached_property
  def _sample(self):
    """The `Layout` of x, and the first held-out rows of each fold."""
    return samples.read_x(self._directory, self._content)

  def read_ensemble(self) -> dict[str, Any]:
    """Returns the content of ensemble.json; selects the ensemble if needed.

    Raises:
      ValueError: no network has finished, or `combine` is another function.
    """
    if self._directory.read_ensemble() is None:
      with self._directory.locked():
        judge_lib.select_again(
            self._directory, self._content, self.judged_by, self._combine)
    combining.check_recorded(self._directory, self._combine)
    self._store = candidates_lib.CandidateStore(self._directory)
    return self._directory.read_ensemble() or {}

  def build_members(self) -> list[ensemble_model.EnsembleMember]:
    """Returns the members of the ensemble; with folds, means of networks."""
    return [ensemble_model.EnsembleMember(
        name, weight, networks[0].model if len(networks) == 1 else
        self._build_ensemble(networks))
            for name, weight, networks in self._build_networks()]

  def build_model(self) -> Any:
    """Returns the model of the ensemble."""
    if self._combine is None:
      return self._build_ensemble(self.build_members())
    return self._build_ensemble([
        network._replace(weight=weight * network.weight)
        for _, weight, networks in self._build_networks()
        for network in networks])

  def _build_networks(self):
    """Yields the name and the weight of each member, and its networks."""
    for weight, keys in self._store.members(self.read_ensemble()):
      if weight:
        yield keys[0].member, weight, [ensemble_model.EnsembleMember(
            key.name, 1 / len(keys), self._build_network(key)) for key in keys]

  def _build_ensemble(self, members):
    """Returns the model of an ensemble of members."""
    layout, _ = self._sample
    return ensemble_model.ensemble(
        members, layout, self.judged_by, self._content["outputs"],
        self._combine)

  def build_network(self, name: str) -> Any:
    """Returns the model of a network.

    Raises:
      ValueError: no network that has ended has the name, or its function now
        makes another model.
    """
    keys = {key.name: key for candidate in self._store
            for key in candidate.keys()}
    folders = {known: self._directory.folder(key)
               for known, key in keys.items()}
    record = folders[name].read_record() if name in keys else None
    if record is not None and record.error:
      raise ValueError(f"name={name!r}: this network failed: {record.error}. "
                       f"Its traceback is in {str(folders[name].path)!r}.")
    ended = [known for known, folder in folders.items()
             if folder.predicted_record() is not None]
    if name not in ended:
      advice = (" The mean of folds is in search.members."
                if name in [key.member for key in keys.values()] else "")
      raise ValueError(f"name={name!r}: expected the name of a finished "
                       f"network: {', '.join(map(repr, ended))}.{advice}")
    return self._build_network(keys[name])

  def _build_network(self, key):
    """Returns a network, rebuilt by its function, with the trained weights."""
    if key.function not in self._functions:
      raise ValueError(f"{key.name!r} needs the function {key.function!r}, "
                       "which is not in models: give this function, too.")
    task = tasks_lib.NetworkTask(
        key, self._functions[key.function],
        tasks_lib.TrainingArguments(self.judged_by, self._content["seed"]),
        self._store.get(key.member).hyperparameters)
    _, rows = self._sample
    return ensemble_model.build_member(
        task, rows[key.fold], self._directory.folder(key))

  def held_out(self) -> combining.HeldOutRows:
    """Returns the held-out rows, and what is predicted for these rows."""
    self.read_ensemble()
    return combining.read_held_out(
        self._directory, self._content, self._combine)
