# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of who trains no further."""

from absl.testing import absltest
from adanet.engines.cluster import stopped_workers
from adanet.training import loop

_INPUT, _HOOK = loop.Ending.INPUT_ENDED, loop.Ending.STOP_ASKED


class StoppedWorkersTest(absltest.TestCase):

  def test_those_of_a_generation(self):
    model_dir = self.create_tempdir().full_path
    found = stopped_workers.StoppedWorkers(model_dir)
    self.assertEmpty(found.endings(3))
    found.add(3, "worker:10", _HOOK)
    found.add(3, "chief:0", _INPUT)
    found.add(4, "worker:1", _INPUT)
    other = stopped_workers.StoppedWorkers(model_dir)
    self.assertEqual({"chief:0": _INPUT, "worker:10": _HOOK}, other.endings(3))
    other.clear()
    self.assertEmpty(found.endings(3))
    other.clear()


if __name__ == "__main__":
  absltest.main()
