# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the promise of py.typed: the public API has types, for mypy."""

import importlib
import inspect
import os
import re
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
import runfiles

_PUBLIC_MODULES = (
    "adanet",
    "adanet.distributed",
    "adanet.distributed.devices",
    "adanet.distributed.plan",
    "adanet.distributed.plan.picture",
    "adanet.distributed.plan.table",
    "adanet.ensemble",
    "adanet.estimator.export",
    "adanet.estimator.exporters",
    "adanet.heads",
    "adanet.inputs",
    "adanet.replay",
    "adanet.subnetwork",
    "adanet.tf_compat",
)

_USER_PROGRAM = """
from typing import List, Optional
import adanet
from adanet import distributed, tf_compat
from adanet.distributed import plan as plan_lib

def build(num_subnetworks: int) -> List[int]:
  strategy = distributed.RoundRobinStrategy(drop_remainder=True)
  strategy.config = tf_compat.RunConfig(model_dir="/tmp/model", protocol="grpc")
  with strategy.subnetwork_devices(num_subnetworks, 0):
    tf_compat.v1.get_variable("weights", [2])
  return [i for i in range(num_subnetworks)
          if strategy.should_build_subnetwork(num_subnetworks, i)]

def shape(address: str) -> str:
  config = tf_compat.RunConfig.for_chief(
      {"cluster": {"chief": [address]}}).replace(save_checkpoints_steps=10)
  steps: Optional[int] = config.save_checkpoints_steps
  workers: int = config.num_worker_replicas
  return "{} {} {}".format(adanet.__version__, steps, workers)

plans: List[plan_lib.PlacementPlan] = [
    plan_lib.PlacementPlan(strategy, num_workers=4, num_ps=2, num_subnetworks=3)
    for strategy in (distributed.ReplicationStrategy(),
                     distributed.RoundRobinStrategy(),
                     distributed.BalancedStrategy([1, 2.5, 4], "measured"),
                     distributed.BalancedStrategy(lambda k: range(1, k + 1)))]
print(plan_lib.compare(plans), plans[0].problems(), tf_compat.TaskType.CHIEF)
"""

_SEARCH_PROGRAM = """
import functools
from typing import Any
import adanet

class Model:
  def __init__(self, width: int = 3) -> None:
    self.width = width

class Maker:
  def __call__(self) -> Model:
    return Model()

def wide() -> Any:
  return Model()

def deep(trial: Any) -> Model:
  return Model(trial.suggest_int("width", 1, 9))

def sized(width: int) -> Model:
  return Model(width)

adanet.EnsembleSearch(
    {"wide": wide, "deep": deep, "class": Model, "object": Maker(),
     "lambda": lambda: Model(), "trial": lambda trial: Model(),
     "partial": functools.partial(sized, 3)}, "mse")
adanet.EnsembleSearch([wide, deep, Model, lambda: Model()], "mse")
adanet.EnsembleSearch((wide, deep), "mse")
models = {"wide": wide, "deep": deep}
search = adanet.EnsembleSearch(models, "mse", monitor="val_mae", mode="min")
adanet.EnsembleSearch([functools.partial(sized, size) for size in (1, 2)])
adanet.EnsembleSearch(models, directory="folder").fit([], [], trials=3).model
print(search.history.networks, search.leaderboard())
"""

# Each line after the first three has one error.
_WRONG_SEARCH_PROGRAM = """
import adanet
make = lambda: None
search = adanet.EnsembleSearch({"small": make}, "mse")
adanet.EnsembleSearch({"small": 3})
adanet.EnsembleSearch([3])
adanet.EnsembleSearch("small")
adanet.EnsembleSearch(make)
adanet.EnsembleSearch({3: make})
search.predict
search.no_name
"""

