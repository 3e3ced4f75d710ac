# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the summaries of candidates, and of their files.

The tags that are expected are those that AdaNet 0.8.0 wrote on TensorFlow 1.15
for the same calls.
"""

import glob
import os
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import event_files
from adanet.core import scoped_summary
import numpy as np

_SUBNETWORK = "adanet/iteration_0/subnetwork_t0_dnn"


def _image(summary, name, **kwargs):
  summary.image(name, tf_compat.v1.ones([2, 2, 2, 1]), **kwargs)


def _audio(summary, name, **kwargs):
  summary.audio(name, tf_compat.v1.ones([2, 4, 1]), 8, **kwargs)


def _twice(summary):
  summary.scalar("x", 1.)
  summary.scalar("x", 1.)
  summary.scalar("X", 1.)


def _nested(summary):
  with tf_compat.v1.name_scope("layer"):
    summary.scalar("x", 1.)
    summary.scalar("f", 1., family="family")
    with tf_compat.v1.name_scope("deep"):
      summary.scalar("x", 1.)
  with tf_compat.v1.name_scope("layer"):
    summary.scalar("x", 1.)
  with tf_compat.v1.variable_scope("variables"):
    summary.scalar("x", 1.)


def _of_named_tensors(summary):
  loss = tf_compat.v1.constant(1., name="loss")
  tf_compat.v1.constant(1., name="layer")
  tf_compat.v1.constant(1., name="one")
  tf_compat.v1.constant(1., name="one")
  for name in ["loss", "loss", "layer_0", "layer_2", "one_1"]:
    summary.scalar(name, loss)


# What a builder calls, and the tags of it.
_CALLS = [
    ("scalar", lambda s: s.scalar("x", 1.), ["x"]),
    ("leading_slash", lambda s: s.scalar("/x", 1.), ["x"]),
    ("odd_characters", lambda s: s.scalar("x y!", 1.), ["x_y_"]),
    ("family", lambda s: s.scalar("x", 1., family="f"), ["f/f/x"]),
    ("twice", _twice, ["x", "x_1", "X_2"]),
    ("nested", _nested, [
        "layer/x", "family/layer/family/f", "layer/deep/x", "layer_1/x",
        "variables/x"
    ]),
    ("own_name", lambda s: s.scalar("t0_dnn/x", 1.), ["t0_dnn/x"]),
    ("of_named_tensors", _of_named_tensors,
     ["loss", "loss_1", "layer_0", "layer_2", "one_1"]),
    ("histogram", lambda s: s.histogram("x", [1., 2.]), ["x"]),
    ("image", lambda s: _image(s, "x"), ["x/image/0", "x/image/1"]),
    ("one_image", lambda s: _image(s, "x", max_outputs=1), ["x/image"]),
    ("audio", lambda s: _audio(s, "x"), ["x/audio/0", "x/audio/1"]),
]


def _direct():
  """Returns the module that builders may use in place of their summary."""
  return tf_compat.v1.summary


def _builder_scope(path=_SUBNETWORK):
  """Returns the scope that a builder's code runs in."""
  return tf_compat.v1.variable_scope(path)


def _run(summary):
  """Returns the values that the ops of a summary return now, renamed."""
  merged = summary.merged()
  with tf_compat.v1.Session() as session:
    return list(summary.rename(session.run(merged)).value)


def _tags(summary):
  return [value.tag for value in _run(summary)]


def _kind(value):
  return value.WhichOneof("value")


class ScopedSummaryTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(tf_compat.v1.Graph().as_default())
    self.summary = scoped_summary.ScopedSummary("subnetwork", "t0_dnn")

  @parameterized.named_parameters(_CALLS)
  def test_tags_leave_out_the_scopes_around_the_builder(self, call, tags):
    # Direct calls of TensorFlow have the same tags.
    for is_direct in (False, True):
      with tf_compat.v1.Graph().as_default():
        summary = scoped_summary.ScopedSummary("subnetwork", "t0_dnn")
        with _builder_scope(), summary.capture():
          call(_direct() if is_direct else summary)
        self.assertEqual(tags, _tags(summary))

  def test_equal_names_get_numbers_in_the_order_of_the_calls(self):
    with _builder_scope(), self.summary.capture():
      self.summary.scalar("x", 1.)
      _direct().scalar("x", 2.)
      self.summary.scalar("x", 3.)
    values = {v.tag: v.simple_value for v in _run(self.summary)}
    self.assertEqual({"x": 1., "x_1": 2., "x_2": 3.}, values)

  def test_current_scope_ends_with_its_block(self):
    path = "adanet/iteration_0/ensemble_t0_all_mean"
    summary = scoped_summary.ScopedSummary("ensemble", "t0_all_mean")
    with _builder_scope(path), summary.capture():
      summary.scalar("before", 1.)
      with tf_compat.v1.name_scope("left_out"), summary.current_scope():
        summary.scalar("adanet/inside", 1.)
        _direct().scalar("direct", 1.)
      summary.scalar("after", 1.)
      with tf_compat.v1.name_scope("kept"):
        _direct().scalar("x", 1.)
    self.assertEqual(["before", "adanet/inside", "direct", "after", "kept/x"],
                     _tags(summary))

  def test_the_summary_of_the_search_has_no_scope(self):
    summary = scoped_summary.ScopedSummary()
    with tf_compat.v1.variable_scope("adanet/iteration_3"):
      with summary.current_scope():
        summary.scalar("iteration/adanet/iteration", 3)
        summary.scalar("loss", 2.)
    self.assertIsNone(summary.namespace)
    self.assertIsNone(summary.scope)
    self.assertEqual([("iteration/adanet/iteration", 3.), ("loss", 2.)],
                     [(v.tag, v.simple_value) for v in _run(summary)])

  def test_a_name_stays_free_for_the_variables_of_a_builder(self):
    with _builder_scope(), self.summary.capture():
      self.summary.scalar("weights", 1.)
      variable = tf_compat.v1.Variable(1., name="weights")
    self.assertEqual(_SUBNETWORK + "/weights", variable.op.name)

  def test_capture_leaves_the_collection_as_it_was(self):
    mine = _direct().scalar("mine", 1.)
    with _builder_scope(), self.summary.capture():
      _direct().scalar("x", 1.)
      self.assertIsNotNone(_direct().merge_all())
    with self.assertRaisesRegex(KeyError, "builder"):
      with self.summary.capture():
        _direct().scalar("y", 1.)
        raise KeyError("builder")
    with self.summary.current_scope():
      after = _direct().scalar("after", 1.)
    self.assertEqual([mine, after], tf_compat.v1.get_collection(
        tf_compat.v1.GraphKeys.SUMMARIES))
    self.assertEqual(["x"], _tags(self.summary))

  def test_capture_takes_summaries_of_other_collections(self):
    with _builder_scope(), self.summary.capture():
      _direct().scalar("x", 1., collections=["mine"])
      _direct().scalar("y", 1., collections=[])
      merged = _direct().merge([_direct().scalar("z", 1.)])
      tf_compat.v1.add_to_collection(tf_compat.v1.GraphKeys.SUMMARIES, merged)
    self.assertCountEqual(["x", "y", "z"], _tags(self.summary))

  def test_capture_takes_summaries_of_tensorflow_2(self):
    # As tf.summary.scalar does, which needs the package tensorboard.
    with _builder_scope(), self.summary.capture():
      self.summary.scalar("w", 1.)
      for step in [None, 7]:
        tf_compat.v2.summary.write(
            _SUBNETWORK + "/w", tf_compat.v1.constant([2., 3.]), step=step)
    self.assertIsNone(tf_compat.v2.summary.experimental.get_step())
    values = _run(self.summary)
    self.assertEqual(["w", "w_1", "w_2"], [v.tag for v in values])
    for value in values[1:]:
      self.assertEqual([2., 3.], list(tf_compat.v1.make_ndarray(value.tensor)))

  def test_functions_run_without_their_summaries(self):

    @tf_compat.v2.function
    def double(x):
      tf_compat.v2.summary.write("x", x)
      return 2. * x

    with _builder_scope(), self.summary.capture():
      result = double(tf_compat.v1.constant(2.))
      self.summary.scalar("result", result)
    self.assertEqual([("result", 4.)],
                     [(v.tag, v.simple_value) for v in _run(self.summary)])

  def test_summaries_that_no_session_can_run_are_left_out(self):

    def body(i):
      _direct().scalar("in_loop", i)
      tf_compat.v2.summary.write("in_loop", i)
      return i + 1

    def in_dataset(i):
      self.summary.scalar("in_dataset", i)
      return i

    with _builder_scope(), self.summary.capture():
      tf_compat.v1.while_loop(lambda i: i < 3, body, [tf_compat.v1.constant(0)])
      tf_compat.v1.data.Dataset.range(2).map(in_dataset)
      self.summary.scalar("x", 1.)
    self.assertEqual(["x"], _tags(self.summary))

  def test_skip_makes_no_ops(self):
    summary = scoped_summary.ScopedSummary("subnetwork", "t0_dnn", skip=True)
    with summary.capture():
      _direct().scalar("x", 1.)
      returned = summary.scalar("x", 1.)
      tf_compat.v2.summary.write("y", tf_compat.v1.constant(1.))
    self.assertEqual([], summary.ops)
    self.assertIsNone(summary.merged())
    self.assertEqual([], tf_compat.v1.get_collection(
        tf_compat.v1.GraphKeys.SUMMARIES))
    with tf_compat.v1.Session() as session:
      self.assertEqual(b"", session.run(returned))

  def test_returns_what_the_op_computes(self):
    with self.summary.current_scope():
      serialized = self.summary.scalar("x", 3., description="the third")
    with tf_compat.v1.Session() as session:
      value, = self.summary.rename(session.run(serialized)).value
    self.assertEqual(3., value.simple_value)
    self.assertEqual("the third", value.metadata.summary_description)

  @parameterized.parameters("", None, 3)
  def test_bad_name(self, name):
    with self.assertRaisesRegex(ValueError, f"name is {name!r}"):
      self.summary.scalar(name, 1.)

  def test_bad_encoding(self):
    with self.assertRaisesRegex(ValueError, "encoding is 'mp3'"):
      _audio(self.summary, "x", encoding="mp3")


class SummaryWriterTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.model_dir = self.create_tempdir().full_path
    self.writer = event_files.SummaryWriter(self.model_dir)
    self.addCleanup(self.writer.close)

  def _events(self, folder):
    """Returns the events of all files in a folder, the oldest file first."""
    self.writer.flush()
    events = []
    for path in sorted(
        glob.glob(os.path.join(self.model_dir, folder, "*tfevents*"))):
      events.extend(tf_compat.v1.train.summary_iterator(path))
    return events

  def _values(self, folder):
    """Returns a list of (tag, step, number) of a folder."""
    return [(v.tag, event.step, v.simple_value)
            for event in self._events(folder)
            for v in event.summary.value]

  def _add(self, writer, namespace, scope, value, global_step):
    with tf_compat.v1.Graph().as_default():
      with _builder_scope(f"adanet/iteration_0/{namespace}_{scope}"):
        summary = scoped_summary.ScopedSummary(namespace, scope)
        with summary.current_scope():
          summary.scalar("loss", value)
          merged = summary.merged()
      with tf_compat.v1.Session() as session:
        writer.add(summary, session.run(merged), global_step)

  @parameterized.parameters(
      ("subnetwork", "t0_dnn", "subnetwork/t0_dnn"),
      ("ensemble", "t0_dnn_grow_complexity_regularized",
       "ensemble/t0_dnn_grow_complexity_regularized"),
      (None, None, ""),
  )
  def test_each_candidate_has_a_folder_and_all_the_same_tag(
      self, namespace, scope, folder):
    for step in [0, 2]:
      self._add(self.writer, namespace, scope, 5. - step, step)
    self.assertEqual([("loss", 0, 5.), ("loss", 2, 3.)], self._values(folder))
    starts = [
        (event.step, event.session_log.status)
        for event in self._events(folder)
        if event.WhichOneof("what") == "session_log"
    ]
    self.assertEqual([(0, tf_compat.v1.SessionLog.START)], starts)

  def test_a_second_writer_overwrites_nothing(self):
    for step in range(3):
      writer = event_files.SummaryWriter(self.model_dir)
      self._add(writer, "subnetwork", "t0_dnn", 1., step)
      writer.close()
    self.assertEqual([0, 1, 2],
                     [v[1] for v in self._values("subnetwork/t0_dnn")])

  def test_goes_on_after_close(self):
    self.writer.add_scalars("eval", {"loss": 1.}, 1)
    self.writer.close()
    self.writer.add_scalars("eval", {"loss": 2.}, 2)
    self.assertEqual([("loss", 1, 1.), ("loss", 2, 2.)], self._values("eval"))

  def test_results_of_an_evaluation(self):
    text = tf_compat.v1.Summary()
    text.value.add(tag="any", simple_value=7.)
    self.writer.add_scalars("ensemble/t0_all_mean/eval_x", {
        "average_loss": np.float32(.5),
        "best_ensemble_index_0": np.int64(-1),
        "iteration": 2,
        "global_step": 12,
        "none": None,
        "not_a_summary": b"\xff",
        "architecture": text.SerializeToString(),
    }, 12)
    self.assertEqual([
        ("architecture/0", 12, 7.),
        ("average_loss", 12, .5),
        ("best_ensemble_index_0", 12, -1.),
        ("iteration", 12, 2.),
    ], self._values("ensemble/t0_all_mean/eval_x"))

  @parameterized.parameters(
      ("/tmp/model.ckpt-12", b"/tmp/model.ckpt-12"),
      (np.array([[1, 2]]), [[1, 2]]),
  )
  def test_text_and_arrays(self, value, written):
    self.writer.add_scalars("eval", {"x": value}, 12)
    value = self._events("eval")[-1].summary.value[0]
    self.assertEqual("tensor", _kind(value))
    np.testing.assert_array_equal(
        written, tf_compat.v1.make_ndarray(value.tensor))

  def test_graph(self):
    with tf_compat.v1.Graph().as_default():
      tf_compat.v1.constant(1., name="alone")
      self.writer.add_graph(tf_compat.v1.train.export_meta_graph())
    kinds = [event.WhichOneof("what") for event in self._events("")]
    self.assertContainsSubset(["graph_def", "meta_graph_def"], kinds)


