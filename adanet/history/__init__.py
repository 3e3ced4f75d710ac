# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search, from the records in the model_dir."""

from typing import TYPE_CHECKING

from adanet import _submodules

__all__ = ["history", "read", "records"]

if TYPE_CHECKING:
  from adanet.history import history
  from adanet.history import records
else:
  __getattr__ = _submodules.importer(__name__, "history", "records")


def read(model_dir: str) -> "history.History":
  """Returns the history of a search. The same as `adanet.report`."""
  from adanet.history import store  # pylint: disable=g-import-not-at-top
  return store.report(model_dir)
