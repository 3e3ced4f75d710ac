# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The progress of training, shown: in the log, on a terminal, as JSON lines."""
