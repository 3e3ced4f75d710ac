# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How an iteration is run: one module or folder for each engine."""
