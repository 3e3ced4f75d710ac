# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `predict` and `predictor`: what they leave to who calls them."""

import concurrent.futures
import gc
import signal
import subprocess
import sys
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import processes
from adanet.testing import searches
import numpy as np

_FEATURES = builders.data()[0]

# It keeps one `predict` that has begun, and ends by an error beside another.
_PROGRAM = """
import sys
from adanet.testing import builders, searches

def rows():
  return searches.estimator(sys.argv[1], builders.Dense("a")).predict(
      builders.input_fn(1))

kept = rows()
next(kept)
for row in rows():
  raise KeyError("the last line")
"""


def _process():
  """Returns what TensorFlow and Python have entered."""
  v1 = tf_compat.v1
  return (v1.executing_eagerly(), v1.get_default_graph(),
          v1.get_default_session(), v1.get_variable_scope().name,
          [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)])


class _Session(tf_compat.v1.train.SessionRunHook):
  """Keeps the session."""

  def after_create_session(self, session, coord):
    self.session = session

  def is_closed(self):
    try:
      self.session.run([])
      return False
    except RuntimeError:
      return True


class _Trained(parameterized.TestCase):
  """Tests of one search, which is trained once."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    cls._estimator = searches.estimator(cls._model_dir, builders.Dense("a"))
    cls._estimator.train(builders.input_fn())
    cls._expected = np.array([
        row["predictions"] for row in cls._predict()])

  @classmethod
  def _predict(cls, **arguments):
    return cls._estimator.predict(builders.input_fn(1), **arguments)


class PredictTest(_Trained):

  def test_nothing_is_entered_between_two_rows(self):
    before = _process()
    rows = self._predict()
    for _ in range(9):  # More than a batch.
      next(rows)
      self.assertEqual(before, _process())

  @level.gate
  def test_in_another_thread(self):
    rows = self._predict()
    first = next(rows)["predictions"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
      rest = pool.submit(list, rows).result()
    np.testing.assert_array_equal(
        self._expected, [first] + [row["predictions"] for row in rest])

  @parameterized.parameters("close", "drop", "end", "fail")
  def test_session_is_freed(self, how):
    hook = _Session()
    gc.disable()  # It is freed at once, not when garbage is looked for.
    self.addCleanup(gc.enable)

    def begun():  # Keras may look at locals; Python then keeps them for a call.
      rows = self._predict(hooks=[hook])
      next(rows)
      return rows

    rows = begun()
    self.assertFalse(hook.is_closed())
    if how == "close":
      rows.close()
    elif how == "end":
      self.assertLen(list(rows), 31)
    elif how == "fail":
      with self.assertRaises(KeyError):
        rows.throw(KeyError())
    del rows
    self.assertTrue(hook.is_closed())

  @level.gate
  def test_a_program_ends(self):
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, self._model_dir], timeout=120,
        stderr=subprocess.PIPE, check=False, universal_newlines=True,
        env=processes.python_environment())
    self.assertRegex(done.stderr, r"KeyError: .the last line.\n\Z")
    self.assertEqual(1, done.returncode)

  def test_queue_of_tensorflow_1(self):
    v1 = tf_compat.v1

    def input_fn():
      row, = v1.train.slice_input_producer(
          [_FEATURES], num_epochs=1, shuffle=False)
      return {"x": v1.train.batch(
          [row], batch_size=8, allow_smaller_final_batch=True)}

    predictions = [
        row["predictions"] for row in self._estimator.predict(input_fn)]
    np.testing.assert_allclose(self._expected, predictions, rtol=1e-6)

  def test_keys_and_batches(self):
    with self.assertRaisesRegex(ValueError, "predict_keys.*predictions.*odds"):
      next(self._predict(predict_keys=["odds"]))
    batch = next(self._predict(
        predict_keys=["predictions"], yield_single_examples=False))
    self.assertEqual((8, 1), batch["predictions"].shape)

  def test_an_endless_input_gets_a_warning(self):
    rows = self._estimator.predict(builders.input_fn())
    with self.assertLogs(level="WARNING") as logged:
      next(rows)
    self.assertLen(logged.output, 1)
    self.assertIn("predict: the input has no end", logged.output[0])


class PredictorTest(_Trained):

  def test_equal_to_predict(self):
    with self._estimator.predictor({"x": _FEATURES[:1]}) as predict:
      for rows in (slice(None), slice(3, 4), slice(5, 20)):
        outputs = predict({"x": _FEATURES[rows].astype(np.float64)})
        self.assertEqual(["predictions"], list(outputs))
        np.testing.assert_allclose(
            self._expected[rows], outputs["predictions"], rtol=1e-6)

  def test_one_for_all_threads(self):
    predict = self._estimator.predictor(
        {"x": _FEATURES[:1]}, predict_keys=["predictions"])
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
      outputs = pool.map(lambda row: predict({"x": row[None]}), _FEATURES)
      np.testing.assert_allclose(self._expected, [
          row["predictions"][0] for row in outputs], rtol=1e-6)

  def test_bad_input(self):
    make = self._estimator.predictor
    predict = make({"x": _FEATURES[:1]})
    with self.subTest("made for"):
      with self.assertRaisesRegex(ValueError, "^predict_keys must have some"):
        make({"x": _FEATURES}, predict_keys=["odds"])
      with self.assertRaisesRegex(ValueError, "asks for the feature 'x'"):
        make({"z": _FEATURES})
    for features, error, message in (
        ({"z": _FEATURES}, ValueError, r"expected .*'x'\], got .*'z'\]"),
        (_FEATURES, ValueError, r"expected features\['x'\], got features"),
        ({"x": _FEATURES[0]}, ValueError,
         r"features\['x'\] has the shape \[3\]: expected \[None, 3\]"),
        ({"x": _FEATURES[:0]}, ValueError, "no rows"),
        ({"x": _FEATURES.astype(str)}, TypeError,
         r"features\['x'\] has the type <U\d+: expected float32"),
        ({"x": [[1., 2., 3.]]}, TypeError, r"features\['x'\] is \[\[1.0, ")):
      with self.subTest(message), self.assertRaisesRegex(
          error, message) as caught:
        predict(features)
      self.assertNotIn("\n", str(caught.exception))
    predict.close()
    with self.assertRaisesRegex(ValueError, "^This predictor is closed"):
      predict({"x": _FEATURES})


@level.gate
class InAnIterationTest(absltest.TestCase):

  def test_fitted_ensemble_that_is_not_saved_yet(self):
    fits = []

    class Mean(adanet.ensemble.FittedEnsembler):
      name = "mean"

      def fit(self, members, loss):
        fits.append(len(members))
        return [1. / len(members)] * len(members)

    estimator = searches.estimator(
        self.create_tempdir().full_path, builders.Dense("a"),
        builders.Dense("b", 3), ensemblers=[Mean()],
        evaluator=adanet.Evaluator(builders.input_fn(1)))
    estimator.train(builders.input_fn(), max_steps=2)
    loss = estimator.evaluate(builders.input_fn(1))["loss"]
    predictions = np.array([row["predictions"] for row in estimator.predict(
        builders.input_fn(1))])
    self.assertAlmostEqual(
        loss, np.square(predictions - builders.data()[1]).mean(), places=5)
    with estimator.predictor({"x": _FEATURES}) as predict:
      np.testing.assert_allclose(
          predictions, predict({"x": _FEATURES})["predictions"], rtol=1e-6)
    self.assertEqual([2], fits)  # It was fitted once for all of these.
    # What has changed since is fitted anew.
    estimator.train(builders.input_fn(), steps=1)
    self.assertNotEqual(loss, estimator.evaluate(builders.input_fn(1))["loss"])
    self.assertEqual([2, 2], fits)


if __name__ == "__main__":
  absltest.main()
