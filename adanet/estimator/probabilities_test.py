# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that probabilities in place of logits get one warning."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import searches

v1 = tf_compat.v1
_CLASSES = adanet.heads.MultiClassHead(3)
_BINARY = adanet.heads.BinaryClassHead()


def _labels(of):
  def input_fn():
    features, line = builders.data()
    return {"x": features}, of((line > 0).astype("int64"))
  return input_fn


class _Ends(builders.Dense):
  """A network whose logits a function changes."""

  def __init__(self, name, function):
    super().__init__(name)
    self._function = function

  def build_subnetwork(self, *args, **kwargs):
    made = super().build_subnetwork(*args, **kwargs)
    return made._replace(logits=self._function(made.logits))


def _through_all(logits):
  probabilities = v1.cast(v1.identity(v1.nn.softmax(logits)), v1.float64)
  shaped = v1.expand_dims(v1.reshape(probabilities, [-1, 3, 1]), 1)
  return v1.cast(v1.squeeze(shaped, [1, 3]), v1.float32)


def _inner(logits):
  return v1.matmul(v1.sigmoid(logits), v1.ones([1, 1]))


def _by_head(logits):
  return {"a": logits[:, :1], "b": v1.sigmoid(logits[:, 1:2])}


class _TwoHeads(builders.Dense):

  def build_subnetwork(self, features, logits_dimension, *args, **kwargs):
    made = super().build_subnetwork(features, 2, *args, **kwargs)
    return made._replace(logits=_by_head(made.logits),
                         last_layer={"a": made.last_layer, "b": made.last_layer
                                    })


class ProbabilitiesTest(parameterized.TestCase):

  def _warnings(self, estimator, labels=lambda line: line):
    with self.assertLogs(level="INFO") as logged:
      estimator.train(_labels(labels), max_steps=2)
    return [line for line in logged.output if "its logits" in line]

  def _estimator(self, head, *made):
    return searches.estimator(
        self.create_tempdir().full_path, *made, head=head, max_iterations=1)

  @parameterized.named_parameters(level.first([
      ("sigmoid", _BINARY, v1.sigmoid, "sigmoid: the op 'Sigmoid'"),
      ("through_all", _CLASSES, _through_all, "softmax"),
      ("labels", adanet.heads.MultiLabelHead(2), v1.sigmoid, "sigmoid")]))
  def test_builder(self, head, function, message):
    head_labels = {_CLASSES: lambda line: line, _BINARY: lambda line: line}.get(
        head, lambda line: [[0, 1]] * 32)
    found = self._warnings(
        self._estimator(head, _Ends("bad", function), builders.Dense("good")),
        head_labels)
    self.assertLen(found, 1)
    self.assertIn("builder 'bad' of iteration 0: ", found[0])
    self.assertIn(message, found[0])

  @parameterized.named_parameters(level.first([
      ("inner", _BINARY, _inner),
      ("log", _CLASSES, v1.nn.log_softmax),
      ("regression", adanet.heads.RegressionHead(), v1.sigmoid)]))
  def test_no_false_alarm(self, head, function):
    self.assertEmpty(self._warnings(
        self._estimator(head, _Ends("good", function))))

  @level.gate
  def test_head_of_a_multi_head(self):
    head = adanet.heads.MultiHead([
        adanet.heads.BinaryClassHead(name="a"),
        adanet.heads.BinaryClassHead(name="b")])
    found = self._warnings(
        self._estimator(head, _TwoHeads("two")),
        lambda line: {"a": line, "b": line})
    self.assertLen(found, 1)
    self.assertIn("logits for the head 'b'", found[0])

  @parameterized.parameters(level.first([
      ("layer", 3), (None, 3), ("softmax", 2), ("layer", 2)]))
  def test_keras(self, activation, version):
    if version == 3 and not tf_compat.HAS_KERAS_3:
      self.skipTest("This TensorFlow has no Keras 3.")
    keras = tf_compat.keras if version == 2 else tf_compat.keras_3

    def model():
      layers = [keras.layers.Dense(4, activation="sigmoid"),
                keras.layers.Dense(
                    3, activation=None if activation == "layer" else activation,
                    name="last")]
      if activation == "layer":
        layers.append(keras.layers.Softmax(name="last_2"))
      return keras.Sequential(layers)

    found = self._warnings(adanet.AutoEnsembleEstimator(
        _CLASSES, {"model": model}, max_iteration_steps=2, max_iterations=1,
        model_dir=os.path.join(self.create_tempdir().full_path)))
    if activation is None:
      self.assertEmpty(found)
      return
    self.assertLen(found, 1)
    self.assertIn("builder 'model' of iteration 0", found[0])
    self.assertRegex(found[0], "softmax: the op '.*' of the layer '.*last")


if __name__ == "__main__":
  absltest.main()
