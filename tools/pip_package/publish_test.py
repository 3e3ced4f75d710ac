# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of uploading to a package index."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import threading
from http import server
from urllib import parse

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
import runfiles
from tools.pip_package import local_index

_FOLDER = pathlib.Path(runfiles.Create().Rlocation("adanet/tools/pip_package"))
_NAME = "adanet_distributed-" + version.VERSION
_DISTRIBUTIONS = [_NAME + "-py3-none-any.whl", _NAME + ".tar.gz"]

_USERNAME = {"TWINE_USERNAME": local_index.USERNAME}
_PASSWORD = local_index.PASSWORD
_CREDENTIALS = dict(_USERNAME, TWINE_PASSWORD=_PASSWORD)
_REFUSED = ("refuses the user name or the password (403 Forbidden): check "
            "TWINE_USERNAME and TWINE_PASSWORD, or the keyring.")
_NO_CREDENTIALS = "no user name and password for {index}: set TWINE_USERNAME"
_HAS_USER = "--repository-url has a user name in it"
_NOTHING_ELSE = "expected --repository-url=https://… and nothing else"
_HAS_IT = "has version {} already".format(version.VERSION)


class _AnyAnswer(server.BaseHTTPRequestHandler):
  """Answers with the status and the reason that the path names."""

  def do_POST(self):
    self.rfile.read(int(self.headers["Content-Length"]))
    _, status, reason = parse.unquote(self.path).split("/")
    self.send_response(int(status), reason)
    self.send_header("Content-Length", "0")
    self.send_header("Location", "http://127.0.0.1:9/")
    self.end_headers()

  def log_message(self, *args):
    pass


class PublishTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._stack = contextlib.ExitStack()
    home = cls._stack.enter_context(tempfile.TemporaryDirectory())
    cls.index = cls._stack.enter_context(local_index.LocalIndex(home))
    answers = cls._stack.enter_context(
        server.HTTPServer(("127.0.0.1", 0), _AnyAnswer))
    threading.Thread(target=answers.serve_forever, daemon=True).start()
    cls._stack.callback(answers.shutdown)
    cls.urls = {
        "answers": "http://127.0.0.1:{}/".format(answers.server_port),
        "index": cls.index.url,
        "nothing": "http://127.0.0.1:{}/".format(local_index.free_port()),
        "tls": cls.index.url.replace("http:", "https:"),
    }
    cls.runner = cls._stack.enter_context(subprocess.Popen(
        [_FOLDER / "publish_runner"],
        # Without the keyring and the settings of this machine.
        env=dict(HOME=home, PATH=os.environ["PATH"],
                 PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True))

  @classmethod
  def tearDownClass(cls):
    cls._stack.close()
    super().tearDownClass()

  def setUp(self):
    super().setUp()
    self.packages = pathlib.Path(self.index.folder)
    for path in self.packages.iterdir():
      path.unlink()

  def _publish(self, args, env):
    """Returns the exit code of `publish` and its output."""
    self.runner.stdin.write(json.dumps([args, env]) + "\n")
    self.runner.stdin.flush()
    return json.loads(self.runner.stdout.readline())

  def _assert_fails(self, expected_code, expected, args, env):
    """Asserts that `publish` fails with one line, without a password."""
    code, output = self._publish([a.format(**self.urls) for a in args], env)
    self.assertEqual(expected_code, code, output)
    self.assertEqual(1, output.count("\n"), output)
    self.assertIn(expected.format(**self.urls), output)
    self.assertNotIn(env.get("TWINE_PASSWORD", _PASSWORD), output)

  def test_uploads(self):
    self.assertEqual(
        [0, "".join("uploaded {} to {}\n".format(name, self.index.url)
                    for name in _DISTRIBUTIONS)],
        self._publish(["--repository-url", self.index.url], _CREDENTIALS))
    self.assertEqual(
        {name: (_FOLDER / name).read_bytes() for name in _DISTRIBUTIONS},
        {path.name: path.read_bytes() for path in self.packages.iterdir()})

  def test_leaves_an_earlier_upload(self):
    for name in _DISTRIBUTIONS:
      (self.packages / name).write_text("of an earlier day")
    self._assert_fails(1, "{index} " + _HAS_IT + ", and leaves it as it is: "
                       "raise VERSION", ["--repository-url={index}"],
                       _CREDENTIALS)
    self.assertEqual(
        {name: "of an earlier day" for name in _DISTRIBUTIONS},
        {path.name: path.read_text() for path in self.packages.iterdir()})

  @parameterized.named_parameters(
      ("password", dict(_USERNAME, TWINE_PASSWORD="pony"), _REFUSED),
      ("username", dict(_CREDENTIALS, TWINE_USERNAME="bob"), _REFUSED),
      ("no_password", _USERNAME, _NO_CREDENTIALS),
      ("nothing", {}, _NO_CREDENTIALS),
      ("not_latin_1", dict(_USERNAME, TWINE_PASSWORD="\u20ac"),
       "TWINE_USERNAME or TWINE_PASSWORD has a character that is not in "),
  )
  def test_wrong_credentials(self, env, expected):
    self._assert_fails(1, expected, ["--repository-url={index}"], env)
    self.assertEmpty(os.listdir(self.packages))

  @parameterized.named_parameters(
      ("no_index", "{nothing}", "no index answers at {nothing}: check "),
      ("no_index_there", "{index}no/such/index/",
       "is not where an index takes uploads (40"),
      ("no_tls", "{tls}", "{tls} has no certificate that is trusted here: "),
      ("devpi", "{answers}409/Conflict", _HAS_IT),
      ("artifactory", "{answers}403/Not enough permissions to overwrite",
       _HAS_IT),
      ("nexus", "{answers}400/Repository does not allow updating assets",
       _HAS_IT),
      ("gitlab", "{answers}400/File name has already been taken", _HAS_IT),
      ("unauthorized", "{answers}401/No", "the user name or the password (401"),
      ("too_large", "{answers}413/Too large", "answers 413 Too large."),
      ("moved", "{answers}301/Moved", "redirect to http://127.0.0.1:9/."),
  )
  def test_wrong_index(self, url, expected):
    self._assert_fails(1, expected, ["--repository-url", url], _CREDENTIALS)

  def test_wrong_certificates(self):
    self._assert_fails(
        1, "invalid path: /no/such/file", ["--repository-url={tls}"],
        dict(_CREDENTIALS, TWINE_CERT="/no/such/file"))

  @parameterized.parameters(
      ([], "no index given: add --repository-url="),
      (["--repository-url", "file:///tmp"], "file:///tmp: expected http://"),
      (["--repository-url", "http://[::1"], "http://[::1: expected http://"),
      (["--repository-url", "http://ada:" + _PASSWORD + "@host/"], _HAS_USER),
      (["--repository-url", "ada:" + _PASSWORD + "@host/"], _HAS_USER),
      (["--repository-url", "https://" + _PASSWORD + "@/"], _HAS_USER),
      (["--repository-url", "http://ada:" + _PASSWORD + "@[::1"], _HAS_USER),
      (["--repository-url"], _NOTHING_ELSE),
      (["--repository-url={index}", "more"], _NOTHING_ELSE),
      (["--repository-url={index}", "--password", _PASSWORD], _NOTHING_ELSE),
      (["--repository-url={index}", "--password=" + _PASSWORD], _NOTHING_ELSE),
      (["--repository-url={index}", "-p" + _PASSWORD], _NOTHING_ELSE),
  )
  def test_wrong_arguments(self, args, expected):
    self._assert_fails(2, expected, args, _CREDENTIALS)


if __name__ == "__main__":
  absltest.main()
