# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Subnetworks whose compute is delays in the graph.

So the workers of a small machine overlap as those of many machines do. They are
subnetworks of this project or of AdaNet 0.8.0: both are the package `adanet`.
"""

import threading
import time

from adanet import tf_compat
from benchmarks import search


class Processor:
  """Computes for some seconds: one step after another, as a processor does.

  It begins with its first step when the benchmark says so.

  Attributes:
    secs: dict from whether it was for training to the seconds so far.
  """

  def __init__(self, connection):
    self._connection = connection
    self._lock = threading.Lock()
    self._is_open = False
    self.secs = {True: 0., False: 0.}

  def compute(self, secs, training):
    with self._lock:  # TensorFlow runs ops at the same time.
      if not self._is_open:
        self._connection.send("ready")
        self._connection.recv()
        self._is_open = True
      time.sleep(secs)
      self.secs[training] += secs


class Builder(search.Builder):
  """A builder whose subnetwork takes its time for a step."""

  def __init__(self, index, forward_secs, backward_secs, processor):
    super().__init__(index)
    self._forward_secs = forward_secs
    self._backward_secs = backward_secs
    self._processor = processor

  def _after(self, secs, training):
    """Returns a scope whose ops wait so long."""
    v1 = tf_compat.v1

    def pause(unused_step):
      self._processor.compute(secs, training)
      return True

    return v1.control_dependencies([v1.py_func(pause, [0], v1.bool)])

  def build_subnetwork(self, features, training, **kwargs):
    with self._after(self._forward_secs, training):
      features = {"x": tf_compat.v1.identity(features["x"])}
    return super().build_subnetwork(
        features=features, training=training, **kwargs)

  def build_subnetwork_train_op(self, *args, **kwargs):
    with self._after(self._backward_secs, training=True):
      return super().build_subnetwork_train_op(*args, **kwargs)
