# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is saved, wherever saves fall, and of the files of training."""

import glob
import os
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import event_files
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.testing import builders
from adanet.testing import hypothesis_profile
from adanet.testing import level
from adanet.testing import searches
from adanet.tf_compat import files
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.tf_compat import checkpoint_file
from adanet.training import saving
from google.protobuf import text_format
import hypothesis
from hypothesis import strategies as st
import numpy as np

_SUBNETWORK, _ENSEMBLE = "subnetwork", "ensemble"
_ACTIONS = (_SUBNETWORK, _ENSEMBLE, "save", "restart")


class _Search:
  """A subnetwork that sets the global step, and an ensemble that does not."""

  def __init__(self, model_dir):
    v1 = tf_compat.v1
    self.model_dir = model_dir_lib.ModelDir(model_dir)
    self.global_step = v1.train.create_global_step()
    self.current_iteration = v1.get_variable(
        "current_iteration", [], v1.int64, v1.zeros_initializer())
    self._train = {}
    self.steps = []
    for name in (_SUBNETWORK, _ENSEMBLE):
      with v1.variable_scope(name):
        step = v1.get_variable(
            "step", [], v1.int64, v1.zeros_initializer(), use_resource=True)
        weight = v1.get_variable(
            "weight", [], initializer=v1.ones_initializer())
        self._train[name] = [v1.assign_add(step, 1), v1.assign_add(weight, .5)]
        self.steps.append(step)
    self._train[_SUBNETWORK].append(v1.assign_add(self.global_step, 1))
    self.session = v1.Session()
    self.session.run(v1.global_variables_initializer())

  def saver(self, listener, saved, **config):
    config = tf_compat.RunConfig(**{"keep_checkpoint_max": None, **config})
    saver = saving.CheckpointSaver(
        self.model_dir, config, self.steps, self.global_step, saved.append,
        self.fail_without_space, [listener])
    saver.build()
    return saver

  def fail_without_space(self, problem):
    raise AssertionError(problem)

  def train(self, name):
    self.session.run(self._train[name])

  def step(self):
    return int(self.session.run(self.global_step))

  def values(self):
    v1 = tf_compat.v1
    return self.session.run({v.op.name: v for v in v1.global_variables()})


class CheckpointSaverTest(absltest.TestCase):

  @level.gate
  @hypothesis.settings(max_examples=20)
  @hypothesis.given(st.lists(st.sampled_from(_ACTIONS), max_size=12))
  def test_the_last_checkpoint_has_what_was_trained(self, actions):
    """Each save has what there is then, and what is saved stays as it is."""
    listener = mock.Mock()
    listener.after_save.return_value = None
    saved, expected, num_stale = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
      with tf_compat.v1.Graph().as_default():
        search = _Search(folder)
        saver = search.saver(listener, saved)
        is_stale = True  # Nothing is saved yet.
        for action in actions + ["end"]:
          if action in (_SUBNETWORK, _ENSEMBLE):
            search.train(action)
            is_stale = True
          elif action == "restart":
            if saver.checkpoint is None:
              continue
            checkpoint = saver.checkpoint
            saver = search.saver(listener, saved)
            saver.go_on_from(checkpoint)
          else:
            if action == "save":
              saver.save(search.session)
            else:
              saver.end(search.session, lambda: None)
            if is_stale:
              num_stale += 1
              expected.append((saver.checkpoint, search.values()))
            is_stale = False
        self.assertEqual(saver.checkpoint, search.model_dir.latest_checkpoint())
      self.assertLen(expected, num_stale)
      self.assertEqual(
          [events.CheckpointSaved(path, values["global_step"])
           for path, values in expected], saved)
      self.assertLen({path for path, _ in expected}, num_stale)
      self.assertEqual(num_stale, listener.after_save.call_count)
      for path, values in expected:
        self.assertEqual(values, checkpoints.values(path, values))

  def _saver(self, **config):
    """Returns a search in the default graph, and its saver."""
    search = _Search(self.create_tempdir().full_path)
    listener = mock.Mock()
    listener.after_save.return_value = None
    return search, search.saver(listener, [], **config)

  def test_is_due_after_seconds(self):
    with tf_compat.v1.Graph().as_default(), mock.patch.object(
        saving.time, "time") as now:
      now.return_value = 1000.
      search, saver = self._saver(save_checkpoints_secs=10)
      due = []
      for now.return_value in (1009., 1010., 1019., 1020., 1029., 1030.):
        due.append(saver.is_due(search.step()))
        if due[-1]:
          search.train(_ENSEMBLE)
          saver.save(search.session)
    self.assertEqual([False, True] * 3, due)

  def test_is_due_after_steps(self):
    with tf_compat.v1.Graph().as_default():
      search, saver = self._saver(save_checkpoints_steps=3)
      due = []
      saver.save(search.session)
      for _ in range(7):
        search.train(_SUBNETWORK)
        if saver.is_due(search.step()):
          due.append(search.step())
          saver.save(search.session)
    self.assertEqual([3, 6], due)

  def test_old_ones_go_after_a_restart_too(self):
    with tf_compat.v1.Graph().as_default():
      search, saver = self._saver(keep_checkpoint_max=2)
      for _ in range(4):
        search.train(_SUBNETWORK)
        saver.save(search.session)
        saver = search.saver(mock.Mock(), [], keep_checkpoint_max=2)
    self.assertCountEqual(
        ["model.ckpt-3.index", "model.ckpt-4.index"],
        [name for name in os.listdir(search.model_dir.path)
         if name.endswith(".index")])

  def test_names(self):
    """A reader never finds other values under a name that it has read."""
    folder = self.create_tempdir().full_path
    with tf_compat.v1.Graph().as_default():
      search = _Search(folder)
      saver = search.saver(mock.Mock(), [])
      names = []
      for name in (_SUBNETWORK, _ENSEMBLE, _ENSEMBLE, _SUBNETWORK):
        search.train(name)
        saver.save(search.session)
        names.append(os.path.basename(saver.checkpoint))
    self.assertEqual(["model.ckpt-1", "model.ckpt-1.1", "model.ckpt-1.2",
                      "model.ckpt-2"], names)


