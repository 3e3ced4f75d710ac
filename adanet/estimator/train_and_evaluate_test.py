# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `adanet.train_and_evaluate`, and of the role of a task."""

import glob
import json
import os
import threading
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import jobs
from adanet.estimator import estimator as estimator_lib
from adanet.estimator import export
from adanet.estimator import exporters
from adanet.estimator import train_and_evaluate as train_lib
from adanet.history import records
from adanet.history import store
from adanet.testing import builders
from adanet.testing import level
from adanet.testing import processes
from adanet.testing import searches
from adanet.testing import variables
from adanet.tf_compat import files
import numpy as np

_CLUSTER = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}


def _receiver_fn():
  return export.build_raw_serving_input_receiver_fn(
      {"x": np.zeros([1, 3], np.float32)})()


class _Exporter:
  """Notes what it is asked for."""

  name = "notes"

  def __init__(self):
    self.calls = []

  def export(self, estimator, export_path, checkpoint_path, eval_result,
             is_the_final_export):
    assert export_path == os.path.join(estimator.model_dir, "export", self.name)
    assert eval_result["global_step"] == estimator.get_variable_value(
        "global_step")
    self.calls.append((eval_result["global_step"], is_the_final_export))


class RoleTest(parameterized.TestCase):

  @parameterized.parameters(
      ({}, None, "LOCAL"), ({"chief": ["a:1"]}, "chief", "LOCAL"),
      (_CLUSTER, "chief", "CHIEF"),
      ({"master": ["a:1"], "ps": ["c:1"]}, "master", "CHIEF"),
      (_CLUSTER, "worker", "WORKER"), (_CLUSTER, "ps", "PARAMETER_SERVER"),
      (_CLUSTER, "evaluator", "EVALUATOR"))
  def test_role_of(self, cluster, task_type, expected):
    tf_config = json.dumps(
        {"cluster": cluster, "task": {"type": task_type, "index": 0}}
        if cluster else {})
    with mock.patch.dict(os.environ, TF_CONFIG=tf_config):
      self.assertEqual(estimator_lib.Role[expected], estimator_lib.role_of(
          tf_compat.RunConfig(model_dir="/model")))


class LocalTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._exporter = _Exporter()

  def _run(self, train=None, specs=adanet, **spec):
    """Trains and evaluates two iterations of four steps."""
    estimator = searches.estimator(
        self._model_dir, builders.Dense("a"),
        config=tf_compat.RunConfig(save_checkpoints_steps=2))
    train = dict({"input_fn": builders.input_fn()}, **(train or {}))
    return adanet.train_and_evaluate(
        estimator, specs.TrainSpec(**train), specs.EvalSpec(**dict(dict(
            input_fn=builders.input_fn(1), throttle_secs=0,
            exporters=self._exporter), **spec)))

  def _curve(self, folder="eval"):
    """Returns the steps and the losses that TensorBoard shows."""
    points = []
    for path in glob.glob(os.path.join(self._model_dir, folder, "*.tfev*")):
      for event in tf_compat.v1.train.summary_iterator(path):
        points += [(event.step, value.simple_value)
                   for value in event.summary.value if value.tag == "loss"]
    return sorted(points)

  @level.gate
  def test_every_checkpoint(self):
    metrics, exports = self._run()
    self.assertEqual([(2, False), (4, False), (6, False), (8, False),
                      (8, True)], self._exporter.calls)
    self.assertEqual((8, 1), (metrics["global_step"], metrics["iteration"]))
    self.assertEqual([None], exports)
    self.assertEqual([2, 4, 6, 8], [step for step, _ in self._curve()])
    self.assertAlmostEqual(metrics["loss"], self._curve()[-1][1], places=5)

    # Training is as with fewer evaluations.
    values = variables.latest(self._model_dir)
    self._model_dir = self.create_tempdir().full_path
    self._run(throttle_secs=600, name="held_out", steps=1)
    self.assertEqual((2, False), self._exporter.calls[-2])
    self.assertLen(self._curve("eval_held_out"), 2)
    actual = variables.latest(self._model_dir)
    self.assertEqual(values.keys(), actual.keys())
    for name, value in values.items():
      np.testing.assert_allclose(actual[name], value, err_msg=name)

  def test_input_ends(self):
    self._run({"input_fn": builders.input_fn(1, batch_size=11)})
    self.assertEqual(
        [(2, False), (3, False), (3, True)], self._exporter.calls)

  @level.gate
  def test_goes_on(self):
    self._run({"max_steps": 2})
    self._run({"max_steps": 3})
    self._run({"max_steps": 3})  # It is over: only the end is missing.
    self.assertEqual([(2, True), (3, True), (3, True)], self._exporter.calls)

  @level.gate
  def test_hooks_and_listeners(self):
    calls = []

    class Hook(tf_compat.v1.train.SessionRunHook):

      def __init__(self, name):
        self._name = name

      def begin(self):
        calls.append(self._name)

    class Listener(tf_compat.v1.train.CheckpointSaverListener):

      def after_save(self, session, global_step_value):
        calls.append(int(global_step_value))

    self._run({"hooks": [Hook("train")], "saving_listeners": [Listener()],
               "max_steps": 2}, hooks=[Hook("eval")])
    self.assertEqual(["train", 0, 2, "eval"], calls)

  @parameterized.parameters("adanet", "tf.estimator")
  @level.gate
  def test_specs_and_exporters(self, library):
    specs, kinds = adanet, exporters
    if library == "tf.estimator":
      if not hasattr(tf_compat.v1, "estimator"):
        self.skipTest("This TensorFlow has no tf.estimator.")
      specs = kinds = tf_compat.v1.estimator
    metrics, exports = self._run({"max_steps": 3}, specs=specs, exporters=[
        kinds.FinalExporter("final", _receiver_fn),
        kinds.LatestExporter("latest", _receiver_fn),
        kinds.BestExporter("best", _receiver_fn)])
    self.assertEqual(3, metrics["global_step"])
    for path, name in zip(exports, ["final", "latest", "best"]):
      self.assertEqual(
          os.path.join(self._model_dir, "export", name),
          os.path.dirname(path.decode()))
      self.assertContainsSubset(
          ["saved_model.pb", "variables"], os.listdir(path.decode()))

  @parameterized.parameters(
      ((3, adanet.TrainSpec(print), adanet.EvalSpec(print)), "estimator"),
      ((None, None), "train_spec"), ((adanet.TrainSpec(print), None),
                                     "eval_spec"))
  def test_bad_arguments(self, arguments, name):
    if len(arguments) == 2:
      arguments = (_FakeEstimator(self._model_dir, "chief"),) + arguments
    with self.assertRaisesRegex(TypeError, "^" + name + " must be an adanet"):
      adanet.train_and_evaluate(*arguments)


class _LastExporter:
  """Notes what it is told. It exports all checkpoints, or the last one alone.
  """

  name = "notes"

  def __init__(self):
    self.is_final = []
    self.exports_all = False

  def export(self, estimator, export_path, checkpoint_path, eval_result,
             is_the_final_export):
    self.is_final.append(is_the_final_export)
    return f"export of {checkpoint_path}" if (
        self.exports_all or is_the_final_export) else None


class CheckpointEvaluatorTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = 100.
    self._exporter = _LastExporter()
    self._has_ensembles_behind = self.enter_context(mock.patch.object(
        model_dir_lib.ModelDir, "has_ensembles_behind",
        return_value=False))

  def _make(self, max_steps):
    self._estimator = mock.Mock(model_dir="/m")
    self._estimator.evaluate.return_value = {"global_step": 5, "loss": .5}
    return train_lib.CheckpointEvaluator(
        self._estimator, adanet.EvalSpec(
            lambda: None, exporters=[self._exporter], throttle_secs=10),
        max_steps, clock=lambda: self._now)

  @parameterized.parameters(
      # max_steps, whether ensembles are behind, and what exporters are told
      # then, and when training is over.
      (5, False, [True]), (4, False, [True]), (5, True, [False, True]),
      (6, False, [False, True]), (None, False, [False, True]))
  def test_which_one_is_the_last(self, max_steps, is_behind, is_final):
    self._has_ensembles_behind.return_value = is_behind
    evaluator = self._make(max_steps)
    evaluator.evaluate("c-5")
    for _ in range(2):
      evaluator.finish("c-5")
    self.assertEqual(is_final, self._exporter.is_final)
    self.assertEqual(1, self._estimator.evaluate.call_count)
    self.assertEqual(
        ({"global_step": 5, "loss": .5}, ["export of c-5"]), evaluator.results)

  def test_what_was_exported_is_not_exported_again(self):
    self._exporter.exports_all = True
    evaluator = self._make(6)
    evaluator.evaluate("c-5")
    evaluator.finish("c-5")
    self.assertEqual([False], self._exporter.is_final)
    self.assertEqual(["export of c-5"], evaluator.results[1])

  def test_another_one_is_the_last(self):
    evaluator = self._make(None)
    evaluator.evaluate("c-3")
    evaluator.finish("c-5")
    self.assertEqual([False, True], self._exporter.is_final)
    self.assertEqual("c-5", evaluator.checkpoint)

  @parameterized.parameters(
      ("model.ckpt-5", "e", False), ("model.ckpt-5", "f", True),
      ("model.ckpt-4", "f", False))
  def test_winner_that_is_known_only_then(self, decided, winner, is_again):
    model_dir = self.create_tempdir().full_path
    evaluator = self._make(5)
    self._estimator.model_dir = model_dir
    self._estimator.evaluate.return_value = {"global_step": 5, "iteration": 1}
    evaluator.evaluate("x/model.ckpt-5")
    history = store.Store(model_dir)
    evaluator.finish("x/model.ckpt-5")  # Nothing is known yet.
    history.write_evaluation(records.EvaluationRecord(1, 5, "e", {}))
    history.write_iteration(records.IterationRecord(
        1, (), winner, "loss", None, "", {}, 5, 1., None, decided, "{}"))
    evaluator.finish("x/model.ckpt-5")
    self.assertEqual(1 + is_again, self._estimator.evaluate.call_count)
    self.assertEqual([True] * (1 + is_again), self._exporter.is_final)

  @parameterized.parameters((None, 0), ("c-5", 1))
  def test_finish_latest(self, latest, count):
    evaluator = self._make(None)
    self._estimator.latest_checkpoint.return_value = latest
    evaluator.finish_latest()
    self.assertEqual(count, self._estimator.evaluate.call_count)

  def test_listener(self):
    evaluated = []
    evaluator = self._make(None)
    self._estimator.evaluate.side_effect = lambda *args, **kwargs: (
        evaluated.append(kwargs["checkpoint_path"]) or {"global_step": 5})
    current = types.SimpleNamespace(step=2)
    listener = train_lib.EvaluatingListener(
        evaluator, lambda: f"c-{current.step}" if current.step else None,
        first_step=2)
    for secs, step, expected in (
        (0, 2, []),  # It has learned nothing new.
        (0, 3, ["c-3"]), (9, 4, []), (1, 5, ["c-5"]), (10, 0, [])):
      self._now += secs
      current.step = step
      listener.after_save(None, step)
      self.assertEqual(expected, evaluated)
      del evaluated[:]


class _FakeEstimator:
  """Notes what it is asked for."""

  def __init__(self, model_dir, job, index=0, cluster=None, checkpoint=None):
    cluster = _CLUSTER if cluster is None else cluster
    self.environ = {"TF_CONFIG": json.dumps(
        {"cluster": cluster, "task": {"type": job, "index": index}}
        if cluster else {})}
    with mock.patch.dict(os.environ, self.environ):
      self.config = tf_compat.RunConfig(model_dir=model_dir)
    self.model_dir = model_dir
    self.calls = []
    self._checkpoint = checkpoint and os.path.join(model_dir, checkpoint)
    if checkpoint:
      variables.save(self._checkpoint, {"global_step": np.int64(6)})

  def train(self, input_fn, hooks, max_steps, saving_listeners):
    self.calls.append((input_fn, hooks, max_steps, saving_listeners))

  def evaluate(self, *unused_args, **unused_kwargs):
    self.calls.append("evaluate")
    return {"global_step": 6}

  def latest_checkpoint(self):
    return self._checkpoint


