# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Saves checkpoints and graphs in a model_dir while an iteration trains.

The graph is in the same files as with `tf.estimator`:

    <model_dir>/graph.pbtxt         as text
    <model_dir>/<checkpoint>.meta   for `tf.train.import_meta_graph`
    <model_dir>/events.*            for TensorBoard's page "Graphs"

An input_fn may hold all data in the graph, and the files are written often, so
that the files have a placeholder for each large constant. TensorFlow cannot
write a graph of more than 2 GB, which is in no file.
"""

import os
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from adanet import log as logging
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import event_files
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import files
from google.protobuf import message

_InputPosition = Callable[[Any], Dict[str, int]]
_RETRY_SECS = 10  # After the disk was full.
_LARGE_BYTES = 1 << 20  # Of a constant in a graph.


class DiskFullError(RuntimeError):
  """A checkpoint does not fit on the disk."""


def _graph_def(graph):
  """Returns the `GraphDef` of a graph, without large constants."""
  graph_def = graph.as_graph_def(add_shapes=True)
  for node in graph_def.node:
    if node.op == "Const" and node.attr["value"].ByteSize() > _LARGE_BYTES:
      node.op = "Placeholder"  # Of the same type and shape.
      node.attr["shape"].shape.CopyFrom(
          node.attr["value"].tensor.tensor_shape)
      del node.attr["value"]
  return graph_def


class GraphFiles:
  """Writes the files of the default graph.

  On a full disk, the graph is lost, with a warning. Serializing a large graph
  takes seconds, and is done once.
  """

  def __init__(self, model_dir: str, saver: Any):
    """Writes nothing yet."""
    self._model_dir = model_dir
    self._saver = saver
    self._graph = tf_compat.v1.get_default_graph()
    self._content: Optional[bytes] = None
    self._is_written = False

  def _meta_graph(self):
    """Returns the serialized `MetaGraphDef`; empty for a too large graph."""
    if self._content is None:
      try:
        graph_def = _graph_def(self._graph)
      except (ValueError, message.DecodeError):
        logging.warning(
            "The graph has more than 2 GB, so %s gets no graph.pbtxt and no "
            ".meta files. With adanet.inputs the data stays out of the graph.",
            self._model_dir)
        self._content = b""
        return self._content
      with self._graph.as_default():
        self._content = tf_compat.v1.train.export_meta_graph(
            graph_def=graph_def,
            saver_def=self._saver.as_saver_def()).SerializeToString()
    return self._content

  def _write(self, path, content):
    try:
      files.write_bytes(path, content)
    except tf_compat.v1.errors.OpError as error:
      if not files.is_disk_full(error):
        raise
      logging.warning("%s is not written: the disk is full.", path)

  def write_beside(self, checkpoint: str) -> None:
    """Writes the file of a checkpoint."""
    if self._meta_graph():
      self._write(checkpoint + ".meta", self._meta_graph())

  def write(self, writer: event_files.SummaryWriter) -> None:
    """Writes the text, and TensorBoard's graph; later calls do nothing."""
    if self._is_written or not self._meta_graph():
      return
    self._is_written = True
    meta_graph = tf_compat.v1.MetaGraphDef.FromString(self._meta_graph())
    writer.add_graph(meta_graph)
    # `str` is the text, in any order of attributes: `text_format` takes seven
    # times as long.
    self._write(os.path.join(self._model_dir, "graph.pbtxt"),
                str(meta_graph.graph_def).encode())


class Saver:
  """Saves nothing: of all workers, only the chief writes checkpoints.

  Create this object before hooks begin: like the hooks of `tf.estimator`, hooks
  use a saver in the default graph.
  """

  def __init__(self, **options: Any):
    """Adds a saver to the default graph.

    Args:
      **options: arguments of `tf.train.Saver`.
    """
    self._saver = checkpoint_file.new_saver(self._save_for_hook, **options)

  def _save_for_hook(self, session, prefix, global_step):
    """Saves at the request of a user's hook."""

  def build(self) -> None:
    """Creates the ops, when the graph is complete."""

  def is_due(self, global_step: int) -> bool:
    """Returns whether the config asks for a checkpoint now."""
    del global_step
    return False

  def save(self, session: Any) -> bool:
    """Saves a checkpoint, unless nothing has trained since the last save.

    A full disk does not stop training: a warning is logged, and a later call
    tries again.

    Returns:
      Whether a listener asks to stop training.
    """
    del session
    return False

  def end(self, session: Any, end_hooks: Callable[[], None]) -> None:
    """Saves the last checkpoint, and ends the listeners, then the hooks.

    The save is first, so that hooks read the trained values, and an error of a
    hook loses nothing.
    """
    del session
    end_hooks()


