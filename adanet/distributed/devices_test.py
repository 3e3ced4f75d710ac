# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the placement by op name."""

import threading

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.distributed import devices
from adanet.distributed.testdata import golden
from adanet.testing import strategies
import numpy as np

_HASHES = golden.load("parameter_server_tasks")["op_name_hash"]


class OpNameHashStrategyTest(parameterized.TestCase):

  @parameterized.parameters(sorted(_HASHES.items()))
  def test_equals_reference(self, name, task_by_num_tasks):
    tasks = {
        num_tasks: devices.OpNameHashStrategy(int(num_tasks))(
            strategies.Op(name))
        for num_tasks in task_by_num_tasks
    }
    self.assertEqual(task_by_num_tasks, tasks)

  def test_keeps_the_name_of_the_reference(self):
    self.assertIs(devices.OpNameHashStrategy, devices._OpNameHashStrategy)

  @parameterized.parameters(
      (0, ValueError), (-3, ValueError), (np.int64(0), ValueError),
      (2.0, TypeError), ("2", TypeError), (True, TypeError), (None, TypeError))
  def test_rejects(self, num_tasks, error):
    with self.assertRaises(error) as raised:
      devices.OpNameHashStrategy(num_tasks)
    self.assertStartsWith(
        str(raised.exception), f"num_tasks={num_tasks!r}: expected ")


def _place(names, num_ps, **kwargs):
  """Returns name -> device of variables made below a replica_device_setter."""
  with tf_compat.v1.Graph().as_default():
    setter = tf_compat.v1.train.replica_device_setter(ps_tasks=num_ps, **kwargs)
    with tf_compat.v1.device(setter):
      return {
          name: tf_compat.v1.get_variable(name, shape=[]).device
          for name in names
      }


def _by_hash(names, num_ps):
  strategy = devices.OpNameHashStrategy(num_ps)
  return {n: f"/job:ps/task:{strategy(strategies.Op(n))}" for n in names}


def _by_creation(names, num_ps):
  return {n: f"/job:ps/task:{i % num_ps}" for i, n in enumerate(names)}


_NAMES = ["foo", "bar", "baz", "dense/kernel", "dense/bias"]


class ReplicaDeviceSetterTest(parameterized.TestCase):

  @parameterized.product(
      num_ps=[1, 2, 3, 6, 17], names=[_NAMES, _NAMES[::-1], _NAMES[1:4]])
  def test_as_ps_strategy(self, num_ps, names):
    placed = _place(
        names, num_ps, ps_strategy=devices.OpNameHashStrategy(num_ps))
    self.assertEqual(_by_hash(names, num_ps), placed)


class MonkeyPatchTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    # Creation order and hash differ, so that either shows.
    self.assertNotEqual(_by_creation(_NAMES, 3), _by_hash(_NAMES, 3))

  def assert_patched(self):
    self.assertEqual(_by_hash(_NAMES, 3), _place(_NAMES, 3))

  def assert_not_patched(self):
    self.assertEqual(_by_creation(_NAMES, 3), _place(_NAMES, 3))

  def test_only_inside(self):
    self.assert_not_patched()
    with devices.monkey_patch_default_variable_placement_strategy():
      with devices.monkey_patch_default_variable_placement_strategy():
        self.assert_patched()
      self.assert_patched()
    self.assert_not_patched()

  def test_after_an_exception(self):
    with self.assertRaisesRegex(KeyError, "mine"):
      with devices.monkey_patch_default_variable_placement_strategy():
        raise KeyError("mine")
    self.assert_not_patched()

  def test_a_given_strategy_wins(self):
    with devices.monkey_patch_default_variable_placement_strategy():
      placed = _place(_NAMES, 3, ps_strategy=lambda op: 2)
    self.assertEqual({n: "/job:ps/task:2" for n in _NAMES}, placed)

  def test_no_ps(self):
    with devices.monkey_patch_default_variable_placement_strategy():
      self.assertIsNone(tf_compat.v1.train.replica_device_setter(ps_tasks=0))

  def test_overlapping_threads(self):
    is_open, may_close = threading.Event(), threading.Event()

    def hold():
      with devices.monkey_patch_default_variable_placement_strategy():
        is_open.set()
        may_close.wait()

    holder = threading.Thread(target=hold)
    with devices.monkey_patch_default_variable_placement_strategy():
      holder.start()
      is_open.wait()
    self.assert_patched()
    may_close.set()
    holder.join()
    self.assert_not_patched()


if __name__ == "__main__":
  absltest.main()
