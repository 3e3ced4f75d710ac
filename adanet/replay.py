# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes an AdaNet search repeatable: the public `adanet.replay`."""

from adanet.core.replay import Config

__all__ = ["Config"]
