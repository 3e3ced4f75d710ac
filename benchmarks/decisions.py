# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long does one decision take, in calls of an empty method?

The empty method has the same arguments. A strategy is asked as a training loop
asks it: it reads its config at each question, and nothing is cached. `first` is
the first question after a config is set; the time of setting it is subtracted.
"""

import sys
import types
import typing

from benchmarks import program
from benchmarks import timing

CASES = ("strategy", "decision", "workers", "subnetworks")
CELL = "{ratio:.1f}x, {nanoseconds:.0f} ns; first {first_ratio:.1f}x"
FIGURES = ("ratio", "first_ratio")

_BAR = 40.
_GROWTH_BAR = 1.3


class _Case(typing.NamedTuple):
  """A worker, and the answers that it gets by the rules."""
  strategy: str
  workers: int
  subnetworks: int
  worker_index: int
  builds_ensemble: bool
  builds: typing.Sequence[int]
  trains: bool


_CASES = (
    _Case("RoundRobinStrategy", 4, 3, 2, False, [1], True),
    _Case("RoundRobinStrategy", 10**6, 10**4, 999999, False, [9899], True),
    _Case("ReplicationStrategy", 4, 3, 2, True, range(3), True),
    _Case("ReplicationStrategy", 10**6, 10**4, 999999, True, range(10**4),
          True),
)


class _Empty:
  """What a decision is compared with."""

  def should_build_ensemble(self, num_subnetworks):
    pass

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    pass

  def should_train_subnetworks(self, num_subnetworks):
    pass


def _answers(strategy, num_subnetworks):
  return (strategy.should_build_ensemble(num_subnetworks),
          [i for i in range(num_subnetworks)
           if strategy.should_build_subnetwork(num_subnetworks, i)],
          strategy.should_train_subnetworks(num_subnetworks))


def _check(placement, case):
  """Raises unless a strategy decides by the rules, and remembers nothing."""
  k = case.subnetworks
  strategy = getattr(placement, case.strategy)()
  config = types.SimpleNamespace(
      num_worker_replicas=case.workers, global_id_in_cluster=0)
  strategy.config = config
  chief = _answers(strategy, k)
  config.global_id_in_cluster = case.worker_index
  worker = _answers(strategy, k)
  program.check(
      chief[:2] == (True, list(range(k))) and worker == (
          case.builds_ensemble, list(case.builds), case.trains),
      f"{case}: the chief gets {chief}, the worker {worker}")


def measure(placement, num_turns):
  """Measures one side; see `program`."""
  rows = []
  for case in _CASES:
    _check(placement, case)
    k, index = case.subnetworks, case.builds[-1]
    strategy = getattr(placement, case.strategy)()
    strategy.config = program.Config(case.workers, case.worker_index, 1)
    names = {"strategy": strategy, "empty": _Empty(),
             "config": strategy.config}
    for decision, arguments in (
        ("should_build_ensemble", f"({k})"),
        ("should_build_subnetwork", f"({k}, {index})"),
        ("should_train_subnetworks", f"({k})")):
      question = f"strategy.{decision}{arguments}"
      empty_call = f"empty.{decision}{arguments}"
      later = timing.in_turns(question, empty_call, names, num_turns)
      set_config = "strategy.config = config"
      first_ratio = timing.in_turns(
          f"{set_config}; {question}", empty_call, names,
          num_turns).ratio - timing.in_turns(
              set_config, empty_call, names, num_turns).ratio
      program.check(later.ratio > .4,
                    f"{question} is faster than an empty method")
      rows.append({
          "strategy": case.strategy,
          "decision": decision,
          "workers": case.workers,
          "subnetworks": k,
          "nanoseconds": later.secs * 1e9,
          "ratio": later.ratio,
          "first_ratio": first_ratio,
          "limits": {"ratio": _BAR, "first_ratio": _BAR},
      })
  return rows


def bars(rows):
  """Returns list of `program.Bar`."""
  ratios = {}
  for row in rows:
    ratios.setdefault((row["strategy"], row["decision"]), []).append(
        row["ratio"])
  return [
      program.Bar("slowest decision, in empty calls",
                  max(row["ratio"] for row in rows), _BAR),
      program.Bar("slowest first decision, in empty calls",
                  max(row["first_ratio"] for row in rows), _BAR),
      program.Bar("growth from the smallest cluster to the largest",
                  max(large / small for small, large in ratios.values()),
                  _GROWTH_BAR),
  ]


if __name__ == "__main__":
  program.run(sys.modules[__name__])
