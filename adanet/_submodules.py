# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Imports the modules of a package at the first use (PEP 562)."""

import importlib
from typing import Any, Callable


def importer(package: str, *names: str) -> Callable[[str], Any]:
  """Returns the `__getattr__` of a package.

  Args:
    *names: str, the modules and packages that are attributes without an import.
  """

  def import_at_first_use(name):
    if name in names:
      return importlib.import_module(f"{package}.{name}")
    raise AttributeError(f"module '{package}' has no attribute '{name}'")

  return import_at_first_use
