# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of who has no input left."""

from absl.testing import absltest
from adanet.cluster import departures


class DeparturesTest(absltest.TestCase):

  def test_those_of_a_generation(self):
    model_dir = self.create_tempdir().full_path
    found = departures.Departures(model_dir)
    self.assertEmpty(found.left(3))
    found.leave(3, "worker:10")
    found.leave(3, "chief:0")
    found.leave(4, "worker:1")
    other = departures.Departures(model_dir)
    self.assertEqual(["chief:0", "worker:10"], other.left(3))
    other.clear()
    self.assertEmpty(found.left(3))
    other.clear()


if __name__ == "__main__":
  absltest.main()
