# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what may not be done again."""

from absl.testing import absltest
from tools.fault_test import done

_A, _B = (0, "a"), (0, "b")
_AGAIN = ["a of iteration 0 is at step 4 again, after 9"]


class DoneTest(absltest.TestCase):

  def test_steps_that_others_have_seen(self):
    seen = done.Done()
    self.assertEmpty(seen.reach(10., {_A: 9, _B: 1}))
    self.assertEmpty(seen.reach(12., {_A: 4, _B: 2}))  # It was said before.
    self.assertEqual(_AGAIN, seen.reach(14., {_A: 4, _B: 3}))
    self.assertEmpty(seen.reach(14., {_A: 9}))
    self.assertEmpty(seen.reach(14., {(1, "a"): 1}))

  def test_lost_parameter_server(self):
    seen = done.Done()
    seen.save(8., {_A: 3})
    seen.reach(10., {_A: 9})
    seen.lose()
    self.assertEmpty(seen.reach(20., {_A: 4}))
    self.assertLen(seen.reach(20., {_A: 2}), 1)

  def test_what_is_saved_stays(self):
    seen = done.Done()
    seen.save(8., {_A: 9})
    seen.lose()
    self.assertEmpty(seen.reach(9., {_A: 4}))
    self.assertEqual(_AGAIN, seen.reach(20., {_A: 4}))

  def test_global_step(self):
    # A worker that trains nothing of it may know it late.
    seen = done.Done()
    seen.reach(10., {done.GLOBAL_STEP: 9})
    self.assertEmpty(seen.reach(20., {done.GLOBAL_STEP: 4}))
    seen.save(21., {done.GLOBAL_STEP: 9})
    self.assertLen(seen.reach(30., {done.GLOBAL_STEP: 4}), 1)


if __name__ == "__main__":
  absltest.main()
