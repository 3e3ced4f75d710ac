# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of pages that start pools or Dask, or repeat the README.

`examples_test` has the other pages.
"""

import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from docs import pages


class LongPagesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.create_tempdir().full_path)

  @parameterized.parameters(*pages.LONG)
  def test_programs(self, page):
    if page in pages.KERAS_3 and hasattr(tf_compat.v1, "estimator"):
      self.skipTest("Keras 3 needs TensorFlow 2.16 or later.")
    for expected, printed in pages.run(page):
      self.assertEqual(expected, printed)


if __name__ == "__main__":
  absltest.main()
