# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The searches that `value` compares, on its tasks.

All sides have the same data, models, batches, optimizer and steps. The data is
in three parts: one to train on, one held out to choose by, and one for the
score.
"""

import contextlib
import functools
import importlib
import itertools
import os
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

import adanet
from adanet import tf_compat
from adanet.ensemble import selection
from adanet.testing import engines
from adanet.tf_compat import keras_3 as keras
from adanet.tf_compat import v1 as tf
from benchmarks import executor_task
from benchmarks import program
from benchmarks import timing
import numpy as np
from sklearn import datasets

BATCH_SIZE = 64
_EVALUATION_BATCH_SIZE = 1000
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

PARTS = ("train", "held_out", "test")
_ENDS = (.6, .8)  # Of the first two parts.

class Job(NamedTuple):
  """A search that a process of its own makes.

  Attributes:
    way: str, a key of `WAYS`.
    task: str, a key of `TASKS`.
    seed: int, of the data and of the initial weights.
    num_steps: int, that each network is trained for.
    num_models: int, how many models the pool has.
  """
  way: str
  task: str
  seed: int
  num_steps: int
  num_models: int


# The tasks.


class Data(NamedTuple):
  """A task: what is to be predicted from what.

  Attributes:
    features: dict from part to float32 array [n, size].
    labels: dict from part to array: int [n], or float32 [n, 1] of mean 0 and
      variance 1 for a regression.
    num_classes: int; 0 for a regression.
  """
  features: Dict[str, np.ndarray]
  labels: Dict[str, np.ndarray]
  num_classes: int

  def dataset(self, part: str) -> Any:
    """Returns a part as a `tf.data.Dataset`: all batches, in order, once."""
    return tf.data.Dataset.from_tensor_slices(
        (self.features[part], self.labels[part])).batch(_EVALUATION_BATCH_SIZE)

  def batches(self, seed: int) -> Any:
    """Returns the endless `tf.data.Dataset` to train on."""
    return tf.data.Dataset.from_tensor_slices(
        (self.features["train"], self.labels["train"])).shuffle(
            len(self.labels["train"]), seed=seed).repeat().batch(BATCH_SIZE)

  def score(self, part: str, logits: np.ndarray) -> float:
    """Returns the accuracy, or R2 of a regression."""
    labels = self.labels[part]
    if self.num_classes:
      return float(np.mean(np.argmax(logits, axis=1) == labels))
    return float(1 - np.mean((logits - labels)**2) / np.var(labels))

  def loss(self, part: str, logits: np.ndarray) -> float:
    """Returns the mean cross entropy, or the mean squared error."""
    labels = self.labels[part]
    if not self.num_classes:
      return float(np.mean((logits - labels)**2))
    shifted = logits - logits.max(axis=1, keepdims=True)
    right = shifted[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - right))


def _teacher(random):
  """Returns what a random network says, with noise."""
  features = random.randn(20000, 40)
  layer = np.tanh(features @ random.randn(40, 32) / 40**.5 * 2)
  logits = layer @ random.randn(32, 10)
  return features, np.argmax(logits + random.gumbel(size=logits.shape), 1)


def _digits(random):
  images, labels = datasets.load_digits(return_X_y=True)
  order = random.permutation(len(labels))
  return images[order] / 16, labels[order]


def _friedman1(random):
  return datasets.make_friedman1(20000, noise=1., random_state=random)


# Name -> function of a `RandomState`, and the number of classes.
TASKS = {"teacher": (_teacher, 10), "digits": (_digits, 10),
         "friedman1": (_friedman1, 0)}


@functools.lru_cache(maxsize=1)
def load(task: str, seed: int) -> Data:
  """Returns the `Data` of a task."""
  make, num_classes = TASKS[task]
  features, labels = make(np.random.RandomState(seed))
  ends = [int(len(labels) * end) for end in _ENDS]
  if num_classes:
    labels = labels.astype(np.int32)
  else:
    train = labels[:ends[0]]
    labels = ((labels - train.mean()) / train.std()).astype(np.float32)[:, None]
  return Data(*(
      dict(zip(PARTS, np.split(array, ends)))
      for array in (features.astype(np.float32), labels)), num_classes)


def score_name(task: str) -> str:
  """Returns what the score of a task is."""
  _, num_classes = TASKS[task]
  return "accuracy" if num_classes else "R2"


# The models.


def network(depth: int, width: int, num_outputs: int) -> Any:
  """Returns a Keras model."""
  return keras.Sequential(
      [keras.layers.Dense(width, activation="relu") for _ in range(depth)] +
      [keras.layers.Dense(num_outputs)])


def models(num_models: int) -> List[Tuple[int, int]]:
  """Returns the depth and the width of each model of the pool."""
  return list(itertools.product(_DEPTHS, _WIDTHS))[:num_models]


def _compiled(data, depth, width):
  """Returns a model for `Model.fit`."""
  model = network(depth, width, data.num_classes or 1)
  losses = keras.losses
  model.compile(
      keras.optimizers.Adam(_LEARNING_RATE, epsilon=_EPSILON),
      losses.SparseCategoricalCrossentropy(from_logits=True)
      if data.num_classes else losses.MeanSquaredError())
  return model


def _logits(model, data, part):
  return model.predict(data.features[part], _EVALUATION_BATCH_SIZE, verbose=0)


# The searches.


class Found(NamedTuple):
  """What a search found.

  Attributes:
    networks: float, how many it has trained.
    logits: dict from what is chosen of them, "" if there is one way, to a
      function without arguments that returns the logits of the test's examples.
  """
  networks: int
  logits: Dict[str, Callable[[], np.ndarray]]


def _mean_logits(data, found, weights=None):
  """Returns the mean of the logits of Keras models in the test."""
  return np.average([_logits(model, data, "test") for model in found], axis=0,
                    weights=weights)


def train_input(task: str, seed: int) -> Any:
  """Returns the `tf.data.Dataset` to train on: what is sent has no data."""
  return load(task, seed).batches(seed)


def part_input(task: str, seed: int, part: str) -> Any:
  """Returns the `tf.data.Dataset` of a part."""
  return load(task, seed).dataset(part)


def _optimizer():
  return tf.train.AdamOptimizer(_LEARNING_RATE, epsilon=_EPSILON)


def _search(job, folder, executor=None, iterations=1, selects=False):
  """Searches with this project, as AdaNet does it or with selection."""
  data = load(job.task, job.seed)
  inputs = functools.partial(part_input, job.task, job.seed)
  estimator = adanet.AutoEnsembleEstimator(
      adanet.heads.MultiClassHead(data.num_classes) if data.num_classes
      else adanet.heads.RegressionHead(),
      {f"{depth}_x_{width}": functools.partial(
          network, depth, width, data.num_classes or 1)
       for depth, width in models(job.num_models)},
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
            one.winning.value is not None for one in ended),
        f"{len(ended)} iterations have ended with a choice: expected "
        f"{iterations}")
    key = "logits" if data.num_classes else "predictions"
    return np.stack([one[key] for one in estimator.predict(
        functools.partial(inputs, "test"))])

  return Found(iterations * job.num_models, {"": logits})


def prepare_worker(job: Job, core: int, folder: str, count: int) -> None:
  """Gets a worker of a pool ready: pinned, with its imports and its data.

  Args:
    job: `Job`.
    core: int, the processor that it has for itself.
    folder: str, for a file of each worker.
    count: int, how many workers there are.
  """
  os.sched_setaffinity(0, {core})
  load(job.task, job.seed)
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
  data = load(job.task, job.seed)
  found = [_compiled(data, *size) for size in models(job.num_models)]
  for model in found:
    model.fit(data.batches(job.seed), steps_per_epoch=job.num_steps, verbose=0)
  held_out = [_logits(model, data, "held_out") for model in found]
  selected = selection.select(
      held_out, functools.partial(data.loss, "held_out"), [0.] * len(found))
  best = found[selected.picks[0].network]
  return Found(len(found), {
      THE_BEST: functools.partial(_mean_logits, data, [best]),
      BY_HAND: functools.partial(
          _mean_logits, data, found, selected.weights)})


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
  data = load(job.task, job.seed)
  pool = models(job.num_models)

  def build(hp):
    hp.Int("try", 1, tries)
    return _compiled(
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

  return Found(networks, {
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
      what it `Found`.
    choices: tuple with the keys of what it finds.
    on_pool: whether it gets an executor.
    package: str, what it imports more than others, or "".
  """
  search: Callable[..., Found]
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


