# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whether the job of a task is over."""

import json
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.engines.cluster import ended
from adanet.engines.cluster import job_state as job_state_lib

_STARTED = 1000000.
_UNIQUE = ended.JobId("job", True)
_SHARED = ended.JobId("job", False)
_UNKNOWN = ended.JobId("", False)
_SECOND = ended.JobId("job", True, 2)
_SHARED_SECOND = ended.JobId("job", False, 2)
_CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}


def _agreement(state="over", age=100., job="job"):
  """Returns what was written some seconds before this task started."""
  return job_state_lib.JobState(
      job, 3, 0, ("a",), 2, 1, "RoundRobinStrategy", None,
      job_state_lib.State(state), "It is.", _STARTED - age)


class StateTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("no_file", None, _UNIQUE, True, 99, "training"),
      ("other_job", _agreement(job="other"), _UNIQUE, True, 99, "training"),
      ("shared_other_job", _agreement(job="other"), _SHARED, True, 99,
       "training"),
      ("unknown", _agreement(job="other"), _UNKNOWN, True, 0, "over"),
      ("unknown_of_before", _agreement(job="other"), _UNKNOWN, False, 29,
       "training"),
      ("training", _agreement("training"), _UNIQUE, True, 99, "training"),
      ("training_of_before", _agreement("training"), _SHARED, False, 99,
       "training"),
      ("new", _agreement(), _SHARED, True, 0, "over"),
      ("written_since", _agreement(age=-1), _SHARED, False, 0, "over"),
      ("written_at_the_start", _agreement(age=0), _SHARED, False, 0, "over"),
      ("late", _agreement(age=99999), _UNIQUE, False, 0, "over"),
      ("shared_at_first", _agreement(), _SHARED, False, 29, "training"),
      ("shared_after_patience", _agreement(), _SHARED, False, 30, "over"),
      ("shared_just_young", _agreement(age=600), _SHARED, False, 99, "over"),
      ("shared_old", _agreement(age=601), _SHARED, False, 99, "training"),
      ("stopped", _agreement("stopped"), _UNIQUE, True, 0, "stopped"),
      ("shared_stopped", _agreement("stopped", -1), _SHARED, False, 0,
       "stopped"),
      ("stopped_of_before", _agreement("stopped"), _UNIQUE, False, 99,
       "training"),
      ("shared_stopped_of_before", _agreement("stopped"), _SHARED, False, 99,
       "training"),
      ("followed", _agreement("training", job="job#2"), _SHARED, True, 0,
       "over"),
      ("followed_by_one_that_was_stopped", _agreement("stopped", job="job#3"),
       _SECOND, True, 0, "over"),
      ("started_again", _agreement("training", job="job#2"), _UNIQUE, False, 0,
       "over"),
      ("shared_followed_in_another_run", _agreement("training", job="job#2"),
       _SHARED, False, 99, "training"),
      ("shared_late_for_all", _agreement(job="job#2"), _SHARED, False, 30,
       "over"),
      ("end_of_the_job_before", _agreement(), _SECOND, True, 99, "training"),
      ("its_own", _agreement(job="job#2"), _SECOND, False, 0, "over"),
      ("other_second_job", _agreement(job="other#2"), _UNIQUE, True, 99,
       "training"),
      ("unknown_second_job", _agreement(job="other"),
       ended.JobId("", False, 2), True, 99, "training"))
  def test_state(self, agreement, job, is_new, secs, expected):
    self.assertEqual(expected, ended.state(
        agreement, job, is_new, _STARTED, _STARTED + secs).value)


