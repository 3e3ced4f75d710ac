# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The searches that `value` compares, on its tasks.

All sides have the same data, models, batches and optimizer, and the same steps.
See `value_data` for the data.
"""

import contextlib
import functools
import importlib
import itertools
import os
import sys
import tempfile
import time
from typing import (Any, Callable, Dict, Iterable, NamedTuple, Optional,
                    Tuple)

import adanet
from adanet import tf_compat
from adanet.ensemble import selection
from adanet.testing import engines
from adanet.tf_compat import keras_3 as keras
from adanet.tf_compat import v1 as tf
from benchmarks import executor_task
from benchmarks import program
from benchmarks import timing
from benchmarks import value_data
import numpy as np

_LEARNING_RATE, _EPSILON = .001, 1e-7  # Of Adam: those of Keras.
_DEPTHS, _WIDTHS = (1, 2, 3), (32, 64, 128)
MAX_MODELS = len(_DEPTHS) * len(_WIDTHS)

# A tuner compares models at the end of each epoch. With as many epochs as this,
# Hyperband's brackets begin with 1, 3 and all of them.
_MAX_TUNER_EPOCHS = 9
_HYPERBAND_TRIES = 100  # It tries more than the nine, for fewer steps each.

# The ways to search, and what is chosen of what they train.
ADANET_2, ADANET_3 = "AdaNet's way, 2 iterations", "AdaNet's way, 3 iterations"
SELECTION_1, SELECTION_2 = "selection, 1 iteration", "selection, 2 iterations"
ON_POOL = "selection, 1 iteration, pool of 2"
LOOP = "Model.fit in a loop"
RANDOM_SEARCH, HYPERBAND = "KerasTuner RandomSearch", "KerasTuner Hyperband"
THE_BEST, BEST_THREE = "the best", "mean of the best three"
BY_HAND = "selection by hand"


class Job(NamedTuple):
  """A search that a process of its own makes.

  Attributes:
    way: str, a key of `WAYS`.
    task: str, a key of `value_data.TASKS`.
    seed: int, of the data and of the initial weights.
    num_steps: int, that each network is trained for.
    num_models: int, how many models the pool has.
  """
  way: str
  task: str
  seed: int
  num_steps: int
  num_models: int


# The models.


def network(depth: int, width: int, num_outputs: int) -> Any:
  """Returns a Keras model."""
  return keras.Sequential(
      [keras.layers.Dense(width, activation="relu") for _ in range(depth)] +
      [keras.layers.Dense(num_outputs)])


def models(num_models: int) -> Dict[str, Tuple[int, int]]:
  """Returns dict from each model of the pool to its depth and width."""
  sizes = list(itertools.product(_DEPTHS, _WIDTHS))[:num_models]
  return {f"{depth}_x_{width}": (depth, width) for depth, width in sizes}


def compiled(data: value_data.Data, depth: int, width: int) -> Any:
  """Returns a model for `Model.fit`."""
  model = network(depth, width, data.num_classes or 1)
  losses = keras.losses
  model.compile(
      keras.optimizers.Adam(_LEARNING_RATE, epsilon=_EPSILON),
      losses.SparseCategoricalCrossentropy(from_logits=True)
      if data.num_classes else losses.MeanSquaredError())
  return model


def _logits(model, data, part):
  return model.predict(
      data.features[part], value_data.EVALUATION_BATCH_SIZE, verbose=0)


# The searches.


class SearchOutcome(NamedTuple):
  """The outcome of a search.
  Attributes:
    networks: float, how many it has trained.
    logits: dict from what is chosen of them, "" if there is one way, to a
      function without arguments that returns the logits of the test's examples.
    steps: function that returns a dict from each network to how many steps it
      was trained for; None if the search does not say.
  """
  networks: int
  logits: Dict[str, Callable[[], np.ndarray]]
  steps: Optional[Callable[[], Dict[str, int]]] = None


def _mean_logits(data, networks, weights=None):
  """Returns the mean of the logits of Keras models in the test."""
  return np.average([_logits(model, data, "test") for model in networks],
                    axis=0, weights=weights)


def train_input(task: str, seed: int) -> Any:
  """Returns the `tf.data.Dataset` to train on: what is sent has no data."""
  return value_data.load(task, seed).batches(seed)


def part_input(task: str, seed: int, part: str) -> Any:
  """Returns the `tf.data.Dataset` of a part."""
  return value_data.load(task, seed).dataset(part)


def _optimizer():
  return tf.train.AdamOptimizer(_LEARNING_RATE, epsilon=_EPSILON)


def _search(job, folder, executor=None, iterations=1, selects=False):
  """Searches with this project, as AdaNet does it or with selection."""
  data = value_data.load(job.task, job.seed)
  inputs = functools.partial(part_input, job.task, job.seed)
  estimator = adanet.AutoEnsembleEstimator(
      adanet.heads.MultiClassHead(data.num_classes) if data.num_classes
      else adanet.heads.RegressionHead(),
      {name: functools.partial(network, *size, data.num_classes or 1)
       for name, size in models(job.num_models).items()},
      max_iteration_steps=job.num_steps, max_iterations=iterations,
      optimizer=_optimizer,
      evaluator=adanet.Evaluator(functools.partial(inputs, "held_out")),
      ensemblers=[adanet.ensemble.GreedyEnsembler()] if selects else None,
      config=tf_compat.RunConfig(model_dir=folder, tf_random_seed=job.seed))
  estimator.train(functools.partial(train_input, job.task, job.seed),
                  executor=executor)

  def logits():
    ended = adanet.report(folder).iterations
    program.check(
        len(ended) == iterations and all(
            iteration.winning.value is not None for iteration in ended),
        f"{len(ended)} iterations have ended with a choice: expected "
        f"{iterations}")
    key = "logits" if data.num_classes else "predictions"
    return np.stack([prediction[key] for prediction in estimator.predict(
        functools.partial(inputs, "test"))])

  return SearchOutcome(iterations * job.num_models, {"": logits})


def prepare_worker(job: Job, core: int, folder: str, count: int) -> None:
  """Gets a worker of a pool ready: pinned, with its imports and its data.

  Args:
    job: `Job`.
    core: int, the processor that it has for itself.
    folder: str, for a file of each worker.
    count: int, how many workers there are.
  """
  os.sched_setaffinity(0, {core})
  value_data.load(job.task, job.seed)
  executor_task.start(folder, count)


@contextlib.contextmanager
def _pool(job):
  """Yields an executor with a worker on each processor, all of them ready."""
  cores = sorted(os.sched_getaffinity(0))
  with engines.process_pool(len(cores)) as pool, \
      tempfile.TemporaryDirectory() as folder:
    for future in [pool.submit(prepare_worker, job, core, folder, len(cores))
                   for core in cores]:
      future.result()
    yield pool


def _loop(job, unused_folder, unused_executor):
  """Trains each model of the pool by `Model.fit`, and selects by hand."""
  data = value_data.load(job.task, job.seed)
  networks = [compiled(data, *size) for size in models(job.num_models).values()]
  for model in networks:
    model.fit(data.batches(job.seed), steps_per_epoch=job.num_steps, verbose=0)
  held_out = [_logits(model, data, "held_out") for model in networks]
  selected = selection.select(
      held_out, functools.partial(
          map, functools.partial(data.loss, "held_out")), [0.] * len(networks))
  best = networks[selected.picks[0].network]
  return SearchOutcome(len(networks), {
      THE_BEST: functools.partial(_mean_logits, data, [best]),
      BY_HAND: functools.partial(
          _mean_logits, data, networks, selected.weights)})


def _tuner_epochs(job):
  return min(_MAX_TUNER_EPOCHS, job.num_steps)


def _tune(job, folder, make_tuner, tries=1):
  """Searches with KerasTuner.

  It ends a search that has no model left to try.

  Args:
    job: `Job`.
    folder: str.
    make_tuner: function that returns a `keras_tuner.Tuner`.
    tries: int, how often it may try each model, each time from a new start.
  """
  data = value_data.load(job.task, job.seed)
  pool = list(models(job.num_models).values())

  def build(hp):
    hp.Int("try", 1, tries)
    return compiled(
        data, *pool[hp.Choice("model", list(range(len(pool))))])

  tuner = make_tuner(
      build, objective="val_loss", seed=job.seed, directory=folder)
  epochs = _tuner_epochs(job)
  tuner.search(
      data.batches(job.seed), epochs=epochs,
      steps_per_epoch=job.num_steps // epochs,
      validation_data=data.dataset("held_out"), verbose=0)
  # Those with this begin where another trial ended.
  networks = sum("tuner/trial_id" not in trial.hyperparameters.values
                 for trial in tuner.oracle.trials.values())

  def logits(count):
    return _mean_logits(data, tuner.get_best_models(count))

  return SearchOutcome(networks, {
      THE_BEST: functools.partial(logits, 1),
      BEST_THREE: functools.partial(logits, 3)})


def _random_search(job, folder, unused_executor):
  import keras_tuner  # pylint: disable=g-import-not-at-top
  return _tune(job, folder, functools.partial(
      keras_tuner.RandomSearch, max_trials=job.num_models))


def _hyperband(job, folder, unused_executor):
  import keras_tuner  # pylint: disable=g-import-not-at-top
  return _tune(job, folder, functools.partial(
      keras_tuner.Hyperband, max_epochs=_tuner_epochs(job), factor=3),
               tries=_HYPERBAND_TRIES)


class Way(NamedTuple):
  """A way to search.

  Attributes:
    search: function of a `Job`, a folder and an executor, or None, that returns
      a `SearchOutcome`.
    choices: tuple with the keys of what it finds.
    on_pool: whether it gets an executor.
    package: str, what it imports more than others, or "".
  """
  search: Callable[..., SearchOutcome]
  choices: Tuple[str, ...] = ("",)
  on_pool: bool = False
  package: str = ""


_TUNED = {"choices": (THE_BEST, BEST_THREE), "package": "keras_tuner"}

WAYS = {
    ADANET_2: Way(functools.partial(_search, iterations=2)),
    ADANET_3: Way(functools.partial(_search, iterations=3)),
    SELECTION_1: Way(functools.partial(_search, selects=True)),
    SELECTION_2: Way(functools.partial(_search, iterations=2, selects=True)),
    ON_POOL: Way(functools.partial(_search, selects=True), on_pool=True),
    LOOP: Way(_loop, (THE_BEST, BY_HAND)),
    RANDOM_SEARCH: Way(_random_search, **_TUNED),
    HYPERBAND: Way(_hyperband, **_TUNED),
}


# What they found.


def by_task(rows: Iterable[Dict[str, Any]], column: str
           ) -> Dict[str, Dict[str, Dict[str, Any]]]:
  """Returns dict from a task to a dict from what was searched to its row.

  Args:
    rows: also of other columns.
    column: str, the key of a task in its rows.
  """
  result: Dict[str, Dict[str, Dict[str, Any]]] = {}
  for row in rows:
    if column in row:
      result.setdefault(row[column], {})[row["what"]] = row
  return result


# The process.


def run(job: Job) -> Dict[str, Any]:
  """Searches, with clocks from the imports to the choice among all networks.

  Returns:
    A dict: `cpu_secs`, of all processes of the search, `wall_secs`, `networks`,
    `steps`, a dict from each network to the steps that it was trained for, or
    None if the way does not say, and `scores` and `losses`, dicts from what is
    chosen to the score and the loss in the test.
  """
  return measured(WAYS[job.way], job)


def measured(way: Way, job: Any) -> Dict[str, Any]:
  """Searches in a way.

  Args:
    way: `Way`.
    job: `Job`, or what else has the same `way`, `task` and `seed`.

  Returns:
    See `run`.
  """
  if way.package:
    importlib.import_module(way.package)
  _ = adanet.AutoEnsembleEstimator  # Which imports the project.
  keras.utils.set_random_seed(job.seed)
  data = value_data.load(job.task, job.seed)
  with contextlib.ExitStack() as stack:
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    executor = stack.enter_context(_pool(job)) if way.on_pool else None
    cpu_secs, wall_secs = timing.tree_cpu_secs(), time.monotonic()
    outcome = way.search(job, folder, executor)
    wall_secs = time.monotonic() - wall_secs
    cpu_secs = timing.tree_cpu_secs() - cpu_secs
    logits = {choice: make() for choice, make in outcome.logits.items()}
    steps = outcome.steps and outcome.steps()
  program.check(tuple(logits) == way.choices, f"{job.way} chose {set(logits)}")
  return {"cpu_secs": cpu_secs, "wall_secs": wall_secs,
          "networks": outcome.networks, "steps": steps,
          "scores": {key: data.score("test", logits[key]) for key in logits},
          "losses": {key: data.loss("test", logits[key]) for key in logits}}


def answer(connection: Any, job: Any, cores: Iterable[int],
           run_job: Callable[[Any], Dict[str, Any]] = run) -> None:
  """Runs a job in a process of its own, and sends the result.

  Args:
    connection: `multiprocessing.Connection`.
    job: `Job`, or what else `run_job` takes.
    cores: those that it may use.
    run_job: function from a job to a result.
  """
  os.sched_setaffinity(0, cores)  # TensorFlow has not counted them yet.
  with contextlib.redirect_stdout(sys.stderr):
    connection.send(run_job(job))
