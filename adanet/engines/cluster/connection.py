# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The connection of a task to the cluster: server, sessions, boards, files."""

import contextlib
import dataclasses
import time
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Mapping,
                    Optional, Sequence)

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.engines.cluster import addresses as addresses_lib
from adanet.engines.cluster import announcements
from adanet.engines.cluster import jobs
from adanet.engines.cluster import sessions
from adanet.tf_compat import files

_MAX_NAMES = 4
_FILE_SECS = 1.  # Between two reads of a file.
# How long a chief waits for parameter servers if the job seems to be over. They
# will know by then.
_OVER_SECS = 35.


def named(tasks: Mapping[str, str]) -> str:
  """Returns the names and the addresses of tasks, for messages."""
  return ", ".join("{} ({})".format(*task) for task in sorted(tasks.items()))


@dataclasses.dataclass(frozen=True)
class Connection:
  """How a task reaches the cluster.

  Attributes:
    config: RunConfig with a cluster and a model_dir.
    wait_timeout_secs: float, how long to wait for another task.
    addresses: dict from each task with a server, such as "ps:0", to the
      address.
    server: `tf.train.Server` of the task.
    status_boards: sequence of `StatusBoard`, by parameter server.
    file: `JobStateFile`.
    job_watch: `JobWatch` since the task started.
  """
  config: Any
  wait_timeout_secs: float
  addresses: Dict[str, str]
  server: Any
  status_boards: Sequence[announcements.StatusBoard]
  file: jobs.JobStateFile
  job_watch: jobs.JobWatch

  @property
  def name(self) -> str:
    """The name of the task, such as "worker:1"."""
    return f"{self.config.task_type}:{self.config.task_id}"

  @property
  def device(self) -> str:
    """The device of the task's ops."""
    return _device(self.config)

  @property
  def model_dir(self) -> str:
    """The folder of the job, without symbolic links."""
    return files.real_path(self.config.model_dir)

  @property
  def job(self) -> jobs.JobId:
    """The id of the job."""
    return self.job_watch.job

  def container(self, generation: int) -> str:
    """Returns the container of a generation's variables, in the job."""
    number = self.job.number
    return (f"adanet-{generation}" if number == 1 else
            f"adanet-{number}-{generation}")

  # Who is in the cluster.

  @property
  def servers(self) -> Dict[str, str]:
    """The parameter servers and the addresses."""
    return {name: address for name, address in self.addresses.items()
            if name.startswith("ps:")}

  @property
  def chief(self) -> Dict[str, str]:
    """The leading task and the address."""
    return _chief(self.addresses)

  @property
  def worker_names(self) -> List[str]:
    """The names of the tasks that train: the chief, then workers by index."""
    chief = self.chief
    workers = sorted(
        set(self.addresses) - set(self.servers) - set(chief),
        key=lambda name: int(name.split(":")[1]))
    return list(chief) + workers

  def address(self, name: str) -> str:
    """Returns the address of a task, for messages."""
    return self.addresses.get(name, "no address")

  def unreachable(self, names: Iterable[str]) -> List[str]:
    """Returns the tasks that do not answer."""
    return sorted(addresses_lib.unreachable(
        {name: self.addresses[name] for name in names
         if name in self.addresses}))

  # The boards of the parameter servers.

  @property
  def own_status_board(self) -> announcements.StatusBoard:
    """The board that the task polls; a parameter server polls its own board."""
    index = self.config.global_id_in_cluster or 0
    if self.config.task_type == tf_compat.TaskType.PS:
      index = self.config.task_id
    return self.status_boards[index % len(self.status_boards)]

  def write_status_boards(self, status: announcements.GenerationStatus) -> bool:
    """Writes all boards, and returns whether all servers took the status."""
    return all([board.write(status) for board in self.status_boards])

  def close(self) -> None:
    """Closes the sessions of the boards, while the servers still answer.

    Otherwise Python closes the sessions when the program ends, and waits for
    lost servers.
    """
    for board in self.status_boards:
      board.close()

  # Whether the job of a starting chief is over, or a later job has begun.

  def is_followed(self, job_state: Optional[jobs.JobState]) -> bool:
    """Returns whether the chief was restarted in a later job of the program.

    The job state says so, or a board of a parameter server that answers.
    """
    job = self.job
    if job.is_followed_by(job_state) and (
        self.job_watch.after(job_state) == jobs.State.OVER):
      return True
    # A later job begins when this one is over. While it is not, a stopped
    # server must not delay this chief: a signal would lose what the workers
    # train.
    if not (job.is_followed_by(job_state) or (
        job_state is not None and job.is_of(job_state) and
        job_state.state == jobs.State.OVER)):
      return False
    absent = addresses_lib.unreachable(self.servers)
    return any(status is not None and status.is_followed for status in (
        board.read() for i, board in enumerate(self.status_boards)
        if f"ps:{i}" not in absent))

  def wait_until_known_to_be_over(self, max_steps: Optional[int]) -> bool:
    """Returns whether the chief was restarted after the end of the job.

    Also returns True in a later job. A new job may have the id of an old job
    that is over. The parameter servers of a new job run, or start soon, so the
    function waits a while for parameter servers.
    """
    end = time.monotonic() + _OVER_SECS
    while True:
      job_state = self.file.read()
      if (self.job_watch.after(job_state) == jobs.State.OVER or
          self.is_followed(job_state)):
        return True
      is_own = self.job.is_of(job_state)
      if (job_state is None or job_state.state != jobs.State.OVER or
          not (is_own or self.job.is_followed_by(job_state)) or
          is_own and job_state.max_steps != max_steps or
          time.monotonic() >= end or
          len(addresses_lib.unreachable(self.servers)) < len(self.servers)):
        return False
      time.sleep(_FILE_SECS)

  # Sessions.

  @contextlib.contextmanager
  def session(self, graph: Any,
              look: Callable[[], Any] = lambda: None) -> Iterator[Any]:
    """Opens a session on a graph, as soon as all parameter servers answer.

    Args:
      graph: `tf.Graph`.
      look: called again and again. An error of the function ends the wait.

    Yields:
      The `Session`.

    Raises:
      waiting.WaitTimeoutError: a parameter server is absent for too long.
    """
    servers = self.servers
    session = sessions.wait_until_connected(
        self.server.target, graph, sessions.configured(
            self.config.session_config, ["/job:ps", self.device]),
        lambda: addresses_lib.unreachable(servers),
        self.wait("start it, or see what it prints"),
        named(servers) if len(servers) <= _MAX_NAMES else
        f"{len(servers)} parameter servers", look)
    try:
      yield session
    finally:
      sessions.close(session)

  def free(self, containers: Sequence[str]) -> bool:
    """Frees the memory of the variables in containers.

    Only call this between sessions: all sessions of the process are closed.

    Returns:
      Whether the memory is free.
    """
    if not containers:
      return True
    if addresses_lib.unreachable(self.servers):
      return False
    config = sessions.configured(None, ["/job:ps", self.device])
    try:
      tf_compat.v1.Session.reset(
          self.server.target, list(containers), config)
      return True
    except tf_compat.v1.errors.OpError as error:
      logging.debug("cannot free %s: %s", ", ".join(containers), error)
      return False
    finally:
      self.close()

  # Waits.

  def wait(self, advice: str) -> waiting.Wait:
    """Returns a wait with the limit of the task."""
    return waiting.Wait(self.wait_timeout_secs, advice)

  def wait_until_written(self, write: Callable[[], Any]) -> Any:
    """Calls a function that writes to model_dir, until the disk has space."""
    return waiting.wait_until_space(
        write, self.wait("free some space"), self.config.model_dir)


