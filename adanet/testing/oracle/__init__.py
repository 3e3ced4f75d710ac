# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""One program that AdaNet 0.8.0 and this project run, and its figures."""
