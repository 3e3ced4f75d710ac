# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keras models in, the best ensemble of them out; see `EnsembleSearch`."""
