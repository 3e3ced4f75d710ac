# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which role a process has."""

import json
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.estimator import role

_CLUSTER = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}


class RoleTest(parameterized.TestCase):

  @parameterized.parameters(
      ({}, None, "LOCAL"), ({"chief": ["a:1"]}, "chief", "LOCAL"),
      (_CLUSTER, "chief", "CHIEF"),
      ({"master": ["a:1"], "ps": ["c:1"]}, "master", "CHIEF"),
      (_CLUSTER, "worker", "WORKER"), (_CLUSTER, "ps", "PARAMETER_SERVER"),
      (_CLUSTER, "evaluator", "EVALUATOR"))
  def test_role_of(self, cluster, task_type, expected):
    tf_config = json.dumps(
        {"cluster": cluster, "task": {"type": task_type, "index": 0}}
        if cluster else {})
    with mock.patch.dict(os.environ, TF_CONFIG=tf_config):
      self.assertEqual(role.Role[expected], role.role_of(
          tf_compat.RunConfig(model_dir="/model")))


if __name__ == "__main__":
  absltest.main()
