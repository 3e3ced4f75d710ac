# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of ensembles that are fitted when all networks have trained.

What is compared, saved, reported, evaluated, predicted and exported is the same
ensemble. `adanet/testing/oracle:executor_test` compares executors with
one process, `cluster_faults_test` has a cluster, `adanet/training:fitting_test`
what is fitted, and `adanet/search:loop_test` when.
"""

import os
import tempfile
import types

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.history import store
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_LABELS = builders.data()[1]
_COMPLEXITY = {"a": 1., "b": 2., "c": 3.}
_greedy = adanet.ensemble.GreedyEnsembler


def _held_out(shuffle=False, weights=False):
  """Returns an input_fn of batches of unequal sizes."""
  def input_fn():
    features, labels = builders.data()
    columns = {"x": features}
    if weights:
      columns["w"] = np.float32(labels > 0) + 1
    data = tf_compat.v1.data.Dataset.from_tensor_slices((columns, labels))
    return (data.shuffle(32) if shuffle else data).batch(7)
  return input_fn


def _receiver():
  features = {"x": tf_compat.v1.placeholder(tf_compat.v1.float32, [None, 3])}
  return types.SimpleNamespace(features=features, receiver_tensors=features)


class _Fixed(adanet.ensemble.FittedEnsembler):
  """Returns weights that a test gives, and notes what it gets."""

  name = "fixed"

  def __init__(self, weights):
    self._weights = weights
    self.seen = []

  def fit(self, members, loss):
    self.seen.append((members, [loss(member.logits) for member in members]))
    return self._weights


class _Ops(tf_compat.v1.train.SessionRunHook):
  """Notes the names of the ops of the graphs that train."""

  def __init__(self):
    self.names = []

  def end(self, session):
    self.names += [op.name for op in session.graph.get_operations()]


def _estimator(model_dir, **arguments):
  return searches.estimator(
      model_dir, *[builders.Dense(name, 1 + i) for i, name in enumerate("abc")],
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      **{"evaluator": adanet.Evaluator(_held_out()), **arguments})


class FittedTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())

  def _record(self, number):
    return store.Store(self._model_dir).iteration(number)

  def _weights(self, estimator, record):
    """Returns the weights that the latest checkpoint has of a winner."""
    number = record.winner.partition("_")[0][1:]
    prefix = f"adanet/iteration_{number}/ensemble_{record.winner}/"
    return [float(estimator.get_variable_value(
        f"{prefix}weighted_subnetwork_{i}/logits/mixture_weight"))
            for i in range(len(record.winning.subnetworks))]

  @parameterized.parameters(level.first([
      {"adanet_lambda": .01, "adanet_beta": .02}, {"max_members": 1}]))
  def test_all_speak_of_the_same(self, **arguments):
    estimator = _estimator(self._model_dir, ensemblers=[_greedy(**arguments)],
                           force_grow=True)
    ops = _Ops()
    estimator.train(builders.input_fn(), hooks=[ops])
    # Training computes no ensemble that is fitted later.
    self.assertTrue(any("t1_a" in name for name in ops.names))
    self.assertEmpty([name for name in ops.names if "/ensemble_t1" in name])
    record = self._record(1)
    winning = record.winning
    compared = winning.value

    # Saved.
    np.testing.assert_allclose(
        list(winning.weights), self._weights(estimator, record), rtol=1e-6)
    self.assertEqual(list(record.fit.members), list(winning.subnetworks))
    self.assertAlmostEqual(1., sum(winning.weights), places=5)
    self.assertLessEqual(record.fit.loss, record.fit.best_loss + 1e-6)
    if "max_members" in arguments:
      self.assertLen(winning.subnetworks, 1)

    # Evaluated, on the same data: the loss, and what complexity costs.
    metrics = estimator.evaluate(_held_out())
    price = sum(
        weight * (arguments.get("adanet_lambda", 0.) * _COMPLEXITY[name[-1]] +
                  arguments.get("adanet_beta", 0.))
        for name, weight in record.fit.members.items())
    self.assertAlmostEqual(compared, metrics["loss"] + price, places=5)

    # Predicted, and exported.
    predicted = np.array([
        prediction["predictions"]
        for prediction in estimator.predict(builders.input_fn(1))])
    self.assertAlmostEqual(
        record.fit.loss, np.square(predicted - _LABELS).mean(), places=5)
    v1 = tf_compat.v1
    exported = estimator.export_saved_model(
        os.path.join(self._model_dir, "export"), _receiver)
    with v1.Graph().as_default(), v1.Session() as session:
      meta = v1.saved_model.load(session, ["serve"], exported.decode())
      signature = meta.signature_def["predict"]
      np.testing.assert_allclose(predicted, session.run(
          signature.outputs["predictions"].name,
          {signature.inputs["x"].name: builders.data()[0]}), rtol=1e-5)

  @level.gate
  def test_members_that_an_ensembler_gets(self):
    fixed = _Fixed([1, 1, 2])
    estimator = _estimator(
        self._model_dir, max_iterations=1, ensemblers=[fixed],
        head=adanet.heads.RegressionHead(weight_column="w"),
        evaluator=adanet.Evaluator(_held_out(weights=True)))
    estimator.train(lambda: _held_out(weights=True)().repeat())
    (members, losses), = fixed.seen
    weights = np.float32(_LABELS > 0) + 1
    self.assertEqual([1., 2., 3.], [member.complexity for member in members])
    for member, loss in zip(members, losses):
      self.assertEqual(np.float32, member.logits.dtype)
      self.assertEqual((32, 1), member.logits.shape)
      self.assertFalse(member.logits.flags.writeable)
      self.assertAlmostEqual(loss, (np.square(
          member.logits - _LABELS) * weights).sum() / 32, places=5)
    self.assertEqual(losses, [self._record(0).subnetworks[
        f"t0_{name}"].held_out_loss for name in "abc"])
    member_weights = [1, 1, 2]
    predicted = sum(
        w * member.logits for w, member in zip(member_weights, members))
    self.assertAlmostEqual(
        self._record(0).fit.loss,
        (np.square(predicted - _LABELS) * weights).sum() / 32, places=4)

  @parameterized.parameters(level.first([
      (None, "evaluator=None: expected an adanet.Evaluator with the ensembler "
       "'greedy'"),
      (adanet.Evaluator(_held_out(shuffle=True)), "evaluator.input_fn: .* got "
       "another batch 0 .* do not shuffle, or shuffle with a seed")]))
  def test_refused(self, evaluator, message):
    with self.assertRaisesRegex(ValueError, message) as raised:
      _estimator(self._model_dir, ensemblers=[_greedy()],
                 evaluator=evaluator).train(builders.input_fn())
    self.assertNotIn("\n", str(raised.exception))
    self.assertEqual(evaluator is None, not os.listdir(self._model_dir))

  @level.gate
  def test_shuffled_with_a_seed(self):
    _estimator(
        self._model_dir, max_iterations=1, ensemblers=[_greedy()],
        evaluator=adanet.Evaluator(_held_out(shuffle=True)),
        config=tf_compat.RunConfig(tf_random_seed=3)).train(builders.input_fn())


if __name__ == "__main__":
  absltest.main()