class ClusterTest(parameterized.TestCase):

  def _train_and_evaluate(self, estimator):
    """Calls it as a task in a process of its own; returns the results."""
    with mock.patch.dict(jobs.num_over, clear=True), mock.patch.dict(
        os.environ, dict(estimator.environ, ADANET_JOB_ID="job")):
      return adanet.train_and_evaluate(
          estimator, adanet.TrainSpec(print, 6), adanet.EvalSpec(print))

  @parameterized.parameters(
      ("chief", ({"global_step": 6}, []), ["evaluate"]), ("worker", None, []),
      ("ps", None, []))
  def test_results(self, job, expected, calls):
    estimator = _FakeEstimator(
        self.create_tempdir().full_path, job, checkpoint="model.ckpt-6")
    self.assertEqual(expected, self._train_and_evaluate(estimator))
    self.assertEqual([(print, (), 6, ())] + calls, estimator.calls)
    # The evaluator of the next job skips the chief's last checkpoint.
    evaluated = files.read_text(
        os.path.join(estimator.model_dir, "eval", "evaluated.json"))
    self.assertEqual(
        {"global_step": 6, "checkpoint": "model.ckpt-6"} if calls else {},
        json.loads(evaluated or "{}"))

  @parameterized.parameters(
      ("chief", "job#2", None), ("chief", "other#2", "evaluate"),
      ("master", "job#2", None))
  def test_restarted_in_a_later_call(self, task, job, call):
    model_dir = self.create_tempdir().full_path
    jobs.JobStateFile(model_dir).write(jobs.JobState(
        job, 1, 0, ("a",), 2, 1, "RoundRobinStrategy", None))
    estimator = _FakeEstimator(
        model_dir, task, cluster={task: ["a:1"], "ps": ["c:1"]},
        checkpoint="model.ckpt-6")
    results = self._train_and_evaluate(estimator)
    self.assertEqual([call] if call else [], estimator.calls[1:])
    self.assertEqual(({"global_step": 6}, []) if call else None, results)

  @parameterized.parameters(("master", {"master": ["a:1"], "ps": ["c:1"]}),
                            ("worker", {}))
  def test_trains_and_evaluates(self, job, cluster):
    estimator = _FakeEstimator(
        self.create_tempdir().full_path, job, cluster=cluster)
    adanet.train_and_evaluate(
        estimator, adanet.TrainSpec(print), adanet.EvalSpec(print))
    (_, _, _, listeners), = estimator.calls
    self.assertLen(listeners, 1)

  def test_second_evaluator(self):
    estimator = _FakeEstimator(
        self.create_tempdir().full_path, "evaluator", index=1)
    with self.assertRaisesRegex(ValueError, "index 0 for an evaluator, got 1"):
      adanet.train_and_evaluate(
          estimator, adanet.TrainSpec(print), adanet.EvalSpec(print))

  @level.gate
  def test_evaluator(self):
    model_dir = self.create_tempdir().full_path

    def estimator(config):
      return searches.estimator(
          model_dir, builders.Dense("a"), max_iteration_steps=2,
          max_iterations=1, config=config)

    estimator(tf_compat.RunConfig()).train(builders.input_fn())
    fake = _FakeEstimator(model_dir, "evaluator")
    state = jobs.JobState(
        "mine", 1, 0, ("a",), 2, 1, "RoundRobinStrategy", None)
    file = jobs.JobStateFile(model_dir)
    file.write(state)
    exporter = _Exporter()
    end = threading.Timer(
        .1, lambda: processes.wait_until(lambda: exporter.calls, "an export")
        and file.write(state._replace(state=jobs.State.OVER)))
    end.start()
    self.addCleanup(end.join)
    with mock.patch.dict(os.environ, fake.environ, ADANET_JOB_ID="mine"):
      self.assertIsNone(adanet.train_and_evaluate(
          estimator(tf_compat.RunConfig()),
          adanet.TrainSpec(builders.input_fn(), max_steps=2),
          adanet.EvalSpec(builders.input_fn(1), exporters=exporter,
                          start_delay_secs=0)))
    self.assertEqual([(2, False)], exporter.calls)  # The chief's is the final.


if __name__ == "__main__":
  absltest.main()
