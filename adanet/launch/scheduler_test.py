# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests scheduler."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import scheduler

_POD = {"ADANET_CLUSTER": "{}"}
_STEP = {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0",
         "SLURM_STEP_NUM_TASKS": "4"}
_SHELL = dict(_STEP, SLURM_STEP_NUM_TASKS="1")
_BATCH = {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}


def _is_given(flags):
  return lambda *names: bool(set(names) & set(flags.split()))


class SchedulerTest(parameterized.TestCase):

  @parameterized.parameters(
      ({}, "", "local", "no TF_CONFIG and no SLURM_STEP_ID"),
      ({}, "workers ps", "local", "no TF_CONFIG and no SLURM_STEP_ID"),
      ({"TF_CONFIG": "{}"}, "dry_run", "task", "TF_CONFIG is set"),
      ({"TF_CONFIG": "{}"}, "ps", "local", "the flags describe a cluster"),
      (dict(_STEP, TF_CONFIG="{}"), "", "task", "TF_CONFIG is set"),
      (dict(_STEP, TF_CONFIG="{}"), "ps", "slurm", "SLURM_STEP_ID is set"),
      (_POD, "", "task", "ADANET_CLUSTER is set"),
      (_POD, "evaluator", "local", "the flags describe a cluster"),
      (_STEP, "workers ps", "slurm", "SLURM_STEP_ID is set"),
      (_SHELL, "ps", "slurm", "SLURM_STEP_ID is set"),
      (_SHELL, "workers ps", "local", "the flags describe a cluster"),
      (_BATCH, "ps", "slurm", "SLURM_JOB_ID is set"),
      (_BATCH, "workers ps", "local", "the flags describe a cluster"))
  def test_choose(self, environ, flags, expected, why):
    self.assertEqual((expected, why),
                     scheduler.choose(environ, _is_given(flags)))

  @parameterized.parameters(
      ("local", "workers ps evaluator max_restarts log_dir private_network "
       "dry_run"),
      ("slurm", "workers ps evaluator dry_run"),
      ("kubernetes", "workers ps evaluator max_restarts image name namespace "
       "volume_claim gpus_per_worker"),
      ("task", "dry_run"))
  def test_flags_that_are_used(self, name, flags):
    scheduler.check_flags(name, _is_given("model_dir module " + flags))

  @parameterized.parameters(
      ("local", "image", "--image: expected --scheduler=kubernetes, got "
       "--scheduler=local."),
      ("slurm", "max_restarts", "--max_restarts: expected --scheduler=local or "
       "kubernetes, got --scheduler=slurm."),
      ("kubernetes", "log_dir", "--log_dir: expected --scheduler=local, got "
       "--scheduler=kubernetes."),
      ("task", "workers", "--workers: expected --scheduler=local, slurm or "
       "kubernetes, got --scheduler=task."))
  def test_flags_that_are_not_used(self, name, flags, message):
    with self.assertRaises(ValueError) as raised:
      scheduler.check_flags(name, _is_given(flags))
    self.assertEqual(message, str(raised.exception))


if __name__ == "__main__":
  absltest.main()
