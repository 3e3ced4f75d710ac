# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet: many candidate networks and their ensemble, across a cluster."""

import importlib
import typing

from adanet import _sole_owner

_sole_owner.check()  # Before any module that the other one may have replaced.

from adanet.version import VERSION as __version__  # pylint: disable=g-import-not-at-top,wrong-import-position

__all__ = ["__version__", "distributed", "tf_compat"]

if typing.TYPE_CHECKING:
  from adanet import distributed
  from adanet import tf_compat
else:

  def __getattr__(name):
    """Imports a subpackage at its first use (PEP 562)."""
    if name in __all__:
      return importlib.import_module("adanet." + name)
    raise AttributeError("module 'adanet' has no attribute '{}'".format(name))
