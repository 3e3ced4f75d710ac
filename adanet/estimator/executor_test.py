# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of training on an executor: what it refuses, and how it goes on.

`adanet/testing/oracle:executor_test` compares figures.
"""

import glob
import json
import os
import tempfile
import threading
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import searches

_TF_CONFIG = json.dumps({
    "cluster": {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]},
    "task": {"type": "chief", "index": 0}})


def _folder():
  return tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())


def _estimator(model_dir, **arguments):
  return searches.estimator(
      model_dir, builders.Dense("a"), builders.Dense("b", 3), **arguments)


class _Changed(adanet.subnetwork.Generator):
  """Makes other builders in a process that it was sent to."""

  def __init__(self, name):
    self._name = name

  def __reduce__(self):
    return _Changed, ("there",)

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    return [builders.Dense("both"), builders.Dense(self._name)]


class RefusalTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = _folder()

  def _refused(self, message, executor=None, input_fn=None, hooks=None,
               error=ValueError, **arguments):
    """Asserts that nothing is trained, and that one line says why."""
    with self.assertRaisesRegex(error, message) as raised:
      _estimator(self._model_dir, **arguments).train(
          input_fn or builders.input_fn(), hooks=hooks,
          executor=executor or engines.Here())
    self.assertNotIn("\n", str(raised.exception))
    self.assertIsNone(tf_compat.v1.train.latest_checkpoint(self._model_dir))

  def test_no_executor(self):
    self._refused("executor=4: expected .* interface of concurrent.futures.Ex",
                  executor=4, error=TypeError)

  @mock.patch.dict(os.environ, TF_CONFIG=_TF_CONFIG)
  def test_cluster(self):
    self._refused("executor=.*: expected None with the cluster in TF_CONFIG",
                  config=tf_compat.RunConfig())

  def test_hook_that_saves(self):
    self._refused(
        "hooks has .*CheckpointSaverHook.*save_checkpoints_steps", hooks=[
            tf_compat.v1.train.CheckpointSaverHook(
                self._model_dir, save_steps=2)])

  def test_input_fn_that_cannot_be_sent(self):
    lock = threading.Lock()

    def input_fn():
      with lock:
        return builders.input_fn()()

    self._refused("input_fn=.*input_fn.* cannot be sent to a worker of the "
                  "executor: .*lock.*Make in the function", input_fn=input_fn)

  def test_generator_that_cannot_be_sent(self):
    generator = builders.generator(builders.Dense("a"))
    generator.lock = threading.Lock()
    self._refused("generator=.*SimpleGenerator.* cannot be sent .*lock",
                  subnetwork_generator=generator)

  def test_other_builders_on_a_worker(self):
    with self.assertRaisesRegex(
        RuntimeError, r"iteration 0: the part '\w+' failed on .*makes the "
        r"builders \['both', 'there'\] on a worker of the executor, and "
        r"\['both', 'here'\] in the program that called train"):
      _estimator(self._model_dir, subnetwork_generator=_Changed("here")).train(
          builders.input_fn(), executor=engines.Here())


@level.gate
class HooksTest(absltest.TestCase):

  def test_a_part_saves_before_its_hooks_end(self):
    """Those of its builders ask for checkpoints of the model_dir."""
    train = tf_compat.v1.train
    model_dir = _folder()

    class End(train.SessionRunHook):

      def end(self, session):
        raise ValueError("the hook's own")

    estimator = searches.estimator(
        model_dir, *[builders.Hooked(name, chief_hooks=[
            train.CheckpointSaverHook(model_dir, save_steps=2)])
                     for name in "ab"], max_iterations=1)
    with self.assertRaisesRegex(RuntimeError, "the hook's own"):
      estimator.train(builders.input_fn(), hooks=[End()],
                      executor=engines.Here())
    self.assertIsNone(train.latest_checkpoint(model_dir))
    self.assertEqual(
        ["model.ckpt-0.index", "model.ckpt-2.index", "model.ckpt-4.index"] * 2,
        [os.path.basename(path) for path in sorted(glob.glob(
            os.path.join(model_dir, "**", "*.index"), recursive=True))])


if __name__ == "__main__":
  absltest.main()
