# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of uploading to a package index, and of installing from it."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import zipfile
from http import server
from urllib import parse

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
from adanet.testing import processes
import flit_core
import runfiles
from tools.pip_package import virtual_environment

_FOLDER = pathlib.Path(runfiles.Create().Rlocation("adanet/tools/pip_package"))
_NAME = "adanet_distributed-" + version.VERSION
_WHEEL = _FOLDER / (_NAME + "-py3-none-any.whl")
_SDIST = _FOLDER / (_NAME + ".tar.gz")

_USERNAME = {"TWINE_USERNAME": "ada"}
_PASSWORD = "correct-horse-battery-staple"
_CREDENTIALS = dict(_USERNAME, TWINE_PASSWORD=_PASSWORD)
_REFUSED = ("refuses the user name or the password (403 Forbidden): check "
            "TWINE_USERNAME and TWINE_PASSWORD, or the keyring.")
_NO_CREDENTIALS = "no user name and password for {index}: set TWINE_USERNAME"
_HAS_USER = "--repository-url has a user name in it"
_NOTHING_ELSE = "expected --repository-url=https://… and nothing else"
_HAS_IT = f"has version {version.VERSION} already"

_DEPENDENCIES = virtual_environment.fetched_packages()
# As install.py of third_party/py picks it.
_TENSORFLOW = "tensorflow-cpu" if any(
    "/tensorflow_cpu-" in path for path in _DEPENDENCIES) else "tensorflow"


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


def _contents(path):
  with zipfile.ZipFile(path) as wheel:
    return [(name, wheel.read(name)) for name in wheel.namelist()]


class PublishTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    """Starts an index, publishes to it and installs from it."""
    super().setUpClass()
    cls.stack = contextlib.ExitStack()
    home = cls.stack.enter_context(tempfile.TemporaryDirectory())
    cls.packages = pathlib.Path(home, "packages")
    cls.packages.mkdir()
    # Without the keyring and the settings of this machine.
    env = {"HOME": home, "PATH": os.environ["PATH"],
           "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    cls.index = cls.stack.enter_context(processes.Program(
        [_FOLDER / "local_index", "serve", cls.packages, "ada", _PASSWORD],
        env=env))
    # At the end of its input, it ends the process that serves.
    cls.stack.callback(cls.index.process.communicate)
    cls.url = f"http://127.0.0.1:{int(cls.index.read())}/"
    answers = cls.stack.enter_context(
        server.HTTPServer(("127.0.0.1", 0), _AnyAnswer))
    threading.Thread(target=answers.serve_forever, daemon=True).start()
    cls.stack.callback(answers.shutdown)
    cls.urls = {
        "answers": f"http://127.0.0.1:{answers.server_port}/",
        "index": cls.url,
        "nothing": f"http://127.0.0.1:{processes.free_ports(1)[0]}/",
        "tls": cls.url.replace("http:", "https:"),
    }

    cls.published = subprocess.check_output(
        [_FOLDER / "publish", "--repository-url", cls.url],
        env=dict(env, **_CREDENTIALS), text=True)
    # The index has no TensorFlow and no other dependency: for pip they are
    # installed already. Their installation is not tested.
    cls.environment = virtual_environment.VirtualEnvironment(
        os.path.join(home, "environment"),
        _DEPENDENCIES + [str(pathlib.Path(flit_core.__file__).parents[1])])
    cls.installed = cls.environment.pip(
        "install", "--index-url", cls.url + "simple/",
        f"adanet-distributed[{_TENSORFLOW}]")

  @classmethod
  def tearDownClass(cls):
    cls.stack.close()
    super().tearDownClass()

  def _assert_fails(self, expected_code, expected, args, env):
    """Asserts that `publish` fails with one line, without a password."""
    args = [arg.format(**self.urls) for arg in args]
    self.index.write(json.dumps([args, env]))
    code, output = json.loads(self.index.read())
    self.assertEqual(expected_code, code, output)
    self.assertEqual(1, output.count("\n"), output)
    self.assertIn(expected.format(**self.urls), output)
    self.assertNotIn(env.get("TWINE_PASSWORD", _PASSWORD), output)

  def _assert_has_both(self):
    self.assertEqual(
        {path.name: path.read_bytes() for path in (_WHEEL, _SDIST)},
        {path.name: path.read_bytes() for path in self.packages.iterdir()})

  def test_publishes_both(self):
    self.assertEqual(
        "".join(f"uploaded {path.name} to {self.url}\n"
                for path in (_WHEEL, _SDIST)), self.published)
    self._assert_has_both()

  def test_publishes_a_version_once(self):
    self._assert_fails(1, "{index} " + _HAS_IT + ", and leaves it as it is: "
                       "raise VERSION", ["--repository-url={index}"],
                       _CREDENTIALS)
    self._assert_has_both()

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
      ("moved", "{answers}301/GenerationChanged", "redirect to http://127.0.0.1:9/."),
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
      (["--repository-url"], _NOTHING_ELSE),
      (["--repository-url={index}", "more"], _NOTHING_ELSE),
      (["--repository-url={index}", "--password", _PASSWORD], _NOTHING_ELSE),
      (["--repository-url={index}", "--password=" + _PASSWORD], _NOTHING_ELSE),
  )
  def test_wrong_arguments(self, args, expected):
    self._assert_fails(2, expected, args, _CREDENTIALS)

  def test_installs_the_wheel_alone(self):
    self.assertIn(_WHEEL.name, self.installed)
    self.assertEndsWith(self.installed, "\nSuccessfully installed "
                        "adanet-distributed-{}\n".format(version.VERSION))
    self.assertIn("No broken requirements found.",
                  self.environment.pip("check"))

  def test_plans(self):
    flags = ["--workers=3", "--subnetworks=5"]
    code, output = self.environment.run(
        "adanet-plan", *flags, "--drop_remainder", "--strict")
    self.assertEqual(1, code, output)
    self.assertIn("\nNo worker trains subnetworks 3, 4. ", output)
    # Matplotlib is not installed.
    code, output = self.environment.run("adanet-plan", *flags, "--format=svg")
    self.assertEqual(2, code, output)
    self.assertIn("pip install 'adanet-distributed[plot]'\n", output)

  def test_reports(self):
    code, output = self.environment.run("adanet-report", "/nonexistent")
    self.assertEqual(2, code, output)
    self.assertEqual(
        "adanet-report: model_dir='/nonexistent': expected a folder.\n", output)

  def test_pip_builds_the_sdist_into_the_wheel(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    output = self.environment.pip(
        "wheel", "--index-url", self.url + "simple/", "--no-deps",
        "--no-binary=adanet-distributed", "--no-build-isolation",
        "--wheel-dir", str(folder), "adanet-distributed",
        SOURCE_DATE_EPOCH="315532800")
    self.assertIn(_SDIST.name, output)
    # Not compared as files: another Python may compress otherwise.
    self.assertEqual(_contents(_WHEEL), _contents(folder / _WHEEL.name))


if __name__ == "__main__":
  absltest.main()
