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
from adanet.core import fingerprint
from adanet.core import model_dir as model_dir_lib
from adanet.engines import engine
from adanet.engines.cluster import announcements
from adanet.engines.cluster import chief
from adanet.engines.cluster import connection
from adanet.engines.cluster import jobs
from adanet.testing import builders
from adanet.testing import searches
from adanet.training import setup as setup_lib
from adanet.training import trained
from adanet.training import trainer

_State = jobs.State
_SEARCH = searches.make([builders.Dense("a")])
_READY = announcements.GenerationStatus(7, 7)


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
    before, after = self._open("job", _State.STOPPED)
    self.assertEqual(before._replace(
        generation=8, max_steps=9, state=_State.TRAINING, reason="",
        written=after.written), after)

  @parameterized.parameters(
      ("another", _State.OVER), ("another#2", _State.STOPPED),
      ("job", _State.TRAINING))
  def test_nothing_is_announced_yet(self, job, state):
    before, after = self._open(job, state)
    self.assertEqual(before, after)

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

  def _begin(self, job_state, status, strategy, **start):
    """Returns the generation in which a chief begins, and if that is ready."""
    path = self.create_tempdir().full_path
    config = tf_compat.RunConfig(model_dir=path)
    file = jobs.JobStateFile(path)
    if job_state is not None:
      file.write(job_state)
    board = mock.Mock()
    board.read.return_value = status
    own = connection.Connection(
        config, 1., {}, None, [board], file,
        jobs.JobWatch(jobs.JobId("job", True)))
    engine_of_chief = chief.ChiefEngine(setup_lib.SearchSetup(
        _SEARCH, model_dir_lib.ModelDir(path), config, strategy), own)
    with mock.patch.object(connection.Connection, "free"), \
         mock.patch.object(chief.ChiefEngine, "_train_generation") as train, \
         engine_of_chief.opened(trainer.Request(None)):
      engine_of_chief.train(trained.Start(1, "model.ckpt-5", **start))
    (_, number, is_ready), _ = train.call_args
    return number, is_ready

  @parameterized.named_parameters(
      ("as_before", {}, _READY, (7, True)),
      ("no_job_state", None, _READY, (1, False)),
      ("first_of_an_iteration", {}, _READY, (8, False),
       dict(starts_iteration=True)),
      ("another_iteration", dict(iteration=0), _READY, (8, False)),
      ("another_head", dict(search={"head": "Head()"}), _READY, (8, False)),
      ("other_servers", dict(num_ps=1), _READY, (8, False)),
      ("server_without_variables", {}, announcements.GenerationStatus(7, 0),
       (8, False)),
      ("never_measured", {}, _READY, (8, False), {},
       distributed.BalancedStrategy("measured")))
  def test_takes_over_what_trains(
      self, change, status, expected, start=None,
      strategy=distributed.RoundRobinStrategy()):
    job_state = jobs.JobState(
        "job", 7, 1, ("a",), 1, 0, repr(strategy), None,
        search=fingerprint.of(_SEARCH).arguments)
    self.assertEqual(expected, self._begin(
        change if change is None else job_state._replace(**change), status,
        strategy, **start or {}))


if __name__ == "__main__":
  absltest.main()
