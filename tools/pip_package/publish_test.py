# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of uploading to a package index, and of installing from it."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
from http import server

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
import flit_core
import runfiles
from tools.pip_package import local_index
from tools.pip_package import virtual_environment

_FOLDER = pathlib.Path(runfiles.Create().Rlocation("adanet/tools/pip_package"))
_NAME = "adanet_distributed-" + version.VERSION
_DISTRIBUTIONS = [_NAME + "-py3-none-any.whl", _NAME + ".tar.gz"]
_TIMEOUT_SECS = 120

_CREDENTIALS = {
    "TWINE_USERNAME": local_index.USERNAME,
    "TWINE_PASSWORD": local_index.PASSWORD,
}

# The folders that this leg's TensorFlow and the other dependencies are in.
_DEPENDENCIES = [
    path for path in sys.path if re.search(r"/adanet_pypi(_tf\d_\d+)?/", path)
]
# As install.py of third_party/py picks it.
_TENSORFLOW = "tensorflow-cpu" if any(
    "/tensorflow_cpu-" in path for path in _DEPENDENCIES) else "tensorflow"

# One task of a cluster: fits each subnetwork's only weight to a number.
_TASK = """
import json
from adanet import distributed, tf_compat

tf = tf_compat.v1
config = tf_compat.RunConfig()
server = tf.train.Server(
    config.cluster_spec, job_name=config.task_type, task_index=config.task_id)
if config.task_type == "ps":
  server.join()
strategy = distributed.RoundRobinStrategy()
strategy.config = config
with tf.Graph().as_default():
  weights, steps = [], []
  for i in range(2):
    assert strategy.should_build_subnetwork(2, i)
    with strategy.subnetwork_devices(2, i):
      weight = tf.get_variable("w%d" % i, initializer=0.)
    loss = tf.square(weight - (3. + i))
    steps.append(tf.train.GradientDescentOptimizer(.2).minimize(
        loss, var_list=[weight]))
    weights.append(weight)
  with tf.Session(server.target) as session:
    session.run(tf.global_variables_initializer())
    for _ in range(30):
      session.run(steps)
    values = session.run(weights)
print(json.dumps({w.op.name: (w.device, float(v))
                  for w, v in zip(weights, values)}))
"""


