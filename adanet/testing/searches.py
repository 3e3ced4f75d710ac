# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search of `builders`, for the parts of which `adanet.Estimator` is made.
"""

import typing

from adanet import ensemble
from adanet import heads
from adanet import tf_compat
from adanet.core import ensembles
from adanet.core import iteration
from adanet.testing import builders as builders_lib


def make(builders: typing.Sequence[typing.Any],
         max_iteration_steps: typing.Optional[int] = None) -> iteration.Search:
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
      exports=ensembles.ExportOptions(False, False))
