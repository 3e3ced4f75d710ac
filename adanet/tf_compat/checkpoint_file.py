# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: the file `checkpoint` of a folder, and the savers.

TensorFlow writes absolute paths into the file `checkpoint` of a folder. In a
copy of the folder the paths lead to the original, so a checkpoint of the same
name in the folder itself comes first.

TensorFlow writes a checkpoint to a path, but reads the checkpoint only if the
path, as a pattern, matches a file. A name with `[` or `\\` does not match
itself, and cannot be escaped, because TensorFlow also uses the text as a path.

The `CheckpointSaverHook`s of a user look up a saver in a collection of the
graph, and keep the saver. `tf.estimator` gives the listeners of `train` to the
first hook.
"""

import atexit
import functools
import os
import re
import shutil
import tempfile
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

from adanet import log as logging
from adanet.tf_compat import _tensorflow
from adanet.tf_compat import tensorflow_internals


NAME = "checkpoint"

_NOT_READABLE = re.compile(r"[\[\\]")
_PATTERN = re.compile(r"([*?\[\\])")

# From a folder to a link to it with another name.
_links: Dict[str, str] = {}


def is_readable(path: str) -> bool:
  """Returns whether TensorFlow reads checkpoints under a path."""
  return not _NOT_READABLE.search(path)


def escaped(path: str) -> str:
  """Returns the pattern that matches only a path."""
  return _PATTERN.sub(r"\\\1", path)


def _remove_link(link, pid):
  if os.getpid() == pid:  # A fork has the links of the process before.
    shutil.rmtree(os.path.dirname(link), ignore_errors=True)


def _linked(folder):
  """Returns a link to a folder, until this process ends."""
  link = _links.get(folder)
  if link is None or not os.path.islink(link):  # /tmp may be cleaned.
    link = os.path.join(tempfile.mkdtemp(prefix="adanet-"), "model_dir")
    os.symlink(folder, link)
    atexit.register(_remove_link, link, os.getpid())
    _links[folder] = link
  return link


def readable(checkpoint: str) -> str:
  """Returns a prefix of the same checkpoint that TensorFlow reads.

  The prefix is for this process alone, and only for reading. On a remote file
  system, returns the same prefix.
  """
  folder, name = os.path.split(checkpoint)
  if is_readable(folder) or "://" in folder:
    return checkpoint
  names = [name]
  while is_readable(os.path.basename(folder)):
    folder, name = os.path.split(folder)
    names.insert(0, name)
  return os.path.join(_linked(os.path.abspath(folder)), *names)


def reader(checkpoint: str) -> Any:
  """Returns TensorFlow's reader of a checkpoint, given by its prefix."""
  return _tensorflow.v1.train.NewCheckpointReader(readable(checkpoint))


def is_there(checkpoint: str) -> bool:
  """Returns whether a checkpoint, given by its prefix, has its index."""
  return _tensorflow.v1.io.gfile.exists(checkpoint + ".index")


def _state(folder):
  try:
    return _tensorflow.v1.train.get_checkpoint_state(folder)
  except ValueError:  # It is empty.
    return None


def latest(folder: str) -> Optional[str]:
  """Returns the prefix of the latest checkpoint, which may not exist.

  None if the file does not exist, or names no checkpoint.
  """
  state = _state(folder)
  if state is None:
    return None
  named = state.model_checkpoint_path
  here = os.path.join(folder, os.path.basename(named))
  if here == named or is_there(here) or not is_there(named):
    return here
  logging.warn_once(
      "The file %s names a checkpoint in another folder: %s.",
      os.path.join(folder, NAME), named)
  return named


def kept(folder: str) -> List[str]:
  """Returns the prefixes of the checkpoints that a folder's file names.

  The latest checkpoint is the last.
  """
  state = _state(folder)
  paths = [os.path.join(folder, os.path.basename(path))
           for path in (state.all_model_checkpoint_paths if state else ())]
  return [path for path in paths if is_there(path)]


