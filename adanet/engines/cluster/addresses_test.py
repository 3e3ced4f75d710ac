# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of addresses, with real sockets on this machine."""

import contextlib
import errno
import socket
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.engines.cluster import addresses


def _has_ipv6():
  try:
    with socket.socket(socket.AF_INET6) as s:
      s.bind(("::1", 0))
  except OSError:
    return False
  return True


class _SocketOfUnluckyPort(socket.socket):
  """Asks from the very port that it asks."""

  def connect_ex(self, address):
    self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    self.bind(address)
    return super().connect_ex(address)


class CheckTest(parameterized.TestCase):

  @parameterized.parameters(
      "127.0.0.1:1", "127.0.0.1:65535", "localhost:2222", "[::1]:2222")
  def test_good(self, address):
    addresses.check({"chief:0": "127.0.0.1:3333", "ps:0": address})

  @parameterized.parameters(
      "", "host", ":2222", "host:0", "host:65536", "host:+1", "host:\u0663",
      "ho st:1", "::1:2222", "[::1]", "[]:1", "grpc://host:2222", "host:1\n")
  def test_bad_form(self, address):
    with self.assertRaises(addresses.AddressError) as raised:
      addresses.check({"chief:0": "127.0.0.1:3333", "ps:0": address})
    self.assertEqual(
        f"the address of ps:0 is {address!r}: expected host:port with a port "
        "from 1 to 65535. Correct it in TF_CONFIG or in the resolver.",
        str(raised.exception))

  @parameterized.parameters(
      "no-such-host.invalid", "a..b", "a" * 64 + ".invalid", "\u20ac\u200b")
  def test_host_that_does_not_resolve(self, host):
    with self.assertRaises(addresses.AddressError) as raised:
      addresses.check({"chief:0": "127.0.0.1:3333", "ps:1": host + ":2222"})
    message = str(raised.exception)
    self.assertStartsWith(
        message, f"the address of ps:1 is {host + ':2222'!r}: host {host!r} "
                 "does not resolve: ")
    self.assertEndsWith(
        message, "Correct it in TF_CONFIG or in the resolver, or make the name "
        "known to this machine.")
    self.assertNotIn("\n", message)

  @parameterized.parameters(
      ("127.0.0.1:2222", "127.0.0.1:2222"), ("127.0.0.1:2", "127.0.0.1:02"),
      ("localhost:2222", "127.0.0.1:2222"), ("[::1]:2222", "[0:0::1]:2222"))
  def test_two_tasks_with_one_address(self, first, second):
    with self.assertRaises(addresses.AddressError) as raised:
      addresses.check({
          "chief:0": "127.0.0.1:3333", "worker:0": first, "ps:0": second})
    self.assertEqual(
        f"the addresses of worker:0 and ps:0 are the same, {first!r} and "
        f"{second!r}: each task needs one of its own. Correct it in TF_CONFIG "
        "or in the resolver.", str(raised.exception))

  @parameterized.parameters("127.0.0.2:3333", "127.0.0.1:3334", "[::1]:3333")
  def test_tasks_with_addresses_of_their_own(self, address):
    addresses.check({"chief:0": "127.0.0.1:3333", "ps:0": address})

  def test_each_host_once(self):
    with mock.patch.object(
        socket, "getaddrinfo", wraps=socket.getaddrinfo) as getaddrinfo:
      addresses.check({
          f"worker:{i}": f"127.0.0.{1 + i % 3}:{1000 + i}"
          for i in range(1000)})
    self.assertEqual(3, getaddrinfo.call_count)


class SilentTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._sockets = contextlib.ExitStack()
    self.addCleanup(self._sockets.close)

  def _socket(self, host, family):
    s = self._sockets.enter_context(socket.socket(family))
    s.bind((host, 0))
    return s, s.getsockname()[1]

  def _listening(self, host="127.0.0.1", family=socket.AF_INET, backlog=1024):
    """Returns a port on which somebody listens."""
    s, port = self._socket(host, family)
    s.listen(backlog)
    return port

  def _closed(self, host="127.0.0.1", family=socket.AF_INET):
    """Returns a port that nobody else gets and on which nobody listens."""
    return self._socket(host, family)[1]

  def _check(self, good, bad, timeout_secs=30.):
    """Checks which of the addresses are silent."""
    asked = {"worker:%d" % i: address for i, address in enumerate(good)}
    expected = {"ps:%d" % i: address for i, address in enumerate(bad)}
    asked.update(expected)
    self.assertEqual(expected, addresses.unreachable(asked, timeout_secs))

  def test_none(self):
    self._check([], [])

  def test_port_is_closed_and_opened(self):
    s, port = self._socket("127.0.0.1", socket.AF_INET)
    self._check([], ["127.0.0.1:%d" % port])
    s.listen(1)
    self._check(["127.0.0.1:%d" % port, "localhost:%d" % port], [])
    s.close()
    self._check([], ["127.0.0.1:%d" % port])

  def test_what_is_no_address(self):
    self._check(
        ["127.0.0.1:%d" % self._listening()],
        ["no-such-host.invalid:1", "a..b:1", "host", "host:0", ""])

  def test_ipv6(self):
    if not _has_ipv6():
      self.skipTest("This machine has no IPv6.")
    self._check(
        ["[::1]:%d" % self._listening("::1", socket.AF_INET6)],
        ["[::1]:%d" % self._closed("::1", socket.AF_INET6),
         # Another interface.
         "127.0.0.1:%d" % self._listening("::1", socket.AF_INET6)])

  def test_name_with_several_addresses(self):
    port = self._listening()
    infos = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 1))
        for host in ("127.0.0.2", "127.0.0.1", "127.0.0.3")]
    with mock.patch.object(socket, "getaddrinfo", return_value=infos):
      self._check(["host:%d" % port], ["host:%d" % self._closed()])

  def test_machine_without_ipv6(self):
    port = self._listening()
    infos = [(9999, socket.SOCK_STREAM, 6, "", ("::1", 1, 0, 0)),
             (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))]
    with mock.patch.object(socket, "getaddrinfo", return_value=infos):
      self._check(["host:%d" % port], ["host:%d" % self._closed()])

  def test_too_many_open_files(self):
    error = OSError(errno.EMFILE, "Too many open files")
    with mock.patch.object(socket, "socket", side_effect=error):
      with self.assertRaisesRegex(OSError, "Too many open files"):
        addresses.unreachable({"ps:0": "127.0.0.1:2222"})

  def test_no_answer(self):
    # The kernel answers no further connection when the queue is full.
    full = self._listening(backlog=0)
    for _ in range(3):
      s = self._sockets.enter_context(socket.socket())
      s.setblocking(False)
      s.connect_ex(("127.0.0.1", full))
    start = time.monotonic()
    # All at once: one after the other would take 50 s.
    self._check(["127.0.0.1:%d" % self._listening()],
                ["127.0.0.1:%d" % full] * 100, .5)
    self.assertGreaterEqual(time.monotonic() - start, .5)
    self.assertLess(time.monotonic() - start, 25.)

  def test_thousands(self):
    listening = "127.0.0.1:%d" % self._listening()
    closed = "127.0.0.1:%d" % self._closed()
    with mock.patch.object(
        socket, "getaddrinfo", wraps=socket.getaddrinfo) as getaddrinfo:
      self._check([listening] * 700, [closed] * 2000)
    self.assertEqual(1, getaddrinfo.call_count)

  def test_connection_to_itself(self):
    address = "127.0.0.1:%d" % self._listening()
    self._sockets.close()
    with mock.patch.object(socket, "socket", _SocketOfUnluckyPort):
      self._check([], [address])


if __name__ == "__main__":
  absltest.main()
