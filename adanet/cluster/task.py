# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""One task of a cluster: its server, its sessions, and what it waits for.

The chief announces a generation: a life of the variables. Each iteration is a
new one, and so is each restore. It writes the agreement to a file, gives all
variables their values, and says on the board of each parameter server that they
are ready. Workers poll a board; they read the file when that changes, and once
a second while they wait. Nobody asks the chief.
"""

import contextlib
import os
import time
import typing

from absl import logging
from adanet import tf_compat
from adanet.cluster import addresses
from adanet.cluster import agreement as agreement_lib
from adanet.cluster import board
from adanet.cluster import decisions
from adanet.cluster import departures
from adanet.cluster import ended
from adanet.cluster import server as server_lib
from adanet.cluster import sessions
from adanet.cluster import waiting

_FILE_SECS = 1.  # Between two reads of a file.
_CHIEF_SECS = 30.  # Between two looks at whether the chief is there.


class StoppedError(Exception):
  """The job was stopped by a signal to its chief, before its end."""


class Over(Exception):  # pylint: disable=g-bad-exception-name
  """Training is over: nothing is left to do for this task."""


def _named(tasks):
  return ", ".join("{} ({})".format(*task) for task in sorted(tasks.items()))


class Task(object):
  """This task.

  Attributes:
    name: str, such as "worker:1".
    device: str, the device of its ops.
    file: `AgreementFile`.
    departures: `Departures`.
    job: `JobId`.
  """

  def __init__(self, config: typing.Any, wait_timeout_secs: float):
    """Checks the addresses and starts the server.

    Args:
      config: RunConfig with a cluster and a model_dir.
      wait_timeout_secs: float, how long to wait for another task.

    Raises:
      addresses.AddressError: an address is wrong.
      server.ServerError: the server cannot be started.
    """
    self._addresses = server_lib.addresses(config)
    addresses.check(self._addresses)
    self.name = "{}:{}".format(config.task_type, config.task_id)
    self.device = "/job:{}/task:{}".format(config.task_type, config.task_id)
    self.file = agreement_lib.AgreementFile(config.model_dir)
    self.departures = departures.Departures(config.model_dir)
    self.job = ended.job_id(config, os.environ)
    self._state = ended.JobState(self.job)
    self._config = config
    self._timeout_secs = wait_timeout_secs
    self._server = server_lib.start(config)
    self._ps = {name: address for name, address in self._addresses.items()
                if name.startswith("ps:")}
    self._boards = [
        board.Board(i, self._ps["ps:{}".format(i)], self._server.target,
                    self.device) for i in range(config.num_ps_replicas)]
    others = sorted(set(self._addresses) - set(self._ps))
    self._chief = {name: self._addresses[name] for name in others
                   if name.partition(":")[0] in ("chief", "master")} or {
                       name: self._addresses[name] for name in others[:1]}
    self._read_time = 0.
    self._agreement: typing.Optional[agreement_lib.Agreement] = None
    self._chief_time = time.monotonic()
    self._chief_is_silent = False

  @property
  def container(self) -> typing.Callable[[int], str]:
    """Function from a generation to the container of its variables."""
    return "adanet-{}".format

  @property
  def worker_names(self) -> typing.List[str]:
    """The names of the tasks that train, the chief first, by their index."""
    workers = sorted(
        (name for name in self._addresses if name not in self._ps and
         name not in self._chief), key=lambda name: int(name.split(":")[1]))
    return list(self._chief) + workers

  def address(self, name: str) -> str:
    """Returns the address of a task, for messages."""
    return self._addresses.get(name, "no address")

  def silent(self, names: typing.Iterable[str]) -> typing.List[str]:
    """Returns those of some tasks that do not answer."""
    return sorted(addresses.silent(
        {name: self._addresses[name] for name in names
         if name in self._addresses}))

  # Sessions.

  @contextlib.contextmanager
  def session(self, graph: typing.Any) -> typing.Iterator[typing.Any]:
    """Opens a session on a graph, as soon as all parameter servers answer.

    Args:
      graph: `tf.Graph`.

    Yields:
      The `Session`.

    Raises:
      waiting.WaitTimeoutError: a parameter server is absent for too long.
    """
    session = sessions.connect(
        self._server.target, graph, sessions.configured(
            self._config.session_config, ["/job:ps", self.device]),
        lambda: addresses.silent(self._ps), self.wait(
            "start it, or see what it prints"))
    try:
      yield session
    finally:
      sessions.close(session)

  def forget(self, generation: int) -> None:
    """Frees what the variables of a generation take.

    Call it between sessions: it closes those of this process.
    """
    if addresses.silent(self._ps):
      return
    config = sessions.configured(None, ["/job:ps", self.device])
    try:
      tf_compat.v1.Session.reset(
          self._server.target, [self.container(generation)], config)
    except tf_compat.v1.errors.OpError as error:
      logging.debug("cannot free generation %d: %s", generation, error)
    for one in self._boards:
      one.close()

  def wait(self, advice: str, **arguments: typing.Any) -> waiting.Wait:
    """Returns a wait with this task's limit."""
    return waiting.Wait(self._timeout_secs, advice, **arguments)

  # What the chief does.

  def kept(self, generation: int) -> bool:
    """Returns whether all parameter servers have a generation's variables.

    It waits until all have answered.
    """
    wait = self.wait("start it, or see what it prints")
    while True:
      notices = [one.read() for one in self._boards]
      found = decisions.on_boards(
          [None if n is None else n.ready for n in notices], generation)
      if found is not None:
        wait.done()
        return found == decisions.Next.RECONNECT
      wait.pause(.1, lambda: _named({
          "ps:{}".format(i): self.address("ps:{}".format(i))
          for i, notice in enumerate(notices) if notice is None}))  # pylint: disable=cell-var-from-loop

  def announce(self, agreement: agreement_lib.Agreement) -> None:
    """Writes an agreement, and tells the boards that there is another one.

    A generation that is announced has no variables yet.
    """
    self.file.write(agreement)
    for one in self._boards:
      one.write(board.Notice(agreement.generation, 0))

  def make_ready(self, generation: int) -> bool:
    """Says that all variables have their values.

    Returns:
      Whether all parameter servers have taken it.
    """
    return all([one.write(board.Notice(generation, generation))
                for one in self._boards])

  def end(self, state: str, reason: str) -> None:
    """Ends the job: all tasks leave.

    Args:
      state: str, "over" or "stopped".
      reason: str, why.
    """
    generation = self.file.announce(
        self.job.text, self._config.num_worker_replicas,
        self._config.num_ps_replicas, None, state, reason)
    for one in self._boards:
      one.write(board.Notice(generation, 0))
      one.close()

  # What the others do.

  def _read_file(self):
    """Reads the agreement, at most once a second.

    Raises:
      Over: training is over.
      StoppedError: the job was stopped.
    """
    now = time.monotonic()
    if self._read_time and now - self._read_time < _FILE_SECS:
      return
    self._read_time = now
    self._agreement = self.file.read()
    state = self._state.after(self._agreement)
    if state == ended.OVER:
      raise Over(self._agreement.reason)
    if state == ended.STOPPED:
      raise StoppedError(self._agreement.reason)

  def _await_chief(self, what):
    """Returns a wait for the chief and the message it logs.

    While the chief answers, the wait has no end: others train.
    """
    def log(line):
      logging.log(logging.WARNING if self._chief_is_silent else logging.INFO,
                  "%s", line)

    wait = self.wait("start it, or see what it prints", log=log)

    def message():
      return "{} to {}".format(_named(self._chief), what)

    def pause(secs):
      now = time.monotonic()
      if now - self._chief_time >= _CHIEF_SECS:
        self._chief_time = now
        self._chief_is_silent = bool(addresses.silent(self._chief))
        if not self._chief_is_silent:
          wait.restart()
      wait.pause(secs, message)

    return pause

  def _board(self):
    """Returns the board that this worker polls."""
    return self._boards[(self._config.global_id_in_cluster or 0) %
                        len(self._boards)]

  def is_new(self, generation: int) -> bool:
    """Returns whether there is another agreement than that of a generation.

    Raises:
      Over: training is over.
      StoppedError: the job was stopped.
    """
    notice = self._board().read()
    if notice is not None and notice.announced > generation:
      self._read_time = 0.
    self._read_file()
    return (self._agreement is not None and self.job.is_of(self._agreement) and
            self._agreement.is_training and
            self._agreement.generation != generation)

  @property
  def _poll_secs(self):
    return decisions.poll_secs(
        self._config.num_worker_replicas, len(self._boards))

  def follow(self, generation: int,
             what: str = "begin") -> agreement_lib.Agreement:
    """Waits for another agreement than that of a generation.

    Args:
      generation: int; 0 for none.
      what: what the chief is waited for to do, for messages.

    Raises:
      Over: training is over.
      StoppedError: the job was stopped.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self._await_chief(what)
    while not self.is_new(generation):
      pause(self._poll_secs)
    assert self._agreement is not None
    return self._agreement

  def is_ready(self, generation: int) -> bool:
    """Waits until all variables of a generation have their values.

    Returns:
      False if there is another agreement meanwhile.

    Raises:
      Over: training is over.
      StoppedError: the job was stopped.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self._await_chief("give all variables their values")
    while True:
      if self.is_new(generation):
        return False
      if self.is_ready_now(generation):
        return True
      pause(self._poll_secs)

  def is_ready_now(self, generation: int) -> bool:
    """Returns whether all variables of a generation have their values now."""
    # Its own board first: all workers wait at the same time.
    return all(n is not None and n.ready == generation for n in (
        one.read() for one in [self._board()] + self._boards))

  def serve(self, report_working: typing.Callable[[], None]) -> None:
    """Holds variables until the job is over: the work of a parameter server.

    Raises:
      StoppedError: the job was stopped.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    report_working()
    pause = self._await_chief("end the job")
    try:
      while True:
        self._read_file()
        pause(_FILE_SECS)
    except Over as over:
      logging.info("%s ends: %s.", self.name, over)
