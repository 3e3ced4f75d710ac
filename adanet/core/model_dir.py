# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of a `model_dir`: their names and their contents.

    <model_dir>/
      checkpoint, model.ckpt-<step>.*     TensorFlow's checkpoints; a second one
                                          of a global step is ...-<step>.1
      increment.ckpt-<t>.*                the checkpoint that begins iteration t
      graph.pbtxt                         the graph, to look at
      architecture-<t>.json               the winner of iteration t
      search.json                         the fingerprint of the search
      train_manager/t<t>/<name>.json      why <name> trains no further
      input.json                          how far the input was at checkpoints,
                                          until training ends as asked
      cluster/                            files of the tasks of a cluster
      logits/                             what networks gave for the evaluator's
                                          data, for fitted ensembles
      report/iteration_reports.tfrecord   the reports of the builders
      assets/<subnetwork>/                files of a builder
      subnetwork/<name>/, ensemble/<name>/, eval/   TensorBoard's curves

But for search.json and logits/, these are the names of AdaNet 0.8. A path may
be that of any file system that TensorFlow knows.
"""

import contextlib
import fnmatch
import os
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional

from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import events
from adanet.tf_compat import files

# Ours, and TensorFlow's before it renames them: the parts of a checkpoint,
# and the file "checkpoint".
_TEMPORARY_PATTERNS = (
    files.TEMPORARY_PATTERN, "*.ckpt-*_temp*", "*.ckpt-*.tempstate*",
    "checkpoint.tmp*")

# The folders in which this process trains now.
_TRAIN_HERE: List[str] = []


class _StopNote(NamedTuple):
  """Why something trains no further.

  Attributes:
    message: str; "" if it is not known.
    step: int, how often it was trained; 0 if that is not known.
  """
  message: str
  step: int = 0


def _read_note(path):
  """Returns the note in a file."""
  return files.read_json(
      path, _StopNote, skips_unknown=True) or _StopNote("")


class ModelDir:
  """One `model_dir`. Making this value reads and writes nothing.

  Methods that read a checkpoint raise a `checkpoints.CheckpointError` if it is
  broken, or not AdaNet's.
  """

  def __init__(self, path: str):
    """Reads nothing: the folder need not exist."""
    self._path = path

  @property
  def path(self) -> str:
    return self._path

  # Names.

  @property
  def checkpoint_path(self) -> str:
    """The prefix for a Saver of a step: it adds "-<global step>"."""
    return os.path.join(self._path, "model.ckpt")

  @property
  def increment_checkpoint_path(self) -> str:
    """The prefix for the Saver that begins an iteration: it adds "-<t>"."""
    return os.path.join(self._path, "increment.ckpt")

  @property
  def report_dir(self) -> str:
    """The folder of the report file, unless the user gave another one."""
    return os.path.join(self._path, "report")

  # Architectures.

  def architecture_path(self, iteration_number: int) -> str:
    return os.path.join(self._path, f"architecture-{iteration_number}.json")

  def architecture(
      self, iteration_number: int) -> Optional[architecture_lib.Architecture]:
    """Returns the winner of an iteration; None if its file is absent.

    Raises:
      architecture.ArchitectureError: the file is corrupt.
    """
    path = self.architecture_path(iteration_number)
    text = files.read_text(path)
    if text is None:
      return None
    return architecture_lib.Architecture.from_json(text, path)

  def write_architecture(self, iteration_number: int,
                         architecture: architecture_lib.Architecture) -> None:
    files.write_text(
        self.architecture_path(iteration_number), architecture.to_json())

  # Checkpoints.

  def latest_checkpoint(self) -> Optional[str]:
    """Returns the prefix of the latest checkpoint; None if there is none.

    Raises:
      checkpoints.CheckpointError: the file "checkpoint" names one that is not
        there.
    """
    return checkpoints.latest(self._path)

  def current_iteration(self, checkpoint: Optional[str]) -> int:
    """Returns the iteration of a checkpoint; 0 for None."""
    return checkpoints.integer(checkpoint, "current_iteration")

  def global_step(self, checkpoint: Optional[str]) -> int:
    """Returns the global step of a checkpoint; 0 for None."""
    return checkpoints.integer(checkpoint, "global_step")

  def saved_checkpoint(self) -> str:
    """Returns the prefix of the latest checkpoint.

    Raises:
      ValueError: there is none.
    """
    checkpoint = self.latest_checkpoint()
    if checkpoint is None:
      raise ValueError(
          f"model_dir {self.path!r} has no checkpoint: train first, or "
          "give the folder of a search that was trained")
    return checkpoint

  @contextlib.contextmanager
  def trains_here(self) -> Iterator[None]:
    """Within this, this process trains, and hooks may ask for its contents."""
    path = files.real_path(self.path)
    _TRAIN_HERE.append(path)
    try:
      yield
    finally:
      _TRAIN_HERE.remove(path)

  def answering_checkpoint(self, path: Optional[str] = None) -> Optional[str]:
    """Returns the prefix of the checkpoint that answers.

    Args:
      path: the `checkpoint_path` that a user gave, also one of step 0.

    Returns:
      The prefix. While this process trains, it may be that of step 0, or None
      for initial values, as in AdaNet.

    Raises:
      ValueError: nothing was trained.
    """
    if path:
      return path
    if files.real_path(self.path) in _TRAIN_HERE:
      return self.latest_checkpoint()
    checkpoint = self.saved_checkpoint()
    if not self.is_trained(checkpoint):
      raise ValueError(
          f"model_dir {self.path!r} has only the checkpoint of step 0: "
          "train first, or ask for initial weights on purpose, by "
          f"checkpoint_path={checkpoint!r}")
    return checkpoint

  def is_trained(self, checkpoint: str) -> bool:
    """Returns whether a checkpoint has more than initial values."""
    return self.current_iteration(checkpoint) > 0 or any(
        checkpoints.integers(
            checkpoint, "adanet/iteration_0/(.+)/step").values())

  # How far the input was.

  @property
  def _input_path(self):
    return os.path.join(self._path, "input.json")

  def _input_positions(self):
    """Returns the data of `write_input_position`, by checkpoint's name."""
    return files.read_json(self._input_path, Dict[str, Dict[str, int]]) or {}

  def input_position(self, checkpoint: str) -> Dict[str, int]:
    """Returns how many batches had been read at a checkpoint of this folder.

    Returns:
      Dict from the name of an input to a number. It is empty where the input is
      to begin: training ended as asked, or did not say.
    """
    return self._input_positions().get(os.path.basename(checkpoint), {})

  def write_input_position(self, checkpoint: str,
                           position: Mapping[str, int]) -> None:
    """Notes how many batches have been read at a checkpoint.

    Call it before the checkpoint is saved: a kill in between leaves a note
    about nothing, which the next checkpoint of this name replaces.
    """
    noted = self._input_positions()
    kept = {name: value for name, value in noted.items()
            if tf_compat.v1.io.gfile.exists(
                os.path.join(self._path, name + ".index"))}
    kept.pop(os.path.basename(checkpoint), None)
    if any(position.values()):
      kept[os.path.basename(checkpoint)] = dict(position)
    if kept != noted:
      files.write_json(self._input_path, Dict[str, Dict[str, int]], kept)

  def forget_input_positions(self) -> None:
    """Lets the input begin from its start in the next training."""
    gfile = tf_compat.v1.io.gfile
    if gfile.exists(self._input_path):
      gfile.remove(self._input_path)

  # Candidates that train no further.

  def _stopped_dir(self, iteration_number):
    return os.path.join(self._path, "train_manager", f"t{iteration_number}")

  def stopped(self, iteration_number: int,
              steps: Optional[Mapping[str, int]] = None) -> Dict[str, str]:
    """Returns why things train no further in an iteration, by their names.

    The names are of subnetworks and ensembles. A file that its writer did
    not finish counts too, as in AdaNet 0.8; its reason is "".

    Args:
      steps: from a name to how often it was trained by now. A note of a
        later step does not count: the last checkpoint was restored since.
    """
    folder = self._stopped_dir(iteration_number)
    reasons = {}
    for file in files.names(folder):
      name, extension = os.path.splitext(file)
      if extension == ".json":
        note = _read_note(os.path.join(folder, file))
        if steps is None or note.step <= steps.get(name, note.step):
          reasons[name] = note.message
    return reasons

  def mark_stopped(self, iteration_number: int, name: str, message: str,
                   step: int = 0) -> None:
    """Notes that a subnetwork or ensemble trains no further in an iteration.

    Args:
      name: str, the name of the subnetwork or ensemble.
      message: str, why. The first reason that was noted stays, unless it was of
        a later step, which a restored checkpoint took back.
      step: int, how often it was trained by now.
    """
    path = os.path.join(self._stopped_dir(iteration_number), f"{name}.json")
    if (not tf_compat.v1.io.gfile.exists(path) or _read_note(path).step > step):
      files.write_json(path, _StopNote, _StopNote(message, step))

  def forget_stops(self, iteration_number: int, steps: Mapping[str, int],
                   limit: Optional[int]) -> None:
    """Removes notes that do not hold when training goes on.

    These are notes of later steps, which are to be trained again: another time
    it may not stop there, and the note would stop it when training is resumed
    behind that step. And notes of a `max_iteration_steps` that was lower.

    Args:
      steps: dict from the names of subnetworks and ensembles to how often each
        was trained in the checkpoint.
      limit: int, the `max_iteration_steps` of this search, or None.
    """
    folder = self._stopped_dir(iteration_number)
    for file in files.names(folder):
      name, extension = os.path.splitext(file)
      path = os.path.join(folder, file)
      if extension != ".json" or name not in steps:
        continue
      note = _read_note(path)
      is_below = note.message == events.at_limit(note.step) and (
          limit is None or note.step < limit)
      if note.step > steps[name] or is_below:
        with contextlib.suppress(tf_compat.v1.errors.NotFoundError):
          tf_compat.v1.io.gfile.remove(path)

  def has_ensembles_behind(self, checkpoint: Optional[str]) -> bool:
    """Returns whether ensembles may have to train on, at any global step.

    The global step counts subnetworks only. On a cluster ensembles may have
    trained less than these when a checkpoint is saved.
    """
    if checkpoint is None:
      return False
    number = self.current_iteration(checkpoint)
    subnetworks, ensembles = (
        checkpoints.integers(
            checkpoint, f"adanet/iteration_{number}/{kind}_(.+)/step")
        for kind in ("subnetwork", "ensemble"))
    furthest = max(subnetworks.values(), default=0)
    stopped = self.stopped(number, ensembles)
    return any(step < furthest for name, step in ensembles.items()
               if name not in stopped)

  # Leftovers.

  def remove_temporary_files(self) -> None:
    """Removes the unfinished files of a process that died.

    Only the process that owns the folder may call this.
    """
    gfile = tf_compat.v1.io.gfile
    stopped = os.path.join(self._path, "train_manager")
    cluster = os.path.join(self._path, "cluster")
    for folder in [self._path, self.report_dir, cluster] + [
        os.path.join(stopped, name) for name in files.names(stopped)]:
      for name in files.names(folder):
        if any(fnmatch.fnmatch(name, p) for p in _TEMPORARY_PATTERNS):
          path = os.path.join(folder, name)
          if gfile.isdir(path):
            gfile.rmtree(path)
          else:
            gfile.remove(path)
