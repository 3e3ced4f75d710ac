# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How announcements reach all tasks: status boards, and shared files.

A status board is a few variables on a parameter server, which announce
generations. A variable has three numbers: the job, see `jobs`, the generation
that the chief has announced, and the generation of the variables on the server.
Two variables have a job and a model_dir: of the chief, and of the server. A
restarted server has none of the values. A server that stays for the next job
has old values, which do not count there. Reading a board takes a tenth of a
millisecond, so workers need not poll files.

The parameter servers write parts of the checkpoints, and all tasks read the
job state. Without a check, a `model_dir` that only the chief has would cause a
strange error much later, or no error where each task waits in a separate
folder.
"""

import contextlib
import functools
import os
import time
from typing import Any, Callable, Mapping, NamedTuple, Optional

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.engines.cluster import addresses as addresses_lib
from adanet.engines.cluster import jobs
from adanet.engines.cluster import sessions
from adanet.tf_compat import files
from adanet.tf_compat import runtime

CHIEF = "chief"
SERVER = "server"

_BOARD_SECS = 5.  # How long a board may take to answer.
# How long another machine may take to see a new file, as on NFS.
_DELAY_SECS = 30.
_MESSAGE_SECS = 10.
_MISSING_SECS = 60.
# How long it takes if the file is in another folder of the same machine.
_ELSEWHERE_SECS = 2.
_POLL_SECS = .5
_LOOK_SECS = 1.

_ADVICE = ("all tasks must have the same model_dir, on a disk that they share: "
           "name one folder in the RunConfig")


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
  """The variables of a parameter server that announce generations."""

  def __init__(self, ps: int, address: str, target: str, own_filter: str,
               job_number: int = 1):
    """Builds the graph. No server is asked yet.

    Args:
      ps: int, the parameter server's index.
      address: str, the address of the parameter server.
      target: str, the address of the calling task's server.
      own_filter: str, the device filter of the calling task.
      job_number: int, the number of the job in the processes of the tasks.
    """
    self._job_number = job_number
    self._address = {f"ps:{ps}": address}
    self._target = target
    v1 = tf_compat.v1
    self._config = sessions.configured(
        None, [f"/job:ps/task:{ps}", own_filter], _BOARD_SECS)
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
    """Returns the value of a run; None if the server does not answer.

    Returns `unset` if the variable has no value yet.
    """
    v1 = tf_compat.v1
    try:
      if self._session is None:
        if self._opening is None:
          if addresses_lib.unreachable(self._address):
            return None
          self._opening = sessions.Opening(
              self._target, self._graph, self._config)
        self._session = self._opening.result(_BOARD_SECS)
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
    """Returns the content; None if the server does not answer."""
    numbers = self._run(self._read, unset=(0, 0, 0))
    if numbers is None:
      return None
    job_number, announced, ready = map(int, numbers)
    if job_number != self._job_number:
      return GenerationStatus(is_followed=job_number > self._job_number)
    return GenerationStatus(announced, ready)

  def write(self, status: GenerationStatus) -> bool:
    """Writes the content, and returns whether the server took the content."""
    # The write has no value, so a success is the value of the placeholder.
    return self._run([self._write, self._new], {self._new: (
        self._job_number, status.announced, status.ready)}) is not None

  def model_dir(self, owner: str) -> Optional[str]:
    """Returns the model_dir of the `CHIEF` or the `SERVER`.

    Returns None if the owner has not yet written a model_dir in this job, or if
    the server does not answer.
    """
    said = self._run(self._read_folder[owner])
    if said is None or int(said[0]) != self._job_number:
      return None
    return os.fsdecode(said[1])

  def write_model_dir(self, owner: str, path: str) -> bool:
    """Writes the model_dir of an owner; returns whether the server took it."""
    return self._run([self._write_folder[owner], self._folder], {
        self._folder: [str(self._job_number).encode(), os.fsencode(path)],
    }) is not None

  def close(self) -> None:
    """Forgets the session; the next call opens a new session."""
    if self._session is not None:
      sessions.close(self._session)
    self._session = self._opening = None


class SharedFilesError(RuntimeError):
  """A task does not see the files of the chief."""


class SharedFilesCheck:
  """Reads the file of the job state on each parameter server."""

  def __init__(self, model_dir: str, addresses: Mapping[str, str]):
    """Builds the graph.

    Args:
      model_dir: str, the chief's folder.
      addresses: from parameter server, such as "ps:0", to address.
    """
    v1 = tf_compat.v1
    self._model_dir = model_dir
    self._addresses = dict(addresses)
    self._texts = {}
    self.graph = v1.Graph()
    with self.graph.as_default():
      self._path = v1.placeholder(v1.string, [])
      for name in self._addresses:
        with v1.device("/job:{}/task:{}/device:CPU:0".format(
            *name.split(":"))):
          self._texts[name] = v1.io.read_file(self._path)

  def wait_until_seen(
      self, session: Any, generation: int,
      told: Callable[[int], Optional[str]],
      wait: waiting.Wait) -> None:
    """Checks that all parameter servers see the job state of a generation.

    Args:
      session: `Session` on `graph`.
      generation: int.
      told: function from the index of a parameter server to the server's
        model_dir; None if not known yet.
      wait: `Wait`, for servers that do not serve yet.

    Raises:
      SharedFilesError: a server does not see the job state.
      waiting.WaitTimeoutError: a server does not serve for too long.
      tf.errors.OpError: a server is lost.
    """
    for name in sorted(self._texts):
      task = f"{name} ({self._addresses[name]})"
      own = told(int(name.split(":")[1]))
      while own is None:
        wait.pause(_POLL_SECS, lambda: task + " to serve")  # pylint: disable=cell-var-from-loop
        own = told(int(name.split(":")[1]))
      wait.done()
      began = time.monotonic()
      while True:
        problem = self._problem(session, name, self._model_dir, generation)
        if not problem and not self._problem(session, name, own, generation):
          break
        if time.monotonic() - began >= (
            _DELAY_SECS if problem else min(_DELAY_SECS, _ELSEWHERE_SECS)):
          raise SharedFilesError(
              "{} has the model_dir {!r}, and the chief has {!r}{}: {}.".format(
                  task, own, files.real_path(self._model_dir),
                  ", which it does not see there: " + problem
                  if problem else "", _ADVICE))
        time.sleep(_POLL_SECS)

  def _problem(self, session, name, model_dir, generation):
    """Returns the problem with the file in a server's folder, or None."""
    errors = tf_compat.v1.errors
    path = jobs.JobStateFile(model_dir).path
    try:
      text = session.run(self._texts[name], {self._path: path})
      state = jobs.JobState.from_json(
          text.decode("utf-8", "replace"), path)
    except (errors.NotFoundError, errors.PermissionDeniedError) as error:
      return runtime.error_line(error)
    except jobs.JobStateError as error:
      return str(error)
    if state.generation != generation:
      return f"it is an older one there, of generation {state.generation}"
    return None


