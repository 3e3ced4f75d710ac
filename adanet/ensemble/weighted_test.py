# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the weighted ensemble, against figures that NumPy computes."""

import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet import subnetwork
from adanet import tf_compat
from adanet.testing import graphs
from adanet.testing import level
import numpy as np

_SCALAR = ensemble.MixtureWeightType.SCALAR
_VECTOR = ensemble.MixtureWeightType.VECTOR
_MATRIX = ensemble.MixtureWeightType.MATRIX

# A batch of 2, last layers of 3, logits of 2. Head "a" has the numbers of the
# only head, and "b" twice as many.
_LAST_LAYERS = [np.array([[1., 2., 3.], [4., 5., 6.]]) + i for i in range(3)]
_LOGITS = [np.array([[1., -2.], [3., 4.]]) * (i + 1) for i in range(3)]
_COMPLEXITIES = [1., 2., 4.]
_PREVIOUS_WEIGHTS = {
    _SCALAR: [np.array(.5), np.array(-.25)],
    _VECTOR: [np.array([.5, 1.]), np.array([-.25, 2.])],
    _MATRIX: [np.array([[1., 2.], [3., 4.], [5., 6.]]),
              np.array([[-1., 0.], [1., 2.], [0., 1.]])],
}
_PREVIOUS_BIAS = np.array([10., 20.])


class _Summary(subnetwork.Summary):
  """Keeps tensors by their tags."""

  def __init__(self):
    self.tensors = {}

  def scalar(self, name, tensor, family=None, description=None):
    self.tensors[name] = tensor

  def histogram(self, name, values, family=None, buckets=None,
                description=None):
    self.tensors[name] = tf_compat.v1.stack(values)

  def image(self, name, tensor, max_outputs=3, family=None, description=None):
    raise NotImplementedError

  def audio(self, name, tensor, sample_rate, max_outputs=3, family=None,
            encoding=None, description=None):
    raise NotImplementedError


def _heads(array, multi_head):
  tensor = tf_compat.v1.constant(array, tf_compat.v1.float32)
  return {"b": 2 * tensor, "a": tensor} if multi_head else tensor


def _subnetworks(multi_head=False, count=3):
  return [
      subnetwork.Subnetwork(
          _heads(_LAST_LAYERS[i], multi_head), _heads(_LOGITS[i], multi_head),
          _COMPLEXITIES[i]) for i in range(count)]


def _build(ensembler, subnetworks, kept=None, previous=None, summary=None):
  return ensembler.build_ensemble(
      subnetworks, kept, {}, None, 2, True, None, summary or _Summary(),
      previous)


def _weighted(weight_type, i, weight):
  return (_LAST_LAYERS[i] @ weight if weight_type == _MATRIX else
          _LOGITS[i] * weight)


def _price(weights, adanet_lambda, adanet_beta):
  """The last sum of equation (4) of the paper."""
  return sum((adanet_lambda * _COMPLEXITIES[i] + adanet_beta) *
             np.abs(weight).sum() for i, weight in enumerate(weights))


