# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The file `checkpoint` of a folder, which names its checkpoints.

TensorFlow writes absolute paths into it. In a copy of the folder they lead to
the original, so a checkpoint of the same name in the folder itself comes first.

TensorFlow writes a checkpoint to the path that it is given, but reads it only
where that path, as a pattern, matches a file. A name with `[` or `\\` does not
match itself, and nothing escapes it, because the same text is then the path.
"""

import atexit
import os
import re
import shutil
import tempfile
from typing import Any, Dict, List, Optional

from adanet import log as logging
from adanet.tf_compat import _tensorflow

NAME = "checkpoint"

_NOT_READABLE = re.compile(r"[\[\\]")
_PATTERN = re.compile(r"([*?\[\\])")

# From a folder to a link to it with another name.
_links: Dict[str, str] = {}


def is_readable(path: str) -> bool:
  """Returns whether TensorFlow reads checkpoints under this path."""
  return not _NOT_READABLE.search(path)


def escaped(path: str) -> str:
  """Returns the pattern that matches a path alone."""
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

  It is for this process alone, and only for reading. On a file system that is
  not local it is the prefix itself.

  Args:
    checkpoint: str, its prefix.
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
