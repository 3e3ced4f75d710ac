# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the logits in a model_dir, with networks and checkpoints by hand.

`adanet/estimator:earlier_networks_test` has whole searches.
"""

import errno
import json
import os
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet import tf_compat
from adanet.core import architecture
from adanet.core import checkpoints
from adanet.testing import variables
from adanet.training import logits_library
from adanet.training import logits_values
import numpy as np

v1 = tf_compat.v1
_A, _B, _C = (0, "a"), (1, "b"), (1, "c")
_VALUES = {_A: [1.], _B: [2., 3.], _C: [4.]}
_BATCHES = logits_values.RecordedBatch(2, "d0"), logits_values.RecordedBatch(
    1, "d1")
_FEATURES = "f0", "f1"


class _BuildsEnsembler(ensemble.GreedyEnsembler):
  """A fitted one that asks for the ensemble before it."""

  def build_ensemble(self, *args, **kwargs):
    return super().build_ensemble(*args, **kwargs)


def _variable(network, name="w"):
  t, builder = network
  return f"adanet/iteration_{t}/subnetwork_t{t}_{builder}/{name}"


def _logits(network, scale=1.):
  """Returns logits for three examples that tell which network it is."""
  t, name = network
  return np.float32([[t], [ord(name)], [7.]]) * np.float32(scale)


def _recording(*names, scale=1., **attributes):
  return logits_values.RecordedLogits(**{
      "members": {name: ensemble.Member(_logits(name, scale), name[0] + .5)
                  for name in names},
      "previous": None, "inputs": {("labels",): np.zeros([3, 1])},
      "batches": _BATCHES, "features": _FEATURES,
      "variables": {name: (_variable(name),) for name in names}, **attributes})


class _LibraryCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._path = self.create_tempdir().full_path
    self._folder = os.path.join(self._path, "logits")
    self._checkpoint = self._saved()
    self._history = [(0, self._winner(_A)), (1, self._winner(_A, _C))]

  def _winner(self, *members):
    return architecture.Architecture("all", "greedy", members, (0,))

  def _model(self, *ensemblers):
    return types.SimpleNamespace(
        model_dir=types.SimpleNamespace(path=self._path),
        search=types.SimpleNamespace(
            ensemblers=ensemblers or [ensemble.GreedyEnsembler()]),
        history=lambda number: self._history[:number])

  def _saved(self, **changed):
    """Writes a checkpoint, with other values of some networks; None: without.
    """
    values = {network: changed.get(network[1], value)
              for network, value in _VALUES.items()}
    return variables.save(
        os.path.join(self.create_tempdir().full_path, "model.ckpt"),
        {_variable(network): np.float32(value)
         for network, value in values.items() if value is not None})

  def _keep(self, recording, checkpoint=None):
    logits_library.keep(
        self._model(), checkpoint or self._checkpoint, recording)

  def _read(self, *names, checkpoint=None):
    return logits_library.read(
        self._path, names, checkpoint or self._checkpoint)

  def _files(self):
    """Returns dict from the value of each array's first rows to its file."""
    return {tuple(np.load(os.path.join(self._folder, name))[:2, 0]): name
            for name in os.listdir(self._folder) if name.endswith(".npy")}

  def _kept(self):
    return list(logits_library.variables(self._path))


