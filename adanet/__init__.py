# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet: many candidate networks and their ensemble, across a cluster."""

import importlib

from adanet import _sole_owner

_sole_owner.check()  # Before any module that the other one may have replaced.

from adanet.version import VERSION as __version__  # pylint: disable=g-import-not-at-top,wrong-import-position

_SUBPACKAGES = ("distributed", "tf_compat")


def __getattr__(name):
  """Imports a subpackage at the first use of it (PEP 562)."""
  if name in _SUBPACKAGES:
    return importlib.import_module("adanet." + name)
  raise AttributeError("module 'adanet' has no attribute '{}'".format(name))