class BuildEnsembleTest(graphs.GraphTestCase):

  @parameterized.parameters(level.first([
      (_MATRIX, True, True), (_SCALAR, False, False), (_SCALAR, False, True),
      (_SCALAR, True, False), (_VECTOR, False, False), (_VECTOR, True, True),
      (_MATRIX, False, False)]))
  def test_table(self, weight_type, multi_head, warm_start):
    tf = tf_compat.v1
    with tf.variable_scope("previous"):
      previous = _build(
          ensemble.ComplexityRegularizedEnsembler(
              mixture_weight_type=weight_type),
          _subnetworks(multi_head, count=2))
    model_dir = self.create_tempdir().full_path
    self._save_previous(previous, weight_type, model_dir)

    first = 0. if weight_type == _MATRIX else 1 / 3
    shape = {_SCALAR: [], _VECTOR: [2], _MATRIX: [3, 2]}[weight_type]
    weights = [np.full(shape, first)] * 3
    bias = np.zeros(2)
    if warm_start:
      weights[:2] = _PREVIOUS_WEIGHTS[weight_type]
      bias = _PREVIOUS_BIAS
    logits = bias + sum(_weighted(weight_type, i, weight)
                        for i, weight in enumerate(weights))

    # Other options do not change the logits. All are built in one graph.
    ensembles = {}
    options = [(False, (0., 0.)), (True, (.5, 0.)), (True, (0., .25)),
               (False, (.5, .25))]
    new = _subnetworks(multi_head)[2]
    for index, (use_bias, (adanet_lambda, adanet_beta)) in enumerate(options):
      with tf.variable_scope(f"new{index}"):
        ensembles[index] = _build(
            ensemble.ComplexityRegularizedEnsembler(
                mixture_weight_type=weight_type, adanet_lambda=adanet_lambda,
                adanet_beta=adanet_beta, use_bias=use_bias,
                warm_start_mixture_weights=warm_start, model_dir=model_dir),
            [new], previous.subnetworks, previous)
    values = self.values({index: (e.logits, e.complexity_regularization,
                                  [w.logits for w in e.weighted_subnetworks])
                          for index, e in ensembles.items()})

    for index, (use_bias, prices) in enumerate(options):
      got_logits, got_price, got_parts = values[index]
      price = _price(weights, *prices)
      expected = logits
      if multi_head:
        # The last layers and logits of "b" are twice those of "a", but its
        # weights are the same.
        self.assertSameElements(["a", "b"], got_logits)
        np.testing.assert_allclose(
            got_logits["b"], 2 * (logits - bias) + bias, rtol=1e-5)
        got_logits, expected = got_logits["a"], logits
        got_parts = [part["a"] for part in got_parts]
        price *= 2
      np.testing.assert_allclose(got_logits, expected, rtol=1e-5)
      np.testing.assert_allclose(got_price, price, rtol=1e-5)
      np.testing.assert_allclose(
          got_parts, [_weighted(weight_type, i, weight)
                      for i, weight in enumerate(weights)], rtol=1e-5)
      scope = f"new{index}/"
      suffixes = ["", "_1"] if multi_head else [""]
      names = ["weighted_subnetwork_{}/logits{}/mixture_weight".format(
          i, suffix) for i in range(3) for suffix in suffixes]
      biases = ["bias" + suffix for suffix in suffixes]
      variables = tf.global_variables(scope)
      self.assertEqual([scope + name for name in names + biases],
                       [v.op.name for v in variables])
      self.assertEqual([shape] * len(names) + [[2]] * len(biases),
                       [v.shape.as_list() for v in variables])
      self.assertEqual(
          [scope + name for name in names + biases * use_bias],
          [v.op.name for v in tf.trainable_variables(scope)])

  def _save_previous(self, previous, weight_type, model_dir):
    """Writes known figures of the previous ensemble into a checkpoint."""
    tf = tf_compat.v1
    pairs = []
    for w, value in zip(previous.weighted_subnetworks,
                        _PREVIOUS_WEIGHTS[weight_type]):
      pairs += [(variable, value) for variable in (
          w.weight.values() if isinstance(w.weight, dict) else [w.weight])]
    pairs += [(variable, _PREVIOUS_BIAS) for variable in (
        previous.bias.values() if isinstance(previous.bias, dict) else
        [previous.bias])]
    assign = [tf.assign(variable, value) for variable, value in pairs]
    saver = tf.train.Saver([variable for variable, _ in pairs])
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      session.run(assign)
      saver.save(session, os.path.join(model_dir, "model.ckpt"))

  def test_attributes(self):
    subnetworks = _subnetworks()
    new_ensemble = _build(
        ensemble.ComplexityRegularizedEnsembler(), subnetworks)
    self.assertIsInstance(new_ensemble, ensemble.ComplexityRegularized)
    self.assertIsInstance(new_ensemble, ensemble.Ensemble)
    self.assertEqual([id(s) for s in subnetworks],
                     [id(s) for s in new_ensemble.subnetworks])
    for s, w in zip(subnetworks, new_ensemble.weighted_subnetworks):
      self.assertIsInstance(w, ensemble.WeightedSubnetwork)
      self.assertIs(s, w.subnetwork)
      self.assertEqual(("", 0), (w.name, w.iteration_number))

  @parameterized.parameters(False, True)
  def test_pruning(self, warm_start):
    tf = tf_compat.v1
    with tf.variable_scope("previous"):
      previous = _build(ensemble.ComplexityRegularizedEnsembler(),
                        _subnetworks(count=2))
    model_dir = self.create_tempdir().full_path
    self._save_previous(previous, _SCALAR, model_dir)
    new_ensemble = _build(
        ensemble.ComplexityRegularizedEnsembler(
            warm_start_mixture_weights=warm_start, model_dir=model_dir),
        _subnetworks()[2:], previous.subnetworks[1:], previous)
    self.assertIs(previous.subnetworks[1], new_ensemble.subnetworks[0])
    weights = [-.25 if warm_start else .5, .5]
    # The bias belongs to the whole previous ensemble, so it begins anew.
    logits = _LOGITS[1] * weights[0] + _LOGITS[2] * weights[1]
    np.testing.assert_allclose(self.values(new_ensemble.logits), logits)

  def test_all_are_pruned(self):
    with tf_compat.v1.variable_scope("previous"):
      previous = _build(ensemble.ComplexityRegularizedEnsembler(),
                        _subnetworks(count=2))
    for scope, kept in (("list", []), ("none", None)):
      with tf_compat.v1.variable_scope(scope):
        new_ensemble = _build(ensemble.ComplexityRegularizedEnsembler(),
                              _subnetworks()[2:], kept, previous)
      np.testing.assert_allclose(self.values(new_ensemble.logits), _LOGITS[2])

  def test_previous_ensemble_of_another_ensembler(self):
    previous = _build(ensemble.MeanEnsembler(), _subnetworks(count=2))
    new_ensemble = _build(
        ensemble.ComplexityRegularizedEnsembler(
            warm_start_mixture_weights=True, model_dir="/nonexistent"),
        _subnetworks()[2:], previous.subnetworks, previous)
    np.testing.assert_allclose(
        self.values(new_ensemble.logits), sum(_LOGITS) / 3, rtol=1e-5)

  def test_last_layer_of_rank_3(self):
    tf = tf_compat.v1
    last_layer = tf.placeholder_with_default(
        np.arange(24, dtype=np.float32).reshape([2, 4, 3]), [None, None, 3])
    new_ensemble = _build(
        ensemble.ComplexityRegularizedEnsembler(
            mixture_weight_type=_MATRIX,
            mixture_weight_initializer=tf.ones_initializer()),
        [subnetwork.Subnetwork(last_layer, tf.zeros([2, 2]), 1.)])
    sums = np.arange(24).reshape([2, 4, 3]).sum(axis=2)
    np.testing.assert_allclose(self.values(new_ensemble.logits),
                               np.stack([sums, sums], axis=2))

  def test_logits_of_rank_1(self):
    tf = tf_compat.v1
    values = tf.placeholder_with_default([1., 2., 3.], [None])
    new_ensemble = _build(
        ensemble.ComplexityRegularizedEnsembler(use_bias=True),
        [subnetwork.Subnetwork(values, values, 1.)])
    self.assertEqual([1], new_ensemble.bias.shape.as_list())
    np.testing.assert_allclose(self.values(new_ensemble.logits), [1., 2., 3.])

  def test_complexity_may_be_a_tensor(self):
    tf = tf_compat.v1
    new_ensemble = _build(
        ensemble.ComplexityRegularizedEnsembler(adanet_lambda=.5),
        [subnetwork.Subnetwork(tf.ones([1, 1]), tf.ones([1, 1]),
                               tf.constant(3))])
    self.assertEqual(1.5, self.values(new_ensemble.complexity_regularization))

  def test_keys_of_heads_may_be_tuples(self):
    tf = tf_compat.v1
    summary = _Summary()
    heads = {("task", "b"): tf.ones([1, 1]), ("task", "a"): tf.ones([1, 2])}
    new_ensemble = _build(
        ensemble.ComplexityRegularizedEnsembler(),
        [subnetwork.Subnetwork(heads, heads, 1.)], summary=summary)
    self.assertSameElements(heads, new_ensemble.logits)
    self.assertEqual([2], new_ensemble.bias[("task", "a")].shape.as_list())
    self.assertIn("mixture_weights/adanet/adanet_weighted_ensemble_task_b",
                  summary.tensors)


