# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The lines of a search: what each says, and who sees none."""

import contextlib
import os
from unittest import mock

from absl.testing import absltest
from adanet import log
from adanet.ensemble_search import display
from adanet.ensemble_search import history
from adanet.ensemble_search import records

_KEY = records.NetworkKey(0, 0, "deep")


def _record(**fields):
  return records.NetworkRecord(
      [{"val_loss": .5}, {"val_loss": .25}, {"val_loss": .75}], 2, **fields)


class DisplayTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._printed = self.enter_context(mock.patch.object(log, "print_line"))
    self._warning = self.enter_context(mock.patch.object(log, "warning"))

  def _lines(self):
    lines = [call.args[0] for call in self._printed.mock_calls]
    self._printed.reset_mock()
    return lines

  def _shown(self, verbose=2):
    return self.enter_context(display.display(verbose, "val_loss"))

  def test_begin(self):
    split = mock.Mock(trained=range(3000), held_out=range(9))
    path = os.path.abspath("search")
    self._shown().begin(path, [split], 2)
    self._shown().begin("/a", [split, split], 1)
    self.assertEqual([
        "2 models, 3,000 rows, 9 held out; directory search",
        "1 model, 3,000 rows, 9 held out, in each of 2 folds; directory /a"],
                     self._lines())

  def test_network(self):
    shown = self._shown()
    shown.epoch(_KEY, _record(seconds=1.25))
    shown.network(_KEY, _record(ended=records.PATIENCE, seconds=1.25))
    self.assertEqual([
        "deep  epoch 3  val_loss 0.75  best 0.25  1.2 s",
        "deep: val_loss 0.25 at epoch 2 of 3 (no better), 1.2 s"],
                     self._lines())
    self._shown(0).network(_KEY, _record(ended=records.PATIENCE))
    self.assertEmpty(self._lines())

  def test_failure(self):
    """A warning, also where nothing is shown."""
    shown = self._shown(0)
    shown.network(_KEY, _record(ended="failed: NaN.", failed_epoch=3))
    shown.network(_KEY, _record(ended=records.TIME, late_error="No number"))
    self.assertEqual([
        "deep failed in epoch 3: NaN. The search goes on; fit trains it again "
        "when called again.",
        "deep failed: No number. The search goes on with epoch 2; fit trains "
        "it on when called again."], [
            call.args[0] % call.args[1:]
            for call in self._warning.mock_calls])
    self.assertEmpty(self._lines())

  def _history(self, ensemble, monitor="val_loss", mode="min"):
    networks = [history.NetworkHistory(
        name, name, name, 0, None, ({monitor: value, "val_loss": value},), 1,
        records.EPOCHS, 1., 9, .1, .5, {monitor: value, "val_loss": value}, {},
        0)
                for name, value in (("a", .5), ("b", .4))]
    return history.SearchHistory("", tuple(networks), tuple(
        history.MemberHistory(network.name, .5, network.values, (network,))
        for network in networks), {monitor: ensemble, "val_loss": ensemble},
                                 monitor=monitor, mode=mode)

  def test_end(self):
    self._shown().end(self._history(.3), False)
    self._shown().end(self._history(.45), True)
    self._shown().end(self._history(.6, "val_auc", "max"), False)
    self.assertEqual([
        "ensemble of 2: val_loss 0.3, best network b 0.4 (25.0 % less)",
        "max_seconds is over; unfinished networks: 0. All training so far is "
        "saved: call fit again to resume.",
        "ensemble of 2: val_loss 0.45, best network b 0.4",
        "ensemble of 2: val_auc 0.6, best network a 0.5 (20.0 % more)"],
                     self._lines())

  def test_terminal(self):
    """It draws a row for each network that trains."""
    with mock.patch("sys.stderr") as stderr, contextlib.ExitStack() as exits:
      stderr.isatty.return_value = True
      with mock.patch("rich.live.Live") as live:
        shown = display.SearchDisplay(1, "val_loss", exits)
        shown.epoch(_KEY, _record())
      grid = live.return_value.__enter__.return_value.update.mock_calls[
          0].args[0]
      self.assertEqual(1, grid.row_count)


if __name__ == "__main__":
  absltest.main()
