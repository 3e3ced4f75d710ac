# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Estimator, and all that a user calls."""

from typing import TYPE_CHECKING

from adanet import _submodules

if TYPE_CHECKING:
  from adanet.estimator import export
  from adanet.estimator import exporters
  from adanet.estimator import prediction
else:
  __getattr__ = _submodules.importer(
      __name__, "export", "exporters", "prediction")
