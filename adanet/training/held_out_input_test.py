# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluator's batches, which a test writes by hand.

`adanet/estimator:early_stopping_test` has whole searches.
"""

import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import empty_input
from adanet.training import held_out_input
from adanet.training import recorded_logits
from adanet.training import sessions
import numpy as np

v1 = tf_compat.v1
_LABELS, _WEIGHT = ("labels",), ("features", "w")
# Features and labels of two, two and one examples: 60 bytes with the weights.
_BATCHES = tuple(
    (np.float32(x), np.float32(y), np.float32(w)) for x, y, w in (
        ([[1.], [2.]], [[3.], [4.]], [[1.], [1.]]),
        ([[5.], [6.]], [[7.], [8.]], [[0.], [2.]]),
        ([[9.]], [[10.]], [[3.]])))
_NUM_BYTES = 60


def _with(number, place, value):
  """Returns the batches with another array in one of them."""
  batches = [list(batch) for batch in _BATCHES]
  batches[number][place] = np.float32(value)
  return batches


class HeldOutInputTest(parameterized.TestCase):

  def _input(self, batches=_BATCHES, steps=None, max_bytes=None):
    """Returns a `HeldOutInput`.

    Args:
      batches: what the input has. `self._batches` may replace it later.
      steps: the evaluator's; "none" for one without the attribute.
      max_bytes: of an input that is kept; None for the usual limit.
    """
    self._batches = batches
    self._times = 0
    if max_bytes is not None:
      self.enter_context(mock.patch.object(
          held_out_input, "_MAX_KEPT_BYTES", max_bytes))

    def read():
      self._times += 1
      for batch in self._batches:
        yield tuple(batch)

    with v1.Graph().as_default():
      iterator = v1.data.make_initializable_iterator(
          v1.data.Dataset.from_generator(
              read, (v1.float32,) * 3, ([None, 1],) * 3))
      tensors = list(iterator.get_next())
      return held_out_input.HeldOutInput(
          types.SimpleNamespace(**{} if steps == "none" else {"steps": steps}),
          tensors, {_LABELS: tensors[1], _WEIGHT: tensors[2]},
          sessions.Initializers(None, (), [iterator.initializer]), None)

  def _assert_batches(self, expected, batches):
    batches = list(batches)
    self.assertLen(batches, len(expected))
    for arrays, of_batch in zip(expected, batches):
      self.assertLen(of_batch, len(arrays))
      for array, value in zip(arrays, of_batch):
        np.testing.assert_array_equal(array, value)

  @parameterized.parameters(
      (None, 1), (_NUM_BYTES, 1), (_NUM_BYTES - 1, 3), (1, 3))
  def test_same_batches_each_time(self, max_bytes, times):
    held_out = self._input(max_bytes=max_bytes)
    self.assertEqual(0, self._times)
    for _ in range(3):
      self._assert_batches(_BATCHES, held_out.batches())
    self.assertEqual(times, self._times)

  @parameterized.parameters((2, 2), (1, 1), (5, 3), (None, 3), ("none", 3))
  def test_steps(self, steps, expected):
    held_out = self._input(steps=steps)
    self._assert_batches(_BATCHES[:expected], held_out.batches())
    self.assertLen(held_out.digests, expected)

  def test_what_is_known_after_a_pass(self):
    held_out = self._input()
    for _ in held_out.batches():
      self.assertIsNone(held_out.digests)
      self.assertEmpty(held_out.features)
      self.assertEmpty(held_out.inputs)
    self.assertEqual(
        [recorded_logits.digest(batch[1:]) for batch in _BATCHES],
        held_out.digests)
    self.assertEqual(
        [recorded_logits.digest(batch) for batch in _BATCHES],
        held_out.features)
    self.assertCountEqual([_LABELS, _WEIGHT], held_out.inputs)
    np.testing.assert_array_equal(
        [[3.], [4.], [7.], [8.], [10.]], held_out.inputs[_LABELS])
    np.testing.assert_array_equal(
        [[1.], [1.], [0.], [2.], [3.]], held_out.inputs[_WEIGHT])

  @parameterized.parameters(None, 1)
  def test_pass_that_was_cut_short(self, max_bytes):
    held_out = self._input(max_bytes=max_bytes)
    batches = held_out.batches()
    next(batches)
    batches.close()
    self.assertIsNone(held_out.digests)
    self.assertEmpty(held_out.inputs)
    # Only the one that ended says what the data is.
    self._batches = _BATCHES[1:]
    self._assert_batches(_BATCHES[1:], held_out.batches())
    self.assertLen(held_out.digests, 2)
    self.assertEqual(2, self._times)

  def test_later_pass_keeps_what_is_known(self):
    held_out = self._input(max_bytes=1)
    list(held_out.batches())
    digests, features = list(held_out.digests), list(held_out.features)
    next(held_out.batches())
    list(held_out.batches())
    self.assertEqual(digests, held_out.digests)
    self.assertEqual(features, held_out.features)
    self.assertLen(held_out.inputs[_LABELS], 5)

  @parameterized.named_parameters(
      ("labels", _with(1, 1, [[7.], [8.5]]), 1),
      ("weights", _with(2, 2, [[4.]]), 2),
      ("order", _BATCHES[::-1], 0),
      ("fewer", _BATCHES[:2], 2),
      ("more", _BATCHES + _BATCHES[:1], 3))
  def test_other_data(self, batches, number):
    held_out = self._input(max_bytes=1)
    list(held_out.batches())
    self._batches = batches
    yielded = []
    with self.assertRaisesRegex(
        ValueError, f"^evaluator.input_fn: .* got another batch {number} than "
        ".* do not shuffle, or shuffle with a seed$") as raised:
      yielded.extend(held_out.batches())
    self.assertNotIn("\n", str(raised.exception))
    # Nothing is computed from the batch that differs.
    self._assert_batches(_BATCHES[:number], yielded)

  def test_empty(self):
    held_out = self._input(batches=())
    with self.assertRaisesRegex(
        empty_input.EmptyInputError, "evaluator.input_fn"):
      list(held_out.batches())
    self.assertIsNone(held_out.digests)


if __name__ == "__main__":
  absltest.main()
