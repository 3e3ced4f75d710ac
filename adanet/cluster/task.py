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
from adanet import waiting
from adanet.cluster import addresses
from adanet.cluster import agreement as agreement_lib
from adanet.cluster import board
from adanet.cluster import chief_watch
from adanet.cluster import decisions
from adanet.cluster import departures
from adanet.cluster import ended
from adanet.cluster import server as server_lib
from adanet.cluster import sessions
from adanet.cluster import shared_files
from adanet.tf_compat import files

_FILE_SECS = 1.  # Between two reads of a file.
# How long the chief has to save when all tasks were asked to stop.
_STOP_SECS = 8.
# How long a chief waits for parameter servers if the job seems to be over. They
# will know by then.
_OVER_SECS = 35.
# How long a parameter server stays when the job is over.
_LAST_SECS = 1.5
# How long it stays when it has another model_dir than the chief.
_MISTAKE_SECS = 15.
_MAX_NAMES = 4


def _named(tasks):
  return ", ".join("{} ({})".format(*task) for task in sorted(tasks.items()))


class Task:
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
    self.name = f"{config.task_type}:{config.task_id}"
    self.device = f"/job:{config.task_type}/task:{config.task_id}"
    self.file = agreement_lib.AgreementFile(config.model_dir)
    self.departures = departures.Departures(config.model_dir)
    self.job = ended.job_id(config, os.environ)
    self._state = ended.JobState(self.job)
    self._config = config
    self._model_dir = files.real_path(config.model_dir)
    self._timeout_secs = wait_timeout_secs
    self._server = server_lib.start(config)
    self._ps = {name: address for name, address in self._addresses.items()
                if name.startswith("ps:")}
    self._boards = [
        board.Board(i, self._ps[f"ps:{i}"], self._server.target,
                    self.device) for i in range(config.num_ps_replicas)]
    others = sorted(set(self._addresses) - set(self._ps))
    self._chief = {name: self._addresses[name] for name in others
                   if name.partition(":")[0] in ("chief", "master")} or {
                       name: self._addresses[name] for name in others[:1]}
    self._read_time = 0.
    self._agreement: typing.Optional[agreement_lib.Agreement] = None
    self._announced = 0  # On the board, at the last look.
    self._look_time = 0.
    self._follower = shared_files.Follower(
        config.model_dir, self.job,
        lambda: self._board().model_dir(board.CHIEF))
    self._forgotten = 0  # Generations up to this one are freed.
    self._chief_watch = chief_watch.ChiefWatch(self._chief, wait_timeout_secs)

  def container(self, generation: int) -> str:
    """Returns the container of the variables of a generation."""
    return f"adanet-{generation}"

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
      ended.Over: training is over; not for the chief.
      ended.StoppedError: the job was stopped, likewise.
      waiting.WaitTimeoutError: a parameter server is absent for too long.
    """
    session = sessions.connect(
        self._server.target, graph, sessions.configured(
            self._config.session_config, ["/job:ps", self.device]),
        lambda: addresses.silent(self._ps),
        self.wait("start it, or see what it prints"),
        _named(self._ps) if len(self._ps) <= _MAX_NAMES else
        f"{len(self._ps)} parameter servers",
        (lambda: None) if self._config.is_chief else self._read_file)
    try:
      yield session
    finally:
      sessions.close(session)

  def forget(self, first: int, last: int) -> None:
    """Frees what the variables of some generations take.

    Call it between sessions: it closes those of this process.
    """
    first = max(first, self._forgotten + 1)
    if first > last or addresses.silent(self._ps):
      return
    config = sessions.configured(None, ["/job:ps", self.device])
    try:
      tf_compat.v1.Session.reset(
          self._server.target,
          [self.container(i) for i in range(first, last + 1)], config)
      self._forgotten = last
    except tf_compat.v1.errors.OpError as error:
      logging.debug("cannot free generations %d to %d: %s", first, last, error)
    for one in self._boards:
      one.close()

  def wait(self, advice: str) -> waiting.Wait:
    """Returns a wait with this task's limit."""
    return waiting.Wait(self._timeout_secs, advice)

  def until_space(self, write: typing.Callable[[], typing.Any]) -> typing.Any:
    """Calls a function that writes to model_dir, until the disk has space."""
    return waiting.until_space(
        write, self.wait("free some space"), self._config.model_dir)

  # What the chief does.

  def is_over(self, max_steps: typing.Optional[int]) -> bool:
    """Returns whether this chief comes back to a job that is over.

    Args:
      max_steps: int, the step up to which it would train, or None.
    """
    agreed = self.file.read()
    if self._state.after(agreed) == agreement_lib.State.OVER:
      return True
    end = time.monotonic() + _OVER_SECS
    # The id may be that of a job that was over before, and begins anew. Then
    # its parameter servers are there, or come soon.
    while (agreed is not None and agreed.state == agreement_lib.State.OVER and
           self.job.is_of(agreed) and agreed.max_steps == max_steps and
           time.monotonic() < end and
           len(addresses.silent(self._ps)) == len(self._ps)):
      if self._state.after(self.file.read()) == agreement_lib.State.OVER:
        return True
      time.sleep(_FILE_SECS)
    return False

  def check_files(self, generation: int) -> None:
    """Checks that all parameter servers see the agreement of a generation.

    Raises:
      shared_files.SharedFilesError: one does not.
      tf.errors.OpError: one is lost.
    """
    check = shared_files.Check(self._config.model_dir, self._ps)
    with self.session(check.graph) as session:
      check.run(
          session, generation,
          lambda ps: self._boards[ps].model_dir(board.SERVER),
          self.wait("see what it prints"))

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
          f"ps:{i}": self.address(f"ps:{i}")
          for i, notice in enumerate(notices) if notice is None}))  # pylint: disable=cell-var-from-loop

  def announce(self, agreement: agreement_lib.Agreement) -> None:
    """Writes an agreement, and tells the boards that there is another one.

    A generation that is announced has no variables yet.
    """
    self.until_space(lambda: self.file.write(agreement))
    for one in self._boards:
      one.write_model_dir(board.CHIEF, self._model_dir)
      one.write(board.Notice(agreement.generation, 0))

  def make_ready(self, generation: int) -> bool:
    """Says that all variables have their values.

    Returns:
      Whether all parameter servers have taken it.
    """
    return all([one.write(board.Notice(generation, generation))
                for one in self._boards])

  def end(self, state: agreement_lib.State, reason: str) -> None:
    """Ends the job: all tasks leave.

    Args:
      state: `State`, over or stopped.
      reason: str, why.
    """
    agreed = self.file.read()

    def announce():
      return self.file.announce(
          self.job.text, self._config.num_worker_replicas,
          self._config.num_ps_replicas, agreed.max_steps if agreed else None,
          state, reason)

    # There is no time to wait when a signal asked for the end.
    generation = (announce() if state == agreement_lib.State.STOPPED else
                  self.until_space(announce))
    for one in self._boards:
      one.write(board.Notice(generation, 0))
      one.close()

  # What the others do.

  def _read_file(self):
    """Reads the agreement, at most once a second.

    Raises:
      ended.Over: training is over.
      ended.StoppedError: the job was stopped.
    """
    now = time.monotonic()
    if self._read_time and now - self._read_time < _FILE_SECS:
      return
    self._read_time = now
    self._agreement = self.file.read()
    state = self._state.after(self._agreement)
    if state == agreement_lib.State.OVER:
      raise ended.Over(self._agreement.reason)
    if state == agreement_lib.State.STOPPED:
      raise ended.StoppedError(self._agreement.reason)

  def _board(self):
    """Returns the board that this task polls: its own one, if it has one."""
    index = self._config.global_id_in_cluster or 0
    if self._config.task_type == tf_compat.TaskType.PS:
      index = self._config.task_id
    return self._boards[index % len(self._boards)]

  def is_new(self, generation: int) -> bool:
    """Returns whether there is another agreement than that of a generation.

    Raises:
      ended.Over: training is over.
      ended.StoppedError: the job was stopped.
    """
    notice = self._board().read()
    if notice is not None and notice.announced != self._announced:
      self._announced = notice.announced
      self._read_time = 0.
    self._read_file()
    if notice is None or not notice.announced:
      return False  # The chief will announce another one.
    agreed = self._agreement
    if not self._follower.sees(agreed, notice.announced):
      return False
    assert agreed is not None
    return (agreed.is_training and
            generation != agreed.generation == notice.announced)

  def has_moved(self, generation: int) -> bool:
    """Returns whether the board announces another generation.

    It looks once a second, so that it may be asked after each step.
    """
    now = time.monotonic()
    if now - self._look_time < _FILE_SECS:
      return False
    self._look_time = now
    notice = self._board().read()
    return notice is not None and notice.announced not in (0, generation)

  @property
  def _poll_secs(self):
    return decisions.poll_secs(
        self._config.num_worker_replicas, len(self._boards))

  def follow(self, generation: int) -> agreement_lib.Agreement:
    """Waits for another agreement than that of a generation.

    Args:
      generation: int; 0 for none.

    Raises:
      ended.Over: training is over.
      ended.StoppedError: the job was stopped.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self._chief_watch.pause("begin what follows")
    while not self.is_new(generation):
      pause(self._poll_secs)
    assert self._agreement is not None
    return self._agreement

  def is_ready(self, generation: int) -> bool:
    """Waits until all variables of a generation have their values.

    Returns:
      False if there is another agreement meanwhile.

    Raises:
      ended.Over: training is over.
      ended.StoppedError: the job was stopped.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self._chief_watch.pause("give all variables their values")
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

  def serve(self, report_working: typing.Callable[[], None],
            stops: typing.Any) -> None:
    """Holds variables until the job is over: the work of a parameter server.

    A signal that all tasks get must not take the variables from a chief that
    saves them. So it ends this task when the chief is gone, or a while later.

    Args:
      report_working: called when it serves.
      stops: `StopRequests`.

    Raises:
      KeyboardInterrupt, SystemExit: a signal asked for it.
      ended.StoppedError: the job was stopped.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    report_working()
    pause = self._chief_watch.pause("end the job", logging.DEBUG)
    with stops.deferred():
      try:
        is_told = False
        while stops.asked is None:
          is_told = is_told or self._board().write_model_dir(
              board.SERVER, self._model_dir)
          self._read_file()
          notice = self._board().read()
          if notice is not None and notice.announced:
            self._follower.sees(self._agreement, notice.announced)
          pause(_FILE_SECS)
        end = time.monotonic() + _STOP_SECS
        while time.monotonic() < end and not addresses.silent(self._chief):
          self._read_file()
          time.sleep(.1)
      except (ended.Over, ended.StoppedError) as ending:
        # Workers look once a second. TensorFlow 1.15 does not tell one that is
        # in a step that its parameter server has gone.
        time.sleep(_LAST_SECS)
        if isinstance(ending, ended.StoppedError):
          raise
        logging.info("%s ends: %s.", self.name, ending)
        return
      except shared_files.SharedFilesError:
        # All others find it out too, as long as this task serves.
        end = time.monotonic() + _MISTAKE_SECS
        while stops.asked is None and time.monotonic() < end:
          time.sleep(.1)
        raise
    stops.raise_asked()
