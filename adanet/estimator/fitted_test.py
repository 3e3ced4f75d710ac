# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of ensembles that are fitted when all networks have trained.

What is compared, saved, reported, evaluated, predicted and exported is the same
ensemble. `adanet/testing/oracle:executor_on_pool_test` compares executors with
one process, `cluster_faults_test` has a cluster, and
`adanet/training:fitting_test` what is fitted.
"""

import functools
import json
import os
import shutil
import tempfile
import types
from typing import List, NamedTuple

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


def _held_out(calls=None, shuffle=False, rows=slice(None), weights=False):
  """Returns an input_fn of batches of unequal sizes, which notes its calls."""
  def input_fn():
    if calls is not None:
      calls.append(1)
    features, labels = builders.data()
    columns = {"x": features[rows]}
    if weights:
      columns["w"] = np.float32(labels[rows] > 0) + 1
    data = tf_compat.v1.data.Dataset.from_tensor_slices(
        (columns, labels[rows]))
    return (data.shuffle(32) if shuffle else data).batch(7)
  return input_fn


def _receiver():
  given = {"x": tf_compat.v1.placeholder(tf_compat.v1.float32, [None, 3])}
  return types.SimpleNamespace(features=given, receiver_tensors=given)


class _Fixed(adanet.ensemble.FittedEnsembler):
  """Returns weights that a test gives."""

  name = "fixed"

  def __init__(self, weights, seen=None):
    self._weights = weights
    self._seen = [] if seen is None else seen

  def fit(self, members, loss):
    self._seen.append((members, [loss(member.logits) for member in members]))
    return self._weights(members) if callable(self._weights) else self._weights


def _estimator(model_dir, *names, **arguments):
  arguments.setdefault("evaluator", adanet.Evaluator(_held_out()))
  arguments.setdefault("ensemblers", [_greedy()])
  return searches.estimator(
      model_dir, *[builders.Dense(name, 1 + i)
                   for i, name in enumerate(names or ("a", "b", "c"))],
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      **arguments)


def _predictions(estimator):
  return np.array([one["predictions"] for one in estimator.predict(
      builders.input_fn(1))])


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
    estimator.train(builders.input_fn())
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
    found = estimator.evaluate(_held_out())
    price = sum(
        weight * (arguments.get("adanet_lambda", 0.) * _COMPLEXITY[name[-1]] +
                  arguments.get("adanet_beta", 0.))
        for name, weight in record.fit.members.items())
    self.assertAlmostEqual(compared, found["loss"] + price, places=5)

    # Predicted, and exported.
    predicted = _predictions(estimator)
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
  def test_architecture_has_members_only(self):
    seen = []
    estimator = _estimator(self._model_dir, force_grow=True, ensemblers=[_Fixed(
        lambda members: [0.] * (len(members) - 2) + [.25, .75], seen)])
    estimator.train(builders.input_fn())
    with open(os.path.join(
        self._model_dir, "architecture-0.json"), encoding="utf-8") as f:
      self.assertEqual(
          ["b", "c"],
          [one["builder_name"] for one in json.load(f)["subnetworks"]])
    self.assertEqual(("t1_b", "t1_c"), self._record(1).winning.subnetworks)
    # All that may be members were seen: the previous ones first.
    self.assertEqual([3, 5], [len(members) for members, _ in seen])
    # Iteration 1 has not built what iteration 0 left out.
    self.assertNotIn(
        "subnetwork_t0_a", " ".join(estimator.get_variable_names()))

  @level.gate
  def test_old_members_alone(self):
    estimator = _estimator(
        self._model_dir, force_grow=True, ensemblers=[_Fixed(
            lambda members: [1. / 3] * 3 if len(members) == 3 else
            [.5, .25, .25] + [0.] * (len(members) - 3))])
    estimator.train(builders.input_fn())
    record = self._record(1)
    self.assertEqual(("t0_a", "t0_b", "t0_c"), record.winning.subnetworks)
    self.assertEqual("t1_all_fixed", record.winner)
    self.assertEqual([.5, .25, .25], self._weights(estimator, record))
    self.assertAlmostEqual(
        record.winning.value, estimator.evaluate(_held_out())["loss"], places=5)

  @level.gate
  def test_members_that_an_ensembler_gets(self):
    seen = []
    estimator = _estimator(
        self._model_dir, max_iterations=1, ensemblers=[_Fixed([1, 1, 2], seen)],
        head=adanet.heads.RegressionHead(weight_column="w"),
        evaluator=adanet.Evaluator(_held_out(weights=True)))
    estimator.train(lambda: _held_out(weights=True)().repeat())
    (members, losses), = seen
    weights = np.float32(_LABELS > 0) + 1
    self.assertEqual([1., 2., 3.], [one.complexity for one in members])
    for member, loss in zip(members, losses):
      self.assertEqual(np.float32, member.logits.dtype)
      self.assertEqual((32, 1), member.logits.shape)
      self.assertFalse(member.logits.flags.writeable)
      self.assertAlmostEqual(loss, (np.square(
          member.logits - _LABELS) * weights).sum() / 32, places=5)
    self.assertEqual(losses, [self._record(0).subnetworks[
        f"t0_{name}"].held_out_loss for name in "abc"])
    found = [1, 1, 2]
    predicted = sum(w * member.logits for w, member in zip(found, members))
    self.assertAlmostEqual(
        self._record(0).fit.loss,
        (np.square(predicted - _LABELS) * weights).sum() / 32, places=4)

  @level.gate
  def test_in_the_middle_of_an_iteration(self):
    estimator = _estimator(self._model_dir)
    estimator.train(builders.input_fn(), max_steps=6)
    # Nothing is decided: it is fitted to what there is.
    middle = estimator.evaluate(_held_out())
    self.assertEqual(1, middle["iteration"])
    self.assertIsNone(self._record(1))
    estimator.train(builders.input_fn())
    np.testing.assert_array_equal(
        _in_one_go().predictions, _predictions(estimator))

  @level.gate
  def test_stopped_before_the_choice(self):
    """A search that ends between training and choice chooses the same."""
    class _Stop(Exception):
      pass

    def stop(members):
      raise _Stop()

    for _ in range(2):
      with self.assertRaises(_Stop):
        _estimator(self._model_dir, ensemblers=[_Fixed(stop)]).train(
            builders.input_fn())
    again = _estimator(self._model_dir)
    again.train(builders.input_fn())
    np.testing.assert_array_equal(
        _in_one_go().predictions, _predictions(again))

  @level.gate
  def test_other_ensemblers_before_and_after(self):
    weighted = adanet.ensemble.ComplexityRegularizedEnsembler()
    for iterations, ensemblers in ((1, [weighted]), (2, [_greedy(), weighted])):
      estimator = _estimator(
          self._model_dir, ensemblers=ensemblers, max_iterations=iterations,
          ensemble_strategies=[adanet.ensemble.AllStrategy()], force_grow=True)
      estimator.train(builders.input_fn())
    self.assertStartsWith(self._record(0).winner, "t0_all_complex")
    self.assertAlmostEqual(
        self._record(1).winning.value, estimator.evaluate(_held_out())["loss"],
        places=5)


class _Search(NamedTuple):
  """A search.

  Attributes:
    model_dir: str.
    calls: list, one for each call of the evaluator's input_fn.
    ops: list of the names of all ops of its graph of training.
    predictions: array.
  """
  model_dir: str
  calls: List[int]
  ops: List[str]
  predictions: np.ndarray


@functools.lru_cache(maxsize=None)
def _in_one_go():
  """Returns a search that was trained without a stop; nothing may change it."""
  model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
  calls, ops = [], []

  class _Hook(tf_compat.v1.train.SessionRunHook):

    def end(self, session):
      ops.extend(op.name for op in session.graph.get_operations())

  estimator = _estimator(
      model_dir, evaluator=adanet.Evaluator(_held_out(calls)))
  estimator.train(builders.input_fn(), hooks=[_Hook()])
  return _Search(model_dir, calls, ops, _predictions(estimator))


@level.gate
class InOneGoTest(absltest.TestCase):

  def test_decided_once(self):
    search = _in_one_go()
    before = len(search.calls)
    self.assertGreater(before, 0)
    # A program that only evaluates has the winner of the record.
    estimator = _estimator(search.model_dir, evaluator=adanet.Evaluator(
        _held_out(search.calls)))
    self.assertAlmostEqual(
        store.Store(search.model_dir).iteration(1).winning.value,
        estimator.evaluate(_held_out())["loss"], places=5)
    np.testing.assert_array_equal(search.predictions, _predictions(estimator))
    self.assertLen(search.calls, before)

  def test_lost_record(self):
    search = _in_one_go()
    model_dir = shutil.copytree(search.model_dir, os.path.join(
        self.create_tempdir().full_path, "copy"))
    os.remove(os.path.join(model_dir, "history", "iteration-1.json"))
    np.testing.assert_allclose(
        search.predictions, _predictions(_estimator(model_dir)), rtol=1e-6)

  def test_steps_fetch_no_ensemble(self):
    ops = _in_one_go().ops
    self.assertTrue(any("t1_a" in name for name in ops))
    self.assertEmpty([name for name in ops if "/ensemble_t1" in name])


class RefusedTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())

  def _refused(self, message, **arguments):
    with self.assertRaisesRegex(ValueError, message) as raised:
      _estimator(self._model_dir, **arguments).train(builders.input_fn())
    self.assertNotIn("\n", str(raised.exception))

  def test_no_evaluator(self):
    self._refused("evaluator=None: expected an adanet.Evaluator with the "
                  "ensembler 'greedy'", evaluator=None)
    self.assertEmpty(os.listdir(self._model_dir))

  def test_shuffled(self):
    self._refused("evaluator.input_fn: .* got another batch 0 .* do not "
                  "shuffle, or shuffle with a seed",
                  evaluator=adanet.Evaluator(_held_out(shuffle=True)))

  @level.gate
  def test_shuffled_with_a_seed(self):
    _estimator(
        self._model_dir, max_iterations=1,
        evaluator=adanet.Evaluator(_held_out(shuffle=True)),
        config=tf_compat.RunConfig(tf_random_seed=3)).train(builders.input_fn())


if __name__ == "__main__":
  absltest.main()
