# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of waits, with a clock that does not wait."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import waiting


class _Clock:
  """Time that passes when somebody sleeps; `log` has (time, line)."""

  def __init__(self):
    self.now = 0.
    self.sleeps = []
    self.log = []

  def sleep(self, secs):
    self.sleeps.append(secs)
    self.now += secs

  def wait(self, timeout_secs, advice=""):
    return waiting.Wait(
        timeout_secs, advice, clock=lambda: self.now, sleep=self.sleep,
        log=lambda line: self.log.append((self.now, line)))


def _message():
  return "ps:0 (host:1)"


class WaitTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._clock = _Clock()

  @parameterized.parameters(.25, 1., 5., 7., 30., 66.)
  def test_messages(self, secs):
    wait = self._clock.wait(7200.)
    while self._clock.now < 66.:
      wait.pause(secs, _message)
    self.assertEqual([
        (time, f"Waiting for ps:0 (host:1): {time} s so far, at most 7200 "
               "s.") for time in (5, 35, 65)], self._clock.log[:3])

  def test_no_message_for_a_short_wait(self):
    wait = self._clock.wait(60.)
    for _ in range(19):
      wait.pause(.25, lambda: self.fail("nobody needs it"))
    wait.done()
    self.assertEqual([], self._clock.log)
    self.assertEqual([.25] * 19, self._clock.sleeps)

  def test_what_is_waited_for_changes(self):
    wait = self._clock.wait(None)
    for name in ("a", "b"):
      wait.pause(15., lambda name=name: name)
    wait.pause(10., lambda: "c")
    wait.done()
    self.assertEqual(
        [(5., "Waiting for a: 5 s so far."),
         (35., "Waiting for c: 35 s so far."), (40., "Waited 40 s for c.")],
        self._clock.log)

  def test_slow_message(self):
    wait = self._clock.wait(7200.)
    def slow():
      self._clock.now += 2.
      return "a"
    wait.pause(6., slow)
    self.assertEqual(
        [(7., "Waiting for a: 7 s so far, at most 7200 s.")], self._clock.log)
    self.assertEqual([5.], self._clock.sleeps)
    wait.pause(27., slow)
    self.assertLen(self._clock.log, 1)

  @parameterized.parameters(0., .5, 3., 60., 61., 1e9)
  def test_end(self, secs):
    wait = self._clock.wait(60., "start it")
    with self.assertRaises(waiting.WaitTimeoutError) as raised:
      for _ in range(1000):
        wait.pause(secs or .1, _message)
    self.assertEqual(
        "waited 60 s for ps:0 (host:1): start it", str(raised.exception))
    self.assertAlmostEqual(60., self._clock.now)

  def test_asks_once_more_at_the_end(self):
    wait = self._clock.wait(60.)
    wait.pause(100., _message)
    self.assertEqual(60., self._clock.now)
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError, r"^waited 60 s for ps:0 \(host:1\)$"):
      wait.pause(100., _message)
    self.assertEqual(60., self._clock.now)

  def test_progress(self):
    wait = self._clock.wait(20., "restart it")
    for _ in range(3):
      wait.pause(15., lambda: "step 9")
      wait.restart()
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError,
        "^waited 20 s without progress for step 9: restart it$"):
      while True:
        wait.pause(1., lambda: "step 9")
    self.assertEqual(65., self._clock.now)
    self.assertEqual([
        (5., "Waiting for step 9: 5 s so far, at most 20 s."),
        (35., "Waiting for step 9: 35 s so far, 5 s without progress, at most "
         "20 s."),
        (65., "Waiting for step 9: 65 s so far, 20 s without progress, at most "
         "20 s."),
    ], self._clock.log)

  def test_done_begins_another_wait(self):
    wait = self._clock.wait(20.)
    wait.pause(15., _message)
    wait.restart()
    wait.pause(1., _message)
    wait.done()
    self.assertEqual(
        (16., "Waited 16 s for ps:0 (host:1)."), self._clock.log[-1])
    del self._clock.log[:]
    wait.pause(4.5, _message)
    wait.done()
    self.assertEqual([], self._clock.log)
    wait.pause(19., _message)
    self.assertEqual(
        [(25.5, "Waiting for ps:0 (host:1): 5 s so far, at most 20 s.")],
        self._clock.log)

  def test_real_log(self):
    wait = waiting.Wait(
        None, clock=lambda: self._clock.now, sleep=self._clock.sleep)
    with self.assertLogs("absl", "WARNING") as logged:
      wait.pause(6., lambda: "100 %s")
    self.assertEqual(
        ["Waiting for 100 %s: 5 s so far."],
        [record.getMessage() for record in logged.records])


class UntilSpaceTest(absltest.TestCase):

  def test_tries_until_there_is_space(self):
    clock = _Clock()
    errors = [OSError(28, "No space left on device"),
              RuntimeError("x; Disk quota exceeded"),
              OSError(28, "No space left on device")]

    def write():
      if errors:
        raise errors.pop()
      return 7

    wait = clock.wait(10., "free it")
    self.assertEqual(7, waiting.wait_until_space(write, wait, "/m"))
    self.assertEqual(6., clock.now)
    self.assertEqual(
        (6., "Waited 6 s for space on the full disk of /m."), clock.log[-1])

  def test_ends(self):
    clock = _Clock()

    def write():
      raise OSError(28, "No space left on device")

    wait = clock.wait(10., "free it")
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError,
        "waited 10 s for space on the full disk of /m: free it"):
      waiting.wait_until_space(write, wait, "/m")

  def test_another_error_is_raised(self):
    with self.assertRaises(ZeroDivisionError):
      waiting.wait_until_space(lambda: 1 / 0, waiting.Wait(10.), "/m")


if __name__ == "__main__":
  absltest.main()
