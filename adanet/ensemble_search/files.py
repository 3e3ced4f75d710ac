# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The directory of a search: each file in it appears whole.

    search.json                 what the search is, as digests
    trials.json                 hyperparameters, before a network has them
    studies/dense-0.pickle      what Optuna knows after the trials of an
                                iteration were proposed
    ensemble.json               weights, and values on held-out rows
    3f2a-outputs.npz            what the ensemble predicts for the held-out
                                rows; of a search with combine
    sample.npz                  a few held-out rows of each fold, by which
                                functions are checked
    rows.npz                    the numbers of the held-out rows in x
    networks/0-0-deep/          iteration, fold and function of a network, or
                                0-2of5-deep where there are folds
      network.json              its epochs and its state
      best.weights.h5           Keras's own format
      held_out.npz              its predictions
      3f2a-last.weights.h5      with the optimizer, and 3f2a-best.weights.h5:
                                of a network that has not ended
    networks/1-0-deep #7/       of the seventh trial of a function
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import tempfile
from typing import Any, NamedTuple
import urllib.parse
import uuid
import weakref
import zlib

from adanet import checks
from adanet import file_lock
from adanet import messages
import numpy as np

BEST, LAST = "best.weights.h5", "last.weights.h5"
_PREDICTIONS, _NETWORK = "held_out.npz", "network.json"
#: What a search is, and which ensemble was selected.
SEARCH, ENSEMBLE = "search.json", "ensemble.json"
_TRIALS, _ROWS, _OUTPUTS = "trials.json", "rows.npz", "-outputs.npz"
_TUPLE = "__tuple__"  # The key of an object in JSON that stands for a tuple.
#: Why a network ended, by `Network.end_check`. After `TIME`, the next call of
#: `fit` trains the network on.
PATIENCE, EPOCHS, CALLBACK, TIME = (
    "no better", "all epochs", "by a callback", "out of time")
# Begins the same of a network that no ensemble may have; then comes the reason.
_FAILED = "failed: "
_NEW = "new-"  # Begins the name of a file that is being written.


class DamagedFileError(ValueError):
  """A file of a network cannot be read, as after a crash of the machine."""


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


class TrialRecord(NamedTuple):
  """A trial that Optuna has proposed for a network, or for all folds.

  Attributes:
    function: str, the user's name of the function.
    number: int, from 1, of the trials of the function.
    iteration: int, from 0.
    hyperparameters: dict from a name to a value.
    distributions: dict from a name to a distribution in Optuna's JSON.
    attributes: dict, `user_attrs` of the trial.
    architecture: str, digest of the model; "" for a pruned trial, which has no
      network.
    code: str, digest of the function.
    enqueued: dict, the hyperparameters that the user enqueued.
  """
  function: str
  number: int
  iteration: int
  hyperparameters: dict[str, Any]
  distributions: dict[str, str]
  attributes: dict[str, Any]
  architecture: str
  code: str
  enqueued: dict[str, Any] = {}


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
    return self.function + f" #{self.trial}" * bool(self.trial)

  @property
  def owner(self) -> str:
    """The function, or the trial of a function, in messages."""
    return f"trial {self.trial} of " * bool(self.trial) + (
        f"models[{self.function!r}]")

  @property
  def name(self) -> str:
    """The name that a user sees: "deep", or "deep (2), fold 3 of 5"."""
    return self.member + (
        f", fold {self.fold + 1} of {self.folds}" if self.folds > 1 else "")

  @property
  def member(self) -> str:
    """The name without the fold: "deep", "deep (2)" or "deep #7"."""
    return self.maker + f" ({self.iteration + 1})" * (
        self.iteration > 0 and not self.trial)

  @property
  def folder(self) -> str:
    """The name of the network's folder."""
    fold = f"{self.fold}of{self.folds}" if self.folds > 1 else str(self.fold)
    return urllib.parse.quote(
        f"{self.iteration}-{fold}-{self.maker}", safe=" []=,+()#")

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

  def best_value(self, monitor: str) -> float | None:
    """Returns a log of the best epoch; None before the first epoch ends."""
    return (self.epochs[self.best_epoch - 1][monitor] if self.best_epoch
            else None)

  def fail(self, reason: str) -> None:
    """Ends the network for a reason such as "NaN in dense/kernel"."""
    self.ended = _FAILED + reason

  @property
  def error(self) -> str:
    """The reason why the network failed; "" if the network did not fail."""
    return (self.ended.removeprefix(_FAILED)
            if self.ended.startswith(_FAILED) else "")

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
  with atomic_write(path) as temporary:
    temporary.write_text(json.dumps(content))


