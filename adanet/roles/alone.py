# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task that trains alone, in this process.

Where its cluster has no parameter server, an evaluator may still follow what it
announces.
"""

from typing import Union

from adanet.cluster import agreement as agreement_lib
from adanet.cluster import ended
from adanet.cluster import lock
from adanet.roles import leading
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib
from adanet.training import trainer


def train(model: model_lib.Model, request: trainer.Request) -> None:
  """Trains until the search ends, or its steps or input do.

  Args:
    model: `Model`.
    request: `Request`.
  """
  request, over = leading.resolved(model, request)
  if over is not None:
    if model.config.cluster_spec:  # Others wait for the end.
      with lock.owned(model.model_dir.path):
        _announce(model, agreement_lib.State.OVER, over, request.max_steps)
    return
  with leading.opened(model, request) as training:
    _announce(model, agreement_lib.State.TRAINING,
              max_steps=request.max_steps)
    try:
      start: Union[trainer.Start, str] = leading.undecided_start(
          model, request.max_iterations)
      while isinstance(start, trainer.Start):
        trained = _train_iteration(model, training, start)
        start = leading.after_iteration(model, training, trained)
    except (KeyboardInterrupt, SystemExit):
      _announce(model, agreement_lib.State.STOPPED,
                "the chief was asked to stop")
      raise
    _announce(model, agreement_lib.State.OVER, start)


def _announce(model, state, reason="", max_steps=None):
  """Tells an evaluator how far the job is, if there may be one."""
  if model.config.cluster_spec:
    agreement_lib.AgreementFile(model.model_dir.path).announce(
        ended.job_id(model.config).text, num_workers=1, num_ps=0,
        max_steps=max_steps, state=state, reason=reason)


def _train_iteration(model, training, start):
  """Trains an iteration; returns a `Trained`."""
  trained = leading.train_here(
      model, training, start, loop_lib.Surroundings(
          report=training.report,
          mark_stopped=lambda *note: leading.written_surely(
              lambda: model.model_dir.mark_stopped(start.number, *note),
              model, training.request),
          asked_to_stop=training.asked_to_stop))
  if trained is None:
    training.stops.raise_asked()
  assert trained is not None
  return trained
