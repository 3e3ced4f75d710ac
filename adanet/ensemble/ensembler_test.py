# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the names of ensemblers, and of the mean ensemble."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet import subnetwork
from adanet import tf_compat
from adanet.testing import graphs


def _subnetwork(last_layer, logits):
  constant = tf_compat.v1.constant
  if isinstance(logits, dict):
    last_layer = {head: constant(value) for head, value in last_layer.items()}
    logits = {head: constant(value) for head, value in logits.items()}
  else:
    last_layer, logits = constant(last_layer), constant(logits)
  return subnetwork.Subnetwork(last_layer, logits, complexity=1.)


def _build(ensembler, subnetworks, previous_subnetworks=None):
  return ensembler.build_ensemble(
      subnetworks, previous_subnetworks, {}, None, 1, True, None, None, None)


class MeanEnsembleTest(graphs.GraphTestCase):

  @parameterized.parameters(
      (ensemble.ComplexityRegularizedEnsembler, "complexity_regularized"),
      (ensemble.GreedyEnsembler, "greedy"), (ensemble.MeanEnsembler, "mean"))
  def test_name(self, ensembler, expected):
    self.assertEqual(expected, ensembler().name)
    self.assertEqual("other", ensembler(name="other").name)

  def test_mean_of_logits(self):
    subnetworks = [_subnetwork([[9.]], [[1.], [2.]]),
                   _subnetwork([[9., 9.]], [[5.], [4.]])]
    mean_ensemble = _build(ensemble.MeanEnsembler(), iter(subnetworks))
    self.assertIsInstance(mean_ensemble, ensemble.MeanEnsemble)
    self.assertIsInstance(mean_ensemble, ensemble.Ensemble)
    self.assertEqual([[3.], [3.]], self.values(mean_ensemble.logits))
    self.assertEqual(subnetworks, mean_ensemble.subnetworks)
    self.assertIsNone(mean_ensemble.predictions)

  def test_previous_subnetworks_have_no_part(self):
    mean_ensemble = _build(
        ensemble.MeanEnsembler(), [_subnetwork([[9.]], [[1.]])],
        [_subnetwork([[9.]], [[5.]])])
    self.assertEqual([[1.]], self.values(mean_ensemble.logits))
    self.assertLen(mean_ensemble.subnetworks, 1)

  def test_mean_of_last_layers(self):
    mean_ensemble = _build(
        ensemble.MeanEnsembler(add_mean_last_layer_predictions=True),
        [_subnetwork([[1., 2.]], [[0.]]), _subnetwork([[3., 6.]], [[0.]])])
    self.assertEqual({"mean_last_layer": [[2., 4.]]},
                     self.values(mean_ensemble.predictions))

  def test_multi_head(self):
    mean_ensemble = _build(
        ensemble.MeanEnsembler(add_mean_last_layer_predictions=True),
        [_subnetwork({"a": [[1.]], "b": [[2., 2.]]},
                     {"a": [[3.]], "b": [[4.]]}),
         _subnetwork({"a": [[3.]], "b": [[4., 6.]]},
                     {"a": [[5.]], "b": [[6.]]})])
    self.assertEqual({"a": [[4.]], "b": [[5.]]},
                     self.values(mean_ensemble.logits))
    self.assertEqual({"mean_last_layer_a": [[2.]],
                      "mean_last_layer_b": [[3., 4.]]},
                     self.values(mean_ensemble.predictions))

  def test_nothing_is_trained(self):
    train_op = ensemble.MeanEnsembler().build_train_op(
        None, None, [], None, None, None, None)
    self.assertEqual("NoOp", train_op.type)

  @parameterized.parameters(
      ([[1.]], [[1.]], [[1., 2.]], r"subnetworks\[1\].logits has the shape "),
      ([[1., 2.]], [[1.]], [[1.]], r"subnetworks\[1\].last_layer has the shap"),
      ({"a": [[1.]]}, [[1.]], {"a": [[1.]]},
       r"subnetworks\[1\].logits has the heads \['a'\], and"))
  def test_shapes_that_differ(self, last_layer, other_last_layer, logits,
                              message):
    # A tensor would be broadcast, and the mean be of the wrong shape.
    with self.assertRaisesRegex(ValueError, message):
      _build(ensemble.MeanEnsembler(add_mean_last_layer_predictions=True),
             [_subnetwork(other_last_layer, [[1.]]),
              _subnetwork(last_layer, logits)])


if __name__ == "__main__":
  absltest.main()