def absolute_path(directory: Any) -> str | None:
  """Returns the argument `directory` as an absolute path, or None."""
  path = checks.check_folder("directory", directory)
  if path is None:
    return None
  if "://" in path:
    raise ValueError(
        f"directory={path!r}: expected a folder of this machine. Mount the "
        "other file system, or copy the folder there after the search.")
  return os.path.abspath(os.path.expanduser(path))


class TemporaryFolder:
  """A new folder, which goes with this object or with the process."""

  def __init__(self) -> None:
    self.path = tempfile.mkdtemp(prefix="adanet-temporary-")
    weakref.finalize(self, _remove_folder, self.path, os.getpid())

  def __deepcopy__(self, memo):
    return self  # A copy of a search has the same folder.


def _remove_folder(path, process):
  if os.getpid() == process:  # A forked child leaves the folder.
    shutil.rmtree(path, ignore_errors=True)


class Folder:
  """The folder of a network; a damaged file raises a DamagedFileError."""

  def __init__(self, path: pathlib.Path):
    self.path = path

  def _damaged(self, name, error):
    return DamagedFileError(
        f"{str(self.path / name)!r} cannot be read: {messages.one_line(error)}."
        " Remove its folder and call fit again, which trains the network anew.")

  def load(self, model: Any, name: str) -> None:
    """Gives a model the values of a file of weights."""
    try:
      model.load_weights(self.path / name)
    except OSError as error:
      raise self._damaged(name, error) from error

  def save(self, model: Any, best: Any, record: NetworkRecord) -> None:
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
    # A network has ended when its predictions are written.
    self.write_record(dataclasses.replace(record, ended=""))

  def write_weights(self, model: Any, name: str) -> None:
    # Keras looks at the end of the name.
    with atomic_write(self.path / name) as temporary:
      model.save_weights(str(temporary))

  def write_end(self, predictions: HeldOutPredictions,
                record: NetworkRecord) -> None:
    """Writes the other files of a network that has ended, the record last."""
    if record.ended != TIME:
      record.states, record.sizes, record.step = [], [], 0
    arrays = {f"output_{i}": output
              for i, output in enumerate(predictions.outputs)}
    arrays |= {f"mask_{i}": mask for i, mask in enumerate(predictions.masks)
               if mask is not None}
    with atomic_write(self.path / _PREDICTIONS) as temporary:
      np.savez(temporary, structure=json.dumps(predictions.structure), **arrays)
    self.write_record(record)

  def write_record(self, record: NetworkRecord) -> None:
    """Writes the record, and removes files of weights that no record needs."""
    _write_json(self.path / _NETWORK, dataclasses.asdict(record))
    for path in self.path.glob("*-*.weights.h5"):
      if not path.name.startswith(_NEW) and (
          record.ended not in ("", TIME) or
          not path.name.startswith(record.saved_file(""))):
        path.unlink(missing_ok=True)

  def read_record(self) -> NetworkRecord | None:
    """Returns the record of a network, ended or not; None without a record."""
    try:
      return NetworkRecord(**json.loads((self.path / _NETWORK).read_text()))
    except FileNotFoundError:
      return None
    except (OSError, ValueError, TypeError) as error:
      raise self._damaged(_NETWORK, error) from error

  def finished_record(self) -> NetworkRecord | None:
    """Returns the record of a network that needs no training, or None."""
    record = self.predicted_record()
    return None if record is None or record.ended == TIME else record

  def predicted_record(self) -> NetworkRecord | None:
    """Returns the record of a network that an ensemble may have, or None.

    The network may be out of time, and train on in the next call of `fit`.
    """
    record = self.read_record()
    return record if record is not None and record.ended and all(
        (self.path / name).exists() for name in (BEST, _PREDICTIONS)) else None

  def has_state(self, record: NetworkRecord) -> bool:
    """Returns whether a network can resume from a record."""
    return record.ended in ("", TIME) and record.sizes == self._sizes(record)

  def _sizes(self, record):
    paths = [self.path / record.saved_file(name) for name in (LAST, BEST)]
    return [path.stat().st_size if path.exists() else 0 for path in paths]

  def predictions(self) -> HeldOutPredictions:
    """Returns the predictions for the held-out rows."""
    try:
      with np.load(self.path / _PREDICTIONS) as file:
        arrays = dict(file)
    except Exception as error:  # NumPy has another error for each damage.
      raise self._damaged(_PREDICTIONS, error) from error
    count = sum(name.startswith("output_") for name in arrays)
    return HeldOutPredictions(
        json.loads(str(arrays["structure"])),
        [arrays[f"output_{i}"] for i in range(count)],
        [arrays.get(f"mask_{i}") for i in range(count)])


