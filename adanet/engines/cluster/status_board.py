# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Variables on a parameter server that announce generations to all tasks.

One has three numbers: that of the job, see `process_jobs`, the generation that
the chief has announced, and that of the variables on the server. Two more have
the model_dir of the chief and of the server, and the job. A server that starts
again has none of them. One that stays for the next job has old values, which do
not count there. Reading one takes a tenth of a millisecond, so that workers need
not poll files.
"""

import os
from typing import Any, NamedTuple, Optional

from adanet import tf_compat
from adanet.engines.cluster import addresses
from adanet.engines.cluster import sessions

CHIEF = "chief"
SERVER = "server"

_TIMEOUT_SECS = 5.


class GenerationStatus(NamedTuple):
  """The content of a status board.

  Attributes:
    announced: int, the latest generation that the chief announced, or 0.
    ready: int, the generation of the variables on this server, or 0.
    is_followed: bool, whether the chief has begun a later job.
  """
  announced: int = 0
  ready: int = 0
  is_followed: bool = False


class StatusBoard:
  """The variables of one parameter server, as any task sees them."""

  def __init__(self, ps: int, address: str, target: str, own_filter: str,
               job_number: int = 1):
    """Builds its graph. No server is asked yet.

    Args:
      ps: int, the parameter server's index.
      address: str, its address.
      target: str, the address of this task's server.
      own_filter: str, the device filter that names this task.
      job_number: int, the number of the job in the processes of its tasks.
    """
    self._job_number = job_number
    self._address = {f"ps:{ps}": address}
    self._target = target
    v1 = tf_compat.v1
    self._config = sessions.configured(
        None, [f"/job:ps/task:{ps}", own_filter], _TIMEOUT_SECS)
    self._graph = v1.Graph()
    with self._graph.as_default(), self._graph.container("adanet-board"):
      with v1.device(f"/job:ps/task:{ps}/device:CPU:0"):
        self._new = v1.placeholder(v1.int64, [3])
        variable = v1.get_variable(
            f"adanet_board_{ps}", initializer=v1.zeros_initializer(),
            shape=[3], dtype=v1.int64, use_resource=True, trainable=False)
        self._read = variable.read_value()
        self._write = variable.assign(self._new, read_value=False)
        self._folder = v1.placeholder(v1.string, [2])
        folders = {
            owner: v1.get_variable(
                f"adanet_model_dir_{owner}_{ps}", dtype=v1.string,
                shape=[2], initializer=v1.zeros_initializer(),
                use_resource=True, trainable=False)
            for owner in (CHIEF, SERVER)}
        self._read_folder = {
            owner: v.read_value() for owner, v in folders.items()}
        self._write_folder = {
            owner: v.assign(self._folder, read_value=False)
            for owner, v in folders.items()}
    self._opening: Optional[sessions.Opening] = None
    self._session: Any = None

  def _run(self, fetches, feeds=None, unset=None):
    """Returns the value of a run, or None if the server does not answer.

    Args:
      fetches: a tensor or an op, or several.
      feeds: dict from placeholders to values, or None.
      unset: the result if the variable has no value yet.
    """
    v1 = tf_compat.v1
    try:
      if self._session is None:
        if self._opening is None:
          if addresses.unreachable(self._address):
            return None
          self._opening = sessions.Opening(
              self._target, self._graph, self._config)
        self._session = self._opening.result(_TIMEOUT_SECS)
        if self._session is None:
          return None
        self._opening = None
      return self._session.run(fetches, feeds)
    except (v1.errors.FailedPreconditionError, v1.errors.NotFoundError):
      return unset
    except v1.errors.OpError:
      self.close()
      return None

  def read(self) -> Optional[GenerationStatus]:
    """Returns its content; None if the server does not answer."""
    numbers = self._run(self._read, unset=(0, 0, 0))
    if numbers is None:
      return None
    job_number, announced, ready = map(int, numbers)
    if job_number != self._job_number:
      return GenerationStatus(is_followed=job_number > self._job_number)
    return GenerationStatus(announced, ready)

  def write(self, status: GenerationStatus) -> bool:
    """Writes it, and returns whether the server took it."""
    # An op has no value, so a success is the value of the other one.
    return self._run([self._write, self._new], {self._new: (
        self._job_number, status.announced, status.ready)}) is not None

  def model_dir(self, owner: str) -> Optional[str]:
    """Returns the model_dir of the `CHIEF` or the `SERVER`.

    It is None if the owner has not said it yet in this job, or if the server
    does not answer.
    """
    said = self._run(self._read_folder[owner])
    if said is None or int(said[0]) != self._job_number:
      return None
    return os.fsdecode(said[1])

  def write_model_dir(self, owner: str, path: str) -> bool:
    """Says the model_dir of one, and returns whether the server took it."""
    return self._run([self._write_folder[owner], self._folder], {
        self._folder: [str(self._job_number).encode(), os.fsencode(path)],
    }) is not None

  def close(self) -> None:
    """Forgets the session; the next call opens another."""
    if self._session is not None:
      sessions.close(self._session)
    self._session = self._opening = None
