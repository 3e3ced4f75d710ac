# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests tasks."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.console import indices
from adanet.distributed import tasks


class TasksTest(parameterized.TestCase):

  def test_names(self):
    self.assertEqual(["chief:0", "worker:0", "worker:1"], tasks.worker_names(3))
    self.assertEqual("master:0", tasks.worker_names(3, "master")[0])

  @parameterized.parameters(
      ([], ""),
      ([0], "chief:0"),
      ([0, 1, 3], "chief:0, worker:0, worker:2"),
      ([2, 5], "worker:1, worker:4"),
      (range(0, 10**4, 4), "chief:0, worker:3 to worker:9995 by 4"),
      (range(10**4), "chief:0, worker:0 to worker:9998"),
      (range(1, 30), "worker:0 to worker:28"))
  def test_workers_text(self, workers, expected):
    self.assertEqual(expected, tasks.workers_text(
        indices.Indices(workers), tasks.worker_names(10**4)))

  @parameterized.parameters(
      ((1, 0, 1), "a chief, 0 parameter servers, 1 subnetwork"),
      ((2, 1, 2), "a chief and 1 worker, 1 parameter server, 2 subnetworks"),
      ((1001, 2, 9),
       "a chief and 1,000 workers, 2 parameter servers, 9 subnetworks"))
  def test_cluster_text(self, shape, expected):
    self.assertEqual(expected, tasks.cluster_text(*shape))


if __name__ == "__main__":
  absltest.main()
