# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Do speed, fetches, memory and staleness grow as the strategies say?

Every worker of a cluster builds its graph, and what is in it is counted:
nothing here is taken from a plan, which must say the same. How stale gradients
get is simulated, from who trains what.
"""

import collections
import heapq
import random
import zlib

from benchmarks import program

_NUM_VARIABLES = 128  # Of a subnetwork: each of its ps gets one, and more.
_NUM_UPDATES = 400  # Of a subnetwork, simulated.
_BAR = 2.

# (swept, workers, parameter servers, subnetworks): m, n and k.
_SWEEPS = tuple(
    [("m", m, 12, 3) for m in (4, 8, 16)]
    + [("n", 8, n, 3) for n in (3, 6, 12)]
    + [("k", 12, 12, k) for k in (2, 3, 5, 11)])

# What each strategy claims, by what it is that grows.
_CLAIMS = {
    "RoundRobinStrategy": collections.OrderedDict([
        ("speedup", ("m / k", lambda m, n, k: m / k)),
        ("fetches", ("m n / k", lambda m, n, k: m * n / k)),
        ("memory", ("1", lambda m, n, k: 1)),
        ("stale", ("m / k", lambda m, n, k: m / k)),
    ]),
    "ReplicationStrategy": collections.OrderedDict([
        ("speedup", ("m", lambda m, n, k: m)),
        ("fetches", ("m n k", lambda m, n, k: m * n * k)),
        ("memory", ("k", lambda m, n, k: k)),
        ("stale", ("m", lambda m, n, k: m)),
    ]),
}


class _Worker(collections.namedtuple("_Worker", "places trains")):
  """What the graph of a worker has.

  Attributes:
    places: dict from a subnetwork that it builds to the set of the devices of
      its variables.
    trains: list of int, the subnetworks that it trains.
  """


def _build(v1, strategy, num_ps, num_subnetworks):
  """Returns the `_Worker` of a strategy, from the graph that it builds."""
  k = num_subnetworks
  # Places what no scope does, for every worker alike.
  setter = v1.train.replica_device_setter(
      ps_tasks=num_ps,
      ps_strategy=lambda op: zlib.crc32(op.name.encode()) % num_ps)
  built = [i for i in range(k) if strategy.should_build_subnetwork(k, i)]
  with v1.Graph().as_default() as graph, v1.device(setter):
    for i in built:
      with strategy.subnetwork_devices(k, i):
        for number in range(_NUM_VARIABLES):
          v1.raw_ops.VariableV2(
              shape=[], dtype=v1.float32, name="s{}/v{}".format(i, number))
  places = collections.defaultdict(set)
  for op in graph.get_operations():
    program.check(op.device.startswith("/job:ps/task:"),
                  "{} is on {!r}".format(op.name, op.device))
    places[int(op.name.partition("/")[0][1:])].add(op.device)
  program.check(sorted(places) == built, "{} were built".format(places))
  trains = built if strategy.should_train_subnetworks(k) else []
  return _Worker(places, trains)


def _stale_gradients(workers, subnetwork):
  """Returns the mean staleness of asynchronous updates of a subnetwork.

  A worker reads the variables, takes a unit of time for each subnetwork that it
  trains, and writes; in between others may have written.
  """
  chance = random.Random(subnetwork)
  shares = [len(w.trains) for w in workers if subnetwork in w.trains]
  # (when it writes next, what it takes, what had been written when it read)
  writes = [(chance.uniform(0, share), share, 0) for share in shares]
  heapq.heapify(writes)
  stale = 0
  for number in range(_NUM_UPDATES):
    when, share, seen = writes[0]
    stale += number - seen
    heapq.heapreplace(
        writes, (when + share * chance.uniform(.9, 1.1), share, number + 1))
  return stale / _NUM_UPDATES


def _count(v1, strategy, num_workers, num_ps, num_subnetworks):
  """Returns dict of what is claimed to grow, in one cluster."""
  workers = []
  for w in range(num_workers):
    strategy.config = program.Config(num_workers, w, num_ps)
    workers.append(_build(v1, strategy, num_ps, num_subnetworks))
  everything = range(num_subnetworks)
  return {
      "speedup": min(sum(i in w.trains for w in workers) for i in everything),
      "fetches": sum(
          len(devices) for w in workers for devices in w.places.values()),
      "memory": sum(len(w.places) for w in workers) / num_workers,
      "stale": max(_stale_gradients(workers, i) for i in everything),
  }


def _check_plan(strategy, row):
  """Raises unless a plan predicts what was counted, where there are plans."""
  try:
    from adanet.distributed import plan as plan_lib  # pylint: disable=g-import-not-at-top
  except ImportError:
    return
  figures = plan_lib.PlacementPlan(
      strategy, row["workers"], row["ps"], row["subnetworks"]).figures()
  program.check(
      (row["speedup"], row["fetches"], row["memory"]) == (
          figures["min_trainers"], figures["fetches"],
          figures["mean_subnetworks_per_worker"])
      and abs(row["stale"] - figures["max_stale_gradients"])
      < .1 * (1 + row["stale"]),
      "a plan predicts {}, not {}".format(figures, row))


def measure(placement, num_turns):
  """Measures one side.

  Args:
    placement: the module `adanet.distributed.placement`, ours or another.
    num_turns: int, of no use here: nothing is timed.

  Returns:
    List of dict.
  """
  del num_turns
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  rows = []
  for name, claims in _CLAIMS.items():
    strategy = getattr(placement, name)()
    for swept, m, n, k in _SWEEPS:
      row = {"strategy": name, "swept": swept, "workers": m, "ps": n,
             "subnetworks": k}
      row.update(_count(tf_compat.v1, strategy, m, n, k))
      _check_plan(strategy, row)
      row["claims"] = {what: claim(m, n, k)
                       for what, (_, claim) in claims.items()}
      rows.append(row)
  return rows


def _bar(rows, strategy, what):
  """Returns the `program.Bar` of a claim: how far from it the worst is."""
  ratios = [row[what] / row["claims"][what] for row in rows
            if row["strategy"] == strategy]
  formula, _ = _CLAIMS[strategy][what]
  if what == "speedup":  # Of the others, less is better.
    return program.Bar("{}: {} over the least {}".format(
        strategy, formula, what), 1 / min(ratios), _BAR)
  return program.Bar("{}: the most {} over {}".format(
      strategy, what, formula), max(ratios), _BAR)


def bars(rows):
  """Returns list of `program.Bar`, of one side of ours."""
  return [_bar(rows, strategy, what)
          for strategy, claims in _CLAIMS.items() for what in claims]


def draw(figure, sides):
  """Draws what the first side counted.

  Args:
    figure: Matplotlib's `Figure`.
    sides: dict from the name of a side to its rows.
  """
  rows = next(iter(sides.values()))
  names = {"m": ("workers", "workers"), "n": ("ps", "parameter servers"),
           "k": ("subnetworks", "subnetworks")}
  whats = list(_CLAIMS["RoundRobinStrategy"])
  all_axes = figure.subplots(len(whats), len(names), squeeze=False)
  for line, what in zip(all_axes, whats):
    for axes, (swept, (key, label)) in zip(line, names.items()):
      for number, strategy in enumerate(_CLAIMS):
        chosen = [row for row in rows if (row["strategy"], row["swept"])
                  == (strategy, swept)]
        axes.plot([row[key] for row in chosen], [row[what] for row in chosen],
                  marker=program.MARKERS[number],
                  color=program.COLOURS[2 * number], label=strategy)
        axes.plot([row[key] for row in chosen],
                  [row["claims"][what] for row in chosen],
                  color=program.COLOURS[2 * number], linestyle=":",
                  label="claim: " + _CLAIMS[strategy][what][0])
      axes.set_ylim(bottom=0)
      axes.set_xlabel(label)
    line[0].set_ylabel(what)
    line[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))


BENCHMARK = program.Benchmark(
    name="claims",
    question=__doc__.partition("\n")[0],
    measure=measure,
    cases=("strategy", "swept", "workers", "ps", "subnetworks"),
    cell=lambda row: (
        "speedup {speedup}, fetches {fetches}, memory {memory:.2f}, "
        "stale {stale:.1f}".format(**row)),
    bars=bars,
    draw=draw,
    figure_inches=(13, 11))

if __name__ == "__main__":
  program.run(BENCHMARK)
