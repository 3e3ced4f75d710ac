# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is the likelihood of a mixture worth, beside the mean of the outputs?

    tools/bazelw run //benchmarks:uncertainty

Networks that predict a mean and a log-variance are combined in two ways, on
three real data sets. The ensemble of each way is selected by its own
likelihood. The table has the negative log-likelihood, less is better: of the
held-out rows, of a fourth of the rows that no network has seen, and of those
test rows at three times their distance from the mean of all rows.
"""

import sys
import tempfile
from typing import Any, Optional

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
_EPOCHS = flags.DEFINE_integer("epochs", 1000, "At most.", 1)

keras: Any = tf_compat.keras_3
ops = keras.ops
_WIDTHS = (32, 64, 128)
_COLUMNS = ("held out", "test", "far")


@keras.saving.register_keras_serializable()
def negative_log_likelihood(y: Any, outputs: Any) -> Any:
  """Returns that of a normal distribution, of shape [rows]."""
  mean, log_variance = outputs[..., 0], outputs[..., 1]
  return .5 * ops.mean(
      ops.log(2 * np.pi) + log_variance +
      ops.square(y[..., 0] - mean) * ops.exp(-log_variance), axis=-1)


@keras.saving.register_keras_serializable()
def mixture(outputs: Any, weights: Any) -> Any:
  """Returns the mean and the log-variance of a mixture of distributions."""
  weights = ops.reshape(weights, [-1, 1])
  means, variances = outputs[..., 0], ops.exp(outputs[..., 1])
  mean = ops.sum(weights * means, axis=0)
  variance = ops.sum(
      weights * (variances + ops.square(means - mean)), axis=0)
  return ops.stack([mean, ops.log(variance)], axis=-1)


_WAYS = {"mean of outputs": None, "mixture": mixture}


def _read(name: str) -> Any:
  """Returns the columns of a data set and the column to predict."""
  if name == "diabetes":
    return datasets.load_diabetes(return_X_y=True)
  if name == "wine, alcohol":
    values = datasets.load_wine().data
    return values[:, 1:], values[:, 0]
  values = datasets.load_breast_cancer().data[:, :10]
  return np.delete(values, 4, 1), values[:, 4]


def _make(width: int) -> Any:
  dense = keras.layers.Dense
  return lambda: keras.Sequential(
      [dense(width, "relu"), dense(width, "relu"), dense(2)])


def _losses(name: str, combine: Optional[Any], seed: int) -> Any:
  """Returns the negative log-likelihood of each of `_COLUMNS`."""
  x, y = _read(name)
  x, x_test, y, y_test = model_selection.train_test_split(
      x, y[:, None], random_state=seed)
  scales = [preprocessing.StandardScaler().fit(part) for part in (x, y)]
  x, y, x_test, y_test = (
      scale.transform(part).astype("float32")
      for scale, part in zip(scales * 2, (x, y, x_test, y_test)))
  with tempfile.TemporaryDirectory() as directory:
    search = adanet.EnsembleSearch(
        {str(width): _make(width) for width in _WIDTHS},
        negative_log_likelihood, combine=combine, directory=directory,
        seed=seed)
    search.fit(x, y, folds=5, epochs=_EPOCHS.value, verbose=0)
    return [search.history.ensemble["val_loss"], *(
        search.model.evaluate(rows, y_test, verbose=0)
        for rows in (x_test, 3 * x_test))]


def main(argv: Any) -> None:
  """Prints a row for each data set and way, as means of the seeds."""
  if len(argv) > 1:
    raise app.UsageError(f"expected no arguments, got {argv[1:]}")
  grid = table.Table("data", "ensemble", *_COLUMNS)
  for name in ("diabetes", "wine, alcohol", "cancer, smoothness"):
    for way, combine in _WAYS.items():
      losses = []
      for seed in range(1, _SEEDS.value + 1):
        losses.append(_losses(name, combine, seed))
        print(name, way, seed, np.round(losses[-1], 3), file=sys.stderr,
              flush=True)
      means = np.mean(losses, axis=0)
      grid.add_row(name, way, *(f"{loss:.3f}" for loss in means))
  console.Console().print(grid)


if __name__ == "__main__":
  app.run(main)