class CheckpointSaver(Saver):
  """Saves the variables of the default graph.

  The global step does not show all progress: when the subnetworks of an
  iteration are done, ensembles may train on. The steps of all trainees show
  whether there is something to save.

  The run that reads these steps also stores the global step that follows from
  the steps: on a cluster, other tasks train between the last run of the loop
  and a save. The checkpoint, its name, the listeners and the report have the
  same global step.

  A hook may also save in the same folder. Then neither the hook nor this saver
  saves a step twice, and each calls only the listeners that it was given.

  Attributes:
    checkpoint: str, the prefix of the last checkpoint that was saved, or of the
      checkpoint that training resumed from; None before.
    graph_files: `GraphFiles` of the default graph, when the graph is complete.
  """
  graph_files: GraphFiles

  def __init__(self, model_dir: model_dir_lib.ModelDir, config: Any,
               steps: Sequence[Any], global_step: Any, report: events.Report,
               wait_for_space: Callable[[str], None],
               listeners: Sequence[Any] = (),
               input_position: _InputPosition = lambda session: {},
               search_dir: Optional[str] = None):
    """Begins the listeners.

    Args:
      config: RunConfig, with the frequency and the number of checkpoints.
      steps: the variables with the steps of all trainees of all tasks.
      global_step: tensor that stores and returns the global step that follows
        from `steps`.
      report: called with a `CheckpointSaved` for each checkpoint.
      wait_for_space: called with the problem, repeatedly while a necessary
        checkpoint does not fit on the disk. Sleeps, and raises an error after
        the longest wait.
      input_position: function from a session to the result of `input_position`
        of a `ModelDir`.
      search_dir: str, the model_dir of the whole search. A hook's checkpoints
        for `search_dir` are saved in `model_dir`.
    """
    super().__init__(
        sharded=True, max_to_keep=config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours)
    checkpoint_file.recover(self._saver, model_dir.path)
    self._model_dir = model_dir
    self._every_steps = config.save_checkpoints_steps
    self._every_secs = config.save_checkpoints_secs
    self._listeners = listeners
    self._report = report
    self._wait_for_space = wait_for_space
    self._input_position = input_position
    self._hook_dirs = [os.path.abspath(path) for path in (
        model_dir.path, search_dir or model_dir.path)]
    self._steps = steps
    self._global_step = global_step
    self.checkpoint: Optional[str] = None
    self.is_stop_asked = False  # By a listener, with the last checkpoint.
    self._saved_steps: Optional[List[int]] = None
    self._told_steps: Optional[List[int]] = None
    self._told_global_step: Optional[int] = None
    self._told_time = time.time()
    self._next_try = 0.
    for listener in listeners:
      listener.begin()

  def build(self) -> None:
    """Creates the ops, when the graph is complete."""
    self._saver.build()
    self.graph_files = GraphFiles(self._model_dir.path, self._saver)
    self._read_steps = tf_compat.v1.stack(
        [step.read_value() for step in self._steps])

  def is_due(self, global_step: int) -> bool:
    """Returns whether the config asks for a checkpoint now."""
    if time.time() < self._next_try:
      return False
    if self._every_steps and self._told_global_step is not None:
      return global_step >= self._told_global_step + self._every_steps
    return bool(self._every_secs and
                time.time() >= self._told_time + self._every_secs)

  def _new_path(self, prefix, global_step):
    """Returns the path of a checkpoint that does not exist yet.

    Files that other processes may read are never written again.
    """
    first = path = f"{prefix}-{global_step}"
    number = 0
    while tf_compat.v1.io.gfile.exists(path + ".index"):
      number += 1
      path = f"{first}.{number}"
    return path

  def _write(self, session, path):
    tf_compat.v1.io.gfile.makedirs(self._model_dir.path)
    try:
      self._model_dir.write_input_position(path, self._input_position(session))
      self._saver.write(session, path)
    except tf_compat.v1.errors.OpError as error:
      if not files.is_disk_full(error):
        raise
      self._model_dir.remove_temporary_files()
      raise DiskFullError(
          f"the disk of model_dir {self._model_dir.path!r} is full: {path} "
          "cannot be saved. Free some space") from error
    self.graph_files.write_beside(path)

  def _write_surely(self, session, path):
    """Writes a checkpoint that training needs to continue."""
    while True:
      try:
        return self._write(session, path)
      except DiskFullError as error:
        self._wait_for_space(str(error))

  def _read(self, session):
    """Returns the steps, and the global step, which the run stores."""
    steps, global_step = session.run((self._read_steps, self._global_step))
    return steps.tolist(), int(global_step)

  def _note_told(self, steps, global_step):
    self._told_steps = steps
    self._told_global_step = global_step
    self._told_time = time.time()

  def begin_iteration(self, session: Any, number: int) -> None:
    """Saves the checkpoint with which an iteration after the first begins."""
    path = f"{self._model_dir.increment_checkpoint_path}-{number}"
    steps, global_step = self._read(session)
    self._save_new(session, path, steps, global_step, self._write_surely)
    self._note_told(steps, global_step)

  def go_on_from(self, checkpoint: str) -> None:
    """Sets the checkpoint of the iteration that training resumes from.

    Args:
      checkpoint: str, the prefix. The variables may have more steps by now.
    """
    names = [step.op.name for step in self._steps]
    steps = checkpoints.values(checkpoint, names)
    self.checkpoint = checkpoint
    self._saved_steps = [int(steps[name]) for name in names]
    self._note_told(
        self._saved_steps, self._model_dir.global_step(checkpoint))

  def _save_new(self, session, path, steps, global_step, write):
    """Saves a checkpoint of some steps, unless the last save has the same."""
    if steps == self._saved_steps:
      return
    write(session, path)
    self.checkpoint = path
    self._saved_steps = steps
    self._report(events.CheckpointSaved(path, global_step))

  def _save(self, session, listeners, write, prefix=None):
    # Other tasks may train meanwhile. The checkpoint is then further than this,
    # and the next call saves again.
    steps, global_step = self._read(session)
    if steps == self._told_steps:
      return False
    for listener in listeners:
      listener.before_save(session, global_step)
    path = self._new_path(
        prefix or self._model_dir.checkpoint_path, global_step)
    self._save_new(session, path, steps, global_step, write)
    self._note_told(steps, global_step)
    # Every listener is told, also when one asks to stop.
    self.is_stop_asked = any([listener.after_save(session, global_step)
                              for listener in listeners])
    return self.is_stop_asked

  def _warn_if_full(self, save):
    """Calls a function that saves; a full disk is no reason to stop."""
    try:
      return save()
    except DiskFullError as error:
      logging.warning("%s. Training goes on, and tries again in %d s.", error,
                      _RETRY_SECS)
      self._next_try = time.time() + _RETRY_SECS
      return False

  def save(self, session: Any) -> bool:
    """Saves a checkpoint; see `Saver`."""
    return self._warn_if_full(lambda: self._save(
        session, self._listeners, self._write))

  def save_or_fail(self, session: Any) -> None:
    """Saves a checkpoint now; raises a `DiskFullError` on a full disk."""
    self._save(session, self._listeners, self._write)

  def _save_for_hook(self, session, prefix, global_step):
    folder, name = os.path.split(prefix)
    if os.path.abspath(folder) not in self._hook_dirs:
      self._save_elsewhere(session, folder, prefix)
    else:
      self._warn_if_full(lambda: self._save_here(
          session, os.path.join(self._model_dir.path, name), global_step))

  def _save_here(self, session, prefix, hook_step):
    del hook_step
    steps, global_step = self._read(session)
    self._save_new(session, self._new_path(prefix, global_step), steps,
                   global_step, self._write)

  def _save_elsewhere(self, session, folder, prefix):
    _, global_step = self._read(session)
    path = self._new_path(prefix, global_step)
    checkpoint_file.recover(self._saver, folder)
    try:
      self._saver.write(session, path)
      self.graph_files.write_beside(path)
    finally:
      checkpoint_file.recover(self._saver, self._model_dir.path)

  def end(self, session: Any, end_hooks: Callable[[], None]) -> None:
    """Ends the listeners and the hooks; see `Saver`.

    Waits for space on a full disk.
    """
    self._save(session, self._listeners, self._write_surely)
    for listener in self._listeners:
      listener.end(session, self._told_global_step)
    end_hooks()


