# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which ensemble the judge selects."""

from absl.testing import absltest
from adanet.ensemble_search import ensemble_model
from adanet.ensemble_search import files
from adanet.ensemble_search import models
from adanet.ensemble_search import rows as rows_lib
import numpy as np

_Y = np.zeros([300, 1], "float32")


def _predictions(value):
  return files.HeldOutPredictions(0, [_Y + np.float32(value)], [None])


class JudgeTest(absltest.TestCase):

  def test_selected(self):
    batch = (_Y, _Y, np.linspace(0, 2, 300).astype("float32"))
    networks = [_predictions(value) for value in (3., 1., -1., 9.)]
    judge = ensemble_model.Judge(
        models.CompileArguments(loss="mse"), [rows_lib.Rows(
            batch, np.arange(300, dtype="int32"))], networks[0], None)
    weights = judge.select_weights(networks)
    self.assertSequenceEqual([0., .5, .5, 0.], weights)
    self.assertEqual({"val_loss": 0.}, judge.values(
        *ensemble_model.mean_predictions(networks, weights)))
    self.assertSequenceEqual([1.], judge.select_weights(networks[:1]))
    self.assertSequenceEqual([0., 1., 0., 0.], judge.select_weights(networks, 1))


if __name__ == "__main__":
  absltest.main()
