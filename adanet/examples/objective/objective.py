# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The AdaNet objective: three searches, with and without a price of depth.

Each predicts how the diabetes of 442 patients goes on, from ten measurements.
"""

import re

from absl import app
from absl import flags
import adanet
from adanet.tf_compat import v1 as tf
from sklearn import datasets

_STEPS = flags.DEFINE_integer("steps", 200, "Steps of an iteration.", 1)
_LAMBDA = flags.DEFINE_float("adanet_lambda", .5, "The price of depth.", 0)
_ROW = "{:9}{:>7}{:>12}{:>11}   {}"


class _Builder(adanet.subnetwork.Builder):
  """Makes a network of some depth. It has no biases: the data have mean 0."""
  name = ""

  def __init__(self, depth):
    self.name, self._depth = f"depth_{depth}", depth

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    layer = features["x"]
    for i in range(self._depth):
      kernel = tf.get_variable(f"hidden_{i}", [layer.shape[-1], 32])
      layer = tf.nn.relu(tf.matmul(layer, kernel))
    kernel = tf.get_variable("logits", [layer.shape[-1], logits_dimension])
    logits = tf.matmul(layer, kernel)
    return adanet.Subnetwork(layer, logits, self._depth**.5, shared=self._depth)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    return tf.train.AdamOptimizer(.01).minimize(loss, var_list=var_list)


class _Generator(adanet.subnetwork.Generator):
  """Offers a network as deep as the last one, and one a layer deeper."""

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    depth = previous_ensemble.subnetworks[-1].shared if previous_ensemble else 0
    return [_Builder(depth), _Builder(depth + 1)]


def _input_fn(patients):
  """Returns a function that returns batches of some of the patients."""
  x, y = (((a - a.mean(0)) / a.std(0))[patients].astype("float32")
          for a in datasets.load_diabetes(return_X_y=True))
  return lambda: tf.data.Dataset.from_tensor_slices(({"x": x}, y)).shuffle(
      len(y), seed=1).repeat().batch(20)


def main(unused_argv):
  print(_ROW.format("weights", "lambda", "complexity", "test loss", "depths"))
  for weights, price in [
      ("uniform", 0.), ("learned", 0.), ("learned", _LAMBDA.value)]:
    estimator = adanet.Estimator(
        adanet.heads.RegressionHead(), _Generator(), _STEPS.value,
        ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
            None if weights == "uniform" else
            lambda: tf.train.AdamOptimizer(.05), adanet_lambda=price)],
        max_iterations=2, config=adanet.tf_compat.RunConfig(tf_random_seed=1))
    estimator.train(_input_fn(slice(300)))
    metrics = estimator.evaluate(_input_fn(slice(300, 440)), steps=7)
    depths = re.findall(r"depth_(\d+)", str(
        metrics["architecture/adanet/ensembles"]))
    print(_ROW.format(
        weights, price, round(sum(int(depth)**.5 for depth in depths), 2),
        round(float(metrics["average_loss"]), 3), ", ".join(depths)))


if __name__ == "__main__":
  app.run(main)
