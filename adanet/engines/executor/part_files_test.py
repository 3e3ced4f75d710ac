# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files of parts, and of what their results say together."""

import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import events
from adanet.engines.executor import part_files
from adanet.testing import parts
from adanet.tf_compat import files as tf_files
from adanet.training import candidates
from adanet.training import ending as ending_lib

_Ending = ending_lib.Ending
_PART = ("a", "b")


class PartFilesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._files = part_files.PartFiles(self._model_dir, 0)

  def _listed(self):
    """Returns all files and empty folders, but for the ids in names."""
    return sorted(
        os.path.relpath(os.path.join(folder, name), self._model_dir)
        for folder, folders, names in os.walk(self._model_dir)
        for name in names + ([""] if not names + folders else []))

  @parameterized.parameters(
      (_Ending.ITERATION_OVER, 5, None, True),
      (_Ending.INPUT_ENDED, 5, None, True),
      (_Ending.MAX_STEPS, 5, 5, True),
      (_Ending.MAX_STEPS, 2, 3, False),
      (_Ending.MAX_STEPS, 2, None, False),
      (_Ending.TIME_IS_UP, None, None, False),
      (_Ending.STOP_ASKED, None, None, False))
  def test_result(self, ending, trained_to, max_steps, is_for_next):
    first = self._files.begin(None, b"", {"evaluator": "mean"})
    self.assertIsNone(self._files.result(_PART, first, max_steps))
    result = parts.result(first, ending, max_steps=trained_to)
    self._files.write_result(_PART, result)
    self.assertEqual(result, self._files.result(_PART, first, max_steps))
    for _ in range(2):
      following = self._files.begin(None, b"", {"evaluator": "mean"})
      self.assertEqual(result if is_for_next else None,
                       self._files.result(_PART, following, max_steps))
    self.assertIsNone(self._files.result(("a",), first, max_steps))

  def test_result_of_another_search(self):
    first = self._files.begin(None, b"", {"evaluator": "mean"})
    attempt = self._files.new_attempt(_PART)
    self._files.write_result(_PART, parts.result(first))
    second = self._files.begin(None, b"", {"evaluator": "median"})
    self.assertIsNone(self._files.result(_PART, second, None))
    self.assertEqual([attempt], self._files.attempts(_PART))
    # A worker of the first one has not seen yet that there is another.
    result = parts.result(second)
    self._files.write_result(_PART, result)
    self.assertEqual(result, self._files.result(_PART, first, None))
    third = self._files.begin(None, b"", {"evaluator": "mean"})
    self.assertIsNone(self._files.result(_PART, third, None))

  @parameterized.parameters("stop", "search-1", "start.json")
  def test_builder_with_the_name_of_a_file(self, name):
    driver = self._files.begin(None, b"search", {"evaluator": "mean"})
    self._files.write_result((name,), parts.result(driver))
    self.assertTrue(self._files.is_wanted(driver))
    self.assertEqual([(name,)], self._files.begun([(name,), ("a",)]))
    again = self._files.begin(None, b"search", {"evaluator": "mean"})
    self.assertIsNotNone(self._files.result((name,), again, None))

  def test_what_cannot_be_read_is_not_there(self):
    self._files.write_result(_PART, parts.result())
    self._files.write_progress(_PART, events.Progress(0, 1, {}, {}))
    self._files.write_graphs(_PART, "driver", {})
    self._files.begin(None, b"", {"evaluator": "mean"})
    for path in self._listed():
      os.truncate(os.path.join(self._model_dir, path), 1)
    self.assertIsNone(self._files.result(_PART, "driver", None))
    self.assertIsNone(self._files.progress(_PART))
    self.assertIsNone(self._files.graphs(_PART, "driver"))
    self.assertIsNone(self._files.driver())

  def test_graphs_of_a_driver(self):
    self._files.write_graphs(_PART, "old", {"t0_a": {"Relu": 1}})
    self.assertEqual({"t0_a": {"Relu": 1}}, self._files.graphs(_PART, "old"))
    self.assertIsNone(self._files.graphs(_PART, "new"))

  @parameterized.parameters(
      (None, "x/model.ckpt-4", False), ("x/model.ckpt-4", None, False),
      (None, None, True), ("x/model.ckpt-4", "moved/model.ckpt-4", True))
  def test_driver_after_another(self, first, second, is_kept):
    old = self._files.begin(first, b"old", {"evaluator": "mean"})
    self._files.write_result(_PART, parts.result(old))
    part_files.PartFiles(self._model_dir, 7).new_attempt(_PART)
    self._files.ask_to_stop()
    self.assertEqual((True, False), (
        self._files.driver() == old, self._files.is_wanted(old)))
    new = self._files.begin(second, b"new", {"evaluator": "mean"})
    self.assertEqual((True, False), (
        self._files.is_wanted(new), self._files.is_wanted(old)))
    self.assertEqual(b"new", self._files.search(new))
    with self.assertRaises(tf_compat.v1.errors.NotFoundError):
      self._files.search(old)
    self.assertEqual(is_kept, self._files.result(_PART, new, None) is not None)
    self.assertEqual(is_kept, os.path.exists(
        os.path.join(self._model_dir, "parts", "7")))

  def test_newest_checkpoint(self):
    self.assertIsNone(self._files.newest_checkpoint(_PART))
    v1 = tf_compat.v1
    paths = {}
    with v1.Graph().as_default(), v1.Session() as session:
      step = v1.train.create_global_step()
      v1.get_variable("z", [9], initializer=v1.zeros_initializer())
      session.run(v1.global_variables_initializer())
      for number in (3, 9, 6):
        step.load(number, session)
        paths[number] = v1.train.Saver().save(session, os.path.join(
            self._files.new_attempt(_PART), "model.ckpt"), number)
    self.assertEqual(paths[9], self._files.newest_checkpoint(_PART))
    # That worker died while it saved.
    os.truncate(paths[9] + ".data-00000-of-00001", 40)
    self.assertEqual(paths[6], self._files.newest_checkpoint(_PART))
    self.assertLen(self._files.attempts(_PART), 3)
    self.assertEmpty(self._files.attempts(("a",)))

  def test_attempt_that_is_not_needed_any_more(self):
    self._files.begin(None, b"", {"evaluator": "mean"})
    attempt = self._files.new_attempt(_PART)
    self._files.remove_attempt(attempt)  # It is: it has the checkpoints.
    self.assertEqual([attempt], self._files.attempts(_PART))
    self._files.remove()
    tf_files.write_text(os.path.join(attempt, "late"), "")
    self._files.remove_attempt(attempt)
    self.assertEqual(["."], self._listed())

  def test_names(self):
    self.assertEqual("a", part_files.part_name(("a",)))
    self.assertEqual("a+2", part_files.part_name(("a", "b", "c")))
    attempt = self._files.new_attempt(("a", "b"))
    self.assertEqual(part_files.worker_name(), part_files.worker_of(attempt))
    self.assertEqual(attempt, self._files.absolute(
        self._files.relative(attempt)))
    self.assertEqual("a+1", os.path.basename(os.path.dirname(attempt)))
    self.assertEqual("a%2Fb", os.path.basename(os.path.dirname(
        self._files.new_attempt(("a/b",)))))


