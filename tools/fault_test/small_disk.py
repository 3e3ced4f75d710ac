# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A disk of this process and its children alone, which can be filled."""

import os
from typing import Optional

from adanet.launch import processes

# From Linux's <linux/sched.h> and <linux/mount.h>.
_CLONE_NEWNS = 0x20000
_CLONE_NEWUSER = 0x10000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000


def _enter() -> None:
  """Moves this process to a mount namespace of its own."""
  uid, gid = os.getuid(), os.getgid()
  try:
    processes.call_c("unshare", _CLONE_NEWNS)
  except OSError:
    processes.call_c("unshare", _CLONE_NEWUSER | _CLONE_NEWNS)
    for path, text in (("setgroups", "deny"),
                       ("uid_map", f"{uid} {uid} 1"),
                       ("gid_map", f"{gid} {gid} 1")):
      with open("/proc/self/" + path, "w") as f:
        f.write(text)
  processes.call_c("mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None)


def mount(folder: str, megabytes: int) -> Optional[str]:
  """Mounts a file system in memory, which nobody else sees.

  It is gone with the last process that sees it. This process must have no
  threads.

  Args:
    folder: str, an empty one.
    megabytes: int, how much it holds.

  Returns:
    None; or why the kernel refuses.
  """
  try:
    _enter()
    processes.call_c("mount", b"tmpfs", folder.encode("utf-8"), b"tmpfs", 0,
          f"size={megabytes}m".encode())
  except OSError as error:
    return str(error)
  return None
