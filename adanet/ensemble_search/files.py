# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The directory of a search: each file in it appears whole.

    search.json                 what the search is, and what the last call of
                                fit has asked
    sample.npz                  a few held-out rows of x of each fold
    labels.npz                  labels and weights of the held-out rows
    rows.npz                    the numbers of the held-out rows in x
    studies/dense-0.pickle      what Optuna knows after the trials of an
                                iteration were proposed
    candidates/0-deep.json      the record of a candidate: a function in an
                                iteration
    candidates/1-dense #7.json  or the seventh trial of a function
    networks/0-0-deep/          iteration, fold and function of a network, or
                                0-2of5-deep where there are folds
      network.json              its epochs, and how it ended
      best.weights.h5           Keras's own format
      held_out.npz              its predictions
      3f2a-last.weights.h5      with the optimizer, and 3f2a-best.weights.h5:
                                of a network that has not ended
      traceback.txt             of a network that has failed
    ensemble.json               weights, and values on held-out rows
    3f2a-outputs.npz            what the ensemble predicts for the held-out
                                rows; of a search with combine

Files are written in this order, network.json after the others of its network,
and a program may be killed between any two. A candidate is then:

    proposed  its record. Trials of an iteration without a network are proposed
              again, the same: the study of the iteration before is read.
    pruned    its record says so: a trial without networks.
    training  a network has a record, and resumes.
    failed    the record of a network says so, and then that of the candidate.
              The next call of fit trains it anew.
    ended     all its networks have predictions. Then its record has their
              values, which are computed where they are missing.

Where ensemble.json is missing, or is of other candidates, the ensemble is
selected anew.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import os
import pathlib
from typing import Any
import uuid
import zlib

from adanet import file_lock
from adanet import messages
from adanet.ensemble_search import records
import numpy as np

BEST, LAST = "best.weights.h5", "last.weights.h5"
_NETWORK = "network.json"
_TRACEBACK = "traceback.txt"
#: What a search is, and which ensemble was selected.
SEARCH, ENSEMBLE = "search.json", "ensemble.json"
#: Held-out rows of x, the labels of all held-out rows, and their numbers.
SAMPLE, LABELS = "sample.npz", "labels.npz"
ROWS, _OUTPUTS = "rows.npz", "-outputs.npz"
_FORMAT = 2  # Of all JSON files.
_TUPLE = "__tuple__"  # The key of an object in JSON that stands for a tuple.
_NEW = "new-"  # Begins the name of a file that is being written.


class DamagedFileError(OSError):
  """A file of a search cannot be read, as after a crash of the machine."""


@contextlib.contextmanager
def atomic_write(path: pathlib.Path) -> Iterator[pathlib.Path]:
  """Yields the path to write to, which becomes `path` at the end."""
  path.parent.mkdir(parents=True, exist_ok=True)
  temporary = path.with_name(f"{_NEW}{uuid.uuid4().hex[:8]}-{path.name}")
  try:
    yield temporary
    os.replace(temporary, path)
  except BaseException:
    temporary.unlink(missing_ok=True)
    raise


def remove_unfinished(folder: pathlib.Path) -> None:
  """Removes the unfinished files of a killed process."""
  for path in folder.glob(_NEW + "*"):
    path.unlink(missing_ok=True)


def to_json(value: Any) -> Any:
  """Returns a value for `json.dumps`, which keeps tuples apart from lists."""
  if isinstance(value, dict):
    return {key: to_json(part) for key, part in value.items()}
  if isinstance(value, (list, tuple)):
    parts = list(map(to_json, value))
    return {_TUPLE: parts} if isinstance(value, tuple) else parts
  return value


def from_json(content: Any) -> Any:
  """Returns the value that `to_json` made JSON of."""
  if isinstance(content, dict):
    return (tuple(map(from_json, content[_TUPLE])) if list(content) == [_TUPLE]
            else {key: from_json(part) for key, part in content.items()})
  return list(map(from_json, content)) if isinstance(content, list) else content


def _write_json(path, content):
  text = json.dumps(content)
  with atomic_write(path) as temporary:
    temporary.write_text(
        f'{{"format": {_FORMAT}, "checksum": {zlib.crc32(text.encode())}, '
        f'"content": {text}}}')


def read_json(path: pathlib.Path) -> Any:
  """Returns the content of a JSON file of a search.

  Raises:
    OSError: the file cannot be opened.
    ValueError: the file is damaged, or of another program.
  """
  file = json.loads(path.read_text())
  if not isinstance(file, dict) or file.get("format") != _FORMAT:
    raise ValueError(
        "it is of an Estimator, or of an earlier version of adanet")
  content = file.get("content")
  if zlib.crc32(json.dumps(content).encode()) != file.get("checksum"):
    raise ValueError("its checksum is another one")
  return content


