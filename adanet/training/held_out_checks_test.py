# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of networks, with values that a test writes by hand.

All labels are 1 and all features, and a network predicts its factor f: its loss
is (1 - f)**2. `adanet/estimator:early_stopping_test` has whole searches, and
`adanet/core:early_stopping_test` has the rule.
"""

import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import ensemble
from adanet import subnetwork
from adanet import tf_compat
from adanet.core import early_stopping
from adanet.core import evaluation
from adanet.core import model_dir as model_dir_lib
from adanet.testing import level
from adanet.testing import searches
from adanet.training import held_out_checks
from adanet.training import model as model_lib
from adanet.training import sessions
import numpy as np

v1 = tf_compat.v1
_NAN, _INF = float("nan"), float("inf")
_ROWS = 3
_RULE = early_stopping.EarlyStopping(every_steps=2, patience=2)
_A, _B = "t0_a", "t0_b"


def _input_fn():
  ones = np.ones([_ROWS, 1], np.float32)
  return v1.data.Dataset.from_tensor_slices(({"x": ones}, ones)).batch(2)


class _Times(subnetwork.Builder):
  """A network that gives "factor" times the feature.

  Its variable "bias" takes no part, nor does "count", an integer.
  """

  def __init__(self, name, in_mode=lambda training: None):
    """Calls a function, which may make more, with whether it trains."""
    self._name = name
    self._in_mode = in_mode

  @property
  def name(self):
    return self._name

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    logits = features["x"] * v1.get_variable("factor", initializer=9.)
    v1.get_variable("bias", initializer=0.)
    v1.get_variable("count", initializer=np.int64(0), trainable=False)
    self._in_mode(training)
    return subnetwork.Subnetwork(logits, logits, complexity=1.)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,  # pylint: disable=redefined-outer-name
                                iteration_step, summary, previous_ensemble):
    return v1.assign_add(v1.get_variable(
        "slot", initializer=0., trainable=False), 1.)


class HeldOutChecksTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._reported = []
    self._folder = self.create_tempdir().full_path

  def _begin(self, made=None, checkpoint=None, resumes=False,
             input_fn=_input_fn):
    """Makes the graph that trains, the checks and a session for this test."""
    search = searches.make(made or [_Times("a"), _Times("b")], 100)
    model = model_lib.Model(
        search._replace(ensemblers=[ensemble.GreedyEnsembler()],
                        early_stopping=_RULE),
        model_dir_lib.ModelDir(self._folder), tf_compat.RunConfig(
            model_dir=self._folder, tf_random_seed=1),
        distributed.ReplicationStrategy(),
        model_lib.Rules(evaluation.Evaluator(input_fn)))
    built = self.enter_context(model.graph(_input_fn, "train", 0))
    self._checks = held_out_checks.HeldOutChecks(
        model, built.iteration, checkpoint, resumes,
        lambda *reported: self._reported.append(reported))
    self.addCleanup(self._checks.close)
    self._session = self.enter_context(sessions.local_session(None))
    self._session.run(v1.global_variables_initializer())
    self._variables = {v.op.name: v for v in v1.global_variables()}

  def _set(self, network, **values):
    for name, value in values.items():
      self._variables[f"adanet/iteration_0/subnetwork_{network}/{name}"].load(
          value, self._session)

  def _get(self, network, name="factor"):
    return self._session.run(
        self._variables[f"adanet/iteration_0/subnetwork_{network}/{name}"])

  def _check(self, step, **factors):
    """Checks the networks a and b, where they have factors."""
    for name, factor in factors.items():
      self._set("t0_" + name, factor=factor, count=step)
    return self._checks.check(
        self._session, {"t0_" + name: step for name in factors})

  def _losses(self, network):
    return [tuple(check) for check in self._checks.by_network[network].checks]

  def test_loss_is_that_of_each_network_on_all_rows(self):
    self._begin()
    self.assertEqual({}, self._check(2, a=3., b=1.5))
    self.assertEqual([(_A, (2, 4.)), (_B, (2, .25))], self._reported)
    self.assertEqual([[(2, 4.)], [(2, .25)]], [
        self._losses(name) for name in (_A, _B)])
    # One of them may be due alone. It does not count for the rest.
    self.assertEqual({}, self._check(4, b=2.))
    self.assertEqual((_B, (4, 1.)), self._reported[-1])
    self.assertEqual(
        {_A: (4., 4., 2, 2), _B: (1., .25, 2, 1)}, self._checks.standings())

  @level.gate
  def test_any_networks_may_be_checked_together(self):
    networks = "abcde"
    self._begin([_Times(name) for name in networks])
    # What one that is not checked has learned meanwhile is none of its checks.
    for name in networks:
      self._set("t0_" + name, factor=_NAN)
    expected = {name: [] for name in networks}
    for step, together in enumerate(
        ["abcde", "acd", "ac", "de", "c", "ace", "b"], 1):
      factors = {name: 20. - step + i / 8 for i, name in enumerate(together)}
      self.assertEqual({}, self._check(2 * step, **factors))
      for name, factor in factors.items():
        expected[name].append((2 * step, (1. - factor)**2))
        self._set("t0_" + name, factor=_NAN)
    self.assertEqual(expected, {
        name: self._losses("t0_" + name) for name in networks})

  def test_a_check_changes_nothing_of_training(self):
    self._begin()
    self.assertEqual([False, True, False, True],
                     [self._checks.is_due(step) for step in range(1, 5)])
    self._check(2, a=3., b=1.5)
    self.assertEqual([3., 1.5], [self._get(name) for name in (_A, _B)])
    self.assertEqual([2, 0.], [self._get(_A, n) for n in ("count", "slot")])

  def test_why_each_ends(self):
    curves = {  # The factors, at which check it ends, and the best one's step.
        "gains": ([3., 2., 1.5, 1.25], None, 8),
        "gains_late": ([3., 2., 2., 1.5], None, 8),  # An equal one is no gain.
        "never": ([2., 3., 3.], 6, 2),
        "twice": ([1.5, 2., 1.25, 2., 2.], 10, 6),
        "nan": ([2., _NAN], 4, 2), "inf": ([2., -_INF], 4, 2),
        "nan_first": ([_NAN], 2, None)}
    self._begin([_Times(name) for name in curves])
    ended = {}
    for number in range(5):
      ends = self._check(2 * number + 2, **{
          name: factors[number] for name, (factors, _, _) in curves.items()
          if number < len(factors)})
      for name, reason in ends.items():
        self.assertIn(f"at step {2 * number + 2}", reason)
        ended[name] = 2 * number + 2
    found = self._checks.by_network
    for name, (_, end, best_step) in curves.items():
      best = found["t0_" + name].best
      self.assertEqual((end, best_step), (
          ended.get("t0_" + name), best and best.step), name)

  def test_no_second_check_of_a_step_nor_of_one_that_has_ended(self):
    self._begin()
    self._check(2, a=3.)
    self.assertEqual({}, self._check(2, a=2.))
    self.assertEqual([(2, 4.)], self._losses(_A))
    self._checks.end(self._session, {_A: "It has learned enough."})
    self.assertEqual({}, self._check(4, a=2., b=2.))
    self.assertEqual([(2, 4.)], self._losses(_A))
    self.assertEqual([(4, 1.)], self._losses(_B))

  def test_values_that_the_logits_do_not_show(self):
    self._begin([_Times(name) for name in "abcd"])
    for name, value in ((_A, _NAN), (_B, _INF), ("t0_c", -_INF)):
      self._set(name, bias=value)
    ends = self._check(2, a=3., b=3., c=3., d=3.)
    self.assertEqual([_A, _B, "t0_c"], list(ends))
    np.testing.assert_equal(
        [_NAN, _NAN, _NAN, 4.],
        [self._losses("t0_" + name)[0][1] for name in "abcd"])

  def test_put_back_gives_all_the_best_values(self):
    self._begin()
    self.assertFalse(self._checks.put_back(self._session))
    self._check(2, a=1.5, b=3.)
    self._check(4, a=2., b=2.)
    self._check(5, a=2.5)
    self._set(_A, slot=7., step=5)
    self.assertTrue(self._checks.put_back(self._session))
    self.assertEqual([1.5, 2.], [self._get(name) for name in (_A, _B)])
    self.assertEqual([2, 4], [self._get(name, "count") for name in (_A, _B)])
    # An optimizer goes on with its own, and the step is how often it trained.
    self.assertEqual([7., 5], [self._get(_A, n) for n in ("slot", "step")])

  def test_end_is_for_good(self):
    self._begin()
    self._check(2, a=1.5, b=3.)
    self._check(4, a=2.)
    self._checks.end(self._session, {_A: "Enough is enough."})
    self.assertEqual([1.5, 3.], [self._get(name) for name in (_A, _B)])
    self.assertEqual(["Enough is enough", ""], [
        self._checks.by_network[name].ended for name in (_A, _B)])
    self.assertEqual((1., .25, 2, 0), self._checks.standings()[_A])
    self._set(_A, factor=5.)
    self._checks.put_back(self._session)
    self.assertEqual(5., self._get(_A))

  def test_end_without_a_good_check_leaves_its_values(self):
    self._begin()
    self._check(2, a=_NAN)
    self._checks.end(self._session, {_A: "It is NaN."})
    np.testing.assert_equal(_NAN, self._get(_A))
    self.assertEqual({_A}, set(self._checks.standings()))

  def test_recorded_are_the_logits_of_the_best_checks(self):
    self._begin()
    self._check(2, a=1.5, b=3.)
    self._check(4, a=2., b=2.)
    found = self._checks.recorded(self._session)
    self.assertEqual([(0, "a"), (0, "b")], list(found.members))
    for name, factor in (("a", 1.5), ("b", 2.)):
      np.testing.assert_array_equal(
          np.full([_ROWS, 1], factor), found.members[0, name].logits)
    self.assertEqual([2, 1], [batch.size for batch in found.batches])
    np.testing.assert_array_equal(
        np.ones([_ROWS, 1]), found.inputs[("labels",)])

  def test_recorded_of_networks_without_a_check_are_those_of_the_session(self):
    self._begin()
    self._check(2, a=1.5)
    self._set(_B, factor=4.)
    members = self._checks.recorded(self._session).members
    self.assertEqual([1.5, 4.], [
        members[0, name].logits[0, 0] for name in "ab"])

  def test_a_checkpoint_has_all(self):
    self._begin()
    self._check(2, a=1.5, b=2.)
    self._check(4, a=2., b=3.)
    self._checks.end(self._session, {_B: "Done."})
    before = self._checks.by_network
    path = v1.train.Saver().save(
        self._session, os.path.join(self._folder, "of-test"))
    self._begin(checkpoint=path, resumes=True)
    self.assertEqual(before, self._checks.by_network)
    self.assertTrue(self._checks.put_back(self._session))
    # The one that has ended has its values in the checkpoint itself.
    self.assertEqual([1.5, 9.], [self._get(name) for name in (_A, _B)])
    self.assertEqual([_A], list(self._check(6, a=2.)))
    # Without an iteration to resume, it is as new.
    self._begin(checkpoint=path)
    self.assertFalse(self._checks.put_back(self._session))
    self.assertEqual({}, self._checks.standings())

  @level.gate
  def test_checks_on_other_data_are_forgotten(self):
    self._begin()
    self._check(2, a=1.5, b=2.)
    self._check(3, b=3.)
    self._checks.end(self._session, {_B: "Done."})
    of_b = self._checks.by_network[_B]
    path = v1.train.Saver().save(
        self._session, os.path.join(self._folder, "of-test"))
    self._begin(checkpoint=path, resumes=True, input_fn=lambda: (
        _input_fn().map(lambda features, ones: (features, 3. * ones))))
    with self.assertLogs(level="WARNING") as logged:
      self.assertEqual({}, self._check(4, a=2.))
    self.assertIn("not those of the checks of t0_a before", logged.output[0])
    self.assertEqual([(4, 1.)], self._losses(_A))
    self.assertEqual(of_b, self._checks.by_network[_B])
    self.assertEqual({}, self._check(6, a=2.5))
    self.assertEqual([(4, 1.), (6, .25)], self._losses(_A))

  @level.gate
  def test_a_checkpoint_without_checks(self):
    self._begin()
    path = v1.train.Saver(v1.global_variables()).save(
        self._session, os.path.join(self._folder, "of-test"))
    self._begin(checkpoint=path, resumes=True)
    self.assertEqual({}, self._checks.standings())
    self.assertEqual({}, self._check(2, a=2.))

  @parameterized.named_parameters(
      ("variable", lambda training: training or v1.get_variable("only", []),
       "^early_stopping: t0_a has the variable "
       "'adanet/iteration_0/subnetwork_t0_a/only' where it is evaluated, and "
       "not where it trains"),
      ("table", lambda training: v1.lookup.experimental.DenseHashTable(
          v1.int64, v1.int64, -1, -1, -2),
       "^early_stopping: t0_a keeps 'adanet/iteration_0/subnetwork_t0_a/.*' in "
       "a table or a resource"))
  def test_what_cannot_be_put_back(self, in_mode, message):
    with self.assertRaisesRegex(ValueError, message):
      self._begin([_Times("a", in_mode)])


if __name__ == "__main__":
  absltest.main()
