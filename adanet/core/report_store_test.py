# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the file of reports."""

import os
import struct

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import report_store as report_store_lib
from adanet.subnetwork import report as report_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_DEEP = report_lib.MaterializedReport(
    0, "deep", {"layers": 2}, {"name": b"\xff"}, {"loss": .25}, True)
_LINEAR = report_lib.MaterializedReport(
    0, "lin\u00e9", {"on": False}, {"s": "\u00e9"}, {}, False)
# The record that AdaNet 0.8.0 writes for these two, as of iteration 3.
_RECORD_OF_ADANET = bytes.fromhex(
    "080312320a0c0a066c617965727312021802120b0a046e616d6512032a01ff1a0d0a046c6f"
    "73731205150000803e20012a0464656570121c0a080a026f6e1202200012090a017312040a"
    "02c3a92a056c696ec3a9")

_TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=5)
_VALUES = st.one_of(
    st.booleans(), st.integers(-2**31, 2**31 - 1), _TEXTS, st.binary(),
    st.floats(width=32, allow_nan=False))
_MAPS = st.dictionaries(_TEXTS, _VALUES, max_size=3)
_REPORTS = st.lists(st.builds(
    report_lib.MaterializedReport, st.just(7), _TEXTS, _MAPS, _MAPS, _MAPS,
    st.booleans()), max_size=3)


def _of(iteration_number, *subnetwork_reports):
  return [r._replace(iteration_number=iteration_number)
          for r in subnetwork_reports]


class ReportStoreTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = os.path.join(self.create_tempdir().full_path, "report")
    self._store = report_store_lib.ReportStore(self._folder)

  def _set_content(self, content):
    os.makedirs(self._folder, exist_ok=True)
    with open(self._store.path, "wb") as f:
      f.write(content)

  def _content(self):
    with open(self._store.path, "rb") as f:
      return f.read()

  def test_nothing_written(self):
    self.assertEqual([], self._store.read())
    self.assertEqual(([], []), self._store.for_generator(1))
    self.assertFalse(os.path.exists(self._folder))

  def test_record_is_that_of_adanet(self):
    self._store.write(3, [_DEEP, _LINEAR])
    content = self._content()
    self.assertEqual(
        os.path.join(self._folder, "iteration_reports.tfrecord"),
        self._store.path)
    self.assertLen(_RECORD_OF_ADANET, struct.unpack("<Q", content[:8])[0])
    self.assertEqual(_RECORD_OF_ADANET, content[12:-4])
    self.assertEqual([_of(3, _DEEP, _LINEAR)], self._store.read())

  @hypothesis.given(_REPORTS)
  def test_read_is_the_inverse_of_write(self, subnetwork_reports):
    self._store.write(7, subnetwork_reports)
    read, = self._store.read()
    self.assertEqual(subnetwork_reports, read)
    for written, report in zip(subnetwork_reports, read):
      for key, value in written.hparams.items():
        self.assertIs(type(value), type(report.hparams[key]))

  def test_same_iteration_twice_counts_once(self):
    self._store.write(0, [_DEEP])
    self._store.write(1, [_DEEP])
    once = self._content()
    self._store.write(1, [_DEEP])
    self.assertEqual(once, self._content())
    self._store.write(0, [_LINEAR])
    self.assertEqual([_of(0, _LINEAR), _of(1, _DEEP)], self._store.read())

  def test_record_that_adanet_wrote_twice_counts_once(self):
    self._store.write(0, [_DEEP])
    first = self._content()
    self._store.write(0, [_LINEAR])
    self._set_content(first + self._content())
    self.assertEqual([_of(0, _LINEAR)], self._store.read())

  def test_for_generator(self):
    self._store.write(0, [_DEEP, _LINEAR])
    self._store.write(1, [_LINEAR, _DEEP])
    self.assertEqual(([], []), self._store.for_generator(0))
    self.assertEqual((_of(0, _DEEP), _of(0, _DEEP, _LINEAR)),
                     self._store.for_generator(1))
    self.assertEqual(
        (_of(0, _DEEP) + _of(1, _DEEP),
         _of(0, _DEEP, _LINEAR) + _of(1, _LINEAR, _DEEP)),
        self._store.for_generator(2))

  @parameterized.named_parameters(
      ("none", None, "expected a bool, int, float, str or bytes, not NoneType"),
      ("list", [1], "expected a bool, int, float, str or bytes, not list"),
      ("large", 2**40, "expected a number of 32 bits"))
  def test_value_that_does_not_fit(self, value, problem):
    self._store.write(0, [_DEEP])
    before = self._content()
    with self.assertRaisesRegex(
        report_store_lib.ReportError,
        r"^the report of deep of iteration 1: hparams\['x'\]=.*" + problem):
      self._store.write(1, [_DEEP._replace(hparams={"x": value})])
    self.assertEqual(before, self._content())
    self.assertEqual(["iteration_reports.tfrecord"], os.listdir(self._folder))

  def test_cut_short(self):
    self._store.write(0, [_DEEP])
    whole_record = len(self._content())
    self._store.write(1, [_LINEAR])
    content = self._content()
    for size in range(1, len(content)):
      self._set_content(content[:size])
      if size == whole_record:
        self.assertEqual([_of(0, _DEEP)], self._store.read())
        continue
      with self.assertRaisesRegex(report_store_lib.ReportError,
                                  "^" + self._store.path) as context:
        self._store.for_generator(2)
      self.assertNotIn("\n", str(context.exception))

  def test_record_of_something_else(self):
    self._set_content(struct.pack("<QI", 3, 0) + b"\xff\xff\xff" + b"0000")
    with self.assertRaisesRegex(report_store_lib.ReportError,
                                "^" + self._store.path) as context:
      self._store.read()
    self.assertNotIn("\n", str(context.exception))


if __name__ == "__main__":
  absltest.main()
