# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Iterations that a `concurrent.futures` executor trains, part by part."""