@contextlib.contextmanager
def damage_in(path: pathlib.Path, kinds: Any = Exception) -> Iterator[None]:
  """Turns errors of some kinds, in reading a file, into a DamagedFileError."""
  try:
    yield
  except kinds as error:
    raise DamagedFileError(
        f"{str(path)!r} cannot be read: {messages.one_line(error)}. Call fit "
        "again with the same data, which makes the file again or trains its "
        "network anew.") from error


def write_arrays(path: pathlib.Path, arrays: dict[str, Any]) -> None:
  """Writes arrays by name to a file with the suffix .npz."""
  with atomic_write(path) as temporary:
    np.savez(temporary, **arrays)


def read_arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
  """Returns the arrays of `write_arrays`, or raises a DamagedFileError."""
  # NumPy has another error for each damage.
  with damage_in(path), np.load(path) as file:
    return dict(file)


class Folder:
  """The folder of a network; a damaged file raises a DamagedFileError."""

  def __init__(self, path: pathlib.Path):
    self.path = path

  def load(self, model: Any, name: str) -> None:
    """Gives a model the values of a file of weights."""
    with damage_in(self.path / name, OSError):
      model.load_weights(self.path / name)

  def save(self, model: Any, best: Any, record: records.NetworkRecord) -> None:
    """Writes the state of a network that trains, and the best weights.

    The files of an earlier save stay until the record names the new ones.
    """
    record.saved = uuid.uuid4().hex[:8]
    self._write_weights(model, record.saved_file(LAST))
    if best is not None:
      current = model.get_weights()
      model.set_weights(best)
      self._write_weights(model, record.saved_file(BEST))
      model.set_weights(current)
    record.sizes = self._sizes(record)
    # A network has ended when its predictions are written. One that was out of
    # time has those of its best epoch then.
    self.write_record(dataclasses.replace(
        record, ended=records.TIME if record.checksums else ""))

  def _write_weights(self, model, name):
    # Keras looks at the end of the name.
    with atomic_write(self.path / name) as temporary:
      model.save_weights(str(temporary))

  def write_end(self, model: Any, predictions: records.HeldOutPredictions,
                record: records.NetworkRecord) -> None:
    """Writes the files of a network that has ended, the record last.

    `model` has the weights of the best epoch.
    """
    if record.ended != records.TIME:
      record.states, record.sizes, record.step = [], [], 0
    self._write_weights(model, BEST)
    write_arrays(self.path / records.PREDICTIONS, {
        "structure": json.dumps(to_json(predictions.structure)),
        **{f"output_{i}": array for i, array in enumerate(predictions.outputs)},
        **{f"mask_{i}": array for i, array in enumerate(predictions.masks)
           if array is not None}})
    record.checksums = {name: self._checksum(name)
                        for name in (BEST, records.PREDICTIONS)}
    self.write_record(record)
    (self.path / _TRACEBACK).unlink(missing_ok=True)

  def write_failure(self, record: records.NetworkRecord, text: str) -> None:
    """Writes why a network failed, with the text of the traceback.

    A network that keeps an earlier end keeps its files, too.

    Raises:
      OSError: the folder cannot be written, or the directory is gone.
    """
    os.stat(self.path.parent.parent / "lock")
    with atomic_write(self.path / _TRACEBACK) as temporary:
      temporary.write_text(text)
    self.write_record(record)
    remove_unfinished(self.path)
    if record.error:
      for name in (BEST, records.PREDICTIONS):
        (self.path / name).unlink(missing_ok=True)

  def write_record(self, record: records.NetworkRecord) -> None:
    """Writes the record, and removes files that were saved before."""
    _write_json(self.path / _NETWORK, dataclasses.asdict(record))
    self.remove_old_saves(record)

  def remove_old_saves(self, record: records.NetworkRecord) -> None:
    """Removes files of weights that a record does not need."""
    for path in self.path.glob("*-*.weights.h5"):
      if not path.name.startswith(_NEW) and (
          record.ended not in ("", records.TIME) or
          not path.name.startswith(record.saved_file(""))):
        path.unlink(missing_ok=True)

  def read_record(self) -> records.NetworkRecord | None:
    """Returns the record of a network, ended or not; None without a record."""
    path = self.path / _NETWORK
    if not path.exists():
      return None
    with damage_in(path):
      return records.NetworkRecord(**read_json(path))

  def finished_record(self) -> records.NetworkRecord | None:
    """Returns the record of a network that needs no training, or None."""
    record = self.predicted_record()
    return record if record and record.ended != records.TIME else None

  def predicted_record(self) -> records.NetworkRecord | None:
    """Returns the record of a network that an ensemble may have, or None.

    A network that is out of time has one, and trains on in the next `fit`.
    """
    record = self.read_record()
    return record if record and record.ended and not record.error else None

  def _checksum(self, name):
    content = (self.path / name).read_bytes()
    return [len(content), zlib.crc32(content)]

  def find_damage(self) -> pathlib.Path | None:
    """Returns the path of a file that cannot be used, or None."""
    try:
      record = self.read_record()
    except DamagedFileError:
      return self.path / _NETWORK
    checksums = record.checksums if record else {}
    return next((self.path / name for name in checksums
                 if not (self.path / name).exists() or
                 self._checksum(name) != checksums[name]), None)

  def forget(self) -> None:
    """Removes the record: the network trains from the start."""
    for name in (_TRACEBACK, _NETWORK):
      (self.path / name).unlink(missing_ok=True)

  def has_state(self, record: records.NetworkRecord) -> bool:
    """Returns whether a network can resume from a record."""
    return record.ended in ("", records.TIME) and (
        record.sizes == self._sizes(record))

  def _sizes(self, record):
    paths = [self.path / record.saved_file(name) for name in (LAST, BEST)]
    return [path.stat().st_size if path.exists() else 0 for path in paths]

  def predictions(self) -> records.HeldOutPredictions:
    """Returns the predictions for the held-out rows."""
    arrays = read_arrays(self.path / records.PREDICTIONS)
    count = sum(name.startswith("output_") for name in arrays)
    return records.HeldOutPredictions(
        from_json(json.loads(str(arrays["structure"]))),
        [arrays[f"output_{i}"] for i in range(count)],
        [arrays.get(f"mask_{i}") for i in range(count)])


