# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow server of this task.

TensorFlow cannot end a server, so it lives as long as its process. A program
that trains again goes on with the server that it has.
"""

import socket
from typing import Any, Dict, NamedTuple

from adanet import log as logging
from adanet import tf_compat


class ServerError(RuntimeError):
  """The server of this task cannot be started."""


class _Started(NamedTuple):
  """A server of this process.

  Attributes:
    task: str, such as "worker:1".
    addresses: those of its cluster; see `addresses`.
    protocol: str.
    config: its ConfigProto as bytes.
    server: `tf.train.Server`.
  """
  task: str
  addresses: Dict[str, str]
  protocol: str
  config: bytes
  server: Any


_started: Dict[str, _Started] = {}  # By port.


def addresses(config: Any) -> Dict[str, str]:
  """Returns the addresses of all tasks that have a server.

  Args:
    config: a RunConfig.

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


def start(config: Any) -> Any:
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
  cluster = addresses(config)
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
  if port in _started:
    return _kept(_started[port], new, address)
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
  _started[port] = new._replace(server=server)
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
