# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether another iteration is worth its time: patience, and `max_seconds`."""

import math
import time

from adanet.search import search_files
from adanet.search import winner as winner_lib
from adanet.training import model as model_lib
from adanet.training import trainer


def no_gain(rules: model_lib.Rules, files: search_files.SearchFiles,
            number: int) -> str:
  """Returns why no iteration begins, by `patience`; "" if one may.

  Args:
    rules: `Rules`.
    files: `SearchFiles`.
    number: int, the last iteration that is decided.
  """
  best, since = None, 0
  for t in range(number + 1):
    record = files.iteration(t)
    if record is None or record.winning is None or (
        record.metric_name != rules.metric_name):  # By another evaluator.
      continue
    value = record.winning.value
    if value is None or math.isnan(value):
      continue
    if best is None or winner_lib.is_improvement(rules, value, best):
      best, since = value, 0
    else:
      since += 1
  if rules.patience is None or since < rules.patience:
    return ""
  winners = "winner is" if since == 1 else f"{since} winners are"
  return (f"patience={rules.patience}: the last {winners} no better than "
          f"{best:.4g} ({rules.metric_name})")


def no_time(request: trainer.Request, seconds: float) -> str:
  """Returns why the next iteration would end too late; "" if it would not.

  Args:
    request: `Request`.
    seconds: float, how long the last one took. The next one is taken to last as
      long.
  """
  if request.deadline is None or time.time() + seconds <= request.deadline:
    return ""
  return (f"max_seconds={request.max_seconds:g}: "
          f"{max(0., request.deadline - time.time()):.1f} s are left, and the "
          f"last iteration took {seconds:.1f} s")
