# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which GPUs each task gets."""

import concurrent.futures
import multiprocessing
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet.launch import gpus
from adanet.launch import job as job_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"


def _met(barrier):
  """Returns what a worker of a pool sees, when all have begun."""
  barrier.wait(60)
  return os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get(_GROWTH)


def _shares(num_workers, names):
  """Returns the GPUs of each task of a job with 1 ps and an evaluator."""
  tasks = job_lib.make_tasks(num_workers, 1, True)
  shares = gpus.shares(tasks, names)
  return [shares[task]["CUDA_VISIBLE_DEVICES"] for task in tasks], [
      shares[task].get(_GROWTH) for task in tasks]


class GpusTest(parameterized.TestCase):

  @parameterized.parameters(
      (1, [], ["-1", "-1", "-1", "-1"], False),
      (1, ["0", "1"], ["0", "1", "-1", "-1"], False),
      (1, ["7", "5", "GPU-a"], ["7,5", "GPU-a", "-1", "-1"], False),
      (0, ["0", "1"], ["0,1", "-1", "-1"], False),
      (2, ["4", "5"], ["4", "5", "4", "-1", "-1"], True))
  def test_shares(self, num_workers, names, expected, is_shared):
    shares, growth = _shares(num_workers, names)
    self.assertEqual(expected, shares)
    self.assertEqual(
        ["true" if is_shared else None] * (1 + num_workers) + [None] * 2,
        growth)

  @hypothesis.given(st.integers(0, 20), st.integers(1, 20))
  def test_all_gpus_are_used(self, num_workers, num_gpus):
    names = [str(i) for i in range(num_gpus)]
    shares, _ = _shares(num_workers, names)
    trainers = [share.split(",") for share in shares[:1 + num_workers]]
    used = [name for share in trainers for name in share]
    self.assertCountEqual(names, set(used))
    if num_gpus > num_workers:
      self.assertLen(used, num_gpus)
    sizes = [len(share) for share in trainers]
    self.assertLessEqual(max(sizes) - min(sizes), 1)

  def test_message(self):
    tasks = job_lib.make_tasks(2, 4, True)
    self.assertIsNone(gpus.sharing_message(tasks, []))
    self.assertIsNone(gpus.sharing_message(tasks, ["0", "1", "2"]))
    self.assertEqual(
        "The chief and the workers (3) share 1 GPU, with memory growth on.",
        gpus.sharing_message(tasks, ["0"]))

  @parameterized.parameters(
      ("", []), ("-1", []), ("0", ["0"]), ("2,0", ["2", "0"]),
      ("0, 1,-1,2", ["0", "1"]), ("GPU-8f,MIG-1", ["GPU-8f", "MIG-1"]))
  def test_visible_by_variable(self, value, names):
    self.assertEqual(names, gpus.visible({"CUDA_VISIBLE_DEVICES": value}))

  @parameterized.parameters(
      ([], "", 0, []),
      (["/dev/nvidia0", "/dev/nvidia1"], "GPU 0: A\n  MIG 1g\nGPU 1: A\n", 0,
       ["0", "1"]),
      (["/dev/nvidia0", "/dev/nvidia1"], "GPU 0: A\n", 0, ["0"]),
      (["/dev/nvidia0", "/dev/nvidia1"], "failed", 9, ["0", "1"]),
      (["/dev/nvidia0"], None, 0, ["0"]))
  def test_visible_by_driver(self, devices, listing, status, names):
    folder = self.create_tempdir().full_path
    if listing is not None:
      program = self.create_tempfile(
          os.path.join(folder, "nvidia-smi"),
          "#!/bin/sh\nprintf '{}'\nexit {}\n".format(
              listing.replace("\n", "\\n"), status)).full_path
      os.chmod(program, 0o755)
    with mock.patch.object(gpus.glob, "glob", return_value=devices), \
        mock.patch.dict(os.environ, PATH=folder):
      self.assertEqual(names, gpus.visible({}))

  @parameterized.parameters(level.first([
      ("4,7", 2, {"4", "7"}), ("7", 2, {"7"}), ("", 1, {""})]))
  def test_each_worker_of_a_pool_gets_one(self, visible, num_workers, expected):
    # No GPU is here: this is a list of names, which CUDA would read.
    with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=visible):
      context = multiprocessing.get_context("spawn")
      with concurrent.futures.ProcessPoolExecutor(
          num_workers, mp_context=context,
          initializer=gpus.use_one_gpu) as pool:
        # Each waits for the other, so that both have one.
        with context.Manager() as manager:
          barrier = manager.Barrier(num_workers)
          found = list(pool.map(_met, [barrier] * num_workers))
    self.assertEqual(expected, {name for name, _ in found})
    self.assertEqual({"true" if visible else None},
                     {growth for _, growth in found})


if __name__ == "__main__":
  absltest.main()
