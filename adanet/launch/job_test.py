# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a job: its tasks, their TF_CONFIG and command, and their ends."""

import json
import os
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import job as job_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_CHIEF = job_lib.Task("chief", 0)
_WORKER = job_lib.Task("worker", 0)
_PS = job_lib.Task("ps", 0)
_EVALUATOR = job_lib.Task("evaluator", 0)
_TASKS = (_CHIEF, _WORKER, _PS, _EVALUATOR)
_RETURNCODES = (0, 1, 130, 143, -9, -15)


def _supervision(max_restarts=3, joined=_TASKS):
  decides = job_lib.Supervision(_TASKS, max_restarts)
  for task in joined:
    decides.joined(task, "/m")
  return decides


class JobTest(parameterized.TestCase):

  @parameterized.parameters(
      (0, 0, False, ["chief:0"]),
      (0, 0, True, ["chief:0", "evaluator:0"]),
      (2, 1, False, ["chief:0", "worker:0", "worker:1", "ps:0"]),
      (1, 2, True, ["chief:0", "worker:0", "ps:0", "ps:1", "evaluator:0"]))
  def test_tasks(self, num_workers, num_ps, has_evaluator, names):
    addresses = ["h:%d" % i for i in range(1 + num_workers + num_ps)]
    job = job_lib.make_job(num_workers, num_ps, has_evaluator, addresses)
    self.assertEqual(names, [task.name for task in job.tasks()])
    self.assertEqual(
        job.tasks(), job_lib.make_tasks(num_workers, num_ps, has_evaluator))
    in_order = []
    for task in job.tasks():
      config = json.loads(job.tf_config(task))
      self.assertEqual({"type": task.job, "index": task.index}, config["task"])
      self.assertNotIn("evaluator", config["cluster"])
      self.assertNotIn("model_dir", config)
      in_order.extend(config["cluster"].get(task.job, [])[task.index:][:1])
    self.assertEqual(addresses, in_order)


class CommandTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.create_tempdir().full_path)
    for name, mode in (("train.py", 0o644), ("run", 0o755), ("data", 0o644)):
      with open(name, "w"):
        pass
      os.chmod(name, mode)

  @parameterized.parameters(
      (["train.py", "--a", "b"], False, [sys.executable, "train.py", "--a",
                                         "b"]),
      (["./train.py"], False, [sys.executable, "./train.py"]),
      (["a.train", "-m"], True, [sys.executable, "-m", "a.train", "-m"]))
  def test_python(self, words, is_module, command):
    self.assertEqual(command, job_lib.command(words, is_module))

  def test_executable(self):
    self.assertEqual([os.path.join(os.getcwd(), "run"), "a"],
                     job_lib.command(["run", "a"], False))

  @parameterized.parameters(
      ("no.py", r"no\.py: expected a file, such as train\.py\."),
      ("train", r"train: expected a file.*-m is for Python modules"),
      ("/", "/: expected a file"),
      ("data", r"data: expected \*\.py, or .* \(chmod \+x\)"))
  def test_bad(self, name, message):
    with self.assertRaisesRegex(ValueError, message):
      job_lib.command([name], False)


class ModelDirTest(parameterized.TestCase):

  def test_model_dir(self):
    self.assertEqual('{"a": 1}', job_lib.with_model_dir('{"a": 1}', None))
    self.assertEqual(
        {"a": 1, "model_dir": "/m"},
        json.loads(job_lib.with_model_dir('{"a": 1, "model_dir": "x"}', "/m")))

  @parameterized.parameters("", "{", "[]", "null")
  def test_bad(self, value):
    with self.assertRaisesRegex(ValueError,
                                "TF_CONFIG: expected a JSON object"):
      job_lib.with_model_dir(value, None)


