# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The version of adanet, for Python and for Bazel: version.bzl links here."""

VERSION = "0.1.0"