class JobStateTest(parameterized.TestCase):

  def _states(self, job, agreements):
    """Returns the states after agreements, of which one is read each second."""
    now = [_STARTED]
    job_watch = ended.JobWatch(job, lambda: now[0])
    states = []
    for agreement in agreements:
      states.append(job_watch.after(agreement).value)
      now[0] += 1
    return states

  @parameterized.parameters(_UNIQUE, _SHARED)
  def test_first_run(self, *job):
    self.assertEqual(
        ["training", "training", "over"],
        self._states(ended.JobId(*job), [
            None, _agreement("training", -1), _agreement("over", -2)]))

  def test_second_run_with_the_same_addresses(self):
    old = _agreement(age=60)
    self.assertEqual(
        ["training"] * 3 + ["over"],
        self._states(_SHARED, [old, old, _agreement("training", -2),
                               _agreement(age=-3)]))

  def test_clock_of_the_chief_is_late(self):
    # It says that it was written before this task started.
    self.assertEqual(
        ["training", "over"],
        self._states(_SHARED, [None, _agreement(age=3000)]))

  def test_resumed_after_a_stop(self):
    stopped = _agreement("stopped", 5)
    self.assertEqual(
        ["training", "training", "stopped"],
        self._states(_UNIQUE, [
            stopped, _agreement("training", -1), _agreement("stopped", -2)]))

  def test_late_task_of_a_shared_job_waits_for_a_chief(self):
    old = _agreement(age=60)
    self.assertEqual(["training"] * 30 + ["over"] * 2,
                     self._states(_SHARED, [old] * 32))


  def test_second_job(self):
    # An earlier run left a file in the second folder. The chief evaluates.
    now, answers = [_STARTED + 60.], [True]
    job_watch = ended.JobWatch(
        _SHARED_SECOND, lambda: now[0], _STARTED, lambda: answers[0])
    old = _agreement(job="job#2")
    self.assertEqual("training", job_watch.after(old).value)
    now[0] += 99
    self.assertEqual("training", job_watch.after(old).value)
    answers[0] = False
    self.assertEqual("over", job_watch.after(old).value)

  def test_second_job_that_was_over_at_once(self):
    # This process came late, but has followed the run before.
    job_watch = ended.JobWatch(_SHARED_SECOND, lambda: _STARTED + 60., _STARTED)
    self.assertEqual("over", job_watch.after(_agreement(
        age=-50, job="job#2")).value)

  def test_a_board_says_that_it_is_over(self):
    job_watch = ended.JobWatch(_SHARED)
    self.assertEqual("training", job_watch.after(None).value)
    job_watch.end()
    self.assertEqual("over", job_watch.after(None).value)


class JobIdTest(parameterized.TestCase):

  def _config(self, job, index=0, cluster=None):
    tf_config = {"cluster": cluster or _CLUSTER,
                 "task": {"type": job, "index": index}}
    environ = {"TF_CONFIG": json.dumps(tf_config)}
    with mock.patch.dict("os.environ", environ):
      return tf_compat.RunConfig(model_dir="/m"), environ

  def test_is_given(self):
    config, environ = self._config("worker")
    self.assertEqual(("mine", True, 1), ended.job_id(
        config, dict(environ, ADANET_JOB_ID="mine")))

  def test_addresses_stand_for_it(self):
    ids = {ended.job_id(*self._config(job, index)) for job, index in (
        ("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0),
        ("evaluator", 0))}
    # A cluster may name its evaluator, and its indices.
    ids.add(ended.job_id(*self._config(
        "evaluator", cluster=dict(_CLUSTER, evaluator=["e:1"]))))
    ids.add(ended.job_id(*self._config("chief", cluster=dict(
        _CLUSTER, worker={"1": "c:1", "0": "b:1"}))))
    self.assertLen(ids, 1)
    found = ids.pop()
    self.assertNotEqual("", found.text)
    self.assertFalse(found.is_unique)
    other = ended.job_id(*self._config(
        "chief", cluster=dict(_CLUSTER, ps=["d:2"])))
    self.assertNotEqual(found.text, other.text)

  def test_is_unknown_without_addresses(self):
    self.assertEqual(("", False, 1), ended.job_id(
        tf_compat.RunConfig(), {"ADANET_JOB_ID": "", "TF_CONFIG": ""}))

  def test_counts_the_trainings_of_a_process(self):
    config, environ = self._config(
        "worker", cluster=dict(_CLUSTER, ps=["counted:1"]))
    with mock.patch.dict("os.environ", environ):
      def enter(error=None):
        with ended.as_job(config), ended.as_job(config):
          number = ended.job_id(config).number
          if error:
            raise error
          return number

      self.assertEqual([1, 2], [enter(), enter()])
      for error in (ValueError, SystemExit):
        with self.assertRaises(error):
          enter(error)
      self.assertEqual(3, enter())  # The chief waits for another try.
      self.assertEqual(4, ended.job_id(config).number)
    other, environ = self._config("worker")
    self.assertEqual(1, ended.job_id(other, environ).number)
    # Without a cluster, TF_CONFIG may be for other trainings.
    local = tf_compat.RunConfig()
    with ended.as_job(local), ended.as_job(local):
      self.assertEqual(1, ended.job_id(local, {}).number)
    self.assertEqual(1, ended.job_id(local, {}).number)


if __name__ == "__main__":
  absltest.main()
