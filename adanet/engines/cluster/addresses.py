# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which addresses of a cluster are wrong, and which do not answer."""

import contextlib
import errno
import selectors
import socket
import time
from typing import Any, Dict, List, Tuple

# A process may have 1,024 files open, unless its limit is raised.
_MAX_SOCKETS = 256


class AddressError(ValueError):
  """An address that no task can have."""


def _split(address):
  """Returns the host and the port of "host:port" or "[host]:port".

  Raises:
    ValueError: the address does not have this form.
  """
  host, colon, port = address.rpartition(":")
  if host.startswith("[") and host.endswith("]"):
    host = host[1:-1]
  elif ":" in host:
    raise ValueError(address)
  if not (host and colon and port.isascii() and port.isdigit()):
    raise ValueError(address)
  if "/" in host or host.split() != [host] or not 1 <= int(port) <= 65535:
    raise ValueError(address)
  return host, int(port)


def _resolve(host):
  """Returns (family, IP address and scope) of a host, each once.

  Raises:
    OSError: it does not resolve.
  """
  try:
    infos = socket.getaddrinfo(host, 1, type=socket.SOCK_STREAM)
  except UnicodeError as e:  # Not the name of a host.
    raise OSError(str(e)) from e
  return list(dict.fromkeys((info[0], info[4]) for info in infos))


def check(addresses: Dict[str, str]) -> None:
  """Checks the form of each address, that it resolves, and that it is alone.

  Args:
    addresses: from task, such as "ps:0", to address, "host:port".

  Raises:
    AddressError: the first that is wrong.
  """
  parts: Dict[str, Tuple[str, int]] = {}
  for task, address in addresses.items():
    try:
      parts[task] = _split(address)
    except ValueError:
      raise AddressError(
          f"the address of {task} is {address!r}: expected host:port with a "
          "port from 1 to 65535. Correct it in TF_CONFIG or in the "
          "resolver.") from None
  ips: Dict[str, List[Any]] = {}
  tasks: Dict[Any, str] = {}  # By IP address and port.
  for task, (host, port) in parts.items():
    if host not in ips:
      ips[host] = _resolve_or_fail(host, task, addresses[task])
    for ip in ips[host]:
      other = tasks.setdefault((ip, port), task)
      if other != task:
        raise AddressError(
            f"the addresses of {other} and {task} are the same, "
            f"{addresses[other]!r} and {addresses[task]!r}: each task needs "
            "one of its own. Correct it in TF_CONFIG or in the resolver.")


def _resolve_or_fail(host, task, address):
  """Calls `_resolve`; the error names the task."""
  try:
    return _resolve(host)
  except OSError as e:
    raise AddressError(
        f"the address of {task} is {address!r}: host {host!r} does not "
        f"resolve: {e.strerror or e}. Correct it in TF_CONFIG or in the "
        "resolver, or make the name known to this machine.") from e


def unreachable(
    addresses: Dict[str, str], timeout_secs: float = 1.) -> Dict[str, str]:
  """Returns the addresses to which no connection can be made.

  A connection says that a process listens there. It may be stopped all the
  same: then the kernel answers for it.

  Args:
    addresses: from task to address, as in `check`.
    timeout_secs: how long an address may take to answer. 256 are asked at
      a time.

  Returns:
    The addresses that do not answer or do not resolve, in the same order.
  """
  endpoints = _endpoints(addresses)
  answered = set()
  for i in range(0, len(endpoints), _MAX_SOCKETS):
    answered |= _answered(endpoints[i:i + _MAX_SOCKETS], timeout_secs)
  return {
      task: address for task, address in addresses.items()
      if task not in answered
  }


def _endpoints(addresses):
  """Returns (task, family, socket address): several where a name has them."""
  hosts = {}
  endpoints = []
  for task, address in addresses.items():
    try:
      host, port = _split(address)
      if host not in hosts:
        hosts[host] = []
        hosts[host] = _resolve(host)
    except (OSError, ValueError):
      continue
    endpoints += [(task, family, ip[:1] + (port,) + ip[2:])
                  for family, ip in hosts[host]]
  return endpoints


def _answered(endpoints, timeout_secs):
  """Returns the tasks that accept a connection, asked all at once."""
  answered = set()
  end = time.monotonic() + timeout_secs
  with contextlib.ExitStack() as stack:
    selector = stack.enter_context(selectors.DefaultSelector())
    for task, family, endpoint in endpoints:
      try:
        s = stack.enter_context(socket.socket(family))
      except OSError as e:
        if e.errno != errno.EAFNOSUPPORT:  # This machine has no IPv6.
          raise
        continue
      s.setblocking(False)
      if s.connect_ex(endpoint) in (0, errno.EINPROGRESS):
        selector.register(s, selectors.EVENT_WRITE, task)
    while selector.get_map():
      ready = selector.select(max(0., end - time.monotonic()))
      if not ready:
        break
      for key, _ in ready:
        selector.unregister(key.fileobj)
        if _is_connected(key.fileobj):
          answered.add(key.data)
  return answered


def _is_connected(s):
  """Returns whether a connection was made, and to somebody else."""
  if s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
    return False
  try:
    # The kernel may choose the port that is asked as the one to ask from. Then
    # the socket is connected to itself.
    return s.getpeername() != s.getsockname()
  except OSError:  # It is closed again.
    return False
