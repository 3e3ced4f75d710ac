# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of logits as values and in files, with networks written by hand.

`adanet/estimator:earlier_networks_test` has whole searches.
"""

import errno
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.testing import variables
from adanet.training import recorded_logits
import numpy as np

v1 = tf_compat.v1
_Batch = recorded_logits.RecordedBatch
_A, _B, _C = (0, "a"), (1, "b"), (1, "c")
_VALUES = {_A: [1.], _B: [2., 3.], _C: [4.]}
_BATCHES = _Batch(2, "d0", "f0"), _Batch(2, "d1", "f1"), _Batch(1, "d2", "f2")


def _variable(network):
  t, builder = network
  return f"adanet/iteration_{t}/subnetwork_t{t}_{builder}/w"


def _logits(network, scale=1.):
  """Returns logits for three examples that tell which network it is."""
  t, name = network
  return np.float32([[t], [ord(name)], [7.]]) * np.float32(scale)


def _recording(*names, scale=1., **attributes):
  return recorded_logits.RecordedLogits(**{
      "members": {name: ensemble.Member(_logits(name, scale), name[0] + .5)
                  for name in names},
      "inputs": {}, "batches": _BATCHES,
      "sums": {name: {_variable(name): 1} for name in names}, **attributes})


class MergedRecordsTest(parameterized.TestCase):

  def test_order_is_that_of_the_records(self):
    self.assertEqual([_C, _A, _B], list(recorded_logits.merged(
        [_recording(_C, _A), _recording(_A, _B)]).members))

  def test_of_several_the_first_one_counts(self):
    first = _recording(_A, sums={_A: {"v": 1}}, graphs={"g": {"Add": 1}})
    got = recorded_logits.merged([first, _recording(
        _A, _B, scale=2., sums={_A: {"v": 2}, _B: {"w": 3}},
        graphs={"g": {"Add": 2}, "h": {}}, inputs={("labels",): 1})])
    self.assertEqual([0., 2.], [member.logits[0, 0]
                                for member in got.members.values()])
    self.assertEqual({_A: {"v": 1}, _B: {"w": 3}}, got.sums)
    self.assertEqual({"g": {"Add": 1}, "h": {}}, got.graphs)
    self.assertEqual({("labels",): 1}, got.inputs)
    # What is given stays as it was.
    self.assertEqual([_A], list(first.members))

  @parameterized.named_parameters(
      ("labels", (_BATCHES[0], _Batch(2, "e", "f1"), _BATCHES[2]), 1),
      ("fewer", _BATCHES[:2], 2),
      ("more", _BATCHES + (_Batch(1, "d3", "f3"),), 3),
      ("features", (_BATCHES[0], _Batch(2, "d1", "e"), _BATCHES[2]), 1))
  def test_other_data(self, batches, number):
    first = _recording(_A)
    with self.assertRaisesRegex(
        ValueError, f"^evaluator.input_fn: t1_b, t1_c got another batch "
        f"{number} than others before.* shuffle with a seed$") as raised:
      recorded_logits.merged([first, first, _recording(
          _B, _C, batches=batches)])
    self.assertNotIn("\n", str(raised.exception))


class RecordFilesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = os.path.join(self.create_tempdir().full_path, "new")

  # The path of a local file, as TensorFlow writes that of a remote one.
  @parameterized.parameters("", "file://")
  def test_written_and_read(self, scheme):
    previous = recorded_logits.PREVIOUS_ENSEMBLE
    labels = np.array([[b"yes"], [b"no"]], object)
    recording = _recording(
        members={
            previous: ensemble.Member(np.float32([[.5], [np.nan]]), .25),
            (0, "one"): ensemble.Member(np.float64([[1.], [2.]]), 1.5),
            (1, "two/too"): ensemble.Member(
                {"y": np.float32([[3., 4.]]).T,
                 "x": np.float32([[5., 6.], [7., 8.]])}, np.inf),
            (1, "three"): ensemble.Member({3: np.float32([[9.], [10.]])}, 2.)},
        inputs={("labels",): labels, ("features", 0): np.zeros([2, 1])},
        batches=(_Batch(2, "d"),), sums={(0, "one"): {"v": 3}},
        graphs={"t0_one": {"MatMul": 1}})
    recorded_logits.write(recording, scheme + self._folder)
    got = recorded_logits.read(scheme + self._folder)
    self.assertEqual(list(recording.members), list(got.members))
    self.assertEqual([.25, 1.5, np.inf, 2.],
                     [member.complexity for member in got.members.values()])
    _, first, second, third = (member.logits for member in got.members.values())
    self.assertEqual(np.float32, first.dtype)
    self.assertEqual(not scheme, isinstance(first, np.memmap))
    self.assertEqual([[1.], [2.]], first.tolist())
    self.assertEqual({"y": [[3.], [4.]], "x": [[5., 6.], [7., 8.]]},
                     {head: array.tolist() for head, array in second.items()})
    self.assertEqual([3], list(third))
    np.testing.assert_array_equal(
        [[.5], [np.nan]], got.members[previous].logits)
    self.assertEqual(list(recording.inputs), list(got.inputs))
    self.assertEqual(labels.tolist(), got.inputs["labels",].tolist())
    self.assertEqual({"v": 3}, got.sums[0, "one"])
    self.assertEqual(
        (recording.batches, recording.graphs), (got.batches, got.graphs))

  def test_is_written_anew(self):
    for scale in 1., 2.:
      recorded_logits.write(
          _recording(_A, scale=scale, sums={}), self._folder)
      np.testing.assert_array_equal(
          _logits(_A, scale),
          recorded_logits.read(self._folder).members[_A].logits)

  def test_not_written(self):
    with self.assertRaisesRegex(FileNotFoundError, "new has no library.json"):
      recorded_logits.read(self._folder)


class _KeptCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._path = self.create_tempdir().full_path
    self._folder = os.path.join(self._path, "logits")
    self._checkpoint = self._saved()

  def _saved(self, **changed):
    """Writes a checkpoint, with other values of some networks; None: without.
    """
    values = {network: changed.get(network[1], value)
              for network, value in _VALUES.items()}
    return variables.save(
        os.path.join(self.create_tempdir().full_path, "model.ckpt"),
        {_variable(network): np.float32(value)
         for network, value in values.items() if value is not None})

  def _recording(self, *names, checkpoint=None, **attributes):
    """Returns a record with the sums of a checkpoint."""
    sums = checkpoints.sums(checkpoint or self._checkpoint)
    return _recording(*names, **{"sums": {
        name: {_variable(name): sums[_variable(name)]} for name in names},
                                 **attributes})

  def _keep(self, *names, **attributes):
    recorded_logits.keep(self._path, self._recording(*names, **attributes))

  def _read(self, *names, checkpoint=None):
    return recorded_logits.read_kept(
        self._path, names, checkpoint or self._checkpoint)

  def _files(self):
    """Returns dict from the value of each array's first rows to its file."""
    return {tuple(np.load(os.path.join(self._folder, name))[:2, 0]): name
            for name in os.listdir(self._folder) if name.endswith(".npy")}


