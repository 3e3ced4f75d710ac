# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Chooses the engine or the task of this process, and trains with it."""

import contextlib
import enum
from typing import Any

from adanet import log as logging
from adanet import tf_compat
from adanet.core import events
from adanet.core import nan_loss
from adanet.engines import local
from adanet.engines.cluster import chief
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import jobs
from adanet.engines.cluster import parameter_server
from adanet.engines.cluster import worker
from adanet.engines.executor import driver
from adanet.progress import reporter
from adanet.search import loop
from adanet.search import winner
from adanet.tf_compat import files
from adanet.training import setup as setup_lib
from adanet.training import trainer


class Role(enum.Enum):
  """The role of a process in a search."""
  LOCAL = "local"
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
    return Role.LOCAL
  return Role.CHIEF if config.is_chief else Role.WORKER


def train(setup: setup_lib.SearchSetup, request: trainer.Request,
          executor: Any = None) -> None:
  """Trains in the role that the setup's config gives this process.

  Args:
    setup: `SearchSetup`.
    request: `Request`.
    executor: `concurrent.futures.Executor` that trains for this process; None
      for none.

  Raises:
    ValueError: there is a fitted ensembler, and no evaluator.
    selection.AllNaNError: no ensemble can win. It is a
      `tf.train.NanLossDuringTrainingError`, too.
    KeyboardInterrupt, SystemExit: a signal stopped the job, which goes on when
      it is started again.
  """
  winner.check_fitted(setup.search, setup.rules)
  role = role_of(setup.config)
  with contextlib.nullcontext() if executor is not None else (
      jobs.as_job(setup.config)):
    _train(setup, request, executor, role)


def _train(setup, request, executor, role):
  reporter.tell(events.Joined(
      files.real_path(setup.model_dir.path), jobs.job_id(setup.config).number))
  if role == Role.EVALUATOR and executor is None:
    logging.info("Skipped training: this task is the evaluator. It works in "
                 "adanet.train_and_evaluate.")
    return
  with nan_loss.raised_in_training(), setup.model_dir.trains_here():
    if executor is not None:
      loop.train(driver.ExecutorEngine(setup, executor), request)
    elif role == Role.LOCAL:
      loop.train(local.LocalEngine(setup), request)
    elif role == Role.CHIEF:
      with contextlib.closing(connection_lib.connect(
          setup.config, request.wait_timeout_secs)) as connection:
        loop.train(chief.ChiefEngine(setup, connection), request)
    elif role == Role.WORKER:
      worker.train(setup, request)
    else:
      parameter_server.train(setup, request)