_WRONG_PROGRAM = """
import adanet
from adanet import distributed, tf_compat
from adanet.distributed import plan as plan_lib
distributed.RoundRobinStrategy(drop_remainder="yes")
distributed.RoundRobinStrategy().should_build_ensemble("3")
distributed.BalancedStrategy(costs=3)
distributed.BalancedStrategy().with_measured(3)
distributed.ReplicationStrategy().should_build_everything(3)
distributed.NoStrategy()
plan_lib.PlacementPlan("round_robin", num_workers=4, num_ps=2, num_subnetworks=3)
plan_lib.NoPlan()
tf_compat.RunConfig(model_dir=3)
tf_compat.RunConfig(no_argument=3)
tf_compat.RunConfig.for_chief("{}")
tf_compat.RunConfig().num_worker_replicas.upper()
tf_compat.RunConfig().no_attribute
tf_compat.v3
adanet.no_package
"""


def _functions(cls):
  """Yields the name and the function of each public method of a class.

  Methods of the base classes of other packages are left out.
  """
  for name, value in inspect.getmembers(cls):
    if name.startswith("_") or name in getattr(cls, "__annotations__", {}):
      continue
    if isinstance(value, property):
      value = value.fget
    if (inspect.isfunction(value) or inspect.ismethod(value)) and (
        inspect.unwrap(value).__module__.startswith("adanet")):
      yield f"{cls.__name__}.{name}", inspect.unwrap(value)


class AnnotationTest(parameterized.TestCase):

  @parameterized.parameters(*_PUBLIC_MODULES)
  def test_every_public_function_has_annotations(self, module):
    module = importlib.import_module(module)
    names = getattr(module, "__all__", None) or [
        name for name in vars(module) if not name.startswith("_")]
    functions = {}
    for name in names:
      value = getattr(module, name)
      if inspect.isclass(value) and value.__module__.startswith("adanet"):
        functions.update(_functions(value))
      elif inspect.isfunction(value) and value.__module__ != "typing":
        functions[name] = inspect.unwrap(value)
    self.assertNotEmpty(functions)
    self.assertEmpty([
        name for name, function in functions.items()
        if inspect.signature(function).return_annotation is
        inspect.Signature.empty])


@level.gate
@absltest.skipIf(sys.version_info < (3, 10), "mypy needs a later Python")
class MypyTest(parameterized.TestCase):

  def _mypy(self, *args):
    """Returns what mypy prints; it sees this package and the stubs of six."""
    from mypy import api  # pylint: disable=g-import-not-at-top
    typed = runfiles.Create().Rlocation("adanet/adanet/py.typed")
    stubs = [path for path in sys.path
             if os.path.isdir(os.path.join(path, "six-stubs"))]
    path = [os.path.dirname(os.path.dirname(typed))] + stubs
    with mock.patch.dict(os.environ, MYPYPATH=os.pathsep.join(path)):
      output, errors, _ = api.run(list(args) + [
          "--cache-dir=" + os.path.join(absltest.TEST_TMPDIR.value, "mypy"),
          "--config-file=", "--no-site-packages", "--python-version=3.10"])
    self.assertEqual("", errors)
    return output

  def test_package(self):
    output = self._mypy(
        "-p", "adanet", "--disallow-incomplete-defs",
        "--ignore-missing-imports")
    self.assertStartsWith(output, "Success")

  def _check(self, program):
    """Returns what mypy prints about a user's program."""
    path = self.create_tempfile("program.py", program.lstrip()).full_path
    return self._mypy(path, "--strict", "--follow-imports=silent")

  @parameterized.parameters(_USER_PROGRAM, _SEARCH_PROGRAM)
  def test_user_program(self, program):
    self.assertStartsWith(self._check(program), "Success")

  @parameterized.parameters(_WRONG_PROGRAM, _WRONG_SEARCH_PROGRAM)
  def test_wrong_program(self, program):
    output = self._check(program)
    wrong = range(4, len(program.strip().splitlines()) + 1)
    self.assertEqual(
        [str(line) for line in wrong],
        re.findall(r"program\.py:(\d+): error", output), output)


if __name__ == "__main__":
  absltest.main()
