# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A package index on this machine, with a password, for tests."""

import base64
import hashlib
import os
import socket
import subprocess
import time

import runfiles

_SERVER = "adanet/tools/pip_package/index_server"
_TIMEOUT_SECS = 120

USERNAME = "ada"
PASSWORD = "correct-horse-battery-staple"


def free_port():
  """Returns a port that nothing listens on."""
  with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    return s.getsockname()[1]


class LocalIndex(object):
  """Runs a package index; a context manager.

  Anyone may download from it, and `USERNAME` with `PASSWORD` upload.

  Attributes:
    folder: str, where it keeps what is uploaded.
    url: str, where it takes uploads.
    simple_url: str, where pip finds it.
  """

  def __init__(self, folder):
    """Describes the index.

    Args:
      folder: str, a folder for all its files.
    """
    self.folder = os.path.join(folder, "packages")
    os.mkdir(self.folder)
    self._passwords = os.path.join(folder, "htpasswd")
    with open(self._passwords, "w") as f:
      f.write("{}:{{SHA}}{}\n".format(
          USERNAME,
          base64.b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()))
    self._port = free_port()
    self.url = "http://127.0.0.1:{}/".format(self._port)
    self.simple_url = self.url + "simple/"
    self._process = None

  def __enter__(self):
    self._process = subprocess.Popen([
        "setpriv", "--pdeathsig", "KILL", "--",
        runfiles.Create().Rlocation(_SERVER), "run", "--interface=127.0.0.1",
        "--port={}".format(self._port), "--server=wsgiref",
        "--authenticate=update", "--passwords=" + self._passwords,
        "--disable-fallback", self.folder
    ], stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + _TIMEOUT_SECS
    while True:
      try:
        socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
        return self
      except OSError:
        if self._process.poll() is not None or time.monotonic() > deadline:
          self.__exit__()
          raise
      time.sleep(.05)

  def __exit__(self, *exception):
    self._process.kill()
    self._process.wait()
