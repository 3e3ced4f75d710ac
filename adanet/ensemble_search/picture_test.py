# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of a search: what it draws of which network."""

import math

from absl.testing import absltest
from adanet.ensemble_search import history
from adanet.ensemble_search import records
import numpy as np


class PictureTest(absltest.TestCase):

  def test_plot(self):
    networks = [history.NetworkHistory(
        name, name, "deep", 0, None, tuple(
            {"val_loss": loss} for loss in losses), best, ended, 1., 9, .1,
        weight, {"val_loss": value}, {}, 0)
                for name, losses, best, ended, weight, value in (
                    ("deep", (.9, .5, .6, .7), 2, records.PATIENCE, 1., .5),
                    ("wide", (2., math.nan), 1, records.EPOCHS, 0., math.nan),
                    ("deep (2)", (.8, .4), 2, "", None, math.nan))]
    curves, = history.SearchHistory("", tuple(networks), tuple(
        history.MemberHistory(network.name, network.weight, network.values, (
            network,)) for network in networks[:2]),
                                    {"val_loss": .5}).plot().axes
    self.assertEqual("val_loss of each epoch", curves.get_title(loc="left"))
    self.assertEqual(
        ["ensemble 0.5", "deep, weight 1.00", "wide", "deep (2)"],
        [text.get_text() for text in curves.get_legend().get_texts()])
    lines = [list(line.get_xydata().ravel()) for line in curves.lines
             if len(line.get_xdata())]
    for expected in ([.6, .5, 4.4, .5], [1, .9, 2, .5, 3, .6, 4, .7], [2, .5],
                     [1, .8, 2, .4], [2, .4], [1, 2.]):
      self.assertIn(expected, lines)

  def test_plot_of_trials(self):
    values = [.9, math.nan, .5, .7] + [.8] * 20
    networks = [history.NetworkHistory(
        f"deep #{i}", f"deep #{i}", "deep", 0, None, ({"val_loss": value},), 1,
        records.EPOCHS, 1., 9, .1, 0., {"val_loss": value}, {}, i)
                for i, value in enumerate(values, 1)]
    figure = history.SearchHistory("", tuple(networks), tuple(
        history.MemberHistory(network.name, 0., network.values, (network,))
        for network in networks), {}).plot()
    curves, trials = figure.axes
    labels = [text.get_text() for text in curves.get_legend().get_texts()]
    self.assertEqual(["deep #3", "deep #4"], labels[:2])
    self.assertEqual("13 more", labels[-1])
    np.testing.assert_array_equal(
        [.9, .9] + [.5] * 22, max(
            (line.get_ydata() for line in trials.lines), key=len))


if __name__ == "__main__":
  absltest.main()