def _result(**values):
  return parts.result("driver", **values)


def _of_two(a, b, **values):
  """Returns the results of two parts, each with its step."""
  return {("a",): _result(steps={"t0_a": a}, **values),
          ("b",): _result(steps={"t0_b": b}, **values)}


class ResultsTest(parameterized.TestCase):

  @parameterized.parameters((4, 9, 2.), (9, 4, 1.), (4, 4, 1.))
  def test_previous_ensemble_is_that_of_the_longest_part(self, a, b, expected):
    results = _of_two(a, b)
    results = {
        ("a",): results["a",]._replace(losses={"t0_a": 5., "previous": 1.}),
        ("b",): results["b",]._replace(losses={"t0_b": 6., "previous": 2.})}
    self.assertEqual(
        [("t0_a", 5.), ("previous", expected), ("t0_b", 6.)],
        list(part_files.of_first(
            results, lambda result: result.losses).items()))

  @parameterized.parameters((.5, .5, True), (.5, .6, False), (.5, None, True))
  def test_may_be_compared(self, a, b, expected):
    self.assertEqual(expected, part_files.may_be_compared({
        (name,): _result(compared=candidates.Comparison({}, "loss", data))
        for name, data in (("a", a), ("b", b))}))

  def test_shared_variables(self):
    results = _of_two(1, 1, shareable=("embedding",))
    with self.assertRaisesRegex(
        ValueError, "^iteration 2: the builders 'a', 'b' share the variable "
        "'embedding', and on an executor each trains its own copy: .*$"):
      part_files.check_nothing_is_shared(
          2, results, lambda result, _: [1., float("t0_a" in result.steps)])
    # All have the same value: nobody has trained it.
    part_files.check_nothing_is_shared(2, results, lambda *_: [1., 2.])
    results["b",] = results["b",]._replace(shareable=("other",))
    part_files.check_nothing_is_shared(2, results, lambda result, _: result)


if __name__ == "__main__":
  absltest.main()
