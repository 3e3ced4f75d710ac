# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws what the documentation shows of placements and of searches."""

import json
import os
import sys

from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import picture as plan_picture
from adanet.history import history as history_lib
from adanet.history import records
from adanet.testing import histories
import runfiles


def _plan(strategy, num_workers=4, num_ps=0, **costs_and_sizes):
  return plan_lib.PlacementPlan(
      strategy, num_workers, num_ps, num_subnetworks=3, **costs_and_sizes)


def _digits():
  """Returns the report of a run of //adanet/examples/digits."""
  path = runfiles.Create().Rlocation("adanet/docs/digits.json")
  with open(path, encoding="utf-8") as f:
    report = json.load(f)
  kinds = {"iterations": records.IterationRecord,
           "tasks": records.TaskRecord,
           "evaluations": records.EvaluationRecord}
  return history_lib.History(report["model_dir"], **{
      key: tuple(
          records.loads(
              kind, json.dumps(dict(record, version=report["version"])))
          for record in report[key])
      for key, kind in kinds.items()})


def _search():
  """Returns the history of a search of three Keras models on the digits."""
  # The module needs Python 3.10.
  # pylint: disable-next=g-import-not-at-top
  from adanet.ensemble_search import history
  path = runfiles.Create().Rlocation("adanet/docs/search.json")
  with open(path, encoding="utf-8") as f:
    report = json.load(f)
  networks = {network["name"]: history.NetworkHistory(**network)
              for network in report["networks"]}
  members = [history.MemberHistory(**dict(member, networks=tuple(
      networks[name] for name in member["networks"])))
             for member in report["members"]]
  return history.SearchHistory(
      "search", tuple(networks.values()), tuple(members), report["ensemble"])


def draw_all(folder):
  """Draws every picture of the documentation.

  Args:
    folder: str, where to, as `<name>.svg`.
  """
  replication = placement.ReplicationStrategy()
  round_robin = placement.RoundRobinStrategy()
  dropping = placement.RoundRobinStrategy(drop_remainder=True)
  sharing = placement.RoundRobinStrategy(dedicate_parameter_servers=False)
  balanced = placement.BalancedStrategy
  costs = (1, 2, 4)
  sizes = (103, 438, 2163)  # MB of a ResNet-50, a BERT-base and a DLRM.
  pictures = {
      "strategies": [_plan(replication), _plan(round_robin)],
      "two_rounds": [_plan(round_robin, num_workers=8)],
      "partial_round": [_plan(round_robin, num_workers=6),
                        _plan(dropping, num_workers=6)],
      "no_whole_round": [_plan(round_robin, num_workers=3),
                         _plan(dropping, num_workers=3)],
      "parameter_servers": [_plan(round_robin, num_ps=5),
                            _plan(round_robin, num_ps=2),
                            _plan(sharing, num_ps=5)],
      "costs": [
          _plan(strategy, num_workers=5, num_ps=2, costs=costs)
          for strategy in (replication, round_robin, balanced(costs=costs),
                           balanced(costs=costs, num_ensemble_workers=1))],
      "compared_costs": [
          _plan(strategy, num_workers=5, num_ps=2, costs=costs)
          for strategy in (balanced(costs=costs), round_robin)],
      "equal_costs": [
          plan_lib.PlacementPlan(
              strategy, num_workers=8, num_ps=0, num_subnetworks=7)
          for strategy in (round_robin, balanced())],
      "sizes": [_plan(round_robin, num_ps=4, sizes=sizes),
                _plan(balanced(sizes=sizes), num_ps=4, sizes=sizes)],
      "large_cluster": [plan_lib.PlacementPlan(
          round_robin, num_workers=100, num_ps=20, num_subnetworks=7)],
  }
  for name, plans in pictures.items():
    with open(os.path.join(folder, name + ".svg"), "wb") as f:
      plan_picture.write(plans, f, "svg")
  histories.search().picture(os.path.join(folder, "report.svg"))
  if sys.version_info >= (3, 10):
    _search().picture(os.path.join(folder, "search.svg"))
  _digits().picture(os.path.join(folder, "digits.svg"))
