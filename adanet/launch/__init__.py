# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""adanet-launch: starts all tasks of a job. It needs no TensorFlow."""
