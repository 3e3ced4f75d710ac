# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""On which device each network is: networks are divided among the GPUs.

A network is on one device: its variables, its steps and its data. Without a GPU
nothing is placed, and TensorFlow does as it does in `Model.fit`.
"""

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
import functools
import threading
from typing import Any

from adanet import tf_compat
from adanet.tf_compat import runtime
from adanet.tf_compat import tensorflow_internals

tf = tf_compat.v2
# TensorFlow runs the ops of a GPU one after the other. Further networks fill
# the time in which the CPU prepares the ops of small networks, and each takes
# memory of the GPU.
_NETWORKS_OF_A_GPU = 4


def least_loaded(devices: Sequence[str], used: Iterable[str | None],
                 first: int = 0) -> str | None:
  """Returns the device that has the fewest networks; None without devices.

  Args:
    devices: names of devices.
    used: the device of each network that has one now.
    first: int, where to begin in `devices`, of which the first one is taken
      where several have as few networks.
  """
  counts = collections.Counter(used)
  start = first % len(devices) if devices else 0
  return min([*devices[start:], *devices[:start]], key=lambda one: counts[one],
             default=None)


def networks_at_a_time(devices: Sequence[str], cores: int) -> int:
  """Returns how many networks train at a time, in as many threads.

  Args:
    devices: names of devices.
    cores: int, how many networks train at a time where there are no devices.
  """
  return _NETWORKS_OF_A_GPU * len(devices) or cores


def scope(device: str | None) -> Any:
  """Returns the scope of a device; None for TensorFlow's choice."""
  # tf.device(None) would leave a scope of the user.
  return contextlib.nullcontext() if device is None else tf.device(device)


def on_own_device(method: Callable[..., Any]) -> Callable[..., Any]:
  """Returns a method that runs in the scope of `device` of its object."""

  @functools.wraps(method)
  def on_device(this, *args, **kwargs):
    with scope(this.device):
      return method(this, *args, **kwargs)

  return on_device


class RunningNetworks:
  """How many networks each device has, of all threads of a process."""

  def __init__(self) -> None:
    self._used: list[str | None] = []
    self._lock = threading.Lock()

  @contextlib.contextmanager
  def one_more(self, first: int) -> Iterator[str | None]:
    """Yields the device of a network that trains in a block.

    Args:
      first: int, as that of `least_loaded`.
    """
    with self._lock:
      device = least_loaded(runtime.gpu_names(), self._used, first)
      self._used.append(device)
    try:
      yield device
    finally:
      with self._lock:
        self._used.remove(device)


class TensorsOfDevices:
  """Tensors of which each device that needs them has a copy of its own."""

  def __init__(self, made: Callable[[], list]):
    """Makes nothing yet.

    Args:
      made: returns the tensors, the same ones or others of the same values.
    """
    self._made = made
    self._copies: dict[str, list] = {}
    self._lock = threading.Lock()

  def here(self) -> list:
    """Returns the tensors of the device in whose scope this thread is."""
    device = tensorflow_internals.eager_device()
    with self._lock:
      if device not in self._copies:
        tensors = self._made()
        # Without a scope, an op would copy them to the first GPU.
        self._copies[device] = (
            list(map(_placed, tensors)) if device else tensors)
      return self._copies[device]


def _placed(tensor):
  """Returns a tensor on the device of the scope: itself if it is there."""
  if isinstance(tensor, tf.Tensor):
    return tf.identity(tensor)
  # TensorFlow reads rows of ragged and sparse tensors on the CPU alone.
  with tf.device("CPU:0"):
    return tf.identity(tensor)
