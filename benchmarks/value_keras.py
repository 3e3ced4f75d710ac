# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `EnsembleSearch(models, loss).fit(x, y)` gives a Keras user.

`value` measures it, beside the loop of `Model.fit` that he writes without it,
and KerasTuner's Hyperband. All sides get the same rows, as arrays, in batches
of 32, the same models, and Adam; nothing else is said that has a default. Two
rows are of five times the compute: in folds, and in iterations.

Instead of the nine models, trials take hyperparameters: those that
`EnsembleSearch` has Optuna propose, beside KerasTuner's `BayesianOptimization`
and Optuna with `Model.fit`. All have the same space and as many trials.
"""

import functools
import statistics
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import adanet
from adanet import tf_compat
from adanet.ensemble import selection
from adanet.tf_compat import keras_3 as keras
from benchmarks import program
from benchmarks import timing
from benchmarks import value_data
from benchmarks import value_task
import numpy as np

COLUMN = "keras_task"
BEST = "the best trial alone"
SEARCH = "EnsembleSearch.fit"
FOLDS = "EnsembleSearch.fit, folds=5"
ITERATIONS = "EnsembleSearch.fit, iterations=5"
LOOP = "Model.fit, EarlyStopping, selection by hand"
HYPERBAND = "Hyperband, by default"
ALL_BRACKETS = "Hyperband, all brackets"
TWICE = "EnsembleSearch.fit, iterations=2"
TRIALS = "EnsembleSearch.fit, trials=6, iterations=3"
BAYESIAN = "BayesianOptimization, 18 trials"
OPTUNA = "Optuna and Model.fit, 18 trials"

_BATCH_SIZE, _EPOCHS, _PATIENCE = 32, 1000, 5
_HELD_OUT = .2  # Of x, y: what `fit` of both sides holds out if it is asked to.
# With the nine models alone, Hyperband ends as soon as it has tried each.
_TRIES = 100

_TRIALS, _ITERATIONS = 6, 3

_LIMIT_OF_CPU = .6
# Of the loss of trials: in that of nine models twice, of their best trial, and
# of the other searches. And of the CPU time of the other searches.
_LIMIT_OF_TRIALS, _LIMIT_OF_BEST = .85, .96
_LIMIT_OF_TUNED, _LIMIT_OF_TUNED_CPU = .93, .7
_LIMIT_OF_FOLDS = 1.02  # Of the loss, in that of one held-out part.
# Tasks of few rows, where folds are worth the most; the limit of their mean.
_SMALL, _LIMIT_OF_SMALL = ("digits", "cancer", "diabetes"), .9


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
  epochs: Optional[int]
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
  epochs: Optional[int] = None


# The searches.


def _omit_test(data):
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


def shuffle_each_epoch() -> None:
  """Lets `Model.fit` shuffle each epoch in another way, as it does by default.

  Where a program has called `keras.utils.set_random_seed`, each epoch has the
  order of the first one.
  """
  tf_compat.v2.random.set_seed(None)


def _compiled(data, size):
  model = value_task.network(*size, data.num_classes or 1)
  model.compile("adam", _loss(data))
  return model


def _network(data, choose_int, choose_float, choose):
  """Returns a compiled model with hyperparameters.

  Args:
    data: `value_data.Data`.
    choose_int: function of a name and the least and the greatest int.
    choose_float: the same of floats, in the logarithm.
    choose: function of a name and a list.
  """
  layers = []
  drop = choose("drop", [0., .1, .2, .3, .4, .5])
  activation = choose("activation", ["relu", "elu", "tanh"])
  is_normalized = choose("is_normalized", [False, True])
  for i in range(choose_int("depth", 1, 3)):
    layers.append(keras.layers.Dense(choose_int(f"width_{i}", 16, 256)))
    if is_normalized:
      layers.append(keras.layers.BatchNormalization())
    layers += [keras.layers.Activation(activation), keras.layers.Dropout(drop)]
  model = keras.Sequential([*layers, keras.layers.Dense(data.num_classes or 1)])
  model.compile(keras.optimizers.AdamW(
      choose_float("rate", 1e-4, 1e-2),
      weight_decay=choose_float("decay", 1e-5, 1e-1)), _loss(data))
  return model


def _tried(data, trial):
  """Returns the network of a trial of Optuna."""
  return _network(
      data, functools.partial(trial.suggest_int, log=True),
      functools.partial(trial.suggest_float, log=True),
      trial.suggest_categorical)


def _search(job, folder, unused_executor, **fit):
  """Searches with this project: the nine models, or trials."""
  data = value_data.load(job.task, job.seed)
  models = {"trial": lambda trial: _tried(data, trial)} if "trials" in fit else {
      name: functools.partial(value_task.network, *size, data.num_classes or 1)
      for name, size in value_task.models(job.num_models).items()}
  # The seed and the directory have a default too, which a benchmark has no use
  # for: another one at each run.
  search = adanet.EnsembleSearch(
      models, _loss(data), directory=folder, seed=job.seed)
  search.fit(*_omit_test(data), **(
      {} if job.epochs is None else {"epochs": job.epochs}), **fit)
  model = search.model
  rows = len(_divided(*_omit_test(data))[1])

  def steps():
    return {network.name: len(network.epochs) * -(-rows // _BATCH_SIZE)
            for network in search.history.networks}

  best = search.network(search.history.rows()[1]["name"])
  return value_task.SearchOutcome(len(search.history.networks), {
      "": lambda: _predicted(model, data.features["test"]), **({
          BEST: lambda: _predicted(best, data.features["test"])}
          if "trials" in fit else {})}, steps)


def _loop(job, unused_folder, unused_executor):
  """Trains each model by `Model.fit`, and selects by hand."""
  shuffle_each_epoch()
  data = value_data.load(job.task, job.seed)
  x, y, held_out = _divided(*_omit_test(data))
  pool = value_task.models(job.num_models)
  models, steps, logits = [], {}, []
  for name, size in pool.items():
    model = _compiled(data, size)
    history = model.fit(
        x, y, batch_size=_BATCH_SIZE, epochs=job.epochs or _EPOCHS, verbose=0,
        validation_data=held_out, callbacks=[keras.callbacks.EarlyStopping(
            patience=_PATIENCE, restore_best_weights=True)])
    steps[name] = len(history.epoch) * -(-len(y) // _BATCH_SIZE)
    models.append(model)
    logits.append(_predicted(model, held_out[0]))
  selected = selection.select(
      logits, functools.partial(map, functools.partial(
          value_data.Data({}, {"held_out": held_out[1]}, data.num_classes).loss,
          "held_out")), [0.] * len(models))
  return value_task.SearchOutcome(len(models), {
      "": lambda: np.average(
          [_predicted(model, data.features["test"]) for model in models],
          axis=0, weights=selected.weights)}, lambda: steps)


def _hyperband(job, folder, unused_executor, tries=1):
  """Searches with KerasTuner.

  Args:
    job: `KerasJob`.
    folder: str.
    tries: int, how often it may try each model, each time from a new start.
  """
  import keras_tuner  # pylint: disable=g-import-not-at-top
  shuffle_each_epoch()
  data = value_data.load(job.task, job.seed)
  x, y, held_out = _divided(*_omit_test(data))
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
  return value_task.SearchOutcome(len(tuner.oracle.trials), {
      "": lambda: _predicted(model, data.features["test"])})


def _bayesian(job, folder, unused_executor):
  """Searches with KerasTuner: each trial is a `Model.fit`."""
  import keras_tuner  # pylint: disable=g-import-not-at-top
  shuffle_each_epoch()
  data = value_data.load(job.task, job.seed)
  x, y, held_out = _divided(*_omit_test(data))
  tuner = keras_tuner.BayesianOptimization(
      lambda hp: _network(
          data, functools.partial(hp.Int, sampling="log"),
          functools.partial(hp.Float, sampling="log"), hp.Choice),
      objective="val_loss", max_trials=_TRIALS * _ITERATIONS, seed=job.seed,
      directory=folder)
  tuner.search(x, y, validation_data=held_out, epochs=job.epochs or _EPOCHS,
               verbose=0, callbacks=[keras.callbacks.EarlyStopping(
                   patience=_PATIENCE, restore_best_weights=True)])
  model, = tuner.get_best_models(1)
  return value_task.SearchOutcome(len(tuner.oracle.trials), {
      "": lambda: _predicted(model, data.features["test"])})


def _optuna(job, unused_folder, unused_executor):
  """Searches with Optuna's default: each trial is a `Model.fit`."""
  import optuna  # pylint: disable=g-import-not-at-top
  shuffle_each_epoch()
  data = value_data.load(job.task, job.seed)
  x, y, held_out = _divided(*_omit_test(data))
  best = []

  def objective(trial):
    model = _tried(data, trial)
    losses = model.fit(
        x, y, epochs=job.epochs or _EPOCHS, verbose=0, validation_data=held_out,
        callbacks=[keras.callbacks.EarlyStopping(
            patience=_PATIENCE, restore_best_weights=True)]
    ).history["val_loss"]
    if not best or min(losses) < best[0]:
      best[:] = [min(losses), model]
    return min(losses)

  optuna.logging.set_verbosity(optuna.logging.WARNING)
  study = optuna.create_study(
      sampler=optuna.samplers.TPESampler(seed=job.seed))
  study.optimize(objective, n_trials=_TRIALS * _ITERATIONS)
  return value_task.SearchOutcome(len(study.trials), {
      "": lambda: _predicted(best[1], data.features["test"])})