class SummaryTest(graphs.GraphTestCase):

  def test_tags_and_values(self):
    summary = _Summary()
    _build(ensemble.ComplexityRegularizedEnsembler(
        mixture_weight_type=_VECTOR, adanet_lambda=.5, adanet_beta=.25),
           _subnetworks(count=2), summary=summary)
    ensemble_tag = "adanet/adanet_weighted_ensemble"
    expected = {
        # (.5 * 1 + .25) * 1 + (.5 * 2 + .25) * 1: each weight is [1/2, 1/2].
        "complexity_regularization/" + ensemble_tag: 2.,
        "mixture_weights/" + ensemble_tag: [1., 1.],
    }
    for i in range(2):
      tag = f"{ensemble_tag}/subnetwork_{i}"
      expected["mixture_weight_norms/" + tag] = 1.
      expected["mixture_weight_fractions/" + tag] = .5
    self.assertEqual(expected, self.values(summary.tensors))

  def test_tags_of_heads(self):
    summary = _Summary()
    _build(ensemble.ComplexityRegularizedEnsembler(),
           _subnetworks(multi_head=True, count=1), summary=summary)
    self.assertEqual(
        [tag.format(head) for head in "ab" for tag in (
            "complexity_regularization/adanet/adanet_weighted_ensemble_{}",
            "mixture_weights/adanet/adanet_weighted_ensemble_{}",
            "mixture_weight_norms/adanet/adanet_weighted_ensemble/"
            "subnetwork_{}_0",
            "mixture_weight_fractions/adanet/adanet_weighted_ensemble/"
            "subnetwork_{}_0")], list(summary.tensors))


