# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The differences between AdaNet 0.8.0 and this project for a user's program.

The package `adanet` that is first on the import path is the one under test.

Attributes:
  IS_REFERENCE: bool, whether it is AdaNet 0.8.0.
  HAS_TF_ESTIMATOR: bool, whether TensorFlow has `tf.estimator`.
  keras: the Keras that works in a graph of TensorFlow 1.
"""

import adanet
from adanet import tf_compat
from adanet.tf_compat import v1 as tf

IS_REFERENCE = not hasattr(adanet, "heads")
HAS_TF_ESTIMATOR = IS_REFERENCE or hasattr(tf, "estimator")

keras = getattr(tf_compat, "keras", None) or tf.keras


def head(class_name, *args, **kwargs):
  """Returns the head of a class: `adanet.heads`', or `tf.estimator`'s."""
  return getattr(tf.estimator if IS_REFERENCE else adanet.heads, class_name)(
      *args, **kwargs)


def tf_estimator_head(class_name, *args, **kwargs):
  """Returns `tf.estimator`'s head of a class for both packages."""
  return getattr(tf.estimator, class_name)(*args, **kwargs)


def run_config(**kwargs):
  """Returns a `RunConfig` of one thread, without slow features.

  Args:
    **kwargs: arguments of `RunConfig`.
  """
  session_config = tf.ConfigProto(
      intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
  # A session runs a few steps only, so optimizing its graph is lost time.
  options = session_config.graph_options
  options.optimizer_options.opt_level = tf.OptimizerOptions.L0
  options.rewrite_options.disable_meta_optimizer = True
  arguments = dict(
      tf_random_seed=42,
      log_step_count_steps=None,
      session_config=session_config)
  arguments.update(kwargs)
  module = tf.estimator if IS_REFERENCE else tf_compat
  return module.RunConfig(**arguments)


def serving_input_receiver(features, receiver_tensors):
  """Returns the `ServingInputReceiver` of the package under test."""
  if IS_REFERENCE:
    return tf.estimator.export.ServingInputReceiver(features, receiver_tensors)
  from adanet.estimator import export  # pylint: disable=g-import-not-at-top
  return export.ServingInputReceiver(features, receiver_tensors)
