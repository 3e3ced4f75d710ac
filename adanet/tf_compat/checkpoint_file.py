# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The file `checkpoint` of a folder, which names its checkpoints.

TensorFlow writes absolute paths into it. In a copy of the folder they lead to
the original, so a checkpoint of the same name in the folder itself comes first.
"""

import os
from typing import Any, List, Optional

from adanet import log as logging
from adanet.tf_compat import _tensorflow

NAME = "checkpoint"


def is_there(checkpoint: str) -> bool:
  """Returns whether a checkpoint has its index.

  Args:
    checkpoint: str, its prefix.
  """
  return _tensorflow.v1.io.gfile.exists(checkpoint + ".index")


def _state(folder):
  try:
    return _tensorflow.v1.train.get_checkpoint_state(folder)
  except ValueError:  # It is empty.
    return None


def latest(folder: str) -> Optional[str]:
  """Returns the prefix of the latest checkpoint, which may not be there.

  Args:
    folder: str.

  Returns:
    Str; None if the file is not there, or names no checkpoint.
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
  """Returns the prefixes of the checkpoints in a folder that its file names.

  Args:
    folder: str.

  Returns:
    List of str, the latest one last.
  """
  state = _state(folder)
  paths = [os.path.join(folder, os.path.basename(path))
           for path in (state.all_model_checkpoint_paths if state else ())]
  return [path for path in paths if is_there(path)]


def recover(saver: Any, folder: str) -> None:
  """Lets a `tf.train.Saver` go on with the checkpoints in a folder.

  `Saver.recover_last_checkpoints` does the same, and warns each time that a
  function that it calls is deprecated.
  """
  stat = _tensorflow.v1.io.gfile.stat
  saver.set_last_checkpoints_with_time([
      (path, stat(path + ".index").mtime_nsec / 1e9) for path in kept(folder)])
