# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hooks of the settings."""

from adanet.tf_compat import v1 as tf


class RecordSteps(tf.train.SessionRunHook):
  """Appends each new value of the global step to a list; fetches nothing.

  AdaNet 0.8.0 calls hooks once even where nothing is left to train.
  """

  def __init__(self, steps):
    self._steps = steps

  def begin(self):
    self._global_step = tf.train.get_global_step()

  def after_create_session(self, session, coord):
    self._last = session.run(self._global_step)

  def after_run(self, run_context, run_values):
    step = run_context.session.run(self._global_step)
    if step != self._last:
      self._steps.append(int(step))
    self._last = step


class Record(tf.train.SessionRunHook):
  """Appends the value of a scalar tensor at each step to a list."""

  def __init__(self, tensor, values):
    self._tensor = tensor
    self._values = values

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(self._tensor)

  def after_run(self, run_context, run_values):
    self._values.append(float(run_values.results))


class StopAfter(tf.train.SessionRunHook):
  """Requests a stop after a number of calls of `after_run`."""

  def __init__(self, num_steps):
    self._num_steps = num_steps
    self._steps = 0

  def after_run(self, run_context, run_values):
    self._steps += 1
    if self._steps >= self._num_steps:
      run_context.request_stop()
