# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A package that the adanet that is tested has too."""

from adanet.distributed.placement import RoundRobinStrategy
