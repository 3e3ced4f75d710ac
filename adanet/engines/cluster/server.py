# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow server of this task."""

import socket
from typing import Any, Dict

from adanet import tf_compat


class ServerError(RuntimeError):
  """The server of this task cannot be started."""


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
  """Starts the server of the task that a RunConfig describes.

  Args:
    config: a RunConfig. Of its session_config the device filters do not count:
      a session brings its own.

  Returns:
    A `tf.train.Server`. It lives as long as this process.

  Raises:
    ServerError: no process can listen on the port of the task, or TensorFlow
      cannot start the server.
  """
  task = f"{config.task_type}:{config.task_id}"
  address = addresses(config).get(task)
  if address is None:
    raise ServerError(
        f"cannot start a server for {task}: expected a chief, worker or ps of "
        "the cluster in TF_CONFIG.")
  try:
    _check_port(address)
  except (OSError, OverflowError, ValueError) as e:
    raise ServerError(
        f"{task} cannot listen on {address}: "
        f"{getattr(e, 'strerror', None) or e}. End what uses the port, or "
        "choose another one in TF_CONFIG.") from e
  tf = tf_compat.v1
  try:
    return tf.train.Server(
        config.cluster_spec, job_name=config.task_type,
        task_index=config.task_id, protocol=config.protocol or "grpc",
        config=_without_filters(config.session_config))
  except tf.errors.OpError as e:
    raise ServerError(f"cannot start the server of {task} on {address}: "
                      f"{' '.join(e.message.split())}") from e


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
