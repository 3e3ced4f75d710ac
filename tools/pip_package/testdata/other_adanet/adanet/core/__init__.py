# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A package that the adanet that is tested has not."""


class Estimator(object):
  pass