def _publish(*args, **env):
  """Returns the exit code of `publish`, and what it wrote."""
  with tempfile.TemporaryDirectory() as home:
    published = subprocess.run(
        [_FOLDER / "publish"] + list(args),
        # Neither a keyring nor settings of the machine's, only these.
        env=dict(HOME=home, PATH=os.environ["PATH"],
                 PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring", **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=_TIMEOUT_SECS,
        check=False)
  return published.returncode, published.stdout


class PublishTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = tempfile.TemporaryDirectory()
    cls.index = local_index.LocalIndex(cls._folder.name).__enter__()

  @classmethod
  def tearDownClass(cls):
    cls.index.__exit__()
    cls._folder.cleanup()
    super().tearDownClass()

  def setUp(self):
    super().setUp()
    self.packages = pathlib.Path(self.index.folder)
    for path in self.packages.iterdir():
      path.unlink()

  def _assert_fails(self, expected_code, expected, *args, **env):
    """Asserts that `publish` fails with one line that has the words."""
    code, output = _publish(*args, **env)
    self.assertEqual(expected_code, code, output)
    self.assertEqual(1, output.count("\n"), output)
    self.assertIn(expected, output)
    self.assertNotIn(env.get("TWINE_PASSWORD", local_index.PASSWORD), output)

  def test_uploads(self):
    self.assertEqual(
        (0, "".join("uploaded {} to {}\n".format(name, self.index.url)
                    for name in _DISTRIBUTIONS)),
        _publish("--repository-url", self.index.url, **_CREDENTIALS))
    self.assertEqual(
        {name: (_FOLDER / name).read_bytes() for name in _DISTRIBUTIONS},
        {path.name: path.read_bytes() for path in self.packages.iterdir()})

  def test_leaves_a_version_that_is_there(self):
    for name in _DISTRIBUTIONS:
      (self.packages / name).write_text("of an earlier day")
    self._assert_fails(
        1, "{} has version {} already, and leaves it as it is: raise "
        "VERSION".format(self.index.url, version.VERSION),
        "--repository-url", self.index.url, **_CREDENTIALS)
    self.assertEqual(
        {name: "of an earlier day" for name in _DISTRIBUTIONS},
        {path.name: path.read_text() for path in self.packages.iterdir()})

  @parameterized.named_parameters(
      ("password", "ada", "wrong-pony"),
      ("user_name", "bob", local_index.PASSWORD),
  )
  def test_wrong(self, username, password):
    self._assert_fails(
        1, "refuses the user name or the password (403 Forbidden): check "
        "TWINE_USERNAME and TWINE_PASSWORD, or the keyring.",
        "--repository-url", self.index.url,
        TWINE_USERNAME=username, TWINE_PASSWORD=password)
    self.assertEmpty(os.listdir(self.packages))

  @parameterized.parameters((), ("TWINE_USERNAME",))
  def test_no_credentials(self, *names):
    self._assert_fails(
        1, "no user name and password for {}: set TWINE_USERNAME".format(
            self.index.url),
        "--repository-url", self.index.url,
        **{name: _CREDENTIALS[name] for name in names})

  def test_no_index_at_the_port(self):
    self._assert_fails(
        1, "no index answers at", "--repository-url=http://127.0.0.1:{}".format(
            local_index.free_port()), **_CREDENTIALS)

  def test_no_index_at_the_path(self):
    self._assert_fails(
        1, "is not where an index takes uploads (40",
        "--repository-url={}no/such/index/".format(self.index.url),
        **_CREDENTIALS)

  def test_no_tls_at_the_port(self):
    self._assert_fails(
        1, "has no certificate that is trusted here: check --repository-url",
        "--repository-url", self.index.url.replace("http:", "https:"),
        **_CREDENTIALS)

  def test_no_certificates_in_the_file(self):
    self._assert_fails(
        1, "invalid path: /no/such/file", "--repository-url=https://127.0.0.1/",
        TWINE_CERT="/no/such/file", **_CREDENTIALS)

  def test_password_that_cannot_be_sent(self):
    self._assert_fails(
        1, "TWINE_USERNAME or TWINE_PASSWORD has a character that is not in "
        "Latin-1", "--repository-url", self.index.url,
        TWINE_USERNAME=local_index.USERNAME, TWINE_PASSWORD="\u20ac")

  @parameterized.parameters(
      ([], "no index given: add --repository-url="),
      (["--repository-url", "file:///tmp"], "file:///tmp: expected http://"),
      (["--repository-url", "http://[::1"], "http://[::1: expected http://"),
  )
  def test_called_wrongly(self, args, expected):
    self._assert_fails(2, expected, *args, **_CREDENTIALS)

  @parameterized.parameters(
      "http://ada:{}@host/", "ada:{}@host/", "ftp://ada:{}@host/",
      "https://{}@/", "http://ada:{}@[::1")
  def test_takes_no_password_in_the_url(self, url):
    self._assert_fails(
        2, "--repository-url has a user name in it", "--repository-url",
        url.format(local_index.PASSWORD))

  @parameterized.parameters(
      ["more"], ["--password=" + local_index.PASSWORD],
      ["--password", local_index.PASSWORD], ["-p" + local_index.PASSWORD],
      ["ada", local_index.PASSWORD], ["--repository-url"])
  def test_takes_nothing_else(self, *args):
    self._assert_fails(
        2, "expected --repository-url=https://… and nothing else",
        "--repository-url", self.index.url, *args)


class OtherIndexesTest(parameterized.TestCase):
  """What is made of the answers of indexes that cannot be run here."""

  @parameterized.parameters(
      (409, "Conflict", "has version {} already"),  # devpi
      (403, "Not enough permissions to overwrite artifact",  # Artifactory
       "has version {} already"),
      (400, "Repository does not allow updating assets",  # Nexus
       "has version {} already"),
      (400, "Validation failed: File name has already been taken",  # GitLab
       "has version {} already"),
      (401, "Unauthorized", "refuses the user name or the password (401"),
      (413, "Too large", "answers 413 Too large."),
      (301, "Moved Permanently", "redirect to http://127.0.0.1:9/."),
  )
  def test_answers(self, status, reason, expected):
    class Handler(server.BaseHTTPRequestHandler):

      def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(status, reason)
        self.send_header("Content-Length", "0")
        if status == 301:
          self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()

      def log_message(self, *args):
        pass

    index = server.HTTPServer(("127.0.0.1", 0), Handler)
    self.addCleanup(index.server_close)
    thread = threading.Thread(target=index.serve_forever, daemon=True)
    thread.start()
    self.addCleanup(thread.join)
    self.addCleanup(index.shutdown)
    code, output = _publish(
        "--repository-url=http://127.0.0.1:{}/".format(index.server_port),
        **_CREDENTIALS)
    self.assertEqual(1, code, output)
    self.assertEqual(1, output.count("\n"), output)
    self.assertIn(expected.format(version.VERSION), output)


class InstallTest(absltest.TestCase):
  """Installs from an index that `publish` has uploaded to."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = tempfile.TemporaryDirectory()
    with contextlib.ExitStack() as stack:
      stack.callback(cls._folder.cleanup)
      cls.index = stack.enter_context(local_index.LocalIndex(cls._folder.name))
      code, output = _publish("--repository-url", cls.index.url, **_CREDENTIALS)
      if code != 0:
        raise RuntimeError(output)
      # No index on this machine has TensorFlow: pip finds it and the other
      # dependencies installed, where this test imports them from. What pip
      # would install of them from a full index is not tested.
      cls.environment = virtual_environment.VirtualEnvironment(
          os.path.join(cls._folder.name, "environment"), _DEPENDENCIES)
      cls.pip_output = cls.environment.pip(
          "install", "--index-url", cls.index.simple_url,
          "adanet-distributed[{}]".format(_TENSORFLOW))
      stack.pop_all()

  @classmethod
  def tearDownClass(cls):
    cls.index.__exit__()
    cls._folder.cleanup()
    super().tearDownClass()

  def _run(self, program):
    return self.environment.run([self.environment.python, "-c", program])

  def test_installs_the_wheel_alone(self):
    self.assertIn(_DISTRIBUTIONS[0], self.pip_output)
    self.assertEqual(
        "Successfully installed adanet-distributed-" + version.VERSION,
        self.pip_output.splitlines()[-1])
    self.assertIn("No broken requirements found.",
                  self.environment.pip("check"))

  def test_imports_what_was_installed_without_tensorflow(self):
    code, output = self._run(
        "import sys, adanet.distributed; print(adanet.__file__, "
        "adanet.__version__, 'tensorflow' in sys.modules)")
    self.assertEqual((0, "{}/adanet/__init__.py {} False\n".format(
        self.environment.site_packages, version.VERSION)), (code, output))

  def test_decides(self):
    code, output = self._run("""if True:
        import json, os
        from adanet import distributed, tf_compat
        os.environ["TF_CONFIG"] = json.dumps({
            "cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]},
            "task": {"type": "worker", "index": 1}})
        strategy = distributed.RoundRobinStrategy()
        strategy.config = tf_compat.RunConfig()
        print([strategy.should_build_subnetwork(2, i) for i in range(2)])
        """)
    self.assertEqual((0, "[False, True]\n"), (code, output))

  def test_plans(self):
    code, output = self.environment.run(
        [self.environment.command("adanet-plan"), "--workers=4",
         "--subnetworks=5", "--drop_remainder", "--strict"])
    self.assertEqual(1, code, output)
    self.assertIn("\nNo worker trains subnetworks 3, 4. ", output)
    # Not installed: this is how it goes without the extra "plot".
    code, output = self.environment.run(
        [self.environment.command("adanet-plan"), "--workers=4",
         "--subnetworks=5", "--format=svg"])
    self.assertEqual(2, code, output)
    self.assertIn("pip install 'adanet-distributed[plot]'\n", output)

  def test_installs_from_the_sdist(self):
    environment = virtual_environment.VirtualEnvironment(
        self.create_tempdir().full_path,
        _DEPENDENCIES + [str(pathlib.Path(flit_core.__file__).parents[1])])
    output = environment.pip(
        "install", "--index-url", self.index.simple_url,
        "--no-binary=adanet-distributed", "--no-build-isolation",
        "adanet-distributed")
    self.assertIn(_DISTRIBUTIONS[1], output)
    installed, from_sdist = (
        {path.relative_to(e.site_packages): path.read_bytes()
         for path in pathlib.Path(e.site_packages).glob("adanet*/**/*")
         if path.is_file() and path.suffix != ".pyc" and path.name not in
         ("RECORD", "direct_url.json", "REQUESTED")}
        for e in (self.environment, environment))
    self.assertEqual(installed, from_sdist)

  def test_trains_on_a_cluster(self):
    cluster = {
        job: ["127.0.0.1:{}".format(local_index.free_port())
              for _ in range(count)]
        for job, count in (("chief", 1), ("ps", 2))
    }
    processes = {}
    try:
      for job, index in (("ps", 0), ("ps", 1), ("chief", 0)):
        tf_config = {"cluster": cluster, "task": {"type": job, "index": index}}
        processes[job, index] = self.environment.popen(
            [self.environment.python, "-W", "ignore", "-c", _TASK],
            env={"TF_CONFIG": json.dumps(tf_config),
                 "CUDA_VISIBLE_DEVICES": "-1"})
      chief = processes["chief", 0]
      output, _ = chief.communicate(timeout=_TIMEOUT_SECS)
      self.assertEqual(0, chief.returncode)
    finally:
      for process in processes.values():
        process.kill()
        process.communicate()
    trained = json.loads(output)
    self.assertEqual(
        {"w0": "/job:ps/task:0", "w1": "/job:ps/task:1"},
        {name: device for name, (device, _) in trained.items()})
    for name, expected in (("w0", 3.), ("w1", 4.)):
      self.assertAlmostEqual(expected, trained[name][1], places=3)


if __name__ == "__main__":
  absltest.main()
