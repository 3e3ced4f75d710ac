# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Not the version of the adanet that is tested."""

__version__ = "0.9.0"
