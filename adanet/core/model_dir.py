# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of a `model_dir`: names and contents.

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

Except search.json and logits/, the names are AdaNet 0.8's. The path may be on
any file system that TensorFlow knows.
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
    message: str; "" if not known.
    step: int, the number of training steps; 0 if not known.
  """
  message: str
  step: int = 0


def _read_note(path):
  """Returns the note in a file."""
  return files.read_json(
      path, _StopNote, skips_unknown=True) or _StopNote("")


class ModelDir:
  """A `model_dir`. The constructor reads and writes nothing.

  Methods that read a checkpoint raise a `checkpoints.CheckpointError` if the
  checkpoint is broken, or not AdaNet's.
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
    """The prefix for a Saver of a step, which adds "-<global step>"."""
    return os.path.join(self._path, "model.ckpt")

  @property
  def increment_checkpoint_path(self) -> str:
    """The prefix for the Saver at the begin of an iteration; adds "-<t>"."""
    return os.path.join(self._path, "increment.ckpt")

  @property
  def report_dir(self) -> str:
    """The default folder of the report file."""
    return os.path.join(self._path, "report")

  # Architectures.

  def architecture_path(self, iteration_number: int) -> str:
    return os.path.join(self._path, f"architecture-{iteration_number}.json")

  def architecture(
      self, iteration_number: int) -> Optional[architecture_lib.Architecture]:
    """Returns the winner of an iteration; None if the file is absent.

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
    """Returns the prefix of the latest checkpoint, or None.

    Raises:
      checkpoints.CheckpointError: the file "checkpoint" names a checkpoint that
        does not exist.
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
      ValueError: the folder has no checkpoint.
    """
    checkpoint = self.latest_checkpoint()
    if checkpoint is None:
      raise ValueError(
          f"model_dir {self.path!r} has no checkpoint: train first, or "
          "give the folder of a search that was trained")
    return checkpoint

  @contextlib.contextmanager
  def trains_here(self) -> Iterator[None]:
    """Lets hooks of this process ask for the contents while training."""
    path = files.real_path(self.path)
    _TRAIN_HERE.append(path)
    try:
      yield
    finally:
      _TRAIN_HERE.remove(path)

  def answering_checkpoint(self, path: Optional[str] = None) -> Optional[str]:
    """Returns the prefix of the checkpoint that answers.

    Args:
      path: the user's `checkpoint_path`, possibly of step 0; or None.

    Returns:
      The prefix. While this process trains, the checkpoint may be of step 0, or
      None for initial values, as in AdaNet.

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
    """Returns how many batches had been read at a checkpoint of the folder.

    Returns:
      Dict from the name of an input to a number. Empty if the input begins
      anew, because training ended as asked, or noted no position.
    """
    return self._input_positions().get(os.path.basename(checkpoint), {})

  def write_input_position(self, checkpoint: str,
                           position: Mapping[str, int]) -> None:
    """Notes how many batches have been read at a checkpoint.

    To call before the checkpoint is saved: a kill in between leaves a note
    without a checkpoint, which the next checkpoint with the name replaces.
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
    """Lets the input begin anew in the next training."""
    gfile = tf_compat.v1.io.gfile
    if gfile.exists(self._input_path):
      gfile.remove(self._input_path)

  # Candidates that train no further.

  def _stopped_dir(self, iteration_number):
    return os.path.join(self._path, "train_manager", f"t{iteration_number}")

  def stopped(self, iteration_number: int,
              steps: Optional[Mapping[str, int]] = None) -> Dict[str, str]:
    """Returns why subnetworks and ensembles train no further, by name.

    An unfinished file counts, too, as in AdaNet 0.8, with the reason "".

    Args:
      steps: from a name to the current step. A note of a later step does not
        count: the last checkpoint was restored since.
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
      message: str, the reason. The first note stays, unless a restored
        checkpoint has undone the step of the note.
    """
    path = os.path.join(self._stopped_dir(iteration_number), f"{name}.json")
    if (not tf_compat.v1.io.gfile.exists(path) or _read_note(path).step > step):
      files.write_json(path, _StopNote, _StopNote(message, step))

  def forget_stops(self, iteration_number: int, steps: Mapping[str, int],
                   limit: Optional[int]) -> None:
    """Removes notes that do not hold when training goes on.

    Notes of later steps go, because the steps are trained again and may not end
    the training again. A kept note would stop a training that is resumed behind
    the step. Notes of a lower `max_iteration_steps` go, too.

    Args:
      steps: dict from the names of subnetworks and ensembles to the steps in
        the checkpoint.
      limit: int, the `max_iteration_steps` of the search, or None.
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

    The global step counts subnetworks only. On a cluster, ensembles may have
    trained less than subnetworks when a checkpoint is saved.
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
    """Removes the unfinished files of a killed process.

    Only the owner of the folder may call the method.
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
