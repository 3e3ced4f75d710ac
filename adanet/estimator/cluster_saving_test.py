# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a cluster saves, with a real server in each task."""

import functools
import glob
import os
import sys
import time

from absl import logging
from absl.testing import absltest
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.estimator import export as export_lib
from adanet.testing import builders
from adanet.testing import jobs
from adanet.testing import processes
from adanet.testing import searches
from adanet.testing import variables
import numpy as np

_ROWS = 120
_STEPS = 10
_STEP_SECS = .12  # Of the ensembles.
_WEIGHT = "adanet/iteration_{}/ensemble_{}/weighted_subnetwork_{}/logits/" + (
    "mixture_weight")


class _SlowEnsembler(adanet.ensemble.ComplexityRegularizedEnsembler):
  """Takes its time for a step."""

  def build_train_op(self, *args, **kwargs):
    v1 = tf_compat.v1

    def pause(unused_step):
      time.sleep(_STEP_SECS)
      return True

    with v1.control_dependencies([v1.py_func(pause, [0], v1.bool)]):
      return super().build_train_op(*args, **kwargs)


def _estimator(model_dir):
  v1 = tf_compat.v1
  return adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(builders.Dense("a"), builders.Dense("b", width=3)),
      max_iteration_steps=_STEPS, max_iterations=2, force_grow=True,
      ensemblers=[_SlowEnsembler(
          lambda: v1.train.GradientDescentOptimizer(.05))],
      config=tf_compat.RunConfig(
          model_dir=model_dir, tf_random_seed=1, save_checkpoints_secs=1,
          keep_checkpoint_max=None),
      placement_strategy=distributed.RoundRobinStrategy())


def _program(model_dir):
  """A user's program: one task."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  _estimator(model_dir).train(builders.input_fn())


def _exported(connection, model_dir, folder):
  """Exports in a process without a cluster, and sends what is in the export."""
  v1 = tf_compat.v1
  serving = export_lib.build_raw_serving_input_receiver_fn(
      {"x": np.zeros([1, 3], np.float32)})
  path = _estimator(model_dir).export_saved_model(folder, serving).decode()
  with v1.Graph().as_default(), v1.Session() as session:
    v1.saved_model.load(session, ["serve"], path)
    connection.send(session.run({
        v.op.name: v for v in v1.global_variables()
        if v.op.name.endswith("mixture_weight")}))


class _Counting(builders.Dense):
  """Counts in a variable how often its network is trained on each row."""

  def build_subnetwork(self, features, **arguments):
    v1 = tf_compat.v1
    self._rows = features["row"]
    self._seen = v1.get_variable(
        "seen", [_ROWS], v1.int64, v1.zeros_initializer(), trainable=False)
    return super().build_subnetwork({"x": features["x"]}, **arguments)

  def build_subnetwork_train_op(self, *args, **kwargs):
    v1 = tf_compat.v1
    return v1.group(
        super().build_subnetwork_train_op(*args, **kwargs),
        v1.scatter_add(self._seen, self._rows, v1.ones_like(self._rows)))


def _count(model_dir):
  """A user's program that trains on each row once: one task."""
  features, labels = builders.data(_ROWS)
  searches.estimator(
      model_dir, *map(_Counting, "abc"), max_iteration_steps=10**6,
      max_iterations=1, config=tf_compat.RunConfig(
          save_checkpoints_secs=None, save_summary_steps=None),
      placement_strategy=distributed.BalancedStrategy(num_ensemble_workers=0)
  ).train(adanet.inputs.numpy_input_fn(
      {"x": features, "row": np.arange(_ROWS)}, labels, 8, num_epochs=1,
      shuffle=True))


class ClusterSavingTest(absltest.TestCase):

  def test_each_network_sees_all_rows(self):
    """Some of six workers train in turns, and no one trains alone."""
    folder = self.create_tempdir().full_path
    model_dir = os.path.join(folder, "model")
    jobs.started(self, functools.partial(_count, model_dir),
                 dict(chief=1, worker=5, ps=2), folder).finish(120.)
    seen = [value for name, value in variables.latest(model_dir).items()
            if name.endswith("/seen")]
    self.assertLen(seen, 3)
    for counts in seen:
      np.testing.assert_array_equal(np.ones([_ROWS]), counts)

  def test_all_speak_of_the_same_values(self):
    """What wins is what is saved, built upon, reported and exported.

    The ensembles are slower than their subnetworks, and there is a checkpoint
    each second: some fall where the global step is that of the end, and the
    ensembles are not.
    """
    folder = self.create_tempdir().full_path
    model_dir = os.path.join(folder, "model")
    jobs.started(self, functools.partial(_program, model_dir),
                 dict(chief=1, worker=2, ps=1), folder).finish(120.)
    exported = processes.Process(
        _exported, model_dir, os.path.join(folder, "export"))
    saved = self._last_checkpoints(model_dir)
    self.assertLen(saved, 2)
    recorded = adanet.report(model_dir).iterations
    self.assertLen(recorded, 2)
    for number, (checkpoint, record) in enumerate(zip(saved, recorded)):
      steps = checkpoints.integers(
          checkpoint, f"adanet/iteration_{number}/(.*)/step")
      self.assertLen(steps, 4)  # Of two subnetworks, and of their ensembles.
      # A worker may be in a step when another one ends.
      self.assertContainsSubset(steps.values(), (_STEPS, _STEPS + 1), steps)
      new = [c for c in record.candidates if c.name.startswith(
          f"t{number}_")]
      self.assertLen(new, 2)
      for candidate in new:
        names = [_WEIGHT.format(number, candidate.name, i)
                 for i in range(len(candidate.subnetworks))]
        values = checkpoints.values(checkpoint, names)
        np.testing.assert_allclose(
            [np.mean(np.abs(values[name])) for name in names],
            candidate.weights, rtol=1e-6)
        average = "adanet/iteration_{}/candidate_{}/adanet_loss".format(
            number, candidate.name)
        self.assertAlmostEqual(
            float(checkpoints.values(checkpoint, [average])[average]),
            candidate.value, places=6)
    # What the second iteration began with is what the first one ended with.
    winner = _WEIGHT.format(0, recorded[0].winner, 0)
    begun = os.path.join(model_dir, "increment.ckpt-1")
    for checkpoint in (begun, saved[1]):
      self.assertEqual(checkpoints.values(saved[0], [winner]),
                       checkpoints.values(checkpoint, [winner]))
    # And what is exported is what the second one ended with: of all candidates
    # the best. Where a worker was slow, that is the winner of the first.
    weights = exported.receive()
    best = min(recorded[1].candidates, key=lambda candidate: candidate.value)
    number = int(best.name.startswith("t1_"))
    last = [_WEIGHT.format(number, best.name, i) for i in range(number + 1)]
    self.assertContainsSubset(last, weights)
    self.assertEqual(checkpoints.values(saved[1], last),
                     {name: weights[name] for name in last})

  def _last_checkpoints(self, model_dir):
    """Returns the last checkpoint of each iteration."""
    by_iteration = {}
    for index in glob.glob(os.path.join(model_dir, "model.ckpt-*.index")):
      checkpoint = index[:-len(".index")]
      number = checkpoints.integer(checkpoint, "current_iteration")
      by_iteration.setdefault(number, []).append(
          (os.stat(index).st_mtime_ns, checkpoint))
    return [max(by_iteration[number])[1] for number in sorted(by_iteration)]


if __name__ == "__main__":
  # Imported once, before the tasks are forked.
  assert tf_compat.v1.Graph
  sys.exit(absltest.main())
