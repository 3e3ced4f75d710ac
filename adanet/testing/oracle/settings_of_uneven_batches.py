# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings of the table with evaluations that have batches of two sizes.

In the mean of AdaNet 0.8.0, a short batch counts as much as a whole one. Here
each example counts once. So the expected result of a setting is AdaNet's result
for the one with batches of one size, whose name has no "_uneven".
"""

import adanet
from adanet.testing.oracle import data
from adanet.testing.oracle import settings

_UNEVEN = dict(num_epochs=1, batch_size=20)  # 20 and 12 of the 32 rows.


def _with(setting, arguments):
  """Returns a setting with other arguments of the Estimator, and of evaluate.
  """
  return setting._replace(
      name=setting.name + "_uneven",
      estimator=lambda c: dict(setting.estimator(c), **arguments),
      actions=[
          action._replace(arguments=dict(
              action.arguments, batch_size=_UNEVEN["batch_size"]))
          if action.name == "evaluate" else action
          for action in setting.actions])


def table():
  """Returns all settings in a list."""
  changed = {
      "reports_to_the_end_of_input": dict(
          report_materializer=adanet.ReportMaterializer(
              data.dataset("classes", **_UNEVEN))),
      "multi_head": {},
  }
  return [_with(setting, changed[setting.name]) for setting in settings.table()
          if setting.name in changed]
