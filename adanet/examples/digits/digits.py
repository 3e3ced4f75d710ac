# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Searches for an ensemble that reads handwritten digits, and serves it.

Data: UCI, "Optical Recognition of Handwritten Digits", 1,797 images of 8x8.
"""

from absl import app
from absl import flags
import adanet
from adanet.estimator import export
from adanet.tf_compat import v1 as tf
import numpy as np
from sklearn import datasets

_STEPS = flags.DEFINE_integer("steps", 300, "Steps of an iteration.", 1)


class _Builder(adanet.subnetwork.Builder):
  """Makes a network with some hidden layers."""
  name = ""

  def __init__(self, depth):
    self.name, self._depth = f"depth_{depth}", depth

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    layer = features["pixels"]
    for i in range(self._depth):
      kernel = tf.get_variable(f"hidden_{i}", [layer.shape[-1], 256])
      layer = tf.nn.relu(tf.matmul(layer, kernel))
    kernel = tf.get_variable("logits", [layer.shape[-1], logits_dimension])
    return adanet.Subnetwork(layer, tf.matmul(layer, kernel), self._depth**.5)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    return tf.train.AdamOptimizer(3e-3).minimize(loss, var_list=var_list)


def _serve(folder, images):
  """Returns the digits that the SavedModel in a folder reads."""
  examples = []
  for image in images:
    pixels = tf.train.Feature(float_list=tf.train.FloatList(value=image))
    examples.append(tf.train.Example(features=tf.train.Features(
        feature={"pixels": pixels})).SerializeToString())
  with tf.Graph().as_default(), tf.Session() as session:
    model = tf.saved_model.load(session, ["serve"], folder)
    predict = model.signature_def["predict"]
    inputs = {predict.inputs["examples"].name: examples}
    return session.run(predict.outputs["class_ids"].name, inputs)[:, 0]


def main(unused_argv):
  tf.logging.set_verbosity(tf.logging.ERROR)  # Deprecated functions are called.
  images, digits = datasets.load_digits(return_X_y=True)
  images = (images / 16).astype("float32")
  held_out = np.random.RandomState(0).rand(len(digits)) < .2

  def batches(chosen):
    return tf.data.Dataset.from_tensor_slices(
        ({"pixels": images[chosen]}, digits[chosen])).shuffle(2000).batch(64)

  estimator = adanet.Estimator(
      adanet.heads.MultiClassHead(10),
      adanet.subnetwork.SimpleGenerator([_Builder(i) for i in range(3)]),
      max_iteration_steps=_STEPS.value, max_iterations=3, force_grow=True,
      ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
          lambda: tf.train.AdamOptimizer(.05))],
      placement_strategy=adanet.distributed.RoundRobinStrategy())
  adanet.train_and_evaluate(
      estimator, adanet.TrainSpec(lambda: batches(~held_out).repeat()),
      adanet.EvalSpec(lambda: batches(held_out), steps=None))
  if estimator.config.is_chief:
    folder = estimator.export_saved_model(
        estimator.model_dir + "/export",
        export.build_parsing_serving_input_receiver_fn(
            {"pixels": tf.io.FixedLenFeature([64], tf.float32)})).decode()
    right = _serve(folder, images[held_out]) == digits[held_out]
    print(f"{folder} reads {np.mean(right):.1%} of new digits")


if __name__ == "__main__":
  app.run(main)
