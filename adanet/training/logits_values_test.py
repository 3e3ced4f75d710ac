# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of logits as values: several records as one, and arrays in files."""

import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet.training import logits_values
import numpy as np

_Batch = logits_values.RecordedBatch
_A, _B, _C = (0, "a"), (1, "b"), (1, "c")
_BATCHES = _Batch(2, "d0"), _Batch(2, "d1"), _Batch(1, "d2")
_FEATURES = "f0", "f1", "f2"


def _recording(*names, value=0., **attributes):
  """Returns a record of networks that all have one value as their logits."""
  return logits_values.RecordedLogits(**{
      "members": {name: ensemble.Member(np.float32([[value]]), value)
                  for name in names},
      "previous": None, "inputs": {}, "batches": _BATCHES, **attributes})


class MergedRecordsTest(parameterized.TestCase):

  def test_one(self):
    recording = _recording(_B, _A, inputs={("labels",): 1}, features=_FEATURES,
                           variables={_A: ("v",)}, graphs={"g": {"Add": 1}})
    self.assertEqual(recording, logits_values.merged([recording]))

  def test_order_is_that_of_the_records(self):
    self.assertEqual([_C, _A, _B], list(logits_values.merged(
        [_recording(_C, _A), _recording(_A, _B)]).members))

  def test_of_several_the_first_one_counts(self):
    got = logits_values.merged([
        _recording(_A, value=1., variables={_A: ("v1",)},
                   graphs={"g": {"Add": 1}}),
        _recording(_A, _B, value=2., variables={_A: ("v2",), _B: ("w",)},
                   graphs={"g": {"Add": 2}, "h": {}})])
    self.assertEqual({_A: 1., _B: 2.}, {
        name: member.complexity for name, member in got.members.items()})
    self.assertEqual({_A: ("v1",), _B: ("w",)}, got.variables)
    self.assertEqual({"g": {"Add": 1}, "h": {}}, got.graphs)

  @parameterized.parameters(
      ([{}, {"x": 1}], {"x": 1}), ([{"x": 1}, {}], {"x": 1}),
      ([{"x": 1}, {"x": 2}], {"x": 1}), ([{}, {}], {}))
  def test_inputs(self, inputs, expected):
    self.assertEqual(expected, logits_values.merged(
        [_recording(_A, inputs=one) for one in inputs]).inputs)

  @parameterized.parameters(
      ([None, 1.], 1.), ([1., None], 1.), ([1., 2.], 1.), ([None, None], None))
  def test_previous(self, previous, expected):
    self.assertEqual(expected, logits_values.merged(
        [_recording(_A, previous=one) for one in previous]).previous)

  def test_does_not_change_what_is_given(self):
    first, second = _recording(_A, variables={_A: ("v",)}), _recording(
        _B, variables={_B: ("w",)})
    logits_values.merged([first, second])
    self.assertEqual([_A], list(first.members))
    self.assertEqual({_A: ("v",)}, first.variables)
    self.assertEqual({_B: ("w",)}, second.variables)

  def test_features_that_only_one_has(self):
    self.assertEqual(_FEATURES, logits_values.merged(
        [_recording(_A, features=_FEATURES), _recording(_B)]).features)

  @parameterized.named_parameters(
      ("labels", {"batches": (_BATCHES[0], _Batch(2, "e"), _BATCHES[2])}, 1),
      ("size", {"batches": _BATCHES[:2] + (_Batch(2, "d2"),)}, 2),
      ("order", {"batches": _BATCHES[::-1]}, 0),
      ("fewer", {"batches": _BATCHES[:2]}, 2),
      ("more", {"batches": _BATCHES + (_Batch(1, "d3"),)}, 3),
      ("features", {"features": ("f0", "e", "f2")}, 1),
      ("order_of_features", {"features": _FEATURES[::-1]}, 0))
  def test_other_data(self, changed, number):
    first = _recording(_A, features=_FEATURES)
    other = _recording(_B, _C, **{"features": _FEATURES, **changed})
    for recordings in ([first, other], [first, first, other]):
      with self.assertRaisesRegex(
          ValueError, f"^evaluator.input_fn: t1_b, t1_c got another batch "
          f"{number} than others before.* shuffle with a seed$") as raised:
        logits_values.merged(recordings)
      self.assertNotIn("\n", str(raised.exception))


class ArrayFilesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._path = os.path.join(self.create_tempdir().full_path, "new", "0.npy")

  @parameterized.parameters(
      (np.float64([[1.5], [2.5]]),), (np.int32([[1, 2]]),),
      (np.float32([[np.nan, np.inf]]),), (np.zeros([0, 3]),),
      (np.float32([[1., 2.], [3., 4.]]).T,))
  def test_written_and_mapped(self, array):
    logits_values.write_array(self._path, array)
    got = logits_values.mapped(self._path)
    self.assertEqual(np.float32, got.dtype)
    np.testing.assert_array_equal(array, got)
    self.assertEqual(["0.npy"], os.listdir(os.path.dirname(self._path)))

  def test_is_read_when_used(self):
    logits_values.write_array(self._path, np.zeros([4, 1]))
    got = logits_values.mapped(self._path)
    self.assertIsInstance(got, np.memmap)
    with self.assertRaises(ValueError):
      got[0] = 1.

  def test_written_again(self):
    logits_values.write_array(self._path, np.zeros([4, 1]))
    before = logits_values.mapped(self._path)
    logits_values.write_array(self._path, np.ones([2, 1]))
    self.assertEqual([[1.], [1.]], logits_values.mapped(self._path).tolist())
    # Who has mapped the file keeps what it had.
    self.assertEqual([[0.]] * 4, before.tolist())

  def test_not_there(self):
    with self.assertRaises(OSError):
      logits_values.mapped(self._path)

  def test_of_another_file_system(self):
    # The path of a local file, as TensorFlow writes that of a remote one.
    path = "file://" + self._path
    logits_values.write_array(path, [[1.], [2.]])
    got = logits_values.mapped(path)
    self.assertNotIsInstance(got, np.memmap)
    self.assertEqual([[1.], [2.]], got.tolist())


if __name__ == "__main__":
  absltest.main()
