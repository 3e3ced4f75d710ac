# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the installed wheel has what the pages promise.

It is the only adanet there, so a target that Bazel brings beside //adanet for a
test of this repository does not hide that the wheel lacks its module. Of this,
`modules_test` shows at each level that the wheel has the modules.
"""

import importlib.util
import re
import tempfile
import zipfile

from absl.testing import absltest
from adanet.testing import level
from adanet import version
from docs import pages
import runfiles
from tools.pip_package import virtual_environment

_WHEEL = runfiles.Create().Rlocation(
    "adanet/tools/pip_package/adanet_distributed-{}-py3-none-any.whl".format(
        version.VERSION))

# What the pages name and say that it is not here, or not public, or a command;
# and classes of what EnsembleSearch returns, which nobody makes.
_NOT_HERE = frozenset([
    "adanet.Estimatr", "adanet.TPUEstimator", "adanet.autoensemble",
    "adanet.core", "adanet.ensemble_search.combining.HeldOutRows",
    "adanet.ensemble_search.ensemble_model.EnsembleMember",
    "adanet.ensemble_search.history.MemberHistory",
    "adanet.ensemble_search.history.NetworkHistory",
    "adanet.ensemble_search.history.SearchHistory",
    "adanet.examples.simple_dnn", "adanet.launch"])

_QUIET = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}

_EXECUTE = """if True:
  import sys
  import adanet
  assert adanet.__file__.startswith(sys.prefix), adanet.__file__
  from adanet import tf_compat
  for statement in sys.argv[1:]:
    if (statement.startswith("import adanet.ensemble_search.") and
        not statement.endswith(".face") and not tf_compat.HAS_KERAS_3):
      continue
    try:
      exec(statement)
    except BaseException as error:
      print("wrong:", statement, repr(error), flush=True)
"""

# Classes of Keras's, which load TensorFlow for names behind them.
_OF_KERAS = ("EnsembleSearch", "EnsembleClassifier", "EnsembleRegressor")

# Looks at the names of each module in a process of their own, because a module
# that is imported once is an attribute from then on.
_LOOK_AT = """if True:
  import functools, itertools, os, sys
  import adanet
  import numpy  # Each process is faster with it.
  module = lambda name: name.rpartition(".")[0]
  for _, names in itertools.groupby(sorted(sys.argv[1:], key=module), module):
    if not os.fork():
      for name in names:
        try:
          functools.reduce(getattr, name.split(".")[1:], adanet)
        except Exception as error:
          print("wrong:", name, repr(error), flush=True)
        if "tensorflow" in sys.modules and not any(
            part in name for part in ("tf_compat", *%r)):
          print("wrong:", name, "loads TensorFlow", flush=True)
      os._exit(0)
    os.wait()
""" % (_OF_KERAS,)


class InstalledTest(absltest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = tempfile.TemporaryDirectory()
    cls.environment = virtual_environment.VirtualEnvironment(
        cls._folder.name, virtual_environment.fetched_packages())
    cls.environment.pip("install", "--no-index", "--no-deps", _WHEEL)

  @classmethod
  def tearDownClass(cls):
    cls._folder.cleanup()
    super().tearDownClass()

  def _python(self, program, *args):
    """Returns the output of a program, which must end well."""
    code, output = self.environment.run(
        "python3", "-W", "ignore", "-c", program, *args, **_QUIET)
    self.assertEqual(0, code, output)
    return output

  def _wrong(self, program, args):
    """Returns the lines that a program has found wrong."""
    return [line for line in self._python(program, *args).splitlines()
            if line.startswith("wrong:")]

  def test_imports_every_module_and_as_the_pages_do(self):
    with zipfile.ZipFile(_WHEEL) as wheel:
      modules = [re.sub(r"(/__init__)?\.py$", "", name).replace("/", ".")
                 for name in wheel.namelist() if name.endswith(".py")]
    self.assertGreater(len(modules), 100)
    self.assertEmpty(self._wrong(
        _EXECUTE, ["import " + module for module in modules] + pages.imports()))

  @level.gate
  def test_has_every_name_of_the_pages(self):
    self.assertEmpty(self._wrong(_LOOK_AT, sorted(
        pages.public_names() - _NOT_HERE,
        key=lambda name: (any(part in name for part in _OF_KERAS), name))))

  @level.gate
  def test_trains_evaluates_and_exports(self):
    (program, expected), = pages.programs("docs/train_and_evaluate.rst")
    if importlib.util.find_spec("keras") is None:  # On TensorFlow 1.15.
      program = re.sub(
          "^(?=import keras$)", "from adanet.tf_compat ", program, flags=re.M)
    output = self._python(program)
    self.assertEndsWith(output, expected)


if __name__ == "__main__":
  absltest.main()