class Directory:
  """The directory of a search."""

  def __init__(self, path: str):
    self.path = pathlib.Path(path)

  def folder(self, key: records.NetworkKey) -> Folder:
    """Returns the folder of a network."""
    return Folder(self.path / "networks" / key.folder)

  def read(self) -> dict[str, Any] | None:
    """Returns what the search is; None for a new directory."""
    try:
      return read_json(self.path / SEARCH)
    except FileNotFoundError:
      return None
    except ValueError as error:
      raise ValueError(
          f"{str(self.path / SEARCH)!r} cannot be read: "
          f"{messages.one_line(error)}. Give another directory; or, if the "
          "file is damaged, remove it and call fit again with the same seed, "
          "data and arguments, which writes it anew.") from error

  def read_ensemble(self) -> dict[str, Any] | None:
    """Returns the selected ensemble; None without it, or if it is damaged."""
    try:
      return read_json(self.path / ENSEMBLE)
    except (OSError, ValueError):
      return None

  def write(self, content: dict[str, Any], name: str = SEARCH) -> None:
    """Writes a JSON file."""
    _write_json(self.path / name, content)

  def monitor(self) -> records.Monitor:
    return records.Monitor(*(self.read() or {}).get("monitor", ()))

  def study_path(self, function: str, iteration: int) -> pathlib.Path:
    """Returns the path of the study after an iteration was proposed."""
    name = f"{records.quote(function)}-{iteration}.pickle"
    return self.path / "studies" / name

  def write_ensemble(self, content: dict[str, Any], outputs: list) -> None:
    """Writes ensemble.json, and before it the outputs, if there are any."""
    name = f"{uuid.uuid4().hex[:8]}{_OUTPUTS}" if outputs else ""
    if name:
      write_arrays(self.path / name, {
          str(i): array for i, array in enumerate(outputs)})
    self.write({**content, "outputs": name}, ENSEMBLE)
    for path in self.path.glob("*" + _OUTPUTS):
      if path.name != name:
        path.unlink(missing_ok=True)

  def read_outputs(self, name: str) -> list:
    """Returns the outputs of the file that ensemble.json names."""
    with np.load(self.path / name) as file:
      return list(file.values())

  @contextlib.contextmanager
  def locked(self) -> Iterator[None]:
    """Keeps other programs and threads out."""
    with file_lock.locked(str(self.path / "lock"),
                          f"directory={str(self.path)!r}"):
      (self.path / "stop").unlink(missing_ok=True)
      for name in (".", "candidates", "studies"):
        remove_unfinished(self.path / name)
      yield

  def stop(self, reason: str = "") -> None:
    """Tells workers to stop at the next call, by `TIME` with the best epochs.

    The first reason stays.
    """
    if not self.is_stopping():
      with atomic_write(self.path / "stop") as temporary:
        temporary.write_text(reason)

  def is_stopping(self) -> bool:
    return (self.path / "stop").exists()

  def is_out_of_time(self) -> bool:
    """Returns whether the search stops because of `max_seconds`."""
    path = self.path / "stop"
    return path.exists() and path.read_text() == records.TIME
