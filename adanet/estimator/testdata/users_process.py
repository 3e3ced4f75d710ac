# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A program that looks at its own process before and after a search.

It searches itself, and with a worker of a pool. It prints the changes, a line
each.
"""

from concurrent import futures
import gc
import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile

import numpy as np

_DONE = []  # The changes that adanet makes to the process.
_BETWEEN = ("contextlib", "importlib", "logging", "os", "subprocess")


def _watch(owner, name):
  """Lets a function record that adanet calls it."""
  function = getattr(owner, name)

  def module(frame):
    return frame.f_globals.get("__name__", "")

  def call(*args, **kwargs):
    frame = sys._getframe(1)  # pylint: disable=protected-access
    while module(frame).partition(".")[0] in _BETWEEN:
      frame = frame.f_back
    if module(frame).startswith("adanet"):
      _DONE.append(f"{module(frame)} calls {name}{args[-1:]}")
    return function(*args, **kwargs)

  setattr(owner, name, call)


def _process():
  """Returns the state of every process, as text."""
  numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)
  loggers = [logging.getLogger(name) for name in (
      None, "absl", "keras", "tensorflow")]
  state = {
      "collection": (gc.isenabled(), gc.get_threshold(), gc.callbacks,
                     getattr(gc, "get_freeze_count", int)()),
      "files": [os.fstat(number)[1:3] for number in range(3)],
      "streams": (sys.stdin, sys.stdout, sys.stderr, sys.excepthook),
      "signals": [signal.getsignal(number) for number in numbers],
      "filters": [(logger.level, logger.filters, logger.propagate)
                  for logger in loggers],
      "handlers": [logger.handlers for logger in loggers[:3]],
      "quiet": os.environ.get("TF_CPP_MIN_LOG_LEVEL"),
      "folder": os.getcwd(),
  }
  return {name: repr(value) for name, value in state.items()}


def _process_with_tensorflow():
  """Returns the state of a process with TensorFlow and Keras, as text."""
  # pylint: disable=g-import-not-at-top
  from adanet import tf_compat
  from adanet.tf_compat import tensorflow_internals
  graph = tf_compat.v1.get_default_graph()
  keras = _keras(tf_compat)
  policy = getattr(keras.config, "dtype_policy", None) if hasattr(
      keras, "config") else getattr(
          keras.mixed_precision, "global_policy", None)
  state = {
      "environment": sorted(os.environ.items()),
      "handler of TensorFlow": logging.getLogger("tensorflow").handlers,
      "warnings": len(__import__("warnings").filters),
      "eager": tf_compat.v2.executing_eagerly(),
      "device": tensorflow_internals.eager_device(),
      "graph": (id(graph), graph.seed, len(graph.get_operations())),
      "floats": (keras.backend.floatx(), keras.backend.epsilon()),
      "policy": policy and policy().name,
      "random": random.getstate(),
      "numpy": np.random.get_state(),
  }
  return dict(_process(),
              **{name: repr(value) for name, value in state.items()})


def _keras(tf_compat):
  return tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else tf_compat.v2.keras


def _drawn(tf_compat, do):
  """Returns the drawn numbers and the names of layers, after something."""
  tf, keras = tf_compat.v2, _keras(tf_compat)
  random.seed(7)
  np.random.seed(7)
  tf.random.set_seed(7)
  if hasattr(keras.utils, "set_random_seed"):
    keras.utils.set_random_seed(7)
  first = keras.layers.Dense(1).name
  do()
  values = [random.random(), np.random.uniform()]
  if tf.executing_eagerly():
    values.append(float(tf.random.uniform([])))
  if tf_compat.HAS_KERAS_3:
    values.append(float(keras.random.uniform([])))
  number, next_number = (
      int(name.rpartition("_")[2]) if "_" in name else 0
      for name in (first, keras.layers.Dense(1).name))
  return values, next_number - number


def _differences(before, after):
  return [f"{name} was {before[name][:300]} and is {value[:300]}"
          for name, value in after.items() if value != before[name]]


def _search(adanet, folder, executor):
  """Trains, evaluates and predicts."""
  tf_compat = adanet.tf_compat
  keras = _keras(tf_compat)

  def model():
    return keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])

  def function(features):
    return tf_compat.v1.layers.dense(features["x"], 1) if (
        tf_compat.IS_TENSORFLOW_1) else keras.layers.Dense(1)(features["x"])

  def data():
    return tf_compat.v1.data.Dataset.from_tensors(
        ({"x": np.ones([4, 2], "f")}, np.ones([4, 1], "f"))).repeat(50)

  estimator = adanet.AutoEnsembleEstimator(
      adanet.heads.RegressionHead(),
      {"model": adanet.AutoEnsembleSubestimator(
          model, optimizer=keras.optimizers.Adam(.1)), "function": function},
      optimizer="nadam", model_dir=folder,
      ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler("sgd")],
      max_iteration_steps=2, max_iterations=1)
  estimator.train(data, executor=executor)
  estimator.evaluate(data, steps=1)
  next(iter(list(estimator.predict(lambda: data().take(1)))))


def main():
  for owner, name in (
      (subprocess.Popen, "__init__"), (os, "dup2"), (os, "putenv"),
      (os, "fork"), (gc, "freeze"), (gc, "disable"),
      (logging.Filterer, "addFilter"), (logging.Logger, "addHandler")):
    _watch(owner, name)
  at_first = _process()
  import adanet  # pylint: disable=g-import-not-at-top
  lines = _differences(at_first, _process())
  _keras(adanet.tf_compat)  # It loads TensorFlow.
  _process_with_tensorflow()
  loaded = _process()
  del loaded["handlers"]  # Keras 3 and absl have some of their own.
  lines += _differences(at_first, loaded)
  expected = _drawn(adanet.tf_compat, lambda: None)
  with tempfile.TemporaryDirectory() as folder, futures.ProcessPoolExecutor(
      1, mp_context=multiprocessing.get_context("spawn")) as pool:
    worker = pool.submit(_process_with_tensorflow).result()

    def search():
      before = _process_with_tensorflow()
      for executor in (None, pool):
        _search(adanet, tempfile.mkdtemp(dir=folder), executor)
        lines.extend(_differences(before, _process_with_tensorflow()))

    drawn = _drawn(adanet.tf_compat, search)
    if drawn != expected:
      lines.append(f"draws {drawn} and not {expected}")
    lines += [f"worker: {line}" for line in _differences(
        worker, pool.submit(_process_with_tensorflow).result())]
  print("\n".join(lines + _DONE))


if __name__ == "__main__":
  main()
