# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which hooks run, and whose training they stop."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.training import hooks

_OutOfRangeError = tf_compat.v1.errors.OutOfRangeError


class _Session:
  """Returns what is fetched."""

  def __init__(self):
    self.feeds = []

  def run(self, fetches, feed_dict, options, run_metadata):
    self.feeds.append(feed_dict)
    self.options, self.metadata = options, run_metadata
    return fetches


class _Hook(tf_compat.v1.train.SessionRunHook):
  """Notes what it is told, and does what a test asks for.

  Attributes:
    results: what it fetched in each run.
    calls: the names of its calls.
  """

  def __init__(self, fetches=None, feeds=None, stops=False, raises=None,
               options=None):
    self.args = tf_compat.v1.train.SessionRunArgs(fetches, feeds, options)
    self.stops, self.raises = stops, raises
    self.results, self.calls = [], []

  def begin(self):
    self.calls.append("begin")

  def after_create_session(self, session, coord):
    self.calls.append("created")

  def before_run(self, run_context):
    self.calls.append("before")
    if self.raises:
      raise self.raises
    return self.args

  def after_run(self, run_context, run_values):
    self.calls.append("after")
    self.results.append(run_values.results)
    if self.stops:
      run_context.request_stop()

  def end(self, session):
    self.calls.append("end")


def _ended():
  return _OutOfRangeError(
      None, None, "Graph execution error:\n\nEnd of sequence\nand a traceback")


class HookRunnerTest(parameterized.TestCase):

  def _run(self, *owned, **arguments):
    self.session = _Session()
    self.runner = hooks.HookRunner([hooks.Owned(*one) for one in owned])
    return self.runner.run(self.session, {"loss": 1}, **arguments)

  def test_calls(self):
    hook = _Hook()
    runner = hooks.HookRunner([hooks.Owned(hook)])
    runner.begin()
    runner.after_create_session(None, None)
    self.assertEqual({"loss": 1}, runner.run(_Session(), {"loss": 1}))
    runner.end(None)
    self.assertEqual(["begin", "created", "before", "after", "end"], hook.calls)

  def test_what_hooks_fetch_and_feed(self):
    first, second, third = _Hook(5, {"x": 1}), _Hook(), _Hook(6, {"y": 2})
    found = self._run((first,), (second,), (third,), last=lambda fetched: {
        "after": sorted(fetched.values())})
    self.assertEqual({"loss": 1, "after": [5, 6]}, found)
    self.assertEqual([[5], [None], [6]],
                     [hook.results for hook in (first, second, third)])
    self.assertEqual([{"x": 1, "y": 2}], self.session.feeds)
    self.assertIsNone(self.session.options)

  def test_options_are_merged(self):
    options = tf_compat.v1.RunOptions
    self._run((_Hook(options=options(timeout_in_ms=7)),), (_Hook(),),
              (_Hook(options=options(inter_op_thread_pool=2)),))
    self.assertEqual((7, 2), (self.session.options.timeout_in_ms,
                              self.session.options.inter_op_thread_pool))
    self.assertIsNotNone(self.session.metadata)

  @parameterized.parameters(
      (("a",), {"a": 1, "b": 0, None: 1}),
      ((), {"a": 0, "b": 0, None: 1}),
      (None, {"a": 1, "b": 1, None: 1}))
  def test_only_hooks_of_what_trains(self, training, expected):
    owned = {owner: _Hook() for owner in ("a", "b", None)}
    self._run(*((hook, owner) for owner, hook in owned.items()),
              training=training)
    self.assertEqual(expected, {
        owner: len(hook.results) for owner, hook in owned.items()})

  def test_last_step_is_for_those_that_see_it(self):
    sees, does_not, of_another = _Hook(), _Hook(), _Hook()
    self._run((sees, "a"), (does_not, "a", False), (of_another, "b", False),
              finished=lambda values: ["a"])
    self.assertEqual([1, 0, 1], [len(hook.results) for hook in (
        sees, does_not, of_another)])

  @parameterized.parameters(
      ("a", _Hook(stops=True), "a hook asked for it"),
      (None, _Hook(stops=True), "a hook asked for it"),
      ("a", _Hook(raises=_ended()), "its input ended: End of sequence"),
      ("a", _Hook(raises=StopIteration()), "its input ended: StopIteration"))
  def test_stop(self, owner, hook, reason):
    other = _Hook()
    self._run((hook, owner), (other, "b"))
    self.assertEqual({owner: reason}, self.runner.stops)
    self.assertLen(other.results, 1)
    self.assertTrue(self.runner)  # The other one is left to ask.
    calls = len(hook.calls)
    self.runner.run(self.session, {})
    self.assertLen(hook.calls, calls)
    self.assertLen(other.results, 2)

  def test_nothing_is_left_to_ask(self):
    self._run((_Hook(stops=True), "a"))
    self.assertFalse(self.runner)
    self.assertFalse(hooks.HookRunner([]))

  def test_end_of_a_users_input_is_an_error(self):
    with self.assertRaises(_OutOfRangeError):
      self._run((_Hook(raises=_ended()),))

  def test_another_error_of_a_builders_hook(self):
    with self.assertRaisesRegex(ValueError, "its own"):
      self._run((_Hook(raises=ValueError("its own")), "a"))


if __name__ == "__main__":
  absltest.main()
