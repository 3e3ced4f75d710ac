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


class Watch(tf.train.SessionRunHook):
  """Tells `see` of each call, with the global step where there is a session."""

  def __init__(self, see):
    self._see = see

  def begin(self):
    self._global_step = tf.train.get_global_step()
    self._see("begin")

  def after_create_session(self, session, coord):
    self._see("after_create_session", session.run(self._global_step))

  def after_run(self, run_context, run_values):
    self._see("after_run", run_context.session.run(self._global_step))

  def end(self, session):
    self._see("end", session.run(self._global_step))


class Listener(tf.train.CheckpointSaverListener):
  """Tells `see` of each call, with the global step where there is one."""

  def __init__(self, see, name):
    self._see = see
    self._name = name

  def begin(self):
    self._see(self._name + ": begin")

  def before_save(self, session, global_step_value):
    self._see(self._name + ": before_save", global_step_value)

  def after_save(self, session, global_step_value):
    self._see(self._name + ": after_save", global_step_value)

  def end(self, session, global_step_value):
    self._see(self._name + ": end", global_step_value)


class Wrapped(tf.train.SessionRunHook):
  """A hook in another one, which hides its class."""

  def __init__(self, hook):
    self.begin = hook.begin
    self.after_create_session = hook.after_create_session
    self.before_run = hook.before_run
    self.after_run = hook.after_run
    self.end = hook.end


class StopAfter(tf.train.SessionRunHook):
  """Requests a stop after a number of calls of `after_run`."""

  def __init__(self, num_steps):
    self._num_steps = num_steps
    self._steps = 0

  def after_run(self, run_context, run_values):
    self._steps += 1
    if self._steps >= self._num_steps:
      run_context.request_stop()