_TUNED = {"package": "keras_tuner"}

WAYS = {
    SEARCH: value_task.Way(_search),
    FOLDS: value_task.Way(functools.partial(_search, folds=5)),
    ITERATIONS: value_task.Way(functools.partial(_search, iterations=5)),
    LOOP: value_task.Way(_loop),
    HYPERBAND: value_task.Way(_hyperband, **_TUNED),
    ALL_BRACKETS: value_task.Way(
        functools.partial(_hyperband, tries=_TRIES), **_TUNED),
    TWICE: value_task.Way(functools.partial(_search, iterations=2)),
    TRIALS: value_task.Way(functools.partial(
        _search, trials=_TRIALS, iterations=_ITERATIONS), ("", BEST)),
    BAYESIAN: value_task.Way(_bayesian, **_TUNED),
    OPTUNA: value_task.Way(_optuna, package="optuna")}


def run(job: KerasJob) -> Dict[str, Any]:
  """Searches; see `value_task.run`."""
  return value_task.measured(WAYS[job.way], job)


def answer(connection: Any, job: KerasJob, cores: Iterable[int]) -> None:
  """Runs a job in a process of its own; see `value_task.answer`."""
  value_task.answer(connection, job, cores, run)


# What they found.


def _seeds(way, size, num_seeds):
  return range(min(num_seeds, size.num_tuned) if way == ALL_BRACKETS
               else num_seeds)


