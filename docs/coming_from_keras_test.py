# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs each row of the table "In Keras you write, here you write"."""

import ast
import contextlib
import io
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from docs import pages
import numpy as np
import pandas as pd

_SETUP = """
def make_two_outputs():
  inputs = keras.Input([4])
  return keras.Model(inputs, {"a": keras.layers.Dense(1)(inputs),
                              "b": keras.layers.Dense(1)(inputs)})

def make_two_inputs():
  left, right = keras.Input([4], name="left"), keras.Input([4], name="right")
  return keras.Model([left, right], keras.layers.Dense(1)(
      keras.layers.Add()([left, right])))

class MyCallback(keras.callbacks.Callback):
  pass

model, two_outputs, two_inputs = large(), make_two_outputs(), make_two_inputs()
two_outputs.compile("adam", "mse")
two_inputs.compile("adam", "mse")
model.compile("adam", "mse", metrics=["mae"])
search = adanet.EnsembleSearch(models, "mse", metrics=["mae"], seed=1)
search_of_two = adanet.EnsembleSearch({"two": make_two_outputs}, "mse")
"""
# Both sides give a value that should have the same shape.
_SAME_SHAPES = "evaluate", "predict"


def _run(code, variables):
  """Runs a line of code; returns its value, or None for statements."""
  tree = ast.parse(code)
  if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
    return eval(code, variables)  # pylint: disable=eval-used
  exec(code, variables)  # pylint: disable=exec-used
  return None


class ComingFromKerasTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.create_tempdir().full_path)
    self.enter_context(contextlib.redirect_stdout(io.StringIO()))
    # Three epochs show as much of a row as training to the end.
    fit = adanet.EnsembleSearch.fit
    self.enter_context(mock.patch.object(
        adanet.EnsembleSearch, "fit",
        lambda *args, epochs=3, **kwargs: fit(*args, epochs=epochs, **kwargs)))

  def _variables(self):
    """Returns what the page has before the table."""
    (kind, program), *_ = pages.blocks(pages.FROM_KERAS)
    self.assertEqual("python", kind)
    variables = {"__name__": "__main__"}
    for code in (program, _SETUP):
      exec(code, variables)  # pylint: disable=exec-used
    data = tf_compat.v2.data.Dataset
    x, y = variables["x"], variables["y"]
    variables.update(
        make_dataset=lambda: data.from_tensor_slices((x, y)).shuffle(
            200, seed=1).batch(32),
        make_held_out=lambda: data.from_tensor_slices((x, y)).batch(32),
        frame=pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y[:, 0]}))
    return variables

  @parameterized.parameters(*pages.rows_from_keras())
  def test_row(self, in_keras, here):
    variables = self._variables()
    if "load_model" in here or "Backup" in in_keras:
      variables["model"].build([None, 4])
      variables["model"].save("mine.keras")
    elif ".fit(" not in in_keras:
      variables["model"].fit(variables["x"], variables["y"], verbose=0)
    if ".fit(" not in here and "search." in here:
      variables["search"].fit(
          variables["x"], variables["y"], epochs=2, verbose=0)
    if '["a", "b"]' in in_keras:
      variables["model"] = variables["small"]()
      variables["model"].compile("adam", "mse")
    expected, actual = (_run(code, variables) for code in (in_keras, here))
    if any(name in here for name in _SAME_SHAPES):
      self.assertEqual(np.shape(expected), np.shape(actual))
    if "search = " in here or ".fit(" in here:
      search = variables["search_of_two" if "of_two" in here else "search"]
      search = actual if hasattr(actual, "leaderboard") else search
      if ".fit(" in here:
        self.assertNotEmpty(search.leaderboard())
    elif "save" in here or "export" in here:
      self.assertNotEmpty(os.listdir("."))


if __name__ == "__main__":
  absltest.main()