def _device(config):
  return f"/job:{config.task_type}/task:{config.task_id}"


def _chief(addresses):
  """Returns the leading task and the address."""
  others = sorted(name for name in addresses if not name.startswith("ps:"))
  leaders = [name for name in others
             if name.partition(":")[0] in ("chief", "master")]
  return {name: addresses[name] for name in leaders or others[:1]}


def connect(config: Any, wait_timeout_secs: float) -> Connection:
  """Checks the addresses of a cluster, and starts the server of this task.

  A server of an earlier job in this process stays.

  Args:
    config: RunConfig with a cluster and a model_dir.
    wait_timeout_secs: float, how long to wait for another task.

  Raises:
    addresses.AddressError: an address is wrong.
    sessions.ServerError: the server cannot be started.
  """
  addresses = sessions.server_addresses(config)
  addresses_lib.check(addresses)
  chief = _chief(addresses)
  leads = f"{config.task_type}:{config.task_id}" in chief
  job_watch = jobs.watch(config, chief_answers=lambda: (
      not leads and not addresses_lib.unreachable(chief)))
  server = sessions.start_server(config)
  return Connection(
      config=config, wait_timeout_secs=wait_timeout_secs, addresses=addresses,
      server=server, status_boards=[
          announcements.StatusBoard(i, addresses[f"ps:{i}"], server.target,
                                   _device(config), job_watch.job.number)
          for i in range(config.num_ps_replicas)],
      file=jobs.JobStateFile(config.model_dir),
      job_watch=job_watch)
