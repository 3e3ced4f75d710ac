# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a chief announces before it has built a graph.

`engines/contract_test` has searches that it leads.
"""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.engines import engine
from adanet.engines.cluster import announcements
from adanet.engines.cluster import chief
from adanet.engines.cluster import connection
from adanet.engines.cluster import jobs
from adanet.training import setup as setup_lib
from adanet.training import trainer

_State = jobs.State


class ChiefTest(parameterized.TestCase):

  def _open(self, job, state, is_unique=True, is_followed=False):
    """Opens a chief where a job has ended; returns the job state before it.

    And the one that other tasks see while it builds its first graph.
    """
    path = self.create_tempdir().full_path
    file = jobs.JobStateFile(path)
    file.write(jobs.JobState(
        job, 7, 1, ("a",), 2, 1, "strategy", 5, state, "the reason"))
    before = file.read()
    config = tf_compat.RunConfig(model_dir=path)
    board = mock.Mock()
    board.read.return_value = announcements.GenerationStatus(
        is_followed=is_followed)
    own = connection.Connection(
        config, 1., {}, None, [board], file,
        jobs.JobWatch(jobs.JobId("job", is_unique)))
    with mock.patch.object(connection, "_OVER_SECS", 0.), \
         chief.ChiefEngine(setup_lib.SearchSetup(
             None, model_dir_lib.ModelDir(path), config,
             distributed.RoundRobinStrategy()), own).opened(
                 trainer.Request(None, max_steps=9)):
      return before, file.read()

  def test_a_job_that_was_stopped_goes_on(self):
    before, found = self._open("job", _State.STOPPED)
    self.assertEqual(before._replace(
        generation=8, max_steps=9, state=_State.TRAINING, reason="",
        written=found.written), found)

  @parameterized.parameters(
      ("another", _State.OVER), ("another#2", _State.STOPPED),
      ("job", _State.TRAINING))
  def test_nothing_is_announced_yet(self, job, state):
    before, found = self._open(job, state)
    self.assertEqual(before, found)

  @parameterized.parameters(
      ("job", _State.OVER),
      # The chief was lost in a later training of its program.
      ("job#2", _State.TRAINING), ("job#2", _State.TRAINING, False, True),
      ("job", _State.OVER, False, True))
  def test_a_job_that_is_over(self, job, state, is_unique=True,
                              is_followed=False):
    with self.assertRaises(engine.AlreadyOverError):
      self._open(job, state, is_unique, is_followed)

  @parameterized.parameters(
      ("job#2", _State.TRAINING), ("job", _State.OVER),
      # It asks no server while its own job goes on.
      ("job", _State.TRAINING, True))
  def test_another_run(self, job, state, is_followed=False):
    self._open(job, state, is_unique=False, is_followed=is_followed)


if __name__ == "__main__":
  absltest.main()
