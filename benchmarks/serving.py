# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long does an ensemble take to predict a single row?

    tools/bazelw run //benchmarks:serving

The networks have two hidden layers of 64 units. Their inputs are one array of
eight numbers or, with "text", a dict of eight columns of numbers and three
columns of text, each with its own lookup layer in each network. Random rows are
enough: the time does not depend on the values. The table has the median time of
a request in milliseconds, with a NumPy row as input and a NumPy array as
output, after first requests that trace the model.
"""

import os
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

_REQUESTS = flags.DEFINE_integer("requests", 100, "For each cell.", 1)

keras: Any = tf_compat.keras_3
tf: Any = tf_compat.v2
# The number of networks, and whether there are columns of text.
_ENSEMBLES = ((5, False), (12, False), (12, True))
_NUM_ROWS = 600
_NUM_TRACED = 3


def _make_columns() -> Any:
  draw = np.random.RandomState(1)
  columns = {f"number_{i}": draw.randn(_NUM_ROWS).astype("float32")
             for i in range(8)}
  for name, values in (("city", "abcdefgh"), ("plan", "xyz"), ("sex", "fm")):
    columns[name] = draw.choice(list(values), _NUM_ROWS).astype(object)
  return columns


def _make_function(columns: Any) -> Any:
  """Returns a function that builds a network for the columns, or for an array.
  """
  layers = keras.layers
  encoders = {}
  for name, column in columns.items():
    encoders[name] = (
        layers.StringLookup(output_mode="one_hot") if column.dtype == object
        else layers.Normalization(axis=None))
    encoders[name].adapt(column)

  def build():
    if columns:
      inputs = {name: keras.Input([1], name=name, dtype=(
          "string" if column.dtype == object else "float32"))
                for name, column in columns.items()}
      x = layers.Concatenate()(
          [encoders[name](inputs[name]) for name in inputs])
    else:
      inputs = x = keras.Input([8])
    for _ in range(2):
      x = layers.Dense(64, "relu")(x)
    return keras.Model(inputs, layers.Dense(1)(x))

  return build


def _build_ensemble(count: int, has_text: bool) -> Any:
  """Returns the model of `count` networks, and a row."""
  columns = _make_columns()
  numbers = np.stack([
      column for column in columns.values() if column.dtype != object], 1)
  x = columns if has_text else numbers
  with tempfile.TemporaryDirectory() as directory:
    search = adanet.EnsembleSearch(
        {"network": _make_function(columns if has_text else {})}, "mse",
        directory=directory, seed=1)
    # All networks of the only function are in the ensemble.
    search.fit(x, numbers[:, 0], folds=count, epochs=1, verbose=0)
    model = search.model
  return model, keras.tree.map_structure(lambda array: array[:1], x)


def _list_ways(model: Any, row: Any) -> Any:
  """Returns dict from a way to predict to a function of no arguments."""
  function = tf.function(model)
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "saved_model")
    model.export(path, verbose=False)
    served = tf.saved_model.load(path)
    lite = tf.lite.TFLiteConverter.from_saved_model(path).convert()
  run = tf.lite.Interpreter(model_content=lite).get_signature_runner()
  names = run.get_input_details()
  inputs = row if isinstance(row, dict) else dict.fromkeys(names, row)
  return {
      "model.predict": lambda: model.predict(row, verbose=0),
      "model(x)": lambda: model(row).numpy(),
      "model.predict_on_batch": lambda: model.predict_on_batch(row),
      "tf.function(model)": lambda: function(row).numpy(),
      "SavedModel": lambda: served.serve(row).numpy(),
      "LiteRT": lambda: run(**inputs),
  }


def _measure_milliseconds(predict: Any) -> float:
  """Returns the median time of a request."""
  seconds = []
  for _ in range(_NUM_TRACED + _REQUESTS.value):
    start = time.perf_counter()
    predict()
    seconds.append(time.perf_counter() - start)
  return 1000 * float(np.median(seconds[_NUM_TRACED:]))


def main(argv: Any) -> None:
  """Prints a row for each way, with a column for each ensemble."""
  if len(argv) > 1:
    raise app.UsageError(f"expected no arguments, got {argv[1:]}")
  columns = []
  for ensemble in _ENSEMBLES:
    ways = _list_ways(*_build_ensemble(*ensemble))
    columns.append({
        name: _measure_milliseconds(ways[name]) for name in ways})
  grid = table.Table("ms", *(
      f"{count}{', text' * has_text}" for count, has_text in _ENSEMBLES))
  for name in columns[0]:
    grid.add_row(name, *(f"{column[name]:.3f}" for column in columns))
  console.Console().print(grid)


if __name__ == "__main__":
  app.run(main)
