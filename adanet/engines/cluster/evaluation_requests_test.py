# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the question that the chief asks all workers."""

import math
import os

from absl.testing import absltest
from adanet.engines.cluster import evaluation_requests
from adanet.tf_compat import files

_QUESTION = evaluation_requests.EvaluationRequest(
    "1", "job", 3, 0, evaluation_requests.Kind.VALUES, "model.ckpt-7", 5, ("a",),
    {"chief:0": ("a",), "worker:10": ("b", "c")})
_TASK = "worker:10"


class QuestionsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._chief = evaluation_requests.EvaluationRequests(self._model_dir)
    self._worker = evaluation_requests.EvaluationRequests(self._model_dir)

  def _files(self):
    return [file for _, _, found in os.walk(self._model_dir) for file in found]

  def test_question_and_answer(self):
    self.assertIsNone(self._worker.read())
    self._chief.ask(_QUESTION)
    self.assertEqual(_QUESTION, self._worker.read())
    self.assertIsNone(self._chief.answer(_QUESTION, _TASK))
    begun = evaluation_requests.Answer(is_done=False)
    self._worker.write(_QUESTION, _TASK, begun)
    self.assertEqual(begun, self._chief.answer(_QUESTION, _TASK))
    self.assertIsNone(self._chief.answer(_QUESTION, "worker:1"))
    content = {"b": .1, "c": math.inf}
    self._worker.write(_QUESTION, _TASK, evaluation_requests.Answer(content))
    self.assertEqual(evaluation_requests.Answer(content),
                     self._chief.answer(_QUESTION, _TASK))
    self.assertIsNone(self._chief.answer(_QUESTION, "worker:1"))
    self._chief.clear()
    self.assertIsNone(self._worker.read())
    self.assertIsNone(self._chief.answer(_QUESTION, _TASK))
    self.assertEqual(["question.json"], self._files())
    for _ in range(2):
      self._chief.remove()
      self.assertEmpty(self._files())

  def test_error(self):
    self._chief.ask(_QUESTION)
    answer = evaluation_requests.Answer(error="It fails.")
    self._worker.write(_QUESTION, _TASK, answer)
    self.assertEqual(answer, self._chief.answer(_QUESTION, _TASK))

  def test_nothing_is_written_to_a_question_that_is_gone(self):
    self._chief.ask(_QUESTION)
    for end in (self._chief.clear,
                lambda: self._chief.ask(_QUESTION._replace(id="2"))):
      end()
      count = len(self._files())
      self.assertFalse(self._worker.is_asked(_QUESTION))
      self._worker.write(_QUESTION, _TASK, evaluation_requests.Answer({}))
      self.assertLen(self._files(), count)
      self.assertIsNone(self._chief.answer(_QUESTION, _TASK))

  def test_answer_to_another_question(self):
    self._chief.ask(_QUESTION)
    self._worker.write(_QUESTION, _TASK, evaluation_requests.Answer({"b": 1.}))
    other = _QUESTION._replace(id="2", kind=evaluation_requests.Kind.REPORTS)
    self.assertIsNone(self._chief.answer(other, _TASK))
    self._chief.ask(other)
    self.assertIsNone(self._chief.answer(_QUESTION, _TASK))
    self.assertIsNone(self._chief.answer(other, _TASK))

  def test_all_files_are_there_when_it_is_asked(self):
    self._chief.clear()
    before = self._files()
    self._chief.ask(_QUESTION)
    asked = self._files()
    self.assertContainsSubset(before, asked)
    self._worker.write(_QUESTION, _TASK, evaluation_requests.Answer(is_done=False))
    self._worker.write(_QUESTION, _TASK, evaluation_requests.Answer({}))
    self.assertEqual(asked, self._files())

  def test_what_cannot_be_read(self):
    self._chief.ask(_QUESTION)
    folder = os.path.join(self._model_dir, "cluster")
    files.write_text(os.path.join(folder, "answers", "1", "worker-10.json"),
                     '{"content": ')
    self.assertStartsWith(self._chief.answer(_QUESTION, _TASK).error,
                          "its answer cannot be read: not JSON")
    files.write_text(os.path.join(folder, "question.json"), '{"id": "1"}')
    self.assertIsNone(self._worker.read())


if __name__ == "__main__":
  absltest.main()