class ReadTest(_LibraryCase):

  def test_what_was_kept(self):
    self._keep(_recording(_A, _B, _C))
    got = self._read(_C, _A)
    self.assertEqual([_C, _A], list(got.members))
    for name, member in got.members.items():
      self.assertEqual(name[0] + .5, member.complexity)
      self.assertEqual(np.float32, member.logits.dtype)
      np.testing.assert_array_equal(_logits(name), member.logits)
    self.assertIsNone(got.previous)
    self.assertEqual({}, got.inputs)
    self.assertEqual(_BATCHES, got.batches)
    self.assertEqual(_FEATURES, got.features)

  def test_several_heads(self):
    logits = {"x": _logits(_A), "y": _logits(_A, 2.)}
    self._keep(_recording(_A, members={_A: ensemble.Member(logits, 0.)}))
    got = self._read(_A).members[_A].logits
    self.assertEqual(["x", "y"], sorted(got))
    for head, array in logits.items():
      np.testing.assert_array_equal(array, got[head])

  def test_one_that_was_not_kept(self):
    self.assertIsNone(self._read(_A))
    self._keep(_recording(_A))
    self.assertIsNone(self._read(_A, _B))
    self.assertIsNone(logits_library.read(self._path, [_A], None))
    self.assertIsNotNone(self._read(_A))

  # Only the networks that are asked for must be the same.
  @parameterized.parameters(
      ({"b": [2., 3.5]},), ({"b": [3., 2.]},), ({"b": None},))
  def test_other_variables(self, changed):
    self._keep(_recording(_A, _B))
    checkpoint = self._saved(**changed)
    self.assertIsNone(self._read(_A, _B, checkpoint=checkpoint))
    self.assertIsNone(self._read(_B, checkpoint=checkpoint))
    self.assertEqual(
        [_A], list(self._read(_A, checkpoint=checkpoint).members))

  @parameterized.parameters(
      (b"",), (b"{",), (b"[]",), (b"null",), (b"\xff",), (b'{"members": 3}',))
  def test_index_that_is_broken(self, content):
    self._keep(_recording(_A))
    with open(os.path.join(self._folder, "library.json"), "wb") as f:
      f.write(content)
    self.assertIsNone(self._read(_A))
    self.assertEqual({}, logits_library.variables(self._path))
    self._keep(_recording(_A))
    self.assertIsNotNone(self._read(_A))

  def test_index_of_a_later_version(self):
    self._keep(_recording(_A))
    path = os.path.join(self._folder, "library.json")
    with open(path) as f:
      index = json.load(f)
    with open(path, "w") as f:
      json.dump(dict(index, new=1), f)
    self.assertIsNotNone(self._read(_A))

  @parameterized.parameters(None, 0, 20, -4)
  def test_array_that_is_cut(self, size):
    """With None it is gone; with -4 its last value is."""
    self._keep(_recording(_A, _B))
    path = os.path.join(self._folder, self._files()[0., ord("a")])
    if size is None:
      os.remove(path)
    else:
      os.truncate(path, size if size >= 0 else os.path.getsize(path) + size)
    self.assertIsNone(self._read(_A, _B))
    self.assertIsNotNone(self._read(_B))


