# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that training which was cut off sees the input as if it had not been."""

import os
import re
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import searches
import numpy as np

_ROWS = 40
_X = np.random.RandomState(0).uniform(size=(_ROWS, 2)).astype("float32")
_Y = _X.sum(1, keepdims=True) ** 2


def _dataset():
  return tf_compat.v2.data.Dataset.from_tensor_slices(({"x": _X}, _Y))


def _shuffled():
  return _dataset().shuffle(_ROWS, seed=3).repeat().batch(4).prefetch(2)


def _with_random_map():
  v1 = tf_compat.v1
  return _dataset().repeat().batch(3).map(lambda x, y: (
      {"x": x["x"] + v1.random_uniform([], seed=5)}, y))


def _tensors():
  """Returns tensors of an iterator of its own, with a random op after it."""
  v1 = tf_compat.v1
  x, y = v1.data.make_one_shot_iterator(
      _dataset().repeat().shuffle(_ROWS, seed=3).batch(4)).get_next()
  return {"x": x["x"] * v1.random_uniform([], seed=5)}, y


def _queue():
  v1 = tf_compat.v1
  row = v1.train.range_input_producer(_ROWS, shuffle=False).dequeue()
  x, y = v1.train.batch([v1.gather(_X, row), v1.gather(_Y, row)], 3)
  return {"x": x}, y


def _generator():

  def rows():
    for i in range(10**6):
      yield _X[i % _ROWS], _Y[i % _ROWS]

  v1 = tf_compat.v1
  return tf_compat.v2.data.Dataset.from_generator(
      rows, (v1.float32, v1.float32), ([2], [1])).batch(3).map(
          lambda x, y: ({"x": x}, y))


_INPUTS = {
    "shuffled": _shuffled,
    "random_map": _with_random_map,
    "tensors": _tensors,
    "queue": _queue,
    "generator": _generator,
    "numpy": adanet.inputs.numpy_input_fn(
        {"x": _X}, _Y, batch_size=3, num_epochs=None, shuffle=True, seed=2),
    "one_batch": lambda: ({"x": _X}, _Y),
}


class _CutOff(Exception):
  """Something that ends a program."""


class _CuttingOff(tf_compat.v1.train.SessionRunHook):
  """Cuts training off at some steps, each once, wherever it runs.

  It takes a batch for itself now and then.
  """

  def __init__(self, folder, steps):
    self._folder, self._steps = folder, steps

  def begin(self):
    self._step = tf_compat.v1.train.get_global_step()

  def after_run(self, run_context, run_values):
    step = int(run_context.session.run(self._step))
    path = os.path.join(self._folder, str(step))
    if step in self._steps and not os.path.exists(path):
      open(path, "w").close()  # pylint: disable=consider-using-with
      raise _CutOff("cut off")


def _variables(model_dir):
  """Returns the values of all variables of the last checkpoint, by name."""
  reader = tf_compat.v1.train.NewCheckpointReader(
      tf_compat.v1.train.latest_checkpoint(model_dir))
  return {name: reader.get_tensor(name)
          for name in reader.get_variable_to_shape_map()}


def _folder():
  return tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())


def _estimator(model_dir, **config):
  return searches.estimator(
      model_dir, builders.Dense("a"), builders.Dense("b", 3),
      max_iteration_steps=10, config=tf_compat.RunConfig(
          tf_random_seed=1, save_checkpoints_steps=3, **config))


class ResumedInputTest(parameterized.TestCase):

  def _train(self, input_fn, cuts=(), ways=(None,), make=_estimator, **asked):
    """Trains until no more is to do; returns the model_dir.

    Args:
      input_fn: a function.
      cuts: at which steps to cut off.
      ways: the executors to go on with, in turn.
      make: returns the estimator of a model_dir.
      **asked: other arguments of `train`.
    """
    model_dir, cut_off = _folder(), _folder()
    for i in range(3 * len(cuts) + 1):
      try:
        make(model_dir).train(
            input_fn, hooks=[_CuttingOff(cut_off, cuts)],
            executor=ways[i % len(ways)], **asked)
        break
      except (_CutOff, adanet.PartError) as error:
        self.assertIn("cut off", str(error))
    self.assertLen(os.listdir(cut_off), len(cuts))
    self.assertFalse(os.path.exists(os.path.join(model_dir, "input.json")))
    return model_dir

  def _assert_same(self, expected, actual):
    expected, actual = _variables(expected), _variables(actual)
    self.assertEqual(sorted(expected), sorted(actual))
    for name, value in expected.items():
      np.testing.assert_array_equal(value, actual[name], name)

  @parameterized.product(name=sorted(_INPUTS), way=("alone", "executor"))
  def test_every_input(self, name, way):
    ways = [engines.Here() if way == "executor" else None]
    self._assert_same(self._train(_INPUTS[name]), self._train(
        _INPUTS[name], (2, 5, 8, 17), ways))

  def test_goes_on_in_another_way(self):
    ways = [None, engines.Here()]
    self._assert_same(self._train(_shuffled), self._train(
        _shuffled, (2, 5, 8, 17), ways))


if __name__ == "__main__":
  absltest.main()
