# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stands in for a project's own TensorFlow, with a version and no more."""

VERSION = "stand-in"
