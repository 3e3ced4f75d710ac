# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the heads beside `tf.estimator`'s, where TensorFlow has them."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.heads.testdata import head_cases
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np

_CASES = [(case.name, case) for case in head_cases.CASES]
# The golden file is enough for shapes and functions of a user.
_METRIC_CASES = [
    (name, case) for name, case in _CASES
    if not any(word in name for word in ("flat", "loss_fn", "sequences"))
]

v1 = tf_compat.v1


def _assert_close(actual, expected, key):
  np.testing.assert_allclose(
      actual, expected, rtol=1e-5, atol=1e-5, err_msg=key)


@absltest.skipUnless(hasattr(v1, "estimator"),
                     "this TensorFlow has no tf.estimator")
class EstimatorHeadsTest(parameterized.TestCase):

  @parameterized.named_parameters(_CASES)
  def test_golden_file(self, case):
    if tf_compat.IS_TENSORFLOW_1:
      self.skipTest("the golden file is of a later tf.estimator")
    self.assertEmpty(head_cases.differences(
        head_cases.golden()[case.name],
        head_cases.outcome(v1.estimator, case)))

  @parameterized.named_parameters(_METRIC_CASES)
  def test_any_batches(self, case):
    with v1.Graph().as_default():
      inputs = head_cases.Inputs(case)
      ours, theirs = (
          head_cases.spec_of(case.make(module), inputs, "eval")
          for module in (heads, v1.estimator)
      )
      self.assertCountEqual(theirs.predictions, ours.predictions)
      self.assertCountEqual(theirs.eval_metric_ops, ours.eval_metric_ops)
      session = head_cases.new_session()
      self.addCleanup(session.close)
      session.run(v1.tables_initializer())
      initializer = v1.local_variables_initializer()
    of_batch = [{
        "loss": spec.loss,
        "predictions": {
            key: spec.predictions[key] for key in theirs.predictions},
        "updates": [update for _, update in spec.eval_metric_ops.values()],
    } for spec in (ours, theirs)]
    metrics = [
        {key: value for key, (value, _) in spec.eval_metric_ops.items()}
        for spec in (ours, theirs)
    ]

    @hypothesis.settings(max_examples=12)
    @hypothesis.given(
        st.lists(
            st.builds(
                inputs.batch,
                seed=st.integers(0, 10**6),
                labels=st.sampled_from(["any", "any", "lowest", "highest"]),
                weights=st.sampled_from(["any", "any", "zero"]),
                scale=st.sampled_from([.01, 1., 3., 20.])),
            min_size=1, max_size=3))
    def check(batches):
      session.run(initializer)
      for batch in batches:
        actual, expected = session.run(of_batch, batch)
        _assert_close(actual["loss"], expected["loss"], "loss")
        for key, value in expected["predictions"].items():
          np.testing.assert_array_equal(actual["predictions"][key], value, key)
      actual, expected = session.run(metrics)
      for key, value in expected.items():
        _assert_close(actual[key], value, key)

    check()


if __name__ == "__main__":
  absltest.main()
