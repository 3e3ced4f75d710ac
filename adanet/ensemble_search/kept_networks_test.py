# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which networks a process keeps, and which of them lend their models."""

from unittest import mock

from absl.testing import absltest
from adanet.ensemble_search import kept_networks
from adanet.ensemble_search import records
from adanet.ensemble_search import tasks as tasks_lib


class KeptNetworksTest(absltest.TestCase):

  @mock.patch.object(kept_networks, "_MAX_PARAMETERS", 10)
  def test_networks_that_are_kept_share_a_budget(self):
    def stand_in(name, parameters):
      network = mock.Mock(device=None, config="")
      network.task = tasks_lib.NetworkTask(
          records.NetworkKey(0, 0, name), None,
          tasks_lib.TrainingArguments(None, 1))
      network.layouts = (1, 1)
      network.model.count_params.return_value = parameters
      return network

    split = mock.Mock()
    split.layout.return_value = split.held_out.layout.return_value = 1
    kept = kept_networks.KeptNetworks()
    first, ended = stand_in("a", 6), stand_in("c", 4)
    kept.add_new(first)
    kept.add_new(stand_in("b", 5))  # Has no room.
    kept.add_ended("group", ended)
    self.assertTrue(kept.may_train_on("GPU:0", records.NetworkKey(0, 0, "b")))
    self.assertFalse(kept.may_train_on("GPU:0", first.task.key))
    kept.add_ended("group", stand_in("d", 1))  # The first one goes.
    self.assertIs(first, kept.build("group", first.task, split, None))
    lent = kept.borrow("group", first.task, split, None)
    self.assertEqual(1, lent.model.count_params())
    self.assertIsNone(kept.borrow("group", first.task, split, None))
    # A new network takes the room of ended ones.
    kept.add_new(first)
    kept.add_ended("group", stand_in("e", 4))
    new = stand_in("f", 4)
    kept.add_new(new)
    self.assertIs(new, kept.build("group", new.task, split, None))
    self.assertIsNone(kept.borrow("group", first.task, split, None))

  def test_who_lends(self):
    """Not with callbacks, another layout or device, or without a config."""
    split = mock.Mock()
    split.layout.return_value = split.held_out.layout.return_value = 1

    def lends(config="", callbacks=None, trial=0, folds=1, layouts=(1, 1)):
      network = mock.Mock(device="GPU:0", config=config, layouts=layouts)
      network.task = tasks_lib.NetworkTask(
          records.NetworkKey(0, 0, "a", folds, trial), None,
          tasks_lib.TrainingArguments(None, 1, callbacks))
      network.model.count_params.return_value = 1
      kept = kept_networks.KeptNetworks()
      kept.add_ended("group", network)
      self.assertIsNone(kept.borrow("other", network.task, split, "GPU:0"))
      self.assertIsNone(kept.borrow("group", network.task, split, "GPU:1"))
      return kept.borrow("group", network.task, split, "GPU:0") is network

    self.assertTrue(lends())
    self.assertTrue(lends(trial=1, folds=2))
    self.assertFalse(lends(trial=1))
    self.assertFalse(lends(config=None))
    self.assertFalse(lends(callbacks=list))
    self.assertFalse(lends(layouts=(1, 2)))


if __name__ == "__main__":
  absltest.main()
