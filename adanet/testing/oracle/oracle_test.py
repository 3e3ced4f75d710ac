# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a search gives what AdaNet 0.8.0 gives, figure by figure.

The golden file holds AdaNet's figures on TensorFlow 1.15. Write it again, with
that version, by:

  program.py --golden --output=adanet/testing/oracle/testdata/golden.json

AdaNet 0.8.0 must be first on the import path, as `runner` puts it there. The
test runs AdaNet with a few settings, and with `--live_table=all` with all.

With batches of two sizes AdaNet's figures are not what is expected: see
`settings.uneven_batches`. The quick level has the quick settings alone.
"""

import os
import shutil
import tempfile

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet.testing.oracle import figures
from adanet.testing.oracle import runner
from adanet.tf_compat import v1 as tf

_LIVE_TABLE = flags.DEFINE_enum(
    "live_table", "few", ["few", "quick", "all"],
    "Which settings AdaNet 0.8.0 runs with, on TensorFlow 1.15.")
_FEW = ("decay_slow", "force_grow", "metric_fn", "regression_weighted",
        "replicates_in_training", "summaries", "vector_adam", "warm_start")

_TABLE = level.first(["quick", "all"])[-1]
_UNEVEN = ("multi_head", "reports_to_the_end_of_input")

_LIVE_TOLERANCE = 1e-5
_GOLDEN_TOLERANCE = 1e-4

_GOLDEN = figures.read(runner.testdata("golden.json"))
# What we have beyond AdaNet: a default signature of raw features; and what the
# heads of tf.estimator predict since TensorFlow 2.
_BEYOND = ("/serving_default: not expected",)
_NEWER = {"many_labels": ("/classes: not expected",)}
_NEED_TF_ESTIMATOR = ("head_of_tf_estimator", "binary_head_of_tf_estimator")


class OracleTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    programs = [runner.Program(
        is_reference=False, arguments=["--table=" + _TABLE])]
    if runner.has_reference():
      programs.append(runner.Program(
          is_reference=True, arguments=[
              "--settings=" + ",".join(_FEW) if _LIVE_TABLE.value == "few" else
              "--table=" + _LIVE_TABLE.value]))
    cls._ours, cls._theirs = (
        [program.figures() for program in programs] + [None])[:2]
    # On a busy machine AdaNet may fail once where it did not when the golden
    # file was made.
    failed = [name for name, figures in (cls._theirs or {}).items()
              if len(figures) < len(_GOLDEN[name])]
    if failed:
      cls._theirs.update(runner.Program(
          is_reference=True,
          arguments=["--settings=" + ",".join(failed)]).figures())

  def _assert_equal(self, expected, actual, tolerance, allowed=()):
    """Asserts that figures are equal, but for lines with one of `allowed`."""
    lines = [
        line for line in figures.differences(expected, actual, tolerance)
        if not any(text in line for text in allowed)
    ]
    self.assertEmpty(lines, "\n" + "\n".join(lines[:40]))

  @parameterized.parameters(*sorted(_GOLDEN))
  def test_setting(self, name):
    if name in _NEED_TF_ESTIMATOR and name not in self._ours:
      self.assertFalse(hasattr(tf, "estimator"))
      self.skipTest("this TensorFlow has no tf.estimator")
    if _TABLE == "quick" and name not in self._ours:
      self.skipTest("runs with --config=gate")
    ours, newer = self._ours[name], _BEYOND + _NEWER.get(name, ())
    with self.subTest("golden"):
      self._assert_equal(
          _GOLDEN[name], figures.without_inner_variables(ours),
          _GOLDEN_TOLERANCE, newer)
    if self._theirs is None or name not in self._theirs:
      return
    with self.subTest("live"):
      self._assert_equal(self._theirs[name], ours, _LIVE_TOLERANCE, newer)
    with self.subTest("golden is of the oracle"):
      self._assert_equal(
          figures.without_inner_variables(self._theirs[name]), _GOLDEN[name],
          _LIVE_TOLERANCE)

  @parameterized.parameters(*_UNEVEN)
  @level.gate
  def test_uneven_batches(self, name):
    self._assert_equal(
        _GOLDEN[name],
        figures.without_inner_variables(self._ours[name + "_uneven"]),
        _GOLDEN_TOLERANCE, _BEYOND)

  def test_has_all_settings(self):
    self.assertEmpty(set(self._ours) - set(_GOLDEN) -
                     {name + "_uneven" for name in _UNEVEN})
    if self._theirs is not None:
      self.assertGreaterEqual(len(self._theirs), len(_FEW))
      self.assertEmpty(set(self._theirs) - set(_GOLDEN))


class GoesOnTest(parameterized.TestCase):
  """Model_dirs of AdaNet 0.8.0 open, serve, and go on training.

  AdaNet 0.8.0 wrote `stranded.json` when it went on from a copy of
  `testdata/stranded`, with `program.py --table=goes_on --golden
  --model_dirs=COPY`.
  """

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    copy = os.path.join(tempfile.mkdtemp(
        dir=absltest.get_default_test_tmpdir()), "stranded")
    shutil.copytree(runner.testdata("stranded"), copy)
    cls._ours = runner.Program(
        False, ["--table=goes_on", "--golden", "--model_dirs=" + copy]
    ).figures()
    cls._golden = figures.read(runner.testdata("stranded.json"))

  @parameterized.parameters("binary", "multi_head", "regression")
  def test_goes_on(self, name):
    lines = figures.differences(
        self._golden[name], self._ours[name], _GOLDEN_TOLERANCE)
    self.assertEmpty(lines, "\n" + "\n".join(lines[:40]))


if __name__ == "__main__":
  absltest.main()
