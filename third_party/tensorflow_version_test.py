# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that //third_party/py:tensorflow_version chooses what runs."""

import platform

from absl import flags
from absl.testing import absltest
from adanet import tf_compat

flags.DEFINE_string("version", None, "The chosen version: two numbers.")
flags.DEFINE_list("pythons", None, "The Python versions that it may run on.")


class TensorflowVersionTest(absltest.TestCase):

  def test_chooses_tensorflow_and_python(self):
    self.assertStartsWith(tf_compat.v1.VERSION, flags.FLAGS.version + ".")
    major, minor, _ = platform.python_version_tuple()
    self.assertIn(f"{major}.{minor}", flags.FLAGS.pythons)


if __name__ == "__main__":
  absltest.main()
