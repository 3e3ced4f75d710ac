# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which networks are on which device, and the tensors there.

A network is on one device: variables, steps and data. Networks are divided
among the GPUs. Without a GPU nothing is placed, as in `Model.fit`.
"""

import collections
from collections.abc import Callable, Iterable, Iterator
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
# The devices of the networks that workers of this process train.
_used: list[str | None] = []
_lock = threading.Lock()


def least_loaded(used: Iterable[str | None], first: int = 0) -> str | None:
  """Returns the GPU that is the fewest times in `used`; None without a GPU.

  In a tie, the first GPU from the place `first` on.
  """
  devices, counts = runtime.gpu_names(), collections.Counter(used)
  start = first % len(devices) if devices else 0
  return min([*devices[start:], *devices[:start]],
             key=lambda device: counts[device], default=None)


@contextlib.contextmanager
def worker_device(first: int) -> Iterator[str | None]:
  """Yields the device of a network that a worker trains in a block."""
  with _lock:
    device = least_loaded(_used, first)
    _used.append(device)
  try:
    yield device
  finally:
    with _lock:
      _used.remove(device)


def networks_at_a_time() -> int:
  """Returns the number of networks that train at a time on all GPUs."""
  return _NETWORKS_OF_A_GPU * len(runtime.gpu_names())


def scope(device: str | None) -> Any:
  """Returns the scope of a device; None for TensorFlow's choice."""
  # tf.device(None) would leave a scope of the user.
  return contextlib.nullcontext() if device is None else tf.device(device)


def on_own_device(method: Callable[..., Any]) -> Callable[..., Any]:
  """Decorates a method to run in the scope of the object's `device`."""

  @functools.wraps(method)
  def on_device(self, *args, **kwargs):
    with scope(self.device):
      return method(self, *args, **kwargs)

  return on_device


class DeviceTensors:
  """The tensors that `make(*args)` returns, copied once to each device."""

  def __init__(self, make: Callable[..., list], *args: Any):
    self._make = make, args
    self._copies: dict[str, list] = {}
    self._lock = threading.Lock()

  def __reduce__(self):
    make, args = self._make
    return DeviceTensors, (make, *args)

  def here(self) -> list:
    """Returns the tensors of the device of this thread's scope."""
    device = tensorflow_internals.eager_device()
    with self._lock:
      if device not in self._copies:
        make, args = self._make
        # Without a scope, an op would copy the tensors to the first GPU.
        self._copies[device] = [
            _place(tensor) if device else tensor for tensor in make(*args)]
      return self._copies[device]


def _place(tensor):
  """Returns a tensor on the device of the scope."""
  # TensorFlow reads rows of ragged and sparse tensors on the CPU alone.
  with scope(None if isinstance(tensor, tf.Tensor) else "CPU:0"):
    return tf.identity(tensor)
