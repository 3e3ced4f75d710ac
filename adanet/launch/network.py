# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A private network, so that no other user can reach the servers of a job.

A TensorFlow server runs any graph that it is sent, and listens on all network
interfaces, whatever address it is given. The only interface of a new network
namespace is the loopback.
"""

import fcntl
import os
import socket
import struct

from adanet.launch import processes

# From Linux's <linux/sched.h>.
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000

# From Linux's <linux/sockios.h>, <net/if.h>; `struct ifreq` is 40 bytes long.
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_IFREQ = "16sh22x"


def _write(path, text):
  with open(path, "w") as f:
    f.write(text)


def _enter():
  """Moves this process to a new network, or raises OSError."""
  uid, gid = os.getuid(), os.getgid()
  try:
    # This needs root, but works in a chroot, and keeps all rights of root.
    processes.call_c("unshare", _CLONE_NEWNET)
  except OSError:
    processes.call_c("unshare", _CLONE_NEWUSER | _CLONE_NEWNET)
    # Map the user to itself.
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, _SIOCSIFFLAGS,
                struct.pack(_IFREQ, b"lo", _IFF_UP))


def _works():
  """Tries it in a child: half of it cannot be undone."""
  child = os.fork()
  if not child:
    try:
      _enter()
      os._exit(0)  # pylint: disable=protected-access
    finally:
      os._exit(1)  # pylint: disable=protected-access
  return os.waitpid(child, 0)[1] == 0


def enter() -> bool:
  """Moves this process, and all that it starts later, to a private network.

  This process must have no threads yet.

  Returns:
    False if the kernel refuses. Nothing has changed then.
  """
  if not _works():
    return False
  _enter()
  return True
