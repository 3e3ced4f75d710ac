# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of subnetworks and of what makes them; none needs TensorFlow."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import subnetwork


def _subnetwork(**kwargs):
  values = dict(last_layer="h", logits="z", complexity=1.)
  values.update(kwargs)
  return subnetwork.Subnetwork(**values)


class TrainOpSpecTest(absltest.TestCase):

  def test_hooks_are_tuples(self):
    self.assertEqual(("op", (), ()), subnetwork.TrainOpSpec("op"))
    spec = subnetwork.TrainOpSpec("op", chief_hooks=["a"], hooks=iter(["b"]))
    self.assertEqual(("a",), spec.chief_hooks)
    self.assertEqual(("b",), spec.hooks)


class SubnetworkTest(parameterized.TestCase):

  def test_defaults(self):
    self.assertEqual(("h", "z", 1., None, None, ()), _subnetwork())

  def test_multi_head(self):
    heads = {"a": 1, "b": 2}
    self.assertEqual(heads, _subnetwork(last_layer=heads, logits=heads).logits)

  def test_local_init_ops_are_a_tuple(self):
    self.assertEqual(("op",), _subnetwork(local_init_ops=["op"]).local_init_ops)

  def test_persisted_tensors_are_deprecated(self):
    tensors = {"a": {"b": "tensor"}}
    with self.assertLogs("absl", level="WARNING") as logs:
      network = _subnetwork(persisted_tensors=tensors)
    self.assertEqual(tensors, network.persisted_tensors)
    self.assertIn("Use shared", logs.output[0])

  @parameterized.parameters(
      (dict(last_layer=None), "^last_layer=None: expected a tensor"),
      (dict(logits=None), "^logits=None: expected a tensor"),
      (dict(complexity=None), "^complexity=None: expected a number"),
      (dict(logits={"a": 1}),
       "^last_layer is of type str and logits of type dict"),
      (dict(last_layer={"a": 1}),
       "^last_layer is of type dict and logits of type str"),
      (dict(last_layer={"a": 1}, logits={"a": 1, 2: 1}),
       r"^last_layer has the keys \['a'\] and logits has \[2, 'a'\]"),
      (dict(persisted_tensors=[1]), r"^persisted_tensors=\[1\]: expected a d"),
      (dict(persisted_tensors={"a": {"b": {}}}),
       r"^persisted_tensors\['a'\]\['b'\]={}: expected at least one entry"))
  def test_bad_value(self, kwargs, message):
    with self.assertRaisesRegex(ValueError, message) as caught:
      _subnetwork(**kwargs)
    self.assertNotIn("\n", str(caught.exception))


class AbstractTest(parameterized.TestCase):

  @parameterized.parameters(
      (subnetwork.Builder,
       ("name", "build_subnetwork", "build_subnetwork_train_op")),
      (subnetwork.Generator, ("generate_candidates",)),
      (subnetwork.Summary, ("scalar", "image", "histogram", "audio")))
  def test_every_method_must_be_overridden(self, cls, names):
    def override(self, *args, **kwargs):
      pass

    for absent in names:
      present = {name: override for name in names if name != absent}
      with self.assertRaisesRegex(TypeError, absent):
        type("Part", (cls,), present)()
    type("Whole", (cls,), {name: override for name in names})()

  def test_no_report_by_default(self):
    self.assertIsNone(subnetwork.Builder.build_subnetwork_report(None))

  def test_a_summary_may_have_no_scope(self):
    with subnetwork.Summary.current_scope(None):
      pass


class SimpleGeneratorTest(absltest.TestCase):

  def test_same_builders_in_every_iteration(self):
    builders = ["a", "b"]
    generator = subnetwork.SimpleGenerator(builders)
    self.assertEqual(builders, generator.generate_candidates(0, [], []))
    self.assertEqual(builders, generator.generate_candidates(
        iteration_number=1, previous_ensemble_reports=[], all_reports=[],
        config=None))


if __name__ == "__main__":
  absltest.main()
