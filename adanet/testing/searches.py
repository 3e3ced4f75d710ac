# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search of `builders`: an `adanet.Estimator`, and its parts."""

from typing import Any, Optional, Sequence

import adanet
from adanet import ensemble
from adanet import heads
from adanet import tf_compat
from adanet.core import ensembles
from adanet.core import iteration
from adanet.testing import builders as builders_lib


def estimator(model_dir: str, *builder_list: Any,
              **arguments: Any) -> adanet.Estimator:
  """Returns an estimator that trains two iterations of four steps.

  Args:
    model_dir: str.
    *made: the builders of each iteration.
    **arguments: more arguments of the estimator, or replacements for these.
  """
  return adanet.Estimator(model_dir=model_dir, **{
      "head": heads.RegressionHead(),
      "subnetwork_generator": builders_lib.generator(*builder_list),
      "max_iteration_steps": 4, "max_iterations": 2, **arguments})


class Calls(list):
  """A `CheckpointSaverListener` that notes its calls."""

  def begin(self):
    self.append("begin")

  def before_save(self, unused_session, global_step):
    self.append(f"before {global_step}")

  def after_save(self, unused_session, global_step):
    self.append(f"after {global_step}")

  def end(self, unused_session, global_step):
    self.append(f"end {global_step}")


class Wrapped:
  """A `SessionRunHook` that hides another one."""

  def __init__(self, hook: Any):
    """Calls the methods of a hook."""
    self.begin, self.end = hook.begin, hook.end
    self.after_create_session = hook.after_create_session
    self.before_run, self.after_run = hook.before_run, hook.after_run


def make(builders: Sequence[Any],
         max_iteration_steps: Optional[int] = None) -> iteration.Search:
  """Returns a search that makes these builders in each iteration.

  Args:
    builders: sequence of `adanet.subnetwork.Builder`.
    max_iteration_steps: int, or None for an iteration without an end.
  """
  v1 = tf_compat.v1
  return iteration.Search(
      head=heads.RegressionHead(), generator=builders_lib.generator(*builders),
      ensemblers=[ensemble.ComplexityRegularizedEnsembler(
          lambda: v1.train.GradientDescentOptimizer(.001))],
      strategies=[ensemble.GrowStrategy()], metric_fn=None,
      max_iteration_steps=max_iteration_steps, adanet_loss_decay=.9,
      replicate_ensemble_in_training=False, debug=False,
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      global_step_combiner_fn=v1.reduce_mean,
      exports=ensembles.ExportOptions(
          subnetwork_logits=False, subnetwork_last_layer=False))