class TrainTest(graphs.GraphTestCase):

  def _train(self, optimizer, **kwargs):
    """Returns the weight and the bias after a step; both begin at [1], [0]."""
    tf = tf_compat.v1
    ensembler = ensemble.ComplexityRegularizedEnsembler(
        optimizer, use_bias=True, **kwargs)
    ones = tf.ones([1, 1])
    new_ensemble = _build(ensembler, [subnetwork.Subnetwork(ones, ones, 1.)])
    loss = (4. * tf.reduce_sum(new_ensemble.logits) +
            new_ensemble.complexity_regularization)
    variables = tf.trainable_variables()
    train_op = ensembler.build_train_op(
        new_ensemble, loss, variables, None, None, None, None)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      session.run(train_op)
      return [value.tolist() for value in session.run(variables)]

  def test_regularization_counts_twice(self):
    # The gradient of the weight is 4 + 2 * (1 * 1 + .5), as in AdaNet 0.8.0.
    optimizer = tf_compat.v1.train.GradientDescentOptimizer(.125)
    self.assertEqual([1. - .875, [-.5]], self._train(
        optimizer, adanet_lambda=1., adanet_beta=.5))

  def test_name_of_an_optimizer(self):
    weight, bias = self._train("sgd")
    np.testing.assert_allclose([weight] + bias, [.96, -.04], rtol=1e-5)

  def test_without_an_optimizer_nothing_is_read(self):
    with tf_compat.v1.Graph().as_default():
      train_op = ensemble.ComplexityRegularizedEnsembler().build_train_op(
          *[None] * 7)
    self.assertEqual("NoOp", train_op.type)


class BadValueTest(graphs.GraphTestCase):

  @parameterized.parameters(
      (dict(warm_start_mixture_weights=True),
       "^model_dir=None: .*warm_start_mixture_weights=True"),
      (dict(mixture_weight_type="tensor"),
       "^mixture_weight_type='tensor': expected one of scalar, vector, matrix"),
      (dict(adanet_lambda=float("nan")), "^adanet_lambda=nan"),
      (dict(adanet_beta=np.float64("nan")), "^adanet_beta=.*nan"),
      (dict(optimizer="Momentum"), "^optimizer='Momentum': expected a name"))
  def test_argument(self, kwargs, message):
    with self.assertRaisesRegex(ValueError, message):
      ensemble.ComplexityRegularizedEnsembler(**kwargs)

  @parameterized.parameters(
      (_SCALAR, [2, 3], [2, 3, 4], r"^logits has the shape .*1 or 2 dimension"),
      (_SCALAR, [2, 3], [], "^logits has the shape"),
      (_SCALAR, [2, 3], None, "^logits has the shape"),
      (_SCALAR, [2, 3], [2, None], "^logits has the shape .*of a known size"),
      (_VECTOR, [2, 3], [None], "^logits has the shape .*expected 2 dimension"),
      (_MATRIX, [2, None], [2, 1], "^last_layer has the shape .*known size"),
      (_MATRIX, [2, 3, 4, 5], [2, 1],
       "^last_layer has the shape .*2 or 3 dimensions"))
  def test_shape(self, weight_type, last_layer, logits, message):
    placeholder = tf_compat.v1.placeholder
    network = subnetwork.Subnetwork(
        placeholder("float32", last_layer), placeholder("float32", logits), 1.)
    with self.assertRaisesRegex(ValueError, message) as caught:
      _build(ensemble.ComplexityRegularizedEnsembler(
          mixture_weight_type=weight_type), [network])
    self.assertNotIn("\n", str(caught.exception))

  @parameterized.parameters((_SCALAR, "logits"), (_MATRIX, "last_layer"))
  def test_type(self, weight_type, name):
    zeros = tf_compat.v1.zeros
    tensors = {"logits": zeros([2, 1]), "last_layer": zeros([2, 1]),
               name: zeros([2, 1], "float16")}
    with self.assertRaisesRegex(
        ValueError, f"^{name} has the type float16: expected float32"):
      _build(ensemble.ComplexityRegularizedEnsembler(
          mixture_weight_type=weight_type),
             [subnetwork.Subnetwork(complexity=1., **tensors)])

  @parameterized.parameters(
      ([2, 2], [2, 1]), ([2, 2], [3, 2]), ([2, 1], [2]))
  def test_logits_that_would_be_broadcast(self, shape, other_shape):
    zeros = tf_compat.v1.zeros
    with self.assertRaisesRegex(
        ValueError, r"^subnetworks\[1\].logits has the shape .*the same shape"):
      _build(ensemble.ComplexityRegularizedEnsembler(),
             [subnetwork.Subnetwork(zeros(s), zeros(s), 1.)
              for s in (shape, other_shape)])

  def test_heads_that_differ(self):
    with self.assertRaisesRegex(ValueError, "expected the same heads"):
      _build(ensemble.ComplexityRegularizedEnsembler(),
             _subnetworks(multi_head=True, count=1) + _subnetworks(count=1))


if __name__ == "__main__":
  absltest.main()
