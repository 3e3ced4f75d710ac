# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that interrupted training reads the input as uninterrupted training."""

import contextlib
import functools
import os
import signal
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import searches
from adanet.testing import variables
from adanet.training import arrays
from adanet.training import input_position
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


def _ending():
  return _dataset().shuffle(_ROWS, seed=3).batch(6)


def _generator():

  def rows():
    for i in range(10**6):
      yield _X[i % _ROWS], _Y[i % _ROWS]

  v1 = tf_compat.v1
  return tf_compat.v2.data.Dataset.from_generator(
      rows, (v1.float32, v1.float32), ([2], [1])).batch(3).map(
          lambda x, y: ({"x": x}, y))


def _nested(seed):
  """Shuffles in a function of the dataset."""
  data = tf_compat.v2.data.Dataset
  return data.range(3).repeat().interleave(
      lambda _: _dataset().shuffle(_ROWS, seed=seed), cycle_length=2).shuffle(
          9, seed=5).batch(4)


_UNSEEDED = adanet.inputs.numpy_input_fn(
    {"x": _X}, _Y, batch_size=3, num_epochs=None, shuffle=True)

# Inputs of the package, which read nothing again.
_ARRAYS = {
    "without_end": adanet.inputs.numpy_input_fn(
        {"x": _X}, _Y, batch_size=3, num_epochs=None, shuffle=True, seed=2),
    # Nine batches, of which batch 4 has rows of two epochs, and the last is
    # smaller. The seed is that of the config.
    "epochs": adanet.inputs.numpy_input_fn(
        {"x": _X}, _Y, batch_size=9, num_epochs=2, shuffle=True),
    "in_order": adanet.inputs.numpy_input_fn(
        {"x": _X}, _Y, batch_size=6, num_epochs=1, shuffle=False),
    "called": lambda: adanet.inputs.numpy_input_fn(
        {"x": _X}, _Y, batch_size=3, num_epochs=None, shuffle=True, seed=2)(),
    # The seed is that of the config, which the graph has.
    "called_without_seed": lambda: adanet.inputs.numpy_input_fn(
        {"x": _X}, _Y, batch_size=3, num_epochs=None, shuffle=True)(),
    "one_batch": lambda: ({"x": _X}, _Y),
}

_INPUTS = {
    "shuffled": _shuffled,
    "random_map": _with_random_map,
    "tensors": _tensors,
    "queue": _queue,
    "generator": _generator,
    "changed_arrays": lambda: _ARRAYS["without_end"]().map(
        lambda x, y: (x, 2. * y)),
}


_SHORT = dict(max_iterations=1, max_iteration_steps=7)


class _CutOff(Exception):
  """Something that ends a program."""


class _Taking(tf_compat.v1.train.SessionRunHook):
  """Takes a batch for itself at the beginning, and after each third step."""

  def begin(self):
    # The only one of this graph: where the input is, and what it gives.
    self._step = tf_compat.v1.train.get_global_step()
    self._batch = tf_compat.v1.get_default_graph().get_tensor_by_name(
        "adanet_input/Identity:0")

  def after_create_session(self, session, coord):
    session.run(self._batch)

  def after_run(self, run_context, run_values):
    if not run_context.session.run(self._step) % 3:
      run_context.session.run(self._batch)


class _CuttingOff(tf_compat.v1.train.SessionRunHook):
  """Cuts training off at some steps, each once, wherever it runs."""

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


def _folder():
  return tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())


def _config(save_checkpoints_steps=3, **arguments):
  return tf_compat.RunConfig(
      tf_random_seed=1, save_checkpoints_steps=save_checkpoints_steps,
      **arguments)


def _estimator(model_dir, max_iterations=2, max_iteration_steps=10,
               networks=1, **config):
  return searches.estimator(
      # "a" is 0 for all features here, whatever its input is.
      model_dir, *[builders.Dense("b", 3), builders.Dense("a")][:networks],
      max_iterations=max_iterations, max_iteration_steps=max_iteration_steps,
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      config=_config(**config))


def _pool(model_dir):
  """Returns an estimator of which one candidate has an input of its own."""

  def linear(features):
    v1 = tf_compat.v1
    return v1.matmul(features["x"], v1.get_variable(
        "weights", [2, 1], initializer=v1.ones_initializer()))

  return adanet.AutoEnsembleEstimator(
      adanet.heads.RegressionHead(), {
          "bagged": adanet.AutoEnsembleSubestimator(linear, _with_random_map),
          "other": linear}, 9, max_iterations=1, model_dir=model_dir,
      config=_config())


