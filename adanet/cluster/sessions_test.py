# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of sessions that are not opened. Clusters test the others."""

from absl.testing import absltest
from adanet import tf_compat
from adanet import waiting
from adanet.cluster import ended
from adanet.cluster import sessions


def _connect(**arguments):
  """Opens a session on a cluster without its parameter server."""
  return sessions.connect(
      "grpc://127.0.0.1:1", tf_compat.v1.Graph(), None,
      lambda: {"ps:0": "127.0.0.1:1"}, waiting.Wait(.5, "start it"),
      **arguments)


class SessionsTest(absltest.TestCase):

  def test_absent_task_is_named(self):
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError, r"waited 0.5 s for ps:0 \(127.0.0.1:1\)"):
      _connect()

  def test_wait_ends_with_the_job(self):
    def look():
      raise ended.Over("max_steps is reached")

    with self.assertRaisesRegex(ended.Over, "max_steps is reached"):
      _connect(look=look)


if __name__ == "__main__":
  absltest.main()
