# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs metrics over the data of an input_fn."""

from typing import Any, Optional

from absl import logging
from adanet import tf_compat


def run(sess: Any, update_ops: Any, steps: Optional[int], what: str) -> int:
  """Runs update ops over the input of their graph.

  Args:
    sess: a session.
    update_ops: what a session can run.
    steps: int, the number of batches; None for all that the input has.
    what: str, what is done, for the log: "Ensemble evaluation".

  Returns:
    How many batches there were.
  """
  log_every = 1000 if steps is None else max(1, steps // 10)
  done = 0
  while steps is None or done < steps:
    try:
      sess.run(update_ops)
    except tf_compat.v1.errors.OutOfRangeError:
      logging.info("%s: the input ended after %d batches.", what, done)
      break
    done += 1
    if done % log_every == 0 or done == steps:
      logging.info("%s: %d of %s batches.", what, done, steps or "all")
  return done


def check_steps(steps: Optional[int]) -> Optional[int]:
  """Returns a number of steps after checking it.

  Raises:
    ValueError: it is not a positive number or None.
  """
  if steps is not None and steps <= 0:
    raise ValueError(
        f"steps={steps!r}: expected a positive number of batches, or None for "
        "all that the input has.")
  return steps
