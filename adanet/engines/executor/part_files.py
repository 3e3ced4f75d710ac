# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of the parts of an iteration, which a driver and its workers share.

    <model_dir>/parts/<iteration>/
      start.json               which driver asked, and from which checkpoint
      search-<driver>          the search to train, the same for all parts
      stop                     asks all parts to stop
      <builder>/               or "<builder>+2" for a part of three builders
        progress.json          how far the part is
        graphs.json            the ops of the part's subnetworks
        result                 the `Result`, when the part is done
        <host>-<process>-<id>/ an attempt: checkpoints and records

A part may run twice, even at the same time. Each run is an attempt with a
separate folder, and begins with the newest checkpoint of all attempts. Shared
files are written whole, and have the same content from each run.
"""

import contextlib
import os
import pickle
import socket
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple
from typing import Optional, Tuple
import urllib.parse
import uuid

from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.core import parts
from adanet.tf_compat import files
from adanet.training import candidates as candidates_lib
from adanet.training import ending as ending_lib
import numpy as np

_FOLDER = "parts"


class _StartFile(NamedTuple):
  """The content of start.json.

  Attributes:
    driver: str, the id of the driver that asks for the parts now.
    checkpoint: str, the name of the parts' first checkpoint, or None.
    arguments: dict, see `PartFiles.begin`.
    before: tuple of str, the ids of drivers before that asked for the same.
  """
  driver: str
  checkpoint: Optional[str]
  arguments: Dict[str, str] = {}
  before: Tuple[str, ...] = ()


class _Graphs(NamedTuple):
  """The content of graphs.json: its driver, and graphs; see `Iteration`."""
  driver: str
  graphs: Dict[str, Dict[str, int]]


class Result(NamedTuple):
  """The result of a part.

  Attributes:
    ending: `Ending`.
    driver: str, the id of the driver that asked.
    max_steps: int, the requested last global step, or None.
    checkpoint: str, the prefix of the part's last checkpoint, relative to the
      folder of the iteration's parts.
    steps: dict from the name of each subnetwork and ensemble to a step.
    losses: dict from the name of each subnetwork and ensemble to the last loss.
    compared: `Comparison` of the candidates; empty without a comparison, or if
      the iteration is not over.
    not_finite: see `Candidates`.
    logits: str, the folder of the `RecordedLogits`, relative too; None if not
      requested.
    averages: dict from the name of each ensemble to the moving average of the
      loss.
    weights: see `recording.mixture_weights`.
    reports: tuple of `MaterializedReport`.
    stopped: tuple of `events.Stopped`.
    seconds: float, the time of all attempts.
    shareable: the names of variables that train outside of AdaNet's scopes.
    is_late: whether the first attempt began after `max_seconds`.
  """
  ending: ending_lib.Ending
  driver: str
  max_steps: Optional[int]
  checkpoint: str
  steps: Dict[str, int]
  losses: Dict[str, float]
  compared: candidates_lib.Comparison
  not_finite: Dict[str, str]
  logits: Optional[str]
  averages: Dict[str, float]
  weights: Dict[str, List[float]]
  reports: Tuple[Any, ...]
  stopped: Tuple[events.Stopped, ...]
  seconds: float
  shareable: Tuple[str, ...] = ()
  is_late: bool = False

  @property
  def runs(self) -> int:
    """The number of steps of the longest training."""
    return max(self.steps.values(), default=0)


def worker_name() -> str:
  """Returns a name for this process: host and process number."""
  return f"{socket.gethostname()}-{os.getpid()}"


def worker_of(attempt: str) -> str:
  """Returns the name of the process that made the folder of an attempt."""
  return os.path.basename(attempt).rpartition("-")[0]


class PartFiles:
  """The files of the parts of one iteration."""

  def __init__(self, model_dir: str, number: int):
    """Reads and writes nothing."""
    self._root = os.path.join(model_dir, _FOLDER)
    self._path = os.path.join(self._root, str(number))

  # The driver's.

  def begin(self, checkpoint: Optional[str], search: bytes,
            arguments: Mapping[str, str]) -> str:
    """Makes the folder, for a new driver.

    Removes parts that began from another checkpoint, and all other iterations.
    Results of drivers with another search do not count.

    Args:
      checkpoint: str, the prefix of the parts' first checkpoint, or None.
      search: bytes, of `part.pickle_search`.
      arguments: dict with the texts of what results depend on; see
        `SearchFingerprint`.

    Returns:
      The id of the driver.
    """
    gfile = tf_compat.v1.io.gfile
    name = checkpoint and os.path.basename(checkpoint)
    start = self._start()
    if start is None or start.checkpoint != name:
      self.remove()
    for file in files.names(self._path):
      if file == "stop" or file.startswith("search-"):
        gfile.remove(os.path.join(self._path, file))
    driver = uuid.uuid4().hex
    before: Tuple[str, ...] = ()
    if start is not None and start.arguments == arguments:
      before = start.before + (start.driver,)
    files.write_bytes(self._search_path(driver), search)
    files.write_json(self._start_path, _StartFile,
                     _StartFile(driver, name, dict(arguments), before))
    return driver

  def drivers(self) -> Tuple[str, ...]:
    """Returns the ids of all drivers of this search, the current one last."""
    start = self._start()
    return start.before + (start.driver,) if start else ()

  def ask_to_stop(self) -> None:
    """Asks all parts to save a checkpoint and to stop."""
    files.write_text(self._stop_path, "")

  def remove(self) -> None:
    """Removes the parts of all iterations."""
    gfile = tf_compat.v1.io.gfile
    if gfile.exists(self._start_path):  # So that running attempts end first.
      gfile.remove(self._start_path)
    files.remove_folder(self._root)

  def begun(self, wanted: Iterable[parts.Part]) -> List[parts.Part]:
    """Returns the wanted parts that a worker has begun."""
    folders = set(files.names(self._path))
    return [part for part in wanted
            if os.path.basename(self._folder(part)) in folders]

  def progress(self, part: parts.Part) -> Optional[events.Progress]:
    """Returns how far a part is, or None."""
    return files.read_json(
        os.path.join(self._folder(part), "progress.json"), events.Progress)

  def graphs(self, part: parts.Part, driver: str
            ) -> Optional[Dict[str, Dict[str, int]]]:
    """Returns the graphs of a part that has begun for a driver, or None."""
    content = files.read_json(
        os.path.join(self._folder(part), "graphs.json"), _Graphs)
    return content.graphs if content and content.driver == driver else None

  # Both's.

  def result(self, part: parts.Part, driver: str,
             max_steps: Optional[int]) -> Optional[Result]:
    """Returns the `Result` of a part; None if the part is not done.

    A part that a hook stopped is not done for the next driver. The result of
    another search does not count: the part resumes from the last checkpoint.

    Args:
      part: `Part`.
      driver: str, the id of the driver that asks.
      max_steps: int, the last global step, or None.
    """
    gfile = tf_compat.v1.io.gfile
    path = self._result_path(part)
    if not gfile.exists(path):
      return None
    try:
      with gfile.GFile(path, "rb") as f:
        result = pickle.loads(f.read())
    except Exception:  # pylint: disable=broad-except
      return None  # Of another version: it is trained again.
    if result.driver == driver:
      return result
    endings = ending_lib.Ending
    is_done = result.ending in (
        endings.ITERATION_OVER, endings.INPUT_ENDED) or (
            result.ending == endings.MAX_STEPS and
            result.max_steps == max_steps)
    return result if is_done and result.driver in self.drivers() else None

  def attempts(self, part: parts.Part) -> List[str]:
    """Returns the folders of all attempts."""
    gfile = tf_compat.v1.io.gfile
    folder = self._folder(part)
    if not gfile.isdir(folder):
      return []
    paths = [os.path.join(folder, name.rstrip("/"))
             for name in sorted(gfile.listdir(folder))]
    return [path for path in paths if gfile.isdir(path)]

  def absolute(self, path: str) -> str:
    """Returns the path of a file that a `Result` names."""
    return os.path.join(self._path, path)

  def relative(self, path: str) -> str:
    """Returns the path of a file for a `Result`."""
    return path[len(self._path) + 1:]

  # A part's.

  def driver(self) -> Optional[str]:
    """Returns the id of the driver that asks for the parts now, or None."""
    start = self._start()
    return start and start.driver

  def search(self, driver: str) -> bytes:
    """Returns the search that a driver gave to `begin`.

    Raises:
      tf.errors.NotFoundError: a later driver has begun, or the parts are done.
    """
    with tf_compat.v1.io.gfile.GFile(self._search_path(driver), "rb") as f:
      return f.read()

  def is_wanted(self, driver: str) -> bool:
    """Returns whether a driver waits for the parts, and asks for no stop.

    Args:
      driver: str, the id of the driver. A restarted driver has a new id.
    """
    return self.driver() == driver and not tf_compat.v1.io.gfile.exists(
        self._stop_path)

  def remove_attempt(self, attempt: str) -> None:
    """Removes the folder of an attempt if no driver needs the attempt.

    Also removes the folders above, which a late file may have made again.
    """
    if tf_compat.v1.io.gfile.exists(self._start_path):
      return
    for path in (attempt, self._path):
      files.remove_folder(path)
    with contextlib.suppress(OSError):  # It has other iterations' parts.
      os.rmdir(self._root)

  def newest_checkpoint(self, part: parts.Part) -> Optional[str]:
    """Returns the prefix of the newest whole checkpoint of all attempts."""
    readable = []
    for attempt in self.attempts(part):
      folder = model_dir_lib.ModelDir(attempt)
      try:
        checkpoint = folder.latest_checkpoint()
        if checkpoint is not None:
          checkpoints.check_readable(checkpoint)
          readable.append((folder.global_step(checkpoint), checkpoint))
      except checkpoints.CheckpointError:
        continue  # It runs elsewhere, or was cut off.
    return max(readable)[1] if readable else None

  def new_attempt(self, part: parts.Part) -> str:
    """Makes the folder of a new attempt, and returns the path."""
    path = os.path.join(
        self._folder(part), f"{worker_name()}-{uuid.uuid4().hex[:8]}")
    tf_compat.v1.io.gfile.makedirs(path)
    return path

  def write_progress(self, part: parts.Part,
                     progress: events.Progress) -> None:
    """Writes how far a part is."""
    files.write_json(os.path.join(self._folder(part), "progress.json"),
                     events.Progress, progress)

  def write_graphs(self, part: parts.Part, driver: str,
                   graphs: Dict[str, Dict[str, int]]) -> None:
    """Writes the ops of the subnetworks of a part.

    Args:
      part: `Part`.
      driver: str, the id of the driver that asks for the part.
      graphs: the graphs of the part's `Iteration`.
    """
    files.write_json(os.path.join(self._folder(part), "graphs.json"),
                     _Graphs, _Graphs(driver, graphs))

  def write_result(self, part: parts.Part, result: Result) -> None:
    """Writes the result of a part, which is then done."""
    files.write_bytes(self._result_path(part), pickle.dumps(result))

  # Paths.

  @property
  def _start_path(self):
    return os.path.join(self._path, "start.json")

  @property
  def _stop_path(self):
    return os.path.join(self._path, "stop")

  def _search_path(self, driver):
    return os.path.join(self._path, f"search-{driver}")

  def _start(self):
    return files.read_json(self._start_path, _StartFile)

  def _folder(self, part):
    name = urllib.parse.quote(part_name(part), safe="+")
    if name in ("stop", "start.json") or name.startswith("search-"):
      name = f"%{ord(name[0]):X}{name[1:]}"  # Another file has this name.
    return os.path.join(self._path, name)

  def _result_path(self, part):
    return os.path.join(self._folder(part), "result")


def part_name(part: parts.Part) -> str:
  """Returns the name of a part, for messages and folders."""
  return part[0] if len(part) == 1 else f"{part[0]}+{len(part) - 1}"


_Results = Mapping[parts.Part, Result]


def check_nothing_is_shared(
    number: int, results: _Results,
    read: Callable[[Result, str], Any]) -> None:
  """Checks that no two parts have trained copies of the same variable.

  Args:
    number: int, the iteration's.
    results: dict from each `Part` to the `Result`.
    read: function from a `Result` and the name of a variable to the value.

  Raises:
    ValueError: two parts have trained the same variable.
  """
  owners: Dict[str, List[parts.Part]] = {}
  for part, result in results.items():
    for name in result.shareable:
      owners.setdefault(name, []).append(part)
  for name, owning in owners.items():
    if len(owning) == 1:
      continue
    first, *others = (read(results[part], name) for part in owning)
    if not all(np.array_equal(first, other) for other in others):
      sharing = map(part_name, owning)
      raise ValueError(
          f"iteration {number}: the builders {', '.join(map(repr, sharing))} "
          f"share the variable {name!r}, and on an executor each trains its "
          "own copy: give each builder its own, or train in one process")


def may_be_compared(results: _Results) -> bool:
  """Returns whether all candidates were evaluated on the same data."""
  first, *others = (result.compared for result in results.values())
  return all(map(first.may_be_compared_with, others))


def longest_first(results: _Results) -> List[Result]:
  """Returns results, beginning with the part that took the most steps.

  All parts have the previous ensemble. The values of the longest part count: a
  single process, too, runs the previous ensemble until the last subnetwork is
  done.
  """
  return sorted(results.values(), key=lambda result: -result.runs)


def of_first(results: _Results, get: Callable[
    [Result], Mapping[str, Any]]) -> Dict[str, Any]:
  """Returns the union of the dicts of all results; see `longest_first`."""
  merged = {name: None for result in results.values() for name in get(result)}
  for result in reversed(longest_first(results)):
    merged.update(get(result))
  return merged
