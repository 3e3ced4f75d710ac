# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading checkpoints, whole and broken ones."""

import functools
import os
import pickle
import re
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.testing import variables
from adanet.tf_compat import checkpoint_file
import numpy as np

_A = "adanet/iteration_0/subnetwork_t0_a/"
_B = "adanet/iteration_0/subnetwork_t0_b/"


def _save(folder, global_step=5, sharded=True):
  """Copies a checkpoint of variables of many kinds; returns its prefix."""
  before, name = os.path.split(_saved(global_step, sharded))
  for path in os.listdir(before):
    shutil.copy(os.path.join(before, path), folder)
  state = os.path.join(folder, "checkpoint")
  _write(state, _read(state).replace(before.encode(), folder.encode()))
  return os.path.join(folder, name)


@functools.lru_cache(maxsize=None)
def _saved(global_step, sharded):
  """Returns the prefix of a checkpoint, in a folder of its own."""
  folder = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
  tf = tf_compat.v1
  with tf.Graph().as_default(), tf.Session() as session:
    for name, value in (
        ("global_step", tf.constant(global_step, tf.int64)),
        ("current_iteration", tf.constant(1, tf.int32)),
        ("bool", tf.constant([True, False])),
        ("bfloat16", tf.cast(tf.constant([1., 2.]), tf.bfloat16)),
        ("empty", tf.zeros([0, 3])),
        ("string", tf.constant("abc")),
        ("strings", tf.constant(["a" * 200, "b"])),
        ("weights", tf.zeros([3, 5]))):
      tf.get_variable(name, initializer=value)
    with tf.variable_scope("scope"):
      # Each slot is stored with the shape of the whole, under its own name.
      parts = tf.get_variable("parts", [4, 5],
                              partitioner=tf.fixed_size_partitioner(2))
      tf.train.AdamOptimizer().minimize(
          tf.reduce_sum(tf.convert_to_tensor(parts)))
    session.run(tf.global_variables_initializer())
    return tf.train.Saver(sharded=sharded).save(
        session, os.path.join(folder, "model.ckpt"), global_step=global_step)


def _read(path):
  with open(path, "rb") as f:
    return f.read()


def _write(path, content):
  with open(path, "wb") as f:
    f.write(content)


class CheckpointsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def _assert_error(self, message, function, *args):
    with self.assertRaisesRegex(
        checkpoints.CheckpointError, message) as context:
      function(*args)
    self.assertNotIn("\n", str(context.exception))

  def _save_integers(self, name, **values):
    """Saves integers by name, with "__" for a slash; returns the checkpoint."""
    return variables.save(os.path.join(self._folder, name), {
        variable.replace("__", "/"): np.int64(value)
        for variable, value in values.items()})

  @parameterized.parameters(True, False)
  def test_whole_checkpoint(self, sharded):
    checkpoint = _save(self._folder, sharded=sharded)
    checkpoints.check_readable(checkpoint)
    self.assertEqual(1, checkpoints.integer(checkpoint, "current_iteration"))
    self.assertEqual(5, checkpoints.integer(checkpoint, "global_step"))

  def test_many_variables(self):
    checkpoint = os.path.join(self._folder, "model.ckpt")
    tf = tf_compat.v1
    number = 3000  # So many that their index has several blocks.
    with tf.Graph().as_default(), tf.Session() as session:
      session.run(tf.raw_ops.SaveV2(
          prefix=checkpoint, shape_and_slices=[""] * number,
          tensor_names=[f"{i:04}" + "x" * 200 for i in range(number)],
          tensors=[tf.constant(1.)] * number))
    path = checkpoint + ".data-00000-of-00001"
    content = _read(path)
    self.assertLen(content, 4 * number)
    checkpoints.check_readable(checkpoint)
    _write(path, content[:-1])
    self._assert_error("it is cut short.* have 11,999 bytes",
                       checkpoints.check_readable, checkpoint)

  def test_no_checkpoint(self):
    self.assertEqual(0, checkpoints.integer(None, "global_step"))
    self.assertIsNone(checkpoints.latest(self._folder))
    self._assert_error("^/nowhere/model.ckpt-1: ", checkpoints.check_readable,
                       "/nowhere/model.ckpt-1")

  @parameterized.parameters(".data-00000-of-00001", ".index")
  def test_cut_short_anywhere(self, extension):
    checkpoint = _save(self._folder)
    path = checkpoint + extension
    content = _read(path)
    for size in range(0, len(content), 31):
      _write(path, content[:size])
      self._assert_error("^" + checkpoint, checkpoints.check_readable,
                         checkpoint)
    _write(path, content[:-1])
    self._assert_error("^" + checkpoint, checkpoints.check_readable, checkpoint)

  @parameterized.named_parameters(
      ("of_something_else", "", lambda path: checkpoints.integer(path, "epoch"),
       "no variable 'epoch'"),
      ("cannot_be_read", "empty .data-00000-of-00001",
       lambda path: checkpoints.integer(path, "global_step"),
       "'global_step' cannot be read"),
      ("without_data", "remove .data-00000-of-00001",
       checkpoints.check_readable, r"only these are there: \[\].*No checkpoint "
       "in this folder is whole: restore one"),
      ("without_index", "remove .index",
       lambda path: checkpoints.latest(os.path.dirname(path)),
       "model.ckpt-5: the file 'checkpoint' names it"),
      ("nothing_is_named", "empty checkpoint",
       lambda path: checkpoints.latest(os.path.dirname(path)),
       "/checkpoint: it names no checkpoint"))
  def test_damaged(self, damage, read, message):
    checkpoint = _save(self._folder)
    how, _, file = damage.partition(" ")
    path = checkpoint + file if file.startswith(".") else os.path.join(
        self._folder, file)
    if how == "empty":
      _write(path, b"")
    elif how == "remove":
      os.remove(path)
    self._assert_error(message, read, checkpoint)

  def test_latest_in_a_folder_that_has_been_moved(self):
    _save(self._folder)
    moved = self._folder + "_moved"
    os.rename(self._folder, moved)
    self.assertEqual(
        os.path.join(moved, "model.ckpt-5"), checkpoints.latest(moved))

  def test_says_how_to_go_on_from_the_newest_whole_one(self):
    for step in (5, 10, 100, 200):
      checkpoint = _save(self._folder, step)
    for damaged in ("200.index", "100.data-00000-of-00001"):
      os.remove(os.path.join(self._folder, "model.ckpt-" + damaged))
    self._assert_error("is not there", checkpoints.latest, self._folder)
    self._assert_error("", checkpoints.check_readable, checkpoint)
    with self.assertRaises(checkpoints.CheckpointError) as raised:
      checkpoints.integer(checkpoint, "global_step")
    found = re.search(
        "The newest whole one in this folder is of step 10. To go on from it, "
        r"let this be the only line of (\S+): (.*)$", str(raised.exception))
    self.assertIsNotNone(found, str(raised.exception))
    _write(found.group(1), found.group(2).encode())
    self.assertEqual(os.path.join(self._folder, "model.ckpt-10"),
                     checkpoints.latest(self._folder))

  def test_newest_of_one_global_step(self):
    for number in (9, 10, 11):
      checkpoint = self._save_integers(
          f"model.ckpt-5.{number}", global_step=5, current_iteration=1,
          adanet__iteration_1__subnetwork_a__step=5,
          adanet__iteration_1__ensemble_a__step=number)
    os.remove(checkpoint + ".index")
    self._assert_error(': "model.ckpt-5.10"', checkpoints.latest, self._folder)

  @parameterized.named_parameters(
      ("index", ".index", "is not there"),
      ("data", ".data-00000-of-00001", "is incomplete"))
  def test_deleted_by_a_job(self, ending, state):
    """Its advice is not about the file "checkpoint", which is right."""
    checkpoint = _save(self._folder, 5)
    _save(self._folder, 10)
    os.remove(checkpoint + ending)
    reads = [
        functools.partial(checkpoints.values, checkpoint, ["global_step"]),
        functools.partial(checkpoints.integer, checkpoint, "global_step"),
        functools.partial(checkpoints.integers, checkpoint, "(global_step)"),
        functools.partial(checkpoints.not_finite, checkpoint, ["weights"]),
        functools.partial(checkpoints.check_readable, checkpoint),
        functools.partial(checkpoints.sums, checkpoint)]
    if ending == ".index":
      reads.append(functools.partial(checkpoints.digest, checkpoint))
    for read in reads:
      with self.assertRaises(checkpoints.DeletedError) as raised:
        read()
      self.assertEqual(checkpoint, raised.exception.checkpoint)
      self.assertEqual(
          f"{checkpoint} {state}: a job deletes its older checkpoints, and the "
          "latest one is model.ckpt-10. Read that one, or let the job keep "
          "more, by keep_checkpoint_max of its RunConfig",
          str(raised.exception))
    copied = pickle.loads(pickle.dumps(raised.exception))
    self.assertEqual(
        (str(raised.exception), checkpoint), (str(copied), copied.checkpoint))

  @parameterized.named_parameters(
      ("another_is_latest", 5, None, None),
      ("is_the_latest", 10, ".index", None),
      ("deleted", 5, ".index", 10),
      ("being_deleted", 5, ".data-00000-of-00001", 10))
  def test_successor(self, step, removed, expected):
    for each in (5, 10):
      _save(self._folder, each)
    checkpoint = os.path.join(self._folder, f"model.ckpt-{step}")
    if removed:
      os.remove(checkpoint + removed)
    self.assertEqual(
        expected and os.path.join(self._folder, f"model.ckpt-{expected}"),
        checkpoints.successor(checkpoint))

  def test_latest_one_is_broken_too(self):
    checkpoint = _save(self._folder, 5)
    _save(self._folder, 10)
    for name in os.listdir(self._folder):
      if name.endswith(".index"):
        os.remove(os.path.join(self._folder, name))
    self._assert_error("No checkpoint in this folder is whole",
                       checkpoints.check_readable, checkpoint)

  def test_error_that_is_not_the_checkpoints(self):
    checkpoint = _save(self._folder, 5)
    _save(self._folder, 10)
    with self.assertRaisesRegex(ValueError, "^mine$"):
      with checkpoints.explained(checkpoint):
        raise ValueError("mine")

  @parameterized.parameters((0, None), (1, None), (4, None), (5, "5"), (1, "x"))
  def test_read_latest(self, num_deleted, error):
    numbers = iter(range(1, 10))

    def read():
      number = next(numbers)
      if number <= num_deleted:
        raise checkpoints.DeletedError(f"{number}", f"model.ckpt-{number}")
      if error == "x":
        raise ValueError("x")
      return number

    with mock.patch.object(log, "warning") as warning:
      if error is None:
        self.assertEqual(num_deleted + 1, checkpoints.read_latest(read))
      else:
        with self.assertRaisesRegex(ValueError, f"^{error}$"):
          checkpoints.read_latest(read)
    self.assertEqual(
        [f"model.ckpt-{number}" for number in range(
            1, min(num_deleted, 4) + 1)],
        [call[0][1] for call in warning.call_args_list])

  def test_latest_while_a_job_saves(self):
    deleted, saved = (os.path.join(self._folder, f"model.ckpt-{step}")
                      for step in (5, 10))
    _save(self._folder, 10)
    with mock.patch.object(
        checkpoint_file, "latest", side_effect=[deleted, saved]):
      self.assertEqual(saved, checkpoints.latest(self._folder))

  def test_integers(self):
    checkpoint = self._save_integers(
        "model.ckpt-1", all__a__step=1, all__b__step=2, all__c__step_size=3,
        all__d__step=[4], e__step=5)
    self.assertEqual(
        {"a": 1, "b": 2}, checkpoints.integers(checkpoint, "all/(.+)/step"))

  @parameterized.named_parameters(
      ("order_of_numbers",
       [_B + "dense/kernel", _B + "dense_1/kernel"],
       [_B + "dense_9/kernel", _B + "dense_10/kernel"],
       {_B + "dense/kernel": _B + "dense_9/kernel",
        _B + "dense_1/kernel": _B + "dense_10/kernel"}),
      ("overlapping_numbers",
       [_B + "dense/kernel", _B + "dense_1/kernel"],
       [_B + "dense_1/kernel", _B + "dense_2/kernel"],
       {_B + "dense/kernel": _B + "dense_1/kernel",
        _B + "dense_1/kernel": _B + "dense_2/kernel"}),
      ("slot", [_B + "dense/kernel", _B + _B + "dense/kernel/Adam"],
       [_B + "dense_2/kernel", _B + _B + "dense_2/kernel/Adam"],
       {_B + "dense/kernel": _B + "dense_2/kernel",
        _B + _B + "dense/kernel/Adam": _B + _B + "dense_2/kernel/Adam"}),
      ("other_count", [_B + "dense/kernel", _B + "dense_1/kernel"],
       [_B + "dense_2/kernel"], {}),
      ("other_subnetwork", [_A + "dense/kernel"], [_B + "dense_2/kernel"], {}),
      ("other_layer", [_A + "dense/kernel"], [_A + "conv/kernel"], {}),
  )
  def test_stored_names(self, names, stored, expected):
    self.assertEqual(expected, checkpoints.stored_names(names, stored))


if __name__ == "__main__":
  absltest.main()
