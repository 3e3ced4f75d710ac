# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search, from the records in the model_dir."""

from typing import TYPE_CHECKING

from adanet import _submodules

__all__ = ["leaderboard", "read", "records", "report"]

if TYPE_CHECKING:
  from adanet.history import leaderboard
  from adanet.history import records
  from adanet.history import report
else:
  __getattr__ = _submodules.importer(
      __name__, "leaderboard", "records", "report")


def read(model_dir: str) -> "report.History":
  """Returns the history of a search. The same as `adanet.report`."""
  from adanet.history import store  # pylint: disable=g-import-not-at-top
  return store.report(model_dir)