def jobs(size: KerasSize, num_seeds: int) -> List[KerasJob]:
  """Returns the searches of a run."""
  return [KerasJob(way, task, seed, size.num_models, size.epochs)
          for task in size.tasks for way in WAYS
          for seed in _seeds(way, size, num_seeds)]


def rows(size: KerasSize, num_seeds: int,
         results: Dict[KerasJob, Dict[str, Any]]) -> List[Dict[str, Any]]:
  """Returns the rows of a run.

  Args:
    size: see `jobs`.
    num_seeds: see `jobs`.
    results: dict from each job to what `run` returned.

  Raises:
    CheckError: a network of `EnsembleSearch` or of the loop has no steps.
  """
  by_row: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
  for job in jobs(size, num_seeds):
    result = results[job]
    if job.way in (SEARCH, LOOP):
      program.check(
          len(result["steps"]) == job.num_models and
          min(result["steps"].values()) > 0,
          f"{job} trained its networks for {result['steps']} steps")
    by_row.setdefault((job.task, job.way), []).append(result)
  return [_row(*key, of_row) for key, of_row in by_row.items()]


def _row(task, way, results):
  losses = [result["losses"][""] for result in results]
  row = {
      "kind": "keras", COLUMN: task, "what": way, "losses": losses,
      "loss": statistics.mean(losses),
      "error": timing.standard_error(losses) if len(losses) > 1 else 0.,
      "scores": [result["scores"][""] for result in results],
      "all_cpu_secs": [result["cpu_secs"] for result in results],
      "steps_of_networks": [result["steps"] for result in results],
      "best_losses": [result["losses"][BEST] for result in results
                      if BEST in result["losses"]],
      "limits": {}}
  for key in ("cpu_secs", "wall_secs", "networks"):
    row[key] = statistics.mean(result[key] for result in results)
  row["score"] = statistics.mean(row["scores"])
  row["figure"] = (
      f"loss {row['loss']:.4f} " +
      (f"± {row['error']:.4f}" if len(losses) > 1 else "(1 seed)") +
      f"; {value_data.score_name(task)} {row['score']:.4f}; "
      f"{row['cpu_secs']:.1f} CPU s")
  return row


