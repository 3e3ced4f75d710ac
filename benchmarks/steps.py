# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times a step of training beside a bare `session.run` of its train ops.

Both are in one session, and take turns.
"""

import time

from adanet import tf_compat
from benchmarks import program
from benchmarks import search
import numpy as np


def time_bare(session, ops, num_steps=search.NUM_STEPS):
  """Returns the seconds of one bare step."""
  started = time.perf_counter()
  for _ in range(num_steps):
    session.run(ops)
  return (time.perf_counter() - started) / num_steps


class _SameWork:
  """Checks that a turn of the loop trains as so many bare steps do."""

  def __init__(self, session, ops):
    """Takes the bare steps, and then sets back what they have changed."""
    v1 = tf_compat.v1
    with session.graph.as_default():
      self._variables = v1.trainable_variables()
      slots = [v for v in v1.global_variables()
               if v.op.name.endswith("/Momentum")]
    before = session.run(self._variables + slots)
    time_bare(session, ops)
    self._expected = session.run(self._variables)
    for variable, value in zip(self._variables + slots, before):
      variable.load(value, session)
    for variable, old, new in zip(self._variables, before, self._expected):
      program.check(not np.array_equal(old, new),
                    "the train ops do not train " + variable.op.name)

  def check(self, session):
    """Raises unless the loop has come from there to the same values."""
    for variable, expected, got in zip(
        self._variables, self._expected, session.run(self._variables)):
      program.check(
          np.allclose(expected, got, rtol=1e-3, atol=1e-4),
          f"the loop does not train {variable.op.name} as the train ops do")


def measure(num_turns, before_bare=None, **arguments):
  """Returns a list of pairs: the seconds of a step, and of a bare one.

  Args:
    num_turns: int.
    before_bare: function of the session and the train ops, called before the
      bare steps of each turn, or None.
    **arguments: more for `search.Search`.

  Raises:
    program.CheckError: training does not do what bare steps do.
  """
  turns = []
  same_work = []

  def take_turn(searched, session, secs):
    ops = searched.train_ops()
    if not same_work:  # The first turn only compiles.
      same_work.append(_SameWork(session, ops))
      return True
    if not turns:
      same_work[0].check(session)
    if before_bare:
      before_bare(session, ops)
    turns.append((secs, time_bare(session, ops)))
    return len(turns) < num_turns

  search.train(search.STEP, take_turn, **arguments)
  return turns
