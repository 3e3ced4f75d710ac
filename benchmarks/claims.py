# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Do speed, fetches, memory and staleness grow as the strategies say?

Every worker of a cluster builds its graph, and what is in it is counted. The
counts do not come from a plan, but a plan must predict the same. The staleness
of gradients is simulated, from who trains what.
"""

import collections
import heapq
import random
import sys
import zlib

from benchmarks import program

CASES = ("strategy", "swept", "workers", "ps", "subnetworks")
CELL = ("speedup {speedup}, fetches {fetches}, memory {memory:.2f}, stale "
        "{stale:.1f}")

_NUM_VARIABLES = 128  # Of a subnetwork; enough for each of its servers.
_NUM_UPDATES = 400  # Of a subnetwork, simulated.
_BAR = 2.

# (swept, workers, parameter servers, subnetworks): m, n and k.
_SWEEPS = tuple(
    [("m", m, 12, 3) for m in (4, 8, 16)]
    + [("n", 8, n, 3) for n in (3, 6, 12)]
    + [("k", 12, 12, k) for k in (2, 3, 5, 11)])

# What each strategy claims, as (formula, function).
_CLAIMS = {
    "RoundRobinStrategy": {
        "speedup": ("m / k", lambda m, n, k: m / k),
        "fetches": ("m n / k", lambda m, n, k: m * n / k),
        "memory": ("1", lambda m, n, k: 1),
        "stale": ("m / k", lambda m, n, k: m / k),
    },
    "ReplicationStrategy": {
        "speedup": ("m", lambda m, n, k: m),
        "fetches": ("m n k", lambda m, n, k: m * n * k),
        "memory": ("k", lambda m, n, k: k),
        "stale": ("m", lambda m, n, k: m),
    },
}

# The devices of the variables of each subnetwork that a worker builds, and the
# list of those that it trains.
_Worker = collections.namedtuple("_Worker", "devices trains")


def _build(v1, strategy, num_ps, num_subnetworks):
  """Returns the `_Worker` of a strategy, from the graph that it builds."""
  k = num_subnetworks
  # For variables that no scope places, the same on every worker.
  setter = v1.train.replica_device_setter(
      ps_tasks=num_ps,
      ps_strategy=lambda op: zlib.crc32(op.name.encode()) % num_ps)
  built = [i for i in range(k) if strategy.should_build_subnetwork(k, i)]
  devices = {}
  with v1.Graph().as_default(), v1.device(setter):
    for i in built:
      with strategy.subnetwork_devices(k, i):
        devices[i] = {
            v1.raw_ops.VariableV2(
                shape=[], dtype=v1.float32, name=f"s{i}/v{v}").device
            for v in range(_NUM_VARIABLES)
        }
  program.check(
      all(d.startswith("/job:ps/task:") for d in set().union(*devices.values())),
      f"variables are on {devices}")
  return _Worker(devices, built if strategy.should_train_subnetworks(k) else [])


def _stale_gradients(workers, subnetwork):
  """Returns the mean staleness of asynchronous updates of a subnetwork.

  A worker reads the variables, takes a unit of time for each subnetwork that it
  trains, and writes. In the meantime others may have written.
  """
  chance = random.Random(subnetwork)
  shares = [len(w.trains) for w in workers if subnetwork in w.trains]
  # (time of the next write, time for a step, number of writes at the read)
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
  """Returns dict of the claimed figures, counted in one cluster."""
  workers = []
  for w in range(num_workers):
    strategy.config = program.Config(num_workers, w, num_ps)
    workers.append(_build(v1, strategy, num_ps, num_subnetworks))
  everything = range(num_subnetworks)
  return {
      "speedup": min(sum(i in w.trains for w in workers) for i in everything),
      "fetches": sum(
          len(devices) for w in workers for devices in w.devices.values()),
      "memory": sum(len(w.devices) for w in workers) / num_workers,
      "stale": max(_stale_gradients(workers, i) for i in everything),
  }


def _check_plan(strategy, row):
  """Raises unless a plan, if there are plans, predicts what was counted."""
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
      f"a plan predicts {figures}, not {row}")


def measure(placement, num_turns):
  """Measures one side; see `program`."""
  del num_turns  # Nothing is timed.
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  rows = []
  for name, claims in _CLAIMS.items():
    strategy = getattr(placement, name)()
    for swept, m, n, k in _SWEEPS:
      row = {"strategy": name, "swept": swept, "workers": m, "ps": n,
             "subnetworks": k}
      row.update(_count(tf_compat.v1, strategy, m, n, k))
      _check_plan(strategy, row)
      row["limits"] = {what: claim(m, n, k)
                       for what, (_, claim) in claims.items()}
      rows.append(row)
  return rows


def bars(rows):
  """Returns list of `program.Bar`, for one side: the worst of each claim."""
  result = []
  for strategy, claims in _CLAIMS.items():
    for what, (formula, _) in claims.items():
      ratios = [row[what] / row["limits"][what] for row in rows
                if row["strategy"] == strategy]
      if what == "speedup":  # Less is better of everything else.
        result.append(program.Bar(f"{strategy}: {formula} over the least "
                                  f"{what}", 1 / min(ratios), _BAR))
      else:
        result.append(program.Bar(f"{strategy}: the most {what} over "
                                  f"{formula}", max(ratios), _BAR))
  return result


if __name__ == "__main__":
  program.run(sys.modules[__name__])