def _bars_of_task(task, rows):
  """Returns the bars of a task; `rows` is a dict from a way to its row."""
  ours = rows[SEARCH]

  def differences(other):
    # The same seed is the same data. Not all have as many seeds.
    return [a - b for a, b in zip(ours["losses"], rows[other]["losses"])]

  def behind(other, limit):
    return program.Bar(
        f"{task}: loss of {SEARCH}, over that of {other}",
        statistics.mean(differences(other)), limit)

  pairs = list(zip(ours["all_cpu_secs"], rows[LOOP]["all_cpu_secs"]))
  folds = rows[FOLDS]["loss"]
  return [
      program.Bar(f"{task}: loss of folds=5, in that of one held-out part",
                  folds / ours["loss"], _LIMIT_OF_FOLDS),
      program.Bar(f"{task}: loss of folds=5, in that of iterations=5",
                  folds / rows[ITERATIONS]["loss"], 1.),
      behind(LOOP, timing.standard_error(differences(LOOP))),
      program.Bar(f"{task}: CPU time of {SEARCH}, in that of {LOOP}",
                  timing.summary(pairs).ratio, _LIMIT_OF_CPU),
      behind(HYPERBAND, 0.), behind(ALL_BRACKETS, 0.)]


def _bars_of_trials(by_task):
  """Returns the bars of trials, over all tasks and seeds."""

  def ratio(key, other, other_key, what, limit):
    pairs = [pair for rows in by_task.values()
             for pair in zip(rows[TRIALS][key], rows[other][other_key])]
    return program.Bar(
        f"{what}: the geometric mean of {len(pairs)} searches",
        statistics.geometric_mean([a / b for a, b in pairs]), limit)

  return [
      ratio("losses", TWICE, "losses", f"loss of {TRIALS}, in that of {TWICE}",
            _LIMIT_OF_TRIALS),
      ratio("losses", TRIALS, "best_losses",
            f"loss of {TRIALS}, in that of {BEST}", _LIMIT_OF_BEST),
      *(bar for other in (BAYESIAN, OPTUNA) for bar in (
          ratio("losses", other, "losses",
                f"loss of {TRIALS}, in that of {other}", _LIMIT_OF_TUNED),
          ratio("all_cpu_secs", other, "all_cpu_secs",
                f"CPU time of {TRIALS}, in that of {other}",
                _LIMIT_OF_TUNED_CPU)))]


def bars(all_rows: Iterable[Dict[str, Any]]) -> List[program.Bar]:
  """Returns the bars of those rows that are of this module."""
  by_task = value_task.by_task(all_rows, COLUMN)
  ratios = [a / b for task in _SMALL if task in by_task for a, b in zip(*(
      by_task[task][way]["losses"] for way in (FOLDS, SEARCH)))]
  bar_list = [bar for task, rows in by_task.items()
              for bar in _bars_of_task(task, rows)]
  if ratios:
    bar_list.append(program.Bar(
        "loss of folds=5, in that of one held-out part: the geometric mean of "
        f"{', '.join(_SMALL)}", statistics.geometric_mean(ratios),
        _LIMIT_OF_SMALL))
  return bar_list + (_bars_of_trials(by_task) if by_task else [])


# From the palette of Okabe and Ito.
_MARKS = {SEARCH: {"color": "#0072B2", "marker": "*", "markersize": 15},
          FOLDS: {"color": "#0072B2", "marker": "P", "markersize": 10},
          ITERATIONS: {"color": "#0072B2", "marker": "X", "markersize": 10},
          LOOP: {"color": "#009E73", "marker": "D", "markersize": 7},
          TWICE: {"color": "#0072B2", "marker": "x", "markersize": 7},
          TRIALS: {"color": "#D55E00", "marker": "*", "markersize": 15},
          BAYESIAN: {"color": "#E69F00", "marker": "o", "markersize": 7},
          OPTUNA: {"color": "#E69F00", "marker": "^", "markersize": 7},
          HYPERBAND: {"color": "#CC79A7", "marker": "s", "markersize": 7},
          ALL_BRACKETS: {"color": "#CC79A7", "marker": "s", "markersize": 11,
                         "markerfacecolor": "none"}}


def draw(picture: Any, all_rows: Iterable[Dict[str, Any]]) -> None:
  """Draws the rows of this module, a panel for each task.

  Args:
    picture: a Matplotlib `Figure`, or a part of one.
    all_rows: also of others.
  """
  by_task = value_task.by_task(all_rows, COLUMN)
  panels = picture.subplots(1, len(by_task), squeeze=False)[0]
  for axes, (task, rows) in zip(panels, by_task.items()):
    for way, row in rows.items():
      axes.errorbar(row["cpu_secs"], row["loss"], row["error"], label=way,
                    linestyle="none", elinewidth=1, **_MARKS[way])
    axes.set_title(task, fontsize="medium")
    axes.set_xscale("log")
    axes.set_xlabel("CPU seconds")
    axes.set_ylabel(f"{value_data.loss_name(task)} in the test")
    axes.grid(alpha=.3)
  picture.legend(*panels[0].get_legend_handles_labels(),
                 loc="outside lower center", ncols=4, frameon=False)
