# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a report as tables."""

import io
import math
import os
import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.history import history as history_lib
from adanet.history import records
from adanet.history import table
from adanet.testing import histories
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
from rich import console as rich_console

_NAMES = st.text(st.characters(blacklist_categories=["C", "Z"]), max_size=60)
_VALUES = st.none() | st.floats()
_CANDIDATES = st.lists(_NAMES, max_size=3).flatmap(lambda names: st.builds(
    records.CandidateRecord, _NAMES, _VALUES, st.just(tuple(names)),
    st.just(()) | st.tuples(*[_VALUES] * len(names))))
_REPORTS = st.builds(
    history_lib.History, _NAMES,
    st.lists(st.builds(
        records.IterationRecord, st.integers(0, 99),
        st.lists(_CANDIDATES, max_size=25).map(tuple), _NAMES,
        st.just("adanet_loss"), _VALUES, _NAMES,
        st.dictionaries(_NAMES, st.builds(
            records.SubnetworkRecord, st.integers(0, 10**6), _VALUES,
            held_out_loss=_VALUES, seconds=st.none() | st.floats(0, 1e6))),
        st.none() | st.integers(0, 10**6), st.none() | st.floats(0, 1e6)),
             max_size=3).map(tuple),
    st.lists(st.builds(
        records.TaskRecord, st.sampled_from(["chief", "chief:0", "worker:11"]),
        st.integers(0, 9), st.just(()),
        st.dictionaries(_NAMES, st.integers(0, 10**6), max_size=3),
        st.floats(0, 1e6), st.none() | st.integers(0, 10**12)),
             max_size=4).map(tuple))


def _iteration(*candidates, winner=None, **kwargs):
  return records.IterationRecord(
      0, candidates, winner or candidates[0].name, **kwargs)


def _text(*iterations, tasks=()):
  return str(history_lib.History("m", iterations, tuple(tasks)))


