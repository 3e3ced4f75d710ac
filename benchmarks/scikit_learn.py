# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What are networks worth beside gradient-boosted trees, and both together?

    tools/bazelw run //benchmarks:scikit_learn

`EnsembleClassifier` and `EnsembleRegressor`, the trees of
`HistGradientBoosting` with early stopping, and the mean of what both predict,
as `VotingClassifier` and `VotingRegressor` compute it, on four real tables. The
table has the loss on a fourth of the rows that neither has seen, less is
better: cross-entropy, and for diabetes the mean squared error in units of the
variance.
"""

import sys
from typing import Any, List

from absl import app
from absl import flags
import adanet
from adanet import tf_compat
import numpy as np
from rich import console
from rich import table
from sklearn import datasets
from sklearn import ensemble
from sklearn import metrics
from sklearn import model_selection
from sklearn import pipeline
from sklearn import preprocessing

_SEEDS = flags.DEFINE_integer("seeds", 3, "Of rows and networks.", 1)
_EPOCHS = flags.DEFINE_integer("epochs", 1000, "At most.", 1)

keras: Any = tf_compat.keras_3
_DATA = {"digits": datasets.load_digits, "cancer": datasets.load_breast_cancer,
         "wine": datasets.load_wine, "diabetes": datasets.load_diabetes}
_COLUMNS = ("networks", "trees", "both")


def _make(width: int, outputs: int, activation: Any) -> Any:
  dense = keras.layers.Dense
  return lambda: keras.Sequential(
      [dense(width, "relu"), dense(width, "relu"), dense(outputs, activation)])


def _losses(name: str, seed: int) -> List[float]:
  """Returns the loss on test rows for each of `_COLUMNS`."""
  x, y = _DATA[name](return_X_y=True)
  is_classifier = name != "diabetes"
  if not is_classifier:
    y = preprocessing.scale(y)
  x, x_test, y, y_test = model_selection.train_test_split(
      x, y, random_state=seed)
  kind, outputs, activation = (
      (adanet.EnsembleClassifier, len(set(y)), "softmax") if is_classifier else
      (adanet.EnsembleRegressor, 1, None))
  networks = pipeline.make_pipeline(preprocessing.StandardScaler(), kind(
      {str(width): _make(width, outputs, activation)
       for width in (32, 64, 128)}, seed=seed, folds=5, epochs=_EPOCHS.value))
  trees = (ensemble.HistGradientBoostingClassifier if is_classifier else
           ensemble.HistGradientBoostingRegressor)(
               early_stopping=True, random_state=seed)
  predictions = [
      estimator.fit(x, y).predict_proba(x_test) if is_classifier else
      estimator.fit(x, y).predict(x_test) for estimator in (networks, trees)]
  loss = metrics.log_loss if is_classifier else metrics.mean_squared_error
  return [loss(y_test, prediction)
          for prediction in (*predictions, np.mean(predictions, axis=0))]


def main(argv: Any) -> None:
  """Prints a row for each data set, as means of the seeds."""
  if len(argv) > 1:
    raise app.UsageError(f"expected no arguments, got {argv[1:]}")
  grid = table.Table("data", *_COLUMNS)
  for name in _DATA:
    losses = []
    for seed in range(1, _SEEDS.value + 1):
      losses.append(_losses(name, seed))
      print(name, seed, np.round(losses[-1], 3), file=sys.stderr, flush=True)
    grid.add_row(name, *(f"{loss:.3f}" for loss in np.mean(losses, axis=0)))
  console.Console().print(grid)


if __name__ == "__main__":
  app.run(main)
