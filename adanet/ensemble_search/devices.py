# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""On which device each network is: networks are divided among the GPUs.

A network is on one device: its variables, its steps and its data. Without a GPU
nothing is placed, and TensorFlow does as it does in `Model.fit`.
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
  """Returns the GPU that is the fewest times in `used`; None without any.

  Of several, the first one from the place `first` on.
  """
  devices, counts = runtime.gpu_names(), collections.Counter(used)
  start = first % len(devices) if devices else 0
  return min([*devices[start:], *devices[:start]], key=lambda one: counts[one],
             default=None)


@contextlib.contextmanager
def one_more(first: int) -> Iterator[str | None]:
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
  """Returns how many networks train at a time on all GPUs: 0 without any."""
  return _NETWORKS_OF_A_GPU * len(runtime.gpu_names())


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


class TensorsOfDevices:
  """Tensors of which each device that needs them has a copy of its own."""

  def __init__(self, make: Callable[..., list], *args: Any):
    """Makes nothing yet: `make(*args)` returns the tensors, when needed."""
    self._make = make, args
    self._copies: dict[str, list] = {}
    self._lock = threading.Lock()

  def __reduce__(self):
    make, args = self._make
    return TensorsOfDevices, (make, *args)

  def here(self) -> list:
    """Returns the tensors of the device in whose scope this thread is."""
    device = tensorflow_internals.eager_device()
    with self._lock:
      if device not in self._copies:
        make, args = self._make
        # Without a scope, an op would copy them to the first GPU.
        self._copies[device] = [
            _placed(one) if device else one for one in make(*args)]
      return self._copies[device]


def _placed(tensor):
  """Returns a tensor on the device of the scope: itself if it is there."""
  # TensorFlow reads rows of ragged and sparse tensors on the CPU alone.
  with scope(None if isinstance(tensor, tf.Tensor) else "CPU:0"):
    return tf.identity(tensor)
