# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is recorded of networks that a test makes.

`adanet/estimator:fitted_test` and `earlier_networks_test` there have whole
searches.
"""

import contextlib
import hashlib
import os
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet import heads
from adanet import subnetwork
from adanet import tf_compat
from adanet.core import architecture
from adanet.core import checkpoints
from adanet.core import subnetworks
from adanet.testing import variables
from adanet.training import held_out_pass
from adanet.training import recorded_logits
import numpy as np

v1 = tf_compat.v1
_Batch = recorded_logits.RecordedBatch
_LABELS, _WEIGHT = ("labels",), ("features", "w")
_X = np.float32([[1.], [2.], [3.], [4.], [5.]])
_GREEDY = ensemble.GreedyEnsembler()
_MEAN = ensemble.MeanEnsembler()


def _sha(*parts):
  return hashlib.sha256(b"".join(parts)).hexdigest()


def _task(head, features, labels):
  return subnetworks.LearningTask(
      head, None, features, labels, "eval", applies_head=False)


class DigestTest(parameterized.TestCase):

  def test_by_hand(self):
    value = np.float32([[1.], [2.]])
    self.assertEqual(_sha(b"<f4 (2, 1) ", value.tobytes()),
                     held_out_pass.digest([value]))
    self.assertEqual(
        _sha(b"<f4 (2, 1) ", value.tobytes(), b"|O (2,) ", b"[b'a', b'bc']"),
        held_out_pass.digest([value, np.array([b"a", b"bc"], object)]))
    self.assertEqual(_sha(), held_out_pass.digest([]))

  def test_layout_in_memory_does_not_matter(self):
    value = np.float32([[1., 2.], [3., 4.]])
    self.assertEqual(held_out_pass.digest([value]),
                     held_out_pass.digest([np.asfortranarray(value)]))
    self.assertEqual(held_out_pass.digest([value[:, 0]]),
                     held_out_pass.digest([np.float32([1., 3.])]))

  def test_differs(self):
    digests = [held_out_pass.digest(values) for values in (
        [np.float32([1., 2.])], [np.float32([2., 1.])],
        [np.float32([[1., 2.]])], [np.float64([1., 2.])],
        [np.float32([1.]), np.float32([2.])],
        [np.array([b"ab", b"c"], object)], [np.array([b"a", b"bc"], object)])]
    self.assertLen(set(digests), len(digests))


class LossInputsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    stack = contextlib.ExitStack()
    stack.enter_context(v1.Graph().as_default())
    self.addCleanup(stack.close)

  def test_tensors_of(self):
    first, second, labels = (v1.ones([2, 1]) for _ in range(3))
    got = held_out_pass.tensors_of(_task(
        None, {"b": second, "a": {"c": first}}, labels))
    # In one order, whatever that of the dict is.
    self.assertEqual(
        [(("features", "a", "c"), first.name), (("features", "b"), second.name),
         (("labels",), labels.name)],
        [(path, tensor.name) for path, tensor in got.items()])
    self.assertCountEqual(
        [("features",)], held_out_pass.tensors_of(_task(None, first, None)))

  def test_components(self):
    sparse = v1.SparseTensor([[0, 1]], [3.], [2, 4])
    dense = v1.ones([2, 1])
    got = held_out_pass.components(
        _task(None, {"s": sparse, "d": dense}, None))
    self.assertCountEqual(
        [dense.name, sparse.indices.name, sparse.values.name,
         sparse.dense_shape.name], [tensor.name for tensor in got])

  @parameterized.named_parameters(
      ("labels", None, lambda x, w: 2. * x, [_LABELS]),
      ("weights", "w", lambda x, w: 2. * x, [_LABELS, ("features", "w")]),
      ("weights_that_the_network_reads", "w", lambda x, w: w * x,
       [_LABELS, ("features", "w")]),
      ("network_that_reads_them", None, lambda x, w: w * x, [_LABELS]))
  def test_loss_inputs(self, weight_column, network, expected):
    features = {"x": v1.ones([2, 1]), "w": v1.ones([2, 1])}
    labels = v1.ones([2, 1])
    got = held_out_pass.loss_inputs(
        _task(heads.RegressionHead(weight_column=weight_column), features,
              labels), network(features["x"], features["w"]))
    self.assertCountEqual(expected, got)
    self.assertIs(labels, got[_LABELS])

  def test_loss_inputs_that_are_only_checked(self):
    def create_estimator_spec(features, labels, **unused):
      with v1.control_dependencies([v1.check_numerics(features["c"], "")]):
        return types.SimpleNamespace(loss=v1.reduce_sum(labels))

    x, checked, labels = (v1.ones([2, 1]) for _ in range(3))
    got = held_out_pass.loss_inputs(
        _task(types.SimpleNamespace(
            logits_dimension=1, create_estimator_spec=create_estimator_spec),
              {"x": x, "c": checked}, labels), 2. * x)
    self.assertCountEqual([_LABELS, ("features", "c")], got)

  def test_sparse_labels_are_refused(self):
    labels = v1.SparseTensor(
        *(v1.constant(value, v1.int64) for value in ([[0, 0]], [1], [2, 1])))
    task = _task(heads.MultiLabelHead(3), {"x": v1.ones([2, 1])}, labels)
    with self.assertRaisesRegex(
        ValueError, "^evaluator.input_fn: labels is a SparseTensor: expected a "
        "dense tensor with fitted ensembles.* tf.sparse.to_indicator$"):
      held_out_pass.loss_inputs(task, v1.ones([2, 3]))


def _network(logits, complexity):
  return subnetwork.Subnetwork(logits, logits, complexity)


class _Setup:
  """Has networks that multiply x by 10 and more, and a previous ensemble."""

  def __init__(self, complexity=0., ensembler=_GREEDY, several=False,
               dtype=v1.float32):
    self.search = types.SimpleNamespace(ensemblers=[_GREEDY, ensembler])
    self.rules = types.SimpleNamespace(
        evaluator=types.SimpleNamespace(input_fn="input_fn"))
    self.replaced = []
    self._complexity = complexity
    self._several = several
    self._dtype = dtype

  def _replace(self, **changed):
    self.replaced.append(changed)
    return self

  @contextlib.contextmanager
  def graph(self, input_fn, mode, number):
    """Has batches of two, two and one examples."""
    assert (input_fn, mode) == ("input_fn", "eval")
    with v1.Graph().as_default():
      iterator = v1.data.make_initializable_iterator(
          v1.data.Dataset.from_tensor_slices(
              ({"x": _X, "w": _X + .5}, -_X)).batch(2))
      features, labels = iterator.get_next()

      def times(factor):
        logits = v1.cast(features["x"], self._dtype) * factor
        return {"b": logits, "a": -logits} if self._several else logits

      head = heads.RegressionHead(weight_column="w")
      if self._several:
        labels = dict.fromkeys("ab", labels)
        head = heads.MultiHead([
            heads.RegressionHead(name=name, weight_column="w")
            for name in "ab"])
      complexity = self._complexity
      if callable(complexity):
        complexity = complexity()
      yield types.SimpleNamespace(
          iteration=types.SimpleNamespace(
              number=number, graphs={"g": {"Mul": 1}},
              previous=types.SimpleNamespace(
                  ensemble=types.SimpleNamespace(
                      logits=times(7.), complexity_regularization=None),
                  architecture=types.SimpleNamespace(subnetworks=((0, "p"),)),
                  subnetworks=(_network(times(8.), 2.),)),
              subnetworks=[types.SimpleNamespace(
                  builder=types.SimpleNamespace(name=name),
                  subnetwork=_network(times(factor), complexity))
                           for name, factor in (("n", 10.), ("m", 20.))]),
          task=subnetworks.LearningTask(
              head, None, features, labels, "eval", applies_head=False),
          initializer=iterator.initializer)

  @contextlib.contextmanager
  def session(self, built, checkpoint):
    with v1.Session() as session:
      session.run(built.initializer)
      yield session, checkpoint


class RecordTest(parameterized.TestCase):

  def test_new_networks(self):
    setup = _Setup()
    watched = mock.Mock(side_effect=lambda session: session)
    iteration, got = held_out_pass.record(setup, 1, None, watched=watched)
    self.assertEqual(1, iteration.number)
    watched.assert_called_once()
    self.assertEqual(
        [{"applies_head": False, "with_members": False}], setup.replaced)
    self.assertEqual([(1, "n"), (1, "m")], list(got.members))
    for factor, member in zip((10., 20.), got.members.values()):
      self.assertEqual((factor * _X).tolist(), member.logits.tolist())
      self.assertFalse(member.logits.flags.writeable)
    self.assertEqual({"g": {"Mul": 1}}, got.graphs)
    self.assertEqual({}, got.sums)
    # Of the features, the loss needs the weights only.
    self.assertCountEqual([_LABELS, _WEIGHT], got.inputs)
    np.testing.assert_array_equal(-_X, got.inputs[_LABELS])
    np.testing.assert_array_equal(_X + .5, got.inputs[_WEIGHT])
    parts = [_X[:2], _X[2:4], _X[4:]]
    self.assertEqual(
        tuple(_Batch(len(x), held_out_pass.digest([x + .5, -x]),
                     held_out_pass.digest([x + .5, x, -x])) for x in parts),
        got.batches)

  def test_steps(self):
    setup = _Setup()
    setup.rules.evaluator.steps = 2
    _, got = held_out_pass.record(setup, 1, None)
    self.assertEqual([2, 2], [batch.size for batch in got.batches])
    self.assertLen(got.members[1, "n"].logits, 4)

  @parameterized.parameters(
      (2, 2.), (np.float64(.25), .25), (lambda: v1.constant(3), 3.))
  def test_complexity(self, complexity, expected):
    _, got = held_out_pass.record(_Setup(complexity), 1, None)
    self.assertEqual(expected, got.members[1, "n"].complexity)
    self.assertIs(float, type(got.members[1, "n"].complexity))

  def test_several_heads(self):
    _, got = held_out_pass.record(
        _Setup(several=True, dtype=v1.float64), 1, None)
    logits = got.members[1, "m"].logits
    self.assertEqual({"a": (-20. * _X).tolist(), "b": (20. * _X).tolist()},
                     {head: array.tolist() for head, array in logits.items()})
    self.assertEqual({np.dtype(np.float32)},
                     {array.dtype for array in logits.values()})
    self.assertCountEqual(
        [("labels", "a"), ("labels", "b"), _WEIGHT], got.inputs)

  def test_where_an_ensembler_builds_on_the_previous_one(self):
    setup = _Setup(ensembler=_MEAN)
    _, got = held_out_pass.record(setup, 1, "checkpoint")
    self.assertTrue(setup.replaced[0]["with_members"])
    self.assertEqual(
        {recorded_logits.PREVIOUS_ENSEMBLE: (7., 0.), (0, "p"): (8., 2.),
         (1, "n"): (10., 0.), (1, "m"): (20., 0.)},
        {name: (member.logits[0, 0], member.complexity)
         for name, member in got.members.items()})
    # Nothing is kept for the next iteration.
    self.assertEqual(({}, ""), (got.sums, got.batches[0].features))
    _, got = held_out_pass.record(setup, 1, "checkpoint", is_first=False)
    self.assertEqual([(1, "n"), (1, "m")], list(got.members))

  def test_sums(self):
    def name(network, variable):
      t, builder = network
      return f"adanet/iteration_{t}/subnetwork_t{t}_{builder}/{variable}"

    a, b, c, d = networks = [(0, "a"), (1, "b"), (1, "c"), (1, "d")]
    names = [name(a, "w"), name(a, "layer/b"), name(b, "w"),
             name((1, "b_more"), "w"), "global_step", name(d, "w")]
    checkpoint = variables.save(
        os.path.join(self.create_tempdir().full_path, "model.ckpt"),
        {variable_name: np.float32(i) for i, variable_name in enumerate(names)})
    sums = checkpoints.sums(checkpoint)
    with v1.Graph().as_default():
      for variable_name in names + [name(d, "not_stored")]:
        v1.get_variable(variable_name, initializer=1.)
      got = held_out_pass.variable_sums(networks, checkpoint)
    self.assertEqual(
        {a: {variable_name: sums[variable_name] for variable_name in names[:2]},
         b: {names[2]: sums[names[2]]}, c: {}}, got)


def _recording(*names, **attributes):
  """Returns a record of networks whose logits tell which ones they are."""
  return recorded_logits.RecordedLogits(**{
      "members": {(t, name): ensemble.Member(np.float32([[t]]), float(t))
                  for t, name in names},
      "inputs": {}, "batches": (_Batch(1, "now", "features"),), **attributes})


class CompletedTest(parameterized.TestCase):

  def _completed(self, logits, known=None, members=((0, "a"),)):
    """Completes logits; what runs again has the labels "again"."""
    def run_again(setup, *args):
      self.assertEqual((("part", ()), 1, "c", True), (setup, *args))
      return None, _recording((0, "a"), inputs={_LABELS: "again"})

    setup = mock.Mock(
        _replace=lambda **changed: next(iter(changed.items())),
        history=lambda number: [(0, architecture.Architecture(
            "all", "greedy", members, (0,)))][:number],
        search=mock.Mock(ensemblers=[_GREEDY]))
    setup.model_dir.path = "folder"
    with mock.patch.object(
        recorded_logits, "read_kept", return_value=known) as read, (
            mock.patch.object(held_out_pass, "_run", run_again)):
      completed = held_out_pass.completed(setup, 1, "c", logits)
    if read.called:
      read.assert_called_once_with("folder", members, "c")
    return completed

  @parameterized.parameters(
      ([(1, "b")], ()), ([(1, "b"), (0, "a")], ((0, "a"),)))
  def test_none_is_missing(self, names, members):
    logits = _recording(*names)
    self.assertIs(logits, self._completed(logits, members=members))

  def test_no_iteration_before(self):
    setup = mock.Mock(history=lambda number: [])
    setup.search.ensemblers = [_GREEDY]
    logits = _recording((0, "a"))
    self.assertIs(logits, held_out_pass.completed(setup, 0, "c", logits))

  def test_from_the_model_dir(self):
    completed = self._completed(
        _recording((1, "b"), inputs={_LABELS: 2}), _recording((0, "a")))
    self.assertEqual({(0, "a"): 0., (1, "b"): 1.}, {
        name: member.logits[0, 0]
        for name, member in completed.members.items()})
    self.assertEqual({_LABELS: 2}, completed.inputs)

  @parameterized.named_parameters(
      ("not_there", None),
      ("other_labels", _Batch(1, "old", "features")),
      ("other_features", _Batch(1, "now", "old")))
  def test_run_again(self, batch):
    known = batch and _recording((0, "a"), batches=(batch,))
    with self.assertLogs(level="INFO") as logs:
      held_out_pass.logging.info("begin")
      completed = self._completed(_recording((1, "b")), known)
    self.assertEqual([(0, "a"), (1, "b")], list(completed.members))
    self.assertEqual({_LABELS: "again"}, completed.inputs)
    self.assertEqual(known is not None, any(
        "Iteration 1: evaluator.input_fn gives other data than" in line
        for line in logs.output))


if __name__ == "__main__":
  absltest.main()
