# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of sessions that are made ready, on graphs of a few variables."""

import contextlib
import gc
import os
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.training import sessions
import numpy as np

v1 = tf_compat.v1
_RATE = "adanet/iteration_0/subnetwork_t0_a/SGD/learning_rate"


def _variable(name, value=0., shape=(2,), **arguments):
  return v1.get_variable(name, shape, initializer=v1.constant_initializer(
      value), **arguments)


def _value(name):
  variable, = [v for v in v1.global_variables() if v.op.name == name]
  return variable


class SessionsTest(parameterized.TestCase):

  @contextlib.contextmanager
  def _graph(self, **variables):
    """Makes variables of a name and a value in a graph; yields a session."""
    with v1.Graph().as_default(), v1.Session() as session:
      for name, value in variables.items():
        _variable(name.replace("__", "/"), value)
      yield session

  def _saved(self, **variables):
    """Returns a checkpoint of variables."""
    with self._graph(**variables) as session:
      session.run(v1.global_variables_initializer())
      return v1.train.Saver().save(session, os.path.join(
          self.create_tempdir().full_path, "model.ckpt"), 3)

  def _set(self, session, checkpoint, new=None):
    """Gives the variables of the graph their values."""
    made = sessions.Initializers(
        checkpoint and sessions.Restorer(checkpoint, new), [], [])
    made.set_variables(session)
    return made

  @parameterized.parameters((False, 5.), (True, 7.))
  def test_values(self, is_restored, expected):
    checkpoint = self._saved(a=7.) if is_restored else None
    with self._graph(a=5.) as session:
      self._set(session, checkpoint)
      self.assertEqual([expected] * 2, session.run(_value("a")).tolist())

  @parameterized.parameters(
      (False, None, True), (True, None, False), (True, "b", True))
  def test_initial_values_that_are_needed(self, is_restored, new, expected):
    computed = []

    def value():
      computed.append(1.)
      return np.float32(1.)

    checkpoint = self._saved(a=7.) if is_restored else None
    with v1.Graph().as_default(), v1.Session() as session:
      initial = v1.py_func(value, [], v1.float32)
      v1.get_variable("a", use_resource=True,
                      initializer=v1.reshape(initial, [1]) + [0., 0.])
      if new:
        _variable(new, 1.)
      self._set(session, checkpoint, new)
      self.assertEqual(expected, bool(computed))
      self.assertEqual([7., 7.] if is_restored else [1., 1.],
                       session.run(_value("a")).tolist())

  def test_what_a_new_iteration_adds_is_not_restored(self):
    checkpoint = self._saved(old=7., adanet__iteration_1__a=8.)
    with self._graph(old=5., adanet__iteration_1__a=1.,
                     of_an_optimizer=2.) as session:
      self._set(session, checkpoint, "adanet/iteration_1/")
      self.assertEqual([7., 1., 2.], [
          value[0] for value in session.run(v1.global_variables())])

  @parameterized.parameters(None, "adanet/iteration_1/")
  def test_variable_that_a_checkpoint_lacks(self, new):
    with self._graph(adanet__iteration_0__b=1.):
      with self.assertRaisesRegex(
          checkpoints.CheckpointError, "has no variable "
          "'adanet/iteration_0/b': another search wrote it. Use the builders"):
        sessions.Restorer(self._saved(a=7.), new)

  @parameterized.parameters(
      (".index", True), (".data-00000-of-00001", True), (".index", False))
  def test_checkpoint_is_deleted_before_it_is_restored(self, ending, by_a_job):
    checkpoint = self._saved(a=7.)
    with self._graph(a=5.) as session:
      restorer = sessions.Restorer(checkpoint)
      if by_a_job:
        folder = os.path.dirname(checkpoint)
        shutil.copy(checkpoint + ".index",
                    os.path.join(folder, "model.ckpt-4.index"))
        v1.train.update_checkpoint_state(
            folder, os.path.join(folder, "model.ckpt-4"))
      os.remove(checkpoint + ending)
      with self.assertRaises((ValueError, v1.errors.OpError)) as raised:
        restorer.restore(session)
      self.assertEqual(
          by_a_job, isinstance(raised.exception, checkpoints.DeletedError))

  def test_moving_average_of_another_version(self):
    with self._graph(t0_a__adanet_loss__biased=1.):
      sessions.Restorer(self._saved(a=7.))

  def test_another_shape(self):
    checkpoint = self._saved(a=7.)
    with v1.Graph().as_default():
      _variable("a", shape=(3,))
      with self.assertRaisesRegex(
          checkpoints.CheckpointError, r"variable 'a' has shape \[2\], and the "
          r"search makes it with \(3,\)"):
        sessions.Restorer(checkpoint)

  @parameterized.parameters((False, True), (True, True))
  def test_parts_of_a_variable(self, saved_in_parts, has_parts):
    def make(in_parts):
      with v1.variable_scope("", partitioner=v1.fixed_size_partitioner(
          2) if in_parts else None):
        return v1.convert_to_tensor(v1.get_variable(
            "a", initializer=v1.range(4.)))

    with v1.Graph().as_default(), v1.Session() as session:
      make(saved_in_parts)
      session.run(v1.global_variables_initializer())
      checkpoint = v1.train.Saver().save(session, os.path.join(
          self.create_tempdir().full_path, "model.ckpt"))
    with v1.Graph().as_default(), v1.Session() as session:
      value = make(has_parts)
      self._set(session, checkpoint)
      np.testing.assert_array_equal([0., 1., 2., 3.], session.run(value))

  def test_learning_rate_that_the_checkpoint_keeps(self):
    with v1.Graph().as_default(), v1.Session() as session:
      _variable(_RATE, .5, [])
      session.run(v1.global_variables_initializer())
      checkpoint = v1.train.Saver().save(session, os.path.join(
          self.create_tempdir().full_path, "model.ckpt"))
    for rate, expected in ((.5, {}), (.25, {"t0_a": (.25, .5)})):
      with v1.Graph().as_default(), v1.Session() as session:
        _variable(_RATE, rate, [])
        self.assertEqual(expected, self._set(session, checkpoint).kept_rates)

  def test_unset_variables(self):
    with self._graph(a=1., b=2.) as session:
      made = sessions.Initializers(None, [], [])
      self.assertEqual(["a", "b"], made.unset_variables(session))
      session.run(_value("a").initializer)
      self.assertEqual(["b"], made.unset_variables(session))
      made.set_variables(session)
      self.assertEqual([], made.unset_variables(session))

  def test_local_state_and_input(self):
    with self._graph() as session:
      local = v1.get_local_variable("l", initializer=3.)
      own = v1.get_variable("own", initializer=0.)
      iterator = v1.data.make_initializable_iterator(
          v1.data.Dataset.range(5))
      batch = iterator.get_next()
      made = sessions.Initializers(
          None, [v1.assign(own, 9.)], [iterator.initializer])
      made.set_variables(session)
      with made.started(session) as coordinator:
        self.assertEqual((3., 9., 0), session.run((local, own, batch)))
        self.assertFalse(coordinator.should_stop())
      self.assertTrue(coordinator.should_stop())

  def _make_session(self):
    """Returns a session with a tensor "read", and its initializers."""
    session = sessions.local_session(None)
    v1.identity(_variable("a", 1.), name="read")
    return session, sessions.Initializers(None, [], [])

  def _assert_closed(self, session):
    with self.assertRaisesRegex(RuntimeError, "closed"):
      session.run("read:0")

  @parameterized.parameters("close", "drop")
  def test_open_session(self, how):
    with v1.Graph().as_default() as graph:
      session, initializers = self._make_session()
      opened = sessions.OpenSession(session, initializers, {})
    self.assertIsNot(graph, v1.get_default_graph())
    with opened.entered() as entered:
      self.assertIs(graph, v1.get_default_graph())
      self.assertEqual([1., 1.], entered.run("read:0").tolist())
    if how == "drop":
      del opened
      gc.collect()
    else:
      opened.close()
    self._assert_closed(session)

  def test_session_that_cannot_be_opened(self):
    with v1.Graph().as_default():
      session, initializers = self._make_session()
      initializers.started = None
      try:
        sessions.OpenSession(session, initializers, {})
        self.fail("not reached")
      except TypeError:
        self._assert_closed(session)

  def test_config_of_a_local_session(self):
    given = v1.ConfigProto(log_device_placement=True)
    for config, expected in ((None, tf_compat.default_session_config()),
                             (given, given)):
      with mock.patch.object(v1, "Session") as session:
        sessions.local_session(config)
      self.assertEqual(mock.call(config=expected), session.call_args)

  def test_filters_of_a_cluster_are_not_for_a_local_session(self):
    with v1.Graph().as_default():
      sessions.local_session(v1.ConfigProto(device_filters=["/job:ps"])).close()


if __name__ == "__main__":
  absltest.main()
