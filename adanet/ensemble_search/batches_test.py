# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches of a dataset: in which order, how many, kept or read again."""

import multiprocessing
import threading
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import batches as batches_lib
from adanet.ensemble_search import rows as rows_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_X = np.arange(60, dtype="float32").reshape(30, 2)
_Y = _X[:, :1]


class _Batches(keras.utils.PyDataset):
  """Counts how many of its batches are made at a time."""

  def __init__(self, secs=0., **kwargs):
    super().__init__(**kwargs)
    self.secs = secs
    self.begun = []
    self.now = self.most = 0
    self._lock = None

  def __len__(self):
    return 10

  def __getitem__(self, i):
    self.begun.append(i)
    self.now += 1
    self.most = max(self.most, self.now)
    time.sleep(self.secs)
    self.now -= 1
    return _X[3 * i:3 * i + 3], _Y[3 * i:3 * i + 3]


class _Fails(_Batches):

  def __getitem__(self, i):
    raise TimeoutError("no file")


def _source(dataset, class_weight=None, seed=1, **kwargs):
  return batches_lib.BatchSource("x", dataset, class_weight, seed, **kwargs)


def _rows(calls):
  """Returns the batches of calls as lists of arrays."""
  return [[rows_lib.reader(tensor)(tf.constant(rows)).numpy()
           for tensor in flat] for flat, numbers in calls for rows in numbers]


class BatchSourceTest(parameterized.TestCase):

  @parameterized.parameters(
      {"workers": 1}, {"workers": 4}, {"workers": 4, "max_queue_size": 2},
      {"workers": 2, "use_multiprocessing": True})
  def test_workers_change_no_order(self, **kwargs):
    expected = _rows(_source(_Batches()).chunks(3))
    np.testing.assert_equal(expected, _rows(_source(
        _Batches(**kwargs)).chunks(3)))
    self.assertEmpty(multiprocessing.active_children())

  def test_workers_make_batches_at_a_time(self):
    batches = _Batches(secs=.05, workers=4)
    source = _source(batches)
    list(source.chunks(0))
    self.assertGreater(batches.most, 1)

  def test_workers_do_not_run_far_ahead(self):
    batches = _Batches(workers=2, max_queue_size=3)
    source = _source(batches)
    batches.begun.clear()
    with mock.patch.object(batches_lib, "_CHUNK_BATCHES", 1):
      calls = source.chunks(0)
      next(calls)
      time.sleep(.2)
      self.assertLess(len(batches.begun), 10)
      calls.close()
    self.assertEmpty([thread for thread in threading.enumerate()
                      if thread.name.startswith("ThreadPoolExecutor")])

  def test_an_error_of_the_dataset(self):
    with self.assertRaisesRegex(TimeoutError, "no file"):
      with mock.patch.object(batches_lib.BatchSource, "_read_specs", lambda _: (
          tf.TensorSpec([None, 2]), tf.TensorSpec([None, 1]))):
        list(_source(_Fails(workers=2)).chunks(0))

  @parameterized.parameters((None, 2), ({0: 3.}, 3))
  def test_weights_of_classes(self, class_weight, count):
    labels = np.arange(4)
    for weights in ((), (np.ones(4),)):
      make = lambda weights=weights: tf.data.Dataset.from_tensor_slices(
          (_X[:4], labels, *weights)).batch(4)
      if weights and class_weight:
        with self.assertRaisesRegex(ValueError, "^class_weight: expected None"):
          _source(make, class_weight)
        # Held-out rows keep their own weights.
        source = _source(make, class_weight, may_have_weights=True)
        (batch,) = _rows(source.chunks(0))
        np.testing.assert_equal(np.ones(4), batch[2])
        continue
      (batch,) = _rows(_source(make, class_weight).chunks(0))
      self.assertLen(batch, count + len(weights))
      if class_weight:
        np.testing.assert_equal([3., 1., 1., 1.], batch[2])

  def test_labels_are_needed_for_weights_of_classes(self):
    with self.assertRaisesRegex(ValueError, "^class_weight: expected None"):
      _source(lambda: tf.data.Dataset.from_tensor_slices((_X,)).batch(4), {0: 1.})

  def test_data_without_an_end_get_lines(self):
    def endless():
      while True:
        yield _X, _Y

    source = _source(endless)
    with mock.patch.object(batches_lib, "_LONG_SECS", 0.), (
        self.assertLogs("absl", "WARNING")) as logs:
      next(source.chunks(0))
    self.assertRegex(logs.output[0], r"x: \d+ batches, and no end yet\. An ep")

  def test_data_that_ended_before_get_none(self):
    source = _source(lambda: iter([(_X, _Y)] * 3))
    list(source.chunks(0))
    with mock.patch.object(batches_lib, "_LONG_SECS", 0.), (
        self.assertNoLogs("absl", "WARNING")):
      list(source.chunks(1))

  @parameterized.parameters(
      (_Batches(), 10), (lambda: iter([(_X, _Y)]), None),
      (tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(4), 8),
      (lambda: tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(4).filter(
          lambda x, y: True), None))
  def test_steps(self, dataset, expected):
    self.assertEqual(expected, _source(dataset).steps())