@functools.lru_cache(maxsize=None)
def _never_cut_off():
  """Returns the model_dir of a search on `_shuffled`. Nothing may change it."""
  return _estimator(_folder()).train(_shuffled).model_dir


class _Dropping(builders.Dense):
  """A network with dropout."""

  def build_subnetwork(self, features, *args, **kwargs):
    features = {"x": tf_compat.v1.nn.dropout(
        features["x"], rate=.5, name="dropout")}
    return super().build_subnetwork(features, *args, **kwargs)


class ResumedInputTest(parameterized.TestCase):

  def _train(self, input_fn, cuts=(), ways=(None,), hooks=(), make=_estimator,
             **arguments):
    """Trains until no more is to do; returns the model_dir.

    Args:
      input_fn: a function.
      cuts: at which steps to cut off.
      ways: the executors to go on with, in turn.
      hooks: list of hooks.
      make: returns the estimator of a model_dir.
      **arguments: others for it.
    """
    # TensorFlow reads the path of a checkpoint as a pattern.
    model_dir, cut_off = os.path.join(_folder(), "lr[0.1]"), _folder()
    for i in range(3 * len(cuts) + 1):
      try:
        make(model_dir, **arguments).train(
            input_fn, hooks=[*hooks, _CuttingOff(cut_off, cuts)],
            executor=ways[i % len(ways)])
        break
      except (_CutOff, adanet.PartError) as error:
        self.assertIn("cut off", str(error))
    self.assertLen(os.listdir(cut_off), len(cuts))
    self.assertFalse(os.path.exists(os.path.join(model_dir, "input.json")))
    return model_dir

  def _assert_same(self, expected, actual):
    variables.assert_equal(
        variables.latest(expected), variables.latest(actual))

  @parameterized.parameters(*level.first([(name,) for name in _INPUTS]))
  def test_every_input(self, name):
    self._assert_same(self._train(_INPUTS[name], **_SHORT),
                      self._train(_INPUTS[name], (5,), **_SHORT))

  @parameterized.parameters(*level.first([(name,) for name in _ARRAYS]))
  def test_arrays_are_not_read_again(self, name):
    search = dict(max_iterations=1, max_iteration_steps=10)
    expected = self._train(_ARRAYS[name], **search)
    with mock.patch.object(arrays.Order, "batch", autospec=True,
                           side_effect=arrays.Order.batch) as batch, \
        mock.patch.object(input_position.reporter, "log_or_print") as say:
      actual = self._train(_ARRAYS[name], (5,), **search)
    self._assert_same(expected, actual)
    say.assert_not_called()
    count = {"epochs": 9, "in_order": 7}.get(name, 10)
    # The checkpoint of step 3 is the last before the interruption.
    self.assertEqual([*range(5), *range(3, count)],
                     [call[0][1] for call in batch.call_args_list])

  def test_says_what_is_read_again(self):
    model_dir = _folder()
    hook = _CuttingOff(_folder(), [8])
    with self.assertRaises(_CutOff):
      _estimator(model_dir).train(_shuffled, hooks=[hook])
    with mock.patch.object(input_position.reporter, "log_or_print") as say:
      _estimator(model_dir).train(_shuffled, max_steps=8)
    before, after = (call[0][1] for call in say.call_args_list)
    self.assertEqual(
        "Reading 6 input batches again, to resume after them. "
        "RunConfig(rereads_input=False) restarts the input instead.", before)
    self.assertRegex(after, r"^Reading again took \d+\.\d s\.$")

  @level.gate
  def test_every_way(self):
    self._assert_same(_never_cut_off(), self._train(
        _shuffled, (2, 5, 17), [None, engines.Here()]))

  @level.gate
  def test_stop_while_it_is_read_again(self):
    model_dir = _folder()
    hook = _CuttingOff(_folder(), [8])
    with self.assertRaises(_CutOff):
      _estimator(model_dir).train(_shuffled, hooks=[hook])

    def stopping():
      """Asks for a stop with the third batch."""
      count = iter(range(10**6))

      def ask(unused_row):
        if next(count) == 2:
          os.kill(os.getpid(), signal.SIGINT)
        return np.float32(0.)

      v1 = tf_compat.v1
      return _shuffled().map(lambda x, y: (
          {"x": x["x"] + v1.reshape(v1.py_func(ask, [0], v1.float32), [])}, y))

    with self.assertRaises(KeyboardInterrupt):
      _estimator(model_dir).train(stopping)
    self.assertEndsWith(
        tf_compat.v1.train.latest_checkpoint(model_dir), "model.ckpt-6")
    _estimator(model_dir).train(_shuffled)
    self._assert_same(_never_cut_off(), model_dir)

  @level.gate
  def test_hook_that_takes_batches(self):
    self._assert_same(
        self._train(_shuffled, hooks=[_Taking()], **_SHORT),
        self._train(_shuffled, (5,), hooks=[_Taking()], **_SHORT))

  @level.gate
  def test_input_of_a_candidate(self):
    self._assert_same(self._train(_shuffled, make=_pool),
                      self._train(_shuffled, (8,), make=_pool))

  @level.gate
  def test_input_that_ends(self):
    search = dict(max_iterations=1)
    self._assert_same(self._train(_ending, **search),
                      self._train(_ending, (5,), **search))

  @level.gate
  def test_begins_anew_if_it_is_not_to_be_read_again(self):
    with self.assertRaises(AssertionError):
      self._assert_same(_never_cut_off(), self._train(
          _shuffled, (5,), rereads_input=False))

  @parameterized.parameters(None, engines.Here())
  @level.gate
  def test_begins_anew_where_training_ended_as_asked(self, executor):
    seen = []
    for cut_off in (), (2,):
      model_dir = _folder()
      estimator = _estimator(model_dir, max_iterations=1, max_iteration_steps=8)
      estimator.train(_shuffled, max_steps=4, executor=executor)
      self.assertNotIn("input.json", os.listdir(model_dir))
      seen.append(variables.latest(model_dir))
      hook = _CuttingOff(_folder(), [6] if cut_off else [])
      for _ in range(1 + len(cut_off)):
        with contextlib.suppress(_CutOff, adanet.PartError):
          estimator.train(_shuffled, hooks=[hook], executor=executor)
      seen.append(variables.latest(model_dir))
    for before, after in zip(seen[:2], seen[2:]):
      for name, value in before.items():
        np.testing.assert_array_equal(value, after[name], name)

  @level.gate
  def test_names_what_differs(self):
    model_dir = _folder()
    make = lambda: searches.estimator(
        model_dir, _Dropping("a"), max_iterations=1, max_iteration_steps=8,
        config=_config())
    hook = _CuttingOff(_folder(), [5])
    with self.assertRaises(_CutOff):
      make().train(_generator, hooks=[hook])
    with self.assertLogs(level="WARNING") as logs:
      make().train(_generator, hooks=[hook])
    lines = [line for line in logs.output if "uninterrupted" in line]
    self.assertLen(lines, 1)
    self.assertRegex(
        lines[0], "Resumed iteration 0 after 3 input batches. Results may "
        "differ from an uninterrupted run because of random ops, .*"
        r"\(adanet/iteration_0/subnetwork_t0_a/dropout.*\) and Python functions "
        r"of the input, .*\(.+\)\.")

  @parameterized.parameters(*level.first([
      (lambda: _UNSEEDED().map(lambda x, y: (x, 2. * y)), True),
      (lambda: _nested(None), True), (lambda: _nested(3), False),
      (_shuffled, False),
      (lambda: _dataset().shuffle(_ROWS).repeat().batch(4), True),
      (lambda: _dataset().apply(
          tf_compat.v1.data.experimental.shuffle_and_repeat(_ROWS)).batch(4),
       True)], 3))
  def test_names_a_shuffle_without_a_seed(self, input_fn, is_named):
    model_dir = _folder()
    train = lambda *hooks: searches.estimator(
        model_dir, builders.Dense("a"), max_iterations=1,
        config=tf_compat.RunConfig(save_checkpoints_steps=2)).train(
            input_fn, hooks=hooks)
    with self.assertRaises(_CutOff):
      train(_CuttingOff(_folder(), [3]))
    with self.assertLogs() as logs:
      train()
    lines = [line for line in logs.output if "uninterrupted" in line]
    self.assertLen(lines, is_named)
    for line in lines:
      self.assertRegex(
          line, r"because of a shuffle of the input without a seed \(\w+\)\. "
          "Give the shuffle a seed, or the RunConfig a tf_random_seed")

  @parameterized.parameters(
      lambda: _dataset().batch(20), adanet.inputs.numpy_input_fn(
          {"x": _X}, _Y, batch_size=20, shuffle=False))
  @level.gate
  def test_input_that_has_changed(self, input_fn):
    model_dir = _folder()
    hook = _CuttingOff(_folder(), [8])
    with self.assertRaises(_CutOff):
      _estimator(model_dir).train(_shuffled, hooks=[hook])
    with self.assertLogs(level="WARNING") as logs:
      _estimator(model_dir).train(input_fn)
    self.assertRegex(
        "\n".join(logs.output), "ended after 2 of the 6 batches before")


if __name__ == "__main__":
  absltest.main()
