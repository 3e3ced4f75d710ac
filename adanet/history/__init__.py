# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search did: records in its model_dir, shown as a table or a picture.
"""
