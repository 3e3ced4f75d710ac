# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A network namespace for a program whose servers nobody else should reach.

A TensorFlow server runs any graph that anyone sends it, and listens on every
interface of the machine whatever address it is given. In a namespace of its own
there is no interface but the loopback.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys

_MARK = "ADANET_NETWORK_IS_PRIVATE"

# The first is root's, who without a user namespace keeps the right to write to
# everybody's folders, and who gets no such namespace in a chroot.
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
  """Whether the kernel grants such a namespace, and its loopback."""
  try:
    return subprocess.run(
        unshare + (sys.executable, os.path.abspath(__file__)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False).returncode == 0
  except OSError:
    return False


def enter():
  """Starts this program again, in place of itself, in a private network.

  Returns:
    bool: True in the program started again; False in this one, where the kernel
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
