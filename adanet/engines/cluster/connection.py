# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The connection of one task to its cluster: server, sessions, boards, files.

The other modules of this package say how the tasks use it.
"""

import contextlib
import dataclasses
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Mapping,
                    Optional, Sequence)

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.engines.cluster import addresses as addresses_lib
from adanet.engines.cluster import ended
from adanet.engines.cluster import evaluation_requests as requests_lib
from adanet.engines.cluster import job_state as job_state_lib
from adanet.engines.cluster import server as server_lib
from adanet.engines.cluster import sessions
from adanet.engines.cluster import status_board
from adanet.engines.cluster import stopped_workers as stopped_workers_lib
from adanet.tf_compat import files

_MAX_NAMES = 4


def named(tasks: Mapping[str, str]) -> str:
  """Returns the names of tasks with their addresses, for messages."""
  return ", ".join("{} ({})".format(*task) for task in sorted(tasks.items()))


@dataclasses.dataclass(frozen=True)
class Connection:
  """How this task reaches its cluster.

  Attributes:
    config: RunConfig with a cluster and a model_dir.
    wait_timeout_secs: float, how long to wait for another task.
    addresses: dict from each task with a server, such as "ps:0", to its
      address.
    server: `tf.train.Server` of this task.
    status_boards: sequence of `StatusBoard`, one for each parameter server.
    file: `JobStateFile`.
    stopped_workers: `StoppedWorkers`.
    evaluation_requests: `EvaluationRequests`.
    job_watch: `JobWatch` since this task started.
  """
  config: Any
  wait_timeout_secs: float
  addresses: Dict[str, str]
  server: Any
  status_boards: Sequence[status_board.StatusBoard]
  file: job_state_lib.JobStateFile
  stopped_workers: stopped_workers_lib.StoppedWorkers
  evaluation_requests: requests_lib.EvaluationRequests
  job_watch: ended.JobWatch

  @property
  def name(self) -> str:
    """The name of this task, such as "worker:1"."""
    return f"{self.config.task_type}:{self.config.task_id}"

  @property
  def device(self) -> str:
    """The device of this task's ops."""
    return _device(self.config)

  @property
  def model_dir(self) -> str:
    """The folder of the job, as the other tasks of this machine call it."""
    return files.real_path(self.config.model_dir)

  @property
  def job(self) -> ended.JobId:
    """The id of the job."""
    return self.job_watch.job

  def container(self, generation: int) -> str:
    """Returns the container of the variables of a generation of this job."""
    number = self.job.number
    return (f"adanet-{generation}" if number == 1 else
            f"adanet-{number}-{generation}")

  # Who is in the cluster.

  @property
  def servers(self) -> Dict[str, str]:
    """The parameter servers and their addresses."""
    return {name: address for name, address in self.addresses.items()
            if name.startswith("ps:")}

  @property
  def chief(self) -> Dict[str, str]:
    """The task that leads, and its address."""
    return _chief(self.addresses)

  @property
  def worker_names(self) -> List[str]:
    """The names of the tasks that train, the chief first, by their index."""
    chief = self.chief
    workers = sorted(
        set(self.addresses) - set(self.servers) - set(chief),
        key=lambda name: int(name.split(":")[1]))
    return list(chief) + workers

  def address(self, name: str) -> str:
    """Returns the address of a task, for messages."""
    return self.addresses.get(name, "no address")

  def unreachable(self, names: Iterable[str]) -> List[str]:
    """Returns which of some tasks do not answer."""
    return sorted(addresses_lib.unreachable(
        {name: self.addresses[name] for name in names
         if name in self.addresses}))

  # The boards of the parameter servers.

  @property
  def own_status_board(self) -> status_board.StatusBoard:
    """The board that this task polls; that of a parameter server is its own."""
    index = self.config.global_id_in_cluster or 0
    if self.config.task_type == tf_compat.TaskType.PS:
      index = self.config.task_id
    return self.status_boards[index % len(self.status_boards)]

  def is_followed(self) -> bool:
    """Returns whether a board says that the chief has begun a later job.

    So this task was started again. It asks the servers that answer.
    """
    absent = addresses_lib.unreachable(self.servers)
    return any(status is not None and status.is_followed for status in (
        board.read() for i, board in enumerate(self.status_boards)
        if f"ps:{i}" not in absent))

  def read_status_boards(self) -> List[Optional[status_board.GenerationStatus]]:
    """Returns each board's status; None for one that does not answer."""
    return [one.read() for one in self.status_boards]

  def write_status_boards(self, status: status_board.GenerationStatus) -> bool:
    """Writes all boards, and returns whether all servers took it."""
    return all([one.write(status) for one in self.status_boards])

  def close(self) -> None:
    """Closes the sessions of the boards, while their servers are still there.

    Python would close them when the program ends, and wait for lost servers.
    """
    for one in self.status_boards:
      one.close()

  # Sessions.

  @contextlib.contextmanager
  def session(self, graph: Any,
              look: Callable[[], Any] = lambda: None) -> Iterator[Any]:
    """Opens a session on a graph, as soon as all parameter servers answer.

    Args:
      graph: `tf.Graph`.
      look: called again and again; it raises an error to end the wait.

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
    """Frees the memory of the variables in some containers.

    Call it between sessions: it closes all of this process.

    Returns:
      Whether it could.
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
      for one in self.status_boards:
        one.close()

  # Waits.

  def wait(self, advice: str) -> waiting.Wait:
    """Returns a wait with this task's limit."""
    return waiting.Wait(self.wait_timeout_secs, advice)

  def wait_until_written(self, write: Callable[[], Any]) -> Any:
    """Calls a function that writes to model_dir, until the disk has space."""
    return waiting.wait_until_space(
        write, self.wait("free some space"), self.config.model_dir)


def _device(config):
  return f"/job:{config.task_type}/task:{config.task_id}"


def _chief(addresses):
  """Returns the task that leads, and its address."""
  others = sorted(name for name in addresses if not name.startswith("ps:"))
  found = [name for name in others
           if name.partition(":")[0] in ("chief", "master")]
  return {name: addresses[name] for name in found or others[:1]}


def connect(config: Any, wait_timeout_secs: float) -> Connection:
  """Checks the addresses of a cluster, and starts the server of this task.

  A server that runs since an earlier job of this process stays.

  Args:
    config: RunConfig with a cluster and a model_dir.
    wait_timeout_secs: float, how long to wait for another task.

  Raises:
    addresses.AddressError: an address is wrong.
    server.ServerError: the server cannot be started.
  """
  addresses = server_lib.addresses(config)
  addresses_lib.check(addresses)
  chief = _chief(addresses)
  leads = f"{config.task_type}:{config.task_id}" in chief
  job_watch = ended.watch(config, chief_answers=lambda: (
      not leads and not addresses_lib.unreachable(chief)))
  server = server_lib.start(config)
  return Connection(
      config=config, wait_timeout_secs=wait_timeout_secs, addresses=addresses,
      server=server, status_boards=[
          status_board.StatusBoard(i, addresses[f"ps:{i}"], server.target,
                                   _device(config), job_watch.job.number)
          for i in range(config.num_ps_replicas)],
      file=job_state_lib.JobStateFile(config.model_dir),
      stopped_workers=stopped_workers_lib.StoppedWorkers(config.model_dir),
      evaluation_requests=requests_lib.EvaluationRequests(config.model_dir),
      job_watch=job_watch)
