# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A search on a cluster whose ensembles are fitted: all workers record logits.

The chief is killed between training and choice. What is chosen then is what is
saved, reported, evaluated and predicted. Its builders do not ask for the
previous ensemble, so no task builds a network of the iteration before.
"""

import collections
import functools
import json
import os
import signal
import time

from absl import logging
from absl.testing import absltest
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import jobs
from adanet.testing import searches
import numpy as np

_NAMES = ("a", "b", "c")


class _HeldOut:
  """The evaluator's input; workers wait for the end of a file."""

  def __init__(self, path=None):
    self._path = path

  def __call__(self):
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {})
    while (self._path and task.get("type") == "worker" and
           os.path.exists(self._path)):
      time.sleep(.02)
    features, labels = builders.data()
    return tf_compat.v1.data.Dataset.from_tensor_slices(
        ({"x": features}, labels)).batch(7)


def _estimator(model_dir, held=None):
  return searches.estimator(
      model_dir, *[builders.Alone(name, 1 + i)
                   for i, name in enumerate(_NAMES)],
      max_iteration_steps=6, max_iterations=2, force_grow=True,
      ensemblers=[adanet.ensemble.GreedyEnsembler()],
      evaluator=adanet.Evaluator(_HeldOut(held)),
      config=tf_compat.RunConfig(model_dir=model_dir, tf_random_seed=1),
      placement_strategy=distributed.RoundRobinStrategy())


def _program(model_dir, held):
  """A user's program: one task."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  _estimator(model_dir, held).train(builders.input_fn())


class ClusterFittedTest(absltest.TestCase):

  def test_all_speak_of_the_same(self):
    folder = self.create_tempdir().full_path
    model_dir = os.path.join(folder, "model")
    held = os.path.join(folder, "held")
    with open(held, "w", encoding="utf-8"):
      pass
    job = jobs.started(self, functools.partial(_program, model_dir, held),
                       dict(chief=1, worker=2, ps=1), folder)
    job.wait(lambda: all(
        os.path.exists(job.log_path(name)) and " evaluates " in job.log(name)
        for name in ("worker:0", "worker:1")), 60., "the workers' records")
    trained = max(seen.event.global_step for seen in job.progress("chief:0"))
    job.signal("chief:0", signal.SIGKILL)
    job.start("chief:0")
    os.remove(held)
    job.finish(120.)

    # The second iteration has not recorded the members of the first one again.
    for name in ("chief:0", "worker:0", "worker:1"):
      self.assertNotIn("gives other data", job.log(name))
    with open(os.path.join(model_dir, "logits", "library.json"),
              encoding="utf-8") as f:
      kept = [one["iteration"] for one in json.load(f)["members"]]
    self.assertEqual({0: len(kept) - 3, 1: 3}, dict(collections.Counter(kept)))

    estimator = _estimator(model_dir)
    history = estimator.history()
    self.assertLen(history.iterations, 2)
    # It trained nothing again.
    self.assertEqual(trained, history.iterations[0].global_step)
    # All networks of the first iteration were there to choose from.
    self.assertEqual(3, history.iterations[0].fit.num_networks)
    networks = history.iterations[0].subnetworks.values()
    self.assertEqual(history.iterations[0].fit.best_loss, min(
        network.held_out_loss for network in networks))
    self.assertGreater(min(network.seconds for network in networks), 0.)
    record = history.iterations[1]
    prefix = f"adanet/iteration_1/ensemble_{record.winner}/"
    saved = [float(estimator.get_variable_value(
        f"{prefix}weighted_subnetwork_{i}/logits/mixture_weight"))
             for i in range(len(record.winning.subnetworks))]
    np.testing.assert_allclose(record.winning.weights, saved, rtol=1e-6)
    self.assertEqual(list(record.fit.members), list(record.winning.subnetworks))
    self.assertAlmostEqual(record.winning.value,
                           estimator.evaluate(_HeldOut())["loss"], places=5)
    predicted = np.array([one["predictions"] for one in estimator.predict(
        builders.input_fn(1))])
    self.assertAlmostEqual(
        record.fit.loss, np.square(predicted - builders.data()[1]).mean(),
        places=5)


if __name__ == "__main__":
  absltest.main()