class KeepTest(_LibraryCase):

  def test_variables(self):
    names = _variable(_A), _variable(_B)
    self._keep(_recording(_A, _B, variables={_A: names, _B: names[1:]}))
    self.assertEqual({_A: names, _B: names[1:]},
                     logits_library.variables(self._path))

  def test_has_the_last_ones_only(self):
    self._keep(_recording(_A, _B))
    before = self._files()
    self._keep(_recording(_A, _C))
    after = self._files()
    self.assertEqual([_A, _C], self._kept())
    self.assertCountEqual([(0., ord("a")), (1., ord("c"))], after)
    # One that is there is not written again.
    self.assertEqual(before[0., ord("a")], after[0., ord("a")])

  @parameterized.named_parameters(
      ("batches", {"batches": _BATCHES[::-1]}, {}),
      ("features", {"features": ("f0", "g")}, {}),
      ("variables", {}, {"a": [1.5]}))
  def test_others_replace_them(self, attributes, values):
    self._keep(_recording(_A))
    checkpoint = self._saved(**values)
    self._keep(_recording(_A, scale=2., **attributes), checkpoint)
    self.assertCountEqual([(0., 2. * ord("a"))], self._files())
    np.testing.assert_array_equal(
        _logits(_A, 2.),
        self._read(_A, checkpoint=checkpoint).members[_A].logits)

  @parameterized.named_parameters(
      ("unknown_variables", {"variables": {_A: (_variable(_A),)}}),
      ("no_variables", {"variables": {_A: (_variable(_A),), _B: ()}}),
      ("not_in_the_checkpoint", {"variables": {
          _A: (_variable(_A),), _B: (_variable(_B), _variable(_B, "part"))}}),
      ("head_that_is_no_text", {"members": {
          _A: ensemble.Member(_logits(_A), 0.),
          _B: ensemble.Member({3: _logits(_B)}, 0.)}}))
  def test_not_one_that_could_not_be_recognized(self, attributes):
    self._keep(_recording(_A, _B, **attributes))
    self.assertEqual([_A], self._kept())
    self.assertCountEqual([(0., ord("a"))], self._files())

  def test_nothing_where_it_is_not_used(self):
    logits_library.keep(self._model(_BuildsEnsembler()), self._checkpoint,
                        _recording(_A))
    logits_library.keep(self._model(), None, _recording(_A))
    self.assertFalse(os.path.exists(self._folder))

  @parameterized.parameters(
      (OSError(errno.ENOSPC, "No space left\nat all"),),
      (v1.errors.ResourceExhaustedError(None, None, "No space left\nat all"),))
  def test_no_space(self, error):
    self._keep(_recording(_A))
    before = self._files()
    with self.assertLogs(level="WARNING") as logs, mock.patch.object(
        logits_values, "write_array", side_effect=error):
      self._keep(_recording(_A, _B))
    line, = logs.output
    self.assertRegex(
        line, "The logits of 2 networks are not kept in model_dir .*: .*No "
        "space left.*. The next iteration records them again.$")
    self.assertNotIn("\n", line)
    self.assertEqual(before, self._files())
    self.assertIsNotNone(self._read(_A))

  def test_checkpoint_that_is_broken_is_an_error(self):
    with self.assertRaises(checkpoints.CheckpointError):
      self._keep(_recording(_A), os.path.join(self._path, "model.ckpt-1"))


class PreviousTest(_LibraryCase):

  def test_of_previous(self):
    self._keep(_recording(_A, _B, _C))
    model = self._model()
    self.assertIsNone(
        logits_library.of_previous(model, 0, self._checkpoint))
    for number, expected in ((1, [_A]), (2, [_A, _C])):
      self.assertEqual(expected, list(logits_library.of_previous(
          model, number, self._checkpoint).members))
    self.assertIsNone(logits_library.of_previous(model, 2, None))
    self.assertIsNone(logits_library.of_previous(
        model, 2, self._saved(c=[9.])))
    self.assertIsNone(logits_library.of_previous(
        self._model(_BuildsEnsembler()), 2, self._checkpoint))

  @parameterized.parameters(
      (0, (), []), (2, (), [_A, _C]), (2, (_B, _C), [_A]), (1, (_B, _C), [_A]),
      (2, (_C, _A), []))
  def test_missing(self, number, names, expected):
    self.assertEqual(expected, logits_library.missing(
        self._model(), number, _recording(*names)))

  @parameterized.parameters(
      ([ensemble.GreedyEnsembler()], True),
      ([_BuildsEnsembler()], False),
      ([ensemble.ComplexityRegularizedEnsembler()], False),
      ([ensemble.GreedyEnsembler(), ensemble.MeanEnsembler()], False))
  def test_is_used(self, ensemblers, expected):
    self.assertEqual(expected, logits_library.is_used(
        self._model(*ensemblers).search))


class VariablesOfTest(absltest.TestCase):

  def test_by_their_names(self):
    names = [_variable(_A), _variable(_A, "layer/b"), _variable(_B),
             _variable((1, "b_more")), "global_step"]
    with v1.Graph().as_default():
      for name in names:
        v1.get_variable(name, initializer=1.)
      self.assertEqual(
          {_A: tuple(names[:2]), _B: tuple(names[2:3]), _C: ()},
          {name: tuple(sorted(own, key=names.index)) for name, own in
           logits_library.variables_of([None, _A, _B, _C]).items()})


if __name__ == "__main__":
  absltest.main()
