# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of sessions that do not open or close. Clusters test the others."""

import _thread
import contextlib
import ctypes
import functools
import signal
import threading
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet import waiting
from adanet.engines.cluster import addresses
from adanet.engines.cluster import ended
from adanet.engines.cluster import sessions
from adanet.testing import processes
from adanet.testing import servers

_SECS = .5
_END_SECS = 30.  # On a busy machine. One that hangs does it for ever.


def _connect(**arguments):
  """Opens a session on a cluster without its parameter server."""
  return sessions.wait_until_connected(
      "grpc://127.0.0.1:1", tf_compat.v1.Graph(), None,
      lambda: {"ps:0": "127.0.0.1:1"}, waiting.Wait(_SECS, "start it"),
      **arguments)


class _Interrupted(threading.Thread):
  """A signal comes before Python knows that this thread has started."""

  def start(self):
    _thread.start_new_thread(self.run, ())
    raise SystemExit


def _close_interrupted(session):
  with mock.patch.object(threading, "Thread", _Interrupted):
    with contextlib.suppress(SystemExit):
      sessions.close(session)


def _lose(connection, cluster, is_open, close=sessions.close):
  """A worker that loses its parameter server, and ends with status 7.

  Args:
    connection: it asks the test to stop the server, and waits for the answer.
    cluster: dict.
    is_open: whether its session is open then, or being opened.
    close: function that closes it.
  """
  v1 = tf_compat.v1
  server = v1.train.Server(cluster, "worker", 0)
  config = sessions.configured(
      None, ["/job:ps", "/job:worker/task:0"], timeout_secs=1.)
  graph = v1.Graph()
  with graph.as_default(), v1.device("/job:ps/task:0"):
    value = v1.constant(1) + 1
  lost = dict(absent=dict, wait=waiting.Wait(_SECS))

  def stop_server():
    connection.send("stop it")
    connection.recv()

  if not is_open:
    stop_server()
    try:
      sessions.wait_until_connected(server.target, graph, config, **lost)
    except waiting.WaitTimeoutError:
      processes.end_as_a_program(7)
    return
  ps = {"ps:0": cluster["ps"][0]}
  session = sessions.wait_until_connected(
      server.target, graph, config, lambda: addresses.unreachable(ps),
      waiting.Wait(60.))
  session.run(value)
  stop_server()
  try:
    session.run(value)
  except v1.errors.OpError:
    close(session)
    processes.end_as_a_program(7)


class _LastObject:
  """Is deleted when Python ends: it closes a connection, and takes its time."""

  def __init__(self, connection):
    self._ends = [connection.close, functools.partial(time.sleep, 1.)]

  def __del__(self):
    for end in self._ends:
      end()


def _end_beside_stopped_server(connection, cluster, close):
  """A worker whose parameter server goes on while Python ends."""
  globals()["_last_object"] = _LastObject(connection)
  _lose(connection, cluster, True, close)


def setUpModule():
  tf_compat.v1.ConfigProto()  # Loads TensorFlow once for all processes.


class SessionsTest(parameterized.TestCase):

  @level.gate
  def test_absent_task_is_named(self):
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError, r"waited 0.5 s for ps:0 \(127.0.0.1:1\)"):
      _connect()

  def test_wait_ends_with_the_job(self):
    def look():
      raise ended.JobFinished("max_steps is reached")

    with self.assertRaisesRegex(ended.JobFinished, "max_steps is reached"):
      _connect(look=look)

  def test_session_that_cannot_be_opened_is_closed(self):
    v1 = tf_compat.v1
    graph = v1.Graph()
    with graph.as_default(), graph.device("/job:nowhere"):
      v1.no_op()
    made = []
    with mock.patch.object(
        v1, "Session", side_effect=lambda *args, new=v1.Session, **kwargs:
        made.append(new(*args, **kwargs)) or made[-1]):
      opening = sessions.Opening("", graph, None)
    with self.assertRaises(v1.errors.InvalidArgumentError):
      opening.result(60.)
    end = time.monotonic() + 10.
    with self.assertRaisesRegex(RuntimeError, "closed"):
      while time.monotonic() < end:
        with contextlib.suppress(v1.errors.OpError):
          made[0].run([])
        time.sleep(.01)

  def test_session_that_fails_to_open_while_the_program_ends(self):
    v1 = tf_compat.v1
    is_closed = threading.Event()
    self.addCleanup(is_closed.set)

    def run(*unused_args):
      time.sleep(.3)
      raise v1.errors.UnavailableError(None, None, "lost")

    # One whose server was stopped, at a moment that no server can be told.
    with mock.patch.object(v1, "Session", return_value=mock.Mock(
        run=run, close=is_closed.wait)):
      opening = sessions.Opening("", v1.Graph(), None)
    with mock.patch.object(ctypes, "CDLL") as library:
      sessions._end_threads()  # pylint: disable=protected-access
    with self.assertRaises(v1.errors.UnavailableError):
      opening.result(60.)
    # The thread sleeps if it comes back.
    library.assert_called()

  @parameterized.parameters(*level.first([
      (True, signal.SIGSTOP), (True, signal.SIGKILL), (False, signal.SIGSTOP)]))
  def test_program_ends_when_its_parameter_server_is_lost(
      self, is_open, number):
    cluster = processes.free_cluster(ps=1, worker=1)
    ps, = servers.start(cluster, "ps")
    self.addCleanup(ps.kill)
    worker = processes.Process(_lose, cluster, is_open)
    self.addCleanup(worker.kill)
    worker.receive()
    processes.wait_until(
        lambda: not addresses.unreachable({"ps:0": cluster["ps"][0]}), "the server")
    ps.signal(number)
    worker.send("stopped")
    self.assertEqual(7, worker.wait_until_ended(_END_SECS))

  @parameterized.named_parameters(
      ("at_rest", sessions.close), ("interrupted", _close_interrupted))
  @level.gate
  def test_parameter_server_goes_on_while_python_ends(self, close):
    cluster = processes.free_cluster(ps=1, worker=1)
    ps, = servers.start(cluster, "ps")
    self.addCleanup(ps.kill)
    worker = processes.Process(_end_beside_stopped_server, cluster, close)
    self.addCleanup(worker.kill)
    worker.receive()
    ps.signal(signal.SIGSTOP)
    worker.send("stopped")
    with self.assertRaises(EOFError):  # Python ends.
      worker.receive()
    ps.signal(signal.SIGCONT)
    self.assertEqual(7, worker.wait_until_ended(_END_SECS))


if __name__ == "__main__":
  absltest.main()
