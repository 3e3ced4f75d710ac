# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the results that all tasks of a job get."""

import json
import math
import os
import threading

from absl.testing import absltest
from absl.testing import parameterized
from adanet import waiting
from adanet.core import metrics
from adanet.engines.cluster import jobs
from adanet.engines.cluster import results
from adanet.tf_compat import files
import numpy as np

_JOB = jobs.JobId("job", True)
_SHARED = jobs.JobId("job", False)
_RESULTS = {"loss": np.float32(.1), "global_step": np.int64(2**60)}, [b"/path"]


def _there_and_back(value):
  return results.from_json(json.loads(json.dumps(results.to_json(value))))


class JsonTest(parameterized.TestCase):

  @parameterized.parameters(
      (None,), (True,), (7,), (.5,), ("text",), (b"\0bytes\xff\0",),
      ([None, [1, b"a"]],), ({"a": {"bytes": "b", "array": [1]}},))
  def test_plain(self, value):
    self.assertEqual(value, _there_and_back(value))

  @parameterized.parameters(
      np.float32(.1), np.int64(2**60), np.bool_(True), np.float16(1.5),
      np.complex64(1 + 2j))
  def test_number_of_numpy(self, value):
    actual = _there_and_back(value)
    self.assertEqual((value, value.dtype), (actual, actual.dtype))

  def test_array(self):
    actual = _there_and_back(np.arange(6, dtype=np.int32).reshape(2, 3))
    np.testing.assert_array_equal([[0, 1, 2], [3, 4, 5]], actual)
    actual[0, 0] = 7  # It may be written to.
    self.assertEqual(
        [[b"a", b"b"]], _there_and_back(np.array([[b"a", b"b"]], object)))
    self.assertTrue(math.isnan(_there_and_back(float("nan"))))

  def test_metrics(self):
    actual = _there_and_back(metrics.MetricValues(
        {"loss": .5, "auc": [1.]}, {"more": b"bytes"}))
    self.assertEqual({"loss": .5, "auc": [1.]}, actual)
    self.assertEqual(b"bytes", actual["more"])

  def test_something_else(self):
    with self.assertLogs(level="WARNING") as logs:
      self.assertEqual([None], _there_and_back([object()]))
    self.assertIn("which is not JSON: <object",
                  logs.output[0])


class ResultsFileTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._save("model.ckpt-5")

  def _save(self, name):
    """Makes a checkpoint the latest one."""
    for path, text in ((name + ".index", ""), (
        "checkpoint", f'model_checkpoint_path: "{name}"')):
      files.write_text(os.path.join(self._model_dir, path), text)

  def _file(self, job=_JOB, timeout_secs=60.):
    return results.ResultsFile(self._model_dir, job, timeout_secs)

  def _write(self, job=_JOB, name="model.ckpt-5"):
    self._file(job).write("chief", name and "/elsewhere/" + name, _RESULTS)

  def test_who_evaluates(self):
    self.assertIsNone(self._file().by)
    self._file().begin("evaluator")
    self.assertEqual("evaluator", self._file().by)
    self.assertIsNone(self._file().read())
    self.assertIsNone(self._file(jobs.JobId("other", True)).by)

  def test_results(self):
    self._write()
    self.assertEqual(_RESULTS, self._file().read())
    self.assertEqual("chief", self._file().by)
    self.assertIsNone(self._file(jobs.JobId("other", True)).read())

  def test_results_of_an_earlier_checkpoint(self):
    self._write()
    self._save("model.ckpt-6")
    self.assertIsNone(self._file().read())

  def test_results_of_an_earlier_training(self):
    self._write()
    self._save("model.ckpt-6")
    file = jobs.JobStateFile(self._model_dir)
    second = jobs.JobId("job", True, 2)
    file.announce(second.text, 2, 1, None)
    self._file(second).begin("chief")
    self.assertEqual(_RESULTS, self._file().read())
    self.assertIsNone(self._file(second).read())

  def test_chief_begins_again(self):
    self._write()
    self._file().begin("chief")
    self.assertIsNotNone(self._file().read())
    self._file().begin("evaluator")
    self.assertIsNone(self._file().read())
    # Of a job with the same addresses it may be another run.
    self._write(_SHARED)
    self._file(_SHARED).begin("chief")
    self.assertIsNone(self._file(_SHARED).read())

  def test_something_else_in_the_file(self):
    for text in ("", "{", "[]", '{"job": "job"}', '{"job": "job", "new": 1}'):
      files.write_text(
          os.path.join(self._model_dir, "cluster", "results.json"), text)
      self.assertIsNone(self._file().by)

  def test_awaited(self):
    awaited = self._file().awaited()  # It does not wait yet.
    timer = threading.Timer(.5, self._write)
    timer.start()
    self.addCleanup(timer.cancel)
    metrics, exports = awaited
    self.assertEqual(_RESULTS, (metrics, exports))
    self.assertEqual(_RESULTS, (awaited[0], awaited[1]))

  def test_wait_has_an_end(self):
    self._file().begin("evaluator")
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError, "waited 0.1 s for the evaluator to evaluate "
                                  f"the last checkpoint in {self._model_dir}: "
                                  "start it, or see"):
      _, _ = self._file(timeout_secs=.1).awaited()


if __name__ == "__main__":
  absltest.main()
