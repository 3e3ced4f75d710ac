# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `adanet.TrainSpec` and `adanet.EvalSpec`."""

import types

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
import numpy as np
from adanet.estimator import specs


def _input_fn():
  raise AssertionError("called too early")


def _exporter(name="latest"):
  return types.SimpleNamespace(name=name, export=lambda **unused: None)


class SpecsTest(parameterized.TestCase):

  def test_defaults(self):
    self.assertEqual((_input_fn, None, (), ()), adanet.TrainSpec(_input_fn))
    self.assertEqual((_input_fn, 100, None, (), (), 120, 600),
                     adanet.EvalSpec(_input_fn))

  def test_sequences_become_tuples(self):
    hook = tf_compat.v1.train.SessionRunHook()
    listener = tf_compat.v1.train.CheckpointSaverListener()
    spec = adanet.TrainSpec(
        _input_fn, hooks=iter([hook]), saving_listeners=[listener])
    self.assertEqual(((hook,), (listener,)), spec[2:])
    exporter = _exporter()
    for exporters in (exporter, [exporter], iter([exporter])):
      spec = adanet.EvalSpec(_input_fn, exporters=exporters)
      self.assertEqual((exporter,), spec.exporters)

  @parameterized.parameters(
      ({"input_fn": 3}, TypeError, "input_fn must be a function .*, got 3"),
      ({"input_fn": np.zeros([99])}, TypeError,
       "ndarray: use adanet.inputs.numpy_input_fn"),
      ({"max_steps": 0}, ValueError, "max_steps=0: expected an integer"),
      ({"hooks": 3}, TypeError, "hooks must be a sequence of .*, got 3"),
      ({"hooks": [3]}, TypeError, "hooks must have only .*, got 3"),
      ({"saving_listeners": [3]}, TypeError, "CheckpointSaverListeners, got 3"))
  def test_bad_train_spec(self, arguments, error, message):
    with self.assertRaisesRegex(error, message) as caught:
      adanet.TrainSpec(**dict({"input_fn": _input_fn}, **arguments))
    self.assertNotIn("\n", str(caught.exception))

  @parameterized.parameters(
      ({"steps": -1}, ValueError,
       "steps=-1: expected an integer of at least 1, or None"),
      ({"name": 3}, TypeError, "name must be a string or None, got 3"),
      ({"exporters": 3}, TypeError, "exporters must be a sequence .*, got 3"),
      ({"exporters": ["x"]}, TypeError, "LatestExporter, got 'x'"),
      ({"exporters": _exporter("")}, ValueError, "of an exporter .*, got ''"),
      ({"exporters": [_exporter("a"), _exporter("b"), _exporter("a")]},
       ValueError, "exporters must have different names, got 'a' 2 times"),
      ({"start_delay_secs": -1}, ValueError, "start_delay_secs=-1: expected"),
      ({"start_delay_secs": None}, TypeError, "start_delay_secs=None: exp"),
      ({"throttle_secs": -1}, ValueError, "throttle_secs=-1: expected a num"))
  def test_bad_eval_spec(self, arguments, error, message):
    with self.assertRaisesRegex(error, message) as caught:
      adanet.EvalSpec(**dict({"input_fn": _input_fn}, **arguments))
    self.assertNotIn("\n", str(caught.exception))

  def test_other_specs(self):
    # As those of tf.estimator: what counts is what they have.
    spec = specs.train_spec(types.SimpleNamespace(
        input_fn=_input_fn, max_steps=1, hooks=None))
    self.assertEqual(adanet.TrainSpec(_input_fn, 1), spec)
    self.assertIs(spec, specs.train_spec(spec))
    spec = adanet.EvalSpec(_input_fn, name="held_out", throttle_secs=3)
    self.assertEqual(
        spec, specs.eval_spec(types.SimpleNamespace(**spec._asdict())))

  @parameterized.parameters(
      (specs.train_spec, "train_spec must be an adanet.TrainSpec, or a tf."
       "estimator.TrainSpec, got EvalSpec", adanet.EvalSpec(_input_fn)),
      (specs.eval_spec, "eval_spec must be an adanet.EvalSpec, or a tf."
       "estimator.EvalSpec, got TrainSpec", adanet.TrainSpec(_input_fn)),
      (specs.eval_spec, "eval_spec must be .*, got None", None))
  def test_not_a_spec(self, function, message, value):
    self.assertRaisesRegex(TypeError, message, function, value)


if __name__ == "__main__":
  absltest.main()
