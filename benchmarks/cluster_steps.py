# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A task of a cluster that takes turns: steps of the loop, and bare steps.

  cluster_steps.py MODEL_DIR NUM_TURNS

It trains as `Estimator.train` does, for ever. When it has taken a step it
prints a line, and reads one: the time of the monotonic clock at which the first
turn begins, the same for all tasks. Between two steps, when a turn of bare
steps is due, it runs the train ops of the same graph in a second session, each
with the count of its steps that `Optimizer.minimize` makes of a `global_step`,
and nothing else. Both sessions are on the same server, and share the variables.
In the end it prints what it found, as JSON.
"""

import contextlib
import json
import os
import sys
import threading
import time

from adanet import distributed
from adanet import tf_compat
from adanet.core import event_files
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import worker
from adanet.search import loop
from adanet.tf_compat import v1 as tf
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import trainer
from benchmarks import chief_engine
from benchmarks import endless_search
from benchmarks import search

_TURN_SECS = 3.
# A turn of the loop ends with the next event of progress, .5 s later. Until all
# tasks have ended theirs, nothing is timed.
_SETTLE_SECS = 1.
_TIMEOUT_SECS = 120.


def phase(secs, num_turns):
  """Returns what a task does, some seconds after the first turn began.

  Args:
    secs: float.
    num_turns: int.

  Returns:
    The index of the turn, -1 to warm up; whether the steps are bare; the
    seconds at which this ends. None when all is over.
  """
  index = int(secs // _TURN_SECS)
  if index < 2:
    turn, is_bare = -1, index == 0
  else:
    turn = index // 2 - 1
    # The second of the two finds another state of the machine.
    is_bare = index % 2 == turn % 2
  return None if turn >= num_turns else (
      turn, is_bare, (index + 1) * _TURN_SECS)


def secs_of_step(records):
  """Returns the seconds of a step; None if nothing was trained.

  Args:
    records: list of pairs of the time and the number of steps until then.
  """
  if len(records) < 2 or records[-1][1] <= records[0][1]:
    return None
  (first_time, first), (last_time, last) = records[0], records[-1]
  return (last_time - first_time) / (last - first)


def _counted(train_op, name):
  """Returns the step that a train op has taken, once it has."""
  step = tf.get_variable(
      name + "_bare_step", [], tf.int64, tf.zeros_initializer(),
      trainable=False)
  with tf.control_dependencies([train_op]):
    return tf.assign_add(step, 1)


class _Builder(search.Builder):
  """Counts its steps as a bare loop would.

  Attributes:
    bare: tensor, the step after a bare one; None where nothing is trained.
  """
  bare = None

  def build_subnetwork_train_op(self, *args, **kwargs):
    train_op = super().build_subnetwork_train_op(*args, **kwargs)
    self.bare = _counted(train_op, self.name)
    return train_op


class _Ensembler(search.Ensembler):
  """Counts the steps of its ensembles likewise.

  Attributes:
    bare: list of tensors, one for each ensemble.
  """

  def __init__(self):
    super().__init__()
    self.bare = []

  def build_train_op(self, *args, **kwargs):
    spec = super().build_train_op(*args, **kwargs)
    self.bare.append(_counted(
        self.train_ops[-1], f"ensemble_{len(self.bare)}"))
    return spec


class _Turns:
  """Takes the turns, as the one to whom the loop reports its progress."""

  def __init__(self, connection, num_turns, bare_ops):
    """Takes a connection.

    Args:
      connection: `Connection`.
      num_turns: int.
      bare_ops: function that returns the ops of a bare step.
    """
    self._connection = connection
    self._num_turns = num_turns
    self._bare_ops = bare_ops
    self._exits = contextlib.ExitStack()
    self._begin = None
    self._session = None
    self._ops = None
    self._records = {}

  def _read_begin(self):
    self._begin = float(sys.stdin.readline())

  def report(self, event):
    """Takes an event of the loop, in its thread."""
    if not isinstance(event, events.Progress):
      return
    if self._session is None:
      self._open()
      print("works", flush=True)
      threading.Thread(target=self._read_begin, daemon=True).start()
    while self._begin is not None:
      now = time.monotonic()
      current_phase = phase(now - self._begin, self._num_turns)
      if current_phase is None:
        self._finish()
      turn, is_bare, end = current_phase
      settled = self._begin + end - _TURN_SECS + _SETTLE_SECS
      records = self._records.setdefault((turn, is_bare), [])
      if not is_bare:
        if now >= settled:
          # An ensemble takes no step before the subnetworks that it observes.
          records.append((now, min(event.steps.values())))
        return
      self._run_bare(settled, self._begin + end, records)

  def _open(self):
    """Opens the session of the bare steps, on the graph of the loop."""
    graph = tf_compat.v1.get_default_graph()
    self._ops = self._bare_ops()
    self._session = self._exits.enter_context(self._connection.session(graph))
    self._session.run(
        [op for op in graph.get_operations() if op.type == "MakeIterator"])

  def _run_bare(self, settled, end, records):
    num_steps = 0
    now = time.monotonic()
    while now < end:
      if now >= settled:
        records.append((now, num_steps))
        del records[1:-1]
      self._session.run(self._ops)
      num_steps += 1
      now = time.monotonic()

  def _finish(self):
    turns = [[secs_of_step(self._records.get((turn, is_bare), ()))
              for is_bare in (False, True)]
             for turn in range(self._num_turns)]
    print(json.dumps({"turns": turns, "num_ops": len(self._ops)}), flush=True)
    os._exit(0)  # pylint: disable=protected-access


def main(model_dir, num_turns):
  config = tf_compat.RunConfig(model_dir=model_dir)
  connection = connection_lib.connect(config, _TIMEOUT_SECS)
  if config.task_type == tf_compat.TaskType.PS:
    with signals.StopRequests() as stops:
      chief_client.serve(connection, stops)
    return
  strategy = distributed.RoundRobinStrategy()
  builders = [_Builder(i) for i in range(search.NUM_CANDIDATES)]
  ensembler = _Ensembler()
  is_trainer = strategy.with_config(config).should_train_subnetworks(
      len(builders))

  def bare_ops():
    if not is_trainer:
      return ensembler.bare
    return [b.bare for b in builders if b.bare is not None]

  turns = _Turns(connection, int(num_turns), bare_ops)
  setup = setup_lib.SearchSetup(
      endless_search.make(builders, ensembler),
      model_dir_lib.ModelDir(model_dir), config, strategy)
  with signals.StopRequests() as stops:
    training = trainer.Training(
        trainer.Request(search.input_fn, wait_timeout_secs=_TIMEOUT_SECS),
        stops, turns.report,
        event_files.SummaryWriter(model_dir) if config.is_chief else None)
    if config.is_chief:
      loop.SearchLoop(chief_engine.MeasuredChief(
          setup, connection, training)).train(training.request)
    else:
      worker.Worker(setup, training, connection).train()


if __name__ == "__main__":
  main(*sys.argv[1:])
