# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the part of a report's picture with the checks of networks."""

import math
from xml.etree import ElementTree

from absl.testing import absltest
from adanet.testing import level
from adanet.core import early_stopping
from adanet.history import example
from adanet.history import picture
from adanet.history import records
from adanet.history import report as report_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
from matplotlib import colors as colors_lib

_LARGE = 1e30


def _network(*losses, every=10):
  """Returns the record of a network with these losses at its checks."""
  checks = early_stopping.NetworkChecks(tuple(
      early_stopping.HeldOutCheck((1 + i) * every, loss)
      for i, loss in enumerate(losses)))
  return records.SubnetworkRecord(
      len(losses) * every, checks=checks.checks,
      best_step=checks.best and checks.best.step)


def _search(*iterations):
  """Returns the report of iterations, each a dict of its networks."""
  return report_lib.History("m", tuple(
      records.IterationRecord(
          t, (records.CandidateRecord("a", .5, ("t0_a",), (1.,)),), "a",
          subnetworks=networks)
      for t, networks in enumerate(iterations)))


def _lines(figure):
  """Returns dict from the ids of all curves and marks to their artists."""
  return {line.get_gid(): line for axes in figure.axes for line in axes.lines
          if (line.get_gid() or "").startswith("checks-")}


def _texts(figure):
  return [text.get_text() for text in figure.texts]


def _titles(figure):
  return [axes.get_title() for axes in figure.axes if axes.get_title()]


class ChecksPictureTest(absltest.TestCase):

  def test_a_curve_for_each_network_and_a_star_at_its_best_check(self):
    search = example.checked_search()
    lines = _lines(picture.draw(search))
    networks = {name: network for record in search.iterations
                for name, network in record.subnetworks.items()}
    self.assertCountEqual(
        [f"checks-{name}{end}" for name in networks for end in ("", "-best")] +
        ["checks-t2_2_layers-not-finite"], lines)
    for name, network in networks.items():
      curve, star = lines[f"checks-{name}"], lines[f"checks-{name}-best"]
      self.assertEqual(
          [tuple(check) for check in network.checks
           if math.isfinite(check.loss)], list(zip(*curve.get_data())))
      self.assertEqual([(network.best_step, network.held_out_loss)],
                       list(zip(*star.get_data())))
      self.assertEqual("*", star.get_marker())
    cross = lines["checks-t2_2_layers-not-finite"]
    self.assertEqual([600], list(cross.get_xdata()))

  def test_same_builder_same_color(self):
    figure = picture.draw(example.checked_search())
    lines = _lines(figure)
    bars = {artist.get_gid(): artist.get_facecolor()
            for artist in figure.artists + figure.patches if artist.get_gid()}
    color = colors_lib.to_rgba(lines["checks-t2_2_layers"].get_color())
    self.assertEqual(bars["weight-0"], color)  # It is t0_2_layers.
    self.assertEqual(color, colors_lib.to_rgba(
        lines["checks-t2_2_layers-best"].get_markerfacecolor()))
    self.assertNotEqual(color, colors_lib.to_rgba(
        lines["checks-t2_linear"].get_color()))

  def test_networks_of_the_winner_are_thick(self):
    lines = _lines(picture.draw(_search({
        "t0_a": _network(.5, .25), "t0_b": _network(.5, .25)})))
    self.assertGreater(lines["checks-t0_a"].get_linewidth(),
                       1.5 * lines["checks-t0_b"].get_linewidth())

  def test_without_checks_nothing_is_drawn(self):
    for search in (example.search(), report_lib.History("m"), _search(
        {"t0_a": records.SubnetworkRecord(5)})):
      figure = picture.draw(search)
      self.assertEmpty(_lines(figure))
      self.assertNotIn("checks", " ".join(_texts(figure)))

  def test_only_iterations_with_checks_have_a_picture(self):
    figure = picture.draw(_search(
        {"t0_a": records.SubnetworkRecord(5)}, {"t1_a": _network(.5)}))
    self.assertEqual(["iteration 1"], _titles(figure))

  def test_many_iterations(self):
    figure = picture.draw(example.checked_search(9))
    self.assertEqual([f"iteration {t}" for t in range(3, 9)], _titles(figure))
    self.assertIn(
        "Networks, by the loss of their checks: the last 6 iterations",
        _texts(figure))
    width, height = figure.get_size_inches()
    self.assertLess(width, 12)
    self.assertLess(height, 13)

  def test_all_have_the_same_scales(self):
    figure = picture.draw(_search(
        {"t0_a": _network(.5, .25)}, {"t1_a": _network(1., .75, 1.)}))
    first, second = (axes for axes in figure.axes if axes.get_title())
    self.assertEqual(first.get_ylim(), second.get_ylim())
    self.assertEqual(first.get_xlim(), second.get_xlim())
    self.assertEqual("linear", first.get_yscale())
    self.assertLess(first.get_ylim()[0], .25)
    self.assertGreater(first.get_ylim()[1], 1.)
    self.assertGreater(first.get_xlim()[1], 30)

  def test_network_that_diverges_does_not_flatten_the_rest(self):
    figure = picture.draw(_search({
        "t0_a": _network(.5, .25, .125), "t0_b": _network(.5, .25, _LARGE)}))
    (axes,) = (axes for axes in figure.axes if axes.get_title())
    self.assertEqual("log", axes.get_yscale())
    self.assertLess(axes.get_ylim()[1], 100.)
    self.assertIn("A curve that leaves at the top has greater losses.",
                  _texts(figure))
    # It is drawn where it is.
    self.assertEqual(_LARGE, max(_lines(figure)["checks-t0_b"].get_ydata()))

  def test_no_note_about_what_is_not_there(self):
    texts = " ".join(_texts(picture.draw(_search({"t0_a": _network(.5, .25)}))))
    self.assertNotIn("cross", texts)
    self.assertNotIn("leaves at the top", texts)

  def test_many_checks_have_no_marks(self):
    few, many = (
        _lines(picture.draw(_search({"t0_a": _network(*[.5] * number)})))[
            "checks-t0_a"].get_markersize() for number in (5, 500))
    self.assertGreater(few, many)

  def test_of_many_networks_all_are_drawn(self):
    figure = picture.draw(_search({
        f"t0_{i}": _network(.5, .25) for i in range(40)}))
    self.assertLen(_lines(figure), 80)

  @level.gate
  @hypothesis.settings(max_examples=10)
  @hypothesis.given(st.lists(st.lists(
      st.floats() | st.sampled_from([0., 1e308, -1e308, 5e-324, math.inf]),
      min_size=1, max_size=4), min_size=1, max_size=4))
  def test_any_losses(self, losses):
    ElementTree.fromstring(picture.svg(_search({
        f"t0_${i}%": _network(*of_one) for i, of_one in enumerate(losses)})))

  def test_same_bytes(self):
    contents = []
    for name in ("a", "b"):
      file = self.create_tempfile(f"{name}.svg")
      example.checked_search().picture(file.full_path)
      contents.append(file.read_bytes())
    self.assertEqual(contents[0], contents[1])


if __name__ == "__main__":
  absltest.main()
