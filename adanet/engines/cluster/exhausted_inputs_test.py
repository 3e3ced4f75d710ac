# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of who has no input left."""

from absl.testing import absltest
from adanet.engines.cluster import exhausted_inputs


class DeparturesTest(absltest.TestCase):

  def test_those_of_a_generation(self):
    model_dir = self.create_tempdir().full_path
    found = exhausted_inputs.ExhaustedInputs(model_dir)
    self.assertEmpty(found.tasks(3))
    found.add(3, "worker:10")
    found.add(3, "chief:0")
    found.add(4, "worker:1")
    other = exhausted_inputs.ExhaustedInputs(model_dir)
    self.assertEqual(["chief:0", "worker:10"], other.tasks(3))
    other.clear()
    self.assertEmpty(found.tasks(3))
    other.clear()


if __name__ == "__main__":
  absltest.main()
