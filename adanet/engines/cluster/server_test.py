# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the server of a task, each in a process of its own."""

import json
import os
import socket
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.engines.cluster import server
from adanet.testing import processes


def _config(cluster, task_type, index, **kwargs):
  tf_config = {
      "cluster": cluster, "task": {"type": task_type, "index": index}}
  with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(tf_config)):
    return tf_compat.RunConfig(**kwargs)


def _serve(connection, *args, **kwargs):
  """Starts a server; says its target, or the message of the error."""
  try:
    started = server.start(_config(*args, **kwargs))
  except server.ServerError as e:
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
  servers = []
  try:
    for cluster, task_type, index, config in again:
      servers.append(server.start(_config(
          cluster, task_type, index, session_config=config)))
  except server.ServerError as e:
    connection.send(str(e))
    return
  connection.send(servers[0] is servers[1])


def _use(connection, target, job):
  """Computes on a server; says the result, and keeps the session open."""
  tf = tf_compat.v1
  config = tf.ConfigProto(device_filters=["/job:" + job])
  with tf.Graph().as_default(), tf.Session(target, config=config) as session:
    connection.send(session.run(tf.constant(1) + 1))
    connection.recv()


class ServerTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    tf_compat.v1.ConfigProto()  # Loads TensorFlow once for all processes.

  def _start(self, function, *args, **kwargs):
    process = processes.Process(
        lambda connection: function(connection, *args, **kwargs))
    self.addCleanup(process.kill)
    return process, process.receive()

  @parameterized.parameters(
      ({"chief": ["a:1"]}, {"chief:0": "a:1"}),
      ({"chief": ["a:1"], "worker": ["b:1", "b:2"], "ps": {"3": "c:1"}},
       {"chief:0": "a:1", "worker:0": "b:1", "worker:1": "b:2",
        "ps:3": "c:1"}),
      ({"master": ["a:1"], "ps": ["b:1"]}, {"master:0": "a:1", "ps:0": "b:1"}),
      ({"chief": ["a:1"], "evaluator": ["b:1"]}, {"chief:0": "a:1"}))
  def test_addresses(self, cluster, expected):
    config = _config(cluster, "master" if "master" in cluster else "chief", 0)
    self.assertEqual(expected, server.addresses(config))

  def test_addresses_without_a_cluster(self):
    with mock.patch.dict(os.environ, TF_CONFIG="{}"):
      self.assertEqual({}, server.addresses(tf_compat.RunConfig()))

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
    for _ in range(3):
      started, target = self._start(_serve, cluster, "ps", 0)
      # Its connections are open as it is killed.
      for _ in range(2):
        _, result = self._start(_use, target, "ps")
        self.assertEqual(2, result)
      started.kill()

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
        (cluster, "worker", 0, None),
        (dict(cluster, evaluator=["e:1"]), "worker", 0, None)])
    self.assertIs(True, is_same)
    _, is_same = self._start(_serve_again, [
        (cluster, "ps", 0, filters), (cluster, "ps", 0, filters)])
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

  @parameterized.parameters("host:65536", "host:x", "host")
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


if __name__ == "__main__":
  absltest.main()
