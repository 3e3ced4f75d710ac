# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""One task of a cluster in which AdaNet 0.8.0 trains and evaluates.

It is written as a user of AdaNet writes it. `adanet` is AdaNet's own package
here, except that `adanet.distributed` is this project's.

`TF_CONFIG` names the task. The arguments are a class of `adanet.distributed`
and a folder for the model. A worker prints a line of JSON after its first step,
and goes on when it has read a line. The evaluator prints its metrics.
"""

import functools
import inspect
import json
import sys

import adanet
from adanet.tf_compat import v1
from adanet.tf_compat import v2

_STEPS = 60
_NUM_SUBNETWORKS = 3


class _Builder(adanet.subnetwork.Builder):
  """Builds a subnetwork of two linear layers."""

  def __init__(self, index, trained):
    """Makes a builder.

    Args:
      index: int, the subnetwork's in the iteration.
      trained: set that gets the index when this process trains the subnetwork.
    """
    self._index = index
    self._trained = trained

  @property
  def name(self):
    return f"dnn{self._index}"

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    hidden = v1.layers.dense(features["x"], 2 + self._index)
    return adanet.Subnetwork(
        last_layer=hidden,
        logits=v1.layers.dense(hidden, logits_dimension),
        complexity=1.)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    # A Python op runs in the process of the worker that built it.
    take_note = v1.py_func(lambda: self._trained.add(self._index), [], [])
    optimizer = v1.train.AdamOptimizer(.05)
    return v1.group(optimizer.minimize(loss, var_list=var_list), take_note)


class _Generator(adanet.subnetwork.Generator):
  def __init__(self, trained):
    self._trained = trained

  def generate_candidates(self, previous_ensemble, iteration_number,
                          previous_ensemble_reports, all_reports):
    return [_Builder(i, self._trained) for i in range(_NUM_SUBNETWORKS)]


class _RecordHook(v1.train.SessionRunHook):
  """Prints a record after the first step and waits for a line of input.

  The test sends the line when every worker has printed, so each worker takes a
  step, however late it starts. And no worker ends its part before the chief has
  read its checkpoint: that would set the part's steps back to 0, and the chief
  would wait for ever.
  """

  def __init__(self, strategy, trained):
    self._strategy = strategy
    self._trained = trained
    self._has_printed = True

  def after_create_session(self, session, coord):
    self._has_printed = False
    self._trained.clear()

  def after_run(self, run_context, run_values):
    if self._has_printed:
      return
    self._has_printed = True
    _print({
        "strategy": inspect.getfile(type(self._strategy)),
        "trains": sorted(self._trained),
        "devices": {v.op.name: v.device for v in v1.trainable_variables()},
    })
    sys.stdin.readline()


def _print(value):
  print(json.dumps(value), flush=True)


def _input_fn():
  x = v1.random.stateless_uniform([64, 3], seed=[1, 2])
  return {"x": x}, v1.reduce_sum(x * [[1., -2., 3.]], axis=1, keepdims=True)


def main(strategy_name, model_dir):
  # A worker looks for the chief only every 30 s, and there is no setting.
  v1.train.SessionManager.__init__ = functools.partialmethod(
      v1.train.SessionManager.__init__, recovery_wait_secs=.5)
  config = v1.estimator.RunConfig(
      model_dir=model_dir,
      experimental_max_worker_delay_secs=0,
      # Without soft placement an op is where its device says, or nowhere. With
      # the filter no worker waits for one that has ended.
      session_config=v1.ConfigProto(device_filters=["/job:ps"]))
  strategy = getattr(adanet.distributed, strategy_name)()
  trained = set()
  estimator = adanet.Estimator(
      head=v2.estimator.RegressionHead(),
      subnetwork_generator=_Generator(trained),
      max_iteration_steps=_STEPS,
      max_iterations=1,
      delay_secs_per_worker=0,
      worker_wait_secs=.5,
      config=config,
      experimental_placement_strategy=strategy)
  if config.task_type == "evaluator":
    metrics = estimator.evaluate(_input_fn, steps=1)
    _print({name: float(metrics[name])
            for name in ("average_loss", "global_step")})
    return
  v1.estimator.train_and_evaluate(
      estimator,
      v1.estimator.TrainSpec(
          _input_fn,
          max_steps=_STEPS,
          hooks=[_RecordHook(strategy, trained)]),
      v1.estimator.EvalSpec(_input_fn))


if __name__ == "__main__":
  main(*sys.argv[1:])
