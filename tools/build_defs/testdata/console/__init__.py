# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A package with a command, for tests of the wheel that is made of it."""