class VisibilityCheck:
  """Reports an announced job state that is not visible here."""

  def __init__(self, model_dir: str, job: jobs.JobId,
               told: Callable[[], Optional[str]]):
    """Looks nowhere yet.

    Args:
      model_dir: str, the folder of the calling task.
      job: `JobId` of the calling task.
      told: returns the model_dir of the chief; None if not known.
    """
    self._model_dir = files.real_path(model_dir)
    self._job = job
    self._told = told
    self._since = 0.
    self._look_time = 0.
    self._is_said = False

  def check_seen(self, job_state: Optional[jobs.JobState],
                 announced: int) -> bool:
    """Checks that the calling task sees the announced generation.

    Args:
      job_state: `JobState` in the task's model_dir; None for no file.
      announced: int, a generation.

    Returns:
      False while the file may still be late.

    Raises:
      SharedFilesError: the file will not be visible in the task's model_dir.
    """
    if self._is_announced(job_state, announced):
      self._since, self._is_said = 0., False
      return True
    now = time.monotonic()
    self._since = self._since or now
    waited = now - self._since
    if waited >= _ELSEWHERE_SECS and now - self._look_time >= _LOOK_SECS:
      self._look_time = now
      self._look(job_state, announced, waited)
    return False

  def _is_announced(self, job_state, announced):
    return self._job.is_of(job_state) and job_state.generation >= announced

  def _look(self, job_state, announced, waited):
    """Looks for the reason, and warns or raises."""
    told = self._told()
    is_other = told not in (None, self._model_dir)
    if job_state is not None and job_state.generation >= announced:
      problem = (
          "the chief has announced a generation for another job in "
          f"{self._model_dir!r}: all tasks must have the same cluster in "
          "TF_CONFIG, and the same ADANET_JOB_ID or none")
    else:
      problem = (
          "this task has the model_dir {!r}, and {}: {}".format(
              self._model_dir, f"the chief has {told!r}" if is_other
              else "does not see there what the chief has announced", _ADVICE))
    from_other_folder = is_other and self._is_announced(_read(told), announced)
    if from_other_folder or waited >= _MISSING_SECS:
      raise SharedFilesError(problem + ".")
    if waited >= _MESSAGE_SECS and not self._is_said:
      logging.warning("%s.", problem)
      self._is_said = True


def _read(model_dir):
  """Returns the job state in a folder, or None."""
  with contextlib.suppress(
      tf_compat.v1.errors.OpError, jobs.JobStateError):
    return jobs.JobStateFile(model_dir).read()
  return None


class ReadOnlyObserver:
  """The view of a task outside of the cluster, without a server."""

  def __init__(self, model_dir: str, job: jobs.JobId, address: str):
    """Asks no server yet. `address` is the address of "ps:0"."""
    self._board: Optional[StatusBoard] = StatusBoard(
        0, address, "grpc://" + address, "/job:ps/task:0", job.number)
    self._visibility = VisibilityCheck(model_dir, job, functools.partial(
        self._board.model_dir, CHIEF))
    self._time = 0.

  def check_seen(self, job_state: Optional[jobs.JobState]) -> bool:
    """Checks, until the first success, that the task sees announced states.

    Args:
      job_state: `JobState` in the task's model_dir; None for no file.

    Returns:
      Whether the chief has begun a later job: the task was restarted.

    Raises:
      SharedFilesError: the file will not be visible in the task's model_dir.
    """
    now = time.monotonic()
    if self._board is None or now - self._time < _LOOK_SECS:
      return False
    self._time = now
    status = self._board.read()
    if status and (status.is_followed or (
        status.announced and self._visibility.check_seen(
            job_state, status.announced))):
      self._board.close()
      self._board = None
      return status.is_followed
    return False
