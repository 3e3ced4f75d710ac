# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of why training ends, as tables of what is known."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.training import ending as ending_lib
import hypothesis
from hypothesis import strategies as st

_Ending = ending_lib.Ending
_FIELDS = ending_lib.Standing._fields
_STANDINGS = st.builds(
    ending_lib.Standing, **dict.fromkeys(_FIELDS, st.booleans()))


class EndingTest(parameterized.TestCase):

  @parameterized.parameters(
      ({}, _Ending.ITERATION_OVER),
      # What is left to train, or to wait for.
      ({"trains_subnetworks": True}, None), ({"awaits_others": True}, None),
      ({"catches_up": True}, None), ({"outlasts": True}, None),
      # A worker without input waits for nobody; a chief does.
      ({"input_ended": True, "awaits_others": True}, None),
      ({"input_ended": True, "awaits_others": True, "is_chief": False},
       _Ending.ITERATION_OVER),
      ({"input_ended": True, "is_chief": False, "trains_subnetworks": True},
       None),
      # Where the input ends, others may have trained the rest.
      ({"input_ended": True}, _Ending.ITERATION_OVER),
      ({"input_ended": True, "all_done": False}, _Ending.INPUT_ENDED),
      ({"has_begun": False}, _Ending.INPUT_ENDED),
      # Limits of the call.
      ({"is_at_max_steps": True}, _Ending.MAX_STEPS),
      ({"is_at_max_steps": True, "trains_subnetworks": True},
       _Ending.MAX_STEPS),
      ({"is_at_max_steps": True, "catches_up": True}, None),
      ({"is_late": True, "trains_subnetworks": True}, _Ending.TIME_IS_UP),
      ({"is_late": True, "is_at_max_steps": True}, _Ending.MAX_STEPS),
      ({"is_signaled": True, "is_at_max_steps": True}, _Ending.SIGNAL),
      ({"is_stop_asked": True, "is_signaled": True}, _Ending.STOP_ASKED))
  def test_ending(self, known, expected):
    self.assertEqual(expected, ending_lib.ending(ending_lib.Standing(**known)))

  @hypothesis.given(_STANDINGS)
  def test_over_is_what_has_no_other_ending(self, standing):
    ending = ending_lib.ending(standing)
    if ending in (_Ending.ITERATION_OVER, _Ending.INPUT_ENDED):
      self.assertTrue(ending_lib.is_over(standing))
    if ending is None:
      self.assertFalse(ending_lib.is_over(standing))

  @parameterized.parameters(
      ([], _Ending.ITERATION_OVER),
      ([_Ending.ITERATION_OVER, _Ending.MAX_STEPS], _Ending.MAX_STEPS),
      ([_Ending.MAX_STEPS, _Ending.STOP_ASKED], _Ending.STOP_ASKED),
      ([_Ending.INPUT_ENDED, _Ending.ITERATION_OVER], _Ending.INPUT_ENDED))
  def test_of_parts(self, endings, expected):
    self.assertEqual(expected, ending_lib.of_parts(endings))

  @parameterized.parameters(
      (None, _Ending.ITERATION_OVER), (9, _Ending.ITERATION_OVER),
      (8, _Ending.MAX_STEPS), (7, _Ending.MAX_STEPS))
  def test_of_search(self, max_steps, expected):
    self.assertEqual(expected, ending_lib.of_search(
        _Ending.ITERATION_OVER, 8, max_steps))


if __name__ == "__main__":
  absltest.main()
