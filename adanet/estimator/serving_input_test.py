# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of inputs of an export that follow from an input_fn."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import inputs
from adanet import tf_compat
from adanet.estimator import export
from adanet.testing import graphs
import numpy as np

_FEATURES = {
    "wide": np.zeros([4, 2, 3]), "word": np.array(["a", "b", "c", "d"]),
    "small": np.zeros([4, 1], np.int32), "yes": np.zeros([4], bool)}


def _arrays(features):
  return inputs.numpy_input_fn(features, np.zeros([4]), 2, None, True)


def _tensors(mode, config):
  """Is an input_fn of tensors, one of them sparse."""
  v1 = tf_compat.v1
  del config
  assert mode == "infer", mode
  return {"dense": v1.zeros([2, 3], v1.float16),
          "sparse": v1.SparseTensor([[0, 1]], [1], [2, 5])}, v1.zeros([2])


def _kinds(features):
  """Returns the type and shape of each tensor."""
  if not isinstance(features, dict):
    return features.dtype.name, features.shape.as_list()
  return {name: (tensor.dtype.name, tensor.shape.as_list())
          for name, tensor in features.items()}


class ServingInputTest(graphs.GraphTestCase):

  @parameterized.parameters(
      (export.build_raw_serving_input_receiver_fn, {
          "wide": ("float32", [None, 2, 3]), "word": ("string", [None]),
          "small": ("int32", [None, 1]), "yes": ("bool", [None])}),
      (export.build_parsing_serving_input_receiver_fn, {
          "examples": ("string", [None])}))
  def test_has_the_features_of_the_input_fn(self, build, receives):
    for input_fn, batch, expected in (
        (_arrays(_FEATURES), None, {
            "wide": ("float64", [None, 2, 3]), "word": ("string", [None]),
            "small": ("int32", [None, 1]), "yes": ("bool", [None])}),
        (_arrays(_FEATURES["wide"]), 7, ("float64", [7, 2, 3]))):
      receiver = build(input_fn, batch)()
      self.assertEqual(expected, _kinds(receiver.features))
    self.assertEqual(
        receives, _kinds(build(_arrays(_FEATURES))().receiver_tensors))

  def test_raw(self):
    receiver = export.build_raw_serving_input_receiver_fn(_tensors)()
    self.assertEqual(("float16", [None, 3]), _kinds(receiver.features)["dense"])
    sparse = receiver.features["sparse"]
    self.assertIsInstance(sparse, tf_compat.v1.SparseTensor)
    self.assertEqual(("int32", 2), (sparse.dtype.name, sparse.shape.rank))
    self.assertEqual(receiver.features, receiver.receiver_tensors)

  def test_parses_examples(self):
    v1 = tf_compat.v1
    receiver = export.build_parsing_serving_input_receiver_fn(_tensors)()
    example = v1.train.Example()
    example.features.feature["dense"].float_list.value.extend([1, 2, 3])
    example.features.feature["sparse"].int64_list.value.append(4)
    with v1.Session() as session:
      found = session.run(receiver.features, {
          receiver.receiver_tensors["examples"]: [
              example.SerializeToString()]})
    self.assertEqual([[1, 2, 3]], found["dense"].tolist())
    self.assertEqual(np.float16, found["dense"].dtype)
    self.assertEqual([4], found["sparse"].values.tolist())
    self.assertEqual(np.int32, found["sparse"].values.dtype)

  @parameterized.parameters(
      (lambda: {"x": tf_compat.v1.zeros([2], "complex64")},
       "the feature 'x' with the type complex64, which no example has: give"),
      (lambda: {"x": tf_compat.v1.placeholder("float32", [None, None])},
       r"the feature 'x' with the shape \(.*\): expected a known size of each"),
      (lambda: {"x": tf_compat.v1.zeros([])},
       r"features have the shape \[\], without a dimension of the examples"))
  def test_no_example_has_it(self, input_fn, message):
    with self.assertRaisesRegex(ValueError, message):
      export.build_parsing_serving_input_receiver_fn(input_fn)


if __name__ == "__main__":
  absltest.main()
