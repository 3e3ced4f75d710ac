# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of a cluster of AdaNet 0.8.0, whose subnetworks take delays.

  adanet_task.py JOB

JOB is JSON: the arguments of `train`. AdaNet 0.8.0 must come first on the
import path. The task prints "ready" and AdaNet's version before its first step,
and waits for a line. When the iteration is over, the chief prints JSON: the
time of its last step, of the monotonic clock, and a dict from the name of each
variable of a step to its value.
"""

import json
import sys
import time

import adanet
from adanet import distributed
from adanet import version
from adanet.tf_compat import v1 as tf
from benchmarks import delays
from benchmarks import search


class _Parent:
  """The process that started this one, as the connection of a `Processor`."""

  def send(self, message):
    print(message, version.__version__, flush=True)

  def recv(self):
    return sys.stdin.readline()


class _Ends(tf.train.SessionRunHook):
  """Prints when the last step was, and how many were taken."""

  def __init__(self):
    self._time = None

  def after_run(self, run_context, run_values):
    self._time = time.monotonic()

  def end(self, session):
    steps = {v.op.name: int(session.run(v)) for v in tf.global_variables()
             if v.op.name.endswith("/step")}
    print(json.dumps([self._time, steps]), flush=True)


def train(model_dir, num_candidates, forward_secs, backward_secs, num_steps):
  """Trains an iteration as the task of TF_CONFIG.

  Args:
    model_dir: str.
    num_candidates: int.
    forward_secs: float, of a forward pass of each candidate.
    backward_secs: float, of what else a step of it takes.
    num_steps: int, of each candidate.
  """
  processor = delays.Processor(_Parent())
  # No task waits but for what it needs.
  config = tf.estimator.RunConfig(
      model_dir=model_dir, experimental_max_worker_delay_secs=0)
  estimator = adanet.Estimator(
      head=tf.estimator.MultiClassHead(search.NUM_CLASSES),
      subnetwork_generator=adanet.subnetwork.SimpleGenerator([
          delays.Builder(i, forward_secs, backward_secs, processor)
          for i in range(num_candidates)]),
      max_iteration_steps=num_steps, ensemblers=[search.Ensembler()],
      experimental_placement_strategy=distributed.RoundRobinStrategy(),
      delay_secs_per_worker=0, config=config)
  tf.estimator.train_and_evaluate(
      estimator, tf.estimator.TrainSpec(
          search.input_fn, max_steps=num_steps,
          hooks=[_Ends()] if config.is_chief else []),
      tf.estimator.EvalSpec(search.input_fn, steps=1))


if __name__ == "__main__":
  train(**json.loads(sys.argv[1]))
