# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of the search that the fault test breaks: a program of a user."""

from absl import app
from absl import flags
from absl import logging
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.testing import builders

_MODEL_DIR = flags.DEFINE_string("model_dir", None, "", required=True)
_STRATEGY = flags.DEFINE_enum(
    "strategy", "round_robin", ["round_robin", "replication"], "")
_STEPS = flags.DEFINE_integer("steps", 100, "Of an iteration.")
_ITERATIONS = flags.DEFINE_integer("iterations", 3, "")
_STEP_SECS = flags.DEFINE_float("step_secs", .02, "How long a step takes.")
_TIMEOUT_SECS = flags.DEFINE_float("timeout_secs", 5, "Of an operation.")
_CHECKPOINT_SECS = flags.DEFINE_integer("checkpoint_secs", 1, "")

_NUM_NETWORKS = 3


def main(unused_argv):
  logging.set_verbosity(logging.INFO)
  session_config = tf_compat.default_session_config()
  session_config.operation_timeout_in_ms = int(1000 * _TIMEOUT_SECS.value)
  config = tf_compat.RunConfig(
      model_dir=_MODEL_DIR.value, tf_random_seed=1, keep_checkpoint_max=3,
      save_checkpoints_secs=_CHECKPOINT_SECS.value,
      session_config=session_config)
  strategy = (distributed.RoundRobinStrategy()
              if _STRATEGY.value == "round_robin" else
              distributed.ReplicationStrategy())
  estimator = adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(*[
          builders.Slow(f"network_{i}", _STEP_SECS.value, width=2 + i)
          for i in range(_NUM_NETWORKS)]),
      max_iteration_steps=_STEPS.value, max_iterations=_ITERATIONS.value,
      worker_wait_timeout_secs=120, placement_strategy=strategy,
      config=config)
  adanet.train_and_evaluate(
      estimator, adanet.TrainSpec(builders.input_fn()),
      adanet.EvalSpec(builders.input_fn(1), start_delay_secs=0,
                      throttle_secs=1))


if __name__ == "__main__":
  app.run(main)