class Directory:
  """The directory of a search."""

  def __init__(self, path: str):
    self.path = pathlib.Path(path)

  def folder(self, key: NetworkKey) -> Folder:
    """Returns the folder of a network."""
    return Folder(self.path / "networks" / key.folder)

  def read(self, name: str = SEARCH) -> dict[str, Any] | None:
    """Returns the content of a JSON file; None without the file.

    Raises:
      ValueError: the file cannot be read, or is that of an Estimator.
    """
    try:
      content = json.loads((self.path / name).read_text())
    except FileNotFoundError:
      return None
    except (OSError, ValueError) as error:
      raise ValueError(f"directory={str(self.path)!r} has no {name} that can "
                       f"be read: {error}. Give another directory.") from error
    if name == SEARCH and "models" not in content:
      raise ValueError(f"directory={str(self.path)!r} has the search of an "
                       "Estimator: expected a new directory.")
    return content

  def write(self, content: dict[str, Any], name: str = SEARCH) -> None:
    """Writes a JSON file."""
    _write_json(self.path / name, content)

  def keys(self) -> list[NetworkKey]:
    """Returns the keys of all networks with files, in order of training."""
    places = {name: i for i, name in enumerate(
        (self.read() or {}).get("models", ()))}
    # A file browser may add files of its own.
    matches = (re.fullmatch(r"(\d+)-(\d+)(?:of(\d+))?-(.+?)(?: #(\d+))?",
                            urllib.parse.unquote(path.name))
               for path in (self.path / "networks").glob("*"))
    return sorted(
        (NetworkKey(int(match[1]), int(match[2]), match[4], int(match[3] or 1),
                    int(match[5] or 0))
         for match in matches if match), key=lambda key: (
             key.iteration, places.get(key.function, len(places)),
             key.function, key.trial, key.fold))

  def monitor(self) -> Monitor:
    return Monitor(*(self.read() or {}).get("monitor", ()))

  def trials(self) -> list[TrialRecord]:
    """Returns all trials that were proposed."""
    content = self.read(_TRIALS) or {"trials": []}
    return [TrialRecord(*from_json(trial)) for trial in content["trials"]]

  def stops(self) -> dict[str, int]:
    """Returns the last iteration of each function whose study has stopped."""
    return (self.read(_TRIALS) or {"stops": {}})["stops"]

  def write_trials(self, trials: list[TrialRecord], stops: dict[str, int]
                  ) -> None:
    self.write({"trials": [list(map(to_json, trial)) for trial in trials],
                "stops": stops}, _TRIALS)

  def study_path(self, function: str, iteration: int) -> pathlib.Path:
    """Returns the path of the study after an iteration was proposed."""
    name = urllib.parse.quote(function, safe=" []=,+()#")
    return self.path / "studies" / f"{name}-{iteration}.pickle"

  def write_study(self, function: str, iteration: int, content: bytes) -> None:
    with atomic_write(self.study_path(function, iteration)) as temporary:
      temporary.write_bytes(content)

  def write_held_out_rows(self, rows: list[np.ndarray | None]) -> None:
    """Writes the numbers of the held-out rows in x, or None, of each fold."""
    with atomic_write(self.path / _ROWS) as temporary:
      with open(temporary, "wb") as file:
        np.savez(file, **{str(fold): numbers for fold, numbers in enumerate(
            rows) if numbers is not None})

  def held_out_rows(self) -> dict[int, np.ndarray]:
    """Returns the numbers of the held-out rows in x by fold."""
    try:
      with np.load(self.path / _ROWS) as file:
        return {int(fold): file[fold] for fold in file}
    except Exception as error:  # NumPy has another error for each damage.
      raise DamagedFileError(
          f"{str(self.path / _ROWS)!r} cannot be read: "
          f"{messages.one_line(error)}. Remove ensemble.json and call fit again "
          "with the original data.") from error

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
      for folder in (self.path, self.path / "studies"):
        remove_unfinished(folder)
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
    return self.is_stopping() and (self.path / "stop").read_text() == TIME
