# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Saves when a user's `CheckpointSaverHook` asks for it."""

import os
import typing

from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.training import saving
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import saver_hooks


class HookedSaver(saving.CheckpointSaver):
  """Saves as a user's hooks say, in place of the config, as `tf.estimator`.

  They call their listeners. The search goes on from the checkpoint at the end
  of an iteration: where no hook saves that one, this does. A hook may also save
  in another folder.
  """

  def __init__(self, hooks: typing.Sequence[typing.Any],
               model_dir: model_dir_lib.ModelDir, config: typing.Any,
               steps: typing.Sequence[typing.Any], report: events.Report,
               wait_for_space: typing.Callable[[str], None]):
    """Prepares to save. The hooks have begun.

    Args:
      hooks: `CheckpointSaverHook`s.
      model_dir: see `CheckpointSaver`.
      config: see `CheckpointSaver`.
      steps: see `CheckpointSaver`.
      report: see `CheckpointSaver`.
      wait_for_space: see `CheckpointSaver`.
    """
    super().__init__(model_dir, config, steps, (), report, wait_for_space)
    self._listeners = [listener for hook in hooks
                       for listener in saver_hooks.listeners(hook)]
    self._hook_global_step: typing.Optional[int] = None
    saver_hooks.offer(self._saver, self._save_for_hook)

  def is_due(self, global_step: int) -> bool:
    """Returns False: the hooks know."""
    return False

  def _save_for_hook(self, session, prefix, global_step):
    folder = os.path.dirname(prefix)
    if os.path.abspath(folder) != os.path.abspath(self._model_dir.path):
      self._save_elsewhere(session, folder, prefix, global_step)
      return
    self._save_or_warn(session, global_step, prefix, ())
    self._hook_global_step = global_step

  def _save_elsewhere(self, session, folder, prefix, global_step):
    """Saves in a folder that is not the model_dir."""
    path = self._new_path(prefix, global_step)
    self._saver.recover_last_checkpoints(checkpoint_file.kept(folder))
    try:
      self._saver.save(session, path, write_meta_graph=False)
      self.graph_files.write_beside(path)
    finally:
      self._saver.recover_last_checkpoints(
          checkpoint_file.kept(self._model_dir.path))

  def save(self, session: typing.Any, global_step: int) -> bool:
    """Saves the first checkpoint, without a word to listeners.

    The hooks tell them when the session begins.
    """
    return self._save_or_warn(
        session, global_step, self._model_dir.checkpoint_path, ())

  def end(self, session: typing.Any, global_step: int,
          end_hooks: typing.Callable[[], None]) -> None:
    """Ends the hooks, and saves the last checkpoint where they do not.

    A hook saves at its end if the global step is not that of its last save.
    """
    before = self.checkpoint
    if self._hook_global_step in (None, global_step):
      self._save_surely(session, global_step, self._listeners)
    end_hooks()
    if self.checkpoint == before:
      self._save_surely(session, global_step, ())
