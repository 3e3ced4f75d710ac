# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The directory of a search: each file in it appears whole.

    search.json                 what the search is, as digests
    ensemble.json               weights, and values on held-out rows
    sample-0.npz                a few held-out rows of a fold, by which
                                functions are checked
    networks/0-0-deep/          iteration, fold and function of a network, or
                                0-2of5-deep where there are folds
      best.weights.h5           Keras's own format
      last.weights.h5           with the optimizer; until the network has ended
      held_out.npz              its predictions
      epochs.jsonl              a line for each epoch, and one of its state
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import fcntl
import json
import os
import re
import time
from typing import Any, Dict, NamedTuple
import urllib.parse
import uuid
import zlib

from adanet import typed_json
from adanet.ensemble_search import words
import numpy as np

BEST, LAST = "best.weights.h5", "last.weights.h5"
_PREDICTIONS, _EPOCHS = "held_out.npz", "epochs.jsonl"
_SEARCH, _ENSEMBLE, _STOP = "search.json", "ensemble.json", "stop"
_OLD = ("ensemble_search.json", "checkpoint", "graph.pbtxt")
#: Why a network ended.
PATIENCE, EPOCHS, CALLBACK = "no better", "all epochs", "by a callback"
_SECS_BETWEEN_LOOKS = .5


class Key(NamedTuple):
  """Names a network.

  Attributes:
    iteration: int, from 0.
    fold: int, from 0; 0 without folds.
    function: str, the name that the user gave to its function.
    folds: int, how many folds there are; 1 without folds.
  """
  iteration: int
  fold: int
  function: str
  folds: int = 1

  @property
  def name(self) -> str:
    """The name that a user sees: "deep", or "deep (2), fold 3 of 5"."""
    return self.member + (
        f", fold {self.fold + 1} of {self.folds}" if self.folds > 1 else "")

  @property
  def member(self) -> str:
    """The name without the fold: "deep", or "deep (2)" if trained again."""
    return self.function + f" ({self.iteration + 1})" * bool(self.iteration)

  @property
  def folder(self) -> str:
    """The name of its folder."""
    fold = f"{self.fold}of{self.folds}" if self.folds > 1 else str(self.fold)
    return f"{self.iteration}-{fold}-{self.function}"

  def seed(self, seed: int) -> int:
    """Returns the seed of the network, from that of the search."""
    text = f"{seed}/{self.iteration}/{self.fold}/{self.function}"
    return zlib.crc32(text.encode()) & 0x7fffffff


@dataclasses.dataclass
class NetworkRecord:
  """A network's training so far.

  Attributes:
    epochs: list with the logs of each epoch, as `Model.fit` has them.
    best_epoch: int, from 1; 0 before the first.
    ended: str, `PATIENCE`, `EPOCHS` or `CALLBACK`; "" while it trains.
    seconds: float, how long it trained.
    parameters: int, those of the model; 0 before its end.
    predict_seconds: float, about how long the model takes to predict 1,000
      rows; 0 before its end.
  """
  epochs: list[dict[str, float]] = dataclasses.field(default_factory=list)
  best_epoch: int = 0
  ended: str = ""
  seconds: float = 0.
  parameters: int = 0
  predict_seconds: float = 0.

  @property
  def best_loss(self) -> float | None:
    """`val_loss` of the best epoch; None before the first."""
    return (self.epochs[self.best_epoch - 1]["val_loss"] if self.best_epoch
            else None)


class _NetworkState(NamedTuple):
  """The last line of the epochs of a network."""
  best_epoch: int
  ended: str
  seconds: float
  parameters: int
  predict_seconds: float
  step: int = 0
  states: Any = ()
  sums: Dict[str, int] = {}


class HeldOutPredictions(NamedTuple):
  """What a network predicts for the held-out rows.

  Attributes:
    structure: that of the model's outputs, with anything for each array.
    outputs: list of arrays.
    masks: list with the mask of each output, or None.
  """
  structure: Any
  outputs: list
  masks: list


@contextlib.contextmanager
def _written(path: str) -> Iterator[str]:
  """Yields the path to write to, which becomes `path` at the end."""
  folder, name = os.path.split(path)
  os.makedirs(folder, exist_ok=True)
  temporary = os.path.join(folder, f"new-{uuid.uuid4().hex[:8]}-{name}")
  try:
    yield temporary
    os.replace(temporary, path)
  except BaseException:
    with contextlib.suppress(FileNotFoundError):
      os.remove(temporary)
    raise


def write_text(path: str, text: str) -> None:
  """Writes a text file whole or not at all."""
  with _written(path) as temporary, open(temporary, "w") as file:
    file.write(text)


