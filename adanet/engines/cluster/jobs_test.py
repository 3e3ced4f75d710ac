# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the chief announces, and of whether the job of a task is over.
"""

import json
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.engines.cluster import jobs

_ANNOUNCED = jobs.JobState(
    "job", 3, 1, ("linear", "deep"), 3, 2, "RoundRobinStrategy", 300)
_STARTED = 1000000.
_UNIQUE = jobs.JobId("job", True)
_SHARED = jobs.JobId("job", False)
_UNKNOWN = jobs.JobId("", False)
_SECOND = jobs.JobId("job", True, 2)
_SHARED_SECOND = jobs.JobId("job", False, 2)
_CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}


class JobStateTest(parameterized.TestCase):

  def test_json(self):
    for value in (_ANNOUNCED, _ANNOUNCED._replace(
        max_steps=None, state=jobs.State.STOPPED, reason="a\nb", written=.5,
        measured=jobs.Measurements((1, .5), (2**80, 3), 0),
        search={"head": "x"})):
      self.assertEqual(value, jobs.JobState.from_json(value.to_json(), "path"))
      self.assertNotIn("\n", value.to_json())

  @parameterized.parameters("", "{", "[]", "null", '"a\nb"', '{"job": "a"}')
  def test_text_that_is_no_job_state(self, text):
    self._check_corrupt(text, "")

  @parameterized.parameters(
      ("generation", "1"), ("iteration", True), ("builders", [1]),
      ("state", "done"), ("written", None), ("measured", 1))
  def test_wrong_value(self, name, value):
    content = dict(json.loads(_ANNOUNCED.to_json()), **{name: value})
    self._check_corrupt(json.dumps(content), name + r"(\[0\])? is ")

  def test_value_of_another_version(self):
    content = dict(json.loads(_ANNOUNCED.to_json()), costs=[1, 2])
    self.assertEqual(
        _ANNOUNCED, jobs.JobState.from_json(json.dumps(content), "/m/a.json"))

  def _check_corrupt(self, text, problem):
    with self.assertRaisesRegex(
        jobs.JobStateError, "^/m/a.json: " + problem) as raised:
      jobs.JobState.from_json(text, "/m/a.json")
    self.assertNotIn("\n", str(raised.exception))
    self.assertIn("Remove the file", str(raised.exception))


class JobStateFileTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._now = 1000.5
    self.enter_context(mock.patch.object(
        jobs, "time", mock.Mock(time=lambda: self._now)))
    self._file = jobs.JobStateFile(self._model_dir)

  def test_read_and_write(self):
    self.assertIsNone(self._file.read())
    self.assertEqual([], os.listdir(self._model_dir))
    for number in range(2):
      self._now += 1.
      value = _ANNOUNCED._replace(generation=number)
      self._file.write(value)
      self.assertEqual(value._replace(written=self._now), self._file.read())
    self.assertEqual(
        ["job_state.json"],
        os.listdir(os.path.join(self._model_dir, "cluster")))

  def test_announce(self):
    """Each announcement is another generation, and keeps the rest."""
    self._file.write(_ANNOUNCED)
    for count, state in enumerate(jobs.State, 1):
      generation = self._file.announce(
          _ANNOUNCED.job, 1, 0, 90 + count, state, "reason")
      self.assertEqual(_ANNOUNCED.generation + count, generation)
      self.assertEqual(
          _ANNOUNCED._replace(
              generation=generation, max_steps=90 + count, state=state,
              reason="reason", written=self._now), self._file.read())

  def test_announce_another_job(self):
    self._file.write(_ANNOUNCED)
    generation = self._file.announce("another", 2, 1, None)
    self.assertEqual(_ANNOUNCED.generation + 1, generation)
    self.assertEqual(
        jobs.JobState("another", generation, 0, (), 2, 1, "", None,
                            written=self._now), self._file.read())

  def test_announce_the_first(self):
    self.assertEqual(1, self._file.announce("job", 2, 1, None))
    self.assertEqual(1, self._file.read().generation)


def _written(state="over", age=100., job="job"):
  """Returns what was written some seconds before this task started."""
  return jobs.JobState(
      job, 3, 0, ("a",), 2, 1, "RoundRobinStrategy", None,
      jobs.State(state), "It is.", _STARTED - age)


class StateTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("no_file", None, _UNIQUE, True, 99, "training"),
      ("other_job", _written(job="other"), _UNIQUE, True, 99, "training"),
      ("shared_other_job", _written(job="other"), _SHARED, True, 99,
       "training"),
      ("unknown", _written(job="other"), _UNKNOWN, True, 0, "over"),
      ("unknown_of_before", _written(job="other"), _UNKNOWN, False, 29,
       "training"),
      ("training", _written("training"), _UNIQUE, True, 99, "training"),
      ("training_of_before", _written("training"), _SHARED, False, 99,
       "training"),
      ("new", _written(), _SHARED, True, 0, "over"),
      ("written_since", _written(age=-1), _SHARED, False, 0, "over"),
      ("written_at_the_start", _written(age=0), _SHARED, False, 0, "over"),
      ("late", _written(age=99999), _UNIQUE, False, 0, "over"),
      ("shared_at_first", _written(), _SHARED, False, 29, "training"),
      ("shared_after_patience", _written(), _SHARED, False, 30, "over"),
      ("shared_just_young", _written(age=600), _SHARED, False, 99, "over"),
      ("shared_old", _written(age=601), _SHARED, False, 99, "training"),
      ("stopped", _written("stopped"), _UNIQUE, True, 0, "stopped"),
      ("shared_stopped", _written("stopped", -1), _SHARED, False, 0,
       "stopped"),
      ("stopped_of_before", _written("stopped"), _UNIQUE, False, 99,
       "training"),
      ("shared_stopped_of_before", _written("stopped"), _SHARED, False, 99,
       "training"),
      ("followed", _written("training", job="job#2"), _SHARED, True, 0,
       "over"),
      ("followed_by_one_that_was_stopped", _written("stopped", job="job#3"),
       _SECOND, True, 0, "over"),
      ("started_again", _written("training", job="job#2"), _UNIQUE, False, 0,
       "over"),
      ("shared_followed_in_another_run", _written("training", job="job#2"),
       _SHARED, False, 99, "training"),
      ("shared_late_for_all", _written(job="job#2"), _SHARED, False, 30,
       "over"),
      ("end_of_the_job_before", _written(), _SECOND, True, 99, "training"),
      ("its_own", _written(job="job#2"), _SECOND, False, 0, "over"),
      ("other_second_job", _written(job="other#2"), _UNIQUE, True, 99,
       "training"),
      ("unknown_second_job", _written(job="other"),
       jobs.JobId("", False, 2), True, 99, "training"))
  def test_state(self, job_state, job, is_new, secs, expected):
    self.assertEqual(expected, jobs.state(
        job_state, job, is_new, _STARTED, _STARTED + secs).value)


class JobWatchTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = _STARTED
    self.enter_context(mock.patch.object(
        jobs, "time", mock.Mock(time=lambda: self._now)))

  def _states(self, job, read):
    """Returns the states after job states, of which one is read each second."""
    job_watch = jobs.JobWatch(job)
    states = []
    for job_state in read:
      states.append(job_watch.after(job_state).value)
      self._now += 1
    return states

  @parameterized.parameters(_UNIQUE, _SHARED)
  def test_first_run(self, *job):
    self.assertEqual(
        ["training", "training", "over"],
        self._states(jobs.JobId(*job), [
            None, _written("training", -1), _written("over", -2)]))

  def test_second_run_with_the_same_addresses(self):
    old = _written(age=60)
    self.assertEqual(
        ["training"] * 3 + ["over"],
        self._states(_SHARED, [old, old, _written("training", -2),
                               _written(age=-3)]))

  def test_clock_of_the_chief_is_late(self):
    # It says that it was written before this task started.
    self.assertEqual(
        ["training", "over"],
        self._states(_SHARED, [None, _written(age=3000)]))

  def test_resumed_after_a_stop(self):
    stopped = _written("stopped", 5)
    self.assertEqual(
        ["training", "training", "stopped"],
        self._states(_UNIQUE, [
            stopped, _written("training", -1), _written("stopped", -2)]))

  def test_second_job(self):
    # An earlier run left a file in the second folder. The chief evaluates.
    self._now, answers = _STARTED + 60., [True]
    job_watch = jobs.JobWatch(_SHARED_SECOND, _STARTED, lambda: answers[0])
    old = _written(job="job#2")
    self.assertEqual("training", job_watch.after(old).value)
    self._now += 99
    self.assertEqual("training", job_watch.after(old).value)
    answers[0] = False
    self.assertEqual("over", job_watch.after(old).value)

  def test_second_job_that_was_over_at_once(self):
    # This process came late, but has followed the run before.
    self._now += 60.
    job_watch = jobs.JobWatch(_SHARED_SECOND, _STARTED)
    self.assertEqual("over", job_watch.after(_written(
        age=-50, job="job#2")).value)

  def test_a_board_says_that_it_is_over(self):
    job_watch = jobs.JobWatch(_SHARED)
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
    self.assertEqual(("mine", True, 1), jobs.job_id(
        config, dict(environ, ADANET_JOB_ID="mine")))

  def test_addresses_stand_for_it(self):
    ids = {jobs.job_id(*self._config(job, index)) for job, index in (
        ("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0),
        ("evaluator", 0))}
    # A cluster may name its evaluator, and its indices.
    ids.add(jobs.job_id(*self._config(
        "evaluator", cluster=dict(_CLUSTER, evaluator=["e:1"]))))
    ids.add(jobs.job_id(*self._config("chief", cluster=dict(
        _CLUSTER, worker={"1": "c:1", "0": "b:1"}))))
    self.assertLen(ids, 1)
    job_id = ids.pop()
    self.assertNotEqual("", job_id.text)
    self.assertFalse(job_id.is_unique)
    other = jobs.job_id(*self._config(
        "chief", cluster=dict(_CLUSTER, ps=["d:2"])))
    self.assertNotEqual(job_id.text, other.text)

  def test_is_unknown_without_addresses(self):
    self.assertEqual(("", False, 1), jobs.job_id(
        tf_compat.RunConfig(), {"ADANET_JOB_ID": "", "TF_CONFIG": ""}))

  def test_counts_the_trainings_of_a_process(self):
    config, environ = self._config(
        "worker", cluster=dict(_CLUSTER, ps=["counted:1"]))
    with mock.patch.dict("os.environ", environ):
      def enter(error=None):
        with jobs.as_job(config), jobs.as_job(config):
          number = jobs.job_id(config).number
          if error:
            raise error
          return number

      self.assertEqual([1, 2], [enter(), enter()])
      for error in (ValueError, SystemExit):
        with self.assertRaises(error):
          enter(error)
      self.assertEqual(3, enter())  # The chief waits for another try.
      self.assertEqual(4, jobs.job_id(config).number)
    other, environ = self._config("worker")
    self.assertEqual(1, jobs.job_id(other, environ).number)
    # Without a cluster, TF_CONFIG may be for other trainings.
    local = tf_compat.RunConfig()
    with jobs.as_job(local), jobs.as_job(local):
      self.assertEqual(1, jobs.job_id(local, {}).number)
    self.assertEqual(1, jobs.job_id(local, {}).number)


if __name__ == "__main__":
  absltest.main()
