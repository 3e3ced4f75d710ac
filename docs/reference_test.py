# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds the reference against what the packages offer.

Sphinx complains of a name that is in the pages and not in the code. This is for
the other way: a name that is new in the code and not in the pages.
"""

import importlib
import inspect
import pkgutil
import re

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet import estimator
from adanet import tf_compat
from docs import pages

_MODULES = (
    ("distributed", "adanet.distributed.devices"),
    ("distributed", "adanet.distributed.placement"),
    ("distributed", "adanet.distributed.plan"),
    ("distributed", "adanet.distributed.plan.picture"),
    ("distributed", "adanet.distributed.plan.table"),
    ("ensemble", "adanet.ensemble"),
    ("heads", "adanet.heads"),
    ("heads", "adanet.heads.export_output"),
    ("adanet", "adanet.estimator.export"),
    ("adanet", "adanet.estimator.exporters"),
    ("adanet", "adanet.estimator.prediction"),
    ("stopping", "adanet.history"),
    ("report", "adanet.history.records"),
    ("report", "adanet.history.history"),
    ("adanet", "adanet.inputs"),
    ("adanet", "adanet.replay"),
    ("adanet", "adanet.subnetwork"),
    ("tf_compat", "adanet.tf_compat.metrics"),
    ("tf_compat", "adanet.tf_compat.optimizers"),
    ("tf_compat", "adanet.tf_compat.run_config"),
)

# Public to the packages of adanet, not to users; without "adanet.".
_SEAMS = frozenset("""
    checks code_text console core distributed.input_parts
    distributed.placement.TaskConfig distributed.strategy distributed.weights
    engines
    ensemble_search estimator.answering estimator.arguments
    estimator.auto_builders estimator.auto_ensemble estimator.auto_inputs
    estimator.auto_networks estimator.best_ensemble estimator.estimator
    estimator.prediction.predict estimator.saved_model estimator.specs
    estimator.train_and_evaluate file_lock forks messages
    history.history.rows history.records.JSON_VERSION
    history.records.Records history.records.added history.records.dumps
    history.records.iteration_record history.records.loads
    history.records.to_json
    history.records.undecided_event history.records.undecided_record
    history.records.with_tasks interrupts launch log progress search
    tf_compat.checkpoint_file tf_compat.files tf_compat.keras_internals
    tf_compat.keras_scope tf_compat.optimizers.for_any_graph
    tf_compat.run_config.estimator_run_config tf_compat.runtime
    tf_compat.seeds tf_compat.tensorflow_internals training typed_json
    version waiting
""".split())


def _documented(page):
  """Returns what a page documents, as dict from whole name to options."""
  return dict(re.findall(
      r"^\.\. auto\w+:: (\S+)\n((?:   :.*\n)*)",
      pages.text(f"docs/{page}.rst"), re.MULTILINE))


def _is_seam(name):
  return name.partition(".")[2] in _SEAMS


def _is_public_here(name, value, module):
  """Whether a module offers a name, rather than imports it."""
  if name.startswith("_") or _is_seam(f"{module.__name__}.{name}"):
    return False
  package = module.__name__.rpartition(".")[0]
  return getattr(value, "__module__", package).startswith(package)


def _is_older_name(name, value, members):
  """Whether a class is documented by the name that it has now."""
  return inspect.isclass(value) and value.__name__ != name and members.get(
      value.__name__) is value


def _public(module):
  """Returns dict from name to value of what a module offers, but for modules.
  """
  if hasattr(module, "__all__"):
    members = {name: getattr(module, name) for name in module.__all__}
  else:
    members = {name: value for name, value in vars(module).items()
               if _is_public_here(name, value, module)}
  return {name: value for name, value in members.items()
          if not inspect.ismodule(value) and name != "__version__" and
          not _is_older_name(name, value, members)}


class ReferenceTest(parameterized.TestCase):

  @parameterized.parameters(*_MODULES)
  def test_has_every_public_name_and_member(self, page, module):
    documented = _documented(page)
    public = _public(importlib.import_module(module))
    self.assertNotEmpty(public)
    self.assertEmpty([
        name for name in public
        if f"{module}.{name}" not in documented
    ], f"not in docs/{page}.rst")

    for name, value in public.items():
      if inspect.isclass(value):
        self.assertIn(":members:", documented[f"{module}.{name}"])

  @parameterized.parameters(*_MODULES)
  def test_every_public_method_says_what_it_does(self, page, module):
    del page
    self.assertEmpty([
        f"{name}.{member}"
        for name, value in _public(importlib.import_module(module)).items()
        if inspect.isclass(value)
        for member, function in vars(value).items()
        if not member.startswith("_")
        and (callable(function) or
             isinstance(function, (classmethod, property)))
        and not inspect.getdoc(getattr(value, member))
    ], "Sphinx leaves these out")

  def test_has_every_public_module(self):
    # In Bazel's tree, where there is only what a target of theirs has.
    documented = {module for _, module in _MODULES}
    documented.update(module.rpartition(".")[0] for _, module in _MODULES)
    self.assertContainsSubset(
        [f"{package.__name__}.{module.name}"
         for package in (adanet, distributed, estimator, tf_compat)
         for module in pkgutil.iter_modules(package.__path__)
         if not module.name.startswith("_")
         and not _is_seam(f"{package.__name__}.{module.name}")],
        documented)

  def test_has_what_the_packages_offer(self):
    names = {name.rpartition(".")[2]
             for page in ("distributed", "adanet", "ensemble",
                          "ensemble_search", "report", "tf_compat")
             for name in _documented(page)}
    for package in (adanet, distributed, tf_compat):
      self.assertContainsSubset(_public(package), names)

  def test_names_of_adanet_0_8(self):
    _, names, arguments, methods = re.split(
        "^(?:Every name|Arguments of the Estimator|Its methods)$",
        pages.text("docs/coming_from_adanet.rst"), flags=re.MULTILINE)
    row = re.compile(r"^``([\w.]+)`` +(.*)", re.MULTILINE)
    self.assertGreater(len(row.findall(names)), 35)
    for name, now in row.findall(names):
      module, _, name = name.rpartition(".")
      self.assertEqual(
          not now.startswith("not here"),
          hasattr(importlib.import_module(module), name), (module, name))
    self.assertContainsSubset(
        set(inspect.signature(adanet.Estimator).parameters) -
        {"placement_strategy", "patience", "min_delta", "kwargs"},
        [argument for argument, now in row.findall(arguments)
         if not now.startswith("not here")])
    self.assertContainsSubset(
        [name for name in dir(adanet.Estimator)
         if not name.startswith("_") and name not in ("history", "predictor")],
        [method for method, now in row.findall(methods)
         if not now.startswith("not here")])


if __name__ == "__main__":
  absltest.main()
