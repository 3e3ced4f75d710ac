# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of SIGTERM and Ctrl-C, with real signals to this process."""

import os
import signal
import threading

from absl.testing import absltest
from absl.testing import parameterized
from adanet.training import signals

_TERM = signal.SIGTERM
_INT = signal.SIGINT


def _send(number):
  os.kill(os.getpid(), number)


def _meaning(do):
  """Returns the signal that what `do` raises means; None for nothing."""
  try:
    do()
  except KeyboardInterrupt:
    return _INT
  except SystemExit as e:
    return e.code - 128
  return None


def _handlers():
  return [signal.getsignal(number) for number in (_TERM, _INT)]


class StopRequestsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    for number in (_TERM, _INT):
      self.addCleanup(signal.signal, number, signal.getsignal(number))

  @parameterized.parameters(_TERM, _INT)
  def test_raises_at_once(self, number):
    with signals.StopRequests() as requests:
      self.assertIsNone(requests.asked)
      requests.raise_asked()
      self.assertEqual(number, _meaning(lambda: _send(number)))
      self.assertEqual(number, requests.asked)
      self.assertEqual(number, _meaning(requests.raise_asked))

  @parameterized.parameters(_TERM, _INT)
  def test_deferred(self, number):
    with signals.StopRequests() as requests:
      with requests.deferred():
        _send(number)
        self.assertEqual(number, requests.asked)
      self.assertEqual(number, requests.asked)
      self.assertEqual(number, _meaning(requests.raise_asked))

  @parameterized.parameters((_TERM, _INT), (_INT, _TERM), (_INT, _INT))
  def test_second_signal_raises_at_once(self, first, second):
    with signals.StopRequests() as requests:
      with requests.deferred():
        _send(first)
        self.assertEqual(second, _meaning(lambda: _send(second)))
        self.assertEqual(first, requests.asked)

  def test_second_signal_after_one_that_raised(self):
    with signals.StopRequests() as requests:
      self.assertEqual(_TERM, _meaning(lambda: _send(_TERM)))
      with requests.deferred():  # It saves.
        self.assertEqual(_INT, _meaning(lambda: _send(_INT)))

  def test_nested_deferred(self):
    with signals.StopRequests() as requests:
      with requests.deferred():
        with requests.deferred():
          pass
        _send(_TERM)
        self.assertEqual(_TERM, requests.asked)

  def test_raises_again_after_deferred(self):
    with signals.StopRequests() as requests:
      with requests.deferred():
        pass
      with self.assertRaises(ValueError), requests.deferred():
        raise ValueError("stop")
      self.assertEqual(_TERM, _meaning(lambda: _send(_TERM)))

  def test_old_handlers_come_back(self):
    received = []
    signal.signal(_TERM, lambda number, frame: received.append(number))
    signal.signal(_INT, signal.SIG_IGN)
    before = _handlers()
    with self.assertRaises(ValueError), signals.StopRequests():
      self.assertNotIn(signal.SIG_IGN, _handlers())
      raise ValueError("stop")
    self.assertEqual(before, _handlers())
    _send(_TERM)
    self.assertEqual([_TERM], received)

  def test_one_within_another(self):
    with signals.StopRequests() as outer:
      with signals.StopRequests() as inner:
        with inner.deferred():
          _send(_TERM)
      self.assertEqual(_TERM, inner.asked)
      self.assertIsNone(outer.asked)
      self.assertEqual(_INT, _meaning(lambda: _send(_INT)))
      self.assertEqual(_INT, outer.asked)

  def test_another_thread(self):
    before = _handlers()
    within = []
    def run():
      with signals.StopRequests() as requests:
        with requests.deferred():
          within.extend(_handlers())
        requests.raise_asked()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    self.assertEqual(before, within)
    self.assertEqual(before, _handlers())


if __name__ == "__main__":
  absltest.main()
