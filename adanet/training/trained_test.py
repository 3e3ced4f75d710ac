# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the values that a search and an engine exchange."""

import pickle

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import architecture
from adanet.core import events
from adanet.training import ending as ending_lib
from adanet.training import trained


class PresetTest(parameterized.TestCase):

  @parameterized.parameters(
      # The preset, how many candidates there are, and who wins.
      (trained.Preset(), 1, 0),
      (trained.Preset(), 2, None),
      (trained.Preset(up_to=0), 1, None),
      # Two with force_grow: the previous ensemble does not count.
      (trained.Preset(up_to=2), 1, 0),
      (trained.Preset(up_to=2), 2, 1),
      (trained.Preset(up_to=2), 3, None),
      (trained.Preset(0), 3, 0),
      (trained.Preset(2), 3, 2),
      (trained.Preset(0, up_to=2), 2, 0))
  def test_winner(self, preset, num_candidates, winner):
    names = list("abc"[:num_candidates])
    choice = preset.choice(names)
    self.assertEqual(winner, choice and names.index(choice.name))


class TrainedIterationTest(absltest.TestCase):

  def test_is_a_value(self):
    iteration = trained.TrainedIteration(
        ending_lib.Ending.ITERATION_OVER, trained.Candidates(
            3, "model.ckpt-8", {"e": architecture.Architecture("e", "mean")},
            averages={"e": .5}),
        {"e": [1.]}, events.Progress(3, 8, {}, {}, None, None), 2.)
    self.assertEqual((3, 8), (iteration.number, iteration.global_step))
    self.assertEqual(iteration, pickle.loads(pickle.dumps(iteration)))


if __name__ == "__main__":
  absltest.main()