class ReadKeptTest(_KeptCase):

  def test_what_was_kept(self):
    self._keep(_A, _B, _C, inputs={("labels",): np.zeros([3, 1])})
    got = self._read(_C, _A)
    self.assertEqual([_C, _A], list(got.members))
    for name, member in got.members.items():
      self.assertEqual(name[0] + .5, member.complexity)
      np.testing.assert_array_equal(_logits(name), member.logits)
    self.assertEqual(({}, _BATCHES), (got.inputs, got.batches))
    self.assertNotIn("inputs", os.listdir(self._folder))
    # What is known goes on to the next iteration.
    before = self._files()
    recorded_logits.keep(self._path, got)
    self.assertEqual({value: name for value, name in before.items()
                      if value[1] != ord("b")}, self._files())

  def test_one_that_was_not_kept(self):
    self.assertIsNone(self._read(_A))
    self._keep(_A)
    self.assertIsNone(self._read(_A, _B))
    self.assertIsNone(recorded_logits.read_kept(self._path, [_A], None))
    self.assertIsNotNone(self._read(_A))

  # Only the networks that are asked for must be the same.
  @parameterized.parameters(
      ({"b": [2., 3.5]},), ({"b": None},))
  def test_other_variables(self, changed):
    self._keep(_A, _B)
    checkpoint = self._saved(**changed)
    self.assertIsNone(self._read(_A, _B, checkpoint=checkpoint))
    self.assertIsNone(self._read(_B, checkpoint=checkpoint))
    self.assertEqual(
        [_A], list(self._read(_A, checkpoint=checkpoint).members))

  @parameterized.parameters(
      (b"{",), (b"null",), (b"\xff",), (b'{"members": 3}',))
  def test_index_that_is_broken(self, content):
    self._keep(_A)
    with open(os.path.join(self._folder, "library.json"), "wb") as f:
      f.write(content)
    self.assertIsNone(self._read(_A))
    self.assertEqual({}, recorded_logits.kept_variables(self._path))
    self._keep(_A)
    self.assertIsNotNone(self._read(_A))

  @parameterized.parameters(None, 0, -4)
  def test_array_that_is_cut(self, size):
    """With None it is gone; with -4 its last value is."""
    self._keep(_A, _B)
    path = os.path.join(self._folder, self._files()[0., ord("a")])
    if size is None:
      os.remove(path)
    else:
      os.truncate(path, size if size >= 0 else os.path.getsize(path) + size)
    self.assertIsNone(self._read(_A, _B))
    self.assertIsNotNone(self._read(_B))

  def test_checkpoint_that_is_broken_is_an_error(self):
    self._keep(_A)
    with self.assertRaises(checkpoints.CheckpointError):
      self._read(_A, checkpoint=os.path.join(self._path, "model.ckpt-1"))


