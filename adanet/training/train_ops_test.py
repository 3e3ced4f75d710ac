# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the ops of a training step."""

import fractions
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.distributed import placement
from adanet.training import train_ops


def _spec(name, **attributes):
  """Returns what trains a subnetwork or ensemble."""
  v1 = tf_compat.v1
  with v1.variable_scope(name):
    step = v1.get_variable("step", [], v1.int64, v1.zeros_initializer(),
                           use_resource=True)
  return types.SimpleNamespace(
      name=name, step=step, iteration_step=v1.convert_to_tensor(step),
      loss=v1.constant(1.), adanet_loss=v1.constant(1.),
      train_op=types.SimpleNamespace(
          train_op=v1.no_op(), chief_hooks=(), hooks=()), **attributes)


class TrainOpsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("all_and_ensembles", placement.Share(True, [0, 1], True), 12),
      ("all", placement.Share(False, [0, 1], True), 12),
      ("ensembles_and_one", placement.Share(True, [1], True), 12),
      ("a_share", placement.Share(False, [1], True), 10),
      ("a_part", placement.Share(True, [1], True), 12, True),
      ("a_part_without_ensembles", placement.Share(False, [1], True), 12, True))
  def test_who_sets_the_global_step(self, share, expected, is_part=False):
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      subnetworks = tuple(_spec(f"t0_{i}") for i in share.subnetworks)
      candidates = tuple(
          _spec("e", average=types.SimpleNamespace(update=v1.constant(1.)))
          for _ in range(share.builds_ensemble))
      specs = subnetworks + candidates
      ops = train_ops.TrainOps(types.SimpleNamespace(
          share=share, subnetworks=subnetworks, candidates=candidates,
          new_candidates=candidates, builder_names=("a", "b"),
          steps={s.name: s.step for s in specs},
          base_global_step=10, global_step=v1.get_variable(
              "global_step", initializer=v1.constant(10, v1.int64))),
                                v1.reduce_mean, is_part)
      names = [s.name for s in subnetworks]
      run = ops.fetches(names), ops.set_global_step(names)
      session.run(v1.global_variables_initializer())
      session.run(run)
      values, global_step = session.run(run)
    self.assertEqual([2] * len(names), values["steps"].tolist())
    self.assertEqual(expected, global_step)

  @parameterized.parameters((True, {"t0_1": 1}), (False, None))
  def test_turn_of_the_only_one_beside_fitted_ensembles(
      self, builds_ensemble, expected):
    """Who waits for the subnetworks of others must not forget its own one."""
    with tf_compat.v1.Graph().as_default():
      spec = _spec("t0_1")
      share = placement.Share(builds_ensemble, [0, 1], True)._replace(
          fractions=((1, fractions.Fraction(1)),))
      self.assertEqual(expected, train_ops.TrainOps(types.SimpleNamespace(
          share=share, subnetworks=(_spec("t0_0"), spec), candidates=(),
          new_candidates=(), steps={spec.name: spec.step},
          builder_names=("a", "b"), base_global_step=10),
                                tf_compat.v1.reduce_mean).fractions)

  @parameterized.parameters(2, 30)
  def test_other_parts_add_no_ops(self, num_builders):
    v1 = tf_compat.v1
    with v1.Graph().as_default() as graph, v1.Session() as session:
      spec = _spec("t0_b1")
      ops = train_ops.TrainOps(types.SimpleNamespace(
          share=placement.Share(True, [1], True), subnetworks=(spec,),
          candidates=(), new_candidates=(), steps={spec.name: spec.step},
          builder_names=tuple(f"b{i}" for i in range(num_builders)),
          base_global_step=10, global_step=v1.get_variable(
              "global_step", initializer=v1.constant(10, v1.int64))),
                                v1.reduce_mean, is_part=True)
      before = len(graph.get_operations())
      global_step = ops.set_global_step([spec.name])
      num_ops = len(graph.get_operations()) - before
      session.run(v1.global_variables_initializer())
      self.assertEqual(11, session.run(global_step))
    self.assertLess(num_ops, 20)


if __name__ == "__main__":
  absltest.main()