class SupervisionTest(parameterized.TestCase):

  def test_all_done(self):
    decides = _supervision()
    for task in _TASKS:
      self.assertFalse(decides.is_over)
      self.assertEqual(job_lib.Decision(), decides.ended(task, 0))
    self.assertTrue(decides.is_over)
    self.assertEqual((0, []), (decides.status, decides.failures))

  @parameterized.parameters((_CHIEF,), (_WORKER,), (_PS,))
  def test_task_that_takes_no_part(self, task):
    decides = _supervision(joined=[t for t in _TASKS if t != task])
    self.assertTrue(decides.ended(task, 0).ends_job)
    self.assertEqual((1, []), (decides.status, decides.failures))
    self.assertEqual(
        task.name + " ended with exit status 0, but took no part in the job: "
        "it never called adanet.train_and_evaluate or adanet.Estimator.train.",
        decides.problem)
    self.assertNotIn(task, decides.unfinished)

  @parameterized.parameters((_WORKER,), (_EVALUATOR,))
  def test_task_that_need_not_take_part(self, task):
    decides = _supervision(joined=[_CHIEF])
    if task == _WORKER:
      decides.ended(_CHIEF, 0)  # Training was over before it could.
    decides.ended(task, 0)
    self.assertIsNone(decides.problem)

  def test_folders_of_their_own(self):
    decides = _supervision(joined=[_CHIEF, _PS])
    decides.joined(_EVALUATOR, "/n")
    self.assertTrue(decides.is_ending)
    self.assertEqual(1, decides.status)
    self.assertEqual(
        "chief:0 has the model_dir '/m', and evaluator:0 has '/n': all tasks "
        "must have the same. Leave it out of the RunConfig, and give "
        "--model_dir.", decides.problem)
    decides.joined(_WORKER, "/o")
    self.assertNotIn("/o", decides.problem)

  def test_another_folder_in_another_training(self):
    decides = _supervision()
    for task in _TASKS:
      decides.joined(task, "/n", 2)
    decides.joined(_PS, "/m")  # Started again.
    self.assertIsNone(decides.problem)
    decides.joined(_PS, "/m", 2)
    self.assertStartsWith(
        decides.problem, "chief:0 has the model_dir '/n', and ps:0 has '/m': ")

  # Whether the task has worked, how it ends, and whether the job goes on.
  @parameterized.parameters(
      (False, 1, False), (False, 143, False), (False, -9, True),
      (True, 1, True), (True, 143, True), (True, -11, True))
  def test_first_end(self, has_worked, returncode, goes_on):
    decides = _supervision()
    if has_worked:
      decides.works(_WORKER)
    decision = decides.ended(_WORKER, returncode)
    self.assertEqual(not goes_on, decision.ends_job)
    self.assertEqual(1. if goes_on else None, decision.restart_secs)
    self.assertEqual(goes_on, _WORKER in decides.unfinished)

  def test_delay_grows(self):
    decides = _supervision(8)
    decides.works(_PS)
    self.assertEqual(
        [1, 2, 4, 8, 16, 30, 30, 30, None],
        [decides.ended(_PS, 1).restart_secs for _ in range(9)])
    self.assertEqual(1, decides.status)
    self.assertEqual("exit status 1, after 8 restarts",
                     decides.failures[0].message())

  def test_each_task_has_its_restarts(self):
    decides = _supervision(1)
    for task in _TASKS:
      self.assertEqual(1, decides.ended(task, -9).restart_secs)

  def test_it_once_worked(self):
    # In its second life, its port may be in use, or the ps may be away.
    decides = _supervision()
    decides.works(_WORKER)
    decides.ended(_WORKER, -9)
    self.assertEqual(2, decides.ended(_WORKER, 1).restart_secs)

  @parameterized.parameters(130, 143)
  def test_chief_was_stopped(self, returncode):
    decides = _supervision()
    decides.ended(_WORKER, -9)
    self.assertTrue(decides.ended(_CHIEF, returncode).ends_job)
    decides.ended(_PS, 1)
    self.assertEqual((returncode, []), (decides.status, decides.failures))

  @parameterized.parameters(-15, 1)
  def test_chief_was_not_stopped(self, returncode):
    decides = _supervision()
    decides.works(_CHIEF)
    self.assertFalse(decides.ended(_CHIEF, returncode).ends_job)

  def test_nothing_starts_when_the_job_ends(self):
    decides = _supervision()
    decides.stop(130)
    for task in _TASKS:
      decides.works(task)
      self.assertEqual(job_lib.Decision(), decides.ended(task, -9))
    self.assertTrue(decides.is_over)
    self.assertEqual((130, []), (decides.status, decides.failures))

  def test_stop_while_the_chief_starts_again(self):
    for has_worked, works_again, awaits, has_unsaved in (
        (False, False, False, False), (True, False, True, True),
        (True, True, False, False)):
      decides = _supervision()
      if has_worked:
        decides.works(_CHIEF)
      decides.ended(_CHIEF, -9)
      if works_again:
        decides.works(_CHIEF)
      self.assertFalse(decides.awaits_chief)
      decides.stop(130)
      self.assertEqual(awaits, decides.awaits_chief)
      self.assertEqual(has_unsaved, decides.has_unsaved)
      for task in (_WORKER, _PS):
        decides.ended(task, 143)
        self.assertEqual(awaits, decides.awaits_chief)
      decides.stop(130)  # Ctrl-C, again.
      self.assertEqual(awaits, decides.awaits_chief)
      decides.ended(_CHIEF, -9)
      self.assertFalse(decides.awaits_chief)
      self.assertEqual(has_unsaved, decides.has_unsaved)

  def test_stop_before_the_chief_works_again(self):
    decides = _supervision()
    decides.works(_CHIEF)
    decides.ended(_CHIEF, -9)
    decides.stop(130)
    decides.works(_CHIEF)
    self.assertFalse(decides.awaits_chief)
    self.assertFalse(decides.has_unsaved)

  def test_after_training(self):
    decides = _supervision()
    decides.ended(_CHIEF, 0)
    self.assertTrue(decides.is_chief_done)
    decision = decides.ended(_WORKER, 1)
    self.assertEqual((False, None), decision[:2])
    self.assertEqual(
        "worker:0 failed when training was over: exit status 1, before it "
        "began to work.", decision.warning)
    for task in _EVALUATOR, _PS:
      self.assertIsNone(decides.ended(task, -9).restart_secs)
    self.assertTrue(decides.is_over)
    self.assertEqual(0, decides.status)

  def test_first_failure(self):
    decides = _supervision()
    for task in _PS, _WORKER, _PS:  # The second time, it keeps its place.
      decides.ended(task, -9)
    decides.ended(_CHIEF, 3)
    self.assertEqual([_PS, _WORKER, _CHIEF], [f.task for f in decides.failures])
    self.assertEqual(137, decides.status)

  def test_who_works_again_is_not_to_blame(self):
    decides = _supervision()
    decides.ended(_PS, -9)
    decides.ended(_WORKER, -11)
    decides.works(_PS)
    decides.ended(_CHIEF, 3)
    self.assertEqual([_WORKER, _CHIEF], [f.task for f in decides.failures])
    self.assertEqual(139, decides.status)

  def test_what_fell_with_it_is_not_among_the_failures(self):
    decides = _supervision()
    decides.ended(_CHIEF, 3)
    decides.ended(_WORKER, -15)
    decides.works(_CHIEF)
    self.assertEqual([_CHIEF], [f.task for f in decides.failures])

  @hypothesis.given(
      st.integers(0, 3),
      st.lists(st.tuples(st.sampled_from(_TASKS),
                         st.sampled_from(_RETURNCODES + ("works",)))))
  def test_any_history(self, max_restarts, history):
    decides = job_lib.Supervision(_TASKS, max_restarts)
    restarts = dict.fromkeys(_TASKS, 0)
    has_ended = False
    for task, what in history:
      if task not in decides.unfinished:
        continue
      if what == "works":
        decides.works(task)
        continue
      decision = decides.ended(task, what)
      restarts[task] += decision.restart_secs is not None
      if has_ended:
        self.assertEqual(job_lib.Decision(), decision)
      has_ended |= decision.ends_job
      self.assertEqual(has_ended, decides.is_ending)
      # It runs again, or is done.
      self.assertEqual(decision.restart_secs is not None,
                       task in decides.unfinished)
      if decides.failures:
        self.assertEqual(decides.failures[0].status, decides.status)
    self.assertLessEqual(max(restarts.values()), max_restarts)
    self.assertEqual(not decides.unfinished, decides.is_over)
    self.assertEqual(has_ended, decides.status != 0)
    for task in decides.unfinished:
      decides.ended(task, 0)
    self.assertTrue(decides.is_over)

  @parameterized.parameters(
      (1, "exit status 1", 1), (-9, "killed by signal 9 (SIGKILL)", 137),
      (-40, "killed by signal 40", 168))
  def test_text(self, returncode, text, status):
    self.assertEqual(text, job_lib.how_it_ended(returncode))
    self.assertEqual(status, job_lib.exit_status(returncode))


if __name__ == "__main__":
  absltest.main()
