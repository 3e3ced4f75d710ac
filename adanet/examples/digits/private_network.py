# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a private network, so that nobody can reach its servers.

A TensorFlow server runs any graph that it is sent, and listens on all network
interfaces, whatever address it is given. The only interface of a new network
namespace is the loopback.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys

_MARK = "ADANET_NETWORK_IS_PRIVATE"

# The first needs root, but works in a chroot, and keeps root's right to write
# to all folders. The second, with a user namespace, works for every user.
_UNSHARE = (
    ("unshare", "--net", "--"),
    ("unshare", "--user", "--map-root-user", "--net", "--"),
)

# From Linux's <linux/sockios.h>, <net/if.h>; `struct ifreq` is 40 bytes long.
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_IFREQ = "16sh22x"


def _bring_loopback_up():
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, _SIOCSIFFLAGS,
                struct.pack(_IFREQ, b"lo", _IFF_UP))


def _works(unshare):
  """Says whether the kernel allows a new network and its loopback."""
  try:
    return subprocess.run(
        unshare + (sys.executable, os.path.abspath(__file__)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False).returncode == 0
  except OSError:
    return False


def enter():
  """Restarts this program, in place of itself, in a private network.

  Returns:
    bool: True in the restarted program. False in this program, if the kernel
    refuses a private network.
  """
  if os.environ.pop(_MARK, None):
    _bring_loopback_up()
    return True
  for unshare in _UNSHARE:
    if _works(unshare):
      os.environ[_MARK] = "1"
      os.execvp(unshare[0], unshare + (sys.executable,) + tuple(sys.argv))
  return False


if __name__ == "__main__":
  _bring_loopback_up()
