# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `EnsembleSearch(models, loss).fit(x, y)` gives a Keras user.

`value` measures it, beside the loop of `Model.fit` that he writes without it,
and KerasTuner's Hyperband. All sides get the same rows, as arrays, in batches of
32, the same models, and Adam; nothing else is said that has a default.
"""

import functools
import statistics
from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

import adanet
from adanet.ensemble import selection
from adanet.tf_compat import keras_3 as keras
from benchmarks import program
from benchmarks import timing
from benchmarks import value_data
from benchmarks import value_task
import numpy as np

COLUMN = "keras_task"
SEARCH = "EnsembleSearch.fit"
LOOP = "Model.fit, EarlyStopping, selection by hand"
HYPERBAND = "Hyperband, by default"
ALL_BRACKETS = "Hyperband, all brackets"

_BATCH_SIZE, _EPOCHS, _PATIENCE = 32, 1000, 5
_HELD_OUT = .2  # Of x, y: what `fit` of both sides holds out if it is asked to.
# With the nine models alone, Hyperband ends as soon as it has tried each.
_TRIES = 100

_LIMIT_OF_CPU = .6


class KerasSize(NamedTuple):
  """How large a run is.

  Attributes:
    tasks: tuple of str.
    num_models: int.
    epochs: int, of a network at the most, or of a try of Hyperband; None for
      the defaults.
    num_tuned: int, with how many seeds Hyperband goes through its brackets.
  """
  tasks: Tuple[str, ...]
  num_models: int
  epochs: Any
  num_tuned: int


FULL = KerasSize(tuple(value_data.TASKS), value_task.MAX_MODELS, None, 2)


class KerasJob(NamedTuple):
  """A search that a process of its own makes.

  Attributes:
    way: str, a key of `WAYS`.
    task: str, a key of `value_data.TASKS`.
    seed: int, of the data and of the initial weights.
    num_models: int, how many models the pool has.
    epochs: see `KerasSize`.
  """
  way: str
  task: str
  seed: int
  num_models: int
  epochs: Any = None


# The searches.


def _given(data):
  """Returns x and y of a user, who has kept the test for himself."""
  return tuple(np.concatenate([arrays["train"], arrays["held_out"]])
               for arrays in (data.features, data.labels))


def _divided(x, y):
  """Returns x and y to train on, and a pair of those that are held out."""
  # They are in a random order.
  count = int(round(len(y) * _HELD_OUT))
  return x[:-count], y[:-count], (x[-count:], y[-count:])


def _loss(data):
  return (keras.losses.SparseCategoricalCrossentropy(from_logits=True)
          if data.num_classes else keras.losses.MeanSquaredError())


def _predicted(model, x):
  return model.predict(x, value_data.EVALUATION_BATCH_SIZE, verbose=0)


def _compiled(data, size):
  model = value_task.network(*size, data.num_classes or 1)
  model.compile("adam", _loss(data))
  return model


def _search(job, folder, unused_executor):
  """Searches with this project."""
  data = value_data.load(job.task, job.seed)
  # The seed and the directory have a default too, which a benchmark has no use
  # for: another one at each run.
  search = adanet.EnsembleSearch(
      {name: functools.partial(
          value_task.network, *size, data.num_classes or 1)
       for name, size in value_task.models(job.num_models).items()},
      _loss(data), directory=folder, seed=job.seed)
  search.fit(*_given(data), **(
      {} if job.epochs is None else {"epochs": job.epochs}))
  model = search.model

  def steps():
    return {name: network.steps
            for name, network in
            search.history.iterations[-1].subnetworks.items()}

  return value_task.Found(job.num_models, {
      "": lambda: _predicted(model, data.features["test"])}, steps)


def _loop(job, unused_folder, unused_executor):
  """Trains each model by `Model.fit`, and selects by hand."""
  data = value_data.load(job.task, job.seed)
  x, y, held_out = _divided(*_given(data))
  pool = value_task.models(job.num_models)
  found, steps, logits = [], {}, []
  for name, size in pool.items():
    model = _compiled(data, size)
    history = model.fit(
        x, y, batch_size=_BATCH_SIZE, epochs=job.epochs or _EPOCHS, verbose=0,
        validation_data=held_out, callbacks=[keras.callbacks.EarlyStopping(
            patience=_PATIENCE, restore_best_weights=True)])
    steps[name] = len(history.epoch) * -(-len(y) // _BATCH_SIZE)
    found.append(model)
    logits.append(_predicted(model, held_out[0]))
  selected = selection.select(
      logits, functools.partial(
          value_data.Data({}, {"held_out": held_out[1]}, data.num_classes).loss,
          "held_out"), [0.] * len(found))
  return value_task.Found(len(found), {
      "": lambda: np.average(
          [_predicted(model, data.features["test"]) for model in found], axis=0,
          weights=selected.weights)}, lambda: steps)


def _hyperband(job, folder, unused_executor, tries=1):
  """Searches with KerasTuner.

  Args:
    job: `KerasJob`.
    folder: str.
    tries: int, how often it may try each model, each time from a new start.
  """
  import keras_tuner  # pylint: disable=g-import-not-at-top
  data = value_data.load(job.task, job.seed)
  x, y, held_out = _divided(*_given(data))
  pool = list(value_task.models(job.num_models).values())

  def build(hp):
    if tries > 1:
      hp.Int("try", 1, tries)
    return _compiled(data, pool[hp.Choice("model", list(range(len(pool))))])

  tuner = keras_tuner.Hyperband(
      build, objective="val_loss", seed=job.seed, directory=folder, **(
          {} if job.epochs is None else {"max_epochs": job.epochs}))
  tuner.search(x, y, validation_data=held_out, verbose=0)
  model, = tuner.get_best_models(1)
  return value_task.Found(len(tuner.oracle.trials), {
      "": lambda: _predicted(model, data.features["test"])})


_TUNED = {"package": "keras_tuner"}

WAYS = {
    SEARCH: value_task.Way(_search),
    LOOP: value_task.Way(_loop),
    HYPERBAND: value_task.Way(_hyperband, **_TUNED),
    ALL_BRACKETS: value_task.Way(
        functools.partial(_hyperband, tries=_TRIES), **_TUNED)}


def run(job: KerasJob) -> Dict[str, Any]:
  """Searches; see `value_task.run`."""
  return value_task.measured(WAYS[job.way], job)


def answer(connection: Any, job: KerasJob, cores: Iterable[int]) -> None:
  """Runs a job in a process of its own; see `value_task.answer`."""
  value_task.answer(connection, job, cores, run)
