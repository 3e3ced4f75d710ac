# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long does one decision take, against an empty method call?

The empty method has the same arguments. A strategy is asked the same again and
again, as a training loop does, and each time as the first time too: there a
decision checks its arguments, reads the config and works the answer out.
"""

import collections
import statistics

from benchmarks import program
from benchmarks import timing

_BAR = 3.


class _Case(
    collections.namedtuple(
        "_Case",
        "strategy workers subnetworks worker_index ensemble builds trains")):
  """A worker, and what it owns by the rules.

  Attributes:
    strategy: str, the name of its class.
    workers, subnetworks, worker_index: int.
    ensemble, trains: bool, the answers.
    builds: list of int, the subnetworks that it builds.
  """


_CASES = (
    _Case("RoundRobinStrategy", 4, 3, 2, False, [1], True),
    _Case("RoundRobinStrategy", 9, 6, 8, False, [0, 1, 2, 3, 4, 5], True),
    _Case("RoundRobinStrategy", 10000, 300, 9999, False, [65, 131, 197, 263],
          True),
    _Case("ReplicationStrategy", 4, 3, 2, True, [0, 1, 2], True),
)


class _Empty(object):
  """What a decision is held against."""

  def should_build_ensemble(self, num_subnetworks):
    pass

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    pass

  def should_train_subnetworks(self, num_subnetworks):
    pass


def _check(strategy, case):
  """Raises unless the strategy decides as the rules do."""
  k = case.subnetworks
  answers = (strategy.should_build_ensemble(k),
             [i for i in range(k) if strategy.should_build_subnetwork(k, i)],
             strategy.should_train_subnetworks(k))
  program.check(answers == (case.ensemble, case.builds, case.trains),
                "{}: the strategy answers {}".format(case, answers))


def _decisions(case):
  """Returns dict from the name of a decision to the arguments, as Python."""
  k = str(case.subnetworks)
  return {
      "should_build_ensemble": k,
      "should_build_subnetwork": "{}, {}".format(k, case.builds[-1]),
      "should_train_subnetworks": k,
  }


def measure(placement, num_turns):
  """Measures one side.

  Args:
    placement: the module `adanet.distributed.placement`, ours or another.
    num_turns: int.

  Returns:
    List of dict.
  """
  rows = []
  for case in _CASES:
    strategy = getattr(placement, case.strategy)()
    config = program.Config(case.workers, case.worker_index, 1)
    strategy.config = config
    _check(strategy, case)
    names = {"strategy": strategy, "empty": _Empty(), "config": config}
    for decision, arguments in _decisions(case).items():
      call = "{}({})".format(decision, arguments)
      again = timing.in_turns(
          "strategy." + call, "empty." + call, names, num_turns)
      # Setting the config is part of it, here and there.
      first = timing.in_turns(
          "strategy.config = config; strategy." + call,
          "empty.config = config; empty." + call, names, num_turns)
      program.check(again.ratio > .4,
                    "{} is faster than an empty method".format(call))
      rows.append({
          "strategy": case.strategy,
          "decision": decision,
          "workers": case.workers,
          "subnetworks": case.subnetworks,
          "nanoseconds": again.secs * 1e9,
          "empty_nanoseconds": again.baseline_secs * 1e9,
          "ratio": again.ratio,
          "quartiles": again.quartiles,
          "first_nanoseconds": first.secs * 1e9,
          "first_ratio": first.ratio,
      })
    _check(strategy, case)
  return rows


def bars(rows):
  """Returns list of `program.Bar`, of one side of ours."""
  worst = max(rows, key=lambda row: row["ratio"])
  return [
      program.Bar("slowest decision, in empty calls", worst["ratio"], _BAR),
      program.Bar("median decision, in empty calls",
                  statistics.median(row["ratio"] for row in rows), _BAR),
  ]


def draw(figure, sides):
  """Draws the ratios of all sides.

  Args:
    figure: Matplotlib's `Figure`.
    sides: dict from the name of a side to its rows.
  """
  axes = figure.add_subplot()
  height = .8 / len(sides)
  for number, (side, rows) in enumerate(sides.items()):
    axes.barh([y + number * height for y in range(len(rows))],
              [row["ratio"] for row in rows], height, label=side,
              color=program.COLOURS[number])
  axes.axvline(_BAR, color="black", linestyle="--", label="bar")
  axes.set_yticks([y + .4 - height / 2 for y in range(len(rows))])
  axes.set_yticklabels([
      "{} {}\n{:,} workers, {:,} subnetworks".format(
          row["strategy"], row["decision"], row["workers"], row["subnetworks"])
      for row in rows
  ])
  axes.invert_yaxis()
  axes.set_xscale("log")
  axes.set_xticks([1, 2, 3, 5, 10, 20])
  axes.set_xticklabels(["1", "2", "3", "5", "10", "20"])
  axes.minorticks_off()
  axes.set_xlabel("time of one decision, in calls of an empty method")
  axes.legend(loc="lower right", framealpha=1)


BENCHMARK = program.Benchmark(
    name="decisions",
    question=__doc__.partition("\n")[0],
    measure=measure,
    cases=("strategy", "decision", "workers", "subnetworks"),
    cell=lambda row: (
        "{ratio:.1f}x, {nanoseconds:.0f} ns; first {first_ratio:.0f}x".format(
            **row)),
    bars=bars,
    draw=draw,
    figure_inches=(9, 7))

if __name__ == "__main__":
  program.run(BENCHMARK)
