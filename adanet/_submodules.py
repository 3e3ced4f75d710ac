# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Modules of a package that are imported at their first use (PEP 562)."""

import importlib
from typing import Any, Callable


def importer(package: str, *names: str) -> Callable[[str], Any]:
  """Returns the `__getattr__` of a package.

  Args:
    package: str, its whole name.
    *names: str, its modules and packages that are attributes without an import
      of their own.
  """

  def import_at_first_use(name):
    if name in names:
      return importlib.import_module(f"{package}.{name}")
    raise AttributeError(f"module '{package}' has no attribute '{name}'")

  return import_at_first_use
