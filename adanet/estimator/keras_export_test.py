# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of exports as a layer of Keras 3, as docs/export.rst describes them."""

import tempfile

from absl.testing import absltest
from adanet import heads
from adanet.testing import level
from adanet import tf_compat
from adanet.estimator import export
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_ROWS = 32
_WORDS = np.array(["red", "green", "blue"])


def _features():
  """Returns several features, of several types."""
  numbers, _ = builders.data(_ROWS)
  return {"x": numbers, "count": np.arange(_ROWS),
          "word": _WORDS[np.arange(_ROWS) % len(_WORDS)]}


def _several_input():
  """Is the input_fn of `_features`, for two heads."""
  features = _features()
  labels = {"color": features["word"], "sum": features["x"].sum(1)}
  return tf_compat.v1.data.Dataset.from_tensor_slices(
      (features, labels)).repeat().batch(8)


def _several_once():
  return tf_compat.v1.data.Dataset.from_tensor_slices(_features()).batch(8)


def _word_ids(features):
  """Returns the number of each word, by a table."""
  v1 = tf_compat.v1
  table = v1.lookup.StaticHashTable(
      v1.lookup.KeyValueTensorInitializer(
          v1.constant(list(_WORDS)), v1.constant([1., 2., 3.])), 0.)
  return table.lookup(features["word"])


class _Several(builders.Dense):
  """Is a network whose logits need all features, and a table."""

  def build_subnetwork(self, features, *args, **kwargs):
    v1 = tf_compat.v1
    subnetwork = super().build_subnetwork(features, *args, **kwargs)
    more = _word_ids(features) + .1 * v1.cast(features["count"], v1.float32)
    return subnetwork._replace(logits=subnetwork.logits + more[:, None])


def _folder():
  return tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())


@level.gate
class KerasExportTest(absltest.TestCase):

  def test_several_features_and_heads(self):
    # Not where TF_USE_LEGACY_KERAS=1 makes it Keras 2, either.
    keras = tf_compat.v2.keras
    if not hasattr(keras.layers, "TFSMLayer"):
      self.skipTest("Keras 3 needs TensorFlow 2.16 or later.")

    class Exported(keras.layers.TFSMLayer):

      def call(self, inputs):
        return self.call_endpoint_fn(**inputs)

    estimator = searches.estimator(
        _folder(), _Several("a"), _Several("b", 3), head=heads.MultiHead([
            heads.MultiClassHead(
                3, label_vocabulary=list(_WORDS), name="color"),
            heads.RegressionHead(name="sum")]), max_iterations=1)
    estimator.train(_several_input)
    inputs = {"x": keras.Input([3], name="x"),
              "count": keras.Input([], name="count", dtype="int64"),
              "word": keras.Input([], name="word", dtype="string")}
    layer = Exported(estimator.export_saved_model(
        _folder(), export.build_raw_serving_input_receiver_fn(
            _several_input)).decode(), call_endpoint="predict")
    model = keras.Model(inputs, layer(inputs))
    expected = list(estimator.predict(_several_once))
    features = _features()
    features["word"] = features["word"].astype(object)
    for batch_size in (3, _ROWS):
      outputs = model.predict(features, batch_size=batch_size, verbose=0)
      self.assertCountEqual(map("/".join, expected[0]), outputs)
      for key in expected[0]:
        theirs = np.stack([example[key] for example in expected])
        ours = outputs["/".join(key)]
        self.assertEqual(theirs.shape, ours.shape, key)
        if theirs.dtype.kind == "f":
          np.testing.assert_allclose(
              ours, theirs, rtol=1e-5, atol=1e-6, err_msg=str(key))
        else:
          np.testing.assert_array_equal(ours, theirs, str(key))


if __name__ == "__main__":
  absltest.main()