def recover(saver: Any, folder: str) -> None:
  """Lets a `tf.train.Saver` go on with the checkpoints in a folder.

  `Saver.recover_last_checkpoints` does the same, with a warning of a deprecated
  function each time.
  """
  stat = _tensorflow.v1.io.gfile.stat
  saver.set_last_checkpoints_with_time([
      (path, stat(path + ".index").mtime_nsec / 1e9) for path in kept(folder)])


@functools.lru_cache(maxsize=None)
def _graph_saver():
  """Returns the class of a graph's saver."""
  v1 = _tensorflow.v1

  class GraphSaver(v1.train.Saver):
    """Writes checkpoints, and passes the requests of hooks on."""

    def __init__(self, save_for_hook, **options):
      super().__init__(defer_build=True, **options)
      self.save_for_hook = save_for_hook

    def write(self, session, path):
      """Writes a checkpoint."""
      super().save(session, path, write_meta_graph=False)

    def _MaybeDeleteOldCheckpoints(self, *args, **kwargs):
      # The names are patterns for TensorFlow: it would leave these files, or
      # delete those of another folder.
      self._checkpoints_to_be_deleted = [
          (escaped(path), time)
          for path, time in self._checkpoints_to_be_deleted]
      super()._MaybeDeleteOldCheckpoints(*args, **kwargs)

    def save(self, sess, save_path, global_step=None, **unused_options):
      # A hook may have kept the saver of the iteration before.
      of_graph = [saver for saver in sess.graph.get_collection(
          v1.GraphKeys.SAVERS) if isinstance(saver, GraphSaver)]
      return [*of_graph, self][0].save_for_hook(sess, save_path, global_step)

  return GraphSaver


def is_saver_hook(hook: Any) -> bool:
  """Returns whether a hook of a user saves checkpoints."""
  return isinstance(hook, _tensorflow.v1.train.CheckpointSaverHook)


def saver_listeners(hook: Any) -> List[Any]:
  """Returns the listeners of a hook, in a list that may be changed."""
  return vars(hook)["_listeners"]


def add_listeners(hooks: Sequence[Any], more_listeners: Iterable[Any]) -> None:
  """Gives the first of some `CheckpointSaverHook`s listeners, each once."""
  for hook in hooks[:1]:
    told = saver_listeners(hook)
    told += [listener for listener in more_listeners if listener not in told]


def new_saver(save_for_hook: Callable[[Any, str, int], None],
              **options: Any) -> Any:
  """Returns a saver of the default graph, which hooks look up there.

  The method `build` makes the ops, for all variables at the time of the call.
  `write` takes a session and the path of a checkpoint. As in `tf.estimator`,
  hooks keep to a saver that a builder has added to the graph.

  Args:
    save_for_hook: called with a session, the path of a checkpoint without the
      number, and the global step, each time a hook asks to save.
  """
  v1 = _tensorflow.v1
  saver = _graph_saver()(save_for_hook, **options)
  if not v1.get_collection(v1.GraphKeys.SAVERS):
    v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
  return saver


@functools.lru_cache(maxsize=None)
def _saved_tensors():
  """Returns the class of tensors to save and never to restore."""

  class SavedTensors(tensorflow_internals.saveable_classes()[0]):

    def restore(self, restored_tensors, restored_shapes):
      return _tensorflow.v1.no_op()

  return SavedTensors


def add_saveables(names: Sequence[str], tensors: Sequence[Any]) -> None:
  """Lets each later `Saver` of the default graph save some tensors.

  Args:
    names: the names of the tensors in the checkpoint, at least one.
  """
  v1 = _tensorflow.v1
  _, save_spec = tensorflow_internals.saveable_classes()
  v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, _saved_tensors()(
      tensors[0], [save_spec(tensor, "", name)
                   for name, tensor in zip(names, tensors)], names[0]))
