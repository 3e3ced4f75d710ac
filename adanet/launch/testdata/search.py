# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A small search on a cluster, as a user writes it.

  search.py FOLDER [TASK]

A task that is done writes FOLDER/TASK, such as FOLDER/worker-0: the job's id.
The task that is named second fails. The model_dir comes from
TF_CONFIG.
"""

import json
import os
import sys

import adanet
from adanet.tf_compat import v1 as tf

_FAILED = 3
_NUM_ITERATIONS = 2
_STEPS = 20


class _Builder(adanet.subnetwork.Builder):
  """Makes a network with one hidden layer."""
  name = ""

  def __init__(self, width):
    self.name, self._width = f"width_{width}", width

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    kernel = tf.get_variable("hidden", [2, self._width])
    layer = tf.nn.relu(tf.matmul(features["x"], kernel))
    kernel = tf.get_variable("logits", [self._width, logits_dimension])
    return adanet.Subnetwork(layer, tf.matmul(layer, kernel), 1.)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    return tf.train.AdamOptimizer(.01).minimize(loss, var_list=var_list)


def input_fn():
  """Returns a dataset of a line."""
  x = [[i / 8., 1.] for i in range(8)]
  return tf.data.Dataset.from_tensor_slices(
      ({"x": x}, [[2 * a + b] for a, b in x])).repeat().batch(4)


def estimator(**arguments):
  """Returns the search, with more arguments."""
  return adanet.Estimator(
      adanet.heads.RegressionHead(),
      adanet.subnetwork.SimpleGenerator([_Builder(2), _Builder(3)]), _STEPS,
      max_iterations=_NUM_ITERATIONS,
      config=adanet.tf_compat.RunConfig(tf_random_seed=1), **arguments)


def main(folder, failing=None):
  task = json.loads(os.environ["TF_CONFIG"])["task"]
  name = f"{task['type']}-{task['index']}"
  if name == failing:
    sys.exit(_FAILED)
  adanet.train_and_evaluate(
      estimator(experimental_placement_strategy=(
          adanet.distributed.RoundRobinStrategy())),
      adanet.TrainSpec(input_fn),
      adanet.EvalSpec(input_fn, steps=2))
  with open(os.path.join(folder, name), "w") as f:
    f.write(os.environ["ADANET_JOB_ID"] + "\n")


if __name__ == "__main__":
  main(*sys.argv[1:])
