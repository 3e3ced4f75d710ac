# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Ctrl-C and SIGTERM to a program that trains in one process."""

import errno
import os
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet import waiting
from adanet.core import model_dir as model_dir_lib
from adanet.testing import builders
from adanet.testing import searches
from adanet.training import saving

# A user's program.
_PROGRAM = """
import signal, sys
from adanet.engines import local_test
from adanet.testing import builders
local_test.make_estimator(sys.argv[1]).train(
    builders.input_fn(), hooks=[local_test.SignalHook(signal.SIGINT, 5)])
print("not reached")
"""


class SignalHook(tf_compat.v1.train.SessionRunHook):
  """Sends this process a signal in a run."""

  def __init__(self, number, run):
    self._number = number
    self._runs_left = run

  def before_run(self, run_context):
    self._runs_left -= 1
    if not self._runs_left:
      os.kill(os.getpid(), self._number)


class _SignalListener(tf_compat.v1.train.CheckpointSaverListener):
  """Sends this process a signal when it is about to save a step."""

  def __init__(self, step):
    self._step = step

  def before_save(self, session, global_step_value):
    if global_step_value == self._step:
      os.kill(os.getpid(), signal.SIGTERM)


def make_estimator(model_dir):
  """Returns a search that goes on for long."""
  return adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(builders.Dense("a"), builders.Dense("b")),
      max_iteration_steps=1000, max_iterations=3, model_dir=model_dir)


@level.gate
class FullDiskTest(absltest.TestCase):

  @mock.patch.object(waiting, "_SPACE_SECS", .01)
  def test_waits_for_space(self):
    tries = [OSError(errno.ENOSPC, "No space left on device")] * 2
    mark_stopped = model_dir_lib.ModelDir.mark_stopped

    def try_to_write(*args, **kwargs):
      if tries:
        raise tries.pop()
      return mark_stopped(*args, **kwargs)

    with mock.patch.object(
        model_dir_lib.ModelDir, "mark_stopped", try_to_write):
      model_dir = searches.estimator(
          self.create_tempdir().full_path, builders.Dense("a"),
          max_iterations=1).train(builders.input_fn()).model_dir
    self.assertEmpty(tries)
    self.assertLen(adanet.report(model_dir).iterations, 1)


class SignalTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _global_step(self):
    return make_estimator(self._model_dir).get_variable_value("global_step")

  def _interrupt(self, error, **arguments):
    """Trains until a signal comes in the 5th step; returns the error."""
    with self.assertRaises(error) as caught:
      make_estimator(self._model_dir).train(
          builders.input_fn(), hooks=[SignalHook(signal.SIGINT, 5)],
          **arguments)
    return caught.exception

  @level.gate
  def test_ctrl_c_ends_a_program_without_traceback(self):
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, self._model_dir],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(
            filter(None, sys.path))),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=200, check=False)
    self.assertEqual(130, done.returncode, done.stdout)
    self.assertNotIn("Traceback", done.stdout)
    self.assertNotIn("not reached", done.stdout)
    self.assertIn("Stopped: step 5 of iteration 0 is saved, and training goes "
                  "on from there.", done.stdout)
    self.assertEqual(5, self._global_step())

  @parameterized.parameters(*level.first(
      [(signal.SIGINT, 130), (signal.SIGTERM, 143)]))
  def test_signal_while_it_evaluates(self, number, status):
    with self.assertRaises(SystemExit) as caught:
      adanet.train_and_evaluate(
          make_estimator(self._model_dir),
          adanet.TrainSpec(builders.input_fn(), max_steps=3),
          adanet.EvalSpec(builders.input_fn(), hooks=[SignalHook(number, 5)]))
    self.assertEqual(status, caught.exception.code)

  @level.gate
  def test_signal_while_the_last_checkpoint_is_saved(self):
    with self.assertRaises(SystemExit):
      make_estimator(self._model_dir).train(
          builders.input_fn(), max_steps=4,
          saving_listeners=[_SignalListener(4)])
    self.assertEqual(4, self._global_step())

  @level.gate
  def test_signal_while_the_last_checkpoint_waits_for_space(self):
    def is_full(saver, session, path):
      os.kill(os.getpid(), signal.SIGTERM)
      raise saving.DiskFullError("full")

    with mock.patch.object(
        saving.CheckpointSaver, "_write", is_full), self.assertRaises(
            SystemExit):
      make_estimator(self._model_dir).train(builders.input_fn(), max_steps=4)

  @level.gate
  def test_program_that_catches_it(self):
    self._interrupt(KeyboardInterrupt)
    estimator = make_estimator(self._model_dir)
    estimator.train(builders.input_fn(), steps=2)
    self.assertEqual(7, self._global_step())
    self.assertEqual(7, estimator.evaluate(
        builders.input_fn(1))["global_step"])

  def test_interactive_python_goes_on(self):
    with mock.patch.object(sys, "ps1", ">>> ", create=True):
      error = self._interrupt(KeyboardInterrupt)
    self.assertNotIsInstance(error, SystemExit)  # It would end Python.
    self.assertEqual(5, self._global_step())

  def test_nothing_is_saved_before_the_graph_is_built(self):
    def input_fn():
      os.kill(os.getpid(), signal.SIGINT)
      self.fail("not reached")

    with self.assertLogs(level="INFO") as logs, \
         self.assertRaises(KeyboardInterrupt):
      make_estimator(self._model_dir).train(input_fn)
    self.assertIn("Stopped before the first checkpoint: nothing is saved.",
                  logs.output[-1])


if __name__ == "__main__":
  absltest.main()
