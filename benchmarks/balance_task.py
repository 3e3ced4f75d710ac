# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of the clusters that `balance` times, in a process of its own.

It may be a task of one job after another. The compute of a subnetwork's step is
`delays`. The first one of a job waits until all workers have come that far.
"""

import json
import os
import time
import traceback
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import adanet
from adanet import tf_compat
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import worker
from adanet.search import loop
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import trainer
from benchmarks import chief_engine
from benchmarks import delays
from benchmarks import endless_search
from benchmarks import search

_TIMEOUT_SECS = 120.


class Job(NamedTuple):
  """A job, the same for all of its tasks.

  Attributes:
    strategy: `PlacementStrategy`.
    cluster: dict from a job's name to a list of addresses, as in TF_CONFIG.
    model_dir: str.
    forward_secs: the seconds of a forward pass of each subnetwork, also where
      it is not trained.
    backward_secs: the seconds of what else a step of it takes.
    num_steps: int, how often each one is trained.
    num_eval_steps: int, on how many batches an evaluator compares candidates;
      0 for no evaluator.
  """
  strategy: Any
  cluster: Dict[str, List[str]]
  model_dir: str
  forward_secs: Sequence[float]
  backward_secs: Sequence[float]
  num_steps: int
  num_eval_steps: int = 0


class Done(NamedTuple):
  """What a task did.

  Attributes:
    end: float, when its iteration was over, of `time.monotonic`; None for all
      but the chief.
    training_secs: float, how long it computed for training.
    evaluation_secs: float, how long it computed for evaluation.
  """
  end: Optional[float] = None
  training_secs: float = 0.
  evaluation_secs: float = 0.


class _Ends:
  """Notes when the chief's loop ends: all subnetworks and ensembles are done.

  The ensembles alone may be done one step of the slowest subnetwork before.
  """

  def __init__(self):
    self.time = None

  def report(self, event):
    if isinstance(event, events.Progress):  # The last one is at the end.
      self.time = time.monotonic()


def _train(connection, job, task_type, index):
  """Runs one task of a job; returns what it has `Done`."""
  os.environ["TF_CONFIG"] = json.dumps(
      {"cluster": job.cluster, "task": {"type": task_type, "index": index}})
  config = tf_compat.RunConfig(
      model_dir=job.model_dir, save_checkpoints_secs=None)
  cluster = connection_lib.connect(config, _TIMEOUT_SECS)
  ends = _Ends()
  with signals.StopRequests() as stops:
    if config.task_type == tf_compat.TaskType.PS:
      chief_client.serve(cluster, stops)
      return Done()
    processor = delays.Processor(connection)
    builders = [
        delays.Builder(i, *secs, processor)
        for i, secs in enumerate(zip(job.forward_secs, job.backward_secs))]
    setup = setup_lib.SearchSetup(
        endless_search.make(builders, search.Ensembler())._replace(
            max_iteration_steps=job.num_steps),
        model_dir_lib.ModelDir(job.model_dir), config, job.strategy,
        setup_lib.Rules(adanet.Evaluator(
            search.input_fn, steps=job.num_eval_steps)
                        if job.num_eval_steps else None))
    training = trainer.Training(trainer.Request(
        search.input_fn, max_iterations=1, wait_timeout_secs=_TIMEOUT_SECS),
                                stops, ends.report)
    if config.is_chief:
      loop.SearchLoop(chief_engine.MeasuredChief(
          setup, cluster, training)).train(training.request)
    else:
      worker.Worker(setup, training, cluster).train()
    return Done(ends.time if config.is_chief else None, processor.secs[True],
                processor.secs[False])


def run(connection):
  """Runs tasks, one after another, until it is killed.

  Args:
    connection: gets triples of a `Job`, the type of the task and its index. It
      sends "ready" before its first step, and waits for any answer; in the
      end it sends what it has `Done`, or the text of an error.
  """
  while True:
    task = connection.recv()
    try:
      connection.send(("ended", _train(connection, *task)))
    except BaseException:  # pylint: disable=broad-except
      connection.send(("failed", traceback.format_exc()))