# The process.


def run(job: Job) -> Dict[str, Any]:
  """Searches, with clocks from the imports to the choice among all networks.

  Returns:
    A dict: `cpu_secs`, of all processes of the search, `wall_secs`, `networks`,
    and `scores`, a dict from what is chosen to the score in the test.
  """
  way = WAYS[job.way]
  if way.package:
    importlib.import_module(way.package)
  keras.utils.set_random_seed(job.seed)
  data = load(job.task, job.seed)
  with contextlib.ExitStack() as stack:
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    executor = stack.enter_context(_pool(job)) if way.on_pool else None
    cpu_secs, wall_secs = timing.tree_cpu_secs(), time.monotonic()
    found = way.search(job, folder, executor)
    wall_secs = time.monotonic() - wall_secs
    cpu_secs = timing.tree_cpu_secs() - cpu_secs
    scores = {choice: data.score("test", logits())
              for choice, logits in found.logits.items()}
  program.check(tuple(scores) == way.choices, f"{job.way} chose {set(scores)}")
  return {"cpu_secs": cpu_secs, "wall_secs": wall_secs,
          "networks": found.networks, "scores": scores}


def answer(connection: Any, job: Job, cores: Iterable[int]) -> None:
  """Runs a job in a process of its own, and sends the result.

  Args:
    connection: `multiprocessing.Connection`.
    job: `Job`.
    cores: those that it may use.
  """
  os.sched_setaffinity(0, cores)  # TensorFlow has not counted them yet.
  with contextlib.redirect_stdout(sys.stderr):
    connection.send(run(job))