def absolute(directory: Any) -> str | None:
  """Returns the argument `directory` as an absolute path, or None.

  Raises:
    TypeError: it is no path.
    ValueError: it is empty, or on another file system.
  """
  if directory is None:
    return None
  if not isinstance(directory, (str, os.PathLike)):
    raise TypeError(f"directory={words.described(directory)}: expected a path, "
                    "or None.")
  path = os.fspath(directory)
  if not path:
    raise ValueError("directory='': expected the path of a folder, or None. "
                     "For the current one give \".\".")
  if "://" in path:
    raise ValueError(
        f"directory={path!r}: expected a folder of this machine. Mount the "
        "other file system, or copy the folder there after the search.")
  return os.path.abspath(path)


def _sum(path):
  """Returns the checksum of a file."""
  result = 0
  with open(path, "rb") as file:
    while block := file.read(1 << 20):
      result = zlib.crc32(block, result)
  return result


class Folder:
  """The files of a network."""

  def __init__(self, path: str):
    self._path = path

  def path(self, name: str) -> str:
    return os.path.join(self._path, name)

  def write_best(self, model: Any) -> None:
    """Writes the values of a model as those of the best epoch."""
    with _written(self.path(BEST)) as temporary:
      model.save_weights(temporary)

  def write_last(self, model: Any, record: NetworkRecord, step: int,
                 states: list) -> None:
    """Writes the state of a network that trains.

    Args:
      model: its model.
      record: its record.
      step: int, the steps since the last epoch.
      states: list with values that the file of weights leaves out.
    """
    with _written(self.path(LAST)) as temporary:
      model.save_weights(temporary)
    names = [LAST] + [BEST] * bool(record.best_epoch)
    # It has ended when its predictions are there.
    self._write(dataclasses.replace(record, ended=""), step, states, {
        name: _sum(self.path(name)) for name in names})

  def write_end(self, record: NetworkRecord) -> None:
    """Writes that a network ended, behind its other files."""
    self._write(record, 0, [], {})
    with contextlib.suppress(FileNotFoundError):
      os.remove(self.path(LAST))

  def _write(self, record, step, states, sums):
    state = _NetworkState(record.best_epoch, record.ended, record.seconds,
                   record.parameters, record.predict_seconds, step, states,
                   sums)
    write_text(self.path(_EPOCHS), "".join(json.dumps(one) + "\n" for one in (
        *(typed_json.to_json(Dict[str, float], logs) for logs in record.epochs),
        typed_json.to_json(_NetworkState, state))))

  def _read(self):
    try:
      with open(self.path(_EPOCHS)) as file:
        *epochs, last = map(typed_json.loads, file.read().splitlines())
    except FileNotFoundError:
      return None, None
    state = typed_json.from_json(_NetworkState, last)
    return NetworkRecord([typed_json.from_json(Dict[str, float], logs)
                   for logs in epochs], *state[:5]), state

  def record(self) -> NetworkRecord | None:
    """Returns the record of a network that ended; None if it has not."""
    found, _ = self._read()
    has_all = all(os.path.exists(self.path(name))
                  for name in (BEST, _PREDICTIONS))
    return found if found is not None and found.ended and has_all else None

  def running(self) -> NetworkRecord | None:
    """Returns the record of a network so far; None if there is none."""
    return self._read()[0]

  def state(self) -> tuple[NetworkRecord, int, list] | None:
    """Returns the record, the steps and the states from which to go on.

    None if there is nothing, or if a kill came between two of its files: the
    network then begins anew, and becomes the same.
    """
    record, state = self._read()
    if record is None or not state.sums or any(
        not os.path.exists(self.path(name)) or _sum(self.path(name)) != one
        for name, one in state.sums.items()):
      return None
    return record, state.step, list(state.states)

  def write_predictions(self, predictions: HeldOutPredictions) -> None:
    """Writes predictions of the held-out rows."""
    found = {f"output_{i}": one for i, one in enumerate(predictions.outputs)}
    found.update({f"mask_{i}": one for i, one in enumerate(
        predictions.masks) if one is not None})
    with _written(self.path(_PREDICTIONS)) as temporary:
      with open(temporary, "wb") as file:
        np.savez(file, structure=json.dumps(predictions.structure), **found)

  def predictions(self) -> HeldOutPredictions:
    """Returns the predictions of the held-out rows."""
    with np.load(self.path(_PREDICTIONS)) as found:
      count = sum(name.startswith("output_") for name in found)
      return HeldOutPredictions(
          json.loads(str(found["structure"])),
          [found[f"output_{i}"] for i in range(count)],
          [found[f"mask_{i}"] if f"mask_{i}" in found else None
           for i in range(count)])


