# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search of `search`, for the parts that `adanet.Estimator` is made of."""

from adanet import ensemble
from adanet import heads
from adanet import subnetwork
from adanet import tf_compat
from adanet.core import ensembles
from adanet.core import iteration
from benchmarks import search


def make(builders, ensembler):
  """Returns an `iteration.Search` whose first iteration has no end."""
  return iteration.Search(
      head=heads.MultiClassHead(search.NUM_CLASSES),
      generator=subnetwork.SimpleGenerator(builders), ensemblers=[ensembler],
      strategies=[ensemble.GrowStrategy()], metric_fn=None,
      max_iteration_steps=None, adanet_loss_decay=.9,
      replicate_ensemble_in_training=False, debug=False,
      enable_ensemble_summaries=True, enable_subnetwork_summaries=True,
      global_step_combiner_fn=tf_compat.v1.reduce_mean,
      exports=ensembles.ExportOptions(False, False))
