# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search that `training` measures, with this project or AdaNet 0.8.0.

Which of the two it is depends on the import path: both are the package
`adanet`. As a program it answers the one that started it. It prints the version
of `adanet`, and for each line that it reads it takes a turn and prints the
seconds.
"""

import shutil
import sys
import tempfile
import time

import adanet
from adanet import distributed
from adanet import tf_compat
from adanet import version
from adanet.tf_compat import v1 as tf
import numpy as np

NUM_STEPS = 300  # Of a turn; a multiple of `save_summary_steps`.
ITERATION_STEPS = 100  # Of each iteration of a whole search.

_BATCH_SIZE = 64
_NUM_FEATURES = 64
NUM_CLASSES = 10
_ENDLESS = 10**9

# The hidden layers of the candidates: 9,760 to 10,122 parameters.
_WIDTHS = ((130,), (80, 50), (64, 48, 48))
NUM_CANDIDATES = len(_WIDTHS)

# AdaNet has no heads of its own, and takes those of tf.estimator.
IS_ADANET = not hasattr(adanet, "heads")


class Builder(adanet.subnetwork.Builder):
  """Builds a dense network.

  Attributes:
    num_layers: int.
    train_op: that of the last graph, or None.
  """

  def __init__(self, index):
    self._name = f"dense_{index}"
    self._widths = _WIDTHS[index % len(_WIDTHS)]
    self.num_layers = len(self._widths) + 1
    self.train_op = None

  @property
  def name(self):
    return self._name

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    last_layer = layer = features["x"]
    for i, width in enumerate(self._widths + (logits_dimension,)):
      if i:
        last_layer = layer = tf.nn.relu(layer)
      kernel = tf.get_variable(f"kernel_{i}", [layer.shape[1], width])
      bias = tf.get_variable(f"bias_{i}", [width])
      layer = tf.nn.bias_add(tf.matmul(layer, kernel), bias)
    return adanet.Subnetwork(
        last_layer=last_layer, logits=layer,
        complexity=float(len(self._widths)), shared={})

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    self.train_op = tf.train.MomentumOptimizer(.01, .9).minimize(
        loss, var_list=var_list)
    return self.train_op


class Ensembler(adanet.ensemble.ComplexityRegularizedEnsembler):
  """Trains mixture weights.

  Attributes:
    train_ops: list of the train ops of all that it has built.
  """

  def __init__(self):
    super().__init__(
        optimizer=tf.train.GradientDescentOptimizer(.01), adanet_lambda=.001)
    self.train_ops = []

  def build_train_op(self, *args, **kwargs):
    spec = super().build_train_op(*args, **kwargs)
    self.train_ops.append(getattr(spec, "train_op", spec))
    return spec


def input_fn():
  """Returns a batch of noise, again and again."""
  random = np.random.RandomState(0)
  features = random.randn(_BATCH_SIZE, _NUM_FEATURES).astype(np.float32)
  labels = random.randint(NUM_CLASSES, size=[_BATCH_SIZE, 1])
  return tf.data.Dataset.from_tensors(({"x": features}, labels)).repeat()


class Search:
  """A search of dense networks, with mixture weights that are trained.

  Attributes:
    estimator: the `adanet.Estimator`. But for what is given here, all is as by
      default; so there are summaries.
  """

  def __init__(self, model_dir, max_iteration_steps, config=None,
               num_candidates=NUM_CANDIDATES, **arguments):
    self._builders = [Builder(i) for i in range(num_candidates)]
    self._ensembler = Ensembler()
    arguments.setdefault("ensemblers", [self._ensembler])
    heads = tf.estimator if IS_ADANET else adanet.heads
    self.estimator = adanet.Estimator(
        head=heads.MultiClassHead(NUM_CLASSES),
        subnetwork_generator=adanet.subnetwork.SimpleGenerator(self._builders),
        max_iteration_steps=max_iteration_steps,
        model_dir=model_dir, config=config, **arguments)

  def train_ops(self):
    """Returns the train ops of the first iteration's subnetworks and ensembles.

    Those of the ensembles are there unless other ensemblers were given.
    """
    return [b.train_op for b in self._builders] + self._ensembler.train_ops


class _ReadsGlobalStep(tf.train.SessionRunHook):
  """Reads the global step in each run, as most hooks do."""

  def before_run(self, run_context):
    return tf.train.SessionRunArgs(tf.train.get_global_step())


# What may take turns, and the hooks with which it trains.
STEP, HOOKED_STEP = "step\n", "step with a hook\n"
_HOOKS = {STEP: (), HOOKED_STEP: (_ReadsGlobalStep,)}


class _Turns(tf.train.CheckpointSaverListener):
  """Times the steps between two checkpoints.

  It is not asked in between, where a hook would be asked at each step.
  """

  def __init__(self, take_turn):
    self._take_turn = take_turn
    self._started = None
    self._secs = None

  def before_save(self, session, global_step_value):
    if self._started is not None:
      self._secs = time.perf_counter() - self._started

  def after_save(self, session, global_step_value):
    goes_on = self._secs is None or self._take_turn(
        session, self._secs / NUM_STEPS)
    self._secs = None
    self._started = time.perf_counter()
    return not goes_on


def train(kind, take_turn, **arguments):
  """Trains an iteration, `NUM_STEPS` steps a turn.

  Args:
    kind: `STEP` or `HOOKED_STEP`.
    take_turn: function of the `Search`, its session and the seconds of one step
      in the last turn; returns whether there is another.
    **arguments: more for `Search`.
  """
  model_dir = tempfile.mkdtemp()
  try:
    runs = tf.estimator if IS_ADANET else tf_compat
    search = Search(model_dir, _ENDLESS, runs.RunConfig(
        save_checkpoints_steps=NUM_STEPS, save_checkpoints_secs=None),
                    **arguments)
    search.estimator.train(
        input_fn, [hook() for hook in _HOOKS[kind]], max_steps=_ENDLESS,
        saving_listeners=[
            _Turns(lambda session, secs: take_turn(search, session, secs))])
  finally:
    shutil.rmtree(model_dir)


def time_search(num_iterations):
  """Returns the seconds of a whole search in a new model_dir."""
  model_dir = tempfile.mkdtemp()
  try:
    search = Search(model_dir, ITERATION_STEPS)
    started = time.perf_counter()
    search.estimator.train(
        input_fn, max_steps=num_iterations * ITERATION_STEPS)
    return time.perf_counter() - started
  finally:
    shutil.rmtree(model_dir)


def train_on_cluster(model_dir, num_iterations, delays, hooks):
  """Trains as the task of TF_CONFIG, each candidate on one worker.

  Args:
    model_dir: str.
    num_iterations: int.
    delays: whether AdaNet 0.8.0's workers wait as by default; here they never
      do.
    hooks: list of `SessionRunHook`, for this project.
  """
  arguments = {} if delays else {
      "delay_secs_per_worker": 0, "worker_wait_secs": .1}
  config = {} if delays or not IS_ADANET else {
      "experimental_max_worker_delay_secs": 0}
  runs = tf.estimator if IS_ADANET else tf_compat
  search = Search(
      model_dir, ITERATION_STEPS, runs.RunConfig(model_dir=model_dir, **config),
      experimental_placement_strategy=distributed.RoundRobinStrategy(),
      **arguments)
  max_steps = num_iterations * ITERATION_STEPS
  if not IS_ADANET:  # Its train_and_evaluate would evaluate on the chief.
    search.estimator.train(input_fn, hooks, max_steps=max_steps)
    return
  tf.estimator.train_and_evaluate(
      search.estimator, tf.estimator.TrainSpec(input_fn, max_steps=max_steps),
      tf.estimator.EvalSpec(input_fn, steps=1))


def _answer_steps(kind):
  """Prints the seconds of turns; returns the line that asks for another kind.
  """
  lines = [kind]

  def take_turn(unused_search, unused_session, secs):
    print(secs, flush=True)
    lines.append(sys.stdin.readline())
    return lines[-1] == kind

  train(kind, take_turn)
  return lines[-1]


def main():
  print(version.__version__, flush=True)  # AdaNet's; ours is `VERSION`.
  line = sys.stdin.readline()
  while line:
    if line in _HOOKS:
      line = _answer_steps(line)
    else:
      print(time_search(int(line)), flush=True)
      line = sys.stdin.readline()


if __name__ == "__main__":
  main()