class KeepTest(_KeptCase):

  def test_variables(self):
    sums = {_A: {"v": 1, "w": 2}, _B: {"w": 2}}
    self._keep(_A, _B, sums=sums)
    self.assertEqual({_A: ("v", "w"), _B: ("w",)},
                     recorded_logits.kept_variables(self._path))

  def test_has_the_last_ones_only(self):
    self._keep(_A, _B)
    before = self._files()
    # What was read from there is not written again.
    known = self._read(_A)
    with mock.patch.object(np, "save", wraps=np.save) as save:
      recorded_logits.keep(self._path, recorded_logits.merged(
          [known, self._recording(_C)]))
    save.assert_called_once()
    after = self._files()
    self.assertCountEqual([(0., ord("a")), (1., ord("c"))], after)
    self.assertEqual(before[0., ord("a")], after[0., ord("a")])

  @parameterized.named_parameters(
      ("features", {"batches": (_Batch(2, "d0", "e"),) + _BATCHES[1:]}, {}),
      ("variables", {}, {"a": [1.5]}),
      # Another function of the same variables.
      ("values", {}, {}))
  def test_others_replace_them(self, attributes, values):
    self._keep(_A)
    checkpoint = self._saved(**values)
    self._keep(_A, scale=2., checkpoint=checkpoint, **attributes)
    self.assertCountEqual([(0., 2. * ord("a"))], self._files())
    np.testing.assert_array_equal(
        _logits(_A, 2.),
        self._read(_A, checkpoint=checkpoint).members[_A].logits)

  def test_not_one_that_could_not_be_recognized(self):
    recorded_logits.keep(self._path, _recording(_A, sums={_A: {}}))
    self.assertFalse(os.path.exists(self._folder))
    self._keep(_A, _B, sums={_A: {"v": 1}, _B: {}})
    self.assertCountEqual([(0., ord("a"))], self._files())
    self.assertEqual([_A], list(recorded_logits.kept_variables(self._path)))

  @parameterized.parameters(
      (OSError(errno.ENOSPC, "No space left\nat all"),),
      (v1.errors.ResourceExhaustedError(None, None, "No space left\nat all"),))
  def test_no_space(self, error):
    self._keep(_A)
    before = self._files()
    with self.assertLogs(level="WARNING") as logs, mock.patch.object(
        np, "save", side_effect=error):
      self._keep(_A, _B)
    line, = logs.output
    self.assertRegex(
        line, "The logits of 2 networks are not kept in model_dir .*: .*No "
        "space left.*. The next iteration records them again.$")
    self.assertNotIn("\n", line)
    self.assertEqual(before, self._files())
    self.assertIsNotNone(self._read(_A))


class _BuildsEnsembler(ensemble.GreedyEnsembler):
  """A fitted one that asks for the ensemble before it."""

  def build_ensemble(self, *args, **kwargs):
    return super().build_ensemble(*args, **kwargs)


class IsKeptTest(parameterized.TestCase):

  @parameterized.parameters(
      ([ensemble.GreedyEnsembler()], True),
      ([_BuildsEnsembler()], False),
      ([ensemble.ComplexityRegularizedEnsembler()], False),
      ([ensemble.GreedyEnsembler(), ensemble.MeanEnsembler()], False))
  def test_is_kept(self, ensemblers, expected):
    self.assertEqual(expected, recorded_logits.is_kept(
        mock.Mock(ensemblers=ensemblers)))


if __name__ == "__main__":
  absltest.main()