class ReadHeldOutTest(parameterized.TestCase):

  @hypothesis.given(
      st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 12),
      st.booleans(), st.sampled_from([1, 3, 50]))
  @hypothesis.settings(max_examples=level.number(20, 80))
  def test_rows(self, sizes, size, is_kept, chunk):
    """Rows that are kept are divided anew; others stay in their batches."""
    ends = np.cumsum(sizes)
    x = np.arange(2. * ends[-1]).astype("float32").reshape(-1, 2)
    batches = [(part, part[:, :1]) for part in np.split(x, ends[:-1])]
    with mock.patch.object(batches_lib, "_CHUNK_BATCHES", chunk), (
        mock.patch.object(batches_lib, "_MAX_KEPT_BYTES", 1e9 * is_kept)):
      held_out, digest = batches_lib.read_held_out(
          _source(lambda: iter(batches)))
      self.assertLen(held_out, len(x))
      self.assertStartsWith(digest, f"{len(x)} rows ")
      self.assertEqual(is_kept, isinstance(held_out, rows_lib.Rows))
      actual = _rows(held_out.chunks(size))
      np.testing.assert_equal(
          actual[0], _rows([held_out.first_chunk(size)])[0])
    np.testing.assert_array_equal(x[:, :1], held_out.labels()[0])
    expected = np.split(x, np.arange(size, len(x), size)) if is_kept else [
        part for part, _ in batches]
    np.testing.assert_equal([[part, part[:, :1]] for part in expected], actual)
    self.assertEqual(None if len(x) % size or not is_kept else size,
                     held_out.layout(size).size)

  def test_batches_of_several_shapes_stay_as_they_are(self):
    batches = [(np.ones([3, i]), np.ones([3, 1])) for i in (2, 5, 5)]
    for limit in (0, 1e9):
      with mock.patch.object(batches_lib, "_MAX_KEPT_BYTES", limit):
        held_out, _ = batches_lib.read_held_out(_source(lambda: iter(batches)))
      self.assertEqual(limit == 0, held_out.source is not None)
      self.assertEqual([2, 5, 5], [
          x.shape[1] for x, _ in _rows(held_out.chunks(2))])

  def test_another_order_each_time(self):
    shuffled = tf.data.Dataset.from_tensor_slices(
        (_X, _Y)).shuffle(99).batch(4)
    with mock.patch.object(batches_lib, "_MAX_KEPT_BYTES", 0):
      held_out, digest = batches_lib.read_held_out(_source(shuffled))
    with self.assertRaisesRegex(
        ValueError, "^x gives other rows, or another order of rows, each time"):
      for _ in range(3):
        list(held_out.chunks(4))
    self.assertNotEqual(
        digest, batches_lib.read_held_out(_source(shuffled))[1])

  def test_no_batches(self):
    with self.assertRaisesRegex(ValueError, "^x has no batches"):
      batches_lib.read_held_out(_source(
          tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(4).take(0)))

  def test_not_finite(self):
    x = np.array(_X)
    x[9, 1] = np.nan
    held_out, _ = batches_lib.read_held_out(_source(
        tf.data.Dataset.from_tensor_slices((x, _Y)).batch(4)))
    (argument, text, rows), = held_out.not_finite
    self.assertEqual("x", argument)
    self.assertEqual("x has NaN in 1 of 30 rows, in column 1", text)
    np.testing.assert_equal([9], rows.numbers)


if __name__ == "__main__":
  absltest.main()
