# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the note on what was fingerprint."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import fingerprint

_RELU = {"MatMul": 2, "Relu": 1}
_TANH = {"MatMul": 2, "Tanh": 1}
_BEFORE = fingerprint.SearchFingerprint(
    "Head()", ("Mean()",), ("Grow()",), 10, 3, {"tensorflow": "2", "k": "3"},
    {"t0_a": _RELU, "t0_a frozen": _RELU, "t1_a": _RELU, "t1_b": _RELU,
     "t11_a": _RELU})


class SearchedTest(parameterized.TestCase):

  @parameterized.parameters(
      (0, False, []), (0, True, ["t0_a"]), (1, False, ["t0_a frozen"]),
      (1, True, ["t0_a frozen", "t1_a", "t1_b"]),
      (11, True, ["t0_a frozen", "t11_a"]))
  def test_what_holds_in_an_iteration(self, number, resumes, expected):
    self.assertCountEqual(expected, _BEFORE.at(number, resumes).graphs)

  @parameterized.parameters(
      ({}, []),
      (dict(head="Other()"), ["head: Head() before, Other() now"]),
      (dict(ensemblers=("A()", "B()")),
       ["ensemblers: Mean() before, A(), B() now"]),
      (dict(max_iteration_steps=None),
       ["max_iteration_steps: 10 before, None now"]),
      (dict(max_iterations=None), []), (dict(max_iterations=2), []),
      (dict(max_iterations=1), [
          "max_iterations: 3 before, 1 now, and iteration 1 has begun"]),
      (dict(graphs={"t1_a": _RELU}),
       ["subnetworks: t1_a, t1_b before, t1_a now"]),
      (dict(graphs={"t1_a": {}, "t1_b": _TANH, "t0_a frozen": _TANH}),
       ["graph of t0_a, t1_b: 1 Relu before, 1 Tanh now"]),
      (dict(graphs={"t0_a frozen": dict(_RELU, Relu=3)}),
       ["graph of t0_a: none of these before, 2 Relu now"]),
      (dict(graphs={"t0_a frozen": _TANH}, versions={"tensorflow": "1"}), []),
      # A package that only one of them has loaded.
      (dict(graphs={"t0_a frozen": _TANH}, versions={"other": "1"}),
       ["graph of t0_a: 1 Relu before, 1 Tanh now"]))
  def test_differences(self, changed, expected):
    before = _BEFORE.at(1, True)
    self.assertEqual(
        expected, before.differences(before._replace(**changed), 1))

  def test_joined(self):
    before = _BEFORE.at(1, True)
    now = before._replace(head="Other()", graphs={"t1_a": {}, "t1_c": _TANH})
    self.assertEqual(
        now._replace(graphs={
            "t0_a frozen": _RELU, "t1_a": _RELU, "t1_c": _TANH}),
        before.merged(now))
    newer = now._replace(versions={"tensorflow": "3"})
    self.assertEqual(newer, before.merged(newer))

  @parameterized.parameters(4, None)
  def test_ops(self, batch_size):
    v1 = tf_compat.v1
    with v1.Graph().as_default():
      x = v1.nn.elu(v1.placeholder(v1.float32, [batch_size, 2]))
      first = fingerprint.num_ops()
      weights = v1.get_variable(
          "w", initializer=v1.random.uniform([2, 2]), use_resource=True)
      y = v1.matmul(x, weights)
      y = v1.reshape(y, [v1.shape(y)[0] * 2])
      v1.summary.scalar("norm", v1.norm(y))
      y = tf_compat.v2.function(v1.sin)(tf_compat.v2.function(
          lambda y: v1.cos(y) * -2.)(y))
      y *= v1.reduce_sum(v1.constant([.5, 1.5]))  # Is not compared.
      # How many equal numbers there are may be the size of the batch.
      y += v1.constant(.1, shape=[2 * (batch_size or 1)])
      counts = fingerprint.ops(
          {"logits": v1.tanh(y), "ids": v1.argmax(y)}, first)
      # What follows changes nothing.
      v1.gradients(y, [weights])
    for op in "ArgMax", "Cos", "MatMul", "Sin", "Tanh":
      self.assertEqual(1, counts[op], op)
    self.assertEqual(
        {"constant -2.0": 1, "constant 0.1": 1},
        {op: count for op, count in counts.items() if "constant" in op})


if __name__ == "__main__":
  absltest.main()
