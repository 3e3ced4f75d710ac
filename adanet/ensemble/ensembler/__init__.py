# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refuses an `adanet` whose files another distribution has overwritten.

Only AdaNet's own ensemble/__init__.py imports this. Its files replace ours of
the same names where it is installed after us, `adanet/__init__.py` first of
all; but Python prefers a folder to a module, so this takes the place of its
`ensembler.py`, the first that it imports of those that have no twin here.
"""

from adanet import _sole_owner

_sole_owner.check()
raise ModuleNotFoundError("No module named '{}'".format(__name__),
                          name=__name__)
