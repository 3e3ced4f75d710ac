# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The functions of a model do what Keras does for the same batches."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import steps as steps_lib
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_R = np.random.RandomState(0)
_X = _R.randn(20, 3).astype("float32")
_Y = _R.randn(20, 1).astype("float32")


class OwnStep(keras.Sequential):  # Keras makes a scope of its name.

  def train_step(self, data):
    return {"twice": 2 * super().train_step(data)["loss"]}


def _make(kind=keras.Sequential):
  model = kind([keras.Input([3]), keras.layers.Dense(
      1, kernel_initializer="ones")])
  model.compile(keras.optimizers.SGD(.1), "mse", metrics=["mae"])
  return model


class StepsTest(parameterized.TestCase):

  def _traced(self, model, size=5):
    rows = rows_lib.Rows((_X, _Y), np.arange(20, dtype="int32"))
    layout = rows.layout(size)
    steps = steps_lib.Steps(model, layout, layout, 0)
    steps.build()
    steps.trace()
    return steps, rows

  def test_train_and_check(self):
    model, expected = _make(), _make()
    steps, rows = self._traced(model)
    (flat, numbers), = rows.chunks(5)
    model.reset_metrics()
    logs = steps.logs("train_step", steps.train(flat, tf.constant(numbers)))
    history = expected.fit(_X, _Y, 5, shuffle=False, verbose=0).history
    self.assertEqual({name: values[0] for name, values in history.items()},
                     logs)
    np.testing.assert_equal(expected.get_weights(), model.get_weights())
    judged = expected.evaluate(_X, _Y, 5, verbose=0, return_dict=True)
    for check in (steps.check_batches, lambda flat, numbers: [
        steps.check(flat, batch) for batch in numbers][-1]):
      model.reset_metrics()
      self.assertEqual(judged, steps.logs("test_step", check(
          flat, tf.constant(numbers))))

  def test_predict(self):
    model = keras.Sequential([
        keras.layers.Masking(), keras.layers.TimeDistributed(
            keras.layers.Dense(1))])
    model.compile("sgd", "mse")
    x = np.float32([[[1.], [0.]], [[2.], [3.]]])
    rows = rows_lib.Rows((x, x), np.int32([1, 0]))
    layout = rows.layout(2)
    steps = steps_lib.Steps(model, layout, layout, 0)
    steps.build()
    steps.trace()
    (flat, numbers), = rows.chunks(2)
    (outputs,), (mask,) = steps.predict(flat, tf.constant(numbers[0]))
    np.testing.assert_allclose(
        model.predict(x[::-1], verbose=0), outputs, rtol=1e-6)
    self.assertEqual([[True, True], [True, False]], mask.numpy().tolist())
    self.assertEqual(0, steps.outputs)

  def test_own_step(self):
    steps, rows = self._traced(_make(OwnStep))
    (flat, numbers), = rows.chunks(5)
    logs = steps.logs("train_step", steps.train(flat, tf.constant(numbers)))
    self.assertEqual(["twice"], list(logs))

  def test_own_steps_are_told_from_those_of_keras(self):
    self.assertTrue(steps_lib.is_of_keras(_make(), "train_step"))
    model = _make(OwnStep)
    self.assertFalse(steps_lib.is_of_keras(model, "train_step"))
    self.assertTrue(steps_lib.is_of_keras(model, "test_step"))
    model.compute_metrics = lambda *_: {}
    self.assertFalse(steps_lib.is_of_keras(model, "test_step"))

  def test_flat_logs(self):
    self.assertEqual({"loss": 1., "b": 2}, steps_lib.flat_logs(
        {"loss": 1., "a": {"b": 2, "c": [1, 2]}, "text": "d"}))

  def test_predictions_of_parts(self):
    joined = steps_lib.join_predictions([0, 0], [
        ([np.ones([2, 1]), tf.ones([2], "bfloat16")],
         [None, np.array([True, False])]),
        ([np.zeros([1, 1]), tf.zeros([1], "bfloat16")],
         [None, np.array([True])])])
    self.assertEqual([0, 0], joined.structure)
    self.assertEqual([[1.], [1.], [0.]], joined.outputs[0].tolist())
    self.assertEqual("float32", joined.outputs[1].dtype.name)
    self.assertIsNone(joined.masks[0])
    self.assertEqual([True, False, True], joined.masks[1].tolist())


if __name__ == "__main__":
  absltest.main()
