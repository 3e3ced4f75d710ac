# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a search on an executor gives the figures of one process.

All figures are equal to the last digit: variables, architectures, reports and
history.
"""

import contextlib
import glob
import itertools
import json
import os
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import engines
from adanet.testing.oracle import actions
from adanet.testing.oracle import comparison
from adanet.testing.oracle import settings_of_parts

def _table():
  """Returns the settings by their names.

  They are new ones: an optimizer cannot be sent once it has trained.
  """
  return {s.name: s for s in settings_of_parts.table()}


def _without_times(value):
  """Returns what a record has, without when it was and how long it took."""
  if isinstance(value, dict):
    return {key: _without_times(item) for key, item in value.items()
            if "seconds" not in key and key != "time"}
  if isinstance(value, list):
    return [_without_times(item) for item in value]
  return value


def _history(model_dir):
  """Returns the records of the iterations by their names."""
  found = {}
  for path in glob.glob(os.path.join(model_dir, "history", "*.json")):
    with open(path, encoding="utf-8") as f:
      found[os.path.basename(path)] = _without_times(json.load(f))
  return found


class ExecutorTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._exits = contextlib.ExitStack()
    cls._executor = cls._exits.enter_context(engines.process_pool(2))

  @classmethod
  def tearDownClass(cls):
    cls._exits.close()
    super().tearDownClass()

  def _figures(self, setting, executor):
    """Returns the figures of a setting, and of the history of its search."""
    model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    results = actions.perform(setting, model_dir, itertools.repeat(
        {"executor": executor} if executor else {}))
    for result in filter(None, results):
      self.assertNotIn("exception", result)
      if "variables" in result:  # Hooks note in copies of lists.
        result.pop("steps")
        result.pop("notes", None)
    results.append(_history(model_dir))
    shutil.rmtree(model_dir)
    return results

  @parameterized.parameters(*_table())
  def test_same_as_one_process(self, name):
    expected = self._figures(_table()[name], None)
    actual = self._figures(_table()[name], self._executor)
    lines = comparison.differences(expected, actual, 0.)
    self.assertEmpty(lines, "\n" + "\n".join(lines[:40]))
    # -0. is not 0.
    self.assertEqual(json.dumps(expected, sort_keys=True),
                     json.dumps(actual, sort_keys=True))


if __name__ == "__main__":
  absltest.main()