class HookedSaverTest(parameterized.TestCase):

  def _run(self, actions, folder, model_dir):
    """Trains with a hook that saves every second step.

    Args:
      actions: what to train, in order.
      folder: str, where the hook saves.
      model_dir: str.

    Returns:
      What the hook's listener is told, and the last checkpoint's values and
      those that it should have.
    """
    train = tf_compat.v1.train
    calls = searches.Calls()
    with tf_compat.v1.Graph().as_default():
      search = _Search(model_dir)
      session = search.session
      hook = train.CheckpointSaverHook(folder, save_steps=2)
      for _ in range(2):  # Is told once all the same.
        checkpoint_file.add_listeners([hook], [calls])
      saver = saving.HookedSaver(
          [hook], model_dir=search.model_dir, config=tf_compat.RunConfig(
              save_checkpoints_steps=1), steps=search.steps,
          global_step=search.global_step,
          report=lambda event: None, wait_for_space=search.fail_without_space)
      hook.begin()
      saver.build()
      saver.save(session)
      hook.after_create_session(session, None)
      for name in actions:
        before = search.step()
        search.train(name)
        self.assertFalse(saver.is_due(search.step()))
        hook.after_run(
            train.SessionRunContext(None, session),
            train.SessionRunValues(before, None, None))
      saver.end(session, lambda: hook.end(session))
      expected = search.values()
      self.assertEqual(saver.checkpoint, search.model_dir.latest_checkpoint())
      return calls, checkpoints.values(saver.checkpoint, expected), expected

  @parameterized.parameters(*level.first([
      ([_SUBNETWORK] * 2 + [_ENSEMBLE, _SUBNETWORK], [2, 3]),
      ([_SUBNETWORK] * 2 + [_ENSEMBLE], [2, 2]),
      ([_SUBNETWORK] * 2, [2]),
      ([_ENSEMBLE], [0]),
      ([], [])]))
  def test_hears_of_each_save_and_saves_the_last(self, actions, saves):
    folder = self.create_tempdir().full_path
    calls, saved, expected = self._run(actions, folder, folder)
    told = ["begin"]
    for step in [0] + saves:
      told += [f"before {step}", f"after {step}"]
    self.assertEqual(told + [f"end {expected['global_step']}"], calls)
    self.assertEqual(expected, saved)

  def test_hook_of_another_folder(self):
    folder = self.create_tempdir().full_path
    model_dir = self.create_tempdir().full_path
    _, saved, expected = self._run([_SUBNETWORK] * 13, folder, model_dir)
    self.assertEqual(expected, saved)

    def names(path):
      return [name[:-len(".index")] for name in sorted(os.listdir(path))
              if name.endswith(".index")]

    # Five are kept in each.
    self.assertEqual(["model.ckpt-0", "model.ckpt-13"], names(model_dir))
    self.assertCountEqual(
        [f"model.ckpt-{step}" for step in (6, 8, 10, 12, 13)],
        names(folder))
    self.assertEqual(
        sorted(names(folder)),
        sorted(name[:-len(".meta")] for name in os.listdir(folder)
               if name.endswith(".meta")))


