# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that probabilities in place of logits get one warning."""

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import log as logging
from adanet import tf_compat
from adanet.core import subnetworks
from adanet.testing import builders
from adanet.testing import level

v1 = tf_compat.v1
_CLASSES = adanet.heads.MultiClassHead(3)
_BINARY = adanet.heads.BinaryClassHead()
_TWO = adanet.heads.MultiHead([
    adanet.heads.BinaryClassHead(name="a"),
    adanet.heads.BinaryClassHead(name="b")])


def _through_all(logits):
  probabilities = v1.cast(v1.identity(v1.nn.softmax(logits)), v1.float64)
  shaped = v1.expand_dims(v1.reshape(probabilities, [-1, 3, 1]), 1)
  return v1.cast(v1.squeeze(shaped, [1, 3]), v1.float32)


class ProbabilitiesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("sigmoid", _BINARY, v1.sigmoid,
       ": its logits are the output of a sigmoid: the op 'Sigmoid'. "),
      ("through_all", _CLASSES, _through_all, "softmax"),
      ("labels", adanet.heads.MultiLabelHead(3), v1.sigmoid, "sigmoid"),
      ("head_of_a_multi_head", _TWO,
       lambda logits: {"a": logits[:, :1], "b": v1.sigmoid(logits[:, 1:2])},
       "its logits for the head 'b' are"),
      # No false alarm.
      ("inner", _BINARY,
       lambda logits: v1.matmul(v1.sigmoid(logits), v1.ones([1, 1])), None),
      ("log", _CLASSES, v1.nn.log_softmax, None),
      ("regression", adanet.heads.RegressionHead(), v1.sigmoid, None))
  def test_warns(self, head, function, message):
    with v1.Graph().as_default(), self.assertLogs("absl", "INFO") as logged:
      size = head.logits_dimension
      inputs = v1.placeholder(
          v1.float32, [None, 3 if isinstance(size, dict) else size])
      logits = function(inputs)
      logging.info("begun")
      subnetworks.warn_of_probabilities(
          logits, head.create_estimator_spec({}, "infer", logits).predictions,
          "owner", "scope")
    lines = [line.getMessage() for line in logged.records[1:]]
    self.assertLen(lines, int(message is not None))
    if lines:
      self.assertStartsWith(lines[0], "owner")
      self.assertIn(message, lines[0])

  @parameterized.parameters(
      ("layer", 3), (None, 3), ("softmax", 2), ("layer", 2))
  @level.gate
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

    def input_fn():
      features, line = builders.data()
      return {"x": features}, (line > 0).astype("int64")

    with self.assertLogs(level="INFO") as logged:
      adanet.AutoEnsembleEstimator(
          _CLASSES, {"model": model}, max_iteration_steps=2, max_iterations=1,
          model_dir=self.create_tempdir().full_path).train(input_fn)
    lines = [line for line in logged.output if "its logits" in line]
    self.assertLen(lines, int(activation is not None))
    for line in lines:
      self.assertIn("builder 'model' of iteration 0", line)
      self.assertRegex(line, "softmax: the op '.*' of the layer '.*last")


if __name__ == "__main__":
  absltest.main()
