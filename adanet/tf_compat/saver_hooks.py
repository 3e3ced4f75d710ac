# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A user's `CheckpointSaverHook`s; they have no functions for their state.

They save with the one saver that they find in a collection of the graph, and
keep it. `tf.estimator` gives the first one the listeners of `train`.
"""

import functools
from typing import Any, Callable, Iterable, List, Sequence

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import checkpoint_file

_Save = Callable[[Any, str, int], None]


@functools.lru_cache(maxsize=None)
def _saver_class():
  """Returns the class of a graph's saver, made when TensorFlow is needed."""
  v1 = _tensorflow.v1

  class GraphSaver(v1.train.Saver):
    """Writes checkpoints, and hands on the request of a hook."""

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
          (checkpoint_file.escaped(path), time)
          for path, time in self._checkpoints_to_be_deleted]
      super()._MaybeDeleteOldCheckpoints(*args, **kwargs)

    def save(self, sess, save_path, global_step=None, **unused_options):
      # A hook may have kept the saver of the iteration before.
      of_graph = [saver for saver in sess.graph.get_collection(
          v1.GraphKeys.SAVERS) if isinstance(saver, GraphSaver)]
      return [*of_graph, self][0].save_for_hook(sess, save_path, global_step)

  return GraphSaver


def is_one(hook: Any) -> bool:
  """Returns whether a hook of a user saves checkpoints."""
  return isinstance(hook, _tensorflow.v1.train.CheckpointSaverHook)


def listeners(hook: Any) -> List[Any]:
  """Returns the listeners of a hook, in a list that may be changed."""
  return vars(hook)["_listeners"]


def tell(hooks: Sequence[Any], more_listeners: Iterable[Any]) -> None:
  """Gives the first of some hooks listeners.

  Args:
    hooks: `CheckpointSaverHook`s.
    more_listeners: `CheckpointSaverListener`s; the hook's own ones are not
      added again.
  """
  for hook in hooks[:1]:
    told = listeners(hook)
    told += [listener for listener in more_listeners if listener not in told]


def new_saver(save_for_hook: _Save, **options: Any) -> Any:
  """Returns a saver of the default graph, which hooks find there.

  Its method `build` makes its ops, for all variables that there are then, and
  `write` takes a session and the path of a checkpoint. As in `tf.estimator`,
  a saver that a builder has put there stays the one of the hooks.

  Args:
    save_for_hook: called with a session, the path of a checkpoint without its
      number, and the global step, each time that a hook asks to save.
    **options: arguments of `tf.train.Saver`.
  """
  v1 = _tensorflow.v1
  saver = _saver_class()(save_for_hook, **options)
  if not v1.get_collection(v1.GraphKeys.SAVERS):
    v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
  return saver