class FullDiskTest(parameterized.TestCase):

  @parameterized.parameters("__init__", "add_summary", "flush", "close")
  def test_loses_summaries_and_goes_on_in_another_file(self, method):
    # As the writer of TensorFlow 2 fails.
    no_space = mock.patch.object(
        tf_compat.v1.summary.FileWriter, method,
        side_effect=RuntimeError("/m/events; No space left on device"))
    model_dir = self.create_tempdir().full_path
    path = os.path.join(model_dir, "eval")
    writer = event_files.SummaryWriter(model_dir)
    with self.assertLogs(level="WARNING") as logs, no_space:
      for step in range(20):
        writer.add_scalars("eval", {"a": 1.}, step)
      writer.flush()
      writer.close()
    self.assertLen(logs.output, 1)  # A full disk is tried now and then.
    self.assertIn(f"Summaries of {path} are lost: the disk is full.",
                  logs.output[0])
    with mock.patch.object(
        event_files.time, "monotonic", return_value=time.monotonic() + 10.):
      writer.add_scalars("eval", {"a": 1.}, 20)
      writer.close()
    name = max(os.listdir(path), key=lambda name: name.split(".")[-2])
    _, event = tf_compat.v1.train.summary_iterator(os.path.join(path, name))
    self.assertEqual(20, event.step)

  def test_raises_other_errors(self):
    writer = event_files.SummaryWriter(self.create_tempdir().full_path)
    with mock.patch.object(tf_compat.v1.summary.FileWriter, "add_summary",
                           side_effect=RuntimeError("a bug")):
      with self.assertRaisesRegex(RuntimeError, "a bug"):
        writer.add_scalars("eval", {"a": 1.}, 1)


if __name__ == "__main__":
  absltest.main()
