# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the ops of a training step."""

import fractions
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.distributed import placement
from adanet.testing import hypothesis_profile
from adanet.training import train_ops
import hypothesis
from hypothesis import strategies as st


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
      ("a_worker", placement.Share(False, [0, 1], True), 12, False, None,
       False),
      ("a_part", placement.Share(True, [1], True), 12, True),
      ("a_part_without_ensembles", placement.Share(False, [1], True), 12, True),
      ("a_part_where_a_has_stopped", placement.Share(True, [1], True), 14, True,
       {"a": 6}))
  def test_who_sets_the_global_step(
      self, share, expected, is_part=False, stopped=None, is_chief=True):
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      subnetworks = tuple(_spec(f"t0_{i}") for i in share.subnetworks)
      candidates = tuple(
          _spec("e", average=types.SimpleNamespace(update=v1.constant(1.)))
          for _ in range(share.builds_ensemble))
      specs = subnetworks + candidates
      stored = v1.get_variable(
          "global_step", initializer=v1.constant(10, v1.int64))
      ops = train_ops.TrainOps(types.SimpleNamespace(
          share=share, subnetworks=subnetworks, candidates=candidates,
          new_candidates=candidates, builder_names=("a", "b"),
          steps={s.name: s.step for s in specs},
          base_global_step=10, global_step=stored),
                                v1.reduce_mean, is_part, stopped=stopped,
                                is_chief=is_chief)
      names = [s.name for s in subnetworks]
      run = ops.fetches(names), ops.global_step(names)
      session.run(v1.global_variables_initializer())
      session.run(run)
      values, global_step = session.run(run)
      self.assertEqual(expected if is_chief else 10, session.run(stored))
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
      global_step = ops.global_step([spec.name])
      num_ops = len(graph.get_operations()) - before
      session.run(v1.global_variables_initializer())
      self.assertEqual(11, session.run(global_step))
    self.assertLess(num_ops, 20)


_COSTS = st.lists(st.floats(.1, 10.), min_size=1, max_size=6)


def _run(turns, costs, active, secs):
  """Lets some take turns for so long; returns the seconds of each."""
  used = dict.fromkeys(active, 0.)
  while sum(used.values()) < secs:
    name = turns.next(active)
    turns.served(name, costs[name])
    used[name] += costs[name]
  return used


@st.composite
def _parts_and_costs(draw):
  """Draws the parts and the costs of some that train."""
  costs = draw(_COSTS)
  parts = draw(st.lists(st.integers(1, 50), min_size=len(costs),
                        max_size=len(costs)))
  names = [f"n{i}" for i in range(len(costs))]
  return ({name: fractions.Fraction(part, sum(parts))
           for name, part in zip(names, parts)}, dict(zip(names, costs)))


class TurnsTest(absltest.TestCase):

  def test_next(self):
    turns = train_ops.Turns({"a": fractions.Fraction(1, 4),
                         "b": fractions.Fraction(3, 4)})
    names = []
    for _ in range(8):
      name = turns.next(["a", "b"])
      turns.served(name, 1.)
      names.append(name)
    self.assertEqual("abbbabbb", "".join(names))

  @hypothesis.given(_parts_and_costs())
  def test_each_gets_its_part(self, parts_and_costs):
    parts, costs = parts_and_costs
    used = _run(train_ops.Turns(parts), costs, list(parts), 200.)
    for name, part in parts.items():
      # Nobody is ahead by more than one run of its own.
      self.assertAlmostEqual(
          sum(used.values()) * part, used[name],
          delta=sum(costs.values()) + 1e-6)

  @hypothesis.given(_parts_and_costs(), st.data())
  def test_one_that_joins_again_starts_level(self, parts_and_costs, data):
    parts, costs = parts_and_costs
    hypothesis.assume(len(parts) > 1)
    gone = data.draw(st.sampled_from(sorted(parts)))
    turns = train_ops.Turns(parts)
    _run(turns, costs, list(parts), 20.)
    _run(turns, costs, [name for name in parts if name != gone], 1000.)
    used = _run(turns, costs, list(parts), 200.)
    self.assertAlmostEqual(
        sum(used.values()) * parts[gone], used[gone],
        delta=2 * sum(costs.values()) + 1e-6)

  def test_one_that_was_ahead_is_so_when_it_joins_again(self):
    turns = train_ops.Turns({"a": .5, "b": .5})
    self.assertEqual("a", turns.next(["a", "b"]))
    turns.served("a", 5.)
    turns.next(["b"])
    turns.served("b", 1.)
    self.assertEqual({"a": 0., "b": 4.}, _run(
        turns, {"a": 1., "b": 1.}, ["a", "b"], 4.))

  def test_what_one_misses_while_it_waits_is_made_up_for(self):
    turns = train_ops.Turns({"a": .5, "b": .5})
    for _ in range(4):
      self.assertEqual("a", turns.next(["a"], waiting=["b"]))
      turns.served("a", 1.)
    self.assertEqual({"a": 0., "b": 4.}, _run(
        turns, {"a": 1., "b": 1.}, ["a", "b"], 4.))


class PaceTest(parameterized.TestCase):

  @parameterized.parameters(
      # Steps of subnetworks, an ensemble's step, and whether it may train.
      ({"a": 0, "b": 0}, 0, True), ({"a": 5, "b": 0}, 1, False),
      ({"a": 5, "b": 3}, 3, True), ({"a": 5, "b": 3}, 4, False),
      ({"a": 9, "b": 9}, 8, True), ({"a": 9, "b": 9}, 9, False),
      ({"a": 9, "b": 3}, 4, False), ({}, 0, False))
  def test_follows_the_slowest_that_is_not_done(self, steps, step, allowed):
    followed = train_ops.LagLimit(limit=9)
    followed.update(steps)
    self.assertEqual(allowed, followed.allows(step))

  def test_nobody_waits_for_one_that_stopped_or_that_nobody_trains(self):
    followed = train_ops.LagLimit(limit=9, untrained=["nobody's"])
    followed.update({"a": 7, "b": 2, "nobody's": 0})
    self.assertEqual({"a": 7, "b": 2}, followed.unfinished)
    followed.stop("b")
    self.assertEqual({"a": 7}, followed.unfinished)
    self.assertTrue(followed.allows(7))
    followed.stop("a")
    self.assertEmpty(followed.unfinished)
    self.assertTrue(followed.allows(6))
    self.assertFalse(followed.allows(7))


if __name__ == "__main__":
  absltest.main()
