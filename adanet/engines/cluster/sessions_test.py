# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the server of a task, and of sessions that do not open or close.

Clusters test the others.
"""

import _thread
import contextlib
import ctypes
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from unittest import mock
import weakref

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet import waiting
from adanet.engines.cluster import addresses
from adanet.engines.cluster import jobs
from adanet.engines.cluster import sessions
from adanet.testing import processes
from adanet.testing import servers

_SECS = .5
# A program that loads TensorFlow as late as possible.
_PROGRAM = """
import adanet
from adanet import tf_compat
from adanet.engines.cluster import sessions
adanet.Estimator
sessions.start_server(tf_compat.RunConfig())
"""
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


def _config(cluster, task_type, index, **kwargs):
  tf_config = {
      "cluster": cluster, "task": {"type": task_type, "index": index}}
  with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(tf_config)):
    return tf_compat.RunConfig(**kwargs)


def _serve(connection, *args, **kwargs):
  """Starts a server; says its target, or the message of the error."""
  try:
    started = sessions.start_server(_config(*args, **kwargs))
  except sessions.ServerError as e:
    connection.send(str(e))
    return
  connection.send(started.target)
  connection.recv()


def _serve_again(connection, again):
  """Starts a server, and another one; says whether it is the same.

  Args:
    connection: to the test.
    again: list of (cluster, task_type, index, session_config).
  """
  started = []
  try:
    for cluster, task_type, index, config in again:
      started.append(sessions.start_server(_config(
          cluster, task_type, index, session_config=config)))
  except sessions.ServerError as e:
    connection.send(str(e))
    return
  connection.send(started[0] is started[1])


def _use(connection, target, job):
  """Computes on a server; says the result, and keeps the session open."""
  tf = tf_compat.v1
  config = tf.ConfigProto(device_filters=["/job:" + job])
  with tf.Graph().as_default(), tf.Session(target, config=config) as session:
    connection.send(session.run(tf.constant(1) + 1))
    connection.recv()


def setUpModule():
  tf_compat.v1.ConfigProto()  # Loads TensorFlow once for all processes.


class ServerTest(parameterized.TestCase):

  def _start(self, function, *args, **kwargs):
    process = processes.Process(
        lambda connection: function(connection, *args, **kwargs))
    self.addCleanup(process.kill)
    return process, process.receive()

  @parameterized.parameters(
      ({"chief": ["a:1"], "worker": ["b:1", "b:2"], "ps": {"3": "c:1"}},
       {"chief:0": "a:1", "worker:0": "b:1", "worker:1": "b:2",
        "ps:3": "c:1"}),
      ({"master": ["a:1"], "ps": ["b:1"]}, {"master:0": "a:1", "ps:0": "b:1"}),
      ({"chief": ["a:1"], "evaluator": ["b:1"]}, {"chief:0": "a:1"}))
  def test_addresses(self, cluster, expected):
    config = _config(cluster, "master" if "master" in cluster else "chief", 0)
    self.assertEqual(expected, sessions.server_addresses(config))

  @level.gate
  def test_serves_each_task(self):
    cluster = processes.free_cluster(chief=1, worker=1, ps=1)
    for job in sorted(cluster):
      _, target = self._start(_serve, cluster, job, 0)
      self.assertEqual("grpc://" + cluster[job][0].replace(
          "127.0.0.1", "localhost"), target.replace("127.0.0.1", "localhost"))
      _, result = self._start(_use, target, job)
      self.assertEqual(2, result)

  def test_killed_and_started_again(self):
    cluster = processes.free_cluster(chief=1, ps=1)
    for _ in range(2):
      started, target = self._start(_serve, cluster, "ps", 0)
      # Its connection is open as it is killed.
      _, result = self._start(_use, target, "ps")
      self.assertEqual(2, result)
      started.kill()

  @absltest.skipUnless(
      tf_compat.IS_TENSORFLOW_1, "Later versions delete a server at any time.")
  def test_ends_with_its_program_and_without_a_line(self):
    cluster = processes.free_cluster(ps=1, chief=1)
    program = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=dict(
            os.environ, PYTHONPATH=os.pathsep.join(sys.path),
            TF_CONFIG=json.dumps({
                "cluster": cluster, "task": {"type": "ps", "index": 0}})),
        stderr=subprocess.PIPE, universal_newlines=True, timeout=60.,
        check=True)
    self.assertNotIn("Exception ignored", program.stderr)

  def test_port_in_use(self):
    with socket.socket() as s:
      s.bind(("127.0.0.1", 0))
      s.listen(1)
      address = f"127.0.0.1:{s.getsockname()[1]}"
      cluster = {"chief": ["127.0.0.1:1"], "worker": {"3": address}}
      _, message = self._start(_serve, cluster, "worker", 3)
    self.assertEqual(
        f"worker:3 cannot listen on {address}: Address already in use. End "
        "what uses the port, or choose another one in TF_CONFIG.",
        message)

  def test_again(self):
    cluster = processes.free_cluster(chief=1, worker=1, ps=1)
    filters = tf_compat.v1.ConfigProto(device_filters=["/job:ps"])
    _, is_same = self._start(_serve_again, [
        (cluster, "worker", 0, filters),
        (dict(cluster, evaluator=["e:1"]), "worker", 0, filters)])
    self.assertIs(True, is_same)
    # Another port is another server. The process above may still have its own.
    _, is_same = self._start(_serve_again, [
        (processes.free_cluster(chief=1, worker=1), "worker", 0, None)
        for _ in range(2)])
    self.assertIs(False, is_same)

  def test_again_in_another_cluster(self):
    cluster = processes.free_cluster(chief=1, worker=2)
    address = cluster["worker"][1]
    _, message = self._start(_serve_again, [
        (cluster, "worker", 1, None),
        ({"chief": cluster["chief"], "worker": [address]}, "worker", 0, None)])
    self.assertEqual(
        f"worker:0 cannot listen on {address}: this process is worker:1 of "
        "another cluster there, and a server of TensorFlow lives as long as "
        "its process. Train in another process, or with another port in "
        "TF_CONFIG.", message)

  @parameterized.parameters("host:65536", "host")
  def test_bad_port(self, address):
    _, message = self._start(
        _serve, {"chief": [address], "ps": ["host:1"]}, "chief", 0)
    self.assertStartsWith(
        message, f"chief:0 cannot listen on {address}: ")
    self.assertNotIn("\n", message)

  def test_protocol_that_tensorflow_does_not_have(self):
    cluster = processes.free_cluster(chief=1, ps=1)
    _, message = self._start(
        _serve, cluster, "chief", 0, protocol="grpc+verbs")
    self.assertStartsWith(message, "cannot start the server of chief:0 on "
                                   f"{cluster['chief'][0]}: ")
    self.assertNotIn("\n", message)

  def test_task_without_a_server(self):
    _, message = self._start(
        _serve, {"chief": ["host:1"], "ps": ["host:2"]}, "evaluator", 0)
    self.assertEqual(
        "cannot start a server for evaluator:0: expected a chief, worker or ps "
        "of the cluster in TF_CONFIG.", message)

  def test_session_config(self):
    cluster = processes.free_cluster(chief=1, ps=1)
    config = tf_compat.v1.ConfigProto(
        device_count={"CPU": 3}, device_filters=["/job:ps"])
    _, target = self._start(_serve, cluster, "ps", 0, session_config=config)
    def count(connection):
      config = tf_compat.v1.ConfigProto(device_filters=["/job:ps"])
      with tf_compat.v1.Session(target, config=config) as session:
        connection.send([
            device.device_type for device in session.list_devices()])
        connection.recv()
    _, devices = self._start(count)
    self.assertEqual(3, devices.count("CPU"))


class SessionsTest(parameterized.TestCase):

  @level.gate
  def test_absent_task_is_named(self):
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError, r"waited 0.5 s for ps:0 \(127.0.0.1:1\)"):
      _connect()

  def test_wait_ends_with_the_job(self):
    def look():
      raise jobs.JobFinished("max_steps is reached")

    with self.assertRaisesRegex(jobs.JobFinished, "max_steps is reached"):
      _connect(look=look)

  def test_session_that_cannot_be_opened_is_closed(self):
    v1 = tf_compat.v1
    graph = v1.Graph()
    with graph.as_default(), graph.device("/job:nowhere"):
      v1.no_op()
    v1_sessions = []
    with mock.patch.object(
        v1, "Session", side_effect=lambda *args, new=v1.Session, **kwargs:
        v1_sessions.append(new(*args, **kwargs)) or v1_sessions[-1]):
      opening = sessions.Opening("", graph, None)
    with self.assertRaises(v1.errors.InvalidArgumentError):
      opening.result(60.)
    end = time.monotonic() + 10.
    with self.assertRaisesRegex(RuntimeError, "closed"):
      while time.monotonic() < end:
        with contextlib.suppress(v1.errors.OpError):
          v1_sessions[0].run([])
        time.sleep(.01)

  @parameterized.parameters(False, True)
  def test_session_that_fails_to_open_while_the_program_ends(self, is_late):
    v1 = tf_compat.v1
    is_closed = threading.Event()
    self.addCleanup(is_closed.set)
    if not is_late:
      is_closed.set()

    def run(*unused_args):
      time.sleep(.3)
      raise v1.errors.UnavailableError(None, None, "lost")

    # A busy machine is slow, and other tests have left threads.
    self.enter_context(mock.patch.multiple(
        sessions, _END_SECS=.5 if is_late else _END_SECS, _returns=[]))
    # One whose server was stopped, at a moment that no server can be told.
    with mock.patch.object(v1, "Session", return_value=mock.Mock(
        run=run, close=is_closed.wait)):
      opening = sessions.Opening("", v1.Graph(), None)
    with mock.patch.object(ctypes, "CDLL") as library:
      sessions._end_threads()  # pylint: disable=protected-access
    with self.assertRaises(v1.errors.UnavailableError):
      opening.result(60.)
    # The thread sleeps if it comes back late.
    self.assertEqual(is_late, library.called)

  def test_program_ends_after_a_session_that_only_its_thread_has(self):
    is_left = threading.Event()
    is_deleted = threading.Event()

    def delete():  # As TensorFlow, which has no lock of Python meanwhile.
      time.sleep(.3)
      is_deleted.set()

    session = mock.Mock(close=is_left.wait)
    weakref.finalize(session, delete)
    self.enter_context(mock.patch.multiple(
        sessions, _CLOSE_SECS=0., _END_SECS=_END_SECS, _returns=[]))
    sessions.close(session)
    del session
    is_left.set()
    sessions._end_threads()  # pylint: disable=protected-access
    self.assertTrue(is_deleted.is_set())

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
        lambda: not addresses.unreachable({"ps:0": cluster["ps"][0]}),
        "the server")
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
