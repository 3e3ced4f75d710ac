# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of installing from a package index what `publish` uploaded to it."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from absl.testing import absltest
from adanet import version
import flit_core
import runfiles
from tools.pip_package import local_index
from tools.pip_package import virtual_environment

_FOLDER = pathlib.Path(runfiles.Create().Rlocation("adanet/tools/pip_package"))
_NAME = "adanet_distributed-" + version.VERSION
_WHEEL = _NAME + "-py3-none-any.whl"
_SDIST = _NAME + ".tar.gz"

# The folders of TensorFlow and of the other packages that this test imports.
_DEPENDENCIES = [
    path for path in sys.path if re.search(r"/adanet_pypi(_tf\d_\d+)?/", path)
]
# As install.py of third_party/py picks it.
_TENSORFLOW = "tensorflow-cpu" if any(
    "/tensorflow_cpu-" in path for path in _DEPENDENCIES) else "tensorflow"

# Imports every module, and fits the only weight of each of two subnetworks to a
# number, on a cluster of three servers.
_TRAIN = """if True:
  import importlib, json, os, pkgutil
  import adanet
  for module in pkgutil.walk_packages(adanet.__path__, "adanet."):
    try:
      importlib.import_module(module.name)
    except ModuleNotFoundError as e:
      assert e.name == "matplotlib", e  # Not installed.

  from adanet import distributed, tf_compat
  tf = tf_compat.v1
  config = tf_compat.RunConfig()
  servers = [
      tf.train.Server(config.cluster_spec, job_name=job, task_index=index)
      for job, index in (("ps", 0), ("ps", 1), ("chief", 0))]
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
    with tf.Session(servers[-1].target) as session:
      session.run(tf.global_variables_initializer())
      for _ in range(30):
        session.run(steps)
      values = session.run(weights)
  print(json.dumps([[w.device, round(float(v), 3)]
                    for w, v in zip(weights, values)]), flush=True)
  os._exit(0)  # A server has no stop.
"""


class InstallTest(absltest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._stack = contextlib.ExitStack()
    folder = cls._stack.enter_context(tempfile.TemporaryDirectory())
    cls.index = cls._stack.enter_context(local_index.LocalIndex(folder))
    subprocess.run(
        [_FOLDER / "publish", "--repository-url", cls.index.url],
        env={"HOME": folder, "PATH": os.environ["PATH"],
             "TWINE_USERNAME": local_index.USERNAME,
             "TWINE_PASSWORD": local_index.PASSWORD}, check=True)
    # The index has no TensorFlow and no other dependency: for pip they are
    # installed already. Their installation is not tested.
    cls.environment = virtual_environment.VirtualEnvironment(
        os.path.join(folder, "environment"),
        _DEPENDENCIES + [str(pathlib.Path(flit_core.__file__).parents[1])])
    cls.pip_output = cls.environment.pip(
        "install", "--index-url", cls.index.simple_url,
        "adanet-distributed[{}]".format(_TENSORFLOW))

  @classmethod
  def tearDownClass(cls):
    cls._stack.close()
    super().tearDownClass()

  def test_installs_the_wheel_alone(self):
    self.assertIn(_WHEEL, self.pip_output)
    self.assertEqual(
        "Successfully installed adanet-distributed-" + version.VERSION,
        self.pip_output.splitlines()[-1])
    self.assertIn("No broken requirements found.",
                  self.environment.pip("check"))

  def test_decides_without_tensorflow(self):
    self.assertEqual(
        (0, "{}/adanet/__init__.py {} [False, True] False\n".format(
            self.environment.site_packages, version.VERSION)),
        self.environment.execute("""if True:
            import json, os, sys
            import adanet
            os.environ["TF_CONFIG"] = json.dumps({
                "cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]},
                "task": {"type": "worker", "index": 1}})
            strategy = adanet.distributed.RoundRobinStrategy()
            strategy.config = adanet.tf_compat.RunConfig()
            print(adanet.__file__, adanet.__version__,
                  [strategy.should_build_subnetwork(2, i) for i in range(2)],
                  "tensorflow" in sys.modules)
            """))

  def test_plans(self):
    plan = [self.environment.command("adanet-plan"), "--workers=4",
            "--subnetworks=5"]
    code, output = self.environment.run(plan + ["--drop_remainder", "--strict"])
    self.assertEqual(1, code, output)
    self.assertIn("\nNo worker trains subnetworks 3, 4. ", output)
    # Matplotlib is not installed.
    code, output = self.environment.run(plan + ["--format=svg"])
    self.assertEqual(2, code, output)
    self.assertIn("pip install 'adanet-distributed[plot]'\n", output)

  def test_pip_builds_the_sdist_into_the_wheel(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    output = self.environment.pip(
        "wheel", "--index-url", self.index.simple_url, "--no-deps",
        "--no-binary=adanet-distributed", "--no-build-isolation",
        "--wheel-dir", str(folder), "adanet-distributed",
        SOURCE_DATE_EPOCH="315532800")
    self.assertIn(_SDIST, output)
    self.assertEqual((_FOLDER / _WHEEL).read_bytes(),
                     (folder / _WHEEL).read_bytes())

  def test_trains_on_a_cluster(self):
    address = "127.0.0.1:{}".format
    tf_config = {
        "cluster": {
            "chief": [address(local_index.free_port())],
            "ps": [address(local_index.free_port()) for _ in range(2)],
        },
        "task": {"type": "chief", "index": 0},
    }
    code, output = self.environment.execute(
        _TRAIN, TF_CONFIG=json.dumps(tf_config), CUDA_VISIBLE_DEVICES="-1")
    self.assertEqual(0, code, output)
    self.assertEqual([["/job:ps/task:0", 3.], ["/job:ps/task:1", 4.]],
                     json.loads(output.splitlines()[-1]))


if __name__ == "__main__":
  absltest.main()
