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
_TUPLE = "__tuple__"  # The key of an object in JSON that stands for a tuple.
_NEW = "new-"  # Begins the name of a file that is being written.


class DamagedFileError(ValueError):
  """A file of a network cannot be read, as after a crash of the machine."""


class _OtherFileError(ValueError):
  """A JSON file is not of an `EnsembleSearch` of this version."""


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
        f'{{"checksum": {zlib.crc32(text.encode())}, "content": {text}}}')


def read_json(path: pathlib.Path) -> Any:
  """Returns the content of a JSON file of a search.

  Raises:
    OSError: the file cannot be opened.
    ValueError: the file is damaged, or of another program.
  """
  file = json.loads(path.read_text())
  if not isinstance(file, dict) or set(file) != {"checksum", "content"}:
    raise _OtherFileError("it is of another program")
  if zlib.crc32(json.dumps(file["content"]).encode()) != file["checksum"]:
    raise ValueError("its checksum is another one")
  return file["content"]


class Folder:
  """The folder of a network; a damaged file raises a DamagedFileError."""

  def __init__(self, path: pathlib.Path):
    self.path = path

  def _damaged(self, name, error):
    return DamagedFileError(
        f"{str(self.path / name)!r} cannot be read: {messages.one_line(error)}."
        " Call fit again, which trains the network anew.")

  def load(self, model: Any, name: str) -> None:
    """Gives a model the values of a file of weights."""
    try:
      model.load_weights(self.path / name)
    except OSError as error:
      raise self._damaged(name, error) from error

  def save(self, model: Any, best: Any, record: records.NetworkRecord) -> None:
    """Writes the state of a network that trains, and the best weights.

    The files of an earlier save stay until the record names the new files.
    """
    record.saved = uuid.uuid4().hex[:8]
    self.write_weights(model, record.saved_file(LAST))
    if best is not None:
      current = model.get_weights()
      model.set_weights(best)
      self.write_weights(model, record.saved_file(BEST))
      model.set_weights(current)
    record.sizes = self._sizes(record)
    # A network has ended when its predictions are written. One that was out of
    # time has those of its best epoch then.
    self.write_record(dataclasses.replace(
        record, ended=records.TIME if record.checksums else ""))

  def write_weights(self, model: Any, name: str) -> None:
    # Keras looks at the end of the name.
    with atomic_write(self.path / name) as temporary:
      model.save_weights(str(temporary))

  def write_new_best(self, model: Any) -> str:
    """Writes the best weights; returns the name that `write_end` takes."""
    name = f"{_NEW}{uuid.uuid4().hex[:8]}-{BEST}"
    self.write_weights(model, name)
    return name

  def write_end(self, best: str, predictions: records.HeldOutPredictions,
                record: records.NetworkRecord) -> None:
    """Writes the files of a network that has ended, the record last.

    `best` is the name of `write_new_best`.
    """
    if record.ended != records.TIME:
      record.states, record.sizes, record.step = [], [], 0
    arrays = {f"output_{i}": output
              for i, output in enumerate(predictions.outputs)}
    arrays |= {f"mask_{i}": mask for i, mask in enumerate(predictions.masks)
               if mask is not None}
    os.replace(self.path / best, self.path / BEST)
    with atomic_write(self.path / records.PREDICTIONS) as temporary:
      np.savez(temporary, structure=json.dumps(
          to_json(predictions.structure)), **arrays)
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
    if record.error:
      record.states, record.sizes, record.step = [], [], 0
      record.checksums = {}
    self.write_record(record)
    remove_unfinished(self.path)
    for name in (BEST, records.PREDICTIONS) if record.error else ():
      (self.path / name).unlink(missing_ok=True)

  def forget_failure(self) -> None:
    """Removes what `write_failure` wrote of a network that failed."""
    record = self.read_record()
    if record is not None and record.error:
      self.forget()

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
    try:
      return records.NetworkRecord(**read_json(self.path / _NETWORK))
    except FileNotFoundError:
      return None
    except (OSError, ValueError, TypeError) as error:
      raise self._damaged(_NETWORK, error) from error

  def finished_record(self) -> records.NetworkRecord | None:
    """Returns the record of a network that needs no training, or None."""
    record = self.predicted_record()
    return None if record is None or record.ended == records.TIME else record

  def predicted_record(self) -> records.NetworkRecord | None:
    """Returns the record of a network that an ensemble may have, or None.

    A network that failed has no predictions. A network that is out of time
    trains on in the next call of `fit`.
    """
    record = self.read_record()
    is_whole = record is not None and record.ended and not record.error and all(
        (self.path / name).exists() for name in (BEST, records.PREDICTIONS))
    return record if is_whole else None

  def _checksum(self, name):
    content = (self.path / name).read_bytes()
    return [len(content), zlib.crc32(content)]

  def find_damage(self) -> pathlib.Path | None:
    """Returns the path of a file that cannot be used, or None."""
    try:
      record = self.read_record()
    except DamagedFileError:
      return self.path / _NETWORK
    for name, checksum in {} if record is None else record.checksums.items():
      try:
        if self._checksum(name) != checksum:
          return self.path / name
      except OSError:
        return self.path / name
    return None

  def forget(self) -> None:
    """Removes the record: the network trains from the start."""
    for name in (_TRACEBACK, _NETWORK):
      (self.path / name).unlink(missing_ok=True)

  def has_state(self, record: records.NetworkRecord) -> bool:
    """Returns whether a network can resume from a record."""
    return record.ended in ("", records.TIME) and record.sizes == self._sizes(record)

  def _sizes(self, record):
    paths = [self.path / record.saved_file(name) for name in (LAST, BEST)]
    return [path.stat().st_size if path.exists() else 0 for path in paths]

  def predictions(self) -> records.HeldOutPredictions:
    """Returns the predictions for the held-out rows."""
    try:
      with np.load(self.path / records.PREDICTIONS) as file:
        arrays = dict(file)
    except Exception as error:  # NumPy has another error for each damage.
      raise self._damaged(records.PREDICTIONS, error) from error
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
    name = f"directory={str(self.path)!r}"
    if (self.path / "trials.json").exists():
      raise ValueError(f"{name} has the search of an earlier version of adanet:"
                       " expected a new directory.")
    try:
      return read_json(self.path / SEARCH)
    except FileNotFoundError:
      return None
    except OSError as error:
      raise ValueError(f"{name} cannot be read: {error}. Give another "
                       "directory.") from error
    except _OtherFileError as error:
      raise ValueError(
          f"{name} has the search of an Estimator, or of an earlier version of "
          "adanet: expected a new directory.") from error
    except ValueError as error:
      raise ValueError(
          f"{str(self.path / SEARCH)!r} cannot be read: "
          f"{messages.one_line(error)}. Remove this file and call fit again "
          "with the same seed, data and arguments, which writes it anew."
      ) from error

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
    return self.path / "studies" / f"{records.quote(function)}-{iteration}.pickle"

  def write_study(self, function: str, iteration: int, content: bytes) -> None:
    with atomic_write(self.study_path(function, iteration)) as temporary:
      temporary.write_bytes(content)

  def write_held_out_rows(self, rows: list[np.ndarray | None]) -> None:
    """Writes the numbers of the held-out rows in x, or None, of each fold."""
    with atomic_write(self.path / ROWS) as temporary:
      with open(temporary, "wb") as file:
        np.savez(file, **{str(fold): numbers for fold, numbers in enumerate(
            rows) if numbers is not None})

  def held_out_rows(self) -> dict[int, np.ndarray]:
    """Returns the numbers of the held-out rows in x by fold."""
    try:
      with np.load(self.path / ROWS) as file:
        return {int(fold): file[fold] for fold in file}
    except Exception as error:  # NumPy has another error for each damage.
      raise DamagedFileError(
          f"{str(self.path / ROWS)!r} cannot be read: "
          f"{messages.one_line(error)}. Call fit again with the same data, which "
          "writes the file.") from error

  def write_ensemble(self, content: dict[str, Any], outputs: list) -> None:
    """Writes ensemble.json, and before it the outputs, if there are any."""
    name = f"{uuid.uuid4().hex[:8]}{_OUTPUTS}" if outputs else ""
    if name:
      with atomic_write(self.path / name) as temporary:
        np.savez(temporary, *outputs)
    self.write({**content, "outputs": name}, ENSEMBLE)
    for path in self.path.glob("*" + _OUTPUTS):
      if path.name != name:
        path.unlink(missing_ok=True)

  def read_outputs(self, name: str) -> list:
    """Returns the outputs of the file that ensemble.json names."""
    with np.load(self.path / name) as file:
      return [file[f"arr_{i}"] for i in range(len(file.files))]

  @contextlib.contextmanager
  def locked(self):
    """Keeps other programs and threads out."""
    name = f"directory={str(self.path)!r}"
    with contextlib.ExitStack() as stack:
      try:
        stack.enter_context(file_lock.locked(str(self.path / "lock"), name))
      except file_lock.InUseError as error:
        raise ValueError(f"{error}: wait for its end, stop it, or give another "
                         "directory.") from None
      except OSError as error:
        raise ValueError(f"{name} cannot be written: {error}. Give another "
                         "directory.") from error
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
    return self.is_stopping() and (self.path / "stop").read_text() == records.TIME
