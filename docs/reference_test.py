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
from adanet import distributed
from adanet import tf_compat
import runfiles

_MODULES = (
    ("distributed", "adanet.distributed.devices"),
    ("distributed", "adanet.distributed.placement"),
    ("distributed", "adanet.distributed.plan"),
    ("distributed", "adanet.distributed.plan.picture"),
    ("distributed", "adanet.distributed.plan.table"),
    ("tf_compat", "adanet.tf_compat.run_config"),
)

# Public to the packages of adanet, not to users.
_SEAMS = ("adanet.distributed.layout", "adanet.distributed.placement.layout_of")


def _documented(page):
  """Returns what a page documents, as dict from whole name to options."""
  with open(runfiles.Create().Rlocation("adanet/docs/{}.rst".format(page)),
            encoding="utf-8") as f:
    return dict(re.findall(r"^\.\. auto\w+:: (\S+)\n((?:   :.*\n)*)", f.read(),
                           re.MULTILINE))


def _is_public_here(name, value, module):
  """Whether a module offers a name, rather than imports it."""
  if (name.startswith("_") or inspect.ismodule(value) or
      "{}.{}".format(module.__name__, name) in _SEAMS):
    return False
  package = module.__name__.rpartition(".")[0]
  return getattr(value, "__module__", package).startswith(package)


def _public(module):
  """Returns dict from name to value of what a module offers."""
  if hasattr(module, "__all__"):
    return {name: getattr(module, name) for name in module.__all__}
  return {name: value for name, value in vars(module).items()
          if _is_public_here(name, value, module)}


class ReferenceTest(parameterized.TestCase):

  @parameterized.parameters(*_MODULES)
  def test_has_every_public_name(self, page, module):
    documented = _documented(page)
    public = _public(importlib.import_module(module))
    self.assertNotEmpty(public)
    self.assertEmpty([
        name for name in public
        if "{}.{}".format(module, name) not in documented
    ], "not in docs/{}.rst".format(page))

  @parameterized.parameters(*_MODULES)
  def test_has_every_public_member(self, page, module):
    documented = _documented(page)
    for name, value in _public(importlib.import_module(module)).items():
      if inspect.isclass(value):
        self.assertIn(":members:", documented["{}.{}".format(module, name)])

  @parameterized.parameters(*_MODULES)
  def test_every_public_method_says_what_it_does(self, page, module):
    del page
    self.assertEmpty([
        "{}.{}".format(name, member)
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
    self.assertContainsSubset(
        ["{}.{}".format(package.__name__, module.name)
         for package in (distributed, tf_compat)
         for module in pkgutil.iter_modules(package.__path__)
         if not module.name.startswith("_")
         and "{}.{}".format(package.__name__, module.name) not in _SEAMS],
        [module for _, module in _MODULES])

  def test_has_what_the_packages_offer(self):
    names = {name.rpartition(".")[2]
             for page in ("distributed", "tf_compat")
             for name in _documented(page)}
    self.assertContainsSubset(distributed.__all__, names)
    self.assertContainsSubset(_public(tf_compat), names)

  def test_has_the_shims(self):
    # They are in its docstring, as its own tests see to.
    self.assertIn("adanet.tf_compat", _documented("tf_compat"))


if __name__ == "__main__":
  absltest.main()
