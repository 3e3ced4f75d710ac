# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the record of a search in its directory."""

import os
import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.estimator.keras_fit import arrangement
from adanet.estimator.keras_fit import record as record_lib
from adanet.tf_compat import files

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None


def _own(y_true, y_pred):
  return y_true - y_pred


_RECORD = record_lib.SearchRecord(
    1, {"loss": "mse", "metrics": None, "loss_weights": None,
        "optimizer": None},
    arrangement.Arrangement("list", ("a", "b"), "dict", ("sample_weight",)),
    {"x": "[9, 2] abc", "batch_size": "32"}, {"wide": "123"}, 900)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class RecordTest(parameterized.TestCase):

  def test_write_and_read(self):
    folder = self.create_tempdir().full_path
    self.assertIsNone(record_lib.read(folder))
    _RECORD.write(folder)
    self.assertEqual(_RECORD, record_lib.read(folder))
    self.assertEmpty(_RECORD.differences(record_lib.read(folder)))

  def test_later_version(self):
    folder = self.create_tempdir().full_path
    _RECORD.write(folder)
    path = os.path.join(folder, "ensemble_search.json")
    text = files.read_text(path)
    files.write_text(path, text.replace('"version": 1', '"version": 2'))
    with self.assertRaisesRegex(ValueError, "of another version of adanet"):
      record_lib.read(folder)

  @parameterized.named_parameters(
      ("x", {"data": {"x": "[9, 2] abd", "batch_size": "32"}},
       "x has other values"),
      ("shape", {"data": {"x": "[8, 2] abc", "batch_size": "32"}},
       r"x: [9, 2] before, [8, 2] now"),
      ("weights", {"data": dict(_RECORD.data, sample_weight="[9] a")},
       "sample_weight: none before, [9] now"),
      ("model", {"models": {"wide": "124"}},
       "models['wide'] makes another model"),
      ("models", {"models": {}}, "models: wide before,  now"),
      ("loss", {"arguments": dict(_RECORD.arguments, loss={"own": "f"})},
       "loss: 'mse' before, {'own': 'f'} now"),
      ("names", {"arrangement": arrangement.Arrangement("array")},
       "inputs or outputs have other names"))
  def test_differences(self, changes, expected):
    self.assertEqual([expected],
                     _RECORD.differences(_RECORD._replace(**changes)))

  def test_epochs_may_differ(self):
    self.assertEmpty(_RECORD.differences(
        _RECORD._replace(max_iteration_steps=7)))

  def test_arguments_of_keras(self):
    for value in (
        None, "mse", ["mse", "mae"], {"a": "mse", "b": None}, [["mae"], []]):
      self.assertEqual(value, record_lib.loaded(record_lib.dumped(value)))
    loss = record_lib.loaded(record_lib.dumped(
        {"a": keras.losses.BinaryCrossentropy(label_smoothing=.5)}))["a"]
    self.assertEqual(.5, loss.get_config()["label_smoothing"])
    optimizer = record_lib.loaded(record_lib.dumped(
        keras.optimizers.Adam(.25)))
    self.assertEqual(.25, float(optimizer.learning_rate))
    self.assertEqual("mean_squared_error",
                     record_lib.dumped(keras.losses.mean_squared_error))

  def test_object_without_its_config(self):
    """Keras would make a Huber with another delta of this one."""
    one, other = (record_lib.dumped(keras.losses.Huber(delta=delta))
                  for delta in (3., 4.))
    self.assertNotEqual(one, other)
    self.assertIn("Huber", record_lib.unknown_in(record_lib.loaded(one)))

  def test_own_functions(self):
    dumped = record_lib.dumped({"a": ["mse", _own]})
    self.assertEqual("_own", record_lib.unknown_in(record_lib.loaded(dumped)))
    self.assertIsNone(record_lib.unknown_in(["mse", {"a": "mae"}]))


if __name__ == "__main__":
  absltest.main()
