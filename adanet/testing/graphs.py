# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that build tensors and look at their values."""

from typing import Any

from absl.testing import parameterized
from adanet import tf_compat


class GraphTestCase(parameterized.TestCase):
  """A test that has a graph of its own, which is the default one."""

  def setUp(self):
    super().setUp()
    self.enter_context(tf_compat.v1.Graph().as_default())

  def values(self, tensors: Any) -> Any:
    """Returns the values of tensors, in the same structure, as lists."""
    v1 = tf_compat.v1
    with v1.Session() as session:
      session.run(v1.global_variables_initializer())
      return tf_compat.v2.nest.map_structure(
          lambda value: value.tolist(), session.run(tensors))
