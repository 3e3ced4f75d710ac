# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether all tasks see the same files.

The parameter servers write parts of the checkpoints, and all tasks read the
agreement. So a `model_dir` on a disk that only the chief has would be found out
late, and by a strange error.
"""

import time
import typing

from absl import logging
from adanet import tf_compat
from adanet.cluster import agreement as agreement_lib

# How long another machine may take to see a new file, as on NFS.
_DELAY_SECS = 30.
_MESSAGE_SECS = 10.
_MISSING_SECS = 60.
_POLL_SECS = .5


class SharedFilesError(RuntimeError):
  """A task does not see the files of the chief."""


class Check(object):
  """Reads the file of the agreement on each parameter server."""

  def __init__(self, path: str, addresses: typing.Mapping[str, str]):
    """Builds the graph.

    Args:
      path: str, the file.
      addresses: from parameter server, such as "ps:0", to its address.
    """
    v1 = tf_compat.v1
    self._path = path
    self._addresses = dict(addresses)
    self._texts = {}
    self.graph = v1.Graph()
    with self.graph.as_default():
      for name in self._addresses:
        with v1.device("/job:{}/task:{}/device:CPU:0".format(
            *name.split(":"))):
          self._texts[name] = v1.io.read_file(path)

  def run(self, session: typing.Any, generation: int,
          delay_secs: float = _DELAY_SECS) -> None:
    """Checks that all have the agreement of a generation.

    Args:
      session: `Session` on `graph`.
      generation: int.
      delay_secs: float, how late a file may appear there.

    Raises:
      SharedFilesError: one does not have it.
      tf.errors.OpError: one is lost.
    """
    end = time.monotonic() + delay_secs
    for name in sorted(self._texts):
      while True:
        problem = self._problem(session, name, generation)
        if not problem:
          break
        if time.monotonic() >= end:
          raise SharedFilesError(
              "{} ({}) does not see the chief's file {}: {}. All tasks must see "
              "the same model_dir: use a folder on a disk that they share."
              .format(name, self._addresses[name], self._path, problem))
        time.sleep(_POLL_SECS)

  def _problem(self, session, name, generation):
    """Returns what is wrong with the file that one sees, or None."""
    errors = tf_compat.v1.errors
    try:
      text = session.run(self._texts[name]).decode("utf-8", "replace")
      found = agreement_lib.Agreement.from_json(text, self._path)
    except (errors.NotFoundError, errors.PermissionDeniedError) as error:
      return " ".join(error.message.split()).partition(" [[")[0]
    except agreement_lib.AgreementError as error:
      return str(error)
    if found.generation != generation:
      return "it is an older one there, of generation {}".format(
          found.generation)
    return None


class Follower(object):
  """Reports announced files that are not visible here."""

  def __init__(self, path: str):
    """Takes the path of the file."""
    self._path = path
    self._since = 0.
    self._is_said = False

  def update(self, is_there: bool) -> None:
    """Notes whether the file is there that was announced.

    Raises:
      SharedFilesError: it has not been for too long.
    """
    now = time.monotonic()
    if is_there:
      self._since, self._is_said = 0., False
      return
    self._since = self._since or now
    if now - self._since < _MESSAGE_SECS:
      return
    message = ("the chief has announced what is in {}, but this task does not "
               "see it: all tasks must see the same model_dir: use a folder on a "
               "disk that they share".format(self._path))
    if now - self._since >= _MISSING_SECS:
      raise SharedFilesError(message)
    if not self._is_said:
      logging.warning("%s", message)
      self._is_said = True
