# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `EnsembleSearch` takes beside `Model.fit` at its best, and for many.

Both sides train the same models for the same steps, and check the same held-out
rows after each epoch, with no number of epochs without a gain that ends one.
`Model.fit` gets what makes it fast on a CPU: a `tf.data.Dataset`, several steps
in an execution, and no `jit_compile`. Each side is in a process of its own.
"""

import functools
import os
import statistics
import tempfile
import time
from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

import adanet
from adanet import tf_compat
from adanet.tf_compat import keras_3 as keras
from benchmarks import program
from benchmarks import value_task
import numpy as np

_NUM_FEATURES, _NUM_CLASSES, _BATCH_SIZE = 40, 10, 64
_STEPS_OF_EPOCH, _NUM_HELD_OUT = 90, 1440
_STEPS_PER_EXECUTION = 20
# Most steps of a row -> how much of the CPU time of Model.fit it may take.
_LIMITS = {720: .45, 2880: .5}
_MB_OF_NETWORK = 4.


class LiveSize(NamedTuple):
  """How large a run is.

  Attributes:
    num_models: int.
    epochs: tuple of int, for how many epochs of 90 steps each of them trains.
    num_small: int, how many small networks a search has.
  """
  num_models: int
  epochs: Tuple[int, ...]
  num_small: int


FULL = LiveSize(value_task.MAX_MODELS, (8, 32), 200)


def _data(num_rows):
  random = np.random.RandomState(0)
  x = random.randn(num_rows, _NUM_FEATURES).astype("float32")
  scores = x @ random.randn(_NUM_FEATURES, _NUM_CLASSES)
  return x, (scores + 2 * random.randn(*scores.shape)).argmax(1).astype("int32")


def _network(depth, width):
  return keras.Sequential(
      [keras.Input([_NUM_FEATURES])] +
      [keras.layers.Dense(width, "relu") for _ in range(depth)] +
      [keras.layers.Dropout(.1), keras.layers.Dense(_NUM_CLASSES)])


def _loss():
  return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _searched(models, x, y, held_out, **fit):
  with tempfile.TemporaryDirectory() as folder:
    search = adanet.EnsembleSearch(models, _loss(), directory=folder, seed=1)
    search.fit(x, y, batch_size=_BATCH_SIZE, validation_data=held_out,
               verbose=0, **fit)
    return [len(network.epochs) for network in search.history.networks]


def _by_search(models, data, epochs):
  """Returns how many epochs each network trained."""
  return _searched(models, *data, epochs=epochs, patience=epochs)


def _by_fit(models, data, epochs):
  """Returns the same of `Model.fit` at its best."""
  x, y, held_out = data
  dataset = tf_compat.v2.data.Dataset.from_tensor_slices
  train = dataset((x, y)).cache().shuffle(len(y)).batch(
      _BATCH_SIZE).prefetch(2)
  check = dataset(held_out).batch(256).cache()
  epoch_counts = []
  for make in models.values():
    model = make()
    model.compile("adam", _loss(), jit_compile=False,
                  steps_per_execution=_STEPS_PER_EXECUTION)
    history = model.fit(train, epochs=epochs, validation_data=check, verbose=0)
    epoch_counts.append(len(history.epoch))
  return epoch_counts


SIDES = {"EnsembleSearch": _by_search, "Model.fit at its best": _by_fit}


def answer_of_nine(connection: Any, side: str, size: LiveSize,
                   epochs: int) -> None:
  """Sends the CPU seconds of the models of a side, without imports.

  Args:
    connection: `multiprocessing.Connection`.
    side: str, a key of `SIDES`.
    size: `LiveSize`.
    epochs: int.
  """
  models = {
      name: functools.partial(_network, *sizes)
      for name, sizes in value_task.models(size.num_models).items()}
  rows = _STEPS_OF_EPOCH * _BATCH_SIZE
  x, y = _data(rows + _NUM_HELD_OUT)
  data = x[:rows], y[:rows], (x[rows:], y[rows:])
  _ = adanet.EnsembleSearch  # Which imports the project.
  began = time.process_time()
  epoch_counts = SIDES[side](models, data, epochs)
  secs = time.process_time() - began
  program.check(epoch_counts == [epochs] * len(models),
                f"{side} trained {epoch_counts}")
  connection.send(secs)


def _memory():
  """Returns the bytes of memory of this process."""
  with open("/proc/self/statm", encoding="utf-8") as f:
    return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def answer_of_many(connection: Any, size: LiveSize) -> None:
  """Sends CPU seconds of one network alone, and of each of many; and its bytes.

  Args:
    connection: `multiprocessing.Connection`.
    size: `LiveSize`.
  """
  x, y = _data(500)
  make = functools.partial(_network, 1, 8)
  fit = functools.partial(_searched, x=x[:400], y=y[:400],
                          held_out=(x[400:], y[400:]), epochs=3)
  fit({"first": make})  # Loads what it needs.
  began = time.process_time()
  fit({"alone": make})
  alone = time.process_time() - began
  before, began = _memory(), time.process_time()
  epoch_counts = fit({f"n{i}": make for i in range(size.num_small)})
  secs = (time.process_time() - began) / size.num_small
  program.check(len(epoch_counts) == size.num_small,
                f"trained {len(epoch_counts)}")
  connection.send((alone, secs, (_memory() - before) / size.num_small))


def rows_of_nine(size: LiveSize, epochs: int,
                 turns: Iterable[Dict[str, float]]) -> List[Dict[str, Any]]:
  """Returns the row of what the models of both sides take.

  Args:
    size: `LiveSize`.
    epochs: int.
    turns: dicts from a side to its CPU seconds.
  """
  ours, fit = ([turn[side] for turn in turns] for side in SIDES)
  ratio = statistics.median(a / b for a, b in zip(ours, fit))
  steps = epochs * _STEPS_OF_EPOCH
  return [{
      "kind": "live", "what": f"{size.num_models} models, {steps:,} steps of "
      f"{_BATCH_SIZE}: CPU time in that of Model.fit at its best",
      "value": ratio, "limits": {"value": _LIMITS.get(steps, .5)},
      "figure": f"{ratio:.2f}; {statistics.median(ours):.1f} of "
                f"{statistics.median(fit):.1f} CPU s"}]


def rows_of_many(size: LiveSize, turns: Iterable[Tuple[float, float, float]]
                ) -> List[Dict[str, Any]]:
  """Returns the rows of what each of many small networks takes.

  Args:
    size: `LiveSize`.
    turns: what `answer_of_many` has sent.
  """
  alone, secs, num_bytes = map(statistics.median, zip(*turns))
  what = f"{size.num_small} small networks: "
  return [
      {"kind": "many", "what": what + "CPU time of each, in that of one alone",
       "value": secs / alone, "limits": {"value": 1.},
       "figure": f"{secs / alone:.2f}; {secs:.2f} of {alone:.2f} CPU s"},
      {"kind": "many", "what": what + "MB of each",
       "value": num_bytes / 1e6, "limits": {"value": _MB_OF_NETWORK},
       "figure": f"{num_bytes / 1e6:.1f} MB"}]
