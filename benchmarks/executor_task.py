# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The searches that `executor` measures, and what its workers do beside them.

The compute of a network is delays in its graph: one for each forward pass, in
training and evaluation, and two for each backward pass. So the workers of a
small machine overlap as those of many machines do.
"""

import collections
import os
import threading
import time
from typing import NamedTuple

import adanet
from adanet import tf_compat
from adanet.tf_compat import v1 as tf
from benchmarks import search

_TIMEOUT_SECS = 120.
FORWARD, BACKWARD = 1, 2  # How many delays each takes.

_lock = threading.Lock()  # A processor computes one thing after another.


class Delays(NamedTuple):
  """What a delay is.

  Attributes:
    folder: str; each process has a file there, with a byte for each delay.
    secs: float; 0 for networks without delays.
  """
  folder: str
  secs: float

  def op(self, count):
    """Returns an op that takes some delays."""

    def pause(unused_value):
      with _lock:
        time.sleep(self.secs * count)
        with open(os.path.join(self.folder, str(os.getpid())), "ab") as f:
          f.write(b"." * count)
      return True

    return tf.py_func(pause, [0], tf.bool)

  def counts(self):
    """Returns dict from a process to how many delays it has taken."""
    return collections.Counter({
        int(name): os.path.getsize(os.path.join(self.folder, name))
        for name in os.listdir(self.folder)})


class Builder(search.Builder):
  """A builder whose network takes its delays."""

  def __init__(self, index, delays):
    super().__init__(index)
    self._name = f"dense_{index}"
    self._delays = delays

  def build_subnetwork(self, features, *args, **kwargs):
    if self._delays.secs:
      with tf.control_dependencies([self._delays.op(FORWARD)]):
        features = {"x": tf.identity(features["x"])}
    return super().build_subnetwork(features, *args, **kwargs)

  def build_subnetwork_train_op(self, *args, **kwargs):
    ops = [self._delays.op(BACKWARD)] if self._delays.secs else []
    with tf.control_dependencies(ops):
      return super().build_subnetwork_train_op(*args, **kwargs)


def estimator(model_dir, num_candidates, num_steps, delays,
              evaluation_steps=0):
  """Returns an `Estimator`.

  Args:
    model_dir: str.
    num_candidates: int, of each iteration.
    num_steps: int, of an iteration.
    delays: `Delays`.
    evaluation_steps: int, of the evaluator; 0 for none.
  """
  return adanet.Estimator(
      head=adanet.heads.MultiClassHead(search.NUM_CLASSES),
      subnetwork_generator=adanet.subnetwork.SimpleGenerator(
          [Builder(i, delays) for i in range(num_candidates)]),
      max_iteration_steps=num_steps, force_grow=True,
      evaluator=adanet.Evaluator(search.input_fn, steps=evaluation_steps)
      if evaluation_steps else None,
      config=tf_compat.RunConfig(
          model_dir=model_dir, tf_random_seed=1, save_checkpoints_secs=None,
          # The same for all that is compared.
          session_config=tf.ConfigProto(
              intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)))


class StepTimes(tf.train.SessionRunHook):
  """Writes how many seconds a step takes, without the first ones."""

  def __init__(self, folder, num_steps):
    """Keeps what it is given.

    Args:
      folder: str; a file in it gets a line for each training.
      num_steps: int, how many steps are trained. The first fifth is not timed.
    """
    self._folder = folder
    self._num_steps = num_steps
    self._count = 0
    self._began = 0.

  def after_run(self, run_context, run_values):
    self._count += 1
    first = self._num_steps // 5
    if self._count == first:
      self._began = time.perf_counter()
    elif self._count == self._num_steps:
      secs = time.perf_counter() - self._began
      with open(os.path.join(self._folder, "secs"), "a") as f:
        f.write(f"{secs / (self._num_steps - first)!r}\n")


def train_alone(model_dir, num_steps, folder):
  """Trains one candidate as one process does, with `StepTimes`."""
  estimator(model_dir, 1, num_steps, Delays(folder, 0.)).train(
      search.input_fn, [StepTimes(folder, num_steps)], steps=num_steps)


def start(folder, count):
  """Loads TensorFlow in a worker, and waits until so many workers have.

  Args:
    folder: str, for a file of each of them.
    count: int.
  """
  with tf.Graph().as_default(), tf.Session() as session:
    session.run(tf.constant(0))
  with open(os.path.join(folder, str(os.getpid())), "w"):
    end = time.monotonic() + _TIMEOUT_SECS
  while len(os.listdir(folder)) < count:
    if time.monotonic() > end:
      raise TimeoutError(f"{count} workers have not started")
    time.sleep(.05)


def digits_input():
  """Returns the digits: the data is read here, and so not sent."""
  from sklearn import datasets  # pylint: disable=g-import-not-at-top
  images, labels = datasets.load_digits(return_X_y=True)
  return tf.data.Dataset.from_tensor_slices(
      ({"x": (images / 16).astype("float32")}, labels)).repeat().batch(50)
