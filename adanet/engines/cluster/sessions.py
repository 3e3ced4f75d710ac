# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's server of this task, and sessions of a cluster.

TensorFlow cannot end a server, so it lives as long as its process. A program
that trains again goes on with the server that it has.

The sessions neither open nor close without an end. TensorFlow opens a session
when the first op runs, and waits then until all tasks that its device filters
name have answered; no timeout holds there. To close one takes as long when a
task is gone. So both happen in a thread, which is left alone if it does not
come back. It is a daemon, and it keeps its session: neither Python nor
TensorFlow waits for one of them when the process ends.

But one may come back in that moment, as when a parameter server that was
stopped goes on. Before Python 3.14, Python ends it then by unwinding its stack,
which TensorFlow's C++ answers with an abort of the process
(github.com/tensorflow/tensorflow/issues/50853). So the end waits a little for
slow threads, and lets the rest sleep when they come, as Python 3.14 does.
"""

import atexit
import contextlib
import ctypes
import functools
import socket
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting

# The limit of a run. One that takes longer has lost a task.
OPERATION_TIMEOUT_SECS = 60.
_CLOSE_SECS = 2.
_POLL_SECS = .02
_END_SECS = 1.


class ServerError(RuntimeError):
  """The server of this task cannot be started."""


class _Started(NamedTuple):
  """A server of this process.

  Attributes:
    task: str, such as "worker:1".
    addresses: those of its cluster; see `server_addresses`.
    protocol: str.
    config: its ConfigProto as bytes.
    server: `tf.train.Server`.
  """
  task: str
  addresses: Dict[str, str]
  protocol: str
  config: bytes
  server: Any


_servers: Dict[str, _Started] = {}  # By port.


def server_addresses(config: Any) -> Dict[str, str]:
  """Returns the addresses of all tasks that have a server.

  Returns:
    dict from task, such as "ps:0", to its address, "host:port". An evaluator
    is not in it.
  """
  task_types = tf_compat.TaskType
  jobs = (task_types.CHIEF, task_types.MASTER, task_types.WORKER, task_types.PS)
  spec = config.cluster_spec
  return {
      f"{job}:{index}": spec.task_address(job, index)
      for job in jobs if job in spec.jobs for index in spec.task_indices(job)
  }


def start_server(config: Any) -> Any:
  """Returns the server of the task that a RunConfig describes.

  It is started if this process does not have it yet.

  Args:
    config: a RunConfig. Of its session_config the device filters do not count:
      a session brings its own.

  Returns:
    A `tf.train.Server`. It lives as long as this process.

  Raises:
    ServerError: no process can listen on the port of the task, this process has
      the server of another cluster there, or TensorFlow cannot start the
      server.
  """
  task = f"{config.task_type}:{config.task_id}"
  cluster = server_addresses(config)
  address = cluster.get(task)
  if address is None:
    raise ServerError(
        f"cannot start a server for {task}: expected a chief, worker or ps of "
        "the cluster in TF_CONFIG.")
  server_config = _without_filters(config.session_config)
  new = _Started(
      task, cluster, config.protocol or "grpc",
      server_config.SerializeToString(deterministic=True)
      if server_config is not None else b"", None)
  port = address.rpartition(":")[2]
  if port in _servers:
    return _kept(_servers[port], new, address)
  try:
    _check_port(address)
  except (OSError, OverflowError, ValueError) as e:
    raise ServerError(
        f"{task} cannot listen on {address}: "
        f"{getattr(e, 'strerror', None) or e}. End what uses the port, or "
        "choose another one in TF_CONFIG.") from e
  tf = tf_compat.v1
  try:
    server = tf.train.Server(
        config.cluster_spec, job_name=config.task_type,
        task_index=config.task_id, protocol=new.protocol, config=server_config)
  except tf.errors.OpError as e:
    raise ServerError(f"cannot start the server of {task} on {address}: "
                      f"{' '.join(e.message.split())}") from e
  _servers[port] = new._replace(server=server)
  return server


def _kept(started, wanted, address):
  """Returns the server that this process has, if it is the one wanted."""
  if wanted[:3] != started[:3]:
    raise ServerError(
        f"{wanted.task} cannot listen on {address}: this process is "
        f"{started.task} of another cluster there, and a server of TensorFlow "
        "lives as long as its process. Train in another process, or with "
        "another port in TF_CONFIG.")
  if wanted.config != started.config:
    logging.warning(
        "The server of %s was started with another session_config, whose "
        "devices and threads stay until this process ends.", wanted.task)
  return started.server


def _without_filters(session_config):
  """Returns the ConfigProto of a server for that of its sessions.

  A server adds its device filters to every session's. So a session on a
  ps, of which the RunConfig's filters name all workers, would wait for them
  even if it asks for the ps alone.
  """
  if session_config is None:
    return None
  copy = type(session_config)()
  copy.CopyFrom(session_config)
  copy.ClearField("device_filters")
  return copy


def _check_port(address):
  """Raises an error with the cause if no process can listen on a port.

  TensorFlow does not name the port, and 2.21 writes a page to stderr.
  """
  with socket.socket() as s:
    # As TensorFlow does: a task that was killed leaves connections that the
    # kernel keeps for a minute, and its port is free all the same.
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # TensorFlow listens on every interface.
    s.bind(("", int(address.rpartition(":")[2])))


def configured(config: Any, filters: Sequence[str],
               timeout_secs: float = OPERATION_TIMEOUT_SECS) -> Any:
  """Returns the `ConfigProto` of a session of a cluster.

  Args:
    config: `ConfigProto` of the user, or None. Its `device_filters` and
      `operation_timeout_in_ms` hold, if it has them.
    filters: the tasks that the session may ask, as device filters.
    timeout_secs: float, the limit of a run.
  """
  result = tf_compat.default_session_config()
  if config is not None:
    result.CopyFrom(config)
  if not result.device_filters:
    result.device_filters.extend(filters)
  if not result.operation_timeout_in_ms:
    result.operation_timeout_in_ms = int(timeout_secs * 1000)
  return result


# Set when the call of a thread has come back. A signal may come before Python
# knows that a thread has started, so the thread itself cannot be asked.
_returns: List[threading.Event] = []


def _start_thread(call: Callable[[], None]) -> threading.Thread:
  """Returns a thread that calls a function."""
  returned = threading.Event()
  calls = [call]

  def run():
    try:
      # What only the call holds ends with the call: TensorFlow deletes a
      # session without the lock of Python, and a thread that comes back from
      # there to a Python that has ended aborts the process.
      calls.pop()()
    finally:
      returned.set()

  _returns[:] = [event for event in _returns if not event.is_set()]
  _returns.append(returned)
  del call
  thread = threading.Thread(target=run, daemon=True)
  thread.start()
  return thread


@atexit.register
def _end_threads():
  """Waits for threads that are about to come back; the rest will sleep."""
  end = time.monotonic() + _END_SECS
  if not all(returned.wait(max(0., end - time.monotonic()))
             for returned in list(_returns)):
    with contextlib.suppress(AttributeError, OSError):  # Another system.
      set_terminate = getattr(
          ctypes.CDLL("libstdc++.so.6"), "_ZSt13set_terminatePFvvE")
      set_terminate(ctypes.CDLL(None).pause)


class Opening:
  """A session that is being opened."""

  def __init__(self, target: str, graph: Any, config: Any):
    """Begins to open it.

    Args:
      target: str, the address of the server.
      graph: `tf.Graph`.
      config: `ConfigProto`.
    """
    with graph.as_default():
      self._first_op = tf_compat.v1.no_op()
    self._session = tf_compat.v1.Session(target, graph=graph, config=config)
    self._error: Optional[Exception] = None
    self._is_over = threading.Event()
    _start_thread(self._open)

  def _open(self):
    try:
      self._session.run(self._first_op)
    except Exception as error:  # pylint: disable=broad-except
      self._error = error
    self._is_over.set()
    if self._error is not None:
      # Python would close it when the program ends, and wait for a lost task.
      # In this thread: the end of the program waits for no later one.
      _close(self._session)

  def result(self, secs: float) -> Any:
    """Returns the `Session`; None if it is not open after `secs` seconds.

    Raises:
      tf.errors.OpError: it cannot be opened.
    """
    if not self._is_over.wait(secs):
      return None
    if self._error is not None:
      raise self._error
    return self._session


def wait_until_connected(
    target: str, graph: Any, config: Any,
    absent: Callable[[], Dict[str, str]],
    wait: waiting.Wait,
    names: str = "the parameter servers",
    look: Callable[[], None] = lambda: None) -> Any:
  """Opens a session on a graph, when all of its tasks are there.

  Args:
    target: str, the address of the server.
    graph: `tf.Graph`.
    config: `ConfigProto`.
    absent: function that returns the tasks that do not answer, by name, with
      their addresses.
    wait: `Wait`, which names them.
    names: str, all of them, for messages. A stopped server cannot be told
      from a running one.
    look: function that is called again and again; it raises an error to end
      the wait.

  Raises:
    waiting.WaitTimeoutError: a task is absent for too long.
  """
  def missing():
    tasks = absent()
    return ", ".join("{} ({})".format(*task) for task in sorted(
        tasks.items())) or f"an answer of {names}"

  def pause(secs):
    look()
    wait.pause(secs, missing)

  while True:
    if absent():
      pause(.25)
      continue
    opening = Opening(target, graph, config)
    try:
      session = opening.result(_POLL_SECS)
      while session is None:
        pause(0.)
        session = opening.result(_POLL_SECS)
    except tf_compat.v1.errors.OpError as error:
      logging.debug("cannot open a session: %s", error)
      pause(.25)
      continue
    wait.done()
    return session


def _close(session):
  try:
    session.close()
  except tf_compat.v1.errors.OpError as error:
    logging.debug("cannot close a session: %s", error)


def close(session: Any) -> None:
  """Closes a session, if that takes no longer than a moment."""
  _start_thread(functools.partial(_close, session)).join(_CLOSE_SECS)
