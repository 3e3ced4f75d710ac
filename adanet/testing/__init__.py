# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Code that tests of several packages share. It is not part of the wheel."""
