# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what tells one search from another, in another process, too."""

import importlib
import os
import subprocess
import sys
from typing import Any, Dict

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.core import iteration
from adanet.core import model_dir as model_dir_lib
from adanet.engines.executor import pickled_search
from adanet.testing import level
from adanet.testing import processes
from adanet.training import setup as setup_lib
from adanet.training import trainer

# It has a class of its own, which cloudpickle pickles by its content.
_PROGRAM = """
from adanet.engines.executor import pickled_search, pickled_search_test

class Rule:
  secs = {secs}

print(pickled_search.digest(pickled_search_test.dumped(metric_fn=Rule)))
"""


def _read():
  return "data"


def _read_more():
  return "more data"


def dumped(model_dir: str = "/a", request: Any = None, rules: Any = None,
           **search: Any) -> bytes:
  """Returns a search as bytes.

  Args:
    model_dir: str.
    request: dict of some of `Request`.
    rules: dict of some of `Rules`.
    **search: some of `Search`.
  """
  values: Dict[str, Any] = dict(
      head=None, generator=["a", "b"], ensemblers=(), strategies=(),
      metric_fn=None, max_iteration_steps=4, adanet_loss_decay=.9,
      replicate_ensemble_in_training=False, debug=False,
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      global_step_combiner_fn=sum, exports=None)
  return pickled_search.dumps(
      setup_lib.SearchSetup(
          iteration.Search(**dict(values, **search)),
          model_dir_lib.ModelDir(model_dir), None,
          distributed.ReplicationStrategy(), setup_lib.Rules(**(rules or {}))),
      trainer.Request(**dict(dict(input_fn=_read), **(request or {}))))


class PickledSearchTest(parameterized.TestCase):

  def test_loads(self):
    setup, request = pickled_search.loads(dumped(
        "/b", dict(input_fn=dict, hooks=("hook",), saving_listeners=("here",),
                   max_steps=7),
        dict(patience=3), metric_fn=len))
    self.assertEqual(
        ("/b", 3, len, 4), (setup.model_dir.path, setup.rules.patience,
                            setup.search.metric_fn,
                            setup.search.max_iteration_steps))
    self.assertEqual(
        trainer.Request(dict, hooks=("hook",), max_steps=7), request)

  @parameterized.parameters(
      ({}, True),
      (dict(model_dir="/b"), True),
      (dict(request=dict(max_steps=9, max_seconds=3., deadline=8.)), True),
      (dict(request=dict(saving_listeners=("here",))), True),
      (dict(request=dict(input_fn=_read_more)), False),
      (dict(request=dict(hooks=("hook",))), False),
      (dict(rules=dict(evaluator="evaluator")), False),
      (dict(generator=["b", "a"]), False),
      (dict(adanet_loss_decay=.99), False),
      (dict(max_iteration_steps=5), False))
  @level.gate
  def test_digest(self, other, is_same):
    self.assertEqual(is_same, pickled_search.digest(dumped()) ==
                     pickled_search.digest(dumped(**other)))

  @level.gate
  def test_digest_of_another_process(self):
    def digest(secs):
      return subprocess.run(
          [sys.executable, "-c", _PROGRAM.format(secs=secs)], check=True,
          stdout=subprocess.PIPE, env=processes.python_environment()).stdout

    first = digest(1)
    self.assertLen(first.split()[-1], 64)
    self.assertEqual(first, digest(1))
    self.assertNotEqual(first, digest(2))

  def test_digest_of_a_module_that_was_edited(self):
    folder = self.create_tempdir().full_path
    path = os.path.join(folder, "its_own_module.py")
    digests = []
    sys.path.insert(0, folder)
    self.addCleanup(sys.path.remove, folder)
    for secs in (1, 1, 2):
      with open(path, "w", encoding="utf-8") as f:
        f.write(f"def secs():\n  return {secs}\n")
      importlib.invalidate_caches()
      module = importlib.import_module("its_own_module")
      digests.append(pickled_search.digest(dumped(metric_fn=module.secs)))
    self.assertEqual(digests[0], digests[1])
    self.assertNotEqual(digests[1], digests[2])


if __name__ == "__main__":
  absltest.main()
