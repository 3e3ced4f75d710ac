# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search did: records in its model_dir, shown as a table or a picture.
"""

from typing import TYPE_CHECKING

from adanet import _submodules

if TYPE_CHECKING:
  from adanet.history import records
  from adanet.history import report
else:
  __getattr__ = _submodules.importer(__name__, "records", "report")
