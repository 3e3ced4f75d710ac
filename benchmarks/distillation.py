# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What does a small network keep of an ensemble?

    tools/bazelw run //benchmarks:distillation

An ensemble of folds teaches a small network, the student, on two real data
sets. The same student also trains alone, with the labels, and on as many mixed
rows with mixed labels (mixup). Networks stop by early stopping with the same
limits. The table has the loss and the accuracy on a third of the rows that no
network has seen, as means of the seeds. "keeps" is the part of the ensemble's
gain over the student trained alone that a student has, and "ms" the time of a
prediction for 1,000 rows at once. The way and the sizes were chosen with the
seeds from 101 on.
"""

import functools
import sys
import tempfile
import time
from typing import Any

from absl import app
from absl import flags
import adanet
from adanet import tf_compat
import numpy as np
from rich import console
from rich import table
from sklearn import datasets
from sklearn import model_selection
from sklearn import preprocessing

_SEEDS = flags.DEFINE_integer("seeds", 5, "Of rows and networks.", 1)
_FIRST_SEED = flags.DEFINE_integer("first_seed", 1, "The first of the seeds.")
_EPOCHS = flags.DEFINE_integer("epochs", 1000, "At most.", 1)
_COPIES = flags.DEFINE_integer("copies", 8, "Mixed rows for each row.", 1)

keras: Any = tf_compat.keras_3
_TASKS = ("digits", "diabetes")
_MODELS = ("ensemble", "student, distilled", "student alone",
           "student alone, mixup")
_PATIENCE = 10


def _read(name: str, seed: int) -> Any:
  """Returns x, y, and x and y of the test."""
  is_digits = name == "digits"
  x, y = (datasets.load_digits if is_digits else datasets.load_diabetes)(
      return_X_y=True)
  x, x_test, y, y_test = model_selection.train_test_split(
      x, np.eye(10)[y] if is_digits else y[:, None], test_size=1 / 3,
      random_state=seed, stratify=y if is_digits else None)
  if is_digits:
    parts = x / 16, y, x_test / 16, y_test
  else:
    scales = [preprocessing.StandardScaler().fit(part) for part in (x, y)]
    parts = [scale.transform(part) for scale, part in zip(
        scales * 2, (x, y, x_test, y_test))]
  return [part.astype("float32") for part in parts]


def _dense(head: Any, *widths: int) -> Any:
  return lambda: keras.Sequential(
      [keras.layers.Dense(width, "relu") for width in widths] +
      [keras.layers.Dense(*head)])


def _conv(head: Any, filters: int, *widths: int) -> Any:
  layers = keras.layers
  return lambda: keras.Sequential([
      layers.Reshape([8, 8, 1]), layers.Conv2D(filters, 3, activation="relu"),
      layers.Conv2D(filters, 3, activation="relu"), layers.MaxPooling2D(),
      layers.Flatten(), _dense(head, *widths)()])


def _make_functions(name: str) -> Any:
  """Returns the functions of the ensemble, and that of the student."""
  if name == "digits":
    head = 10, "softmax"
    return {"conv 16": _conv(head, 16, 32), "conv 32": _conv(head, 32, 64),
            "dense 128": _dense(head, 128),
            "dense 64, 64": _dense(head, 64, 64)}, _conv(head, 16)
  return {f"dense {widths}": _dense([1], *widths) for widths in (
      [32], [64], [128], [32, 32], [64, 64])}, _dense([1], 16)


def _fit(seed: int, functions: Any, x: Any, y: Any, **options: Any) -> Any:
  """Returns the ensemble of the functions, or the only network."""
  is_digits = y.shape[1] == 10
  with tempfile.TemporaryDirectory() as directory:
    search = adanet.EnsembleSearch(
        functions, "categorical_crossentropy" if is_digits else "mse",
        metrics=["accuracy"] if is_digits else None, directory=directory,
        seed=seed)
    return search.fit(x, y, epochs=_EPOCHS.value, patience=_PATIENCE, verbose=0,
                      **options).model


def _draw_pairs(x: Any, draw: Any) -> Any:
  """Returns pairs of row numbers, and the share of each first row of a pair."""
  rows = np.tile(np.arange(len(x)), _COPIES.value)
  share = draw.beta(.4, .4, [len(rows), 1]).astype("float32")
  return rows, draw.permutation(rows), share


def _mix(array: Any, pairs: Any) -> Any:
  first, second, share = pairs
  return share * array[first] + (1 - share) * array[second]


def _measure_milliseconds(model: Any, x: Any) -> float:
  """Returns the median time of a prediction for one batch of 1,000 rows."""
  rows = np.resize(x, [1000, *x.shape[1:]])
  seconds = []
  for _ in range(31):
    start = time.perf_counter()
    model.predict_on_batch(rows)
    seconds.append(time.perf_counter() - start)
  return 1000 * float(np.median(seconds[1:]))  # The first one traces.


def _measure(name: str, seed: int) -> Any:
  """Returns loss, accuracy, parameters and time of each of `_MODELS`."""
  x, y, x_test, y_test = _read(name, seed)
  functions, student = _make_functions(name)
  draw = np.random.RandomState(seed)
  order = draw.permutation(len(x))
  held_out, train = np.split(order, [len(x) // 5])
  checked = {"validation_data": (x[held_out], y[held_out])}

  fit = functools.partial(_fit, seed)
  teacher = fit(functions, x, y, folds=5)
  mixed = _mix(x, _draw_pairs(x, draw))
  soft = (y + teacher.predict(x, verbose=0)) / 2
  pairs = _draw_pairs(train, draw)
  models = [
      teacher,
      fit({"student": student}, np.concatenate([x, mixed]),
          np.concatenate([soft, teacher.predict(mixed, verbose=0)]),
          validation_data=(x, soft)),
      fit({"student": student}, x[train], y[train], **checked),
      fit({"student": student}, *(
          np.concatenate([array[train], _mix(array[train], pairs)])
          for array in (x, y)), **checked)]
  return [(*np.resize(model.evaluate(x_test, y_test, verbose=0), 2),
           model.count_params(), _measure_milliseconds(model, x))
          for model in models]


def main(argv: Any) -> None:
  """Prints a row for each task and model, as means of the seeds."""
  if len(argv) > 1:
    raise app.UsageError(f"expected no arguments, got {argv[1:]}")
  grid = table.Table("data", "model", "loss", "accuracy", "parameters",
                     "ms", "keeps")
  for name in _TASKS:
    figures = []
    for seed in range(_FIRST_SEED.value, _FIRST_SEED.value + _SEEDS.value):
      figures.append(_measure(name, seed))
      print(name, seed, np.round(figures[-1], 4).tolist(), file=sys.stderr,
            flush=True)
    means = np.mean(figures, axis=0)
    losses = means[:, 0]
    for model, (loss, accuracy, parameters, milliseconds) in zip(
        _MODELS, means):
      keeps = (losses[2] - loss) / (losses[2] - losses[0])
      grid.add_row(name, model, f"{loss:.3f}",
                   f"{accuracy:.1%}" if name == "digits" else "",
                   f"{parameters:,.0f}", f"{milliseconds:.1f}", f"{keeps:.0%}")
  console.Console().print(grid)


if __name__ == "__main__":
  app.run(main)
