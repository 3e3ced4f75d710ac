# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds the golden file of `RunConfig` against each `tf.estimator` there is."""

import json
import os
from unittest import mock

from absl.testing import absltest
from adanet import tf_compat
from adanet.tf_compat import make_run_config_golden
from adanet.tf_compat import run_config_cases
import runfiles

_GOLDEN = "adanet/adanet/tf_compat/testdata/estimator_run_config.json"


def _takes_task_indices_as_text():
  """Says whether a `ClusterSpec` can be made of a JSON object of addresses."""
  try:
    tf_compat.v1.train.ClusterSpec({"worker": {"0": "w:1"}})
  except TypeError:
    return False
  return True


def _has_task_indices(case):
  """Says whether a case's cluster has a job that is an object of addresses."""
  try:
    jobs = json.loads(case.tf_config)["cluster"].values()
  except (AttributeError, KeyError, TypeError, ValueError):
    return False
  return any(isinstance(tasks, dict) for tasks in jobs)


def _rows(text, without):
  """Returns the rows of a golden file, but for the cases of some names."""
  rows = {name: json.dumps(row, sort_keys=True)
          for name, row in json.loads(text).items()}
  return {name: row for name, row in rows.items() if name not in without}


class MakeRunConfigGoldenTest(absltest.TestCase):

  @absltest.skipUnless(hasattr(tf_compat.v1, "estimator"),
                       "this TensorFlow has no tf.estimator")
  def test_is_what_tf_estimator_does(self):
    with open(runfiles.Create().Rlocation(_GOLDEN), encoding="utf-8") as f:
      golden = f.read()
    with mock.patch.dict(os.environ):
      made = make_run_config_golden.make()
    without = set()
    if not _takes_task_indices_as_text():
      without = {case.name for case in run_config_cases.cases()
                 if _has_task_indices(case)}
    self.assertGreater(len(_rows(golden, without)), 1000)
    self.assertEqual(_rows(golden, without), _rows(made, without))


if __name__ == "__main__":
  absltest.main()
