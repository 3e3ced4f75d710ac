# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `adanet.Estimator` on one machine.

`adanet/testing/oracle` holds its figures against AdaNet's; here is what those
settings do not say.
"""

import glob
import os
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.core import events
from adanet.progress import event_json
from adanet.progress import reporter
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_Dense = builders.Dense


class _Hook:
  """Notes what a hook is called with, and may ask for a stop."""

  def __init__(self, stop_at=None):
    self.calls = []
    self.steps = []
    self._stop_at = stop_at

  def begin(self):
    self.calls.append("begin")
    self._global_step = tf_compat.v1.train.get_global_step()

  def after_create_session(self, session, coord):
    del coord
    self.calls.append(f"session {session.run(self._global_step)}")

  def before_run(self, run_context):
    del run_context
    return tf_compat.v1.train.SessionRunArgs(self._global_step)

  def after_run(self, run_context, run_values):
    self.steps.append((
        int(run_values.results),
        int(run_context.session.run(self._global_step))))
    if len(self.steps) == self._stop_at:
      run_context.request_stop()

  def end(self, session):
    self.calls.append(f"end {session.run(self._global_step)}")


class _Partitioned(_Dense):
  """A network whose variables are in parts, and those of its optimizer too."""

  def build_subnetwork(self, *args, **kwargs):
    v1 = tf_compat.v1
    with v1.variable_scope(
        "parts", partitioner=v1.fixed_size_partitioner(2, axis=1)):
      return super().build_subnetwork(*args, **kwargs)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    return tf_compat.v1.train.AdamOptimizer(.05).minimize(
        loss, var_list=var_list)


class EstimatorTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _estimator(self, *made, **kwargs):
    return searches.estimator(self._model_dir, *made, **kwargs)

  def test_hooks_see_the_step_before_and_after(self):
    hook = _Hook()
    self._estimator(_Dense("a")).train(
        builders.input_fn(), hooks=[hook], max_steps=6)
    self.assertEqual([(i, i + 1) for i in range(6)], hook.steps)
    self.assertEqual(
        ["begin", "session 0", "end 4", "begin", "session 4", "end 6"],
        hook.calls)

  def test_a_hook_costs_no_further_run(self):

    class Counts(_Hook):
      num_runs = 0

      def after_create_session(self, session, coord):
        def counted(run):
          def call(*args, **kwargs):
            self.num_runs += 1
            return run(*args, **kwargs)

          return call

        make_callable = session.make_callable
        session.run = counted(session.run)
        session.make_callable = lambda *args: counted(make_callable(*args))
        super().after_create_session(session, coord)

      def before_run(self, run_context):
        self._before = self.num_runs
        return super().before_run(run_context)

      def after_run(self, run_context, run_values):
        self.calls.append(self.num_runs - self._before)
        super().after_run(run_context, run_values)

    hook = Counts()
    self._estimator(_Dense("a"), _Dense("b")).train(
        builders.input_fn(), hooks=[hook], max_steps=4)
    self.assertEqual(["begin", "session 0", 1, 1, 1, 1, "end 4"], hook.calls)

  def test_copied_model_dir(self):
    def estimator():
      return self._estimator(
          _Dense("a"), warm_start_mixture_weights=True,
          config=tf_compat.RunConfig(
              save_checkpoints_steps=1, keep_checkpoint_max=2))

    estimator().train(builders.input_fn(), max_steps=4)
    original, self._model_dir = self._model_dir, self._model_dir + "-copy"
    shutil.copytree(original, self._model_dir)
    # Whatever is read of these would be noticed.
    for path in glob.glob(os.path.join(original, "*.ckpt-*")):
      open(path, "w").close()
    before = sorted(os.listdir(original))
    copy = estimator()
    self.assertEqual(4, copy.get_variable_value("global_step"))
    self.assertIn("global_step", copy.get_variable_names())
    copy.train(builders.input_fn())
    self.assertEqual(8, copy.evaluate(builders.input_fn(1))["global_step"])
    self.assertEqual(before, sorted(os.listdir(original)))
    with open(os.path.join(self._model_dir, "checkpoint")) as f:
      self.assertNotIn(original + "/", f.read())

  def test_a_hook_may_fetch_anything(self):
    v1 = tf_compat.v1

    class Fetches(v1.train.SessionRunHook):

      def after_create_session(self, session, coord):
        self.read = session.graph.as_graph_element(
            v1.train.get_global_step()).op
        self.read_before = self.read.node_def

      def before_run(self, run_context):
        step = v1.train.get_global_step()
        ones = v1.sparse.from_dense([[1., 0.]])
        return v1.train.SessionRunArgs(
            {"step": [step], ("a", 1): (step.name, ones), 2: step.op})

      def after_run(self, run_context, run_values):
        self.results = run_values.results

    hook = Fetches()
    self._estimator(_Dense("a")).train(
        builders.input_fn(), hooks=[hook], max_steps=2)
    self.assertEqual([1], hook.results["step"])
    self.assertEqual([1.], hook.results["a", 1][1].values)
    # TensorFlow warns of ops that change when they have run.
    self.assertEqual(hook.read_before, hook.read.node_def)

  def test_users_hook_stops_training(self):
    estimator = self._estimator(_Dense("a"))
    estimator.train(builders.input_fn(), hooks=[_Hook(stop_at=3)])
    self.assertEqual(3, estimator.get_variable_value("global_step"))

  def test_subnetwork_that_was_stopped_stays_stopped(self):
    made = [builders.Hooked("a", [_Hook(stop_at=2)]), _Dense("b")]
    self._estimator(*made).train(builders.input_fn(), max_steps=2)
    estimator = self._estimator(builders.Hooked("a", [_Hook()]), made[1],
                                max_iterations=1)
    estimator.train(builders.input_fn())
    step = "adanet/iteration_0/subnetwork_t0_{}/step".format
    self.assertEqual(2, estimator.get_variable_value(step("a")))
    self.assertEqual(4, estimator.get_variable_value(step("b")))

  def test_training_goes_on_where_it_was_stopped(self):
    made = _Partitioned("a"), builders.Remembering("b", width=3)
    whole = self._estimator(*made)
    # Batches of all rows, so that it does not matter where the input begins.
    input_fn = builders.input_fn(batch_size=32)
    whole.train(input_fn)
    # TensorFlow reads no slot of a part by itself.
    expected = {name: whole.get_variable_value(name)
                for name in whole.get_variable_names() if "part_" not in name}
    self._model_dir = self.create_tempdir().full_path
    for max_steps in (1, 4, 5, None):
      parts = self._estimator(*made)
      parts.train(input_fn, max_steps=max_steps)
    self.assertContainsSubset(expected, parts.get_variable_names())
    for name, value in expected.items():
      np.testing.assert_allclose(
          value, parts.get_variable_value(name), rtol=1e-5, atol=1e-6,
          err_msg=name)

  def test_input_that_ends(self):
    estimator = self._estimator(_Dense("a"))
    with self.assertLogs(level="WARNING") as logged:
      estimator.train(builders.input_fn(repeat=1, batch_size=16))
    self.assertIn("Iteration 0: the input ended after 2 of 4 steps: call "
                  "repeat() on the dataset, or ", "".join(logged.output))
    self.assertEqual(2, estimator.get_variable_value("global_step"))
    # The next call ends this iteration, and begins the next one.
    estimator.train(builders.input_fn(repeat=1, batch_size=16))
    self.assertEqual(6, estimator.get_variable_value("global_step"))

  def test_model_dir_at_home(self):
    with mock.patch.dict(os.environ, HOME=self._model_dir):
      self.assertEqual(
          os.path.join(self._model_dir, "m"),
          adanet.Estimator(
              adanet.heads.RegressionHead(), builders.generator(), 1,
              model_dir="~/m").model_dir)

  def test_says_that_it_takes_part(self):
    reader, writer = os.pipe()
    with mock.patch.dict(os.environ, {reporter.EVENTS_FD: str(writer)}):
      for _ in range(2):  # In the second life, training is over already.
        self._estimator(_Dense("a")).train(builders.input_fn(), max_steps=1)
    os.close(writer)
    with os.fdopen(reader) as f:
      found = [event_json.loads(line) for line in f]
    joined = events.Joined(os.path.realpath(self._model_dir))
    self.assertEqual([joined, joined], [found[0], found[-1]])

  def test_saving_listeners(self):
    calls = searches.Calls()
    self._estimator(
        _Dense("a"), max_iterations=1,
        config=tf_compat.RunConfig(save_checkpoints_steps=3)).train(
            builders.input_fn(), saving_listeners=[calls])
    self.assertEqual(
        ["begin", "before 0", "after 0", "before 3", "after 3", "before 4",
         "after 4", "end 4"], calls)

  def test_log_says_who_won_by_how_much_and_over_what(self):
    estimator = self._estimator(_Dense("a"), _Dense("b", width=3))
    with self.assertLogs(level="INFO") as logged:
      estimator.train(builders.input_fn())
    won = [line for line in logged.output if " won with adanet_loss" in line]
    self.assertLen(won, 2)
    for line in won:
      self.assertRegex(
          line, r"t\d_[ab]\.\. won with adanet_loss [\d.]+, [\d.e-]+ better "
          r"than t\d_[ab]\.\.")
    self.assertRegex("\n".join(logged.output), (
        r"Iteration 1 \(2 of 2\) begins at step \d+: 2 subnetworks \(t1_a, "
        r"t1_b\), 3 ensembles named \.\._grow_complexity_regularized \("))

  def test_folders_for_tensorboard(self):
    estimator = self._estimator(_Dense("a"), max_iterations=1)
    estimator.train(builders.input_fn())
    estimator.evaluate(builders.input_fn(1), name="test")
    self.assertSetEqual(
        {".", "subnetwork/t0_a", "subnetwork/t0_a/eval_test", "eval_test",
         "ensemble/t0_a_grow_complexity_regularized",
         "ensemble/t0_a_grow_complexity_regularized/eval_test"},
        {os.path.relpath(os.path.dirname(path), self._model_dir)
         for path in glob.glob(
             os.path.join(self._model_dir, "**", "events.*"), recursive=True)})

  def test_exported_model_predicts_the_same(self):
    estimator = self._estimator(_Dense("a"), _Dense("b", width=3))
    estimator.train(builders.input_fn())
    predicted = [row["predictions"] for row in estimator.predict(
        builders.input_fn(1))]

    from adanet.estimator import export  # pylint: disable=g-import-not-at-top
    features = {"x": np.zeros([1, 3], np.float32)}
    path = estimator.export_saved_model(
        self.create_tempdir().full_path,
        export.build_raw_serving_input_receiver_fn(features)).decode()
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      signature = v1.saved_model.load(
          session, ["serve"], path).signature_def["predict"]
      served = session.run(
          signature.outputs["predictions"].name,
          {signature.inputs["x"].name: builders.data()[0]})
    np.testing.assert_allclose(predicted, served, rtol=1e-5)

  def test_predict_keys(self):
    estimator = self._estimator(_Dense("a"))
    estimator.train(builders.input_fn(), max_steps=1)
    self.assertRaisesRegex(
        ValueError, "predict_keys.*predictions.*odds",
        lambda: next(estimator.predict(
            builders.input_fn(1), predict_keys=["odds"])))
    batch = next(estimator.predict(
        builders.input_fn(1, batch_size=5), yield_single_examples=False))
    self.assertEqual((5, 1), batch["predictions"].shape)


if __name__ == "__main__":
  absltest.main()
