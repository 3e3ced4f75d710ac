# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of checkpoints that are made of others, with variables by hand."""

import os
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import architecture
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import model_dir
from adanet.testing import searches
from adanet.testing import variables
from adanet.training import merge_checkpoints
from adanet.training import trainer
import numpy as np


class _Reads(searches.Calls):
  """Reads a variable when it is told of a checkpoint; asks for a stop."""

  def after_save(self, session, global_step):
    super().after_save(session, global_step)
    v1 = tf_compat.v1
    self.value, = [session.run(v) for v in v1.global_variables()
                   if v.op.name == "b/w"]
    return True


class MergeCheckpointsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._path = self.create_tempdir().full_path
    self._setup = types.SimpleNamespace(
        model_dir=model_dir.ModelDir(self._path), config=tf_compat.RunConfig(),
        search=types.SimpleNamespace(
            global_step_combiner_fn=tf_compat.v1.reduce_mean))
    self._events = []

  def _training(self, *listeners):
    return trainer.Training(
        trainer.Request(lambda: None, saving_listeners=listeners), None,
        self._events.append)

  def _save(self, step, **values):
    """Writes a checkpoint of a part; returns its prefix."""
    folder = self.create_tempdir().full_path
    return variables.save(
        os.path.join(folder, "model.ckpt"),
        dict({name.replace("_", "/"): np.float32(value)
              for name, value in values.items()}, global_step=np.int64(step)))

  @parameterized.parameters(False, True)
  def test_merge(self, has_listener):
    listener = _Reads()
    checkpoint, step, is_stop_asked = merge_checkpoints.merge(
        self._setup, self._training(*[listener] * has_listener),
        [self._save(3, a_w=[1., 2.], p_w=5.), self._save(7, b_w=3., p_w=6.)],
        steps=[4, 8])
    self.assertEqual((os.path.join(self._path, "model.ckpt-6"), 6),
                     (checkpoint, step))
    self.assertEqual(has_listener, is_stop_asked)
    # What both have is that of the first one.
    variables.assert_equal(
        {"a/w": np.float32([1., 2.]), "b/w": np.float32(3.),
         "p/w": np.float32(5.), "global_step": np.int64(6)},
        variables.latest(self._path))
    self.assertEqual([events.CheckpointSaved(checkpoint, 6)], self._events)
    if has_listener:
      self.assertEqual(["begin", "before 6", "after 6", "end 6"], listener)
      self.assertEqual(3., listener.value)

  def test_with_variables(self):
    before, _, _ = merge_checkpoints.merge(
        self._setup, self._training(), [self._save(6, a_w=1., b_w=2.)], [6])
    checkpoint = merge_checkpoints.with_variables(
        self._setup, self._training(), before,
        {"c/w": np.float32(3.), "b/w": np.float32(4.)})
    self.assertNotEqual(before, checkpoint)
    variables.assert_equal(
        {"a/w": np.float32(1.), "b/w": np.float32(4.), "c/w": np.float32(3.),
         "global_step": np.int64(6)}, variables.latest(self._path))
    # The one before stays as it was.
    self.assertEqual({"b/w": 2.}, checkpoints.values(before, ["b/w"]))


_A = "adanet/iteration_0/subnetwork_t0_a/"
_B = "adanet/iteration_0/subnetwork_t0_b/"
_ENSEMBLE = "adanet/iteration_0/ensemble_t0_all_greedy/"
_NEW = "adanet/iteration_1/subnetwork_t1_a/w"
_STORED = (
    "current_iteration", "global_step", "table", _A + "w", _A + "adam/w",
    _B + "w", "adanet/iteration_0/subnetwork_t0_ab/w", _ENSEMBLE + "bias",
    "adanet/iteration_0/ensemble_t0_all_greedy_2/bias",
    "adanet/iteration_0/candidate_t0_all_greedy/adanet_loss", _NEW,
    "adanet/iteration_1/subnetwork_t1_a/old_name")


def _won(*builders):
  return architecture.Architecture(
      "all", "greedy", tuple((0, name) for name in builders), (0,))


class CarriedTest(parameterized.TestCase):

  def _assert_carried(self, expected, winner=_won("a"), known=None):
    actual = merge_checkpoints.names(
        _STORED, ["current_iteration", "global_step", _NEW], 1, [(0, winner)],
        known or {})
    self.assertEqual(sorted(expected + [
        "table", _ENSEMBLE + "bias",
        "adanet/iteration_0/candidate_t0_all_greedy/adanet_loss"]), actual)

  @parameterized.parameters(
      # It is not known which ones are those of an optimizer.
      ("a", ()),
      ("b", (_B + "w",)),
      # The checkpoint has other names.
      ("a", (_A + "v",)))
  def test_unknown(self, name, variables):
    self._assert_carried(
        [_A + "w", _A + "adam/w"], known={(0, name): variables})

  def test_without_what_an_optimizer_made(self):
    self._assert_carried([_A + "w"], known={(0, "a"): [_A + "w"]})

  def test_all_members(self):
    self._assert_carried(
        [_A + "w", _B + "w"], _won("a", "b"),
        {(0, "a"): [_A + "w"], (0, "b"): [_B + "w"]})

  def test_no_iteration_before(self):
    self.assertEqual(
        ["table"], merge_checkpoints.names(["table", _NEW], [_NEW], 0, [], {}))


if __name__ == "__main__":
  absltest.main()