class HookedSaver(CheckpointSaver):
  """Saves when a user's hooks say so, not the config, as `tf.estimator` does.

  The hooks call their listeners. A search continues from the checkpoint at the
  end of an iteration. If no hook saves this checkpoint, this saver does. A hook
  may also save in another folder.
  """

  def __init__(self, hooks: Sequence[Any], **arguments: Any):
    """Prepares to save.

    Args:
      **arguments: of `CheckpointSaver`, but `listeners`: the hooks call theirs.
    """
    super().__init__(**arguments)
    self._listeners = [listener for hook in hooks
                       for listener in checkpoint_file.saver_listeners(hook)]
    self._hook_step: Optional[int] = None

  def is_due(self, global_step: int) -> bool:
    """Returns False: the hooks know."""
    return False

  def _save_here(self, session, prefix, hook_step):
    self._hook_step = hook_step
    self._save(session, (), self._write, prefix)

  def save(self, session: Any) -> bool:
    """Saves the first checkpoint. The hooks call the listeners."""
    return self._warn_if_full(lambda: self._save(session, (), self._write))

  def end(self, session: Any, end_hooks: Callable[[], None]) -> None:
    """Ends the hooks, and saves the last checkpoint if the hooks do not.

    At the end, a hook saves if the global step has changed since the last save.
    """
    before = self.checkpoint
    _, global_step = self._read(session)
    if self._hook_step in (None, global_step):
      self._save(session, self._listeners, self._write_surely)
    try:
      end_hooks()
    finally:
      if self.checkpoint == before:
        self._save(session, (), self._write_surely)