class TrainingFilesTest(absltest.TestCase):
  """What is expected is what AdaNet 0.8.0 and `tf.estimator` write."""

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _train(self, hooks=(), saving_listeners=(), builder=builders.Dense("a"),
             **config):
    """Trains two iterations of 8 steps; returns the estimator."""
    estimator = searches.estimator(
        self._model_dir, builder, max_iteration_steps=8,
        config=tf_compat.RunConfig(**config))
    return estimator.train(builders.input_fn(), hooks=hooks,
                           saving_listeners=saving_listeners)

  def _events(self):
    """Yields what is in the file of events of the model_dir."""
    path, = glob.glob(os.path.join(self._model_dir, "events.*"))
    return tf_compat.v1.train.summary_iterator(path)

  def _rates(self):
    """Returns pairs of a step and the global steps a second."""
    return [(event.step, value.simple_value) for event in self._events()
            for value in event.summary.value if value.tag == "global_step/sec"]

  def _names(self, ending):
    return sorted(os.path.basename(path)[:-len(ending)] for path in glob.glob(
        os.path.join(self._model_dir, "*" + ending)))

  @level.gate
  def test_step_rate_and_graphs(self):
    estimator = self._train(
        log_step_count_steps=3, save_checkpoints_steps=2, keep_checkpoint_max=3)
    rates = self._rates()
    # The first step of an iteration takes longer: a session begins.
    self.assertEqual([4, 7, 12, 15], [step for step, _ in rates])
    self.assertGreater(min(rate for _, rate in rates), 0)
    self.assertEqual(
        ["graph_def", "meta_graph_def"] * 2,
        [event.WhichOneof("what") for event in self._events()
         if "graph_def" in event.WhichOneof("what")])
    with open(os.path.join(self._model_dir, "graph.pbtxt")) as f:
      self.assertIn('"adanet/iteration_1/subnetwork_t1_a/hidden"', f.read())
    self.assertLen(self._names(".meta"), 3)
    self.assertEqual(self._names(".index"), self._names(".meta"))
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      path = estimator.latest_checkpoint()
      v1.train.import_meta_graph(path + ".meta").restore(session, path)
      for variable in v1.global_variables():
        np.testing.assert_array_equal(
            session.run(variable),
            estimator.get_variable_value(variable.op.name))

  @level.gate
  def test_saver_hook_of_a_user_replaces_the_default(self):
    train = tf_compat.v1.train
    stop_at = [None]
    calls = []

    class Listener(train.CheckpointSaverListener):

      def after_save(self, session, global_step_value):
        calls.append(global_step_value)
        return global_step_value == stop_at[0]

    class Hook(train.CheckpointSaverHook):
      """Keeps what it counts, as it is one for all iterations."""
      num_steps = 0

      def after_run(self, run_context, run_values):
        self.num_steps += 1
        super().after_run(run_context, run_values)

    hook = Hook(self._model_dir, save_steps=5)
    listener = Listener()
    self._train([hook], [listener], save_checkpoints_steps=1,
                keep_checkpoint_max=None)
    self.assertEqual([0, 5, 8, 8, 13, 16], calls)
    self.assertCountEqual(
        ["increment.ckpt-1"] +
        [f"model.ckpt-{step}" for step in (0, 5, 8, 13, 16)],
        self._names(".index"))
    self.assertEqual(self._names(".index"), self._names(".meta"))
    self.assertEqual(16, hook.num_steps)
    # Its listener may ask for a stop.
    del calls[:]
    stop_at[0] = 5
    self._model_dir = self.create_tempdir().full_path
    estimator = self._train([Hook(self._model_dir, save_steps=5)], [listener])
    self.assertEqual([0, 5], calls)
    self.assertEqual(["model.ckpt-0", "model.ckpt-5"], self._names(".index"))
    self.assertEqual(5, estimator.get_variable_value("global_step"))

  @level.gate
  def test_saver_hooks_of_builders_and_in_hooks(self):
    """They save beside the default; all is saved before hooks end."""
    train = tf_compat.v1.train
    told = {"train": [], "builder": [], "wrapped": []}
    ends = []

    class Listener(train.CheckpointSaverListener):

      def __init__(self, name):
        self._told = told[name]

      def after_save(self, session, global_step_value):
        self._told.append(global_step_value)

    class End(train.SessionRunHook):

      def end(self, session):
        ends.append(os.path.basename(train.latest_checkpoint(model_dir)))
        if len(ends) == 2:
          raise ValueError("the hook's own")

    def hook(name, steps):
      return train.CheckpointSaverHook(
          model_dir, save_steps=steps, listeners=[Listener(name)])

    model_dir = self._model_dir
    with self.assertRaisesRegex(ValueError, "the hook's own"):
      self._train(
          [End(), searches.Wrapped(hook("wrapped", 5))], [Listener("train")],
          builders.Hooked("a", chief_hooks=[hook("builder", 3)]),
          save_checkpoints_steps=6, keep_checkpoint_max=None)
    # An iteration begins with a checkpoint of which listeners are not told.
    self.assertEqual({
        "train": [0, 6, 8, 14, 16],
        "builder": [0, 3, 6, 8, 8, 11, 14, 16],
        "wrapped": [0, 5, 8, 8, 13]}, told)  # It was still to end.
    self.assertEqual(["model.ckpt-8", "model.ckpt-16"], ends)
    self.assertCountEqual(
        ["increment.ckpt-1"] + [f"model.ckpt-{step}" for step in (
            0, 3, 5, 6, 8, 11, 13, 14, 16)], self._names(".index"))


class GraphFilesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    self._writer = event_files.SummaryWriter(self._folder)
    self.enter_context(tf_compat.v1.Graph().as_default())

  def _files(self):
    """Returns the files of a graph with a variable `w` and data."""
    v1 = tf_compat.v1
    data = v1.constant(np.arange(300000, dtype=np.float32), name="data")
    w = v1.get_variable("w", initializer=v1.constant(2., name="small"))
    v1.multiply(w, data, name="product")
    return saving.GraphFiles(self._folder, v1.train.Saver())

  def _path(self, name):
    return os.path.join(self._folder, name)

  def _shown(self):
    """Returns the graph of each file that shows it."""
    self._writer.flush()
    events, = (name for name in os.listdir(self._folder) if "events" in name)
    shown = text_format.Parse(
        files.read_text(self._path("graph.pbtxt")), tf_compat.v1.GraphDef())
    graphs = [shown]
    for event in tf_compat.v1.train.summary_iterator(self._path(events)):
      if event.WhichOneof("what") == "graph_def":
        graphs.append(tf_compat.v1.GraphDef.FromString(event.graph_def))
      elif event.WhichOneof("what") == "meta_graph_def":
        graphs.append(tf_compat.v1.MetaGraphDef.FromString(
            event.meta_graph_def).graph_def)
    return graphs

  def test_large_constants_are_placeholders(self):
    files_of_graph = self._files()
    files_of_graph.write_beside(self._path("model.ckpt-3"))
    files_of_graph.write(self._writer)
    shown = self._shown()
    self.assertLen(shown, 3)
    for graph_def in shown:
      self.assertEqual(
          {"data": "Placeholder", "small": "Const", "product": "Mul"},
          {node.name: node.op for node in graph_def.node
           if node.name in ("data", "small", "product")})
      self.assertLess(graph_def.ByteSize(), 100000)

  def test_is_made_and_shown_once(self):
    files_of_graph = self._files()
    graph = tf_compat.v1.get_default_graph()
    with mock.patch.object(graph, "as_graph_def", wraps=graph.as_graph_def
                          ) as as_graph_def:
      for number in range(3):
        files_of_graph.write_beside(self._path("model.ckpt-%d" % number))
        files_of_graph.write(self._writer)
    self.assertEqual(1, as_graph_def.call_count)
    self.assertLen(self._shown(), 3)

  def test_too_large(self):
    files_of_graph = self._files()
    with mock.patch.object(
        tf_compat.v1.get_default_graph(), "as_graph_def",
        side_effect=ValueError("GraphDef cannot be larger than 2GB.")), \
        self.assertLogs(level="WARNING") as logs:
      files_of_graph.write_beside(self._path("model.ckpt-3"))
      files_of_graph.write(self._writer)
    self.assertEmpty(os.listdir(self._folder))
    self.assertLen(logs.output, 1)
    self.assertIn("has more than 2 GB", logs.output[0])

  @parameterized.parameters(
      ("No space left on device", None), ("Permission denied", "Permission"))
  def test_cannot_be_written(self, problem, raised):
    error = tf_compat.v1.errors.ResourceExhaustedError(None, None, problem)
    with mock.patch.object(files, "write_bytes", side_effect=error):
      if raised:
        with self.assertRaisesRegex(type(error), raised):
          self._files().write_beside(self._path("model.ckpt-3"))
        return
      with self.assertLogs(level="WARNING") as logs:
        self._files().write_beside(self._path("model.ckpt-3"))
    self.assertIn("model.ckpt-3.meta is not written: the disk is full.",
                  logs.output[0])


if __name__ == "__main__":
  absltest.main()
