# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A user's `CheckpointSaverHook`s, which have no functions for what they keep.

They save with the one saver that they find in a collection of the graph, and
keep it. `tf.estimator` gives the first one the listeners of `train`.
"""

import functools
from typing import Any, Callable, Iterable, List, Sequence

from adanet.tf_compat import _tensorflow

_Save = Callable[[Any, str, int], None]


@functools.lru_cache(maxsize=None)
def _saver_class():
  """Returns the class of a saver for hooks, made when TensorFlow is needed."""

  class HooksSaver(_tensorflow.v1.train.Saver):
    """Hands on what a hook asks for."""

    def __init__(self, saver, save):
      super().__init__(saver_def=saver.as_saver_def())
      self._save_for_hook = save

    def save(self, sess, save_path, global_step=None, **unused_options):
      return self._save_for_hook(sess, save_path, global_step)

  return HooksSaver


def among(hooks: Iterable[Any]) -> List[Any]:
  """Returns the hooks of a user that save checkpoints."""
  kind = _tensorflow.v1.train.CheckpointSaverHook
  return [hook for hook in hooks if isinstance(hook, kind)]


def listeners(hook: Any) -> List[Any]:
  """Returns the listeners of a hook, in a list that may be changed."""
  return vars(hook)["_listeners"]


def prepare(hooks: Sequence[Any], more_listeners: Iterable[Any]) -> None:
  """Makes hooks ready for a new graph, and gives the first one listeners.

  Args:
    hooks: `CheckpointSaverHook`s.
    more_listeners: `CheckpointSaverListener`s; what the hook has is not added
      again.
  """
  for hook in hooks:
    if isinstance(vars(hook)["_saver"], _saver_class()):
      vars(hook)["_saver"] = None
  for hook in hooks[:1]:
    told = listeners(hook)
    told += [listener for listener in more_listeners if listener not in told]


def offer(saver: Any, save: _Save) -> None:
  """Offers a saver to the hooks of the default graph.

  Args:
    saver: `tf.train.Saver` of the graph.
    save: called with a session, the path of a checkpoint without its number,
      and the global step, each time that a hook asks to save.
  """
  _tensorflow.v1.add_to_collection(
      _tensorflow.v1.GraphKeys.SAVERS, _saver_class()(saver, save))
