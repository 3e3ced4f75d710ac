# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of the search that the fault test breaks: a program of a user."""

import time

from absl import app
from absl import flags
from absl import logging
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.testing import builders

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "", required=True)
_STRATEGY = flags.DEFINE_enum(
    "strategy", "round_robin",
    ["round_robin", "drop_remainder", "replication"], "")
_STEPS = flags.DEFINE_integer("steps", 100, "Of an iteration.")
_ITERATIONS = flags.DEFINE_integer("iterations", 3, "")
_STEP_SECS = flags.DEFINE_float("step_secs", .02, "How long a step takes.")
_TIMEOUT_SECS = flags.DEFINE_float("timeout_secs", 5, "Of an operation.")
_CHECKPOINT_SECS = flags.DEFINE_integer("checkpoint_secs", 1, "")

_NUM_NETWORKS = 3


class _SlowBuilder(builders.Dense):
  """Takes its time for a step, as a network of a user does."""

  def build_subnetwork_train_op(self, *args, **kwargs):
    v1 = tf_compat.v1

    def pause():
      time.sleep(_STEP_SECS.value)
      return True

    with v1.device(None), v1.control_dependencies(
        [v1.py_func(pause, [], v1.bool)]):
      return super().build_subnetwork_train_op(*args, **kwargs)


def _strategy():
  return {
      "round_robin": distributed.RoundRobinStrategy(),
      "drop_remainder": distributed.RoundRobinStrategy(drop_remainder=True),
      "replication": distributed.ReplicationStrategy(),
  }[_STRATEGY.value]


def main(unused_argv):
  logging.set_verbosity(logging.INFO)
  config = tf_compat.RunConfig(
      model_dir=_MODEL_DIR.value, tf_random_seed=1, keep_checkpoint_max=3,
      save_checkpoints_secs=_CHECKPOINT_SECS.value,
      session_config=tf_compat.v1.ConfigProto(
          allow_soft_placement=True,
          operation_timeout_in_ms=int(1000 * _TIMEOUT_SECS.value)))
  estimator = adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(*[
          _SlowBuilder("network_{}".format(i), width=2 + i)
          for i in range(_NUM_NETWORKS)]),
      max_iteration_steps=_STEPS.value, max_iterations=_ITERATIONS.value,
      worker_wait_timeout_secs=120, placement_strategy=_strategy(),
      config=config)
  adanet.train_and_evaluate(
      estimator, adanet.TrainSpec(builders.input_fn()),
      adanet.EvalSpec(builders.input_fn(1), start_delay_secs=0,
                      throttle_secs=1))


if __name__ == "__main__":
  app.run(main)
