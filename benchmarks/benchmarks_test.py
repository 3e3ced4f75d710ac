# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the benchmarks refuse to measure something wrong.

.ci/run runs the benchmarks themselves. No test times anything.
"""

import collections
import contextlib
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from benchmarks import claims
from benchmarks import decisions
from benchmarks import plan
from benchmarks import program
from benchmarks import scope
from benchmarks import search
from benchmarks import timing
from benchmarks import training


class _OthersSubnetwork(placement.RoundRobinStrategy):

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    return super(_OthersSubnetwork, self).should_build_subnetwork(
        num_subnetworks, (subnetwork_index + 1) % num_subnetworks)


class _Remembers(placement.RoundRobinStrategy):

  def should_build_ensemble(self, num_subnetworks):
    if not hasattr(self, "answer"):
      self.answer = super(_Remembers, self).should_build_ensemble(
          num_subnetworks)
    return self.answer


class _Nowhere(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return contextlib.suppress()


class _OthersServers(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return super(_OthersServers, self).subnetwork_devices(
        num_subnetworks, (subnetwork_index + 1) % num_subnetworks)


def _trains_nothing(self, **kwargs):
  _train_op(self, **kwargs)
  return tf_compat.v1.no_op()


def _keeps_nothing(self, **kwargs):
  train_op = _train_op(self, **kwargs)
  self.train_op = tf_compat.v1.no_op()
  return train_op


def _builds_twice(self, *args, **kwargs):
  subnetwork = _subnetwork(self, *args, **kwargs)
  tf_compat.v1.matmul(*subnetwork.logits.op.inputs[0].op.inputs, name="again")
  return subnetwork


_train_op = search.Builder.build_subnetwork_train_op
_subnetwork = search.Builder.build_subnetwork
_worker = plan_lib.PlacementPlan.worker


class BenchmarksTest(parameterized.TestCase):

  @parameterized.parameters(
      (claims, _Nowhere), (decisions, _OthersSubnetwork),
      (decisions, _Remembers), (scope, _Nowhere), (scope, _OthersServers))
  def test_refuses_wrong_strategies(self, benchmark, round_robin):
    with self.assertRaises(program.CheckError):
      benchmark.measure(
          types.SimpleNamespace(RoundRobinStrategy=round_robin), num_turns=2)

  @parameterized.parameters(
      (plan, "worker", lambda self, worker: _worker(self, 0)),
      (claims, "figures", lambda self: collections.defaultdict(int)))
  def test_refuses_wrong_plans(self, benchmark, method, wrong):
    with mock.patch.object(plan_lib.PlacementPlan, method, wrong):
      with self.assertRaises(program.CheckError):
        benchmark.measure(placement, num_turns=2)

  @parameterized.parameters(
      (_trains_nothing, "the loop does not train"),
      (_keeps_nothing, "the train ops do not train"))
  def test_refuses_wrong_loops(self, wrong, message):
    with mock.patch.object(search.Builder, "build_subnetwork_train_op", wrong):
      with self.assertRaisesRegex(program.CheckError, message):
        training.measure_steps(None, num_turns=2)

  def test_refuses_graphs_with_more(self):
    with self.assertRaisesRegex(program.CheckError, "workers build"):
      training.measure_graphs(types.SimpleNamespace(
          RoundRobinStrategy=placement.ReplicationStrategy,
          ReplicationStrategy=placement.ReplicationStrategy))

  def test_refuses_what_is_built_twice(self):
    with mock.patch.object(search.Builder, "build_subnetwork", _builds_twice):
      with self.assertRaisesRegex(program.CheckError, "built twice"):
        training.measure_graphs(placement)

  @parameterized.parameters(
      ([(2., 1.), (6., 2.), (12., 3.)], (6., 3.)),
      ([(1., 1.), (2., 1.), (3., 1.), (100., 1.)], (2.5, 2.5)))
  def test_medians(self, turns, medians):
    self.assertEqual(medians, timing.summary(turns))


if __name__ == "__main__":
  absltest.main()
