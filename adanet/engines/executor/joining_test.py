# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what results of parts say together, with some written by hand."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.engines.executor import part_files
from adanet.testing import parts
from adanet.training import candidates


def _result(**values):
  return parts.result("driver", **values)


def _of_two(a, b, **values):
  """Returns the results of two parts, each with its step."""
  return {("a",): _result(steps={"t0_a": a}, **values),
          ("b",): _result(steps={"t0_b": b}, **values)}


class JoiningTest(parameterized.TestCase):

  @parameterized.parameters((4, 9, 2.), (9, 4, 1.), (4, 4, 1.))
  def test_previous_ensemble_is_that_of_the_longest_part(self, a, b, expected):
    results = _of_two(a, b)
    results = {
        ("a",): results["a",]._replace(losses={"t0_a": 5., "previous": 1.}),
        ("b",): results["b",]._replace(losses={"t0_b": 6., "previous": 2.})}
    self.assertEqual(
        [("t0_a", 5.), ("previous", expected), ("t0_b", 6.)],
        list(part_files.of_first(results, lambda one: one.losses).items()))

  @parameterized.parameters((.5, .5, True), (.5, .6, False), (.5, None, True))
  def test_may_be_compared(self, a, b, expected):
    self.assertEqual(expected, part_files.may_be_compared({
        (name,): _result(compared=candidates.Comparison({}, "loss", data))
        for name, data in (("a", a), ("b", b))}))

  def test_shared_variables(self):
    results = _of_two(1, 1, shareable=("embedding",))
    with self.assertRaisesRegex(
        ValueError, "^iteration 2: the builders 'a', 'b' share the variable "
        "'embedding', and on an executor each trains its own copy: .*$"):
      part_files.check_nothing_is_shared(
          2, results, lambda result, _: [1., float("t0_a" in result.steps)])
    # All have the same value: nobody has trained it.
    part_files.check_nothing_is_shared(2, results, lambda *_: [1., 2.])
    results["b",] = results["b",]._replace(shareable=("other",))
    part_files.check_nothing_is_shared(2, results, lambda result, _: result)


if __name__ == "__main__":
  absltest.main()
