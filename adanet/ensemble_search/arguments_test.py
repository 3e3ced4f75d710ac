# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments that need no data: read, or refused in one line."""

import functools
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet.ensemble_search import arguments
from adanet.ensemble_search import records


def deep():
  pass


class ArgumentsTest(parameterized.TestCase):

  def test_models(self):
    wide = lambda: None
    self.assertEqual({"a (1)": deep, "b": wide}, arguments.read_models(
        {"a (1)": deep, "b": wide}))
    partial = functools.partial(deep)
    self.assertEqual(
        {"deep": deep, "model_1": wide, "model_2": partial},
        arguments.read_models([deep, wide, partial]))
    self.assertEqual({"model_0": deep, "model_1": deep},
                     arguments.read_models([deep, deep]))

  @parameterized.parameters(
      "", " ", "a/b", "a\\b", "a\nb", ".a", "ensemble", "a #1", "a" * 81, 3)
  def test_names(self, name):
    with self.assertRaisesRegex(ValueError, "^models has the name .* expected"):
      arguments.read_models({name: deep})

  @parameterized.parameters(
      ("val_loss", None, ("val_loss", "min")),
      ("val_loss", "min", ("val_loss", "min")),
      ("val_auc", "max", ("val_auc", "max")),
      ("val_mae", "min", ("val_mae", "min")))
  def test_monitor(self, monitor, mode, expected):
    self.assertEqual(records.Monitor(*expected),
                     arguments.read_monitor(monitor, mode))

  @parameterized.parameters(
      ("loss", "min"), (3, "min"), ("val_auc", None), ("val_auc", "auto"),
      ("val_loss", "max"))
  def test_no_monitor(self, monitor, mode):
    with self.assertRaisesRegex(ValueError, "(monitor|mode)=.*expected"):
      arguments.read_monitor(monitor, mode)

  def test_path(self):
    self.assertIsNone(arguments.absolute_path(None))
    self.assertEqual(os.path.join(os.getcwd(), "a"),
                     arguments.absolute_path("a"))
    self.assertEqual(os.path.expanduser("~/a"), arguments.absolute_path("~/a"))

  def test_folds(self):
    self.assertIsNone(arguments.check_folds(None))
    self.assertEqual(2, arguments.check_folds(2))
    pairs = [([0], [1])]
    self.assertIs(pairs, arguments.check_folds(pairs))
    for folds in (1, 2.5, True):
      with self.assertRaisesRegex((TypeError, ValueError), "^folds="):
        arguments.check_folds(folds)

  def test_differences(self):
    """Digests are compared, and not shown."""
    digest, other = "0123456789abcdef0123", "0123456789abcdef9999"
    self.assertEqual(
        ["batch_size: 16 before, 8 now", "x: [9, 2] before, [8, 2] now",
         "y has other values", "weights: [9] before, none now"],
        arguments.list_differences(
            {"x": f"[9, 2] {digest}", "y": f"[9] {digest}", "batch_size": "16",
             "weights": f"[9] {digest}", "loss": "mse"},
            {"x": f"[8, 2] {digest}", "y": f"[9] {other}", "batch_size": "8",
             "loss": "mse"}))

  def test_compare(self):
    known = {"seed": 1, "digests": {"x": "[9]", "epochs": "2"}}
    arguments.compare("search", known, 1, known["digests"])
    with self.assertLogs("absl", "WARNING") as logs:
      arguments.compare("search", known, 1, {"x": "[9]", "epochs": "3"})
    self.assertIn("finished networks stay", logs.output[0])
    with self.assertRaisesRegex(
        ValueError, "^directory='search' has a search with something else: "
        "seed: 1 before, 2 now; x: .9. before, .8. now. Give the original "):
      arguments.compare("search", known, 2, {"x": "[8]", "epochs": "3"})


if __name__ == "__main__":
  absltest.main()
