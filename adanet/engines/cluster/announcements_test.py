# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of status boards, and of whether all tasks see the same files."""

import os
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet import waiting
from adanet.engines.cluster import announcements
from adanet.engines.cluster import jobs
from adanet.testing import level
from adanet.testing import processes

_JOB_STATE = jobs.JobState("job", 3, 0, ("a",), 1, 1, "", None)
_JOB = jobs.JobId("job", True)
_ADVICE = "all tasks must have the same model_dir"


class SharedFilesTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cluster = processes.free_cluster(ps=1)
    cls._server = tf_compat.v1.train.Server(cluster, "ps", 0)
    cls._address = cluster["ps"][0]

  def setUp(self):
    super().setUp()
    self._chief = self.create_tempdir().full_path
    jobs.JobStateFile(self._chief).write(_JOB_STATE)
    self._other = self.create_tempdir().full_path

  def _check(self, chief, ps, generation=3, secs=0.):
    """Checks the folder of a chief, where the ps has another one."""
    told = iter([None, ps])
    check = announcements.SharedFilesCheck(chief, {"ps:0": self._address})
    with tf_compat.v1.Session(
        "grpc://" + self._address, graph=check.graph) as session, (
            mock.patch.object(announcements, "_DELAY_SECS", secs)):
      check.wait_until_seen(
          session, generation, lambda ps: next(told), waiting.Wait(60.))

  def test_same_folder(self):
    self._check(self._chief, self._chief)
    os.symlink(self._chief, self._chief + "_link")
    self._check(self._chief, self._chief + "_link")

  @parameterized.parameters(
      (True, False, 3, "and the chief has '{0}': "),
      (True, True, 4, "the chief has '{0}', which it does not see there: it is "
       "an older one there, of generation 3: "),
      (False, True, 3, "the chief has '{1}', which it does not see there: "
       "{1}/cluster/job_state.json; No such file or directory: "))
  def test_folders_that_differ(self, chief_sees, ps_sees, generation, message):
    chief, ps = (self._chief if sees else self._other
                 for sees in (chief_sees, ps_sees))
    with self.assertRaisesRegex(
        announcements.SharedFilesError,
        fr"^ps:0 \(127.0.0.1:\d+\) has the model_dir '{ps}', .*" +
        message.format(self._chief, self._other) + _ADVICE):
      self._check(chief, ps, generation)

  @level.gate
  def test_no_long_wait_for_a_folder_that_is_another_one(self):
    began = time.monotonic()
    with self.assertRaises(announcements.SharedFilesError):
      self._check(self._chief, self._other, secs=1000.)
    self.assertLess(time.monotonic() - began, 100.)

  def _follow(self, job_state, announced, told, secs, job=_JOB):
    """Asks a follower once now, and once after some seconds."""
    follower = announcements.VisibilityCheck(self._other, job, lambda: told)
    with mock.patch.object(announcements.time, "monotonic") as monotonic:
      for monotonic.return_value in (1000., 1000. + secs):
        is_seen = follower.check_seen(job_state, announced)
    return is_seen

  def test_follower_sees(self):
    self.assertTrue(self._follow(_JOB_STATE, 3, None, 1000.))
    # A shared disk may be late, and this may be another name of it.
    for told in (None, self._other, self.create_tempdir().full_path):
      self.assertFalse(self._follow(None, 3, told, 30.))

  def test_follower_waits_anew_for_each_generation(self):
    follower = announcements.VisibilityCheck(self._other, _JOB, lambda: None)
    with mock.patch.object(announcements.time, "monotonic") as monotonic, \
         self.assertLogs(level="WARNING") as logged:
      for monotonic.return_value, announced, expected in (
          (1000., 4, False), (1050., 3, True), (1100., 4, False),
          (1109., 4, False), (1111., 4, False), (1150., 4, False)):
        self.assertEqual(expected, follower.check_seen(_JOB_STATE, announced))
    # It says once what it does not see.
    self.assertLen(logged.output, 1)
    self.assertIn(f"'{self._other}', and does not see there what the "
                  "chief", logged.output[0])

  @parameterized.parameters(
      (None, True, 3., "model_dir '{1}', and the chief has '{0}': " + _ADVICE),
      (None, False, 61., "has the model_dir '{1}', and does not see there what "
       "the chief has announced: " + _ADVICE),
      (_JOB_STATE._replace(job="other"), True, 3., "for another job in '{1}': "
       "all tasks must have the same cluster in TF_CONFIG"),
      (_JOB_STATE._replace(job="other"), False, 61., "for another job"))
  def test_follower_does_not_see(self, job_state, is_told, secs, message):
    with self.assertRaisesRegex(
        announcements.SharedFilesError,
        message.format(self._chief, self._other)):
      self._follow(job_state, 3, self._chief if is_told else None, secs)

  @level.gate
  def test_onlooker(self):
    board = announcements.StatusBoard(
        0, self._address, "grpc://" + self._address, "/job:ps/task:0")
    self.addCleanup(board.close)
    for owner in (announcements.SERVER, announcements.CHIEF):
      self.assertIsNone(board.model_dir(owner))
      self.assertTrue(board.write_model_dir(owner, owner))
      self.assertEqual(owner, board.model_dir(owner))
    board.write_model_dir(announcements.CHIEF, self._chief)
    self.assertTrue(board.write(announcements.GenerationStatus(3, 0)))
    chief, other = (announcements.ReadOnlyObserver(folder, _JOB, self._address)
                    for folder in (self._chief, self._other))
    chief.check_seen(_JOB_STATE)
    with self.assertRaisesRegex(
        announcements.SharedFilesError, f"has '{self._chief}'"):
      while True:
        other.check_seen(None)
        time.sleep(.1)
    board.write(announcements.GenerationStatus(4, 0))
    # It was seen once, and may be late now.
    self.assertFalse(chief.check_seen(_JOB_STATE))
    # The program trains again, with the same servers.
    again = announcements.StatusBoard(
        0, self._address, "grpc://" + self._address, "/job:ps/task:0", 2)
    self.addCleanup(again.close)
    self.assertEqual(announcements.GenerationStatus(), again.read())
    self.assertIsNone(again.model_dir(announcements.CHIEF))
    self.assertTrue(again.write_model_dir(announcements.CHIEF, self._other))
    self.assertTrue(again.write(announcements.GenerationStatus(1, 1)))
    self.assertEqual(announcements.GenerationStatus(1, 1), again.read())
    self.assertEqual(self._other, again.model_dir(announcements.CHIEF))
    # A task that was started again is in the first training still.
    self.assertEqual(
        announcements.GenerationStatus(is_followed=True), board.read())
    self.assertTrue(announcements.ReadOnlyObserver(
        self._chief, _JOB, self._address).check_seen(_JOB_STATE))


if __name__ == "__main__":
  absltest.main()
