# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""GPUs, ports and a network for the tasks of a job on this machine.

Servers of a job get ports without a race. A port that a program has chosen and
closed may go to another program or connection before a server binds the port.
And a restarted task needs the port of the first start. So a socket that does
not listen keeps each port bound as long as the job lives. Linux gives a bound
port to no program that asks for any port. With SO_REUSEADDR on both sockets,
Linux lets a server bind the port by number, and only one socket can listen.
TensorFlow's servers set SO_REUSEADDR (tried with 1.15, 2.15 and 2.21).

The network is private, so no other user can reach the servers of a job. A
TensorFlow server runs any graph, and listens on all network interfaces,
whatever the address. The only interface of a new network namespace is the
loopback.
"""

import contextlib
import fcntl
import glob
import multiprocessing
import os
import socket
import struct
import subprocess
from typing import Dict, Iterator, List, Mapping, Optional, Sequence

from adanet.launch import job as job_lib
from adanet.launch import processes
from adanet import messages

_TIMEOUT_SECS = 10

# From Linux's <linux/sched.h>.
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000

# From Linux's <linux/sockios.h>, <net/if.h>; `struct ifreq` is 40 bytes long.
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_IFREQ = "16sh22x"


def visible_gpus(environment: Mapping[str, str]) -> List[str]:
  """Returns the GPUs that the process may use, by CUDA's names.

  Args:
    environment: of the process. `CUDA_VISIBLE_DEVICES` decides, if set.
      Otherwise the driver is asked.
  """
  names = environment.get("CUDA_VISIBLE_DEVICES")
  if names is not None:
    # As CUDA: the first bad name ends the list.
    listed: List[str] = []
    for name in names.split(","):
      name = name.strip()
      if not name or name.startswith("-"):
        break
      listed.append(name)
    return listed
  devices = glob.glob("/dev/nvidia[0-9]*")
  if not devices:
    return []
  try:
    listing = subprocess.run(
        ["nvidia-smi", "-L"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, timeout=_TIMEOUT_SECS,
        check=True).stdout.decode("utf-8", "replace")
    count = sum(line.startswith("GPU ") for line in listing.splitlines())
  except (OSError, subprocess.SubprocessError):
    count = len(devices)
  return [str(index) for index in range(count)]


def gpu_shares(tasks: Sequence[job_lib.Task],
               gpus: Sequence[str]) -> Dict[job_lib.Task, Dict[str, str]]:
  """Divides GPUs among chief and workers: returns variables of each task.

  With enough GPUs, no two tasks share a GPU, and the first tasks get the GPUs
  that remain. With fewer GPUs, tasks share, and TensorFlow must not take all
  the memory of a GPU at once. Other tasks get no GPU.
  """
  trainers = [task for task in tasks if task.job in job_lib.TRAINS]
  result = {task: {"CUDA_VISIBLE_DEVICES": "-1"} for task in tasks}
  if not gpus or not trainers:
    return result
  is_shared = len(gpus) < len(trainers)
  first = 0
  for number, task in enumerate(trainers):
    if is_shared:
      share = [gpus[number % len(gpus)]]
    else:
      size = len(gpus) // len(trainers) + (number < len(gpus) % len(trainers))
      share = list(gpus[first:first + size])
      first += size
    result[task]["CUDA_VISIBLE_DEVICES"] = ",".join(share)
    if is_shared:
      result[task]["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
  return result


def use_one_gpu() -> None:
  """Gives each worker of a process pool a separate GPU.

  Sets `CUDA_VISIBLE_DEVICES` in each worker before the first task: the first
  worker gets the first GPU that the program may use. If there are more workers
  than GPUs, workers share a GPU, and TensorFlow takes memory as needed. Without
  a GPU, nothing is set. The worker ends with the program, as with
  `adanet.end_with_program`, and so frees the GPU. For example::

      with ProcessPoolExecutor(4, multiprocessing.get_context("spawn"),
                               initializer=adanet.use_one_gpu) as pool:
        search.fit(x, y, executor=pool)

  Raises:
    RuntimeError: the process is no worker of a pool.
  """
  # multiprocessing counts its processes from 1, and has no public name for it.
  identity = getattr(multiprocessing.current_process(), "_identity", ())
  if not identity:
    raise RuntimeError(
        "use_one_gpu: expected a worker of a process pool. Give the function to "
        "the pool, as its initializer")
  processes.end_with_program()
  gpus = visible_gpus(os.environ)
  if gpus:
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus[(identity[-1] - 1) % len(gpus)]
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")


def gpu_sharing_message(tasks: Sequence[job_lib.Task],
                        gpus: Sequence[str]) -> Optional[str]:
  """Returns a line about shared GPUs; None if no tasks share a GPU."""
  count = sum(task.job in job_lib.TRAINS for task in tasks)
  if not gpus or count <= len(gpus):
    return None
  return (f"The chief and the workers ({count}) share "
          f"{messages.count(len(gpus), 'GPU')}, with memory growth on.")


@contextlib.contextmanager
def held_ports(count: int) -> Iterator[List[int]]:
  """Yields different ports that no other program gets by chance."""
  with contextlib.ExitStack() as exits:
    held = [exits.enter_context(socket.socket()) for _ in range(count)]
    for port_socket in held:
      # Without SO_REUSEADDR: no port that another program holds like this.
      port_socket.bind(("", 0))
    for port_socket in held:
      port_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    yield [port_socket.getsockname()[1] for port_socket in held]


def _write(path, text):
  with open(path, "w") as f:
    f.write(text)


def _enter_network():
  """Moves the process to a new network, or raises OSError."""
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


def _can_enter_network():
  """Tries `_enter_network` in a child: half of the steps cannot be undone."""
  child = os.fork()
  if not child:
    try:
      _enter_network()
      os._exit(0)  # pylint: disable=protected-access
    finally:
      os._exit(1)  # pylint: disable=protected-access
  return os.waitpid(child, 0)[1] == 0


def enter_private_network() -> bool:
  """Moves the process and its later children to a private network.

  The process must have no threads yet.

  Returns:
    False if the kernel refuses. Nothing has changed then.
  """
  if not _can_enter_network():
    return False
  _enter_network()
  return True