class TableTest(parameterized.TestCase):

  def test_example(self):
    # docs/report.rst has all of it, as docs/examples_test.py sees to.
    text = str(histories.search())
    self.assertStartsWith(text, "t2_2_layers.. won with adanet_loss")
    self.assertIn(
        "\n* t1_2_layers..       0.1667  t0_2_layers x 0.333, t1_2_layers x "
        "0.667\n", text)
    self.assertIn("\nps:0, 1  ", text)

  def test_stays_short(self):
    text = str(histories.search(
        10, 1000, 20, tuple(f"dnn_{i}" for i in range(30))))
    self.assertIn("\nchief:0          300 ensembles ", text)
    self.assertIn("\nworker:0 to 998  10 names each  290 to 300  ", text)
    self.assertIn("\nps:0 to 19 ", text)
    self.assertIn("and 26 more candidates", text)
    self.assertLess(text.count("\n"), 360)

  def test_tasks_that_did_the_same(self):
    text = _text(tasks=[
        records.TaskRecord(f"worker:{i}", 0, (),
                           {"a" if i % 2 else "b": 100 + i}, 10., 10**6 * i)
        for i in range(10)])
    self.assertIn(
        "worker:0 to 8 by 2  b        100 to 108    10 to 10.8  0 to 8", text)
    self.assertIn("worker:1 to 9 by 2  a        101 to 109  10.1", text)
    self.assertStartsWith(text, "No iteration has ended yet.")

  def test_the_best_are_shown_first(self):
    text = _text(_iteration(
        records.CandidateRecord("c", .4), records.CandidateRecord("same", .1),
        records.CandidateRecord("best", .1),
        records.CandidateRecord("b", .2), records.CandidateRecord("e"),
        records.CandidateRecord("d", math.nan), winner="best"))
    self.assertSequenceEqual(
        ["* best", "  same", "  b", "  c"],
        [line[:6].rstrip() for line in text.splitlines()[5:9]])
    self.assertIn("nan", text)

  def test_iteration_that_has_not_ended(self):
    text = str(history_lib.History("m", (), (
        records.TaskRecord(
            "chief:0", 0, trained={"t0_a_grow_mean": 20, "t0_b_grow_mean": 20},
            ensembles=("t0_a_grow_mean", "t0_b_grow_mean")),
        records.TaskRecord("worker:0", 0, trained={"t0_a": 9},
                           losses={"t0_a": .5}),
        records.TaskRecord("worker:1", 0, trained={"t0_a": 11, "t0_b": 5},
                           losses={"t0_a": .25})), (
        records.EvaluationRecord(0, 15, "t0_b_grow_mean", {"loss": .125},
                                 "test"),), records.UndecidedRecord(
                                     0, 15, "loss", untrained=("t0_c",))))
    self.assertIn("""
Iteration 0 has not ended

network  loss        steps
  t0_a   0.25           20
  t0_b                   5
  t0_c         not trained

Evaluated t0_b.. at step 15 (test): loss 0.125
Iteration 0 has no winner yet at step 15, the last one: evaluate, predict and
exports use the ensemble whose loss is the best now, by the evaluator. To
decide, train for more steps, or set max_iterations and no max_steps. Not
trained: t0_c.
""", text)
    self.assertIn("\nchief:0   2 ensembles", text)

  def test_costs_that_builders_state(self):
    text = _text(_iteration(records.CandidateRecord("a"), subnetworks={
        "a": records.SubnetworkRecord(5, stated_cost=3., stated_size=2e6),
        "b": records.SubnetworkRecord(5)}))
    self.assertIn("\nAs the builders say: a (cost 3, size 2e+06)\n", text)

  def test_networks(self):
    text = _text(_iteration(
        records.CandidateRecord("t0_all", .1, ("t0_b",), (1.,)),
        subnetworks=dict({
            "t0_a": records.SubnetworkRecord(0),
            "t0_b": records.SubnetworkRecord(
                5, .25, held_out_loss=.125, seconds=.5),
            "t0_c": records.SubnetworkRecord(
                5, math.nan, held_out_loss=.0625, seconds=75.)})))
    self.assertIn("""
network  weight  held-out loss  loss        steps   time
* t0_b        1          0.125  0.25            5  0.5 s
  t0_c                  0.0625   nan            5   1:15
  t0_a                                not trained
""", text)
    text = _text(_iteration(records.CandidateRecord("e"), subnetworks={
        f"t0_{i:02}": records.SubnetworkRecord(5) for i in range(21)}))
    self.assertIn("\n  t0_04                     5\n"
                  "  and 16 more networks\n", text)

  @parameterized.parameters(False, True)
  def test_all_columns_fit(self, is_terminal):
    name = "t0_" + "a" * 50
    output = io.StringIO()
    table.show(history_lib.History("m", (_iteration(
        records.CandidateRecord("t0_all", .1, (name,), (.3333,)), subnetworks={
            name: records.SubnetworkRecord(
                12345, .25, held_out_loss=.12345, seconds=75.),
            "t0_b": records.SubnetworkRecord(0)}),)), rich_console.Console(
                file=output, width=80, force_terminal=is_terminal,
                color_system=None))
    lines = output.getvalue().splitlines()
    self.assertLessEqual(max(map(len, lines)), 80)
    # In one line, so nothing was folded.
    self.assertLen([line for line in lines if re.search(
        r"\* t0_a.*\.\.a.* 0.333 .* 0.1235 .* 0.25 .* 12345 .* 1:15", line)], 1)

  def test_why_training_ended(self):
    search = history_lib.History("m", end=records.EndRecord(9, "it did."))
    self.assertIn("\nTraining ended at step 9: it did.\n", str(search))
    self.assertRegex(
        str(search._replace(end=search.end._replace(time=1e9))),
        r"\nTraining ended at step 9 on 2001-09-0[89] at \d\d:\d\d: it did.\n")

  def test_what_is_not_known(self):
    text = _text(_iteration(
        records.CandidateRecord("a", None, ("b", "c"), (None, None)),
        reason="it is the only candidate"))
    self.assertEqual("""\
a won after 1 iteration: 2 subnetworks.

Iteration 0: 1 candidate

candidate  made of
* a        b, c

Nothing was compared: it is the only candidate.
""", text)

  def test_names_have_no_meaning_for_rich(self):
    text = _text(_iteration(
        records.CandidateRecord("[bold]a[/]", 1., ("[red]",), (1.,))))
    self.assertIn("* [bold]a[/] ", text)
    self.assertIn("[red] x 1", text)

  @hypothesis.settings(max_examples=level.number(5, 15))
  @hypothesis.given(_REPORTS)
  def test_any_report_fits(self, report):
    text = str(report)
    for line in text.splitlines():
      if not line.startswith(("nan", "inf")):
        self.assertLessEqual(len(line), 100, line)

  @parameterized.parameters((70, 70), (200, 80), (10, 60))
  def test_columns_of_the_environment(self, columns, width):
    with mock.patch.dict(os.environ, COLUMNS=str(columns)):
      lines = str(histories.search()).splitlines()
    self.assertLessEqual(max(map(len, lines)), width)
    self.assertGreater(max(map(len, lines)), width - 15)

  @parameterized.parameters(40, 80, 200)
  def test_terminal(self, width):
    output = io.StringIO()
    table.show(histories.search(), rich_console.Console(
        file=output, width=width, force_terminal=True, color_system=None))
    lines = output.getvalue().splitlines()
    self.assertLessEqual(max(map(len, lines)), width)
    self.assertIn("━", output.getvalue())


if __name__ == "__main__":
  absltest.main()
