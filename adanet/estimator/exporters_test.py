# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the exporters for an `adanet.EvalSpec`."""

import os
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import event_files
from adanet.estimator import exporters


def _receiver_fn():
  raise AssertionError("called too early")


class _FakeEstimator:
  """Makes a folder for each export, named as time goes."""

  def __init__(self, model_dir):
    self.model_dir = model_dir
    self.config = types.SimpleNamespace(cluster_spec=None)
    self.calls = []

  def export_saved_model(self, export_dir_base, serving_input_receiver_fn,
                         **kwargs):
    assert serving_input_receiver_fn is _receiver_fn
    self.calls.append(kwargs)
    path = os.path.join(export_dir_base, f"{1700000000 + len(self.calls):010d}")
    os.makedirs(path)
    return path.encode()


class ExportersTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._estimator = _FakeEstimator(self._model_dir)
    self._path = os.path.join(self._model_dir, "export", "mine")

  def _export(self, exporter, loss=1., step=1, is_final=False):
    """Returns whether an evaluated checkpoint was exported."""
    writer = event_files.SummaryWriter(self._model_dir)
    writer.add_scalars("eval", {"loss": loss}, step)
    writer.close()
    return exporter.export(
        self._estimator, self._path, f"ckpt-{step}",
        {"loss": loss, "global_step": step}, is_final) is not None

  def test_final(self):
    exporter = exporters.FinalExporter("mine", _receiver_fn, {"a": "b"}, True)
    self.assertEqual("mine", exporter.name)
    self.assertFalse(self._export(exporter))
    self.assertTrue(self._export(exporter, step=2, is_final=True))
    self.assertEqual([dict(assets_extra={"a": "b"}, as_text=True,
                           checkpoint_path="ckpt-2")], self._estimator.calls)

  @parameterized.parameters((2, [3, 4]), (9, [1, 2, 3, 4]),
                            (None, [1, 2, 3, 4]))
  def test_latest(self, exports_to_keep, expected):
    exporter = exporters.LatestExporter(
        "mine", _receiver_fn, exports_to_keep=exports_to_keep)
    os.makedirs(os.path.join(self._path, "of_a_user"))
    for step in range(4):
      self.assertTrue(self._export(exporter, step=step))
    self.assertCountEqual(
        ["of_a_user"] + [str(1700000000 + i) for i in expected],
        os.listdir(self._path))

  def _best(self, **kwargs):
    return exporters.BestExporter("mine", _receiver_fn, **kwargs)

  @parameterized.parameters(
      ([3., 2., 2., 4., 1.], [True, True, False, False, True]),
      ([3., float("nan"), 2.], [True, False, True]),
      ([float("nan"), float("nan"), 2., 1.], [True, False, True, True]))
  def test_best(self, losses, expected):
    exporter = self._best()
    self.assertEqual(expected, [
        self._export(exporter, loss, step)
        for step, loss in enumerate(losses)])

  def test_best_of_a_users_rule(self):

    def larger(best_eval_result, current_eval_result):
      return current_eval_result["loss"] > best_eval_result["loss"]

    exporter = self._best(compare_fn=larger, exports_to_keep=1)
    self.assertEqual([True, False, True], [
        self._export(exporter, loss, step)
        for step, loss in enumerate([2., 1., 3.])])
    self.assertLen(os.listdir(self._path), 1)

  @parameterized.parameters(
      ("eval/*.tfevents.*", [2., 2.5, .5], [False, False, True]),
      ("eval/*.tfevents.*", [.5, .75], [True, False]),
      (None, [2., 2.5, .5], [True, False, True]))
  def test_best_after_a_restart(self, pattern, losses, expected):
    exporter = self._best(event_file_pattern=pattern)
    for step, loss in enumerate([3., 1.]):
      self._export(exporter, loss, step)
    exporter = self._best(event_file_pattern=pattern)
    self.assertEqual(expected, [
        self._export(exporter, loss, 2 + step)
        for step, loss in enumerate(losses)])

  @parameterized.parameters(
      ("eval/*.tfevents.*", None, False), ("eval_a/*.tfevents.*", None, True),
      (None, None, False), (None, {"chief": ["a:1"]}, True))
  def test_warns_if_the_best_is_not_known(self, pattern, cluster, warns):
    self._export(self._best(), 1., 0)
    self._estimator.config.cluster_spec = cluster
    with mock.patch.object(exporters.logging, "warning") as warning:
      self.assertEqual(pattern != "eval/*.tfevents.*", self._export(
          self._best(event_file_pattern=pattern), 2., 1))
    self.assertEqual(warns, warning.called)

  def test_best_of_another_search(self):
    exporter = self._best()
    self._export(exporter, 1., 0)
    self._estimator = _FakeEstimator(self.create_tempdir().full_path)
    self._path += "2"
    self.assertTrue(self._export(exporter, 2., 1))

  def test_new_exporter_of_an_old_search(self):
    self._export(self._best(), 1., 0)
    self._path += "2"  # It has no export yet, so the first one is the best.
    self.assertTrue(self._export(self._best(), 2., 1))

  @parameterized.parameters(
      (lambda: exporters.FinalExporter("", _receiver_fn), "name must be.* ''"),
      (lambda: exporters.FinalExporter("a", None),
       "serving_input_receiver_fn must be a function"),
      (exporters.BestExporter, "serving_input_receiver_fn.*, got None"),
      (lambda: exporters.LatestExporter("a", _receiver_fn, exports_to_keep=0),
       "exports_to_keep=0: expected an integer of at least 1, or None"),
      (lambda: exporters.BestExporter("a", _receiver_fn, compare_fn=None),
       "compare_fn must be a function .*, got None"))
  def test_bad_arguments(self, call, message):
    with self.assertRaisesRegex(ValueError, message) as caught:
      call()
    self.assertNotIn("\n", str(caught.exception))

  def test_exporter_of_a_user(self):
    self.assertRaises(TypeError, exporters.Exporter)

    class Mine(exporters.Exporter):
      name = "mine"

      def export(self, estimator, export_path, checkpoint_path, eval_result,
                 is_the_final_export):
        return export_path

    self.assertTrue(self._export(Mine()))


if __name__ == "__main__":
  absltest.main()
