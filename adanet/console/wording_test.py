# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the words for lists, indices and tasks."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.console import wording
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np

_SQUARES = [i * i for i in range(40)]


class IndicesTest(parameterized.TestCase):

  @hypothesis.given(st.lists(st.integers(0, 40), max_size=25))
  def test_is_a_set(self, numbers):
    indices = wording.Indices(numbers)
    self.assertEqual(sorted(set(numbers)), list(indices))
    self.assertLen(indices, len(set(numbers)))
    for i in range(-1, 42):
      self.assertEqual(i in numbers, i in indices)
      self.assertEqual(i in numbers, np.int64(i) in indices)
    self.assertEqual(
        list(indices),
        [i for triple in indices.to_json() for i in range(*triple)])
    self.assertEqual(indices, wording.Indices(iter(numbers[::-1])))

  @parameterized.parameters(
      ([], []),
      ([7], [[7, 8, 1]]),
      ([0, 4, 8], [[0, 9, 4]]),
      ([0, 5, 6, 7], [[0, 1, 1], [5, 8, 1]]),
      (range(3, 10**4, 7), [[3, 10000, 7]]),
      (range(5, 2, -1), [[3, 6, 1]]),
  )
  def test_json(self, numbers, expected):
    self.assertEqual(expected, wording.Indices(numbers).to_json())

  @parameterized.parameters(
      ([], ""),
      ([2, 3, 5], "2, 3, 5"),
      (range(20), ", ".join(map(str, range(20)))),
      (range(21), "0 to 20"),
      (range(1, 100, 4), "1 to 97 by 4"),
      ([0, 1] + list(range(10, 40)), "0, 1, 10 to 39"),
      (_SQUARES, "0, 1, 4, 9, 16, 25, 36, 49, 64, 81 and 30 more"))
  def test_text(self, numbers, expected):
    indices = wording.Indices(numbers)
    self.assertEqual(expected, indices.to_text())
    self.assertEqual(expected, str(indices))

  def test_text_with_names(self):
    name = "w{}".format
    self.assertEqual("w1, w3", wording.Indices([1, 3]).to_text(name))
    self.assertEqual("w0 to w87 by 3",
                     wording.Indices(range(0, 90, 3)).to_text(name))


class WordsTest(parameterized.TestCase):

  @parameterized.parameters(
      ("t0_dnn", 6, "t0_dnn"), ("t0_dnn", 5, "t0..n"),
      ("t0_dnn_grow", 8, "t0_..row"), ("abcdefghij", 9, "abcd..hij"))
  def test_cut(self, name, width, expected):
    self.assertEqual(expected, wording.cut(name, width))

  def test_names(self):
    self.assertEqual(
        ["chief:0", "worker:0", "worker:1"], wording.worker_names(3))
    self.assertEqual("master:0", wording.worker_names(3, "master")[0])

  @parameterized.parameters(
      ([], ""),
      ([0], "chief:0"),
      ([0, 1, 3], "chief:0, worker:0, worker:2"),
      ([2, 5], "worker:1, worker:4"),
      (range(0, 10**4, 4), "chief:0, worker:3 to worker:9995 by 4"),
      (range(10**4), "chief:0, worker:0 to worker:9998"),
      (range(1, 30), "worker:0 to worker:28"))
  def test_workers_text(self, workers, expected):
    self.assertEqual(expected, wording.workers_text(
        wording.Indices(workers), wording.worker_names(10**4)))

  @parameterized.parameters(
      ((1, 0, 1), "a chief, 0 parameter servers, 1 subnetwork"),
      ((2, 1, 2), "a chief and 1 worker, 1 parameter server, 2 subnetworks"),
      ((1001, 2, 9),
       "a chief and 1,000 workers, 2 parameter servers, 9 subnetworks"))
  def test_cluster_text(self, shape, expected):
    self.assertEqual(expected, wording.cluster_text(*shape))


if __name__ == "__main__":
  absltest.main()
