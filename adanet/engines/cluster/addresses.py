# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds addresses of a cluster that are wrong or do not answer."""

from concurrent import futures
import errno
import functools
import socket
from typing import Any, Dict, List, Tuple

# A process may have 1,024 files open, unless its limit is raised.
_MAX_SOCKETS = 256


class AddressError(ValueError):
  """An address that no task can have."""


def _split(address):
  """Returns the host and the port of "host:port" or "[host]:port"."""
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
  """Returns the distinct pairs (family, IP address and scope) of a host."""
  try:
    infos = socket.getaddrinfo(host, 1, type=socket.SOCK_STREAM)
  except UnicodeError as e:  # Not the name of a host.
    raise OSError(str(e)) from e
  return list(dict.fromkeys((info[0], info[4]) for info in infos))


def check(addresses: Dict[str, str]) -> None:
  """Checks the form of each address, that hosts resolve, and for duplicates.

  Args:
    addresses: from task, such as "ps:0", to address, "host:port".

  Raises:
    AddressError: an address is wrong. The message names the first.
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
      try:
        ips[host] = _resolve(host)
      except OSError as e:
        raise AddressError(
            f"the address of {task} is {addresses[task]!r}: host {host!r} does "
            f"not resolve: {e.strerror or e}. Correct it in TF_CONFIG or in "
            "the resolver, or make the name known to this machine.") from e
    for ip in ips[host]:
      other = tasks.setdefault((ip, port), task)
      if other != task:
        raise AddressError(
            f"the addresses of {other} and {task} are the same, "
            f"{addresses[other]!r} and {addresses[task]!r}: each task needs "
            "one of its own. Correct it in TF_CONFIG or in the resolver.")


def unreachable(
    addresses: Dict[str, str], timeout_secs: float = 1.) -> Dict[str, str]:
  """Returns the addresses to which no connection can be made.

  An address that answers has a listening process. The process may be stopped:
  the kernel then answers.

  Args:
    addresses: from task to address, as in `check`.
    timeout_secs: how long an address may take to answer. The function asks 256
      addresses at a time.

  Returns:
    The addresses that do not answer or do not resolve, in the same order.
  """
  if not addresses:
    return {}
  resolved = functools.lru_cache(maxsize=None)(_resolve)
  endpoints = []
  for address in addresses.values():
    try:
      host, port = _split(address)
      endpoints.append([(family, ip[:1] + (port,) + ip[2:])
                        for family, ip in resolved(host)])
    except (OSError, ValueError):
      endpoints.append([])
  with futures.ThreadPoolExecutor(min(len(addresses), _MAX_SOCKETS)) as pool:
    answered = list(pool.map(lambda places: any(
        _connects(family, place, timeout_secs) for family, place in places),
                             endpoints))
  return {task: address for (task, address), has_answered in zip(
      addresses.items(), answered) if not has_answered}


def _connects(family, endpoint, timeout_secs):
  """Returns whether a connection can be made, to another socket."""
  try:
    with socket.socket(family) as s:
      s.settimeout(timeout_secs)
      # The kernel may choose the port that is asked as the one to ask from.
      # Then the socket is connected to itself.
      return not s.connect_ex(endpoint) and s.getpeername() != s.getsockname()
  except OSError as e:
    if e.errno in (errno.EMFILE, errno.ENFILE):  # Nobody was asked.
      raise
    return False  # This machine has no IPv6, or the socket is closed again.