class Directory:
  """The directory of a search."""

  def __init__(self, path: str):
    self.path = path
    self._looked = 0.
    self._is_stopping = False

  def folder(self, key: Key) -> Folder:
    """Returns the folder of a network."""
    return Folder(os.path.join(
        self.path, "networks", urllib.parse.quote(key.folder, safe=" []=,+()")))

  def read(self, name: str = _SEARCH) -> dict[str, Any] | None:
    """Returns what a file of JSON has; None without the file.

    Raises:
      ValueError: an Estimator or an earlier version of adanet has written the
        directory, or the file cannot be read.
    """
    # An Estimator has a search.json, too.
    if name == _SEARCH and any(os.path.exists(os.path.join(
        self.path, old)) for old in _OLD):
      raise ValueError(
          f"directory={self.path!r} has a search of an Estimator, or of an "
          "EnsembleSearch of adanet before this version, which trained in "
          "another way: expected a new directory.")
    try:
      with open(os.path.join(self.path, name)) as file:
        return typed_json.loads(file.read())
    except FileNotFoundError:
      return None
    except (OSError, ValueError) as error:
      raise ValueError(f"directory={self.path!r} has no {name} that can be "
                       f"read: {error}. Give another directory.") from error

  def write(self, content: dict[str, Any]) -> None:
    """Writes what the search is."""
    write_text(os.path.join(self.path, _SEARCH), json.dumps(content, indent=1))

  def ensemble(self) -> dict[str, Any] | None:
    """Returns what `write_ensemble` wrote last; None before."""
    return self.read(_ENSEMBLE)

  def write_ensemble(self, content: dict[str, Any]) -> None:
    """Writes which ensemble was selected."""
    write_text(os.path.join(self.path, _ENSEMBLE),
               json.dumps(content, indent=1))

  def _sample(self, fold):
    return os.path.join(self.path, f"sample-{fold}.npz")

  def write_sample(self, fold: int, x: list[list[np.ndarray]]) -> None:
    """Writes the first held-out rows of x: the parts of each of its arrays."""
    with _written(self._sample(fold)) as temporary:
      with open(temporary, "wb") as file:
        np.savez(file, **{f"{i}_{j}": part for i, parts in enumerate(x)
                          for j, part in enumerate(parts)})

  def sample(self, fold: int) -> list[list[np.ndarray]]:
    """Returns what `write_sample` wrote."""
    found: list[list[np.ndarray]] = []
    with np.load(self._sample(fold)) as file:
      for name in file:
        if name.endswith("_0"):
          found.append([])
        found[-1].append(file[name])
    return found

  def keys(self) -> list[Key]:
    """Returns the keys of all networks that have files, in order of training.
    """
    places = {name: i for i, name in enumerate(
        (self.read() or {}).get("models", ()))}
    try:
      names = os.listdir(os.path.join(self.path, "networks"))
    except FileNotFoundError:
      return []
    # A file browser may add files of its own.
    found = (re.fullmatch(r"(\d+)-(\d+)(?:of(\d+))?-(.+)",
                          urllib.parse.unquote(name)) for name in names)
    return sorted(
        (Key(int(one[1]), int(one[2]), one[4], int(one[3] or 1))
         for one in found if one), key=lambda key: (
             key.iteration, places.get(key.function, len(places)),
             key.function, key.fold))

  @contextlib.contextmanager
  def locked(self):
    """Keeps other programs out.

    Raises:
      ValueError: another one is in.
    """
    try:
      os.makedirs(self.path, exist_ok=True)
      lock = open(os.path.join(self.path, "lock"), "w")
    except OSError as error:
      raise ValueError(f"directory={self.path!r} cannot be written: {error}. "
                       "Give another directory.") from error
    with lock as file:
      try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
      except OSError:
        raise ValueError(
            f"directory={self.path!r}: another program trains this search: "
            "wait for its end, or give another directory.") from None
      self.set_stopping(False)
      yield

  def set_stopping(self, is_stopping: bool) -> None:
    """Tells workers of an executor whether to stop at their next call."""
    path = os.path.join(self.path, _STOP)
    if is_stopping:
      write_text(path, "")
    else:
      with contextlib.suppress(FileNotFoundError):
        os.remove(path)

  def is_stopping(self) -> bool:
    """Returns whether the search was told to stop; looks now and then."""
    now = time.monotonic()
    if now - self._looked > _SECS_BETWEEN_LOOKS:
      self._looked = now
      self._is_stopping = os.path.exists(os.path.join(self.path, _STOP))
    return self._is_stopping
