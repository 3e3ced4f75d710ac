# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which role this process has in a search, and its training in that role."""

import enum
from typing import Any

from adanet import log as logging
from adanet import tf_compat
from adanet.core import events
from adanet.core import nan_loss
from adanet.progress import reporter
from adanet.roles import alone
from adanet.roles import chief
from adanet.roles import driver
from adanet.roles import parameter_server
from adanet.roles import worker
from adanet.tf_compat import files
from adanet.training import choosing
from adanet.training import model as model_lib
from adanet.training import trainer


class Role(enum.Enum):
  """What a process does for a search."""
  ALONE = "alone"
  CHIEF = "chief"
  WORKER = "worker"
  PARAMETER_SERVER = "parameter server"
  EVALUATOR = "evaluator"


def role_of(config: Any) -> Role:
  """Returns the role of the task that a RunConfig describes."""
  if config.task_type == tf_compat.TaskType.EVALUATOR:
    return Role.EVALUATOR
  if config.task_type == tf_compat.TaskType.PS:
    return Role.PARAMETER_SERVER
  if not config.num_ps_replicas:
    return Role.ALONE
  return Role.CHIEF if config.is_chief else Role.WORKER


_TRAIN = {
    Role.ALONE: alone.train,
    Role.CHIEF: chief.train,
    Role.WORKER: worker.train,
    Role.PARAMETER_SERVER: parameter_server.train,
}


def train(model: model_lib.Model, request: trainer.Request,
          executor: Any = None) -> None:
  """Trains in the role that the model's config gives this process.

  Args:
    model: `Model`.
    request: `Request`.
    executor: `concurrent.futures.Executor`, whose workers train for this
      process; None for none.

  Raises:
    ValueError: there is a fitted ensembler, and no evaluator.
    selection.AllNaNError: no ensemble can win. It is a
      `tf.train.NanLossDuringTrainingError`, too.
    KeyboardInterrupt, SystemExit: a signal stopped the job, which goes on when
      it is started again.
  """
  choosing.check_fitted(model.search, model.rules)
  role = role_of(model.config)
  reporter.tell(events.Joined(files.real_path(model.model_dir.path)))
  if executor is not None:
    with nan_loss.raised_in_training(), model.model_dir.trains_here():
      driver.train(model, request, executor)
    return
  if role == Role.EVALUATOR:
    logging.info("Skipped training: this task is the evaluator. It works in "
                 "adanet.train_and_evaluate.")
    return
  with nan_loss.raised_in_training(), model.model_dir.trains_here():
    _TRAIN[role](model, request)
