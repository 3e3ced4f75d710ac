# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's server of this task, and sessions of a cluster.

TensorFlow cannot end a server, so a server lives as long as the process. A
program that trains again uses the same server.

Opening and closing a session here takes bounded time. TensorFlow opens a
session when the first op runs, and waits without a timeout for all tasks in the
device filters. Closing takes as long when a task is gone. So threads open and
close the sessions, and a thread that does not return is left alone. Each such
thread is a daemon and keeps the session, so neither Python nor TensorFlow waits
for a thread when the process ends.

A thread may return just when the process ends, as when a stopped parameter
server continues. Before Python 3.14, Python then unwinds the stack of the
thread, and TensorFlow's C++ aborts the process
(github.com/tensorflow/tensorflow/issues/50853). So the end of the process waits
a little for slow threads, and then lets late threads sleep, as Python 3.14
does.
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
    addresses: the addresses of the cluster; see `server_addresses`.
    protocol: str.
    config: the ConfigProto as bytes.
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
    dict from task, such as "ps:0", to address, "host:port", without an
    evaluator.
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

  Starts the server, unless the process has the server already.

  Args:
    config: a RunConfig. The device filters of the session_config do not count:
      each session has device filters.

  Returns:
    A `tf.train.Server`, which lives as long as the process.

  Raises:
    ServerError: no process can listen on the port of the task, the process has
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
  # Python never deletes the server, which nothing can stop. In TensorFlow 1.15,
  # the deletion prints an error when Python has taken down the modules.
  ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
  _servers[port] = new._replace(server=server)
  return server


def _kept(started, wanted, address):
  """Returns a started server, if the server is of the wanted task."""
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
  """Returns the ConfigProto of a server for the ConfigProto of sessions.

  A server adds device filters to the filters of every session. With filters
  that name all workers, a session for a single ps would wait for all workers.
  """
  if session_config is None:
    return None
  copy = type(session_config)()
  copy.CopyFrom(session_config)
  copy.ClearField("device_filters")
  return copy


def _check_port(address):
  """Raises an error with the cause if no process can listen on a port.

  The errors of TensorFlow do not name the port.
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
    config: `ConfigProto` of the user, or None. `device_filters` and
      `operation_timeout_in_ms` of the user take precedence.
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
  """Waits for threads that are about to return; later threads will sleep."""
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
    """Begins to open the session.

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
    """Returns the `Session`; None if not open after `secs` seconds.

    Raises:
      tf.errors.OpError: the session cannot be opened.
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
  """Opens a session on a graph, when all tasks of the session answer.

  Args:
    target: str, the address of the server.
    graph: `tf.Graph`.
    config: `ConfigProto`.
    absent: function that returns a dict from each task that does not answer to
      the address.
    wait: `Wait`, whose messages name absent tasks.
    names: str, all tasks, for messages. A stopped server looks like a running
      server.
    look: function that is called again and again. An error of the function ends
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
  """Closes a session in a thread; waits at most a moment."""
  _start_thread(functools.partial(_close, session)).join(_CLOSE_SECS)
